"""Collision shapes: geometry, scale rules, offsets."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Sdf

from tensorphys_scene import Mesh, ShapeType
from tensorphys_usd.attributes import Attributes
from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.coupling_rows import CouplingRows
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.errors import StageError
from tensorphys_usd.frames import Frame, Rigid, axis_rotation, relative_all
from tensorphys_usd.materials import StageMaterials
from tensorphys_usd.meshes import StageMeshes
from tensorphys_usd.soft import StageSoft
from tensorphys_usd.stage import Reading

Array = npt.NDArray[np.float64]

# Turns a shape whose axis has a sign (cone, plane) where a mirroring transform points that axis the other way.
_FLIP_Z = np.diag([1.0, -1.0, -1.0])
_MESH_TYPES = {
    "convexHull": ShapeType.CONVEX_HULL,
    "convexDecomposition": ShapeType.CONVEX_DECOMPOSITION,
    "sdf": ShapeType.SDF,
    "sphereFill": ShapeType.SPHERES,
    "none": ShapeType.TRIANGLE_MESH,
    "meshSimplification": ShapeType.TRIANGLE_MESH,
}
_READ_BY_OPENUSD = (
    "physics:collisionEnabled",
    "physics:approximation",
    "physics:simulationOwner",
    "physics:filteredPairs",
)


class StageShapes:
    """All colliders of a stage.

    Attributes:
        paths: Prim paths, in stage order.
        bodies: Row of the body of each shape, −1 where static.
        frames: Transform of each collider prim in its body (in the world where static), scale kept.
        places: Rotation and translation of each shape in its body (in the world where static).
        columns: Other columns of the shape table, without `path`, `body` and `pose`.
        descriptors: The parser's descriptors.
        face_materials: Rows of materials of faces.
    """

    def __init__(
        self,
        reading: Reading,
        descriptors: Descriptors,
        bodies: StageBodies,
        materials: StageMaterials,
        meshes: StageMeshes,
        soft: StageSoft,
    ) -> None:
        self.paths: list[Sdf.Path] = []
        self.bodies: list[int] = []
        self.frames: list[Frame] = []
        self.places: list[Rigid] = []
        self.descriptors: list[Any] = []
        self.columns: dict[str, list[Any]] = {name: [] for name in _COLUMNS}
        self.face_materials = CouplingRows()
        self._reading = reading
        self._meshes = meshes
        groups = {path: row for row, (path, _) in enumerate(descriptors.groups)}
        rows = [bodies.of_collider(path, descriptor.rigidBody) for path, descriptor in descriptors.shapes]
        reading.read_frames(path for path, _ in descriptors.shapes)
        for (path, descriptor), body, local in zip(
            descriptors.shapes, rows, _local_frames(reading, descriptors, bodies, rows), strict=True
        ):
            moving = body >= 0 and bodies.enabled[body] and not bodies.kinematic[body]
            attributes = reading.attributes(path)
            attributes.use(*_READ_BY_OPENUSD)
            if soft.owns(path):
                continue
            geometry = self._geometry(path, descriptor, local, moving, attributes)
            if geometry is None:
                continue
            kind, rotation, translation, size, mesh = geometry
            self.paths.append(path)
            self.bodies.append(body)
            self.frames.append(local)
            self.places.append((rotation, translation))
            self.descriptors.append(descriptor)
            add = self.columns
            add["type"].append(int(kind))
            add["size"].append(size)
            add["mesh"].append(mesh)
            add["material"].append(materials.of_shape(reading, path, descriptor))
            add["enabled"].append(bool(descriptor.collisionEnabled))
            first = next((groups[group] for group in descriptor.collisionGroups if group in groups), -1)
            add["collision_group"].append(first)
            self._offsets(path, attributes)

    def _offsets(self, path: Sdf.Path, attributes: Attributes) -> None:
        rest = attributes.number("physxCollision:restOffset", float("-inf"))
        contact = attributes.number("physxCollision:contactOffset", float("-inf"))
        rest = 0.0 if rest == float("-inf") else rest
        if contact == float("-inf"):
            contact = float("nan")
        elif contact <= rest:
            self._reading.report.add(
                path, f"physxCollision:contactOffset {contact} is not above the rest offset {rest}: ignored"
            )
            contact = float("nan")
        add = self.columns
        add["contact_offset"].append(contact)
        add["rest_offset"].append(rest)
        add["torsional_patch_radius"].append(attributes.number("physxCollision:torsionalPatchRadius", 0.0))
        add["min_torsional_patch_radius"].append(
            attributes.number("physxCollision:minTorsionalPatchRadius", 0.0)
        )
        add["hull_vertex_limit"].append(attributes.integer("physxConvexHullCollision:hullVertexLimit", 64))

    def _geometry(
        self, path: Sdf.Path, descriptor: Any, local: Frame, moving: bool, attributes: Attributes
    ) -> tuple[ShapeType, Array, Array, tuple[float, float, float], int] | None:
        """Type, rotation, translation, size and mesh of a shape; None where it is left out."""
        prim = self._reading.prim(path)
        kind = type(descriptor).__name__.removesuffix("ShapeDesc")
        scale = np.abs(local.scale)
        if kind == "Mesh":
            return self._mesh(path, local, moving, attributes)
        if local.sheared:
            self._reading.report.add(path, f"{kind} under a shearing transform: the shear is ignored")
        if kind == "Cube":
            half = 0.5 * _positive(path, "size", prim.GetAttribute("size").Get()) * scale
            return ShapeType.BOX, local.rotation, local.translation, _triple(half), -1
        if kind == "Sphere":
            if np.ptp(scale) > 1e-6 * scale.max():
                self._reading.report.add(path, "Sphere under a non-uniform scale: the largest scale is used")
            radius = _positive(path, "radius", prim.GetAttribute("radius").Get()) * scale.max()
            return ShapeType.SPHERE, local.rotation, local.translation, (float(radius), 0.0, 0.0), -1
        if kind == "Plane":
            rotation = self._axis_rotation(local, str(descriptor.axis))
            return ShapeType.PLANE, rotation, local.translation, (0.0, 0.0, 0.0), -1
        if kind in ("Capsule", "Capsule1", "Cylinder", "Cylinder1", "Cone"):
            return self._round(path, kind, descriptor, local)
        what = {"SpherePoints": "Points prim", "Custom": "custom geometry"}.get(kind, kind)
        self._reading.report.add(path, f"collider of this kind is not supported and left out: {what}")
        return None

    def _axis_rotation(self, local: Frame, axis: str) -> Array:
        """Rotation whose +Z is the named axis of the prim as it points after the transform."""
        rotation = local.rotation @ axis_rotation(axis)
        return rotation @ _FLIP_Z if local.scale["XYZ".index(axis)] < 0.0 else rotation

    def _round(
        self, path: Sdf.Path, kind: str, descriptor: Any, local: Frame
    ) -> tuple[ShapeType, Array, Array, tuple[float, float, float], int]:
        prim = self._reading.prim(path)
        axis = str(descriptor.axis)
        index = "XYZ".index(axis)
        scale = np.abs(local.scale)
        across = np.delete(scale, index)
        if np.ptp(across) > 1e-6 * across.max():
            self._reading.report.add(
                path, f"{kind} under a non-uniform radial scale: the larger scale is used"
            )
        if kind.endswith("1"):
            radii = [float(prim.GetAttribute(name).Get()) for name in ("radiusTop", "radiusBottom")]
            if radii[0] != radii[1]:
                self._reading.report.add(
                    path, f"tapered {kind[:-1]} is not supported: the larger radius is used"
                )
            authored = max(radii)
        else:
            authored = prim.GetAttribute("radius").Get()
        radius = _positive(path, "radius", authored) * across.max()
        height = float(prim.GetAttribute("height").Get())
        if not 0.0 <= height < float("inf"):
            raise StageError(f"{path}: height is {height}, expected a finite number that is not negative")
        size = (float(radius), float(0.5 * height * scale[index]), 0.0)
        types = {"Ca": ShapeType.CAPSULE, "Cy": ShapeType.CYLINDER, "Co": ShapeType.CONE}
        return types[kind[:2]], self._axis_rotation(local, axis), local.translation, size, -1

    def _mesh(
        self, path: Sdf.Path, local: Frame, moving: bool, attributes: Attributes
    ) -> tuple[ShapeType, Array, Array, tuple[float, float, float], int] | None:
        approximation = attributes.token("physics:approximation", "none")
        mesh = self._meshes.of_prim(path)
        if len(mesh.points) == 0 or (len(mesh.triangles) == 0 and approximation != "convexHull"):
            self._reading.report.add(path, "mesh collider without points or faces is left out")
            return None
        size = local.scale
        if local.mirrored or local.sheared:
            # Scale columns hold positive numbers only: mirror and shear go into the points, faces stay outward.
            triangles = mesh.triangles[:, ::-1].copy() if local.mirrored else mesh.triangles
            mesh = Mesh(mesh.points @ local.stretch, triangles)
            size = np.ones(3)
        if approximation in ("boundingCube", "boundingSphere"):
            return self._bound(approximation, local, mesh.points * size)
        kind = _MESH_TYPES.get(approximation)
        if kind is None:
            raise StageError(f"{path}: physics:approximation is {approximation!r}, which is unknown")
        if approximation == "meshSimplification" and not moving:
            self._reading.report.add(path, "meshSimplification is not supported: the mesh itself is used")
        if kind is ShapeType.TRIANGLE_MESH and moving:
            self._reading.report.add(
                path,
                f"mesh with approximation {approximation!r} on a moving body: its convex hull is used, for mass too",
            )
            kind = ShapeType.CONVEX_HULL
        return kind, local.rotation, local.translation, _triple(size), self._meshes.add(mesh)

    def _bound(
        self, approximation: str, local: Frame, points: Array
    ) -> tuple[ShapeType, Array, Array, tuple[float, float, float], int]:
        low, high = points.min(axis=0), points.max(axis=0)
        centre = 0.5 * (low + high)
        translation = local.translation + local.rotation @ centre
        if approximation == "boundingCube":
            return ShapeType.BOX, local.rotation, translation, _triple(0.5 * (high - low)), -1
        radius = float(np.sqrt(((points - centre) ** 2).sum(axis=1).max()))
        return ShapeType.SPHERE, local.rotation, translation, (radius, 0.0, 0.0), -1


def _local_frames(
    reading: Reading, descriptors: Descriptors, bodies: StageBodies, rows: list[int]
) -> list[Frame]:
    """Transform of each collider in its body, in the world where it has none."""
    frames = [reading.frame(path) for path, _ in descriptors.shapes]
    on_body = [index for index, body in enumerate(rows) if body >= 0]
    local = relative_all(
        [bodies.frames[rows[index]] for index in on_body], [frames[index] for index in on_body]
    )
    for index, frame in zip(on_body, local, strict=True):
        frames[index] = frame
    return frames


def _positive(path: Sdf.Path, name: str, value: Any) -> float:
    number = float(value)
    if not 0.0 < number < float("inf"):
        raise StageError(f"{path}: {name} is {number}, expected a finite positive number")
    return number


def _triple(values: Array) -> tuple[float, float, float]:
    return float(values[0]), float(values[1]), float(values[2])


_COLUMNS = (
    "type",
    "size",
    "mesh",
    "material",
    "contact_offset",
    "rest_offset",
    "enabled",
    "collision_group",
    "torsional_patch_radius",
    "min_torsional_patch_radius",
    "hull_vertex_limit",
)
