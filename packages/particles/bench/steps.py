"""Steps a second of fluids, grains and cloths.

    python bench/steps.py --device cuda:0 --scene fluid-1m --scene cloths --json steps.json
    python bench/steps.py --scene fluid-20k --scene grains-20k --scene cloth-20k

A step is 1/60 s of 16 substeps of one pass (`--substeps`). On the CPU the time is that of the processor, on CUDA that
of replays of one captured step. Launches a step are counted.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time

import numpy as np
import warp as wp

import tensorphys_particles as tp
from tensorphys_particles.testing import Plane, SolidObstacles

SPACING = 0.02


def fluid(cells: tuple[int, int, int]) -> tuple[list[tp.ParticleSystem], list[Plane]]:
    """Dam break: a block in the left third of its tank."""
    size = SPACING * np.asarray(cells)
    points = tp.sample_box((0, 0, 0), size, SPACING)
    member = tp.ParticleSet(points, material=tp.ParticleMaterial(friction=0.0))
    system = tp.ParticleSystem(
        sets=[member], particle_contact_offset=SPACING / 1.188, rest_offset=SPACING / 2, max_neighborhood=64
    )
    return [system], tank(3.0 * size[0], size[1])


def grains(cells: tuple[int, int, int]) -> tuple[list[tp.ParticleSystem], list[Plane]]:
    """Column of sand that falls apart."""
    size = SPACING * np.asarray(cells)
    member = tp.ParticleSet(tp.sample_box((0, 0, 0), size, SPACING), fluid=False)
    system = tp.ParticleSystem(
        sets=[member],
        particle_contact_offset=SPACING / 1.98,
        rest_offset=SPACING / 2,
        solid_rest_offset=SPACING / 2,
        max_neighborhood=32,
    )
    return [system], tank(3.0 * size[0], size[1])


def tank(length: float, width: float) -> list[Plane]:
    """Five planes around a tank without a lid."""
    return [
        Plane(),
        Plane((1.0, 0.0, 0.0)),
        Plane((-1.0, 0.0, 0.0), (length, 0.0, 0.0)),
        Plane((0.0, 1.0, 0.0)),
        Plane((0.0, -1.0, 0.0), (0.0, width, 0.0)),
    ]


def cloths(count: int, side: int, collide: bool) -> tuple[list[tp.ParticleSystem], list[Plane]]:
    """Cloths that swing from one edge, each in its own environment."""
    mesh = tp.ClothMesh.grid(
        (side, side), (1.0, 1.0), stretch_stiffness=1e4, shear_stiffness=1e3, bend_stiffness=1e2, damping=0.1
    )
    masses = np.full(side * side, 0.2 / side**2)
    masses[:side] = 0.0
    return [
        tp.ParticleSystem(
            cloths=[tp.ParticleCloth(mesh, masses=masses)],
            environment=k,
            particle_contact_offset=0.49 / (side - 1),
            global_self_collision=collide,
            max_neighborhood=32,
        )
        for k in range(count)
    ], []


SCENES = {
    "fluid-1m": lambda: fluid((128, 64, 128)),
    "fluid-20k": lambda: fluid((32, 20, 32)),
    "grains-20k": lambda: grains((32, 20, 32)),
    "cloths": lambda: cloths(1024, 32, False),
    "cloths-colliding": lambda: cloths(1024, 32, True),
    "cloth-20k": lambda: cloths(1, 142, False),
    "cloth-20k-colliding": lambda: cloths(1, 142, True),
}


def count_launches(solver: tp.ParticleSolver, state: tp.ParticleState, dt: wp.array) -> int:
    """Launches of a step, sorts and fills not counted."""
    launches = 0
    launch = wp.launch

    def counted(*args: object, **options: object) -> object:
        nonlocal launches
        launches += 1
        return launch(*args, **options)

    wp.launch = counted
    try:
        solver.step(state, dt)
    finally:
        wp.launch = launch
    return launches


def measure(name: str, options: argparse.Namespace) -> dict[str, object]:
    """Time a scene."""
    start = time.perf_counter()
    systems, planes = SCENES[name]()
    model = tp.ParticleModel(systems, device=options.device)
    obstacles = SolidObstacles(model, planes) if planes else None
    solver = tp.ParticleSolver(model, tp.SolverSettings(substeps=options.substeps), obstacles=obstacles)
    state = tp.ParticleState(model)
    built = time.perf_counter() - start
    dt = wp.full(1, 1 / 60, dtype=wp.float32, device=model.device)
    for _ in range(options.warm):
        solver.step(state, dt)
    launches = count_launches(solver, state, dt)
    graph = None
    if model.device.is_cuda:
        with wp.ScopedCapture(model.device) as capture:
            solver.step(state, dt)
        graph = capture.graph
        wp.capture_launch(graph)
        wp.synchronize_device(model.device)
    times = []
    for _ in range(options.steps):
        clock = time.process_time if graph is None else time.perf_counter
        start = clock()
        if graph is None:
            solver.step(state, dt)
        else:
            wp.capture_launch(graph)
            wp.synchronize_device(model.device)
        times.append(clock() - start)
    step = float(np.median(times))
    return {
        "scene": name,
        "device": str(model.device),
        "particles": model.particle_count,
        "springs": model.cloths.spring_count,
        "environments": model.system_count,
        "substeps": options.substeps,
        "launches": launches,
        "step_ms": 1e3 * step,
        "steps_per_second": 1.0 / step,
        "ns_per_particle_substep": 1e9 * step / (options.substeps * model.particle_count),
        "neighbors_needed": int(solver.neighbors_needed.numpy().max()),
        "build_s": built,
        "finite": bool(np.isfinite(state.positions.numpy()).all()),
    }


def main() -> None:
    """Measure the scenes and print a row for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scene", action="append", choices=sorted(SCENES))
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--substeps", type=int, default=16)
    parser.add_argument("--warm", type=int, default=10)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    wp.config.log_level = wp.LOG_WARNING
    rows = []
    for name in options.scene or ("fluid-20k", "grains-20k", "cloth-20k"):
        rows.append(measure(name, options))
        print({key: round(v, 4) if isinstance(v, float) else v for key, v in rows[-1].items()}, flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
