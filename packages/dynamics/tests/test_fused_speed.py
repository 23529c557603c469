"""Speed of the fused step on the card that the goals were set for."""

import time

import numpy as np
import pytest
import warp as wp

from tensorphys_dynamics import Solver
from tensorphys_dynamics.testing import SpheresOnPlane, model_of, robots

ENVIRONMENTS, STEPS = 16384, 10


def steps_per_second(robot, device, copies):
    """Environment-steps a second of a graph of ten steps, contacts found once before them; median of five replays."""
    model, state, control = model_of(robot.tree, device, copies=copies, **robot.dof)
    rng = np.random.default_rng(0)
    q = rng.uniform(-0.3, 0.3, (copies, len(robot.tree.dof_link)))
    root = np.tile([0.0, 0.0, robot.height, 0.0, 0.0, 0.0, 1.0], (copies, 1))
    state.set_initial(root_pose=root, dof_position=q.ravel())
    shapes = {"link": robot.sphere_link, "center": robot.sphere_center, "radius": robot.sphere_radius}
    contacts = SpheresOnPlane(model, **shapes)
    solver = Solver(model, state, control, contacts, path="fused", time_step=1 / 60)
    solver.update_kinematics()
    for _ in range(45):
        contacts.collide(state.link_pose)
        solver.step()
    start = state.copy()
    with wp.ScopedCapture(device=device) as capture:
        state.assign(start)
        for _ in range(STEPS):
            solver.step()
    times = []
    for _ in range(7):
        wp.synchronize_device(device)
        before = time.perf_counter()
        wp.capture_launch(capture.graph)
        wp.synchronize_device(device)
        times.append(time.perf_counter() - before)
    if not np.isfinite(state.velocity.numpy()).all():
        raise FloatingPointError("the state is no number any more")
    return copies * STEPS / float(np.median(times[2:]))


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="on an H200 the ant makes 21.4 million environment-steps a second of 110, the humanoid 5.4 of 40",
)
@pytest.mark.parametrize(("name", "goal"), [("ant", 110e6), ("humanoid", 40e6)])
def test_the_goals_of_the_fused_step(device, name, goal):
    if device == "cpu" or "H200" not in wp.get_device(device).name:
        pytest.skip("the goals are those of an H200")
    assert steps_per_second(getattr(robots, name)(), device, ENVIRONMENTS) > goal


def test_the_measurement_runs(device):
    assert steps_per_second(robots.ant(), device, 2) > 0.0
