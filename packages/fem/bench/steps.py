"""Tetrahedra × steps a second, to a stated residual.

    python packages/fem/bench/steps.py                      one body of 200k tetrahedra, 1024 bodies of 504
    python packages/fem/bench/steps.py --device cuda:0 --json results.json
    python packages/fem/bench/steps.py --scene small --youngs 1e7 --dt 0.016667

Blocks of 0.1 m cells hang from their left face (E = 2.5e5 Pa, ν = 0.25, 1000 kg/m³, h = 1/600 s by default). On the CPU
the time is that of the processor, on CUDA that of replays of one captured step.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time

import numpy as np
import warp as wp

import tensorphys_fem as tf

SCENES = {
    "large": (1, (33, 32, 32)),
    "small": (1024, (7, 4, 3)),
    "peer-20k": (1, (16, 15, 14)),
    "peer-320": (1024, (6, 3, 3)),
}


def build(
    name: str, options: argparse.Namespace
) -> tuple[tf.FemModel, tf.FemState, tf.FemControl, tf.FemSolver]:
    """Model, state, control and solver of a scene."""
    count, cells = SCENES[name]
    mesh = tf.box_mesh(cells, 0.1)
    material = tf.Material(options.youngs, options.poisson, elasticity=tf.Elasticity[options.law])
    scheme = tf.Scheme[options.scheme]
    bodies = [tf.Body(mesh, material, scheme=scheme, environment=i) for i in range(count)]
    model = tf.FemModel(bodies, device=options.device)
    state, control = tf.FemState(model), tf.FemControl(model)
    target = control.target.numpy()
    fixed = np.tile(mesh.points[:, 0] < 1e-9, count)
    target[fixed, :3] = np.tile(mesh.points, (count, 1))[fixed]
    target[fixed, 3] = 0.0
    control.target.assign(target)
    settings = tf.SolverSettings(tolerance=options.tolerance)
    return model, state, control, tf.FemSolver(model, settings, path=options.path)


def measure(name: str, options: argparse.Namespace) -> dict[str, object]:
    """Time a scene."""
    start = time.perf_counter()
    model, state, control, solver = build(name, options)
    cooked = time.perf_counter() - start
    dt = wp.full(1, options.dt, dtype=wp.float32, device=model.device)
    for _ in range(options.warm):
        solver.step(state, control, dt)
    times, newton, linear, unsolved = [], [], [], 0
    graph = None
    if model.device.is_cuda:
        with wp.ScopedCapture(model.device) as capture:
            solver.step(state, control, dt)
        graph = capture.graph
        wp.capture_launch(graph)
        wp.synchronize_device(model.device)
    for _ in range(options.steps):
        if graph is None:
            start = time.process_time()
            solver.step(state, control, dt)
            times.append(time.process_time() - start)
        else:
            start = time.perf_counter()
            wp.capture_launch(graph)
            wp.synchronize_device(model.device)
            times.append(time.perf_counter() - start)
        newton.append(solver.newton_count.numpy().mean())
        linear.append(solver.linear_count.numpy().mean())
        unsolved += int(np.count_nonzero(solver.status.numpy()))
    step = float(np.median(times))
    return {
        "scene": name,
        "device": str(model.device),
        "path": solver.path,
        "bodies": model.body_count,
        "tets": model.element_count,
        "nodes": model.node_count,
        "dt": options.dt,
        "youngs": options.youngs,
        "tolerance": options.tolerance,
        "step_ms": 1e3 * step,
        "tet_steps_per_second": model.element_count / step,
        "newton": float(np.mean(newton)),
        "linear": float(np.mean(linear)),
        "unsolved": unsolved,
        "build_s": cooked,
        "finite": bool(np.isfinite(state.positions.numpy()).all()),
    }


def main() -> None:
    """Measure the scenes and print a row for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scene", action="append", choices=sorted(SCENES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--path", default="auto", choices=("auto", "body", "parallel"))
    parser.add_argument("--scheme", default="DAMPED", choices=[s.name for s in tf.Scheme])
    parser.add_argument("--law", default="COROTATIONAL", choices=[e.name for e in tf.Elasticity])
    parser.add_argument("--youngs", type=float, default=2.5e5)
    parser.add_argument("--poisson", type=float, default=0.25)
    parser.add_argument("--dt", type=float, default=1 / 600)
    parser.add_argument("--tolerance", type=float, default=1e-4)
    parser.add_argument("--warm", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    wp.config.log_level = wp.LOG_WARNING
    rows = []
    for name in options.scene or ("large", "small"):
        rows.append(measure(name, options))
        print({key: round(v, 4) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
