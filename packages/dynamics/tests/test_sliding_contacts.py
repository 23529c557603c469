"""Boxes that slide while some of their corners leave the ground: what carries does not rise."""

from __future__ import annotations

import numpy as np
import pytest

from tensorphys_dynamics import Solver
from tensorphys_dynamics.testing import SpheresOnPlane, bodies_model

COUNT = 300
HALF = np.array((0.03, 0.03, 0.02))
MASS = 0.1
DT = 1.0 / 960.0


@pytest.mark.parametrize("friction", [0.3, 0.7])
def test_a_corner_that_carries_does_not_rise(device: str, friction: float) -> None:
    """Boxes that slide under a load on one of their edges, from 300 random speeds; contacts are solved at once.

    A corner that bears a load has a normal speed of zero at the end [De Saxcé & Feng 1998]; the convex law of friction by
    itself would lift it by μ |v_t|, which is up to 0.2 m/s here.
    """
    squares = HALF**2
    inertia = np.diag(squares.sum() - squares) * MASS / 3.0
    model, state, control = bodies_model([MASS], inertia[None], device, copies=COUNT)
    corners = HALF * np.array([(x, y, -1.0) for x in (-1, 1) for y in (-1, 1)])
    contacts = SpheresOnPlane(
        model, link=[0] * 4, center=corners + (0, 0, 0.005), radius=np.full(4, 0.005), friction=friction
    )
    solver = Solver(model, state, control, contacts, substeps=1, time_step=DT, path="generic", direct_from=1)
    random = np.random.default_rng(0)
    pose = np.tile((0.0, 0.0, HALF[2], 0.0, 0.0, 0.0, 1.0), (COUNT, 1))
    velocity = random.normal(0.0, 0.2, (COUNT, 6)) * (1, 1, 0, 0, 0, 1)
    velocity[:, 3:5] = random.normal(0.0, 0.5, (COUNT, 2))
    state.set_initial(root_pose=pose, velocity=velocity.ravel())
    solver.update_kinematics()
    force = np.zeros((COUNT, 3), np.float32)
    force[:, 2] = -random.uniform(0.0, 2.0, COUNT)
    arm = random.uniform(-1.0, 1.0, (COUNT, 3)) * HALF
    control.link_force.assign(force)
    control.link_torque.assign(np.cross(arm, force).astype(np.float32))
    contacts.collide(state.link_pose)
    solver.step()
    after = state.link_velocity.numpy().astype(float)
    rising = after[:, None, 2] + np.cross(after[:, None, 3:], corners)[..., 2]
    carried = solver.contact_normal_impulse.numpy().reshape(COUNT, 4)
    assert (carried > 0.0).any(axis=1).mean() > 0.9
    assert ((carried > 0.0).sum(axis=1) < 4).mean() > 0.3
    # Speeds below g h are no slip, which leaves a rise of μ g h; and the corner turns by its spin over the substep.
    bound = (friction + 0.1) * 9.81 * DT
    turned = DT * (np.linalg.norm(velocity[:, 3:], axis=1) ** 2 * np.linalg.norm(HALF))[:, None]
    assert np.where(carried > 0.05 * MASS * 9.81 * DT, rising - turned, 0.0).max() < bound
    assert (rising + turned).min() > -bound
