"""Timing of a repeated call, and what is printed beside it: versions and hardware."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import pathlib
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import warp as wp

LIBRARIES = ("tensorphys-contact", "warp-lang", "numpy", "coal", "mujoco", "mujoco-warp", "newton")


def measure(call: Callable[[], Any], device: str, *, repeat: int = 7, inner: int = 1) -> dict[str, float]:
    """Time a call after one that warms up.

    On a CPU the time is that of the process, which other work on the machine disturbs least; on a GPU that of the wall
    between two synchronisations.

    Returns:
        ``seconds`` (median), ``spread`` ((largest − least) / median) and ``samples``.
    """
    cuda = device.startswith("cuda")
    clock = time.perf_counter if cuda else time.process_time
    call()
    times = []
    for _ in range(repeat):
        if cuda:
            wp.synchronize_device(device)
        start = clock()
        for _ in range(inner):
            call()
        if cuda:
            wp.synchronize_device(device)
        times.append((clock() - start) / inner)
    median = statistics.median(times)
    return {"seconds": median, "spread": (max(times) - min(times)) / median, "samples": repeat}


def recorded(call: Callable[[], Any], device: str) -> Callable[[], Any]:
    """The call as a recorded graph on a GPU; as it is on a CPU."""
    if not device.startswith("cuda"):
        return call
    call()
    with wp.ScopedCapture(device=device) as capture:
        call()
    return lambda: wp.capture_launch(capture.graph)


def versions() -> dict[str, str]:
    """Installed versions of what may have run."""
    result = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            result[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return result


def hardware(device: str) -> str:
    """Name of the processor that runs the calls."""
    if device.startswith("cuda"):
        return str(wp.get_device(device).name)
    info = pathlib.Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return f"one core of {line.split(':', 1)[1].strip()}"
    return f"one core, {platform.machine()}"


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Options that all benchmarks share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--peers", default="", help="any of coal,newton,mujoco_warp, comma-separated")
    parser.add_argument("--json", type=pathlib.Path, help="also write the result to this file")
    return parser


def report(scene: str, options: argparse.Namespace, rows: list[dict[str, Any]]) -> None:
    """Print the result as JSON."""
    result = {
        "scene": scene,
        "device": options.device,
        "hardware": hardware(options.device),
        "versions": versions(),
        "rows": rows,
    }
    text = json.dumps(result, indent=2)
    print(text)
    if options.json is not None:
        options.json.write_text(text + "\n", encoding="utf-8")


def peers(options: argparse.Namespace, runs: dict[str, Callable[[], dict[str, Any]]]) -> list[dict[str, Any]]:
    """Run the chosen peers; what one of them cannot do becomes its row."""
    rows = []
    for name in filter(None, options.peers.split(",")):
        try:
            rows.append({"name": name, **runs[name]()})
        except Exception as error:  # a peer's failure is a result, of any kind
            rows.append({"name": name, "failed": f"{type(error).__name__}: {error}"[:300]})
    return rows
