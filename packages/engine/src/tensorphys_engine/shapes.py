"""Flat columns of collision shapes: geometry, materials, contact offsets, hulls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_contact import Hull, Materials, SdfGeometry, SphereSet, TriangleMesh
from tensorphys_engine.fields import FieldBook, contact_sizes
from tensorphys_engine.findings import Findings
from tensorphys_engine.hulls import HullBook, contact_types, refuse_scaled_hulls
from tensorphys_engine.layout import Array, IntArray
from tensorphys_engine.numbering import Numbering
from tensorphys_engine.surfaces import SurfaceBook
from tensorphys_scene import CombineMode, ShapeType
from tensorphys_spatial import quaternion_normalize, transform_multiply

# Contact offset where none is authored: a share of the smallest extent of the shape, or the distance
# that gravity covers in this many half steps squared, whichever is larger; a length for planes and meshes.
_EXTENT_SHARE = 0.02
_FALL_FACTOR = 2.0
_LEAST_GRAVITY = 1.0  # [m/s²]
_PLANE_OFFSET = 0.02  # [m]
_SURFACES = (ShapeType.PLANE, ShapeType.TRIANGLE_MESH, ShapeType.HEIGHT_FIELD)

# Field of the contact pipeline, column of the scene, value of a shape without a material.
_MATERIAL_COLUMNS = (
    ("static_friction", "static_friction", 0.5),
    ("dynamic_friction", "dynamic_friction", 0.5),
    ("restitution", "restitution", 0.0),
    ("friction_combine", "friction_combine", float(CombineMode.AVERAGE)),
    ("restitution_combine", "restitution_combine", float(CombineMode.AVERAGE)),
    ("damping_combine", "damping_combine", float(CombineMode.AVERAGE)),
    ("stiffness", "compliant_stiffness", 0.0),
    ("damping", "compliant_damping", 0.0),
    ("spring_per_mass", "compliant_acceleration", 0.0),
    ("torsional_friction", "torsional_friction", 0.0),
)


@dataclass(frozen=True)
class ShapeColumns:
    """Columns of all shapes, the shared ones last, as :func:`tensorphys_contact.build_model` takes them.

    Attributes:
        shape_type, shape_body, shape_environment, shape_hull: int32, shape [shapes].
        shape_pose: Pose in the link frame, the environment frame, or the world frame where shared, [shapes, 7].
        shape_size: Sizes [m], shape [shapes, 3].
        contact_offset, rest_offset: Offsets [m], shape [shapes].
        materials: One row a shape.
        hulls: Cooked hulls.
        shape_mesh: int32, shape [shapes].
        meshes: Cooked triangle meshes.
        shape_sdf: int32, shape [shapes].
        sdfs: Cooked signed distance fields.
        shape_spheres: int32, shape [shapes].
        sphere_sets: Cooked sets of spheres.
        radius: Radius of a sphere about the link's centre of mass that holds the shape [m]; 0 for planes and
            static shapes, shape [shapes].
    """

    shape_type: IntArray
    shape_body: IntArray
    shape_environment: IntArray
    shape_hull: IntArray
    shape_pose: npt.NDArray[np.float64]
    shape_size: npt.NDArray[np.float64]
    contact_offset: npt.NDArray[np.float64]
    rest_offset: npt.NDArray[np.float64]
    materials: Materials
    hulls: tuple[Hull, ...]
    shape_mesh: IntArray
    meshes: tuple[TriangleMesh, ...]
    shape_sdf: IntArray
    sdfs: tuple[SdfGeometry, ...]
    shape_spheres: IntArray
    sphere_sets: tuple[SphereSet, ...]
    radius: npt.NDArray[np.float64]


def shape_columns(numbering: Numbering, findings: Findings, *, device: Any) -> ShapeColumns:
    """Columns of all shapes of a scene.

    Args:
        numbering: Flat numbers.
        findings: Takes what is changed.
        device: Warp device of signed distance fields.

    Raises:
        BuildError: If a mesh has no hull.
        UnsupportedError: If environments of one template differ in the scale of a hull.
    """
    scene, layout = numbering.scene, numbering.shapes
    book = HullBook()
    surfaces = SurfaceBook()
    fields = FieldBook(findings, device)
    own_hulls, own_surfaces, own_sdfs, own_spheres = [], [], [], []
    for t, (tables, plan) in enumerate(zip(scene.templates, numbering.plans, strict=True)):
        users = layout.members(t)
        prefix = scene.environments.path[int(users[0])] if users.size else ""
        own_hulls.append(book.hulls_of(tables, plan.shape_row, plan.shape_part, prefix))
        own_surfaces.append(surfaces.surfaces_of(tables, plan.shape_row, prefix))
        own_sdfs.append(fields.fields_of(tables, plan.shape_row, prefix))
        own_spheres.append(fields.spheres_of(tables, plan.shape_row, prefix))
        baked = np.max([own_hulls[t], own_surfaces[t], own_sdfs[t], own_spheres[t]], axis=0)
        refuse_scaled_hulls(tables, plan.shape_row, baked, numbering.columns(t, "shapes.size"), prefix)
    shared_rows = numbering.shared_shape_row
    shared_hull = book.hulls_of(scene.shared, shared_rows, numbering.shared_shape_part, "")
    shared_surface = surfaces.surfaces_of(scene.shared, shared_rows, "")
    shared_sdf = fields.fields_of(scene.shared, shared_rows, "")
    shared_spheres = fields.spheres_of(scene.shared, shared_rows, "")
    shared = scene.shared.shapes

    def fill(name: str, dtype: npt.DTypeLike, shape: tuple[int, ...] = ()) -> Array:
        own = numbering.fill(layout, f"shapes.{name}", "shape_row", dtype, shape)
        return np.concatenate((own, getattr(shared, name)[shared_rows].astype(dtype)))

    body = layout.fill(
        [numbering.links_of(t, plan.shape_link) for t, plan in enumerate(numbering.plans)], np.int32
    )
    pose = layout.fill([_poses(numbering, t) for t in range(len(numbering.plans))], np.float64, (7,))
    kind, size = contact_types(fill("type", np.int32)), fill("size", np.float64, (3,))
    hull = np.concatenate((layout.fill([h[None] for h in own_hulls], np.int32), shared_hull))
    surface = np.concatenate((layout.fill([s[None] for s in own_surfaces], np.int32), shared_surface))
    sdf = np.concatenate((layout.fill([s[None] for s in own_sdfs], np.int32), shared_sdf))
    spheres = np.concatenate((layout.fill([s[None] for s in own_spheres], np.int32), shared_spheres))
    size = contact_sizes(kind, size)
    rest = fill("rest_offset", np.float64)
    extent, center, radius = _bounds(kind, size, hull, book.cooked)
    for shape in np.flatnonzero(surface >= 0):
        mesh = surfaces.cooked[surface[shape]]
        center[shape], radius[shape] = mesh.center, mesh.radius
    for shape in np.flatnonzero((sdf >= 0) | (spheres >= 0)):
        body_of = fields.sdfs[sdf[shape]].mesh if sdf[shape] >= 0 else fields.sphere_sets[spheres[shape]]
        center[shape], radius[shape] = body_of.center * size[shape], body_of.radius * size[shape, 0]
        points = (
            body_of.vertices if isinstance(body_of, TriangleMesh) else np.stack([-body_of.half, body_of.half])
        )
        extent[shape] = np.ptp(points, axis=0).min() * size[shape, 0]
    shape_body = np.concatenate((body, np.full(len(shared_rows), -1, np.int32)))
    shape_pose = np.concatenate((pose, _unit(shared.pose[shared_rows])))
    return ShapeColumns(
        shape_type=kind,
        shape_body=shape_body,
        shape_environment=np.concatenate((layout.environment, np.full(len(shared_rows), -1, np.int32))),
        shape_hull=hull,
        shape_pose=shape_pose,
        shape_size=size,
        contact_offset=_contact_offsets(
            numbering, fill("contact_offset", np.float64), rest, kind, extent, findings
        ),
        rest_offset=rest,
        materials=_materials(
            numbering,
            patch_radius=fill("torsional_patch_radius", np.float64),
            least_patch_radius=fill("min_torsional_patch_radius", np.float64),
            resists_spin=fill("resists_spin", bool),
        ),
        hulls=tuple(book.cooked),
        shape_mesh=surface,
        meshes=tuple(surfaces.cooked),
        shape_sdf=sdf,
        sdfs=tuple(fields.sdfs),
        shape_spheres=spheres,
        sphere_sets=tuple(fields.sphere_sets),
        radius=_reach(numbering, shape_body, shape_pose, center, radius),
    )


def _unit(pose: Array) -> Array:
    return np.concatenate((pose[..., :3], quaternion_normalize(pose[..., 3:])), axis=-1)


def _poses(numbering: Numbering, template: int) -> Array:
    """Pose of each shape in its link, or in the environment where static, shape [1 or members, shapes, 7]."""
    plan = numbering.plans[template]
    pose = _unit(numbering.columns(template, "shapes.pose")[:, plan.shape_row])
    on_disabled = np.flatnonzero(plan.shape_base >= 0)
    if not on_disabled.size:
        return pose
    base = _unit(numbering.columns(template, "bodies.pose")[:, plan.shape_base[on_disabled]])
    count = max(len(pose), len(base))
    pose = np.broadcast_to(pose, (count, *pose.shape[1:])).copy()
    pose[:, on_disabled] = transform_multiply(base, pose[:, on_disabled])
    return pose


def _bounds(kind: Array, size: Array, hull: Array, hulls: list[Hull]) -> tuple[Array, Array, Array]:
    """Smallest extent along the axes of the shape frame, centre and radius of a bounding sphere."""
    extent, center, radius = np.zeros(len(kind)), np.zeros((len(kind), 3)), np.zeros(len(kind))
    sphere, capsule = kind == ShapeType.SPHERE, kind == ShapeType.CAPSULE
    box, is_hull = kind == ShapeType.BOX, kind == ShapeType.CONVEX_HULL
    rounded = sphere | capsule
    extent[rounded] = 2.0 * size[rounded, 0]
    radius[rounded] = size[rounded, 0] + np.where(capsule, size[:, 1], 0.0)[rounded]
    cylinder = np.isin(kind, (ShapeType.CYLINDER, ShapeType.CONE))
    extent[cylinder] = 2.0 * size[cylinder, :2].min(axis=1, initial=np.inf)
    radius[cylinder] = np.hypot(size[cylinder, 0], size[cylinder, 1])
    extent[box] = 2.0 * size[box].min(axis=1, initial=np.inf)
    radius[box] = np.linalg.norm(size[box], axis=1)
    ellipsoid = kind == ShapeType.ELLIPSOID
    extent[ellipsoid] = 2.0 * size[ellipsoid].min(axis=1, initial=np.inf)
    radius[ellipsoid] = size[ellipsoid].max(axis=1, initial=0.0)
    if is_hull.any():
        chosen = hull[is_hull]
        extent[is_hull] = np.array([np.ptp(h.vertices, axis=0).min() for h in hulls])[chosen]
        center[is_hull] = np.array([h.center for h in hulls])[chosen]
        radius[is_hull] = np.array([h.radius for h in hulls])[chosen]
    return extent, center, radius


def _contact_offsets(
    numbering: Numbering, authored: Array, rest: Array, kind: Array, extent: Array, findings: Findings
) -> Array:
    settings = numbering.scene.settings
    step = 1.0 / settings.steps_per_second
    least = _LEAST_GRAVITY / settings.meters_per_unit
    fall = _FALL_FACTOR * step * step * max(float(np.linalg.norm(settings.gravity)), least)
    automatic = np.maximum(_EXTENT_SHARE * extent, fall)
    automatic[np.isin(kind, _SURFACES)] = _PLANE_OFFSET / settings.meters_per_unit
    automatic += np.maximum(rest, 0.0)
    # An offset at or below the rest offset could make no contact before the shapes are past their rest.
    ignored = np.isfinite(authored) & (authored <= rest)
    # Environments of one template repeat each other: the first one stands for all.
    layout = numbering.shapes
    firsts = [layout.members(t)[0] for t in range(len(numbering.plans)) if layout.members(t).size]
    reported = np.append(np.isin(layout.environment, firsts), np.ones(len(rest) - layout.total, bool))
    for shape in np.flatnonzero(ignored & reported):
        findings.note(
            shape_path(numbering, int(shape)),
            f"contact offset {authored[shape]:g} is not above the rest offset {rest[shape]:g}; "
            f"{automatic[shape]:g} is used",
        )
    return np.where(np.isfinite(authored) & ~ignored, authored, automatic)


def shape_path(numbering: Numbering, shape: int) -> str:
    """Prim path of a flat shape."""
    scene, layout = numbering.scene, numbering.shapes
    if shape >= layout.total:
        return scene.shared.shapes.path[int(numbering.shared_shape_row[shape - layout.total])]
    environment = int(np.searchsorted(layout.start, shape, side="right")) - 1
    template = int(scene.environments.template[environment])
    row = int(numbering.plans[template].shape_row[shape - layout.start[environment]])
    return scene.environments.path[environment] + scene.templates[template].shapes.path[row]


def _materials(numbering: Numbering, *, resists_spin: Array, **of_shapes: Array) -> Materials:
    """Material values of each shape, with what shapes have of their own."""
    values = dict(of_shapes)
    scene, layout = numbering.scene, numbering.shapes
    for field, name, default in _MATERIAL_COLUMNS:
        parts = []
        for t, plan in enumerate(numbering.plans):
            material = scene.templates[t].shapes.material[plan.shape_row]
            parts.append(_pick(numbering.columns(t, f"materials.{name}"), material, default))
        material = scene.shared.shapes.material[numbering.shared_shape_row]
        shared = _pick(getattr(scene.shared.materials, name)[None], material, default)
        values[field] = np.concatenate((layout.fill(parts, np.float64), shared[0]))
    values["torsional_friction"] = np.where(resists_spin, values["torsional_friction"], 0.0)
    return Materials(**values)


def _pick(values: Array, material: IntArray, default: float) -> Array:
    """Values of the materials of shapes, shape [1 or members, shapes]."""
    padded = np.concatenate((values, np.full((len(values), 1), default)), axis=1)
    return padded[:, material]  # row −1 is the default material


def _reach(numbering: Numbering, body: Array, pose: Array, center: Array, radius: Array) -> Array:
    """Distance of the farthest point of each moving shape from the centre of mass of its link."""
    com = numbering.fill(numbering.links, "bodies.com", "link_body", np.float64, (3,))
    result = np.zeros(len(body))
    moving = np.flatnonzero((body >= 0) & (radius > 0.0))
    middle = transform_multiply(
        pose[moving], np.pad(center[moving], ((0, 0), (0, 4))) + [0, 0, 0, 0, 0, 0, 1.0]
    )
    result[moving] = np.linalg.norm(middle[:, :3] - com[body[moving]], axis=1) + radius[moving]
    return result
