"""Bodies that several tests use."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import tensorphys_fem as tf


class Scene:
    """A model with its state, control, solver and measures."""

    def __init__(self, bodies, *, device, gravity=(0.0, 0.0, -9.81), settings=None, path="auto", **model):
        self.model = tf.FemModel(bodies, device=device, **model)
        self.state = tf.FemState(self.model)
        self.control = tf.FemControl(self.model, gravity=gravity)
        self.solver = tf.FemSolver(self.model, settings, path=path)
        self.measures = tf.FemMeasures(self.model)

    def hold(self, nodes, targets=None) -> None:
        """Drive nodes to targets, by default to where they are."""
        target = self.control.target.numpy()
        places = self.state.position.numpy() if targets is None else targets
        target[nodes, :3] = places[nodes]
        target[nodes, 3] = 0.0
        self.control.target.assign(target)

    def release(self) -> None:
        target = self.control.target.numpy()
        target[:, 3] = 1.0
        self.control.target.assign(target)

    def place(self, positions) -> None:
        values = np.asarray(positions, dtype=np.float32)
        self.state.set_positions(wp.array(values, dtype=wp.vec3, device=self.model.device))

    def throw(self, velocities) -> None:
        values = np.asarray(velocities, dtype=np.float32)
        self.state.set_velocities(wp.array(values, dtype=wp.vec3, device=self.model.device))

    def run(self, steps: int, dt: float) -> None:
        for _ in range(steps):
            self.solver.step(self.state, self.control, dt)

    @property
    def x(self):
        return self.state.position.numpy().copy()

    @property
    def v(self):
        return self.state.velocity.numpy().copy()

    def bodies(self):
        """Kinetic and elastic energy, momentum and angular momentum of all bodies."""
        m = self.measures
        m.measure_bodies(self.state)
        arrays = (m.kinetic_energy, m.elastic_energy, m.momentum, m.angular_momentum)
        return tuple(a.numpy().copy() for a in arrays)

    def energy(self) -> float:
        kinetic, elastic, _, _ = self.bodies()
        return float(kinetic.sum() + elastic.sum())


@pytest.fixture(scope="session")
def make_scene():
    return Scene


@pytest.fixture
def measured(request):
    """Leave a number in the JUnit report of the test."""

    def keep(what, value) -> None:
        request.node.user_properties.append(("measured", f"{what}: {value}"))

    return keep
