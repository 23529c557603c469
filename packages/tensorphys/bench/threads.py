"""How many times as fast a step is on several threads of the CPU, beside what the machine gives to work that shares nothing.

python tools/bench threads [--robots cartpole,ant,humanoid] [--count 1024] [--threads 1,2] [--seconds 20] [--models FOLDER]

Simulations that differ in `threads` alone take turns in slices of a few milliseconds, in random order. On a machine that
others use, the shortest slice of each tells the time while its cores were free, the median the time as it was. `machine` is a
kernel of multiplications and additions in registers, cut into as many graphs on the same pool of threads: no scene can gain
more. `busy` is processor time over wall time in the shortest slice: the threads that worked at once.
"""

from __future__ import annotations

import argparse
import itertools
import pickle
import random
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import warp as wp

from tensorphys_engine import Simulation
from tensorphys_engine.threads import ThreadedStep
from tensorphys_scene import replicate

SLICE = 0.004


@wp.kernel(enable_backward=False)
def multiply_add(first: wp.int32, out: wp.array[wp.float32]) -> None:
    """512 multiplications and additions on a number."""
    i = first + wp.tid()
    x = wp.float32(i)
    for _ in range(512):
        x = x * 0.5 + 0.3
    out[i] = x


def machine(threads: int) -> Callable[[], None]:
    """Equal work on some threads."""
    size = 1 << 12
    out = wp.zeros(size, dtype=wp.float32, device="cpu")
    bounds = [size * k // threads for k in range(threads + 1)]

    def part(first: int, end: int) -> None:
        wp.launch(multiply_add, dim=end - first, inputs=[first], outputs=[out], device="cpu")

    ranges = [lambda a=a, b=b: part(a, b) for a, b in itertools.pairwise(bounds)]
    if threads > 1:
        return ThreadedStep(lambda: None, ranges, lambda: None, "cpu").run
    with wp.ScopedCapture(device="cpu") as capture:
        ranges[0]()
    return lambda: wp.capture_launch(capture.graph)


def stepping(path: Path, count: int, threads: int) -> Callable[[], None]:
    """Steps of a robot, some of them behind it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scene = replicate(pickle.loads(path.read_bytes()), count)
        simulation = Simulation(scene, device="cpu", threads=threads, ignore_unsupported=True)
    for _ in range(30):
        simulation.step(0.005)
    return simulation.step


def measure(calls: dict[int, Callable[[], None]], seconds: float) -> dict[int, dict[str, float]]:
    """Slices of all calls in random order; microseconds of a call."""
    repeats = {}
    for threads, call in calls.items():
        start = time.perf_counter()
        for _ in range(5):
            call()
        repeats[threads] = max(1, round(SLICE * 5 / (time.perf_counter() - start)))
    found: dict[int, list[tuple[float, float]]] = {threads: [] for threads in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for threads in random.sample(sorted(calls), len(calls)):
            wall, cpu = time.perf_counter(), time.process_time()
            for _ in range(repeats[threads]):
                calls[threads]()
            took = time.perf_counter() - wall, time.process_time() - cpu
            found[threads].append((took[0] / repeats[threads] * 1e6, took[1] / repeats[threads] * 1e6))
    result = {}
    for threads, times in found.items():
        least = min(times)
        result[threads] = {
            "least": least[0],
            "median": statistics.median(t[0] for t in times),
            "busy": least[1] / least[0],
            "slices": len(times),
        }
    return result


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--robots", default="cartpole,ant,humanoid")
    parser.add_argument("--count", type=int, default=1024)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--seconds", type=float, default=20.0, help="of a row of threads")
    parser.add_argument(
        "--models", type=Path, help="what the comparison with peers wrote; default: written now"
    )
    options = parser.parse_args()
    counts = [int(number) for number in options.threads.split(",")]
    folder: Any = options.models
    if folder is None:
        import tempfile

        import peer_mjcf

        folder = Path(tempfile.mkdtemp())
        for robot in options.robots.split(","):
            peer_mjcf.write(robot, folder)
    for name in ("machine", *options.robots.split(",")):
        calls = {
            t: machine(t) if name == "machine" else stepping(folder / f"{name}.pickle", options.count, t)
            for t in counts
        }
        found = measure(calls, options.seconds)
        one = found[counts[0]]
        for threads, row in found.items():
            sys.stdout.write(
                f"{name:10s} threads {threads:3d}  least {row['least']:9.1f} us  median {row['median']:9.1f} us  "
                f"times as fast {one['least'] / row['least']:5.2f} (median {one['median'] / row['median']:5.2f})  "
                f"busy {row['busy']:5.2f}  slices {row['slices']:.0f}\n"
            )
        sys.stdout.flush()


if __name__ == "__main__":
    main()
