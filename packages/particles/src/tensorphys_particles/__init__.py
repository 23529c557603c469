"""Position-based particles, granular solids, fluids and cloth, on CPU and CUDA."""

from tensorphys_particles.cloth import ClothMesh
from tensorphys_particles.cloths_layout import ClothArrays
from tensorphys_particles.errors import (
    ArrayError,
    CapacityError,
    CapacityWarning,
    MaterialError,
    MeshError,
    ModelError,
    ParticleError,
    ParticleWarning,
    SettingsError,
)
from tensorphys_particles.material import ParticleMaterial
from tensorphys_particles.model import ParticleModel
from tensorphys_particles.offsets import Offsets, derive_offsets
from tensorphys_particles.protocols import Obstacles
from tensorphys_particles.sampling import sample_box
from tensorphys_particles.settings import SolverSettings
from tensorphys_particles.solver import ParticleSolver
from tensorphys_particles.springs import (
    SpringSet,
    color_springs,
    make_grid_springs,
    make_springs,
    rest_lengths,
)
from tensorphys_particles.state import ParticleState
from tensorphys_particles.system import ParticleCloth, ParticleSet, ParticleSystem

__all__ = [
    "ArrayError",
    "CapacityError",
    "CapacityWarning",
    "ClothArrays",
    "ClothMesh",
    "MaterialError",
    "MeshError",
    "ModelError",
    "Obstacles",
    "Offsets",
    "ParticleCloth",
    "ParticleError",
    "ParticleMaterial",
    "ParticleModel",
    "ParticleSet",
    "ParticleSolver",
    "ParticleState",
    "ParticleSystem",
    "ParticleWarning",
    "SettingsError",
    "SolverSettings",
    "SpringSet",
    "color_springs",
    "derive_offsets",
    "make_grid_springs",
    "make_springs",
    "rest_lengths",
    "sample_box",
]
