"""Mass, centre of mass and inertia of bodies, by the rules of `UsdPhysicsRigidBodyAPI::ComputeMassProperties`.

Of a body: its mass, else the sum over its colliders; of a collider: its mass, else volume times the first positive
one of its density, the body's density, its material's density and 1000 kg/m³. A body mass scales the computed
inertia. An authored centre of mass shifts the computed inertia by the parallel-axis theorem. Authored vectors in a
prim's frame carry the prim's world scale. Values equal to the schema's fallbacks count as not authored.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from pxr import Sdf

from tensorphys_scene import ShapeType
from tensorphys_spatial import (
    MassProperties,
    combine_mass_properties,
    inertia_translate,
    mass_properties_of_box,
    mass_properties_of_capsule,
    mass_properties_of_cone,
    mass_properties_of_cylinder,
    mass_properties_of_sphere,
    principal_axes,
    quaternion_from_matrix,
    quaternion_to_matrix,
)
from tensorphys_usd.attributes import Attributes
from tensorphys_usd.errors import StageError
from tensorphys_usd.frames import Frame, Rigid, joined, rotation_of
from tensorphys_usd.materials import StageMaterials
from tensorphys_usd.meshes import StageMeshes, scaled
from tensorphys_usd.stage import Reading

Array = npt.NDArray[np.float64]

_WATER = 1000.0  # kg/m³
_ALMOST = 1e-5  # authored axes are float32
_DEGENERATE = 1e-7  # a principal moment below this part of the largest cannot be told from zero in float32
_POINT_RADIUS = 0.1  # metres; a body with a mass and no extent counts as a sphere of this radius


class MassBodies(Protocol):
    """What is read of bodies, as `bodies.StageBodies` has it."""

    paths: list[Sdf.Path]
    frames: list[Frame]
    enabled: list[bool]
    kinematic: list[bool]


class MassShapes(Protocol):
    """What is read of shapes, as `shapes.StageShapes` has it."""

    paths: list[Sdf.Path]
    bodies: list[int]
    frames: list[Frame]
    places: list[Rigid]
    columns: dict[str, list[Any]]


@dataclass(frozen=True)
class _Authored:
    mass: float
    density: float
    com: Array | None
    diagonal: Array | None
    axes: Array | None
    tensor: Array | None = None


_UNAUTHORED = _Authored(0.0, 0.0, None, None, None)
_NAMES = frozenset(
    f"physics:{name}" for name in ("mass", "density", "centerOfMass", "diagonalInertia", "principalAxes")
) | {"newton:inertia"}


def _moved(solid: MassProperties, com: Array) -> MassProperties:
    """The same with an authored centre of mass."""
    return MassProperties(solid.mass, com, inertia_translate(solid.inertia, solid.mass, com - solid.com))


class _Masses:
    """Mass computation of one stage."""

    def __init__(
        self,
        reading: Reading,
        bodies: MassBodies,
        shapes: MassShapes,
        materials: StageMaterials,
        meshes: StageMeshes,
    ) -> None:
        self._reading = reading
        self._bodies = bodies
        self._shapes = shapes
        self._materials = materials
        self._meshes = meshes
        self._solids: dict[tuple[int, tuple[float, ...], int], MassProperties] = {}
        count = len(bodies.paths)
        self.authored = [self._authored(path) for path in bodies.paths]
        # What is authored in full is not computed.
        needed = np.array(
            [
                item.mass <= 0.0 or (item.diagonal is None and item.tensor is None) or item.com is None
                for item in self.authored
            ],
            bool,
        )
        body = np.array(shapes.bodies, np.int64)
        rows = np.flatnonzero(body >= 0)
        rows = rows[needed[body[rows]]]
        self.mass, self.com, self.inertia = np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3, 3))
        if rows.size:
            self._combine(rows, body[rows])

    def _combine(self, rows: npt.NDArray[np.intp], body: npt.NDArray[np.int64]) -> None:
        """Add up the colliders of each body."""
        solids = [self._solid(int(row)) for row in rows]
        volume = np.array([solid.mass for solid in solids])
        rotation = joined([self._shapes.places[row][0] for row in rows])
        com = (rotation @ np.stack([solid.com for solid in solids])[:, :, None])[:, :, 0]
        com += np.stack([self._shapes.places[row][1] for row in rows])
        inertia = rotation @ joined([solid.inertia for solid in solids]) @ np.swapaxes(rotation, 1, 2)
        authored = [self._authored(self._shapes.paths[row]) for row in rows]
        density = self._densities(rows, body, authored)
        mass = volume * density
        inertia *= density[:, None, None]
        for index, item in enumerate(authored):
            if item is _UNAUTHORED:
                continue
            together = self._of_one_prim(rows, index)
            if together[0] == index:
                parts = [MassProperties(volume[k], com[k], inertia[k] / density[k]) for k in together]
                part = self._shape(
                    int(rows[index]), item, combine_mass_properties(parts), float(density[index])
                )
                mass[together], inertia[together] = 0.0, 0.0
                mass[index], com[index], inertia[index] = part.mass, part.com, part.inertia
        np.add.at(self.mass, body, mass)
        np.add.at(self.com, body, mass[:, None] * com)
        self.com /= np.where(self.mass > 0.0, self.mass, 1.0)[:, None]
        np.add.at(self.inertia, body, inertia_translate(inertia, mass, com - self.com[body]))
        self.inertia[~(self.mass > 0.0)] = 0.0

    def _of_one_prim(self, rows: npt.NDArray[np.intp], index: int) -> list[int]:
        """Places in a list of shapes of all that stand for the prim of one of them; they stand together."""
        paths = self._shapes.paths
        path = paths[rows[index]]
        first, last = index, index
        while first > 0 and paths[rows[first - 1]] == path:
            first -= 1
        while last + 1 < len(rows) and paths[rows[last + 1]] == path:
            last += 1
        return list(range(first, last + 1))

    def _densities(
        self, rows: npt.NDArray[np.intp], body: npt.NDArray[np.int64], authored: list[_Authored]
    ) -> Array:
        """Density of each collider: its own, its body's, its material's or that of water."""
        own = np.array([item.density for item in authored])
        of_body = np.array([item.density for item in self.authored])[body]
        material = np.array(self._shapes.columns["material"], np.int64)[rows]
        of_material = np.append(self._materials.table.density, 0.0)[material]
        density = np.where(own > 0.0, own, of_body)
        density = np.where(density > 0.0, density, of_material)
        return np.where(density > 0.0, density, _WATER * self._reading.density_unit)

    def body(self, row: int) -> tuple[MassProperties, Array | None]:
        """Mass properties of a body and its principal axes, None where they are to be found from the inertia."""
        path = self._bodies.paths[row]
        authored = self.authored[row]
        stretch = self._bodies.frames[row].stretch
        com = None if authored.com is None else stretch @ authored.com
        moving = self._bodies.enabled[row] and not self._bodies.kinematic[row]
        computed: MassProperties | None = None
        if self.mass[row] > 0.0:
            computed = MassProperties(float(self.mass[row]), self.com[row], self.inertia[row])
        if authored.mass > 0.0:
            mass = authored.mass
        elif computed is not None:
            mass = computed.mass
        else:
            mass = 1.0 / self._reading.kilograms_per_unit
            if moving:
                self._reading.report.correct(
                    path, "body has neither a mass nor a collider with volume: 1 kg is used"
                )
        if computed is not None:
            computed = computed.with_mass(mass)
            computed = computed if com is None else _moved(computed, com)
        centre = com if com is not None else (np.zeros(3) if computed is None else computed.com)
        if authored.tensor is not None:
            return self._with_tensor(authored.tensor, authored.axes, mass, centre)
        if authored.diagonal is not None:
            return self._with_diagonal(path, authored, mass, centre, computed)
        if computed is None:
            radius = _POINT_RADIUS / self._reading.meters_per_unit
            computed = MassProperties(mass, centre, 0.4 * mass * radius * radius * np.eye(3))
            if moving:
                self._reading.report.correct(
                    path, "body has no inertia and no collider with volume: a sphere of 0.1 m is used"
                )
        return computed, authored.axes

    @staticmethod
    def _with_tensor(
        tensor: Array, axes: Array | None, mass: float, centre: Array
    ) -> tuple[MassProperties, Array | None]:
        """An authored tensor; authored axes are kept where they are its principal ones."""
        if axes is not None:
            turned = axes.T @ tensor @ axes
            off = np.abs(turned - np.diag(np.diag(turned))).max()
            axes = axes if off <= _ALMOST * np.abs(tensor).max() else None
        return MassProperties(mass, centre, tensor), axes

    def _with_diagonal(
        self, path: Sdf.Path, authored: _Authored, mass: float, centre: Array, computed: MassProperties | None
    ) -> tuple[MassProperties, Array]:
        assert authored.diagonal is not None
        diagonal = authored.diagonal.copy()
        degenerate = diagonal <= _DEGENERATE * diagonal.max()
        if degenerate.any():
            self._reading.report.correct(
                path,
                f"physics:diagonalInertia {_text(diagonal)} has entries without weight: the largest is used",
            )
            diagonal[degenerate] = diagonal.max()
        elif 2.0 * diagonal.max() > diagonal.sum() * (1.0 + 1e-5):
            self._reading.report.add(
                path,
                f"physics:diagonalInertia {_text(diagonal)} belongs to no solid (triangle inequality); it is kept",
            )
        axes = authored.axes
        if axes is None:
            # As OpenUSD does: with an authored centre of mass too, nothing is left to compute axes from.
            axes = np.eye(3)
            if computed is not None and authored.com is None:
                axes = quaternion_to_matrix(principal_axes(computed.inertia)[0])
        return MassProperties(mass, centre, (axes * diagonal) @ axes.T), axes

    def _authored(self, path: Sdf.Path) -> _Authored:
        attributes = self._reading.attributes(path)
        if attributes.names.isdisjoint(_NAMES) or not attributes.applied("PhysicsMassAPI"):
            return _UNAUTHORED
        mass = attributes.number("physics:mass", 0.0)
        density = attributes.number("physics:density", 0.0)
        tensor = self._tensor(path, attributes)
        com = attributes.vector("physics:centerOfMass", (-math.inf,) * 3, finite=False).tolist()
        diagonal = attributes.vector("physics:diagonalInertia", (0.0,) * 3).tolist()
        axes = attributes.quaternion("physics:principalAxes")
        xyzw = (0.0,) * 4 if axes is None else (*axes.GetImaginary(), axes.GetReal())
        for name, values in (
            ("physics:mass", (mass,)),
            ("physics:density", (density,)),
            ("physics:principalAxes", xyzw),
        ):
            if not all(map(math.isfinite, values)):
                raise StageError(f"{path}: {name} is {_text(values)}")
        for name, number in (("physics:mass", mass), ("physics:density", density)):
            if number < 0.0:
                self._reading.report.add(path, f"{name} {number} is negative: ignored")
        return _Authored(
            max(mass, 0.0),
            max(density, 0.0),
            np.array(com, dtype=np.float64) if all(map(math.isfinite, com)) else None,
            np.array(diagonal, dtype=np.float64) if any(diagonal) else None,
            rotation_of(axes) if any(xyzw) else None,
            tensor,
        )

    def _tensor(self, path: Sdf.Path, attributes: Attributes) -> Array | None:
        """The converters' tensor in prim axes, which stands above the diagonal form; None where there is none."""
        values = attributes.numbers("newton:inertia", ())
        if not values.size:
            return None
        if values.size != 6:
            raise StageError(f"{path}: newton:inertia has {values.size} entries, expected 6")
        xx, yy, zz, xy, xz, yz = values.tolist()
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        moments = np.linalg.eigvalsh(tensor)
        if moments[0] <= _DEGENERATE * moments[2]:
            text = f"newton:inertia {_text(values.tolist())} is not positive definite: ignored"
            self._reading.report.add(path, text)
            return None
        return tensor

    def _shape(
        self, shape: int, authored: _Authored, solid: MassProperties, density: float
    ) -> MassProperties:
        """Mass properties of a collider with authored ones in its body's frame, given those at unit density there."""
        frame = self._shapes.frames[shape]
        mass = authored.mass or solid.mass * density
        inertia = solid.inertia * (mass / solid.mass) if solid.mass > 0.0 else np.zeros((3, 3))
        result = MassProperties(mass, solid.com, inertia)
        if authored.com is not None:
            result = _moved(result, frame.translation + frame.linear @ authored.com)
        if authored.diagonal is not None:
            axes = frame.rotation if authored.axes is None else frame.rotation @ authored.axes
            result = MassProperties(mass, result.com, (axes * authored.diagonal) @ axes.T)
        return result

    def _solid(self, shape: int) -> MassProperties:
        """A collider at unit density, in its own frame."""
        columns = self._shapes.columns
        kind, mesh = ShapeType(columns["type"][shape]), columns["mesh"][shape]
        key = (int(kind), columns["size"][shape], mesh)
        solid = self._solids.get(key)
        if solid is None:
            size = np.array(columns["size"][shape])
            if mesh >= 0:
                whole = self._meshes.solid(mesh, hull=kind is ShapeType.CONVEX_HULL)
                solid = _NOTHING if whole is None else scaled(whole, size)
            else:
                solid = solid_of_primitive(kind, size)
            self._solids[key] = solid
        if mesh >= 0 and solid is _NOTHING:
            self._reading.report.add(
                self._shapes.paths[shape], "this mesh encloses no volume: it adds no mass"
            )
        return solid


