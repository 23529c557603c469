"""Time to step one world of many boxes that fall into a pile, and how well the pile rests; prints JSON.

python packages/engine/bench/pile.py [--device cpu] [--grid 13,13,12] [--seconds 6] [--form flow] [--kernels 20,84]
    [--json FILE]

Steps are timed without a look at the device in between, in blocks of a third of a simulated second; the forces and depths
of the last second are read afterwards, step by step. After the steps named by --kernels one more is run kernel by
kernel on CUDA, and undone.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from typing import Any

import numpy as np
import warp as wp

from tensorphys_dynamics.parallel import ParallelSweep
from tensorphys_engine import Simulation
from tensorphys_engine.testing import pile_scene

RATE = 60  # steps a second
GRAVITY = 9.81
EDGE = 0.2
MASS = 125.0 * EDGE**3


def ground_force(simulation: Simulation) -> float:
    """Upward force of the ground in the last step [N]."""
    count = int(simulation.contacts.count.numpy()[0])
    impulse = simulation.solver.contact_impulse.numpy()[:count, 2].astype(np.float64)
    body0 = simulation.contacts.body0.numpy()[:count]
    body1 = simulation.contacts.body1.numpy()[:count]
    return float(impulse[body1 < 0].sum() - impulse[body0 < 0].sum()) * RATE


def depths(simulation: Simulation) -> np.ndarray:
    """How deep contacts that touch are [m]."""
    count = int(simulation.contacts.count.numpy()[0])
    separation = simulation.contacts.separation.numpy()[:count]
    return np.append(-separation[separation < 0.0], [] if (separation < 0.0).any() else [0.0])


def use_form(simulation: Simulation, form: str) -> None:
    """Solve the contacts in another form."""
    solver = simulation.solver
    large = np.ones(simulation.environment_count, np.int32)
    solver.parallel = ParallelSweep(
        simulation.model, simulation.state, solver._contact, solver.joints, large, form=form
    )
    simulation._graph = None


def kernel_times(simulation: Simulation) -> dict[str, list[float]]:
    """Milliseconds and launches of each kernel in one step, the longest first; the step is undone."""
    before = simulation.save_state(parameters=False)
    wp.synchronize()
    wp.timing_begin(cuda_filter=wp.TIMING_KERNEL | wp.TIMING_KERNEL_BUILTIN)
    simulation._launch_step()
    spent: dict[str, list[float]] = {}
    for result in wp.timing_end():
        name = result.name.removeprefix("forward kernel ")
        entry = spent.setdefault(name, [0.0, 0])
        entry[0] += result.elapsed
        entry[1] += 1
    simulation.load_state(before)
    spent["all"] = [sum(ms for ms, _ in spent.values()), sum(n for _, n in spent.values())]
    return {
        name: [round(spent[name][0], 3), spent[name][1]] for name in sorted(spent, key=lambda n: -spent[n][0])
    }


def run(simulation: Simulation, seconds: int, looked: list[int]) -> dict[str, Any]:
    """Step, and measure the last second step by step."""
    simulation.record()
    blocks, kernels = [], {}
    block = RATE // 3
    for turn in range(3 * seconds):
        wp.synchronize()
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(block):
            simulation.step()
        wp.synchronize()
        blocks.append(
            {
                "steps_per_second": block / (time.perf_counter() - wall),
                "cpu_seconds_a_step": (time.process_time() - cpu) / block,
                "contacts": int(simulation.contacts.count.numpy()[0]),
                "manifolds, colors, without color, in the last substep": simulation.solver.parallel.manifolds.totals.numpy().tolist()
                if simulation.solver.parallel is not None
                else None,
            }
        )
        print((turn + 1) * block, blocks[-1], file=sys.stderr, flush=True)
        simulation.check_contacts()
        if (turn + 1) * block in looked and simulation.device.is_cuda:
            kernels[(turn + 1) * block] = kernel_times(simulation)
            print(kernels[(turn + 1) * block], file=sys.stderr, flush=True)
    forces, deep = [], []
    for _ in range(RATE):
        simulation.step()
        forces.append(ground_force(simulation))
        deep.append(depths(simulation).mean())
    speed = np.linalg.norm(simulation.state.link_velocity.numpy()[:, :3], axis=1)
    weight = MASS * GRAVITY * len(speed)
    return {
        "blocks": blocks,
        "kernels": kernels,
        "weight_in_ground_forces": float(np.mean(forces)) / weight,
        "mean_depth_of_edge": float(np.mean(deep)) / EDGE,
        "mean_speed": float(speed.mean()),
        "fastest": float(speed.max()),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--grid", default="13,13,12")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--form", choices=("serial", "colors", "grid", "flow"))
    parser.add_argument(
        "--kernels", default="", help="steps after which one is run kernel by kernel, multiples of 20"
    )
    parser.add_argument("--json")
    options = parser.parse_args()
    x, y, z = map(int, options.grid.split(","))
    start = time.perf_counter()
    simulation = Simulation(pile_scene((x, y, z)), device=options.device)
    if options.form:
        use_form(simulation, options.form)
    build = time.perf_counter() - start
    device = wp.get_device(options.device)
    result = {
        "boxes": x * y * z,
        "device": device.name if device.is_cuda else platform.processor(),
        "substeps": simulation.substeps,
        "build_seconds": build,
        **run(simulation, options.seconds, [int(step) for step in options.kernels.split(",") if step]),
        "launches_a_step": simulation.launch_count,
    }
    text = json.dumps(result, indent=1)
    print(text)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
