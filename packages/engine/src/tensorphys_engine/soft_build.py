"""Deformables of a scene: meshes, materials and places of all environments."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_engine.errors import BuildError
from tensorphys_engine.findings import Findings
from tensorphys_engine.numbering import Numbering
from tensorphys_engine.soft_columns import CollisionMesh, SoftBody
from tensorphys_engine.soft_values import SoftValues
from tensorphys_fem import Body, FemError, Material, ShellMesh, TetMesh, embed_points, voxel_mesh
from tensorphys_scene import SoftData, SoftKind

_RESOLUTION = 10
_BODY_KINDS = (SoftKind.VOLUME_BODY, SoftKind.SURFACE_BODY)
# Nodes of meshes that differ by less than this part of their size are shared.
_SAME_SHAPE = 1.0e-6


def soft_bodies(numbering: Numbering, findings: Findings, device: Any = None) -> list[SoftBody]:
    """Deformables of a scene, environment by environment.

    Args:
        numbering: Flat numbers.
        findings: Takes what is left out or changed.
        device: Warp device that meshes are made on; default: the CPU.

    Raises:
        BuildError: A mesh or material that cannot be simulated; the message names the prim.
    """
    scene = numbering.scene
    builders = [_Template(numbering, t, findings, device) for t in range(len(scene.templates))]
    template = scene.environments.template
    seen = dict.fromkeys(range(len(builders)), 0)
    result: list[SoftBody] = []
    for environment in range(scene.environments.count):
        t = int(template[environment])
        prefix = scene.environments.path[environment]
        result += builders[t].bodies(environment, seen[t], prefix)
        seen[t] += 1
    return result


class _Template:
    """Deformables of one template; meshes are cooked once where their shape is equal."""

    def __init__(self, numbering: Numbering, index: int, findings: Findings, device: Any) -> None:
        scene = numbering.scene
        self._device = device
        self._template = scene.templates[index]
        self._prims = self._template.soft_prims
        self._shared = scene.shared.soft_prims
        self._settings = scene.settings
        self._findings = findings
        users = np.flatnonzero(scene.environments.template == index)
        self._prefix = scene.environments.path[int(users[0])] if users.size else ""
        self._transform = numbering.columns(index, "soft_prims.transform")
        self._meshes: dict[tuple[int, bytes], tuple[TetMesh | ShellMesh, float]] = {}
        self._collision_meshes: dict[tuple[int, int], CollisionMesh | None] = {}
        self._rows = [
            row
            for row in range(self._prims.count)
            if users.size and int(self._prims.kind[row]) in _BODY_KINDS and self._is_enabled(row)
        ]
        self._sources = {row: self._source(row) for row in self._rows}

    def _is_enabled(self, row: int) -> bool:
        values = self._prims.data[row].values
        names = ("physxDeformable:deformableEnabled", "omniphysics:deformableBodyEnabled")
        return all(bool(values.get(name, True)) for name in names)

    def _geometry(self, row: int) -> int:
        """Row of the prim that has the simulation mesh: the body itself, or the first one below it that has one."""
        path = self._prims.path[row]
        width = 4 if int(self._prims.kind[row]) == SoftKind.VOLUME_BODY else 3
        below = [
            other
            for other in range(self._prims.count)
            if other == row
            or (
                self._prims.path[other].startswith(path + "/")
                and int(self._prims.kind[other]) == SoftKind.GEOMETRY
            )
        ]
        for wanted in (width, 3):
            for other in below:
                data = self._prims.data[other]
                if len(data.elements) and data.elements.shape[1] == wanted:
                    return other
        if "physxDeformable:simulationIndices" in self._prims.data[row].values:
            return row
        raise BuildError(f"{self._prefix}{path}: deformable body without a mesh of tetrahedra or triangles")

    def _source(self, row: int) -> tuple[int, npt.NDArray[np.float64], npt.NDArray[np.int32]]:
        """Row of the geometry, nodes at rest in its frame, elements."""
        at = self._geometry(row)
        data, own = self._prims.data[at], self._prims.data[row]
        points, elements = data.points, data.elements
        old = own.values.get("physxDeformable:simulationIndices")
        if old is not None and len(old):
            rest = own.values.get(
                "physxDeformable:simulationRestPoints", own.values.get("physxDeformable:simulationPoints")
            )
            if rest is None:
                path = self._prefix + self._prims.path[row]
                raise BuildError(f"{path}: physxDeformable:simulationIndices without simulationRestPoints")
            points, elements = np.asarray(rest, float), np.asarray(old, np.int32).reshape(-1, 4)
        rest = data.values.get("omniphysics:restShapePoints")
        if rest is not None and len(rest) == len(points):
            points = np.asarray(rest, float)
        return at, points, elements

    def _collision_source(
        self, row: int
    ) -> tuple[int, npt.NDArray[np.float64], npt.NDArray[np.int32]] | None:
        """Row, points and elements of a collision mesh beside the simulation mesh."""
        data, at = self._prims.data[row], self._sources[row][0]
        old = data.values.get("physxDeformable:collisionIndices")
        if old is not None and len(old):
            points = data.values.get(
                "physxDeformable:collisionRestPoints", data.values.get("physxDeformable:collisionPoints")
            )
            if points is None:
                path = self._prefix + self._prims.path[row]
                raise BuildError(f"{path}: physxDeformable:collisionIndices without collisionRestPoints")
            return row, np.asarray(points, float), np.asarray(old, np.int32).reshape(-1, 4)
        for other in range(self._prims.count):
            is_below = self._prims.path[other].startswith(self._prims.path[row] + "/")
            if is_below and other != at and int(self._prims.kind[other]) == SoftKind.GEOMETRY:
                found = self._prims.data[other]
                if len(found.elements):
                    return other, found.points, found.elements
        return None

    def _collision(
        self, row: int, mesh: TetMesh | ShellMesh, frames: Any, rotation: Any, path: str
    ) -> tuple[str, CollisionMesh | None]:
        """Path and mesh of the collision geometry; the mesh is None where it is the simulation mesh."""
        source = self._collision_source(row)
        at = self._sources[row][0]
        if source is None or not isinstance(mesh, TetMesh):
            return self._prims.path[at], None
        other, points, elements = source
        key = (row, id(mesh))
        if key not in self._collision_meshes:
            # from its own frame into the axes of the simulation mesh
            own, body = np.asarray(frames[other], float), np.asarray(frames[at], float)
            placed = (points @ own[:3, :3].T + own[:3, 3] - body[:3, 3]) @ rotation
            try:
                embedding = embed_points(mesh, placed)
            except FemError as error:
                raise BuildError(f"{path}: {error}") from error
            self._collision_meshes[key] = CollisionMesh(
                placed, np.asarray(elements, np.int32), embedding.nodes, embedding.weights
            )
        return self._prims.path[other], self._collision_meshes[key]

    def _mesh(
        self, row: int, points: npt.NDArray[np.float64], linear: Any
    ) -> tuple[TetMesh | ShellMesh, float]:
        """Mesh of a body, sheared and scaled as its prim, in its own axes, and the part of it that the body fills."""
        scale = max(float(np.abs(linear).max()), 1e-30)
        key = (row, np.round(linear / (scale * _SAME_SHAPE)).astype(np.int64).tobytes())
        if key not in self._meshes:
            _, _, elements = self._sources[row]
            placed = points @ linear.T
            path = self._prefix + self._prims.path[row]
            if np.linalg.det(linear) < 0.0:
                elements = elements[:, [1, 0, *range(2, elements.shape[1])]]
            try:
                with warnings.catch_warnings(record=True) as repairs:
                    warnings.simplefilter("always")
                    self._meshes[key] = self._cooked(row, placed, elements)
            except FemError as error:
                raise BuildError(f"{path}: {error}") from error
            for repair in repairs:
                self._findings.note(path, str(repair.message))
        return self._meshes[key]

    def _cooked(self, row: int, points: Any, elements: Any) -> tuple[TetMesh | ShellMesh, float]:
        """Mesh, and the part of it that the body fills."""
        if elements.shape[1] == 4:
            return TetMesh.from_arrays(points, elements), 1.0
        if int(self._prims.kind[row]) == SoftKind.VOLUME_BODY:
            voxels = voxel_mesh(points, elements, resolution=self._resolution(row), device=self._device)
            return voxels.mesh, voxels.fill
        return ShellMesh.from_arrays(points, elements), 1.0

    def _resolution(self, row: int) -> int:
        values = self._prims.data[row].values
        for name in ("physxDeformable:simulationHexahedralResolution", "physxDeformableBody:resolution"):
            if int(values.get(name, 0)) > 0:
                return int(values[name])
        return _RESOLUTION

    def bodies(self, environment: int, use: int, prefix: str) -> list[SoftBody]:
        """Deformables of an environment, the ``use``-th of this template."""
        frames = self._transform[min(use, len(self._transform) - 1)]
        return [self._body(row, frames, environment, prefix) for row in self._rows]

    def _body(self, row: int, frames: Any, environment: int, prefix: str) -> SoftBody:
        at, points, _ = self._sources[row]
        path = prefix + self._prims.path[row]
        frame = np.asarray(frames[at], float)
        rotation, linear = _polar(frame[:3, :3])
        mesh, fill = self._mesh(row, points, linear)
        data = self._prims.data[row]
        values = SoftValues(data, self._material(row), self._settings)
        volume = float(mesh.volumes.sum()) if isinstance(mesh, TetMesh) else float(mesh.areas.sum())
        thickness = values.thickness
        if isinstance(mesh, ShellMesh):
            volume *= thickness
        body = self._made(values, volume, fill, mesh, thickness, environment, frame, rotation, path)
        if values.disables_gravity and prefix == self._prefix:
            self._findings.note(path, "gravity cannot be switched off for a deformable; it acts")
        filter_distance = values.filter_distance
        collision_path, collision = self._collision(row, mesh, frames, rotation, path)
        material = self._material_path(row)
        return SoftBody(
            path=path,
            body=body,
            self_collision=values.self_collision,
            filter_distance=filter_distance,
            max_push=values.max_push,
            velocities=values.velocities(len(mesh.points), rotation),
            material=prefix + material if material in self._prims.path else material,
            simulation_path=prefix + self._prims.path[at],
            collision_path=prefix + collision_path,
            collision=collision,
        )

    def _made(
        self,
        values: SoftValues,
        volume: float,
        fill: float,
        mesh: TetMesh | ShellMesh,
        thickness: float,
        environment: int,
        frame: Any,
        rotation: Any,
        path: str,
    ) -> Body:
        try:
            material = Material(
                youngs_modulus=values.youngs_modulus,
                poissons_ratio=values.poissons_ratio,
                density=values.density(volume, fill),
                damping=values.damping,
                damping_scale=values.damping_scale,
                velocity_damping=values.velocity_damping,
                dynamic_friction=values.dynamic_friction,
            )
            return Body(
                mesh,
                material,
                thickness=thickness,
                environment=environment,
                position=frame[:3, 3],
                rotation=_quaternion(rotation),
                name=path,
            )
        except FemError as error:
            raise BuildError(f"{path}: {error}") from error

    def _material_path(self, row: int) -> str:
        """Path of the material of a body or of its geometry, below the environment or shared; "" where none is known."""
        names = [self._prims.data[row].material, self._prims.data[self._sources[row][0]].material]
        known = {*self._prims.path, *self._shared.path}
        return next((name for name in names if name and name in known), "")

    def _material(self, row: int) -> SoftData:
        name = self._material_path(row)
        for table in (self._prims, self._shared):
            if name and name in table.path:
                return table.data[table.row(name)]
        return SoftData()


def _polar(matrix: npt.NDArray[np.float64]) -> tuple[Any, Any]:
    """Rotation R and the rest M of a linear map R M; a reflection stays in M."""
    left, _values, right = np.linalg.svd(matrix)
    sign = np.sign(np.linalg.det(left @ right)) or 1.0
    flip = np.diag((1.0, 1.0, sign))
    rotation = left @ flip @ right
    return rotation, rotation.T @ matrix


def _quaternion(rotation: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Unit quaternion (x, y, z, w) of a rotation matrix."""
    r = rotation
    k = np.array(
        [
            [r[0, 0] - r[1, 1] - r[2, 2], 0, 0, 0],
            [r[1, 0] + r[0, 1], r[1, 1] - r[0, 0] - r[2, 2], 0, 0],
            [r[2, 0] + r[0, 2], r[2, 1] + r[1, 2], r[2, 2] - r[0, 0] - r[1, 1], 0],
            [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1], r[0, 0] + r[1, 1] + r[2, 2]],
        ]
    )
    _, vectors = np.linalg.eigh(k, UPLO="L")
    q = vectors[:, -1]
    return np.asarray(q * np.sign(q[3] or 1.0))
