"""Rows of nodes: contacts and attachments inside of the implicit solve."""

from __future__ import annotations

import types

import numpy as np
import pytest
import warp as wp

import tensorphys_fem as tf
from tensorphys_fem.protocols import ROW_FIELDS


def _rows(model, width=2):
    rows = types.SimpleNamespace()
    for name, dtype in ROW_FIELDS.items():
        shape = model.node_count if name in ("count", "counterforce") else (model.node_count, width)
        setattr(rows, name, wp.zeros(shape, dtype=dtype, device=model.device))
    return rows


class _Floor:
    """The plane z = 0 below every node, by multipliers: a contact solver in a few lines."""

    def __init__(self, body, device, *, path="auto", friction=0.5, slope=(0.0, 0.0, -9.81)) -> None:
        self.model = tf.FemModel([body], device=device)
        self.state, self.control = tf.FemState(self.model), tf.FemControl(self.model, gravity=slope)
        self.rows = _rows(self.model)
        self.solver = tf.FemSolver(self.model, rows=self.rows, path=path)
        self.friction = friction
        count = self.model.node_count
        self.rows.count.assign(np.ones(count, np.int32))
        normal = np.zeros((count, 2, 3), np.float32)
        normal[..., 2] = 1.0
        self.rows.normal.assign(normal)
        self.force = np.zeros((count, 2, 3), np.float32)

    def step(self, h=1 / 240, exchanges=3):
        self.solver.begin(self.state, self.control, h)
        offset = np.zeros_like(self.force)
        offset[:, 0, 2] = self.state.positions.numpy()[:, 2]
        self.rows.offset.assign(offset)
        mass, slope = self.model.node_mass.numpy(), self.model.node_slope.numpy()
        young = self.model.materials.youngs_modulus.numpy()[0]
        stiffness = np.zeros((len(mass), 2, 2), np.float32)
        stiffness[:] = (10.0 * (mass / h**2 + 2.0 * young * slope))[:, None, None]
        self.rows.stiffness.assign(stiffness)
        for _ in range(exchanges):
            self.rows.multiplier.assign(self.force)
            self.rows.bound.assign((self.friction * np.maximum(self.force[..., 2], 0.0)).astype(np.float32))
            self.solver.solve(self.control)
            self.force = self.rows.force.numpy().copy()
        self.solver.finish(self.state, self.control)


def test_a_cube_rests_by_its_multipliers(device):
    mesh = tf.box_mesh((2, 2, 2), 0.025, origin=(0.0, 0.0, 0.01))
    # the one kernel of the body path takes the compiler of CUDA minutes
    for path in ("body", "parallel") if device == "cpu" else ("parallel",):
        floor = _Floor(tf.Body(mesh, tf.Material(5e4, 0.3)), device, path=path)
        for _ in range(120):
            floor.step()
        weight = floor.model.node_mass.numpy().sum() * 9.81
        assert floor.force[:, 0, 2].sum() == pytest.approx(weight, rel=1e-3)
        assert floor.state.position.numpy()[:, 2].min() > -1e-6
        assert np.abs(floor.state.velocity.numpy()).max() < 1e-3
        assert floor.force[:, 0, 2].min() >= 0.0


@pytest.mark.parametrize(("friction", "slides"), [(0.7, False), (0.3, True)])
def test_friction_holds_below_its_cone_and_slides_above(friction, slides, device):
    mesh = tf.box_mesh((2, 2, 1), 0.02, origin=(0.0, 0.0, 0.0))
    tilt = 9.81 * np.array((0.4, 0.0, -np.sqrt(1.0 - 0.16)))
    floor = _Floor(tf.Body(mesh, tf.Material(1e5, 0.3)), device, friction=friction, slope=tilt)
    for _ in range(60):
        floor.step()
    mean = (floor.model.node_mass.numpy()[:, None] * floor.state.velocity.numpy()).sum(axis=0)
    speed = mean[0] / floor.model.node_mass.numpy().sum()
    expected = (tilt[0] + friction * tilt[2]) * 0.25 if slides else 0.0
    assert speed == pytest.approx(expected, abs=0.03 * 0.25 * 9.81 if slides else 1e-4)


def test_rows_without_bound_hold_in_both_senses_and_momentum_is_exact(device):
    mesh = tf.box_mesh((1, 1, 1), 0.1)
    model = tf.FemModel([tf.Body(mesh, tf.Material(1e5, 0.3))], device=device)
    state, control = tf.FemState(model), tf.FemControl(model, gravity=(0.0, 0.0, 0.0))
    rows = _rows(model, 1)
    solver = tf.FemSolver(model, rows=rows)
    count = model.node_count
    rows.count.assign(np.eye(1, count, dtype=np.int32)[0])
    rows.normal.assign(np.tile(np.float32([0, 0, 1]), (count, 1, 1)))
    rows.bound.assign(np.full((count, 1), -1.0, np.float32))
    rows.stiffness.assign(np.full((count, 1, 2), 1e5, np.float32))
    # the node is to go by 1 mm along x and back along z
    rows.offset.assign(np.tile(np.float32([-1e-3, 0.0, 5e-4]), (count, 1, 1)))
    counter = np.zeros((count, 3), np.float32)
    counter[count - 1] = (0.0, 0.5, 0.0)
    rows.counterforce.assign(counter)
    start = state.position.numpy()[0].copy()
    h = 1e-2
    force = np.zeros((count, 1, 3), np.float32)
    solver.begin(state, control, h)
    for _ in range(6):
        rows.multiplier.assign(force)
        solver.solve(control)
        force = rows.force.numpy()
    solver.finish(state, control)
    moved = state.position.numpy()[0] - start
    np.testing.assert_allclose(moved, [1e-3, 0.0, -5e-4], atol=2e-5)
    momentum = (model.node_mass.numpy()[:, None] * state.velocity.numpy()).sum(axis=0)
    given = h * (force[0, 0].astype(float) + counter.sum(axis=0))
    np.testing.assert_allclose(momentum, given, rtol=1e-6, atol=1e-9)


def test_rows_of_another_shape_are_refused(device):
    model = tf.FemModel([tf.Body(tf.box_mesh((1, 1, 1), 0.1))], device=device)
    rows = _rows(model)
    rows.bound = wp.zeros((model.node_count, 3), dtype=wp.float32, device=device)
    with pytest.raises(tf.ModelError, match=r"rows\.bound"):
        tf.FemSolver(model, rows=rows)
