"""Collision shapes: geometry, scale rules, offsets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Sdf

from tensorphys_scene import Mesh, ShapeType
from tensorphys_usd.attributes import Attributes
from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.cooking import DEFAULTS, read_cooking
from tensorphys_usd.coupling_rows import CouplingRows
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.errors import StageError
from tensorphys_usd.frames import Frame, Rigid, relative_all
from tensorphys_usd.geometry_values import number_of
from tensorphys_usd.materials import StageMaterials
from tensorphys_usd.meshes import StageMeshes
from tensorphys_usd.primitives import (
    ROUND,
    Geometry,
    ball,
    balls,
    box,
    plane,
    positive,
    round_shape,
    triple,
)
from tensorphys_usd.soft import StageSoft
from tensorphys_usd.stage import Reading

Array = npt.NDArray[np.float64]

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
        cooking: dict[int, dict[str, Any]] = {}
        groups = {path: row for row, (path, _) in enumerate(descriptors.groups)}
        rows = [bodies.of_collider(path, descriptor.rigidBody) for path, descriptor in descriptors.shapes]
        reading.read_frames(path for path, _ in descriptors.shapes)
        for (path, descriptor), body, local in zip(
            descriptors.shapes, rows, _local_frames(reading, descriptors, bodies, rows), strict=True
        ):
            attributes = reading.attributes(path)
            attributes.use(*_READ_BY_OPENUSD)
            if soft.owns(path):
                continue
            moving = body >= 0 and bodies.enabled[body] and not bodies.kinematic[body]
            made = self._geometry(path, descriptor, local, moving, attributes)
            if not made:
                continue
            first = len(self.paths)
            groups_of = [groups[group] for group in descriptor.collisionGroups if group in groups]
            values = {
                "material": materials.of_shape(
                    reading, path, descriptor, by_face=made[0].kind is ShapeType.TRIANGLE_MESH
                ),
                "enabled": bool(descriptor.collisionEnabled),
                "collision_group": groups_of[0] if groups_of else -1,
                **self._offsets(path, attributes),
            }
            for geometry in made:
                self._add(path, body, local, descriptor, geometry, values)
            if type(descriptor).__name__ == "MeshShapeDesc":
                cooking[first] = read_cooking(attributes)
                self._faces(path, first, materials)
        for name, default in DEFAULTS.items():
            column = self.columns[name] = [default] * len(self.paths)
            for row, own in cooking.items():
                column[row] = own.get(name, default)

    def _add(
        self,
        path: Sdf.Path,
        body: int,
        local: Frame,
        descriptor: Any,
        geometry: Geometry,
        values: dict[str, Any],
    ) -> None:
        self.paths.append(path)
        self.bodies.append(body)
        self.frames.append(local)
        self.places.append((geometry.rotation, geometry.translation))
        self.descriptors.append(descriptor)
        mesh = -1 if geometry.mesh is None else self._meshes.add(geometry.mesh)
        own = {"type": int(geometry.kind), "size": geometry.size, "mesh": mesh}
        for name, value in own.items():
            self.columns[name].append(value)
        for name, value in values.items():
            self.columns[name].append(value)

    def size_of(self, row: int, path: Sdf.Path) -> tuple[float, float, float]:
        """Size of a primitive like that of a row, in the same place, with the sizes of another prim."""
        attributes = self._reading.attributes(path)
        (geometry,) = self._geometry(path, self.descriptors[row], self.frames[row], False, attributes)
        return geometry.size

    def _offsets(self, path: Sdf.Path, attributes: Attributes) -> dict[str, Any]:
        margin = attributes.number("newton:contactMargin", 0.0)
        gap = attributes.number("newton:contactGap", float("-inf"))
        rest = attributes.number("physxCollision:restOffset", float("-inf"))
        contact = attributes.number("physxCollision:contactOffset", float("-inf"))
        radii = {
            "torsional_patch_radius": attributes.number("physxCollision:torsionalPatchRadius", 0.0),
            "min_torsional_patch_radius": attributes.number("physxCollision:minTorsionalPatchRadius", 0.0),
        }
        for name, value in (("contact", contact), ("rest", rest), ("margin", margin), ("gap", gap)):
            if math.isnan(value) or value == float("inf"):
                raise StageError(f"{path}: {name} offset is {value}")
        # A margin makes the shape larger, as a rest offset does; a gap is where contacts are made before they rest.
        rest = margin if rest == float("-inf") else rest
        if contact == float("-inf"):
            contact = rest + gap if gap > 0.0 else float("nan")
        elif contact <= rest:
            self._reading.report.add(
                path, f"physxCollision:contactOffset {contact} is not above the rest offset {rest}: ignored"
            )
            contact = float("nan")
        # Contacts of MuJoCo resist spin from dimension 4 on, and have 3 where nothing else is said.
        from_mujoco = "MjcCollisionAPI" in self._reading.type_of(path)[1:]
        spin = not from_mujoco or attributes.number("mjc:condim", 3.0) >= 4.0
        return {"contact_offset": contact, "rest_offset": rest, "resists_spin": spin, **radii}

    def _geometry(
        self, path: Sdf.Path, descriptor: Any, local: Frame, moving: bool, attributes: Attributes
    ) -> list[Geometry]:
        """Shapes of a collider; none where it is left out."""
        prim, report = self._reading.prim(path), self._reading.report
        kind = type(descriptor).__name__.removesuffix("ShapeDesc")
        if kind == "Mesh":
            return self._mesh(path, local, moving, attributes)
        if kind == "Cube":
            return [box(path, prim, local)]
        if kind == "Sphere":
            radius = positive(path, "radius", number_of(prim, "radius"))
            return [ball(local, np.zeros(3), radius)]
        if kind == "SpherePoints":
            return balls(report, path, prim, local)
        if kind == "Plane":
            if moving:
                report.add(path, "Plane on a moving body, whose other side would be solid, is left out")
                return []
            return [plane(report, path, prim, str(descriptor.axis), local)]
        if kind in ROUND:
            return [round_shape(report, path, prim, kind, str(descriptor.axis), local)]
        what = "custom geometry" if kind == "Custom" else kind
        report.add(path, f"collider of this kind is not supported and left out: {what}")
        return []

    def _mesh(self, path: Sdf.Path, local: Frame, moving: bool, attributes: Attributes) -> list[Geometry]:
        report = self._reading.report
        approximation = attributes.token("physics:approximation", "none")
        mesh = self._meshes.of_prim(path)
        if len(mesh.points) == 0 or (len(mesh.triangles) == 0 and approximation != "convexHull"):
            report.add(path, "mesh collider without points or faces is left out")
            return []
        size = local.scale
        if local.mirrored or local.sheared:
            # Scale columns hold positive numbers only: mirror and shear go into the points, faces stay outward.
            triangles = mesh.triangles[:, ::-1].copy() if local.mirrored else mesh.triangles
            mesh = Mesh(mesh.points @ local.stretch, triangles, mesh.groups)
            size = np.ones(3)
        if approximation in ("boundingCube", "boundingSphere"):
            return [_bound(approximation, local, mesh.points * size)]
        kind = _MESH_TYPES.get(approximation)
        if kind is None:
            raise StageError(f"{path}: physics:approximation is {approximation!r}, which is unknown")
        if approximation == "meshSimplification" and not moving:
            report.correct(path, "meshSimplification is not supported: the mesh itself is used")
        if kind is ShapeType.TRIANGLE_MESH and moving:
            report.correct(
                path,
                f"mesh with approximation {approximation!r} on a moving body: its convex hull is used, for mass too",
            )
            kind = ShapeType.CONVEX_HULL
        if kind is not ShapeType.TRIANGLE_MESH and mesh.groups.size:
            mesh = Mesh(mesh.points, mesh.triangles)
        return [Geometry(kind, local.rotation, local.translation, triple(size), mesh)]

    def _faces(self, path: Sdf.Path, row: int, materials: StageMaterials) -> None:
        """Materials of faces; only triangle meshes keep their faces."""
        for group, subset in enumerate(self._meshes.subsets(path)):
            material = materials.of_faces(subset)
            if material < 0 or material == self.columns["material"][row]:
                continue
            if self.columns["type"][row] == ShapeType.TRIANGLE_MESH:
                self.face_materials.add(subset.GetPath(), shape=row, material=material, group=group)
            else:
                self._reading.report.add(
                    subset.GetPath(),
                    f"material of some faces of a collider that is no triangle mesh: that of {path} is used",
                )


def _bound(approximation: str, local: Frame, points: Array) -> Geometry:
    low, high = points.min(axis=0), points.max(axis=0)
    centre = 0.5 * (low + high)
    translation = local.translation + local.rotation @ centre
    if approximation == "boundingCube":
        return Geometry(ShapeType.BOX, local.rotation, translation, triple(0.5 * (high - low)))
    radius = float(np.sqrt(((points - centre) ** 2).sum(axis=1).max()))
    return Geometry(ShapeType.SPHERE, local.rotation, translation, (radius, 0.0, 0.0))


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
    "resists_spin",
)
