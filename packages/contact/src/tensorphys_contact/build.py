"""From NumPy columns of all shapes and pairs to a :class:`~tensorphys_contact.Model` on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from ._columns import (
    bound_spheres,
    bounds_of,
    check_sizes,
    half_extents,
    hull_ranges,
    local_poses,
    material_rows,
    normalised_poses,
    numbers_of,
    offsets_of,
    pooled_spheres,
    rows_of,
    scaled_surfaces,
    vector_of,
)
from ._layout import lay_out_pairs, lay_out_search, put_layout
from .contacts import PATCH_FIELDS
from .errors import MeshError, ShapeError
from .hulls import Hull, hull_of_mesh, pool_hulls
from .meshes import TriangleMesh
from .model import Materials, Model
from .pair_search import PairSearch, make_broad_phase
from .sampled_pairs import SampledColumns, make_sampled_pairs
from .sdf_shapes import SdfGeometry
from .shapes import MESH_SHAPES, PairFamily, ShapeType, pair_families, require_known_shape
from .sphere_sets import SphereSet

_MATERIAL_NUMBERS = (
    "static_friction",
    "dynamic_friction",
    "restitution",
    "stiffness",
    "damping",
    "patch_radius",
    "least_patch_radius",
    "torsional_friction",
)
_MATERIAL_CODES = ("friction_combine", "restitution_combine", "damping_combine", "spring_per_mass")


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
    shape_sdf: npt.ArrayLike | None = None,
    sdfs: Sequence[SdfGeometry] = (),
    shape_spheres: npt.ArrayLike | None = None,
    sphere_sets: Sequence[SphereSet] = (),
    sdf_contact_limit: int = 64,
    sphere_contact_limit: int = 16,
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
        shape_sdf: Index into ``sdfs`` of each signed distance field, else −1, shape [S].
        sdfs: Cooked fields, on the device of the model.
        shape_spheres: Index into ``sphere_sets`` of each set of spheres, else −1, shape [S].
        sphere_sets: Cooked sets of spheres.
        sdf_contact_limit: Most contacts of a field with another field, a triangle mesh or a height field; with
            other shapes at most 16 of them.
        sphere_contact_limit: Most contacts of a set of spheres with another shape.
        body_environment: Environment of each body; checked when given, and its
            length then is the number of bodies.
        environment_origin: Origins of the environments in the world [length],
            float64, shape [E, 3]; shared shapes are moved by its negative.
        device: Warp device, default the current one.

    Raises:
        ShapeError: an array has the wrong length, an index or size is impossible.
        UnsupportedShapeError: an unknown shape type.
        HullError: a convex hull without a hull.
        MeshError: a triangle mesh or height field without a mesh.
        PairError: pairs out of range, out of order or across environments.
    """
    kind = np.asarray(shape_type, dtype=np.int32)
    count = len(kind)
    for code in np.unique(kind):
        require_known_shape(int(code))
    body = vector_of("shape_body", shape_body, count, np.int32)
    pose = rows_of("shape_pose", shape_pose, count, 7)
    size = rows_of("shape_size", shape_size, count, 3)
    environment = vector_of("shape_environment", shape_environment, count, np.int32)
    material = vector_of("shape_material", shape_material, count, np.int64)
    hull_index = (
        np.full(count, -1, dtype=np.int64)
        if shape_hull is None
        else vector_of("shape_hull", shape_hull, count, np.int64)
    )
    body_count = int(body.max(initial=-1)) + 1
    if body_environment is not None:
        home = np.asarray(body_environment, dtype=np.int32)
        if body_count > len(home):
            raise ShapeError(f"shape_body names body {body_count - 1} of {len(home)} bodies")
        owned = np.flatnonzero(body >= 0)
        stray = np.zeros(count, dtype=bool)
        stray[owned] = home[body[owned]] != environment[owned]
        if stray.any():
            index = int(np.argmax(stray))
            raise ShapeError(
                f"shape {index} is of environment {environment[index]}, "
                f"its body {body[index]} of {home[body[index]]}"
            )
        body_count = len(home)
    pose = normalised_poses(pose)
    check_sizes(kind, size)
    if (environment < -1).any() or (environment >= environment_count).any():
        raise ShapeError(f"shape_environment must lie in -1..{environment_count - 1}")
    center, radius = bounds_of(kind, size, hull_index, hulls)
    mesh_index = numbers_of("shape_mesh", kind, shape_mesh, len(meshes), MESH_SHAPES, MeshError)
    sdf_index = numbers_of("shape_sdf", kind, shape_sdf, len(sdfs), (ShapeType.SDF,), ShapeError)
    spheres_index = numbers_of(
        "shape_spheres", kind, shape_spheres, len(sphere_sets), (ShapeType.SPHERES,), ShapeError
    )
    surface_index, surfaces = scaled_surfaces(sdf_index, sdfs, size, len(meshes))
    mesh_index, meshes = np.maximum(mesh_index, surface_index), [*meshes, *surfaces]
    half = half_extents(kind, size, hull_index, hulls, mesh_index, meshes)
    for shape in np.flatnonzero(mesh_index >= 0):
        center[shape], radius[shape] = meshes[mesh_index[shape]].center, meshes[mesh_index[shape]].radius
    bound_spheres(spheres_index, sphere_sets, size, center, radius, half)
    solid_index, solids = _with_mesh_hulls(kind, hull_index, hulls, mesh_index, meshes)
    pool = pool_hulls(solids)
    spheres, sphere_ranges = pooled_spheres(spheres_index, sphere_sets, size)
    families = pair_families(sdf_limit=sdf_contact_limit, sphere_limit=sphere_contact_limit)
    if isinstance(pairs, PairSearch):
        layout = lay_out_search(pairs, kind, environment_count, families)
    else:
        layout = lay_out_pairs(
            pairs,
            kind,
            body,
            environment,
            radius,
            environment_count,
            families,
            by_type=wp.get_device(device).is_cuda,
        )
    local_pose = local_poses(kind, pose, environment, environment_count, environment_origin)
    shared = np.flatnonzero(environment < 0)
    row_environment = np.append(
        np.maximum(environment, 0), np.repeat(np.arange(environment_count), len(shared))
    )
    table = material_rows(materials, material)
    warp_device = wp.get_device(device)

    def put(data: npt.ArrayLike, dtype: Any) -> Any:
        return wp.array(np.ascontiguousarray(data), dtype=dtype, device=warp_device)

    model = Model(
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
        shape_vertices=put(hull_ranges(solid_index, kind, pool.vertex_start), wp.vec2i),
        shape_faces=put(hull_ranges(solid_index, kind, pool.face_start), wp.vec2i),
        hull_vertex=put(pool.vertex, wp.vec3),
        shape_spheres=put(sphere_ranges, wp.vec2i),
        sphere=put(spheres.astype(np.float32), wp.vec4),
        **_put_meshes(mesh_index, meshes, put),
        face_range=put(pool.face_range, wp.vec2i),
        face_normal=put(pool.face_normal, wp.vec3),
        face_vertex=put(pool.face_vertex, wp.int32),
        local_pose=put(local_pose.astype(np.float32), wp.transform),
        row_shape=put(np.append(np.arange(count), np.tile(shared, environment_count)), wp.int32),
        row_environment=put(row_environment, wp.int32),
        environment_row_start=put(
            np.append(0, np.cumsum(np.bincount(row_environment, minlength=environment_count))), wp.int32
        ),
        environment_rows=put(np.argsort(row_environment, kind="stable"), wp.int32),
        **{name: put(table[name], wp.float32) for name in _MATERIAL_NUMBERS},
        has_patches=any(table[name].any() for name in PATCH_FIELDS),
        **{name: put(table[name].astype(np.int32), wp.int32) for name in _MATERIAL_CODES},
        contact_offset=put(offsets_of("contact_offset", contact_offset, count), wp.float32),
        rest_offset=put(offsets_of("rest_offset", rest_offset, count), wp.float32),
        no_margin=wp.zeros(environment_count, dtype=wp.float32, device=warp_device),
        no_motion=put(np.zeros((0, 6), np.float32), wp.spatial_vector),
        search=(
            make_broad_phase(
                pairs,
                kind=kind,
                body=body,
                environment=environment,
                radius=radius,
                families=families,
                device=warp_device,
            )
            if isinstance(pairs, PairSearch)
            else None
        ),
        sampled=None,
        **put_layout(layout, put),
    )
    if PairFamily.SAMPLED in model.family_pairs:
        geometry = SampledColumns(
            kind, size, hull_index, mesh_index, sdf_index, spheres_index, hulls, meshes, sdfs, sphere_sets
        )
        model.sampled = make_sampled_pairs(
            geometry,
            model,
            put,
            asked=layout.sampled_shapes,
            room=layout.sampled_room,
        )
    return model


