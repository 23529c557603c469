"""Time of kinematics, mass matrix, bias and forward dynamics of three robots, beside Pinocchio and MuJoCo.

    python tools/bench quantities [--device cuda:0] [--counts 1 256 8192] [--robots FOLDER] [--json quantities.json]

Robots are the Panda, ANYmal C (floating) and the humanoid of MuJoCo Warp, read from stages in FOLDER as
`tools/fetch_robots.py` leaves them (default: TENSORPHYS_ROBOTS), which takes the package `tensorphys`; without a folder
made-up ones of their sizes.

Reports microseconds an environment, median and quartiles of replays of a recorded launch: FK (link poses and velocities),
mass matrix (kinematics included), bias (gravity and velocity products by inverse dynamics), forward dynamics, Jacobians
of all links, and the first four together. With Pinocchio installed, its forwardKinematics, crba, rnea and aba of the same
tree on one core stand beside; they take one joint a degree of freedom. With MuJoCo, its mj_kinematics with mj_comPos,
mj_makeM, mj_rne and mj_forward without contacts. On the CPU all times are those of the calling thread.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from tensorphys_dynamics import Quantities, Solver
from tensorphys_dynamics._reference import Tree, rotation
from tensorphys_dynamics.testing import model_of, robots

# Where a robot's stage is in the folder of robots, and whether its base floats.
STAGES = {
    "Panda": ("erd_panda", False),
    "ANYmal C": ("erd_anymal_c", True),
    "humanoid": ("mjwarp_humanoid", True),
}


def from_stage(folder: pathlib.Path, free_base: bool) -> robots.Robot:
    """The largest articulation of the stage in a folder."""
    from pxr import Usd

    import tensorphys_usd
    from tensorphys_engine import Simulation

    stage = Usd.Stage.Open(str(next(folder.glob("*.usd*"))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene = tensorphys_usd.parse_stage(stage, free_base=("*",) if free_base else ())
        model = Simulation(scene, ignore_unsupported=True).model
    start, first = model.articulation_link_start.numpy(), model.articulation_dof_start.numpy()
    a = int(np.argmax(np.diff(start)))
    kind = model.types[int(model.articulation_type.numpy()[a])]
    link, dof = slice(*start[a : a + 2]), slice(*first[a : a + 2])
    columns = {n: getattr(model, f"link_{n}").numpy()[link] for n in ("rest_pose", "mass", "com", "inertia")}
    columns |= {f"dof_{n}": getattr(model, f"dof_{n}").numpy()[dof] for n in ("axis", "anchor")}
    tree = Tree(
        fixed_base=kind.fixed_base,
        parent=kind.parent,
        dof_link=kind.dof_link,
        dof_rotational=kind.dof_rotational,
        armature=model.dof_armature.numpy()[dof].astype(float),
        **{name: values.astype(float) for name, values in columns.items()},
    )
    return robots.Robot(tree, {}, 0.0, [], np.zeros((0, 3)), np.zeros(0))


def chosen(folder: pathlib.Path | None) -> dict[str, robots.Robot]:
    """Robots by name."""
    if folder is None:
        return {name: getattr(robots, name)() for name in ("arm", "quadruped", "humanoid")}
    return {name: from_stage(folder / place, free) for name, (place, free) in STAGES.items()}


def prepare(robot: robots.Robot, device: str, copies: int) -> dict[str, Callable[[], Any]]:
    """Calls that evaluate the quantities of copies in random states."""
    model, state, control = model_of(robot.tree, device, copies=copies)
    rng = np.random.default_rng(0)
    q = rng.uniform(-0.5, 0.5, model.dof_count)
    state.set_initial(dof_position=q, velocity=rng.normal(size=model.velocity_count))
    solver = Solver(model, state, control)
    solver.update_kinematics()
    quantities = Quantities(model, state)
    zero = wp.zeros(model.velocity_count, dtype=wp.float32, device=device)

    def kinematics() -> None:
        solver.update_kinematics(every=True)

    def together() -> None:
        kinematics()
        quantities.mass_matrix()
        quantities.inverse_dynamics(zero)
        quantities.forward_dynamics(zero)

    return {
        "FK": kinematics,
        "together": together,
        "mass matrix": quantities.mass_matrix,
        "bias": lambda: quantities.inverse_dynamics(zero),
        "forward": lambda: quantities.forward_dynamics(zero),
        "jacobians": quantities.jacobian,
    }


def measure(call: Callable[[], Any], device: str, copies: int, replays: int) -> list[float]:
    """Microseconds of a call an environment: median, lower and upper quartile."""
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
    return [float(x) / copies / repeat * 1e6 for x in np.percentile(times[1:], (50, 25, 75))]


def called(calls: dict[str, Callable[[], Any]]) -> dict[str, list[float]]:
    """Microseconds of each call: median, lower and upper quartile of ten groups."""
    result = {}
    for name, call in calls.items():
        call()
        times = []
        for _ in range(10):
            before = time.thread_time()
            for _ in range(300):
                call()
            times.append((time.thread_time() - before) / 300 * 1e6)
        result[name] = [float(x) for x in np.percentile(times, (50, 25, 75))]
    return result


def pinocchio(robot: robots.Robot) -> dict[str, list[float]]:
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
    return called(
        {
            "FK": lambda: pin.forwardKinematics(model, data, q, v),
            "mass matrix": lambda: pin.crba(model, data, q),
            "bias": lambda: pin.rnea(model, data, q, v, 0 * v),
            "forward": lambda: pin.aba(model, data, q, v, v),
            "jacobians": lambda: pin.computeJointJacobians(model, data, q),
        }
    )


def mujoco(robot: robots.Robot) -> dict[str, list[float]]:
    """Microseconds of MuJoCo's functions on the same tree."""
    import mujoco as mj

    tree, spec = robot.tree, mj.MjSpec()
    spec.compiler.autolimits = False
    # single precision may break the triangle inequality of thin links
    spec.compiler.balanceinertia = True
    bodies: list[Any] = []
    for link in range(len(tree.parent)):
        parent = spec.worldbody if tree.parent[link] < 0 else bodies[tree.parent[link]]
        rest = tree.rest_pose[link]
        body = parent.add_body(pos=rest[:3], quat=[rest[6], *rest[3:6]])
        body.explicitinertial = True
        body.mass, body.ipos = tree.mass[link], tree.com[link]
        i = tree.inertia[link]
        body.fullinertia = [i[0, 0], i[1, 1], i[2, 2], i[0, 1], i[0, 2], i[1, 2]]
        if link == 0 and not tree.fixed_base:
            body.add_freejoint()
        for dof in np.flatnonzero(tree.dof_link == link):
            kind = mj.mjtJoint.mjJNT_HINGE if tree.dof_rotational[dof] else mj.mjtJoint.mjJNT_SLIDE
            body.add_joint(type=kind, axis=tree.dof_axis[dof], pos=tree.dof_anchor[dof])
        bodies.append(body)
    model = spec.compile()
    data = mj.MjData(model)
    data.qvel[:] = 1.0
    mj.mj_forward(model, data)
    force = np.zeros(model.nv)

    def kinematics() -> None:
        mj.mj_kinematics(model, data)
        mj.mj_comPos(model, data)

    return called(
        {
            "FK": kinematics,
            "mass matrix": lambda: mj.mj_makeM(model, data),
            "bias": lambda: mj.mj_rne(model, data, 0, force),
            "forward": lambda: mj.mj_forward(model, data),
        }
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--counts", type=int, nargs="+", default=[1, 256])
    parser.add_argument("--replays", type=int, default=20)
    parser.add_argument("--robots", help="folder of fetched robots")
    options = parser.parse_args()
    given = options.robots or os.environ.get("TENSORPHYS_ROBOTS")
    wp.config.quiet = True
    kept: list[dict[str, Any]] = []

    def report(robot: str, by: str, count: int, times: dict[str, list[float]]) -> None:
        kept.append({"robot": robot, "by": by, "environments": count, "microseconds": times})
        text = "  ".join(f"{key} {a:.3f} ({b:.3f}-{c:.3f})" for key, (a, b, c) in times.items())
        print(robot, by, count, text, flush=True)

    for name, robot in chosen(pathlib.Path(given) if given else None).items():
        kind = "floating" if not robot.tree.fixed_base else "fixed"
        print(
            f"{name}: {kind} base, {len(robot.tree.parent)} links, {len(robot.tree.dof_link)} joints",
            flush=True,
        )
        for count in options.counts:
            calls = prepare(robot, options.device, count)
            times = {key: measure(c, options.device, count, options.replays) for key, c in calls.items()}
            report(name, options.device, count, times)
        for package, peer in (("pinocchio", pinocchio), ("mujoco", mujoco)):
            if importlib.util.find_spec(package) is not None:
                report(name, package, 1, peer(robot))
    if "TENSORPHYS_BENCH_JSON" in os.environ:
        pathlib.Path(os.environ["TENSORPHYS_BENCH_JSON"]).write_text(json.dumps(kept), "utf-8")


if __name__ == "__main__":
    main()