def solid_of_primitive(kind: ShapeType, size: Array) -> MassProperties:
    """A primitive at unit density in its own frame; a plane has no mass."""
    if kind is ShapeType.BOX:
        return mass_properties_of_box(size)
    if kind is ShapeType.SPHERE:
        return mass_properties_of_sphere(float(size[0]))
    if kind is ShapeType.ELLIPSOID:
        return scaled(mass_properties_of_sphere(1.0), size)
    of_round = _ROUND.get(kind)
    return _NOTHING if of_round is None else of_round(float(size[0]), float(size[1]))


_NOTHING = MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
_ROUND = {
    ShapeType.CYLINDER: mass_properties_of_cylinder,
    ShapeType.CAPSULE: mass_properties_of_capsule,
    ShapeType.CONE: mass_properties_of_cone,
}


def mass_columns(
    reading: Reading, bodies: MassBodies, shapes: MassShapes, materials: StageMaterials, meshes: StageMeshes
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
    axes: dict[int, Array] = {}
    plain = masses.mass > 0.0
    plain &= np.array(
        [
            item.com is None and item.diagonal is None and item.axes is None and item.tensor is None
            for item in masses.authored
        ],
        bool,
    )
    authored_mass = np.array([item.mass for item in masses.authored], np.float64)
    columns["mass"][plain] = np.where(authored_mass > 0.0, authored_mass, masses.mass)[plain]
    columns["com"][plain] = masses.com[plain]
    factor = columns["mass"][plain] / masses.mass[plain]
    computed = masses.inertia[plain] * factor[:, None, None]
    columns["inertia"][plain] = 0.5 * (computed + np.swapaxes(computed, 1, 2))
    for row in np.flatnonzero(~plain).tolist():
        properties, authored = masses.body(row)
        columns["mass"][row] = properties.mass
        columns["com"][row] = properties.com
        columns["inertia"][row] = 0.5 * (properties.inertia + properties.inertia.T)
        if authored is not None:
            axes[row] = authored
    found = np.setdiff1d(np.arange(count), list(axes))
    if found.size:
        columns["principal_rotation"][found] = principal_axes(columns["inertia"][found])[0]
    if axes:
        columns["principal_rotation"][list(axes)] = quaternion_from_matrix(np.stack(list(axes.values())))
    return columns


def _text(values: Iterable[float]) -> str:
    return "(" + ", ".join(f"{value:.6g}" for value in values) + ")"