def _with_mesh_hulls(
    kind: npt.NDArray[np.int32],
    hull_index: npt.NDArray[np.int64],
    hulls: Sequence[Hull],
    mesh_index: npt.NDArray[np.int64],
    meshes: Sequence[TriangleMesh],
) -> tuple[npt.NDArray[np.int64], list[Hull]]:
    """Give the shapes of convex triangle meshes their hulls."""
    index, pool = hull_index.copy(), list(hulls)
    is_mesh = kind == ShapeType.TRIANGLE_MESH
    for number in np.unique(mesh_index[is_mesh]).tolist():
        mesh = meshes[number]
        hull = hull_of_mesh(mesh.vertices, mesh.triangles, mesh.neighbour)
        if hull is not None:
            index[is_mesh & (mesh_index == number)] = len(pool)
            pool.append(hull)
    return index, pool


def _put_meshes(index: npt.NDArray[np.int64], meshes: Sequence[TriangleMesh], put: Any) -> dict[str, Any]:
    built = tuple(
        wp.Mesh(put(mesh.vertices.astype(np.float32), wp.vec3), put(mesh.triangles.reshape(-1), wp.int32))
        for mesh in meshes
    )
    # The last entries stand for shapes without a mesh.
    identity = np.array([mesh.id for mesh in built] + [0], dtype=np.uint64)
    start = np.cumsum([0] + [len(mesh.triangles) for mesh in meshes])
    folds = np.concatenate([np.zeros((0, 3))] + [mesh.fold for mesh in meshes])
    neighbours = np.concatenate([np.zeros((0, 3), dtype=np.int32)] + [mesh.neighbour for mesh in meshes])
    return {
        "shape_mesh": put(identity[index], wp.uint64),
        "shape_fold": put(np.append(start[:-1], 0)[index], wp.int32),
        "triangle_fold": put(folds.astype(np.float32), wp.vec3),
        "triangle_neighbour": put(neighbours, wp.vec3i),
        "warp_meshes": built,
    }
