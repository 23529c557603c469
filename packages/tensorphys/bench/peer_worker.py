"""One process of the comparison: one engine, one robot, all counts of environments; prints a line of JSON for each.

python peer_worker.py ENGINE ROBOT COUNTS FOLDER [--device cpu] [--repeats 5] [--budget 2] [--threads 1] [--lock FILE] [--start]

On CUDA a graph of ten steps is replayed and timed by events, on the CPU steps are called and processor time is taken, too.
Targets of the drives change every ten steps. 25 such frames pass before anything is timed. While a file lock is held, no
other process of the comparison uses the device.
"""

from __future__ import annotations

import time

_BEGIN = time.perf_counter(), time.process_time()

import argparse  # noqa: E402 -- the time of imports is measured
import contextlib  # noqa: E402
import fcntl  # noqa: E402
import json  # noqa: E402
import resource  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

SETTLE_FRAMES = 25


@contextlib.contextmanager
def alone(lock: Path | None) -> Iterator[None]:
    """Hold the lock."""
    if lock is None:
        yield
        return
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def since(start: tuple[float, float]) -> dict[str, float]:
    """Wall and processor seconds since a moment."""
    return {"wall_s": time.perf_counter() - start[0], "cpu_s": time.process_time() - start[1]}


def moment() -> tuple[float, float]:
    """Wall and processor time now."""
    return time.perf_counter(), time.process_time()


class Runner:
    """Runs frames of an engine."""

    def __init__(self, engine: Any, device: str) -> None:
        from peer_engines import STEPS, WAYPOINTS

        self.engine, self.device, self._frame, self._waypoints = engine, device, 0, WAYPOINTS
        self._steps, self._graph = STEPS, None

    def wait(self) -> None:
        """Wait for the device."""
        if self.engine.is_cuda:
            import warp as wp

            wp.synchronize_device(self.device)

    def record(self) -> None:
        """Record ten steps."""
        if self.engine.is_cuda:
            import warp as wp

            with wp.ScopedCapture(device=self.device) as capture:
                for _ in range(self._steps):
                    self.engine.step()
            self._graph = capture.graph

    def frame(self) -> None:
        """New targets, then ten steps."""
        self.engine.aim(self._frame % self._waypoints)
        self._frame += 1
        if self._graph is None:
            for _ in range(self._steps):
                self.engine.step()
        else:
            import warp as wp

            wp.capture_launch(self._graph)

    def seconds(self, frames: int) -> tuple[float, float]:
        """Seconds of some frames: of the device (wall where there is none), and of the processor."""
        start = moment()
        if not self.engine.is_cuda:
            for _ in range(frames):
                self.frame()
            took = since(start)
            return took["wall_s"], took["cpu_s"]
        import warp as wp

        first, last = (wp.Event(self.device, enable_timing=True) for _ in range(2))
        wp.record_event(first)
        for _ in range(frames):
            self.frame()
        wp.record_event(last)
        return wp.get_event_elapsed_time(first, last) * 1e-3, since(start)["cpu_s"]


