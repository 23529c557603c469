"""Rays and overlaps with meshes: sides, materials, instances, and prims that ask, colliders or not."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from tensorphys_backend import QueryError, TensorPhysBackend, encode_path
from tensorphys_backend.testing import add_box, empty_stage

DT = 1.0 / 120.0
CORNERS = list(itertools.product((-1.0, 1.0), repeat=3))
QUADS = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]


def add_mesh(
    stage: Usd.Stage, path: str, points: Any, faces: list[list[int]], approximation: str | None = None
) -> UsdGeom.Mesh:
    mesh = UsdGeom.Mesh.Define(stage, path)
    mesh.CreatePointsAttr([Gf.Vec3f(*map(float, point)) for point in points])
    mesh.CreateFaceVertexCountsAttr([len(face) for face in faces])
    mesh.CreateFaceVertexIndicesAttr([corner for face in faces for corner in face])
    if approximation is not None:
        UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
        UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim()).CreateApproximationAttr(approximation)
    return mesh


def channel() -> tuple[list[tuple[float, float, float]], list[list[int]]]:
    """A closed channel along Y, open above: walls of 0.1 at x = ±0.5 and a floor of 0.1, heights 0 to 0.6."""
    outline = [
        (-0.5, 0.0),
        (0.5, 0.0),
        (0.5, 0.6),
        (0.4, 0.6),
        (0.4, 0.1),
        (-0.4, 0.1),
        (-0.4, 0.6),
        (-0.5, 0.6),
    ]
    points = [(x, y, z) for y in (-1.0, 1.0) for x, z in outline]
    sides = [[(k + 1) % 8, k, 8 + k, 8 + (k + 1) % 8] for k in range(8)]
    # The outline runs counter-clockwise seen from -Y; it is cut into convex parts for its ends.
    parts = [[0, 1, 4, 5], [1, 2, 3, 4], [0, 5, 6, 7]]
    front = [list(part) for part in parts]
    back = [[8 + corner for corner in reversed(part)] for part in parts]
    return points, sides + front + back


def playing(stage: Usd.Stage) -> TensorPhysBackend:
    backend = TensorPhysBackend(stage=stage, frontend="numpy")
    backend.create_physics_context(DT, DT, "cpu")
    backend.apply_engine_settings(0.0, False, False, 1, 1, 1, 1, 1)
    backend.play()
    return backend


def names(backend: TensorPhysBackend, path: str) -> set[str]:
    found: list[Any] = []
    count = backend.overlap_mesh(*encode_path(path), lambda hit: found.append(hit) or True)
    assert count == len(found)
    return {hit.collision.removeprefix("/World/").removesuffix("/collision") for hit in found}


def things(stage: Usd.Stage) -> None:
    add_box(stage, "/World/inside", (0.0, 0.0, 0.3), half=(0.2, 0.2, 0.15))
    add_box(stage, "/World/in_wall", (0.45, 0.5, 0.3), half=(0.02, 0.02, 0.02))
    add_box(stage, "/World/touching", (0.45, -0.5, 0.65), half=(0.1, 0.1, 0.1), moves=False)
    add_box(stage, "/World/outside", (0.8, 0.0, 0.3), half=(0.2, 0.2, 0.2))


@pytest.mark.parametrize("kind", ["mesh", "turned", "mirrored", "left_handed", "collider", "sdf"])
def test_a_channel_overlaps_its_walls_and_not_its_hollow(kind: str) -> None:
    stage = empty_stage()
    things(stage)
    points, faces = channel()
    approximation = {"collider": "none", "sdf": "sdf"}.get(kind)
    scale = {"turned": 2.0, "mirrored": -1.0}.get(kind, 1.0)
    shown = np.array(points) / [1.0, scale, 1.0]
    # A mirror turns fronts round, and so does the other hand.
    if kind in ("left_handed", "mirrored"):
        faces = [face[::-1] for face in faces]
    mesh = add_mesh(stage, "/World/channel", shown, faces, approximation)
    if kind == "left_handed":
        mesh.CreateOrientationAttr(UsdGeom.Tokens.leftHanded)
    UsdGeom.XformCommonAPI(mesh).SetScale((1.0, scale, 1.0))
    backend = playing(stage)
    itself = {"channel"} if approximation else set()
    assert names(backend, "/World/channel") == {"in_wall", "touching"} | itself
    assert backend.overlap_mesh("/World/channel", 0, lambda hit: True, True) == 1
    # What asks stands where it is now.
    UsdGeom.XformCommonAPI(mesh).SetTranslate((0.0, 0.0, 0.12))
    backend.flush_changes()
    assert names(backend, "/World/channel") == {"in_wall", "inside", "touching"} | itself


def test_an_open_surface_overlaps_what_it_cuts_alone() -> None:
    stage = empty_stage()
    things(stage)
    square = [(-1, -1, 0.3), (1, -1, 0.3), (1, 1, 0.3), (-1, 1, 0.3)]
    add_mesh(stage, "/World/sheet", square, [[0, 1, 2, 3]])
    backend = playing(stage)
    assert names(backend, "/World/sheet") == {"inside", "in_wall", "outside"}
    for count, faces, text in ((3, [[0, 1]], "fit"), (3, [[0, 1, 1]], "area"), (0, [], "no faces")):
        add_mesh(stage, f"/World/bad_{text[:2]}", square[:count], faces)
        with pytest.raises(QueryError, match=text):
            backend.overlap_mesh(f"/World/bad_{text[:2]}", 0, lambda hit: True)
    backend.add_ground_plane("/World/floor")
    backend.flush_changes()
    with pytest.raises(QueryError, match="endless"):
        backend.overlap_shape("/World/floor/collisionPlane", 0, lambda hit: True)


def test_back_sides_of_triangle_meshes_let_rays_through_unless_asked_for() -> None:
    stage = empty_stage()
    room = add_mesh(stage, "/World/room", CORNERS, QUADS, "none")
    add_box(stage, "/World/beyond/base", (3.0, 0.0, 0.0), half=(0.5, 0.5, 0.5))
    backend = playing(stage)
    ray = ((0.1, 0.2, 0.0), (1.0, 0.0, 0.0), 10.0)
    assert backend.raycast_closest(*ray)["rigidBody"] == "/World/beyond/base"
    hit = backend.raycast_closest(*ray, bothSides=True)
    assert hit["rigidBody"] == hit["collision"] == "/World/room" and hit["distance"] == pytest.approx(0.9)
    # From outside the front side is met; of a corner's two triangles either is named.
    assert backend.raycast_closest((0.1, 0.2, 3.0), (0.0, 0.0, -1.0), 10.0)["faceIndex"] >= 0
    seen: list[Any] = []
    assert backend.raycast_all(*ray, lambda each: seen.append(each) or True, True)
    assert [each.rigid_body for each in seen] == ["/World/room", "/World/beyond/base"]
    assert seen[0].face_index >= 0 and seen[1].face_index == -1
    seen.clear()
    backend.raycast_all(*ray, lambda each: seen.append(each) or True)
    assert [each.rigid_body for each in seen] == ["/World/beyond/base"]
    # A mesh that is double-sided is hit from both sides.
    room.CreateDoubleSidedAttr(True)
    backend.flush_changes()
    assert backend.raycast_closest(*ray)["rigidBody"] == "/World/room"


def test_hits_name_physics_materials() -> None:
    stage = empty_stage()
    add_box(stage, "/World/rubber/base", (0.0, 0.0, 0.0))
    add_box(stage, "/World/bare/base", (2.0, 0.0, 0.0), moves=False)
    material = UsdShade.Material.Define(stage, "/World/materials/rubber")
    UsdPhysics.MaterialAPI.Apply(material.GetPrim()).CreateStaticFrictionAttr(0.9)
    UsdShade.MaterialBindingAPI.Apply(stage.GetPrimAtPath("/World/rubber/base/collision")).Bind(
        material, UsdShade.Tokens.weakerThanDescendants, "physics"
    )
    backend = playing(stage)
    hits = backend.raycast_closest_batch([(0, 0, 2), (2, 0, 2)], [(0, 0, -1)] * 2, [9.0] * 2)
    assert [hit["material"] for hit in hits] == ["/World/materials/rubber", ""]
    assert [hit["protoIndex"] for hit in hits] == [0xFFFFFFFF] * 2
    # Rays are given as lists, tuples or arrays, of rows or as one array.
    rays: list[Any] = [
        np.array([[0, 0, 2], [2, 0, 2]], np.float32),
        np.tile((0.0, 0.0, -1.0), (2, 1)),
        np.full(2, 9.0),
    ]
    assert backend.raycast_closest_batch(*rays) == hits
    assert backend.raycast_closest_batch(list(rays[0]), list(rays[1]), list(rays[2])) == hits
    with pytest.raises(QueryError, match="3 numbers"):
        backend.raycast_closest_batch([(0, 0), (2, 0)], [(0, 0, -1)] * 2, [9.0] * 2)
    with pytest.raises(QueryError, match="3 numbers"):
        backend.raycast_closest_batch([(0, 0, 2), (2, 0)], [(0, 0, -1)] * 2, [9.0] * 2)
    assert backend.raycast_closest_batch([], [], []) == []
    seen: list[Any] = []
    backend.raycast_all((0, 0, 2), (0, 0, -1), 9.0, lambda each: seen.append(each) or True)
    assert (seen[0].material, seen[0].proto_index) == ("/World/materials/rubber", 0xFFFFFFFF)


def test_hits_name_instances_of_point_instancers_and_handles_reach_them() -> None:
    stage = empty_stage()
    instancer = UsdGeom.PointInstancer.Define(stage, "/World/crates")
    add_box(stage, "/World/crates/prototypes/crate", (0.0, 0.0, 0.0))
    instancer.CreatePrototypesRel().SetTargets([Sdf.Path("/World/crates/prototypes/crate")])
    instancer.CreateProtoIndicesAttr([0, 0, 0])
    instancer.CreatePositionsAttr([Gf.Vec3f(float(i), 0.0, 1.0) for i in range(3)])
    backend = playing(stage)
    hits = backend.raycast_closest_batch([(i, 0, 3) for i in range(3)], [(0, 0, -1)] * 3, [9.0] * 3)
    assert [hit["protoIndex"] for hit in hits] == [0, 1, 2]
    paths = [hit["rigidBody"] for hit in hits]
    assert paths[2] == "/World/crates/crate_2"
    found: list[Any] = []
    backend.overlap_sphere(0.2, (1.0, 0.0, 1.0), lambda each: found.append(each) or True)
    assert [(each.rigid_body, each.proto_index) for each in found] == [(paths[1], 1)]
    body = backend.create_rigid_body_view(paths[2])
    assert body.is_valid() and np.allclose(body.get_world_poses()[0], [[2.0, 0.0, 1.0]])
    backend.apply_force_at_pos(paths[2], (3.0, 0.0, 0.0), (2.0, 0.0, 1.0))
    backend.step(render=False)
    assert body.get_linear_velocities()[0, 0] == pytest.approx(3.0 * DT, rel=1e-4)
    assert not backend.is_asleep(paths[2])
