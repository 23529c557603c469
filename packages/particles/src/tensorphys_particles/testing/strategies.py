"""Hypothesis strategies of descriptions, degenerate ones among them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tensorphys_particles.cloth import ClothMesh
from tensorphys_particles.material import ParticleMaterial
from tensorphys_particles.springs import SpringSet
from tensorphys_particles.system import ParticleCloth, ParticleSet, ParticleSystem

_SMALL = st.sampled_from([0.0, 0.125, 0.5, 2.0])


def particle_materials() -> st.SearchStrategy[ParticleMaterial]:
    """Materials of every kind of interaction, with values that float32 holds exactly."""
    return st.builds(
        ParticleMaterial,
        friction=_SMALL,
        damping=_SMALL,
        gravity_scale=st.sampled_from([-1.0, 0.0, 0.5, 1.0]),
        lift=_SMALL,
        drag=_SMALL,
        viscosity=_SMALL,
        cohesion=_SMALL,
        surface_tension=st.sampled_from([0.0, 0.125]),
        adhesion=_SMALL,
        adhesion_offset_scale=_SMALL,
        vorticity_confinement=_SMALL,
        particle_friction_scale=_SMALL,
        particle_adhesion_scale=_SMALL,
    )


@st.composite
def cloth_meshes(draw: st.DrawFn) -> ClothMesh:
    """Grids, some of them of coincident points, some with zero, rigid or no springs."""
    shape = (draw(st.integers(2, 5)), draw(st.integers(2, 5)))
    size = draw(st.sampled_from([0.0, 0.25, 1.0]))
    stiffness = draw(st.sampled_from([0.0, 1.0, 1024.0, np.inf]))
    grid = ClothMesh.grid(shape, (size, size))
    kept = draw(st.integers(0, grid.springs.count))
    springs = SpringSet(
        grid.springs.indices[:kept],
        grid.springs.rest_lengths[:kept],
        np.full(kept, stiffness),
        np.full(kept, draw(_SMALL)),
    )
    return ClothMesh(grid.points, grid.triangles, springs)


@st.composite
def particle_systems(draw: st.DrawFn) -> ParticleSystem:
    """A fluid, grains and a cloth in one place, some particles coincident, some held fixed."""
    rng = np.random.default_rng(draw(st.integers(0, 2**31 - 1)))

    def loose(fluid: bool) -> ParticleSet:
        count = draw(st.integers(1, 20))
        spread = draw(st.sampled_from([0.0, 0.0625, 0.5]))
        masses = rng.choice([0.0, 0.25, 1.0, 4.0], size=count)
        return ParticleSet(
            rng.uniform(-spread, spread, (count, 3)),
            velocities=rng.normal(size=(count, 3)),
            masses=masses,
            fluid=fluid,
            material=draw(particle_materials()),
            self_collision=draw(st.booleans()),
        )

    mesh = draw(cloth_meshes())
    cloth = ParticleCloth(
        mesh,
        masses=rng.choice([0.0, 0.0625, 1.0], size=len(mesh.points)),
        material=draw(particle_materials()),
        self_collision_filter=draw(st.booleans()),
    )
    return ParticleSystem(
        sets=[loose(True), loose(False)],
        cloths=[cloth],
        wind=(draw(_SMALL), 0.0, draw(_SMALL)),
        max_depenetration_velocity=draw(st.sampled_from([1.0, np.inf])),
    )
