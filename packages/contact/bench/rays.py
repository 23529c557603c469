"""Time a million rays against a mesh of 100,000 triangles.

python bench/rays.py --rays 1000000 --device cpu --peers coal,trimesh,embree
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import warp as wp
from timing import arguments, measure, peers, recorded, report

import tensorphys_contact as tc
from tensorphys_contact import ShapeType


def with_mesh_query(origin: Any, direction: Any, field: tc.TriangleMesh, options: Any) -> dict[str, Any]:
    """Warp's own ray query of the bare mesh, without environments, poses and other shapes."""
    mesh = wp.Mesh(
        wp.array(field.vertices.astype(np.float32), dtype=wp.vec3, device=options.device),
        wp.array(field.triangles.reshape(-1), dtype=wp.int32, device=options.device),
    )
    distance = wp.zeros(len(origin), dtype=wp.float32, device=options.device)

    def step() -> None:
        wp.launch(
            bare_rays,
            dim=len(origin),
            inputs=[mesh.id, origin, direction],
            outputs=[distance],
            device=options.device,
        )

    result = measure(step, options.device, repeat=options.repeat)
    hits = int((distance.numpy() >= 0.0).sum())
    return {**result, "hits": hits, "rays_per_second": len(origin) / result["seconds"]}


def with_coal_rays(
    origin: np.ndarray, direction: np.ndarray, field: tc.TriangleMesh, options: Any
) -> dict[str, Any]:
    """coal casts no rays: a thin capsule along each of 2000 of them is collided with the mesh."""
    import coal

    mesh = coal.BVHModelOBBRSS()
    mesh.beginModel(len(field.triangles), len(field.vertices))
    mesh.addVertices(field.vertices)
    mesh.addTriangles(field.triangles.astype(np.int64))
    mesh.endModel()
    count, length = 2000, 100.0
    places = []
    for p, d in zip(origin[:count], direction[:count], strict=True):
        d = d / np.linalg.norm(d)
        across = np.cross(d, [1.0, 0.0, 0.0])
        across /= np.linalg.norm(across)
        turn = np.stack([across, np.cross(d, across), d], axis=1)
        places.append(coal.Transform3s(turn, p + 0.5 * length * d))
    thin, still = coal.Capsule(1e-4, length), coal.Transform3s.Identity()
    hits = [0]

    def step() -> None:
        hits[0] = 0
        for x in places:
            result = coal.CollisionResult()
            coal.collide(mesh, still, thin, x, coal.CollisionRequest(), result)
            hits[0] += int(result.isCollision())

    result = measure(step, "cpu", repeat=3)
    return {
        **result,
        "rays": count,
        "hits": hits[0],
        "rays_per_second": count / result["seconds"],
        "note": "yes or no, without a distance; called from Python",
    }


def with_trimesh(
    origin: np.ndarray, direction: np.ndarray, field: tc.TriangleMesh, options: Any
) -> dict[str, Any]:
    """trimesh's own caster, of 2000 rays."""
    import trimesh

    mesh = trimesh.Trimesh(field.vertices, field.triangles, process=False)
    count = 2000
    found: list[Any] = [None]

    def step() -> None:
        found[0] = mesh.ray.intersects_first(origin[:count], direction[:count])

    result = measure(step, "cpu", repeat=3)
    return {
        **result,
        "rays": count,
        "hits": int((np.asarray(found[0]) >= 0).sum()),
        "rays_per_second": count / result["seconds"],
    }


def with_embree(
    origin: np.ndarray, direction: np.ndarray, field: tc.TriangleMesh, options: Any
) -> dict[str, Any]:
    """Embree through embreex, all rays in one call, with distances."""
    from embreex import rtcore_scene
    from embreex.mesh_construction import TriangleMesh

    scene = rtcore_scene.EmbreeScene(robust=True)
    corners = field.vertices.astype(np.float32)[field.triangles]
    TriangleMesh(scene, corners)
    unit = (direction / np.linalg.norm(direction, axis=1, keepdims=True)).astype(np.float32)
    start = origin.astype(np.float32)
    found: list[Any] = [None]

    def step() -> None:
        found[0] = scene.run(start, unit, output=True)

    result = measure(step, "cpu", repeat=options.repeat)
    return {
        **result,
        "rays": len(start),
        "hits": int((found[0]["primID"] >= 0).sum()),
        "rays_per_second": len(start) / result["seconds"],
    }


@wp.kernel(enable_backward=False)
def bare_rays(
    mesh: wp.uint64,
    origin: wp.array[wp.vec3],
    direction: wp.array[wp.vec3],
    distance_out: wp.array[wp.float32],
):
    """Distance of each ray, −1 for a miss."""
    i = wp.tid()
    query = wp.mesh_query_ray(mesh, origin[i], wp.normalize(direction[i]), 100.0)
    distance_out[i] = wp.where(query.result, query.t, -1.0)


def main() -> None:
    """Print JSON: our time, and that of the peers that are asked for."""
    parser = arguments(__doc__)
    parser.add_argument("--rays", type=int, default=1_000_000)
    parser.add_argument("--cells", type=int, default=224)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    x = np.arange(options.cells + 1)
    field = tc.cook_height_field(np.sin(x[:, None] * 0.2) * np.cos(x[None] * 0.17), (1.0, 1.0))
    model = tc.build_model(
        shape_type=[ShapeType.HEIGHT_FIELD],
        shape_body=[-1],
        shape_pose=[[0, 0, 0, 0, 0, 0, 1]],
        shape_size=[[0, 0, 0]],
        shape_environment=[0],
        pairs=np.zeros((0, 2), int),
        environment_count=1,
        shape_material=[0],
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[0.0],
        rest_offset=[0.0],
        shape_mesh=[0],
        meshes=[field],
        device=options.device,
    )
    origin = np.column_stack([rng.uniform(0, options.cells, (options.rays, 2)), np.full(options.rays, 5.0)])
    direction = np.column_stack([rng.normal(size=(options.rays, 2)) * 0.5, -np.ones(options.rays)])
    body = wp.zeros(0, dtype=wp.transform, device=options.device)
    tree = tc.create_query_tree(model, body)
    hits = tc.create_ray_hits(options.rays, options.device)
    arrays = {
        "environment": wp.zeros(options.rays, dtype=wp.int32, device=options.device),
        "origin": wp.array(origin.astype(np.float32), dtype=wp.vec3, device=options.device),
        "direction": wp.array(direction.astype(np.float32), dtype=wp.vec3, device=options.device),
        "longest": wp.full(options.rays, 100.0, dtype=wp.float32, device=options.device),
    }
    step = recorded(functools.partial(tc.cast_rays, model, tree, body, hits, **arrays), options.device)
    result = measure(step, options.device, repeat=options.repeat)
    own = {
        "name": "tensorphys_contact",
        **result,
        "rays": options.rays,
        "triangles": len(field.triangles),
        "hits": int((hits.shape.numpy() >= 0).sum()),
        "rays_per_second": options.rays / result["seconds"],
    }
    bare = {
        "name": "warp mesh query",
        **with_mesh_query(arrays["origin"], arrays["direction"], field, options),
    }
    runs = {
        "coal": functools.partial(with_coal_rays, origin, direction, field, options),
        "trimesh": functools.partial(with_trimesh, origin, direction, field, options),
        "embree": functools.partial(with_embree, origin, direction, field, options),
    }
    report("rays against a mesh", options, [own, bare, *peers(options, runs)])


if __name__ == "__main__":
    main()
