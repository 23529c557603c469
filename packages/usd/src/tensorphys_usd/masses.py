"""Mass, centre of mass and inertia of bodies, by the rules of `UsdPhysicsRigidBodyAPI::ComputeMassProperties`.

Of a body: its mass, else the sum over its colliders; of a collider: its mass, else volume times the first positive
one of its density, the body's density, its material's density and 1000 kg/m³. A body mass scales the computed
inertia. An authored centre of mass shifts the computed inertia by the parallel-axis theorem. Authored vectors in a
prim's frame carry the prim's world scale. Values equal to the schema's fallbacks count as not authored.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pxr import Sdf

from tensorphys_scene import ShapeType
from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.errors import StageError
from tensorphys_usd.frames import matrix, quaternion
from tensorphys_usd.materials import StageMaterials
from tensorphys_usd.meshes import Solid, StageMeshes, scaled
from tensorphys_usd.shapes import StageShapes
from tensorphys_usd.stage import Reading

Array = npt.NDArray[np.float64]

_WATER = 1000.0  # kg/m³
_POINT_RADIUS = 0.1  # metres; a body with a mass and no extent counts as a sphere of this radius


@dataclass(frozen=True)
class MassProperties:
    """Mass properties in a body frame.

    Attributes:
        mass: Mass.
        com: Centre of mass, shape [3].
        inertia: Inertia about the centre of mass, frame axes, shape [3, 3].
    """

    mass: float
    com: Array
    inertia: Array

    def moved(self, com: Array) -> MassProperties:
        """The same with an authored centre of mass."""
        return MassProperties(self.mass, com, self.inertia + self.mass * _parallel_axis(com - self.com))


@dataclass(frozen=True)
class _Authored:
    mass: float
    density: float
    com: Array | None
    diagonal: Array | None
    axes: Array | None


def _parallel_axis(offset: Array) -> Array:
    return float(offset @ offset) * np.eye(3) - np.outer(offset, offset)


def _total(parts: list[MassProperties]) -> MassProperties:
    mass = sum(part.mass for part in parts)
    if mass <= 0.0:
        return MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
    com = sum((part.mass * part.com for part in parts), np.zeros(3)) / mass
    inertia = sum(
        (part.inertia + part.mass * _parallel_axis(part.com - com) for part in parts), np.zeros((3, 3))
    )
    return MassProperties(mass, com, inertia)


def principal_axes(inertia: Array) -> tuple[Array, Array]:
    """Principal moments and axes, each axis next to the frame axis that it is most along.

    Returns:
        Moments, shape [3]; proper rotation whose columns are the axes, shape [3, 3].
    """
    off_diagonal = inertia - np.diag(np.diagonal(inertia))
    if np.abs(off_diagonal).max() <= 1e-9 * np.abs(inertia).max():
        return np.diagonal(inertia).copy(), np.eye(3)
    moments, axes = np.linalg.eigh(inertia)
    order = [0, 1, 2]
    permutations = ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])
    order = max(permutations, key=lambda p: sum(abs(axes[k, p[k]]) for k in range(3)))
    axes, moments = axes[:, order], moments[order]
    axes = axes * np.where(np.diagonal(axes) < 0.0, -1.0, 1.0)
    if np.linalg.det(axes) < 0.0:
        axes[:, int(np.argmin(np.abs(np.diagonal(axes))))] *= -1.0
    return moments, axes


class _Masses:
    """Mass computation of one stage."""

    def __init__(
        self, reading: Reading, bodies: StageBodies, shapes: StageShapes, materials: StageMaterials, meshes: StageMeshes
    ) -> None:
        self._reading = reading
        self._bodies = bodies
        self._shapes = shapes
        self._materials = materials
        self._meshes = meshes
        self._shapes_of: dict[int, list[int]] = {}
        for shape, body in enumerate(shapes.bodies):
            self._shapes_of.setdefault(body, []).append(shape)

    def body(self, row: int) -> tuple[MassProperties, Array]:
        """Mass properties and principal rotation of a body."""
        path = self._bodies.paths[row]
        authored = self._authored(path)
        stretch = self._bodies.frames[row].stretch
        com = None if authored.com is None else stretch @ authored.com
        shapes = self._shapes_of.get(row, [])
        computed: MassProperties | None = None
        if shapes and (authored.mass <= 0.0 or authored.diagonal is None or com is None):
            total = _total([self._shape(shape, authored.density) for shape in shapes])
            computed = total if total.mass > 0.0 else None
        if authored.mass > 0.0:
            mass = authored.mass
        elif computed is not None:
            mass = computed.mass
        else:
            mass = 1.0 / self._reading.kilograms_per_unit
            if self._bodies.enabled[row] and not self._bodies.kinematic[row]:
                self._reading.report.add(path, "body has neither a mass nor a collider with volume: 1 kg is used")
        if computed is not None:
            computed = MassProperties(mass, computed.com, computed.inertia * (mass / computed.mass))
            computed = computed if com is None else computed.moved(com)
        centre = com if com is not None else (np.zeros(3) if computed is None else computed.com)
        if authored.diagonal is not None:
            return self._with_diagonal(path, authored, mass, centre, computed)
        if computed is None:
            radius = _POINT_RADIUS / self._reading.meters_per_unit
            computed = MassProperties(mass, centre, 0.4 * mass * radius * radius * np.eye(3))
            self._reading.report.add(path, "body has no inertia and no collider with volume: a sphere of 0.1 m is used")
        axes = authored.axes if authored.axes is not None else principal_axes(computed.inertia)[1]
        return computed, quaternion(axes)

    def _with_diagonal(
        self, path: Sdf.Path, authored: _Authored, mass: float, centre: Array, computed: MassProperties | None
    ) -> tuple[MassProperties, Array]:
        assert authored.diagonal is not None
        diagonal = authored.diagonal.copy()
        if (diagonal <= 0.0).any():
            self._reading.report.add(
                path, f"physics:diagonalInertia {_text(diagonal)} has entries that are not positive: the largest is used"
            )
            diagonal[diagonal <= 0.0] = diagonal.max()
        elif 2.0 * diagonal.max() > diagonal.sum() * (1.0 + 1e-5):
            self._reading.report.add(
                path, f"physics:diagonalInertia {_text(diagonal)} belongs to no solid (triangle inequality); it is kept"
            )
        axes = authored.axes
        if axes is None:
            axes = np.eye(3) if computed is None or authored.com is not None else principal_axes(computed.inertia)[1]
        return MassProperties(mass, centre, axes @ np.diag(diagonal) @ axes.T), quaternion(axes)

    def _authored(self, path: Sdf.Path) -> _Authored:
        attributes = self._reading.attributes(path)
        if not attributes.applied("PhysicsMassAPI"):
            return _Authored(0.0, 0.0, None, None, None)
        mass = attributes.number("physics:mass", 0.0)
        density = attributes.number("physics:density", 0.0)
        # The converters write the tensor beside the diagonal form that it was made from.
        attributes.use("newton:inertia")
        com = np.array(attributes.get("physics:centerOfMass", (-np.inf,) * 3), dtype=np.float64)
        diagonal = np.array(attributes.get("physics:diagonalInertia", (0.0,) * 3), dtype=np.float64)
        axes = attributes.get("physics:principalAxes")
        xyzw = np.zeros(4) if axes is None else np.array([*axes.GetImaginary(), axes.GetReal()], dtype=np.float64)
        for name, value in (
            ("physics:mass", np.array([mass])),
            ("physics:density", np.array([density])),
            ("physics:diagonalInertia", diagonal),
            ("physics:principalAxes", xyzw),
        ):
            if not np.isfinite(value).all():
                raise StageError(f"{path}: {name} is {_text(value)}")
        if np.isnan(com).any():
            raise StageError(f"{path}: physics:centerOfMass is {_text(com)}")
        for name, number in (("physics:mass", mass), ("physics:density", density)):
            if number < 0.0:
                self._reading.report.add(path, f"{name} {number} is negative: ignored")
        return _Authored(
            max(mass, 0.0),
            max(density, 0.0),
            com if np.isfinite(com).all() else None,
            diagonal if np.abs(diagonal).max() > 0.0 else None,
            matrix(xyzw) if np.abs(xyzw).max() > 0.0 else None,
        )

    def _shape(self, shape: int, body_density: float) -> MassProperties:
        """Mass properties of a collider in its body's frame."""
        path = self._shapes.paths[shape]
        frame = self._shapes.frames[shape]
        authored = self._authored(path)
        solid = self._solid(shape)
        density = authored.density or body_density
        if density <= 0.0:
            material = self._shapes.columns["material"][shape]
            density = float(self._materials.table.density[material]) if material >= 0 else 0.0
        if density <= 0.0:
            density = _WATER * self._reading.density_unit
        mass = authored.mass or solid.volume * density
        inertia = solid.inertia * (mass / solid.volume) if solid.volume > 0.0 else np.zeros((3, 3))
        result = MassProperties(mass, solid.com, inertia)
        if authored.com is not None:
            result = result.moved(frame.translation + frame.linear @ authored.com)
        if authored.diagonal is not None:
            axes = frame.rotation if authored.axes is None else frame.rotation @ authored.axes
            result = MassProperties(mass, result.com, axes @ np.diag(authored.diagonal) @ axes.T)
        return result

    def _solid(self, shape: int) -> Solid:
        """Solid of a collider in its body's frame, at unit density."""
        columns = self._shapes.columns
        kind = ShapeType(columns["type"][shape])
        size = np.array(columns["size"][shape])
        mesh = columns["mesh"][shape]
        if mesh >= 0:
            solid: Solid | None
            if kind is ShapeType.CONVEX_HULL:
                solid = self._meshes.hull_solid(mesh)
            else:
                solid = self._meshes.solid(mesh)
            if solid is None:
                self._reading.report.add(
                    self._shapes.paths[shape], "the convex hull of this mesh has no volume: it adds no mass"
                )
                solid = Solid(0.0, np.zeros(3), np.zeros((3, 3)))
            solid = scaled(solid, size)
        else:
            solid = solid_of_primitive(kind, size)
        pose = columns["pose"][shape]
        rotation = matrix(pose[3:])
        return Solid(solid.volume, pose[:3] + rotation @ solid.com, rotation @ solid.inertia @ rotation.T)


