"""The constant side of a contact pipeline: shapes, materials, candidate pairs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from ._layout import PairLayout, lay_out_pairs, lay_out_search
from .errors import HullError, MeshError, ShapeError
from .hulls import Hull, pool_hulls
from .meshes import TriangleMesh
from .pair_search import BroadPhase, PairSearch, make_broad_phase
from .shapes import MESH_SHAPES, PairFamily, ShapeType, require_known_shape

FloatArray = npt.NDArray[np.floating[Any]]


@dataclasses.dataclass(frozen=True)
class Materials:
    """A table of surface materials; every field has one value a material.

    Attributes:
        static_friction: Coulomb coefficient at rest.
        dynamic_friction: Coulomb coefficient in sliding.
        restitution: Ratio of separation to approach speed.
        friction_combine: :class:`~tensorphys_contact.CombineMode` codes.
        restitution_combine: :class:`~tensorphys_contact.CombineMode` codes.
    """

    static_friction: npt.ArrayLike
    dynamic_friction: npt.ArrayLike
    restitution: npt.ArrayLike
    friction_combine: npt.ArrayLike
    restitution_combine: npt.ArrayLike


@dataclasses.dataclass
class Model:
    """Shapes and candidate pairs on a device. Built by :func:`build_model`.

    S shapes, P pairs, E environments, H hulls. Poses are ``[x y z, qx qy qz qw]``.

    Attributes:
        device: Warp device of all arrays.
        environment_count: E.
        body_count: Least length of the body poses that :func:`collide` accepts.
        shape_type: int32 [S], :class:`~tensorphys_contact.ShapeType`.
        shape_body: int32 [S], flat body, −1 static.
        shape_size: vec3 [S], see :class:`~tensorphys_contact.ShapeType` [length].
        shape_environment: int32 [S], −1 for shapes of all environments.
        shape_center: vec3 [S], centre of the bounding sphere, shape frame [length].
        shape_radius: float [S], its radius, 0 for planes [length].
        shape_half: vec3 [S], half extents of the box about the shape in its frame, centred
            on ``shape_center`` [length].
        shape_vertices: vec2i [S], first and end index into ``hull_vertex``.
        shape_mesh: uint64 [S], Warp mesh of a triangle mesh or height field, else 0.
        shape_fold: int32 [S], first entry of that mesh in ``triangle_fold``.
        triangle_fold: vec3, fold angles of all triangles, see
            :class:`~tensorphys_contact.TriangleMesh` [rad].
        warp_meshes: The Warp meshes; they live as long as the model.
        shape_faces: vec2i [S], first and end index into ``face_range``.
        hull_vertex: vec3, vertices of all hulls [length].
        face_range: vec2i, first and end index into ``face_vertex`` of each face of all hulls.
        face_normal: vec3, outward unit normal of each face.
        face_vertex: int32, corners of the faces, counted from the first vertex of their
            hull, counter-clockwise from outside.
        local_pose: transform [S + E × shared], shape in its body (or environment)
            frame; behind the S shapes one row for each environment and shared shape.
        row_shape, row_environment: int32, shape and environment of each of these rows (an
            environment of 0 where a row of a shared shape is not used itself).
        static_friction, dynamic_friction, restitution: float [S], may be changed
            between steps.
        friction_combine, restitution_combine: int32 [S], likewise.
        contact_offset, rest_offset: float [S], likewise [length].
        pair_start: int32 [E + 1], environment e owns pairs
            ``pair_start[e] .. pair_start[e + 1]``.
        pair_shape0, pair_shape1: int32 [P], the lower flat shape index is shape 0.
        pair_environment: int32 [P].
        pair_item: vec4i [P], frame shape, other shape, and their rows of
            ``local_pose``; the narrow phase works in the frame shape.
        slot_start: int32 [P + 1], manifold slots of each pair.
        family_pairs: the pairs of each kernel, int32.
        unsupported_pairs: int32 NumPy array [K, 2], flat shape pairs that were asked
            for but have no narrow phase in this version; they never touch.
        no_margin: float [E], zeros.
        environment_capacity: int64 NumPy array [E], largest possible contact count.
        pair_key: int32 [P], upper half of the keys of contacts: the index of the pair in its
            environment, or a number of the two shapes where pairs are searched.
        search: The search for pairs of one large world, or None where ``pairs`` were given.
        chunk_start: int32 [E + 1], chunks of each environment, or None where no
            environment has so many pairs that its compaction needs to be parallel.
        chunk_pair: int32 [chunks + 1], first pair of each chunk, or None.
    """

    device: Any
    environment_count: int
    body_count: int
    shape_type: wp.array[wp.int32]
    shape_body: wp.array[wp.int32]
    shape_size: wp.array[wp.vec3]
    shape_environment: wp.array[wp.int32]
    shape_center: wp.array[wp.vec3]
    shape_radius: wp.array[wp.float32]
    shape_half: wp.array[wp.vec3]
    shape_vertices: wp.array[wp.vec2i]
    shape_mesh: wp.array[wp.uint64]
    shape_fold: wp.array[wp.int32]
    triangle_fold: wp.array[wp.vec3]
    warp_meshes: tuple[wp.Mesh, ...]
    shape_faces: wp.array[wp.vec2i]
    hull_vertex: wp.array[wp.vec3]
    face_range: wp.array[wp.vec2i]
    face_normal: wp.array[wp.vec3]
    face_vertex: wp.array[wp.int32]
    local_pose: wp.array[wp.transform]
    row_shape: wp.array[wp.int32]
    row_environment: wp.array[wp.int32]
    static_friction: wp.array[wp.float32]
    dynamic_friction: wp.array[wp.float32]
    restitution: wp.array[wp.float32]
    friction_combine: wp.array[wp.int32]
    restitution_combine: wp.array[wp.int32]
    contact_offset: wp.array[wp.float32]
    rest_offset: wp.array[wp.float32]
    pair_start: wp.array[wp.int32]
    pair_shape0: wp.array[wp.int32]
    pair_shape1: wp.array[wp.int32]
    pair_environment: wp.array[wp.int32]
    pair_item: wp.array[wp.vec4i]
    slot_start: wp.array[wp.int32]
    family_pairs: dict[PairFamily, wp.array[wp.int32]]
    unsupported_pairs: npt.NDArray[np.int32]
    no_margin: wp.array[wp.float32]
    environment_capacity: npt.NDArray[np.int64]
    pair_key: wp.array[wp.int32]
    search: BroadPhase | None
    chunk_start: wp.array[wp.int32] | None
    chunk_pair: wp.array[wp.int32] | None

    @property
    def shape_count(self) -> int:
        """Number of shapes, shared ones counted once."""
        return len(self.shape_type)

    @property
    def pair_count(self) -> int:
        """Number of candidate pairs of all environments."""
        return len(self.pair_environment)


def build_model(
    *,
    shape_type: npt.ArrayLike,
    shape_body: npt.ArrayLike,
    shape_pose: npt.ArrayLike,
    shape_size: npt.ArrayLike,
    shape_environment: npt.ArrayLike,
    pairs: npt.ArrayLike | PairSearch,
    environment_count: int,
    shape_material: npt.ArrayLike,
    materials: Materials,
    contact_offset: npt.ArrayLike,
    rest_offset: npt.ArrayLike,
    shape_hull: npt.ArrayLike | None = None,
    hulls: Sequence[Hull] = (),
    shape_mesh: npt.ArrayLike | None = None,
    meshes: Sequence[TriangleMesh] = (),
    body_environment: npt.ArrayLike | None = None,
    environment_origin: npt.ArrayLike | None = None,
    device: Any = None,
) -> Model:
    """Check all shapes and candidate pairs, and put them on a device.

    Args:
        shape_type: :class:`ShapeType` codes, shape [S]. Shapes are sorted by
            environment; static shapes of all environments come last.
        shape_body: Flat body of each shape, −1 static, shape [S].
        shape_pose: Pose in the body frame; in the environment frame for a static
            shape, in the world frame for a shared one [length], shape [S, 7].
        shape_size: Sizes [length], shape [S, 3].
        shape_environment: Environment, −1 shared, shape [S].
        pairs: Flat shape pairs sorted by environment, shape [P, 2]; see
            :func:`candidate_pairs` and :func:`replicate_pairs`. Or a :class:`PairSearch`, which
            looks for the near pairs of one large world in each step.
        environment_count: E.
        shape_material: Row of ``materials``, shape [S].
        materials: Material table.
        contact_offset: Contacts exist when nearer than the sum of two [length], [S].
        rest_offset: Distance of rest, summed over two shapes [length], [S].
        shape_hull: Index into ``hulls`` of each convex hull, else −1, shape [S].
        hulls: Cooked hulls.
        shape_mesh: Index into ``meshes`` of each triangle mesh or height field, else −1, shape [S].
        meshes: Cooked meshes.
        body_environment: Environment of each body; checked when given, and its
            length then is the number of bodies.
        environment_origin: Origins of the environments in the world [length],
            float64, shape [E, 3]; shared shapes are moved by its negative.
        device: Warp device, default the current one.

    Raises:
        ShapeError: an array has the wrong length, an index or size is impossible.
        UnsupportedShapeError: a shape type of a later version.
        HullError: a convex hull without a hull.
        MeshError: a triangle mesh or height field without a mesh.
        PairError: pairs out of range, out of order or across environments.
    """
    kind = np.asarray(shape_type, dtype=np.int32)
    count = len(kind)
    for code in np.unique(kind):
        require_known_shape(int(code))
    body = _vector("shape_body", shape_body, count, np.int32)
    pose = _rows("shape_pose", shape_pose, count, 7)
    size = _rows("shape_size", shape_size, count, 3)
    environment = _vector("shape_environment", shape_environment, count, np.int32)
    material = _vector("shape_material", shape_material, count, np.int64)
    hull_index = (
        np.full(count, -1, dtype=np.int64)
        if shape_hull is None
        else _vector("shape_hull", shape_hull, count, np.int64)
    )
    body_count = int(body.max(initial=-1)) + 1
    if body_environment is not None:
        home = np.asarray(body_environment, dtype=np.int32)
        if body_count > len(home):
            raise ShapeError(f"shape_body names body {body_count - 1} of {len(home)} bodies")
        stray = (body >= 0) & (home[body] != environment)
        if stray.any():
            index = int(np.argmax(stray))
            raise ShapeError(
                f"shape {index} is of environment {environment[index]}, "
                f"its body {body[index]} of {home[body[index]]}"
            )
        body_count = len(home)
    pose = _normalised(pose)
    _check_sizes(kind, size)
    if (environment < -1).any() or (environment >= environment_count).any():
        raise ShapeError(f"shape_environment must lie in -1..{environment_count - 1}")
    center, radius = _bounds(kind, size, hull_index, hulls)
    mesh_index = _mesh_index(kind, shape_mesh, meshes)
    half = _half_extents(kind, size, hull_index, hulls, mesh_index, meshes)
    for shape in np.flatnonzero(mesh_index >= 0):
        center[shape], radius[shape] = meshes[mesh_index[shape]].center, meshes[mesh_index[shape]].radius
    pool = pool_hulls(hulls)
    if isinstance(pairs, PairSearch):
        layout = lay_out_search(pairs.capacity, kind, environment_count)
    else:
        layout = lay_out_pairs(pairs, kind, body, environment, radius, environment_count)
    local_pose = _local_poses(kind, pose, environment, environment_count, environment_origin)
    shared = np.flatnonzero(environment < 0)
    table = _material_rows(materials, material)
    warp_device = wp.get_device(device)

    def put(data: npt.ArrayLike, dtype: Any) -> Any:
        return wp.array(np.ascontiguousarray(data), dtype=dtype, device=warp_device)

    return Model(
        device=warp_device,
        environment_count=environment_count,
        body_count=body_count,
        shape_type=put(kind, wp.int32),
        shape_body=put(body, wp.int32),
        shape_size=put(size.astype(np.float32), wp.vec3),
        shape_environment=put(environment, wp.int32),
        shape_center=put(center.astype(np.float32), wp.vec3),
        shape_radius=put(radius.astype(np.float32), wp.float32),
        shape_half=put(half.astype(np.float32), wp.vec3),
        shape_vertices=put(_ranges(hull_index, kind, pool.vertex_start), wp.vec2i),
        shape_faces=put(_ranges(hull_index, kind, pool.face_start), wp.vec2i),
        hull_vertex=put(pool.vertex, wp.vec3),
        **_put_meshes(mesh_index, meshes, put),
        face_range=put(pool.face_range, wp.vec2i),
        face_normal=put(pool.face_normal, wp.vec3),
        face_vertex=put(pool.face_vertex, wp.int32),
        local_pose=put(local_pose.astype(np.float32), wp.transform),
        row_shape=put(np.append(np.arange(count), np.tile(shared, environment_count)), wp.int32),
        row_environment=put(
            np.append(np.maximum(environment, 0), np.repeat(np.arange(environment_count), len(shared))),
            wp.int32,
        ),
        static_friction=put(table[0], wp.float32),
        dynamic_friction=put(table[1], wp.float32),
        restitution=put(table[2], wp.float32),
        friction_combine=put(table[3].astype(np.int32), wp.int32),
        restitution_combine=put(table[4].astype(np.int32), wp.int32),
        contact_offset=put(_offsets("contact_offset", contact_offset, count), wp.float32),
        rest_offset=put(_offsets("rest_offset", rest_offset, count), wp.float32),
        no_margin=wp.zeros(environment_count, dtype=wp.float32, device=warp_device),
        search=(
            make_broad_phase(
                pairs,
                kind=kind,
                body=body,
                environment=environment,
                radius=radius,
                device=warp_device,
            )
            if isinstance(pairs, PairSearch)
            else None
        ),
        **_put_layout(layout, put),
    )


def _mesh_index(
    kind: npt.NDArray[np.int32], shape_mesh: npt.ArrayLike | None, meshes: Sequence[TriangleMesh]
) -> npt.NDArray[np.int64]:
    count = len(kind)
    index = _vector("shape_mesh", np.full(count, -1) if shape_mesh is None else shape_mesh, count, np.int64)
    needed = np.isin(kind, MESH_SHAPES)
    bad = needed & ((index < 0) | (index >= len(meshes)))
    if bad.any():
        shape = int(np.argmax(bad))
        raise MeshError(f"shape {shape} is a mesh with shape_mesh {index[shape]} of {len(meshes)} meshes")
    return np.where(needed, index, -1)


def _put_meshes(index: npt.NDArray[np.int64], meshes: Sequence[TriangleMesh], put: Any) -> dict[str, Any]:
    built = tuple(
        wp.Mesh(put(mesh.vertices.astype(np.float32), wp.vec3), put(mesh.triangles.reshape(-1), wp.int32))
        for mesh in meshes
    )
    # The last entries stand for shapes without a mesh.
    identity = np.array([mesh.id for mesh in built] + [0], dtype=np.uint64)
    start = np.cumsum([0] + [len(mesh.triangles) for mesh in meshes])
    folds = np.concatenate([np.zeros((0, 3))] + [mesh.fold for mesh in meshes])
    return {
        "shape_mesh": put(identity[index], wp.uint64),
        "shape_fold": put(np.append(start[:-1], 0)[index], wp.int32),
        "triangle_fold": put(folds.astype(np.float32), wp.vec3),
        "warp_meshes": built,
    }


def _put_layout(layout: PairLayout, put: Any) -> dict[str, Any]:
    return {
        "pair_start": put(layout.pair_start, wp.int32),
        "pair_shape0": put(layout.shapes[:, 0], wp.int32),
        "pair_shape1": put(layout.shapes[:, 1], wp.int32),
        "pair_environment": put(layout.environment, wp.int32),
        "pair_key": put(layout.key, wp.int32),
        "pair_item": put(layout.item, wp.vec4i),
        "slot_start": put(layout.slot_start, wp.int32),
        "family_pairs": {k: put(v, wp.int32) for k, v in layout.family_pairs.items()},
        "unsupported_pairs": layout.unsupported,
        "environment_capacity": layout.environment_capacity,
        "chunk_start": None if layout.chunk_start is None else put(layout.chunk_start, wp.int32),
        "chunk_pair": None if layout.chunk_pair is None else put(layout.chunk_pair, wp.int32),
    }


def _vector(name: str, data: npt.ArrayLike, count: int, dtype: Any) -> npt.NDArray[Any]:
    array = np.asarray(data, dtype=dtype)
    if array.shape != (count,):
        raise ShapeError(f"{name}: expected shape ({count},), given {array.shape}")
    return array


def _rows(name: str, data: npt.ArrayLike, count: int, width: int) -> npt.NDArray[np.float64]:
    array = np.asarray(data, dtype=np.float64)
    if array.shape != (count, width):
        raise ShapeError(f"{name}: expected shape ({count}, {width}), given {array.shape}")
    bad = ~np.isfinite(array).all(axis=1)
    if bad.any():
        raise ShapeError(f"{name}: shape {int(np.argmax(bad))} has values that are not finite")
    return array


def _offsets(name: str, data: npt.ArrayLike, count: int) -> npt.NDArray[np.float32]:
    array = _vector(name, data, count, np.float32)
    if not np.isfinite(array).all():
        raise ShapeError(f"{name}: shape {int(np.argmin(np.isfinite(array)))} is not finite")
    return array


def _normalised(pose: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    length = np.linalg.norm(pose[:, 3:], axis=1)
    off = np.abs(length - 1.0) > 1e-3
    if off.any():
        index = int(np.argmax(off))
        raise ShapeError(f"shape_pose: shape {index} has a quaternion of length {length[index]:g}")
    return np.concatenate([pose[:, :3], pose[:, 3:] / length[:, None]], axis=1)


def _check_sizes(kind: npt.NDArray[np.int32], size: npt.NDArray[np.float64]) -> None:
    bad = (
        ((kind == ShapeType.SPHERE) & (size[:, 0] <= 0.0))
        | ((kind == ShapeType.CAPSULE) & ((size[:, 0] <= 0.0) | (size[:, 1] < 0.0)))
        | ((kind == ShapeType.BOX) & (size <= 0.0).any(axis=1))
        | (np.isin(kind, (ShapeType.CYLINDER, ShapeType.CONE)) & (size[:, :2] <= 0.0).any(axis=1))
        | ((kind == ShapeType.ELLIPSOID) & (size <= 0.0).any(axis=1))
    )
    if bad.any():
        index = int(np.argmax(bad))
        name = ShapeType(int(kind[index])).name
        raise ShapeError(f"shape {index} ({name}) has the impossible size {size[index].tolist()}")


def _bounds(
    kind: npt.NDArray[np.int32],
    size: npt.NDArray[np.float64],
    hull_index: npt.NDArray[np.int64],
    hulls: Sequence[Hull],
) -> tuple[FloatArray, FloatArray]:
    """Bounding spheres of all shapes."""
    count = len(kind)
    center = np.zeros((count, 3))
    radius = np.zeros(count)
    is_capsule = kind == ShapeType.CAPSULE
    is_box = kind == ShapeType.BOX
    is_cylinder = np.isin(kind, (ShapeType.CYLINDER, ShapeType.CONE))
    is_ellipsoid = kind == ShapeType.ELLIPSOID
    is_hull = kind == ShapeType.CONVEX_HULL
    radius[kind == ShapeType.SPHERE] = size[kind == ShapeType.SPHERE, 0]
    radius[is_capsule] = size[is_capsule, 0] + size[is_capsule, 1]
    radius[is_cylinder] = np.hypot(size[is_cylinder, 0], size[is_cylinder, 1])
    radius[is_ellipsoid] = size[is_ellipsoid].max(axis=1)
    radius[is_box] = np.linalg.norm(size[is_box], axis=1)
    bad = is_hull & ((hull_index < 0) | (hull_index >= len(hulls)))
    if bad.any():
        index = int(np.argmax(bad))
        raise HullError(
            f"shape {index} is a convex hull with shape_hull {hull_index[index]} of {len(hulls)} hulls"
        )
    if is_hull.any():
        chosen = hull_index[is_hull]
        center[is_hull] = np.stack([h.center for h in hulls])[chosen]
        radius[is_hull] = np.array([h.radius for h in hulls])[chosen]
    return center, radius


def _half_extents(
    kind: npt.NDArray[np.int32],
    size: npt.NDArray[np.float64],
    hull_index: npt.NDArray[np.int64],
    hulls: Sequence[Hull],
    mesh_index: npt.NDArray[np.int64],
    meshes: Sequence[TriangleMesh],
) -> npt.NDArray[np.float64]:
    """Half extents of the box about each shape in its frame, centred on its bounding sphere."""
    half = size.copy()
    half[kind == ShapeType.SPHERE] = size[kind == ShapeType.SPHERE, :1]
    for round_kind in (ShapeType.CAPSULE, ShapeType.CYLINDER, ShapeType.CONE):
        chosen = kind == round_kind
        half[chosen] = size[chosen][:, [0, 0, 1]]
        if round_kind == ShapeType.CAPSULE:
            half[chosen, 2] += size[chosen, 0]
    for index, cooked, code in (
        (hull_index, hulls, (ShapeType.CONVEX_HULL,)),
        (mesh_index, meshes, MESH_SHAPES),
    ):
        chosen = np.isin(kind, code)
        if chosen.any():
            half[chosen] = np.array([0.5 * np.ptp(c.vertices, axis=0) for c in cooked])[index[chosen]]
    return half


def _ranges(
    hull_index: npt.NDArray[np.int64], kind: npt.NDArray[np.int32], start: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Range of the hull of each shape in a pool; empty for other shapes."""
    ranges = np.zeros((len(kind), 2), dtype=np.int32)
    is_hull = kind == ShapeType.CONVEX_HULL
    ranges[is_hull, 0] = start[hull_index[is_hull]]
    ranges[is_hull, 1] = start[hull_index[is_hull] + 1]
    return ranges


