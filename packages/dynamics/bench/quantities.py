"""Time of the quantities of three robots: python bench/quantities.py [--device cuda:0] [--counts 1 256 8192]

Reports microseconds an environment, as the median of replays of a recorded launch: mass matrix (kinematics included),
bias (gravity and velocity products by inverse dynamics), forward dynamics, Jacobians of all links. With Pinocchio
installed, its crba, rnea and aba of the same tree on one core stand beside; they take one joint a degree of freedom.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from tensorphys_dynamics import Quantities, Solver
from tensorphys_dynamics._reference import rotation
from tensorphys_dynamics.testing import model_of, robots


def prepare(robot: robots.Robot, device: str, copies: int) -> dict[str, Callable[[], Any]]:
    """Calls that evaluate the quantities of copies in random states."""
    model, state, control = model_of(robot.tree, device, copies=copies)
    rng = np.random.default_rng(0)
    q = rng.uniform(-0.5, 0.5, model.dof_count)
    state.set_initial(dof_position=q, velocity=rng.normal(size=model.velocity_count))
    Solver(model, state, control).update_kinematics()
    quantities = Quantities(model, state)
    zero = wp.zeros(model.velocity_count, dtype=wp.float32, device=device)
    return {
        "mass matrix": quantities.mass_matrix,
        "bias": lambda: quantities.inverse_dynamics(zero),
        "forward": lambda: quantities.forward_dynamics(zero),
        "jacobians": quantities.jacobian,
    }


def measure(call: Callable[[], Any], device: str, copies: int, replays: int) -> float:
    """Microseconds of a call an environment."""
    call()
    repeat = max(1, 64 // copies)
    with wp.ScopedCapture(device=device) as capture:
        for _ in range(repeat):
            call()
    # on the CPU the time of this thread alone, since others may share the cores
    clock = time.thread_time if wp.get_device(device).is_cpu else time.perf_counter
    times = []
    for _ in range(replays + 1):
        wp.synchronize_device(device)
        before = clock()
        wp.capture_launch(capture.graph)
        wp.synchronize_device(device)
        times.append(clock() - before)
    return float(np.median(times[1:])) / copies / repeat * 1e6


def pinocchio(robot: robots.Robot) -> dict[str, float]:
    """Microseconds of Pinocchio's algorithms on the same tree."""
    import pinocchio as pin

    tree, model = robot.tree, pin.Model()

    def visit(link: int, joint: int, placement: Any) -> None:
        if tree.parent[link] < 0:
            if not tree.fixed_base:
                joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "root")
        else:
            rest = tree.rest_pose[link]
            placement = placement * pin.SE3(rotation(rest[3:]), rest[:3])
            for dof in np.flatnonzero(tree.dof_link == link):
                kind = pin.JointModelPrismaticUnaligned
                if tree.dof_rotational[dof]:
                    kind = pin.JointModelRevoluteUnaligned
                joint = model.addJoint(joint, kind(tree.dof_axis[dof]), placement, f"dof{dof}")
                placement = pin.SE3.Identity()
        inertia = pin.Inertia(tree.mass[link], tree.com[link], tree.inertia[link])
        model.appendBodyToJoint(joint, inertia, placement)
        for child in np.flatnonzero(tree.parent == link):
            visit(int(child), joint, placement)

    visit(0, 0, pin.SE3.Identity())
    data = model.createData()
    q, v = pin.randomConfiguration(model, -np.ones(model.nq), np.ones(model.nq)), np.ones(model.nv)
    calls = {
        "mass matrix": lambda: pin.crba(model, data, q),
        "bias": lambda: pin.rnea(model, data, q, v, 0 * v),
        "forward": lambda: pin.aba(model, data, q, v, v),
        "jacobians": lambda: pin.computeJointJacobians(model, data, q),
    }
    result = {}
    for name, call in calls.items():
        call()
        before = time.thread_time()
        for _ in range(3000):
            call()
        result[name] = (time.thread_time() - before) / 3000 * 1e6
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 256])
    parser.add_argument("--replays", type=int, default=20)
    options = parser.parse_args()
    wp.config.quiet = True
    for name in ("arm", "ant", "humanoid"):
        robot = getattr(robots, name)()
        for count in options.counts:
            calls = prepare(robot, options.device, count)
            times = {key: measure(c, options.device, count, options.replays) for key, c in calls.items()}
            print(name, count, "  ".join(f"{key} {value:.3f}" for key, value in times.items()), flush=True)
        if importlib.util.find_spec("pinocchio") is not None:
            times = pinocchio(robot)
            print(name, "pinocchio", "  ".join(f"{key} {value:.3f}" for key, value in times.items()))


if __name__ == "__main__":
    main()
