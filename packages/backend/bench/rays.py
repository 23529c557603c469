"""Time of ray casts in one call against a room of 100 boxes, beside trimesh (with embreex where that is installed).

python tools/bench backend/rays --rays 10000
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorphys_backend import TensorPhysBackend
from tensorphys_backend.testing import add_box, empty_stage


def room(count: int) -> tuple[TensorPhysBackend, Any]:
    """A backend that plays a room of turned boxes, and the boxes' places."""
    rng = np.random.default_rng(0)
    stage, places = empty_stage(), rng.uniform((-5, -5, 0.5), (5, 5, 2.5), (count, 3))
    for number, place in enumerate(places):
        add_box(stage, f"/World/scene_0/box_{number}/base_link", place.tolist(), half=(0.2, 0.2, 0.2))
    backend = TensorPhysBackend(stage=stage, frontend="numpy")
    backend.create_physics_context(1 / 120, 1 / 60, "cpu")
    backend.play()
    return backend, places


def seconds(call: Callable[[], Any], repeats: int) -> float:
    """Least processor time of a call [s]."""
    call()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rays", type=int, default=10_000)
    parser.add_argument("--boxes", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=10)
    options = parser.parse_args()
    backend, places = room(options.boxes)
    rng = np.random.default_rng(1)
    origins = rng.uniform((-5, -5, 4), (5, 5, 5), (options.rays, 3))
    ways = rng.normal((0, 0, -2), 0.7, (options.rays, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    reach = np.full(options.rays, 20.0)
    ours = seconds(lambda: backend.raycast_closest_batch(origins, ways, reach), options.repeats)
    hits = backend.raycast_closest_batch(origins, ways, reach)
    distance = np.array([hit.get("distance", np.inf) for hit in hits])
    print(f"ours: {ours * 1e3:.1f} ms a call of {options.rays} rays, {np.isfinite(distance).sum()} hits")
    one = seconds(lambda: backend.raycast_closest(origins[0], ways[0], 20.0), options.repeats)
    print(f"ours: {one * 1e3:.2f} ms a call of one ray")
    if importlib.util.find_spec("trimesh") is None:
        return
    import trimesh

    parts = [
        trimesh.creation.box((0.4, 0.4, 0.4), trimesh.transformations.translation_matrix(place))
        for place in places
    ]
    mesh = trimesh.util.concatenate(parts)
    engine = type(mesh.ray).__module__

    def cast() -> Any:
        return mesh.ray.intersects_location(origins, ways, multiple_hits=False)

    theirs = seconds(cast, max(options.repeats // 3, 1))
    spot, index, _ = cast()
    reference = np.full(options.rays, np.inf)
    np.minimum.at(reference, index, np.linalg.norm(spot - origins[index], axis=1))
    both = np.isfinite(distance) & np.isfinite(reference)
    print(f"{engine}: {theirs * 1e3:.1f} ms a call, {np.isfinite(reference).sum()} hits")
    worst = np.abs(distance[both] - reference[both]).max()
    print(f"largest difference of distances: {worst:.1e} m in {both.sum()} hits")


if __name__ == "__main__":
    main()
