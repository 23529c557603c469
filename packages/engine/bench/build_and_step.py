"""Time to build and to step many copies of a small robot; prints one row for each count.

python packages/engine/bench/build_and_step.py [--device cpu] [--counts 1,64,1024,4096] [--seconds 2]
"""

from __future__ import annotations

import argparse
import time

import warp as wp

from tensorphys_engine import Simulation
from tensorphys_engine.testing import walker_scene


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--counts", default="1,64,1024,4096")
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    Simulation(walker_scene(1), device=options.device).record()
    print("environments | build s | launches a step | step ms | environment-steps/s")
    for count in map(int, options.counts.split(",")):
        start = time.perf_counter()
        simulation = Simulation(walker_scene(count, spacing=2.0), device=options.device)
        wp.synchronize()
        build = time.perf_counter() - start
        simulation.record()
        for _ in range(3):
            simulation.step()
        wp.synchronize()
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < options.seconds:
            simulation.step()
            wp.synchronize()
            steps += 1
        step = (time.perf_counter() - start) / steps
        print(f"{count} | {build:.3f} | {simulation.launch_count} | {step * 1e3:.3f} | {count / step:.0f}")


if __name__ == "__main__":
    main()