def launches(step: Callable[[], None]) -> int:
    """Kernel launches of a step."""
    from unittest import mock

    wp: Any = sys.modules.get("warp")
    if wp is None:
        return 0
    count = 0

    def counting(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            nonlocal count
            count += 1
            return original(*arguments, **keywords)

        return call

    with (
        mock.patch.object(wp, "launch", counting(wp.launch)),
        mock.patch.object(wp, "launch_tiled", counting(wp.launch_tiled)),
    ):
        step()
    return count


class Memory:
    """Counts the bytes that arrays of Warp take on the CPU, while it is entered."""

    def __init__(self) -> None:
        self.bytes = 0

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        """Count."""
        from unittest import mock

        wp: Any = sys.modules.get("warp")
        if wp is None:
            yield
            return
        kind = type(wp.get_device_allocator("cpu"))
        allocate, free = kind.allocate, kind.deallocate

        def taking(this: Any, size: int) -> Any:
            self.bytes += size
            return allocate(this, size)

        def giving(this: Any, pointer: Any, size: int) -> Any:
            self.bytes -= size
            return free(this, pointer, size)

        with mock.patch.object(kind, "allocate", taking), mock.patch.object(kind, "deallocate", giving):
            yield


def resident() -> float:
    """MiB that the process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def kernels(engine: Any) -> list[dict[str, Any]]:
    """Time of each kernel of a step of ours, launched one by one [us], largest first."""
    import warp as wp

    simulation = engine.simulation
    if not engine.is_cuda:
        return []
    simulation._launch_step()
    wp.timing_begin(cuda_filter=wp.TIMING_KERNEL)
    for _ in range(5):
        simulation._launch_step()
    total: dict[str, float] = {}
    for found in wp.timing_end():
        name = found.name.removeprefix("forward kernel ")
        total[name] = total.get(name, 0.0) + found.elapsed * 1e3 / 5
    return [{"kernel": name, "us": us} for name, us in sorted(total.items(), key=lambda item: -item[1])]


def measure(options: argparse.Namespace, count: int, row: dict[str, Any]) -> dict[str, Any]:
    """Build, settle, time and judge."""
    from peer_checks import judge, operations
    from peer_engines import STEPS, make

    robot = json.loads((options.folder / f"{options.robot}.json").read_text("utf-8"))
    is_ours = options.engine.startswith("ours")
    before, memory = resident(), Memory()
    with memory.counted():
        start = moment()
        engine = make(options.engine, options.folder, options.robot, count, options.device, options.threads)
        row["build"] = since(start)
        runner = Runner(engine, options.device)
        start = moment()
        engine.step()
        runner.wait()
        row["first_step"] = since(start)
    if options.start:
        return row
    with alone(options.lock):
        row["launches"] = engine.about()["launches"] if is_ours else launches(engine.step)
        runner.record()
        for _ in range(SETTLE_FRAMES):
            runner.frame()
        runner.wait()
        # buffers that were too small have grown by now, as they do whenever a user looks
        if is_ours and engine.has_grown():
            runner.record()
        took, _ = runner.seconds(1)
        frames = max(1, min(200, round(options.budget / options.repeats / max(took, 1e-6))))
        times = [runner.seconds(frames) for _ in range(options.repeats)]
        runner.wait()
        if is_ours and options.kernels:
            row["kernels"] = kernels(engine)
    steps = frames * STEPS
    wall = [t[0] / steps for t in times]
    row["us_per_step"] = 1e6 * statistics.median(wall)
    row["spread"] = (max(wall) - min(wall)) / statistics.median(wall)
    row["rate"] = count / statistics.median(wall)
    if not engine.is_cuda:
        cpu = [t[1] / steps for t in times]
        row["rate_per_cpu_second"] = count / statistics.median(cpu)
        row["cpu_spread"] = (max(cpu) - min(cpu)) / statistics.median(cpu)
    if engine.is_cuda:
        import warp as wp

        used = float(wp.get_mempool_used_mem_high(options.device)) / 2**20
    else:
        used = memory.bytes / 2**20 or resident() - before
    row["memory_MiB"] = used
    row["memory_per_environment_KiB"] = used * 1024 / count
    row["contacts"] = engine.contacts()
    row |= judge(robot, engine.poses(), is_finite=engine.is_finite(), overflow=engine.overflow())
    if is_ours:
        row |= engine.about()
        row["operations"] = operations(robot, row["contacts"], row["substeps"])
    return row


def floors(device: str) -> dict[str, Any]:
    """What the machine can do: copies, multiply-adds, a node of a graph."""
    import warp as wp

    wp.set_device(device)
    is_cuda = wp.get_device(device).is_cuda
    size = 2**26 if is_cuda else 2**23
    source, target = (wp.zeros(size, dtype=wp.float32, device=device) for _ in range(2))

    @wp.kernel(enable_backward=False)
    def nothing(out: wp.array[wp.float32]) -> None:
        i = wp.tid()
        if i < 0:
            out[0] = 1.0

    @wp.kernel(enable_backward=False)
    def multiply_add(out: wp.array[wp.float32]) -> None:
        i = wp.tid()
        x = wp.float32(i)
        a, b, c, d = x, x + 1.0, x + 2.0, x + 3.0
        for _k in range(512):
            a = a * 0.5 + 0.3
            b = b * 0.5 + 0.3
            c = c * 0.5 + 0.3
            d = d * 0.5 + 0.3
        out[i] = a + b + c + d

    def timed(call: Callable[[], object], calls: int) -> float:
        call()
        wp.synchronize_device(device)
        found = []
        clock = time.perf_counter if is_cuda else time.thread_time
        for _ in range(7):
            start = clock()
            for _ in range(calls):
                call()
            wp.synchronize_device(device)
            found.append((clock() - start) / calls)
        return statistics.median(found)

    threads = 2**20 if is_cuda else 2**12
    copy = timed(lambda: wp.copy(target, source), 20 if is_cuda else 3)
    work = timed(lambda: wp.launch(multiply_add, dim=threads, inputs=[target], device=device), 3)
    wp.launch(nothing, dim=4096, inputs=[target], device=device)
    with wp.ScopedCapture(device=device) as capture:
        for _ in range(200):
            wp.launch(nothing, dim=4096 if is_cuda else 1, inputs=[target], device=device)
    node = timed(lambda: wp.capture_launch(capture.graph), 5) / 200
    return {
        "engine": "floors", "copy_bytes_per_s": 8 * size / copy, "operations_per_s": threads * 512 * 8 / work,
        "node_us": 1e6 * node, "device": wp.get_device(device).name,
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("engine")
    parser.add_argument("robot")
    parser.add_argument("counts")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of timing for a row")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--lock", type=Path)
    parser.add_argument("--kernels", action="store_true")
    parser.add_argument("--start", action="store_true", help="stop after the first step")
    options = parser.parse_args()
    if options.engine == "floors":
        with alone(options.lock):
            print(json.dumps(floors(options.device)), flush=True)
        return
    library = {"ours": "tensorphys_engine", "mujoco": "mujoco", "newton": "newton"}
    __import__(
        "mujoco_warp" if options.engine == "mujoco_warp" else library[options.engine.partition("_")[0]]
    )
    imported = since(_BEGIN)
    for count in map(int, options.counts.split(",")):
        row: dict[str, Any] = {"engine": options.engine, "robot": options.robot, "environments": count}
        row |= {"device": options.device, "threads": options.threads, "import": imported}
        try:
            row = measure(options, count, row)
        except Exception as error:
            row |= {"valid": False, "why": f"{type(error).__name__}: {error}"[:300]}
        print(json.dumps(row), flush=True)
        imported = {"wall_s": 0.0, "cpu_s": 0.0}


if __name__ == "__main__":
    sys.exit(main())
