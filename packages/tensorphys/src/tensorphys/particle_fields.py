"""The tables of what the views of particles read and write."""

from __future__ import annotations

from tensorphys.constants_view import Constant
from tensorphys.fields import Field

__all__ = ["MATERIAL_CONSTANTS", "PARTICLE_CLOTH_FIELDS", "SYSTEM_CONSTANTS"]

PARTICLE_CLOTH_FIELDS = {
    field.name: field
    for field in (
        Field(
            "positions", "particle", 3, "m", "particles.state.positions", "particle",
            conversion="points", flat=True,
        ),
        Field("velocities", "particle", 3, "m/s", "particles.state.velocities", "particle", flat=True),
        Field(
            "masses", "particle", 0, "kg", "particles.model.particles.inverse_mass", "particle",
            conversion="particle_mass",
        ),
        Field("spring_stiffness", "spring", 0, "N/m", "particles.model.cloths.stiffness", "spring"),
        Field("spring_damping", "spring", 0, "N s/m", "particles.model.cloths.damping", "spring"),
    )
}  # fmt: skip


def _constants(*constants: Constant) -> dict[str, Constant]:
    return {constant.name: constant for constant in constants}


SYSTEM_CONSTANTS = _constants(
    Constant("solid_rest_offsets", 1, "m", "particles.model.systems.solid_rest"),
    Constant("fluid_rest_offsets", 1, "m", "particles.model.systems.fluid_rest"),
    Constant("particle_contact_offsets", 1, "m", "particles.model.systems.particle_contact"),
    Constant("wind", 3, "m/s", "particles.model.systems.wind", signed=True),
)

MATERIAL_CONSTANTS = _constants(
    Constant("friction", 1, "-", "particles.model.materials.friction"),
    Constant("damping", 1, "1/s", "particles.model.materials.damping"),
    Constant("gravity_scale", 1, "-", "particles.model.materials.gravity_scale", signed=True),
    Constant("lift", 1, "-", "particles.model.materials.lift"),
    Constant("drag", 1, "-", "particles.model.materials.drag"),
)
