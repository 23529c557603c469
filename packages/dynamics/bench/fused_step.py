"""Time of a step of four robots on the generic and the fused path: python bench/fused_step.py [--device cuda:0]

Reports microseconds an environment, as the median of replays of a graph of ten steps from a state in motion.
Collision is not in it: contacts are found once before the ten steps.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
import warp as wp

from tensorphys_dynamics import Solver, State
from tensorphys_dynamics.testing import SpheresOnPlane, model_of, robots

STEPS = 10


def prepare(robot: robots.Robot, device: str, copies: int, path: Any, settle: int) -> tuple[Solver, object]:
    """Robots that have fallen to the ground or moved for a while."""
    model, state, control = model_of(robot.tree, device, copies=copies, **robot.dof)
    rng = np.random.default_rng(0)
    root = np.tile([0.0, 0.0, robot.height, 0.0, 0.0, 0.0, 1.0], (copies, 1))
    q = rng.uniform(-0.3, 0.3, (copies, len(robot.tree.dof_link)))
    v = rng.normal(size=(copies, robot.tree.velocity_count)) * 0.1
    state.set_initial(root_pose=root, dof_position=q.ravel(), velocity=v.ravel())
    contacts = None
    if robot.sphere_link:
        contacts = SpheresOnPlane(
            model, link=robot.sphere_link, center=robot.sphere_center, radius=robot.sphere_radius
        )
    solver = Solver(model, state, control, contacts, path=path, time_step=1.0 / 60.0)
    solver.update_kinematics()
    for _ in range(settle):
        if contacts is not None:
            contacts.collide(state.link_pose)
        solver.step()
    return solver, contacts


def measure(solver: Solver, copies: int, replays: int) -> float:
    """Microseconds of a step an environment."""
    device, state = solver.model.device, solver.state
    start: State = state.copy()
    with wp.ScopedCapture(device=device) as capture:
        state.assign(start)
        for _ in range(STEPS):
            solver.step()
    # on the CPU the time of this thread alone, since others may share the cores
    clock = time.thread_time if device.is_cpu else time.perf_counter
    times = []
    for _ in range(replays + 2):
        wp.synchronize_device(device)
        before = clock()
        wp.capture_launch(capture.graph)
        wp.synchronize_device(device)
        times.append(clock() - before)
    return float(np.median(times[2:])) * 1e6 / STEPS / copies


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 16, 256])
    parser.add_argument("--paths", nargs="+", default=["generic", "fused"])
    parser.add_argument("--robots", nargs="+", default=["humanoid", "ant", "arm", "cartpole"])
    parser.add_argument("--settle", type=int, default=45)
    parser.add_argument("--replays", type=int, default=15)
    options = parser.parse_args()
    for name in options.robots:
        for path in options.paths:
            cells = []
            touching = 0.0
            for copies in options.copies:
                solver, contacts = prepare(
                    getattr(robots, name)(), options.device, copies, path, options.settle
                )
                cells.append(f"{measure(solver, copies, options.replays):9.3f}")
                if contacts is not None:
                    touching = float((solver.contact_normal_impulse.numpy() > 0).sum()) / copies
            print(
                f"{name:9s} {path:8s} µs/env at {options.copies}: {' '.join(cells)}   loaded contacts {touching:.1f}"
            )


if __name__ == "__main__":
    main()
