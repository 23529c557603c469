"""Random convex shapes near triangle meshes and height fields, and their errors against float64 truth.

Apart, the truth is the least distance over all triangles, each by coal or an enclosure (see :mod:`.truth`).
Sunk into a flat field it is the depth of the lowest point, sunk into a closed convex mesh that of its hull.
Needs the extra ``peers``.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np
import numpy.typing as npt
import warp as wp
from scipy.spatial import ConvexHull

from tensorphys_contact.build import build_model
from tensorphys_contact.contacts import create_contacts
from tensorphys_contact.errors import ShapeError
from tensorphys_contact.hulls import Hull, cook_hull
from tensorphys_contact.meshes import TriangleMesh, cook_height_field, cook_mesh
from tensorphys_contact.model import Materials
from tensorphys_contact.pipeline import collide
from tensorphys_contact.shapes import ShapeType

from .pair_scenes import (
    PairErrors,
    allowed_error,
    angle_between,
    as_good,
    diameter,
    error_of,
    is_shared,
    placement,
)
from .truth import Solid, Truth, enclosed_depth, enclosed_distance, peer_separation, reach_along

Vector = npt.NDArray[np.float64]

MESH_REGIMES: Final = (
    "apart",
    "touching",
    "degenerate",
    "far",
    "ratio 1:100",
    "ratio 1:10000",
    "sunk",
    "deep",
)
"""Up to ``ratio`` the shapes are apart; ``sunk`` by up to 5 % of the smaller one, ``deep`` to their centre."""
_RATIO: Final = {"ratio 1:100": 1e-2, "ratio 1:10000": 1e-4}
_SUNK: Final = {"sunk": 0.05, "deep": 0.9}


@dataclasses.dataclass(frozen=True)
class MeshScene:
    """Convex shapes and meshes, a pair in each environment.

    Attributes:
        kind: Type of the convex shapes.
        mesh_kind: Type of the meshes.
        regime: One of :data:`MESH_REGIMES`.
        size: Sizes of the shapes, float32 [count, 3].
        pose: Poses of shapes and meshes, float32 [count, 2, 7].
        hulls: One for each pair, used where the kind is a hull.
        meshes: One for each pair.
    """

    kind: ShapeType
    mesh_kind: ShapeType
    regime: str
    size: npt.NDArray[np.float32]
    pose: npt.NDArray[np.float32]
    hulls: list[Hull]
    meshes: list[TriangleMesh]

    def solid(self, pair: int) -> Solid:
        """The convex shape in float64, moved so that the mesh is at the origin."""
        pose = self.pose[pair].astype(np.float64)
        hull = self.hulls[pair] if self.kind == ShapeType.CONVEX_HULL else None
        place = np.concatenate([pose[0, :3] - pose[1, :3], pose[0, 3:]])
        return Solid(self.kind, self.size[pair].astype(np.float64), place, hull)

    def mesh_pose(self, pair: int) -> Vector:
        """Pose of the mesh, at the origin."""
        return np.concatenate([np.zeros(3), self.pose[pair, 1, 3:].astype(np.float64)])


def hull_of_triangle(corner: Vector) -> Hull:
    """A triangle as a flat hull, its corners as the pipeline holds them."""
    normal = np.cross(corner[1] - corner[0], corner[2] - corner[0])
    normal /= np.linalg.norm(normal)
    return Hull(
        vertices=corner,
        face_start=np.array([0, 3], dtype=np.int32),
        face_vertex=np.arange(3, dtype=np.int32),
        face_plane=np.array([[*normal, normal @ corner[0]]]),
        edges=np.array([[0, 1], [0, 2], [1, 2]], dtype=np.int32),
        center=corner.mean(axis=0),
        radius=float(np.linalg.norm(corner - corner.mean(axis=0), axis=1).max()),
    )


def least_distance(solid: Solid, mesh: TriangleMesh, pose: Vector) -> tuple[Truth, Solid]:
    """Least signed distance of a convex shape over all triangles, and the triangle it belongs to.

    The normal points from the triangle to the shape. Triangles whose plane, taken to be as thick as nothing, the
    shape crosses have a negative one.
    """
    corner = mesh.vertices.astype(np.float32).astype(np.float64)[mesh.triangles]
    middle = corner.mean(axis=1)
    around = np.linalg.norm(corner - middle[:, None], axis=2).max(axis=1)
    place = Solid(ShapeType.SPHERE, np.zeros(3), pose).rotation.T @ (solid.pose[:3] - pose[:3])
    reach = _reach(solid)
    bound = np.linalg.norm(middle - place, axis=1) - around - reach
    best: tuple[Truth, Solid] | None = None
    for index in np.argsort(bound):
        if best is not None and bound[index] > best[0].most:
            break
        triangle = Solid(ShapeType.CONVEX_HULL, np.zeros(3), pose, hull_of_triangle(corner[index]))
        distance, normal = peer_separation(solid, triangle)
        if not 0.0 < distance < np.inf:  # coal gave up, or both meet
            truth = enclosed_distance(
                solid, triangle, 1e-9 * reach, solid.pose[:3] - triangle.corners().mean(axis=0)
            )
            distance, normal = truth.most, truth.normal
        if best is None or distance < best[0].most:
            best = Truth(distance, distance, normal), triangle
    assert best is not None
    return best


def _reach(solid: Solid) -> float:
    """Radius of a ball about the origin of the shape that holds it."""
    if solid.hull is not None:
        return float(np.linalg.norm(solid.corners(), axis=1).max())
    return 0.5 * diameter(solid)


def _convex_mesh(rng: np.random.Generator, scale: float, corners: int) -> TriangleMesh:
    """A closed convex polyhedron."""
    d = rng.normal(size=(corners, 3))
    points = scale * d / np.linalg.norm(d, axis=1, keepdims=True) * [1.0, 0.8, 0.6]
    points = points.astype(np.float32).astype(np.float64)
    hull = ConvexHull(points)
    triangles = hull.simplices.copy()
    for k, (a, b, c) in enumerate(triangles):
        outward = np.cross(points[b] - points[a], points[c] - points[a]) @ hull.equations[k, :3]
        triangles[k] = (a, b, c) if outward > 0.0 else (a, c, b)
    return cook_mesh(points, triangles)


def _terrain(rng: np.random.Generator, scale: float, *, flat: bool) -> TriangleMesh:
    """A height field of 8 by 8 cells about the origin."""
    heights = np.zeros((9, 9)) if flat else rng.uniform(0.0, 0.35, (9, 9))
    field = cook_height_field(scale * heights, (0.25 * scale, 0.25 * scale))
    return cook_mesh(field.vertices - [scale, scale, 0.0], field.triangles)


def random_mesh_pairs(
    kind: ShapeType, mesh_kind: ShapeType, regime: str, count: int, seed: int = 0, corners: int = 20
) -> MeshScene:
    """Draw shapes near meshes: let down on them until they are as near as wanted, or sunk into them.

    Closed meshes of up to 128 ``corners`` have a hull, and contacts of that; larger ones those of their triangles.

    Raises:
        ShapeError: an unknown regime.
    """
    if regime not in MESH_REGIMES:
        raise ShapeError(f"unknown regime {regime!r}; known: {', '.join(MESH_REGIMES)}")
    rng = np.random.default_rng([seed, kind, mesh_kind, MESH_REGIMES.index(regime)])
    small = rng.integers(0, 2, count) if mesh_kind == ShapeType.TRIANGLE_MESH else np.zeros(count, dtype=int)
    ratio = _RATIO.get(regime, 1.0)
    size = rng.uniform(0.1, 0.5, (count, 3))
    if regime == "degenerate":
        size[::3, 1] *= 0.02
        size[1::3, 0] *= 0.02
    size *= np.where(small == 0, ratio, 1.0)[:, None]
    scale = np.where(small == 1, ratio, 1.0)
    closed = mesh_kind == ShapeType.TRIANGLE_MESH
    meshes = [
        _convex_mesh(rng, s, corners) if closed else _terrain(rng, s, flat=regime in _SUNK)
        for s in scale.tolist()
    ]
    hulls = [
        cook_hull(
            rng.uniform(-1, 1, (int(rng.integers(6, 30)), 3))
            * rng.uniform(0.1, 0.5, 3)
            * (ratio if small[k] == 0 else 1.0)
        )
        for k in range(count)
    ]
    pose = np.zeros((count, 2, 7))
    pose[..., 3:] = rng.normal(size=(count, 2, 4))
    pose[..., 3:] /= np.linalg.norm(pose[..., 3:], axis=-1, keepdims=True)
    scene = MeshScene(
        kind, mesh_kind, regime, size.astype(np.float32), pose.astype(np.float32), hulls, meshes
    )
    for k in range(count):
        pose[k, 0, :3] = _placement(scene, k, rng)
    if regime == "far":
        place = rng.normal(size=(count, 1, 3))
        pose[..., :3] += 1e4 * place / np.linalg.norm(place, axis=-1, keepdims=True)
    return dataclasses.replace(scene, pose=pose.astype(np.float32))


def _placement(scene: MeshScene, k: int, rng: np.random.Generator) -> Vector:
    solid, mesh, pose = scene.solid(k), scene.meshes[k], scene.mesh_pose(k)
    turn = Solid(ShapeType.SPHERE, np.zeros(3), pose).rotation
    least = min(diameter(solid), 2.0 * mesh.radius)
    if scene.mesh_kind == ShapeType.TRIANGLE_MESH:
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        target = turn @ (0.3 * mesh.radius * rng.uniform(-1, 1, 3))
    else:
        n = turn @ np.array([0.0, 0.0, 1.0])
        target = turn @ (np.array([0.5, 0.5, 0.0]) * mesh.radius * rng.uniform(-1, 1, 3))
    if scene.regime in _SUNK:
        depth = _SUNK[scene.regime] * rng.uniform(0.0, 1.0)
        if scene.mesh_kind == ShapeType.TRIANGLE_MESH:
            place = placement(_whole(scene, k), solid, "touching", k, rng)
            moved = dataclasses.replace(solid, pose=np.concatenate([place, solid.pose[3:]]))
            truth = _truth(scene, k, moved, place / np.linalg.norm(place))
            # As deep as wanted, or to the middle of the shape.
            inner = -reach_along(
                moved, dataclasses.replace(moved, kind=ShapeType.SPHERE, size=np.zeros(3)), truth.normal
            )
            return np.asarray(
                place - truth.normal * (truth.most + min(depth * least, 0.9 * inner)), dtype=np.float64
            )
        # The lowest point is over the target.
        arm = solid.pose[:3] - solid.farthest(-n[None])[0]
        sunk = min(depth * least, 0.9 * float(n @ arm))
        return np.asarray(target - n * (n @ target) + arm - n * sunk, dtype=np.float64)
    gap = least * (rng.uniform(0.001, 0.3) if scene.regime == "apart" else rng.uniform(1e-4, 0.05))
    place = target + n * (2.0 * mesh.radius + 2.0 * _reach(solid))
    for _step in range(60):
        moved = dataclasses.replace(solid, pose=np.concatenate([place, solid.pose[3:]]))
        way = least_distance(moved, mesh, pose)[0].most - gap
        place = place - n * max(way, 0.0)
        if way < 0.01 * gap:
            break
    return np.asarray(place, dtype=np.float64)


def _whole(scene: MeshScene, k: int) -> Solid:
    """Hull of a mesh."""
    hull = cook_hull(scene.meshes[k].vertices, vertex_limit=10**6)
    return Solid(ShapeType.CONVEX_HULL, np.zeros(3), scene.mesh_pose(k), hull)


def _truth(scene: MeshScene, k: int, solid: Solid, way: Vector) -> Truth:
    """Signed distance of a shape to a mesh; ``way`` is a first guess of the normal toward the shape."""
    small = min(diameter(solid), 2.0 * scene.meshes[k].radius)
    if scene.regime not in _SUNK:
        cheap, triangle = least_distance(solid, scene.meshes[k], scene.mesh_pose(k))
        # coal gives up at times, or ends too early.
        start = way if reach_along(solid, triangle, way) > 0.0 else cheap.normal
        return enclosed_distance(solid, triangle, 1e-10 * small, start) if cheap.most > 0.0 else cheap
    if scene.mesh_kind == ShapeType.TRIANGLE_MESH:
        whole = _whole(scene, k)
        deep = enclosed_depth(solid, whole, 1e-9 * small, way[None])
        return deep if deep.least <= 0.0 else enclosed_distance(solid, whole, 1e-10 * small, deep.normal)
    up = Solid(ShapeType.SPHERE, np.zeros(3), scene.mesh_pose(k)).rotation[:, 2]
    height = float(up @ solid.farthest(-up[None])[0])
    return Truth(height, height, up)


def mesh_contacts(scene: MeshScene, offset: Vector, device: str) -> list[dict[str, npt.NDArray[np.float32]]]:
    """Contacts of each pair by the pipeline."""
    count = len(scene.size)
    convex = scene.kind == ShapeType.CONVEX_HULL
    model = build_model(
        shape_type=[scene.kind, scene.mesh_kind] * count,
        shape_body=np.arange(2 * count),
        shape_pose=np.tile([0, 0, 0, 0, 0, 0, 1.0], (2 * count, 1)),
        shape_size=np.stack([scene.size, np.zeros_like(scene.size)], axis=1).reshape(-1, 3),
        shape_hull=np.stack(
            [np.arange(count) if convex else np.full(count, -1), np.full(count, -1)], axis=1
        ).ravel(),
        hulls=scene.hulls if convex else [],
        shape_mesh=np.stack([np.full(count, -1), np.arange(count)], axis=1).ravel(),
        meshes=scene.meshes,
        shape_environment=np.repeat(np.arange(count), 2),
        pairs=np.arange(2 * count).reshape(-1, 2),
        environment_count=count,
        shape_material=np.zeros(2 * count, dtype=int),
        materials=Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.repeat(0.5 * offset, 2),
        rest_offset=np.zeros(2 * count),
        device=device,
    )
    contacts = create_contacts(model)
    collide(model, wp.array(scene.pose.reshape(-1, 7), dtype=wp.transform, device=device), contacts)
    start, used = contacts.slot_start.numpy(), contacts.count.numpy()
    names = ("separation", "normal", "anchor0", "anchor1", "key")
    data = {n: getattr(contacts, n).numpy() for n in names}
    return [{n: data[n][s : s + c] for n in names} for s, c in zip(start[:-1], used, strict=True)]


def mesh_errors(scene: MeshScene, device: str) -> tuple[PairErrors, Vector]:
    """Compare the pipeline with the truth.

    Returns:
        Worst errors of all pairs in what is allowed, see :class:`PairErrors`, and the depth error of each, positive
        where the pipeline is deeper than the truth; not a number without contact.
    """
    count = len(scene.size)
    small = np.array([min(diameter(scene.solid(k)), 2.0 * scene.meshes[k].radius) for k in range(count)])
    result = []
    deeper = np.full(count, np.nan)
    for k, found in enumerate(mesh_contacts(scene, 0.5 * small, device)):
        solid = scene.solid(k)
        large = max(diameter(solid), 2.0 * scene.meshes[k].radius)
        allowed = allowed_error(small[k], large)
        if not len(found["key"]):
            truth = _truth(scene, k, solid, solid.pose[:3] / np.linalg.norm(solid.pose[:3]))
            if truth.most < 0.5 * small[k] - allowed:
                result.append(PairErrors(0, 1, 0.0, 0.0, 0))
            continue
        at = int(found["separation"].argmin())
        least = float(found["separation"][at])
        way = found["normal"][at].astype(np.float64)
        way /= np.linalg.norm(way)
        truth = _truth(scene, k, solid, way)
        depth, angle = error_of(truth, least, way)
        shared = 0
        if angle > allowed / small[k] and scene.regime not in _SUNK:
            triangle = least_distance(solid, scene.meshes[k], scene.mesh_pose(k))[1]
            if is_shared(solid, triangle, truth, way, small[k], large, k) or _another(
                scene, k, solid, way, truth.most + as_good(small[k], large)
            ):
                shared, angle = 1, 0.0
        deeper[k] = (truth.most - least) / allowed
        result.append(PairErrors(1, 0, depth / allowed, angle * small[k] / allowed, shared))
    found_errors = [e for e in result if e.count]
    return (
        PairErrors(
            count=len(found_errors),
            missed=sum(e.missed for e in result),
            depth=max((e.depth for e in found_errors), default=0.0),
            normal=max((e.normal for e in found_errors), default=0.0),
            shared=sum(e.shared for e in found_errors),
        ),
        deeper,
    )


def _another(scene: MeshScene, k: int, solid: Solid, way: Vector, limit: float) -> bool:
    """Whether a triangle that is apart along ``way`` is nearer than a limit."""
    corner = scene.meshes[k].vertices.astype(np.float32).astype(np.float64)[scene.meshes[k].triangles]
    for points in corner:
        triangle = Solid(ShapeType.CONVEX_HULL, np.zeros(3), scene.mesh_pose(k), hull_of_triangle(points))
        if reach_along(solid, triangle, way) > 0.0:
            distance, normal = peer_separation(solid, triangle)
            if distance < limit and angle_between(normal, way) < 1e-3:
                return True
    return False
