"""Time of the getters of contact views: many environments of 13 sensors, and one world of many boxes.

python contact_views.py [--device cuda:0] [--environments 4096] [--boxes 1000]
"""

from __future__ import annotations

import argparse
import itertools
import time
from typing import Any

import numpy as np
import warp as wp

import tensorphys
from tensorphys.contact_fields import CONTACT_GETTERS
from tensorphys_scene import Bodies, Scene, Shapes, ShapeType, Template, replicate

_DT = 1.0 / 60.0
_LINKS = 13
_FLOOR = Template(
    prims=("", "/World", "/World/floor"),
    shapes=Shapes(path=("/World/floor",), body=[-1], type=[int(ShapeType.PLANE)]),
)


def _boxes(count: int, columns: int, alone: bool) -> Template:
    """Boxes of 0.2 m in a grid of columns, stacked; ``alone``: they touch the floor only."""
    paths = tuple(f"/box{k}" for k in range(count))
    place = np.arange(count)
    pose = np.zeros((count, 7))
    pose[:, 0], pose[:, 1] = 0.25 * (place % columns), 0.25 * (place // columns % columns)
    pose[:, 2], pose[:, 6] = 0.1 + 0.2 * (place // columns**2), 1.0
    options: dict[str, Any] = {}
    if alone:
        options["filtered_pairs"] = np.array(list(itertools.combinations(range(count), 2)))
    return Template(
        prims=("", *paths, *(f"{path}/c" for path in paths)),
        bodies=Bodies(path=paths, mass=[1.0] * count, inertia=[np.eye(3) * 0.01] * count, pose=pose),
        shapes=Shapes(
            path=tuple(f"{path}/c" for path in paths),
            body=np.arange(count),
            type=[int(ShapeType.BOX)] * count,
            size=[[0.1, 0.1, 0.1]] * count,
        ),
        **options,
    )


def _time(name: str, scene: Scene, device: str, pattern: str, repeats: int) -> None:
    sim = tensorphys.create_simulation_view("warp", scene=scene, device=device)
    start = time.perf_counter()
    view = sim.create_rigid_contact_view(pattern, ["/World/floor"], 64 * 4096)
    print(f"{name}: {view.sensor_count} sensors, created in {time.perf_counter() - start:.3f} s")
    for _ in range(10):
        sim.step(_DT)
    for getter in CONTACT_GETTERS:
        get = getattr(view, f"get_{getter}")
        get(_DT)
        with wp.ScopedCapture(device=device) as capture:
            get(_DT)
        wp.capture_launch(capture.graph)
        times = []
        for call in (lambda get=get: get(_DT), lambda capture=capture: wp.capture_launch(capture.graph)):
            wp.synchronize_device(device)
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            wp.synchronize_device(device)
            times.append((time.perf_counter() - start) / repeats * 1e6)
        print(f"  {getter:24s} {times[0]:9.1f} us a call {times[1]:9.1f} us in a graph")
    contacts = int(sim.simulation.contacts.count.numpy().sum())
    weight = float(view.get_net_contact_forces(_DT).numpy()[:, 2].sum()) / 9.81 / view.sensor_count
    print(f"  contacts {contacts}, vertical force / weight {weight:.4f}")
    wp.synchronize_device(device)
    start = time.perf_counter()
    for _ in range(repeats):
        sim.step(_DT)
    wp.synchronize_device(device)
    print(f"  a step takes {(time.perf_counter() - start) / repeats * 1e6:.1f} us")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--environments", type=int, default=4096)
    parser.add_argument("--boxes", type=int, default=1000)
    parser.add_argument("--repeats", type=int, default=50)
    options = parser.parse_args()
    wp.config.log_level = wp.LOG_WARNING
    many = replicate(Scene(templates=(_boxes(_LINKS, 4, alone=True),), shared=_FLOOR), options.environments)
    _time("environments", many, options.device, "/World/envs/*/box*", options.repeats)
    columns = int(np.ceil(options.boxes ** (1.0 / 3.0)))
    world = Scene(templates=(_boxes(options.boxes, columns, alone=False),), shared=_FLOOR)
    _time("one world", world, options.device, "/box*", max(options.repeats // 10, 3))


if __name__ == "__main__":
    main()
