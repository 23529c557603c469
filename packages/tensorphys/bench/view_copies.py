"""Getters and setters of DOF state of many environments beside a copy of as many bytes, in graphs and from Python.

python packages/tensorphys/bench/view_copies.py [--device cuda:0] [--environments 16384]

Each is recorded 20 times in one graph, the median of 30 replays is told; on the CPU processor time is taken. `floor` is a copy
of the same bytes in a graph, which holds one launch. The goal is twice the copy and one launch.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import warp as wp
from robot_steps import load

import tensorphys
from tensorphys_scene import replicate

CALLS, REPLAYS = 20, 30


def timed(call: Callable[[], object], device: str) -> tuple[float, float]:
    """Microseconds of a call in a graph, and from Python."""
    call()
    with wp.ScopedCapture(device=device) as capture:
        for _ in range(CALLS):
            call()
    on_cpu = wp.get_device(device).is_cpu
    clock = time.thread_time if on_cpu else time.perf_counter
    found: list[list[float]] = [[], []]
    for _ in range(REPLAYS):
        for kind, run in enumerate(
            (lambda: wp.capture_launch(capture.graph), lambda: [call() for _ in range(CALLS)])
        ):
            wp.synchronize_device(device)
            start = clock()
            run()
            wp.synchronize_device(device)
            found[kind].append((clock() - start) / CALLS * 1e6)
    return statistics.median(found[0]), statistics.median(found[1])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--environments", type=int, default=16384)
    parser.add_argument("--robot", default="ant")
    options = parser.parse_args()
    device = options.device
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene = replicate(load(options.robot), options.environments)
        sim = tensorphys.create_simulation_view("warp", scene=scene, device=device)
    view = sim.create_articulation_view(f"/World/envs/*/{options.robot}/Geometry/torso")
    values = view.get_dof_positions()
    other = wp.empty_like(values)
    rows: dict[str, Callable[[], object]] = {"floor": lambda: wp.copy(other, values)}
    for field in ("dof_positions", "dof_velocities", "dof_actuation_forces", "dof_position_targets"):
        getter, setter = getattr(view, f"get_{field}"), getattr(view, f"set_{field}")
        given = wp.clone(getter())
        rows[f"get_{field}"] = getter
        rows[f"set_{field}"] = lambda setter=setter, given=given: setter(given, None)  # type: ignore[misc]
    size = int(np.prod(values.shape)) * 4
    sys.stdout.write(
        f"{options.environments} environments, {values.shape[1]} DOFs, {size / 1024:.0f} KiB an array\n"
    )
    for name, call in rows.items():
        graph, python = timed(call, device)
        sys.stdout.write(f"{name:28s} {graph:9.2f} us in a graph {python:9.2f} us from Python\n")


if __name__ == "__main__":
    main()
