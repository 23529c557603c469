"""Particle systems, particle cloths and particle materials as batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tensorphys.catalog import spread
from tensorphys.constants_view import Constant, ConstantsView, plain_layout, suitable_paths
from tensorphys.errors import DataError
from tensorphys.particle_fields import (
    MATERIAL_CONSTANTS,
    PARTICLE_CLOTH_FIELDS,
    SYSTEM_CONSTANTS,
)
from tensorphys.rows import Layout
from tensorphys.view import TensorView

if TYPE_CHECKING:
    from tensorphys.core import Core
    from tensorphys.fields import Field
    from tensorphys.subspaces import Subspaces

__all__ = [
    "ParticleClothView",
    "ParticleMaterialView",
    "ParticleSystemView",
    "create_particle_cloth_view",
    "create_particle_material_view",
    "create_particle_system_view",
]

OnNoMatch = Literal["raise", "empty"]
_OFFSETS = ("solid_rest_offsets", "fluid_rest_offsets", "particle_contact_offsets")


class ParticleSystemView(ConstantsView):
    """Particle systems, one row each; a system outside of the environments stands for one in each of them.

    Made by ``SimulationView.create_particle_system_view``. Arrays are those of the CPU, float32; ``indices=None`` means
    all rows. Changes act from the next step on.
    """

    _constants: ClassVar[Mapping[str, Constant]] = SYSTEM_CONSTANTS

    def get_solid_rest_offsets(self) -> Any:
        """Half of the distance at which solid and cloth particles rest on each other [m], shape [count, 1]."""
        return self._get("solid_rest_offsets")

    def set_solid_rest_offsets(self, data: Any, indices: Any) -> None:
        """Set it; it must stay below the particle contact offset."""
        self._set("solid_rest_offsets", data, indices)

    def get_fluid_rest_offsets(self) -> Any:
        """Half of the distance of the particles of a fluid at rest [m], shape [count, 1]."""
        return self._get("fluid_rest_offsets")

    def set_fluid_rest_offsets(self, data: Any, indices: Any) -> None:
        """Set it; it must stay below the particle contact offset."""
        self._set("fluid_rest_offsets", data, indices)

    def get_particle_contact_offsets(self) -> Any:
        """Half of the distance at which particles begin to interact [m], shape [count, 1]."""
        return self._get("particle_contact_offsets")

    def set_particle_contact_offsets(self, data: Any, indices: Any) -> None:
        """Set it; it must stay above the rest offsets."""
        self._set("particle_contact_offsets", data, indices)

    def get_wind(self) -> Any:
        """Velocity of the air [m/s], which acts on cloths by the drag and lift of their materials, shape [count, 3]."""
        return self._get("wind")

    def set_wind(self, data: Any, indices: Any) -> None:
        """Set it."""
        self._set("wind", data, indices)

    def _check_change(self, constant: Constant, values: npt.NDArray[np.float32], what: str) -> None:
        if constant.name not in _OFFSETS:
            return
        new = {name: self._host(SYSTEM_CONSTANTS[name])[:, 0] for name in _OFFSETS}
        new[constant.name] = values[:, 0]
        rest = np.maximum(new["solid_rest_offsets"], new["fluid_rest_offsets"])
        bad = np.flatnonzero(~(rest < new["particle_contact_offsets"]))
        if bad.size:
            system = int(bad[0])
            given = {name: float(column[system]) for name, column in new.items()}
            raise DataError(
                f"{what}: rest offsets must stay below the particle contact offset, given {given}; nothing was written"
            )

    def _changed(self, name: str) -> None:
        if name in _OFFSETS:
            self._core.particles.model.update_offsets()


class ParticleMaterialView(ConstantsView):
    """Particle materials, one row each.

    Made by ``SimulationView.create_particle_material_view``. Arrays are those of the CPU, float32, shape [count, 1];
    ``indices=None`` means all rows. Changes act from the next step on.
    """

    _constants: ClassVar[Mapping[str, Constant]] = MATERIAL_CONSTANTS

    def get_friction(self) -> Any:
        """Coulomb coefficient."""
        return self._get("friction")

    def set_friction(self, data: Any, indices: Any) -> None:
        """Set it."""
        self._set("friction", data, indices)

    def get_damping(self) -> Any:
        """Rate at which velocities decay [1/s]."""
        return self._get("damping")

    def set_damping(self, data: Any, indices: Any) -> None:
        """Set it."""
        self._set("damping", data, indices)

    def get_gravity_scale(self) -> Any:
        """Factor on gravity."""
        return self._get("gravity_scale")

    def set_gravity_scale(self, data: Any, indices: Any) -> None:
        """Set it; may be negative."""
        self._set("gravity_scale", data, indices)

    def get_lift(self) -> Any:
        """Coefficient of the lift on each triangle of a cloth."""
        return self._get("lift")

    def set_lift(self, data: Any, indices: Any) -> None:
        """Set it."""
        self._set("lift", data, indices)

    def get_drag(self) -> Any:
        """Coefficient of the drag on each triangle of a cloth."""
        return self._get("drag")

    def set_drag(self, data: Any, indices: Any) -> None:
        """Set it."""
        self._set("drag", data, indices)


class ParticleClothView(TensorView):
    """Particle cloths, one row each; rows of smaller cloths end with zeros.

    Made by ``SimulationView.create_particle_cloth_view``. Arrays are on the device of the simulation, float32;
    ``indices=None`` means all rows.
    """

    _fields: ClassVar[Mapping[str, Field]] = PARTICLE_CLOTH_FIELDS

    def __init__(self, core: Core, paths: Sequence[str], layout: Layout | None) -> None:
        super().__init__(core, layout)
        self._paths = list(paths)

    @property
    def prim_paths(self) -> list[str]:
        """Prim of each row."""
        return self._paths

    @property
    def max_particles_per_cloth(self) -> int:
        """Particles of the largest cloth."""
        return self._most("particle")

    @property
    def max_springs_per_cloth(self) -> int:
        """Springs of the cloth that has most."""
        return self._most("spring")

    def get_positions(self) -> Any:
        """Positions of the particles [m], in the world or in the subspace of the row, shape [count, particles · 3]."""
        return self._get("positions")

    def set_positions(self, data: Any, indices: Any) -> None:
        """Set positions; velocities stay."""
        self._set("positions", data, indices)

    def get_velocities(self) -> Any:
        """Velocities of the particles [m/s], world axes, shape [count, particles · 3]."""
        return self._get("velocities")

    def set_velocities(self, data: Any, indices: Any) -> None:
        """Set velocities."""
        self._set("velocities", data, indices)

    def get_masses(self) -> Any:
        """Masses of the particles [kg], infinite where a particle is held fixed, shape [count, particles]."""
        return self._get("masses")

    def set_masses(self, data: Any, indices: Any) -> None:
        """Set masses; a particle whose mass is 0, negative or infinite is held fixed."""
        self._set("masses", data, indices)

    def get_spring_damping(self) -> Any:
        """Damping of the springs, in authored order [N s/m], shape [count, springs]."""
        return self._get("spring_damping")

    def set_spring_damping(self, data: Any, indices: Any) -> None:
        """Set it."""
        self._set("spring_damping", data, indices)

    def get_spring_stiffness(self) -> Any:
        """Stiffness of the springs, in authored order [N/m], shape [count, springs]."""
        return self._get("spring_stiffness")

    def set_spring_stiffness(self, data: Any, indices: Any) -> None:
        """Set it."""
        self._set("spring_stiffness", data, indices)

    def _most(self, slots: str) -> int:
        return 0 if self._backend is None else int(self._backend.layout.slots[slots].shape[1])


def _plan(core: Core) -> Any:
    particles = core.simulation.particles
    return None if particles is None else particles.plan


def create_particle_system_view(
    core: Core, pattern: str | Sequence[str], on_no_match: OnNoMatch
) -> ParticleSystemView:
    """View of the particle systems that a pattern matches; see ``SimulationView.create_particle_system_view``."""
    plan = _plan(core)
    known = {} if plan is None else plan.systems_of
    paths = suitable_paths(core, pattern, known.__contains__, "a particle system with particles", on_no_match)
    return ParticleSystemView(core, paths, [known[path] for path in paths] if paths else None)


def create_particle_material_view(
    core: Core, pattern: str | Sequence[str], on_no_match: OnNoMatch
) -> ParticleMaterialView:
    """View of the particle materials that a pattern matches; see ``SimulationView.create_particle_material_view``."""
    plan = _plan(core)
    known = {} if plan is None else plan.members_of
    paths = suitable_paths(core, pattern, known.__contains__, "a material of particles", on_no_match)
    return ParticleMaterialView(core, paths, [known[path] for path in paths] if paths else None)


def create_particle_cloth_view(
    core: Core, pattern: str | Sequence[str], on_no_match: OnNoMatch, subspaces: Subspaces
) -> ParticleClothView:
    """View of the particle cloths that a pattern matches; see ``SimulationView.create_particle_cloth_view``."""
    plan = _plan(core)
    known = {} if plan is None else {path: number for number, path in enumerate(plan.cloth_paths)}
    paths = suitable_paths(core, pattern, known.__contains__, "a particle cloth", on_no_match)
    if not paths:
        return ParticleClothView(core, [], None)
    model = core.particles.model
    cloths = np.asarray([known[path] for path in paths], np.int64)
    first, count = model.cloths.first.numpy()[cloths], model.cloths.count.numpy()[cloths]
    start = model.cloths.spring_start
    slots = {
        "particle": spread(first, count),
        "spring": spread(start[cloths], np.diff(start)[cloths]),
    }
    homes = model.environment[model.particles.system.numpy()[first]]
    layout = plain_layout(len(paths), slots)
    origins = core.catalog.scene.environments.origin[homes]
    layout = Layout(
        objects=cloths.astype(np.int32),
        articulations=layout.articulations,
        slots=slots,
        origins=origins,
        subspaces=subspaces.of(paths),
    )
    return ParticleClothView(core, paths, layout)