def _local_poses(
    kind: npt.NDArray[np.int32],
    pose: npt.NDArray[np.float64],
    environment: npt.NDArray[np.int32],
    environment_count: int,
    origin: npt.ArrayLike | None,
) -> npt.NDArray[np.float64]:
    """Append the shared shapes as each environment sees them.

    A plane is moved along itself to the point nearest to the environment origin, so
    that its distance is exact however far the environment lies from the world origin.
    """
    shared = np.flatnonzero(environment < 0)
    offset = np.zeros((environment_count, 3)) if origin is None else np.asarray(origin, dtype=np.float64)
    if offset.shape != (environment_count, 3):
        raise ShapeError(f"environment_origin: expected ({environment_count}, 3), given {offset.shape}")
    copies = np.repeat(pose[shared][None], environment_count, axis=0)
    copies[..., :3] -= offset[:, None]
    planes = np.flatnonzero(kind[shared] == ShapeType.PLANE)
    if len(planes):
        x, y, z, w = np.moveaxis(copies[:, planes, 3:], -1, 0)
        normal = np.stack([2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)], -1)
        distance = (copies[:, planes, :3] * normal).sum(axis=-1, keepdims=True)
        copies[:, planes, :3] = normal * distance
    return np.concatenate([pose, copies.reshape(-1, 7)])


def _material_rows(materials: Materials, material: npt.NDArray[np.int64]) -> list[npt.NDArray[np.float32]]:
    columns = [
        np.asarray(getattr(materials, field.name), dtype=np.float32)
        for field in dataclasses.fields(Materials)
    ]
    count = len(columns[0])
    if any(column.shape != (count,) for column in columns):
        raise ShapeError("materials: all fields need one value for each material")
    if material.size and (material.min() < 0 or material.max() >= count):
        raise ShapeError(f"shape_material must lie in 0..{count - 1}")
    if not np.isfinite(np.stack(columns)).all():
        raise ShapeError("materials: values that are not finite")
    if np.isin(np.stack(columns[3:]), np.arange(4)).all():
        return [column[material] for column in columns]
    raise ShapeError("materials: combine modes must be 0 average, 1 min, 2 multiply or 3 max")
