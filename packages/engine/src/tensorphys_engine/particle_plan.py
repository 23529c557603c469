"""From the particle prims of a scene to the description of particle systems."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_engine.errors import BuildError
from tensorphys_engine.findings import Findings
from tensorphys_particles import (
    ClothMesh,
    Offsets,
    ParticleCloth,
    ParticleError,
    ParticleMaterial,
    ParticleSet,
    ParticleSystem,
    SpringSet,
    make_springs,
)
from tensorphys_scene import Scene, SoftData, SoftKind, Template

FloatArray = npt.NDArray[np.float64]

_SYSTEM_VALUES = {
    "particle_contact_offset": "particleContactOffset",
    "contact_offset": "contactOffset",
    "rest_offset": "restOffset",
    "solid_rest_offset": "solidRestOffset",
    "fluid_rest_offset": "fluidRestOffset",
    "max_velocity": "maxVelocity",
    "max_depenetration_velocity": "maxDepenetrationVelocity",
    "max_neighborhood": "maxNeighborhood",
    "neighborhood_scale": "neighborhoodScale",
    "global_self_collision": "globalSelfCollisionEnabled",
    "obstacle_collision": "nonParticleCollisionEnabled",
}
_MATERIAL_VALUES = {
    "friction": "friction",
    "damping": "damping",
    "gravity_scale": "gravityScale",
    "lift": "lift",
    "drag": "drag",
    "viscosity": "viscosity",
    "cohesion": "cohesion",
    "surface_tension": "surfaceTension",
    "adhesion": "adhesion",
    "adhesion_offset_scale": "adhesionOffsetScale",
    "vorticity_confinement": "vorticityConfinement",
    "cfl_coefficient": "cflCoefficient",
    "particle_friction_scale": "particleFrictionScale",
    "particle_adhesion_scale": "particleAdhesionScale",
    "density": "density",
}
_DEFAULT_SUBSTEPS = 16


@dataclass
class ParticlePlan:
    """Particle systems of all environments, and which prim is which of them.

    Attributes:
        systems: One for each particle system and environment with particles in it.
        substeps: Substeps of a step, the largest authored solver position iteration count.
        systems_of: Numbers of the systems that a ``PhysxParticleSystem`` prim became, by path; a prim outside of the
            environments is one for each of them.
        cloth_paths, set_paths: Prim path of each cloth and each set, in the order of the model.
        cloth_member, set_member: Number of each cloth and set among all members, which is that of its material.
        members_of: Numbers of the members that have a material, by the path of its prim.
    """

    systems: list[ParticleSystem] = field(default_factory=list)
    substeps: int = _DEFAULT_SUBSTEPS
    systems_of: dict[str, list[int]] = field(default_factory=dict)
    cloth_paths: list[str] = field(default_factory=list)
    set_paths: list[str] = field(default_factory=list)
    cloth_member: list[int] = field(default_factory=list)
    set_member: list[int] = field(default_factory=list)
    members_of: dict[str, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Member:
    """A set or cloth of a template and where its material comes from."""

    path: str
    body: ParticleSet | ParticleCloth
    material: tuple[str, bool] | None


@dataclass(frozen=True)
class _System:
    """A particle system of a template: its prim, whether that is shared, and its members."""

    path: str
    shared: bool
    body: ParticleSystem
    members: list[_Member]
    iterations: int


def plan_particles(scene: Scene, findings: Findings) -> ParticlePlan:
    """Describe the particle systems of all environments.

    Args:
        scene: The scene.
        findings: Takes what is left out.

    Raises:
        BuildError: If a particle prim contradicts itself; the message names it.
    """
    plan, environments = ParticlePlan(), scene.environments
    planned: dict[int, list[_System]] = {}
    iterations = []
    for number, template in enumerate(environments.template.tolist()):
        if template not in planned:
            reader = _Reader(scene, scene.templates[template], environments.path[number], findings)
            planned[template] = reader.systems()
        for system in planned[template]:
            iterations.append(system.iterations)
            _add(plan, system, number, environments.path[number], len(plan.systems))
    plan.substeps = max(iterations, default=_DEFAULT_SUBSTEPS)
    return plan


def _add(plan: ParticlePlan, system: _System, environment: int, prefix: str, number: int) -> None:
    def full(path: str, shared: bool) -> str:
        return path if shared else prefix + path

    first = len(plan.cloth_member) + len(plan.set_member)
    # The model numbers the sets of a system before its cloths.
    ordered = sorted(system.members, key=lambda member: isinstance(member.body, ParticleCloth))
    for place, member in enumerate(ordered):
        is_cloth = isinstance(member.body, ParticleCloth)
        (plan.cloth_paths if is_cloth else plan.set_paths).append(prefix + member.path)
        (plan.cloth_member if is_cloth else plan.set_member).append(first + place)
        if member.material is not None:
            plan.members_of.setdefault(full(*member.material), []).append(first + place)
    plan.systems.append(
        replace(
            system.body,
            environment=environment,
            sets=tuple(m.body for m in ordered if isinstance(m.body, ParticleSet)),
            cloths=tuple(m.body for m in ordered if isinstance(m.body, ParticleCloth)),
        )
    )
    plan.systems_of.setdefault(full(system.path, system.shared), []).append(number)


class _Reader:
    """Reads the particle prims of a template; prims outside of it are looked up among the shared ones."""

    def __init__(self, scene: Scene, template: Template, prefix: str, findings: Findings) -> None:
        self._scene, self._soft, self._prefix = scene, template.soft_prims, prefix
        self._shared = scene.shared.soft_prims
        self._findings = findings

    def systems(self) -> list[_System]:
        """The particle systems with the sets and cloths that name them."""
        found: dict[tuple[str, bool], _System] = {}
        soft = self._soft
        for row in range(soft.count):
            kind = int(soft.kind[row])
            if kind not in (SoftKind.PARTICLE_SET, SoftKind.PARTICLE_CLOTH):
                continue
            data, path = soft.data[row], soft.path[row]
            if not data.value("physxParticle:particleEnabled"):
                self._findings.note(self._prefix + path, "particleEnabled is false: left out")
                continue
            owner = self._system_of(path, data)
            if owner is None:
                continue
            if owner not in found:
                found[owner] = self._system(*owner)
            system = found[owner]
            if not self._prim(*owner).value("particleSystemEnabled"):
                self._findings.note(self._prefix + path, "particleSystemEnabled is false: left out")
                continue
            material = self._material_of(data, self._prim(*owner))
            constants = self._material(*material) if material else ParticleMaterial()
            transform = np.asarray(soft.transform[row])
            body: ParticleSet | ParticleCloth
            try:
                if kind == SoftKind.PARTICLE_SET:
                    body = self._set(path, data, transform, constants)
                else:
                    body = self._cloth(path, data, transform, constants, system.body.offsets)
            except ParticleError as error:
                raise BuildError(f"{self._prefix + path}: {error}") from error
            system.members.append(_Member(path, body, material))
        return [system for system in found.values() if system.members]

    def _prim(self, path: str, shared: bool) -> SoftData:
        table = self._shared if shared else self._soft
        return table.data[table.row(path)]

    def _find(self, path: str, kind: SoftKind) -> tuple[str, bool] | None:
        for table, shared in ((self._soft, False), (self._shared, True)):
            if path in table.path and int(table.kind[table.row(path)]) == kind:
                return path, shared
        return None

    def _system_of(self, path: str, data: SoftData) -> tuple[str, bool] | None:
        named = data.targets.get("physxParticle:particleSystem", ())
        owner = self._find(named[0], SoftKind.PARTICLE_SYSTEM) if named else None
        if owner is None:
            text = "particles of no particle system" if not named else f"no particle system at {named[0]}"
            self._findings.omit("particles without a particle system, left out", self._prefix + path, text)
        return owner

    def _material_of(self, data: SoftData, system: SoftData) -> tuple[str, bool] | None:
        """The material of a set or cloth, else that of its system."""
        for path in (data.material, system.material):
            found = self._find(path, SoftKind.PARTICLE_MATERIAL) if path else None
            if found is not None:
                return found
        return None

    def _material(self, path: str, shared: bool) -> ParticleMaterial:
        data = self._prim(path, shared)
        values = {
            ours: float(data.value(f"physxPBDMaterial:{name}")) for ours, name in _MATERIAL_VALUES.items()
        }
        try:
            return ParticleMaterial(**values)
        except ParticleError as error:
            raise BuildError(f"{path if shared else self._prefix + path}: {error}") from error

    def _system(self, path: str, shared: bool) -> _System:
        data = self._prim(path, shared)
        full = path if shared else self._prefix + path
        if data.value("enableCCD"):
            self._findings.note(full, "enableCCD: particles are bounded by their contact offset, not swept")
        values: dict[str, Any] = {ours: data.value(name) for ours, name in _SYSTEM_VALUES.items()}
        wind = np.asarray(data.value("wind"), float)
        body = ParticleSystem(
            wind=tuple(wind.tolist()),
            gravity=tuple(np.asarray(self._scene.settings.gravity, float).tolist()),
            air_density=1.225 * _dense(self._scene),
            **values,
        )
        try:
            _ = body.offsets
        except ParticleError as error:
            raise BuildError(f"{full}: {error}") from error
        return _System(path, shared, body, [], int(data.value("solverPositionIterationCount")))

    def _set(
        self, path: str, data: SoftData, transform: FloatArray, material: ParticleMaterial
    ) -> ParticleSet:
        points = np.asarray(data.values.get("physxParticle:simulationPoints", data.points), float).reshape(
            -1, 3
        )
        if not len(points):
            raise BuildError(f"{self._prefix + path}: a particle set without points")
        return ParticleSet(
            _placed(points, transform),
            velocities=_turned(data.values.get("velocities"), transform),
            masses=_masses(data, len(points)),
            fluid=bool(data.value("physxParticle:fluid")),
            material=_with_density(material, data, self._scene),
            group=int(data.value("physxParticle:particleGroup")),
            self_collision=bool(data.value("physxParticle:selfCollision")),
        )

    def _cloth(
        self, path: str, data: SoftData, transform: FloatArray, material: ParticleMaterial, offsets: Offsets
    ) -> ParticleCloth:
        points = _placed(data.points, transform)
        rest = data.values.get("physxParticle:restPoints")
        rest = points if rest is None else _placed(np.asarray(rest, float).reshape(-1, 3), transform)
        if len(rest) != len(points):
            raise BuildError(f"{self._prefix + path}: {len(rest)} restPoints for {len(points)} points")
        mesh = ClothMesh(rest, data.elements, self._springs(path, data, rest))
        material = _with_density(material, data, self._scene)
        masses = _masses(data, len(points))
        # As thick as its particles are apart from others.
        sheet = material.density * 2.0 * offsets.solid_rest
        return ParticleCloth(
            mesh,
            masses=mesh.masses(sheet) if masses is None else masses,
            positions=points,
            velocities=_turned(data.values.get("velocities"), transform),
            material=material,
            pressure=float(data.value("physxParticle:pressure")),
            group=int(data.value("physxParticle:particleGroup")),
            self_collision=bool(data.value("physxParticle:selfCollision")),
            self_collision_filter=bool(data.value("physxParticle:selfCollisionFilter")),
        )

    def _springs(self, path: str, data: SoftData, rest: FloatArray) -> SpringSet:
        """Authored springs, else springs made from the mesh."""
        full = self._prefix + path
        ends = data.values.get("physxParticle:springIndices")
        if ends is not None and np.asarray(ends).size:
            ends = np.asarray(ends, np.int32).reshape(-1, 2)
            if ends.min() < 0 or ends.max() >= len(rest):
                raise BuildError(
                    f"{full}: springIndices reach {int(ends.max())}, the mesh has {len(rest)} points"
                )
            lengths = data.values.get("physxParticle:springRestLengths")
            if lengths is None or not np.asarray(lengths).size:
                lengths = np.linalg.norm(rest[ends[:, 0]] - rest[ends[:, 1]], axis=1)
            columns = {"rest_lengths": lengths}
            for name, value in (("stiffnesses", "springStiffnesses"), ("dampings", "springDampings")):
                columns[name] = data.values.get(f"physxParticle:{value}", np.zeros(len(ends)))
            for name, values in columns.items():
                if np.asarray(values).size != len(ends):
                    raise BuildError(f"{full}: {np.asarray(values).size} {name} for {len(ends)} springs")
            return SpringSet(
                indices=ends, **{k: np.asarray(v, float).reshape(-1) for k, v in columns.items()}
            )
        if "PhysxAutoParticleClothAPI" not in data.schemas:
            self._findings.omit(
                "cloth without springs", full, "no springs are authored, and none are asked for"
            )
        welded = len(np.unique(rest, axis=0)) < len(rest)
        if welded and not data.value("physxAutoParticleCloth:disableMeshWelding"):
            self._findings.omit("cloth that is not welded", full, "points that coincide are not made one")
        wanted = {
            f"{kind}_stiffness": float(
                data.value(f"physxAutoParticleCloth:spring{kind.capitalize()}Stiffness")
            )
            if "PhysxAutoParticleClothAPI" in data.schemas
            else 0.0
            for kind in ("stretch", "shear", "bend")
        }
        damping = float(data.value("physxAutoParticleCloth:springDamping"))
        return make_springs(rest, data.elements, damping=damping, **wanted)


def _placed(points: npt.ArrayLike, transform: FloatArray) -> FloatArray:
    return np.asarray(points, float) @ transform[:3, :3].T + transform[:3, 3]


def _turned(vectors: Any, transform: FloatArray) -> FloatArray | None:
    if vectors is None or not np.asarray(vectors).size:
        return None
    return np.asarray(vectors, float).reshape(-1, 3) @ transform[:3, :3].T


def _masses(data: SoftData, count: int) -> float | None:
    """Equal parts of an authored mass; None where the density decides."""
    mass = float(data.values.get("physics:mass", 0.0))
    return mass / count if mass > 0.0 else None


def _with_density(material: ParticleMaterial, data: SoftData, scene: Scene) -> ParticleMaterial:
    """The density of the prim, else of the material, else that of water."""
    density = float(data.values.get("physics:density", 0.0)) or material.density or 1000.0 * _dense(scene)
    return replace(material, density=density)


def _dense(scene: Scene) -> float:
    """1 kg/m³ in the units of the stage."""
    return float(scene.settings.meters_per_unit**3 / scene.settings.kilograms_per_unit)
