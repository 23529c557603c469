"""Scenes that several tests use."""

from __future__ import annotations

import importlib.util
import pathlib

import numpy as np
import pytest
import warp as wp

import tensorphys_particles as tp
from tensorphys_particles.testing import SolidObstacles


class Scene:
    """A model with its state, solver and obstacles."""

    def __init__(self, systems, *, device, bodies=(), settings=None, rows=4):
        systems = [systems] if isinstance(systems, tp.ParticleSystem) else systems
        self.model = tp.ParticleModel(systems, device=device)
        self.obstacles = SolidObstacles(self.model, bodies, capacity=rows) if bodies else None
        self.solver = tp.ParticleSolver(self.model, settings, obstacles=self.obstacles)
        self.state = tp.ParticleState(self.model)

    def run(self, steps, dt=1 / 60):
        for _ in range(steps):
            self.solver.step(self.state, dt)
        self.solver.check_overflow()
        if self.obstacles is not None:
            self.obstacles.check_overflow()

    @property
    def x(self):
        return self.state.positions.numpy().astype(float)

    @property
    def v(self):
        return self.state.velocities.numpy().astype(float)

    @property
    def masses(self):
        inverse = self.model.particles.inverse_mass.numpy().astype(float)
        return np.where(inverse > 0.0, 1.0 / np.where(inverse > 0.0, inverse, 1.0), 0.0)

    def densities(self):
        out = wp.zeros(self.model.particle_count, dtype=wp.float32, device=self.model.device)
        self.solver.measure_density(self.state, out)
        return out.numpy()


@pytest.fixture(scope="session")
def make_scene():
    return Scene


@pytest.fixture
def measured(request):
    """Leave a number in the JUnit report of the test."""

    def keep(what, value) -> None:
        request.node.user_properties.append(("measured", f"{what}: {value}"))

    return keep


NO_GRAVITY = (0.0, 0.0, 0.0)


@pytest.fixture(scope="session")
def fluid_system():
    """System of one fluid whose spacing is d, with the derived ratio of spacing to interaction distance."""

    def make(points, d, *, velocities=None, masses=None, material=None, **options):
        fluid = tp.ParticleSet(
            points,
            velocities=velocities,
            masses=masses,
            material=material or tp.ParticleMaterial(friction=0.0),
        )
        options.setdefault("rest_offset", d / 2)
        return tp.ParticleSystem(sets=[fluid], particle_contact_offset=d / 1.188, **options)

    return make


@pytest.fixture(scope="session")
def recorded_particles():
    """The module that makes and reads the recorded steps."""
    path = pathlib.Path(__file__).with_name("recorded_particles.py")
    spec = importlib.util.spec_from_file_location("recorded_particles", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
