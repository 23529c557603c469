"""Time of ray casts in one call against a room of 100 boxes, beside trimesh by itself and with embreex where it is installed.

python tools/bench backend/rays --rays 10000
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorphys_backend import TensorPhysBackend
from tensorphys_backend.testing import add_box, empty_stage


def room(count: int, device: str) -> tuple[TensorPhysBackend, Any]:
    """A backend that plays a room of boxes, and the boxes' places."""
    rng = np.random.default_rng(0)
    stage, places = empty_stage(), rng.uniform((-5, -5, 0.5), (5, 5, 2.5), (count, 3))
    for number, place in enumerate(places):
        add_box(stage, f"/World/scene_0/box_{number}/base_link", place.tolist(), half=(0.2, 0.2, 0.2))
    backend = TensorPhysBackend(stage=stage, frontend="numpy" if device == "cpu" else "torch")
    backend.create_physics_context(1 / 120, 1 / 60, device)
    backend.play()
    return backend, places


def seconds(call: Callable[[], Any], repeats: int, clock: Callable[[], float]) -> float:
    """Least time of a call [s]."""
    call()
    times = []
    for _ in range(repeats):
        start = clock()
        call()
        times.append(clock() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rays", type=int, default=10_000)
    parser.add_argument("--boxes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    # On the CPU the time of the processor, which other work does not change; on a GPU the processor only waits.
    clock = time.process_time if options.device == "cpu" else time.perf_counter
    backend, places = room(options.boxes, options.device)
    rng = np.random.default_rng(1)
    origins = rng.uniform((-5, -5, 4), (5, 5, 5), (options.rays, 3))
    ways = rng.normal((0, 0, -2), 0.7, (options.rays, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    reach = np.full(options.rays, 20.0)
    ours = seconds(lambda: backend.raycast_closest_batch(origins, ways, reach), options.repeats, clock)
    hits = backend.raycast_closest_batch(origins, ways, reach)
    distance = np.array([hit.get("distance", np.inf) for hit in hits])
    print(f"ours: {ours * 1e3:.1f} ms a call of {options.rays} rays, {np.isfinite(distance).sum()} hits")
    lists = [array.tolist() for array in (origins, ways, reach)]
    listed = seconds(lambda: backend.raycast_closest_batch(*lists), options.repeats, clock)
    print(f"ours: {listed * 1e3:.1f} ms a call with lists of lists")
    one = seconds(lambda: backend.raycast_closest(origins[0], ways[0], 20.0), options.repeats, clock)
    print(f"ours: {one * 1e3:.2f} ms a call of one ray")
    if importlib.util.find_spec("trimesh") is not None:
        compare(places, origins, ways, distance, options.repeats)


def compare(places: Any, origins: Any, ways: Any, distance: Any, repeats: int) -> None:
    """Measure trimesh with the same boxes and rays, and compare distances."""
    import trimesh

    parts = [
        trimesh.creation.box((0.4, 0.4, 0.4), trimesh.transformations.translation_matrix(place))
        for place in places
    ]
    mesh = trimesh.util.concatenate(parts)
    engines = {"trimesh": trimesh.ray.ray_triangle.RayMeshIntersector(mesh)}
    if importlib.util.find_spec("embreex") is not None:
        engines["trimesh with embreex"] = trimesh.ray.ray_pyembree.RayMeshIntersector(mesh)
    for name, engine in engines.items():
        call = functools.partial(engine.intersects_location, origins, ways, multiple_hits=False)
        theirs = seconds(call, max(repeats // 3, 1), time.process_time)
        spot, index, _ = call()
        reference = np.full(len(origins), np.inf)
        np.minimum.at(reference, index, np.linalg.norm(spot - origins[index], axis=1))
        both = np.isfinite(distance) & np.isfinite(reference)
        worst = np.abs(distance[both] - reference[both]).max()
        print(f"{name}: {theirs * 1e3:.1f} ms a call, {np.isfinite(reference).sum()} hits; ", end="")
        print(f"largest difference of distances {worst:.1e} m in {both.sum()} hits")


if __name__ == "__main__":
    main()