def solid_of_primitive(kind: ShapeType, size: Array) -> Solid:
    """Volume, centre and inertia of a box, sphere, capsule, cylinder or cone; nothing of a plane."""
    radius, half = float(size[0]), float(size[1])
    com = np.zeros(3)
    square = radius * radius
    if kind is ShapeType.BOX:
        x, y, z = (4.0 * size * size).tolist()
        volume = 8.0 * float(np.prod(size))
        return Solid(volume, com, volume / 12.0 * np.diag([y + z, x + z, x + y]))
    if kind is ShapeType.SPHERE:
        volume = 4.0 / 3.0 * np.pi * radius**3
        return Solid(volume, com, 0.4 * volume * square * np.eye(3))
    if kind is ShapeType.CYLINDER or kind is ShapeType.CAPSULE:
        tube = np.pi * square * 2.0 * half
        across = tube * (0.25 * square + half * half / 3.0)
        along = 0.5 * tube * square
        if kind is ShapeType.CYLINDER:
            return Solid(tube, com, np.diag([across, across, along]))
        ball = 4.0 / 3.0 * np.pi * radius**3
        # Two half balls, each 3/8 r beyond the end of the tube: 2/5 r² + h² + 3/4 r h about the middle.
        across += ball * (0.4 * square + half * half + 0.75 * radius * half)
        along += 0.4 * ball * square
        return Solid(tube + ball, com, np.diag([across, across, along]))
    if kind is ShapeType.CONE:
        height = 2.0 * half
        volume = np.pi * square * height / 3.0
        across = volume * (0.15 * square + 0.0375 * height * height)
        return Solid(volume, np.array([0.0, 0.0, -0.25 * height]), np.diag([across, across, 0.3 * volume * square]))
    return Solid(0.0, com, np.zeros((3, 3)))


def mass_columns(
    reading: Reading, bodies: StageBodies, shapes: StageShapes, materials: StageMaterials, meshes: StageMeshes
) -> dict[str, Array]:
    """Columns `mass`, `com`, `inertia` and `principal_rotation` of the body table."""
    masses = _Masses(reading, bodies, shapes, materials, meshes)
    count = len(bodies.paths)
    columns = {
        "mass": np.zeros(count),
        "com": np.zeros((count, 3)),
        "inertia": np.zeros((count, 3, 3)),
        "principal_rotation": np.zeros((count, 4)),
    }
    for row in range(count):
        properties, rotation = masses.body(row)
        columns["mass"][row] = properties.mass
        columns["com"][row] = properties.com
        columns["inertia"][row] = 0.5 * (properties.inertia + properties.inertia.T)
        columns["principal_rotation"][row] = rotation
    return columns


def _text(values: Array) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in values.tolist()) + ")"
