"""Time the search for pairs and the contacts of many boxes in one pile.

python bench/pile.py --boxes 20000 --device cpu
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType


def build(boxes: int, device: str) -> tuple[tc.Model, wp.array]:
    """Boxes of 0.2 m on a loose grid, turned at random, many of them touching, over a plane."""
    rng = np.random.default_rng(0)
    side = int(np.ceil(boxes ** (1.0 / 3.0)))
    place = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[:boxes]
    q = rng.normal(size=(boxes, 4))
    pose = np.concatenate(
        [place * 0.24 + rng.normal(size=(boxes, 3)) * 0.02, q / np.linalg.norm(q, axis=1)[:, None]], axis=1
    )
    total = boxes + 1
    model = tc.build_model(
        shape_type=[ShapeType.BOX] * boxes + [ShapeType.PLANE],
        shape_body=[*range(boxes), -1],
        shape_pose=[[0, 0, 0, 0, 0, 0, 1]] * total,
        shape_size=[[0.1, 0.1, 0.1]] * boxes + [[0, 0, 0]],
        shape_environment=np.zeros(total, int),
        pairs=tc.PairSearch(12 * boxes),
        environment_count=1,
        shape_material=np.zeros(total, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(total, 0.005),
        rest_offset=np.zeros(total),
        device=device,
    )
    return model, wp.array(pose.astype(np.float32), dtype=wp.transform, device=device)


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--boxes", type=int, default=20000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeat", type=int, default=10)
    options = parser.parse_args()
    model, pose = build(options.boxes, options.device)
    contacts = tc.create_contacts(model)
    tc.collide(model, pose, contacts)
    wp.synchronize_device(options.device)
    times = []
    for _ in range(options.repeat):
        start = time.perf_counter()
        tc.collide(model, pose, contacts)
        wp.synchronize_device(options.device)
        times.append(time.perf_counter() - start)
    assert model.search is not None
    count, best = int(contacts.count.numpy()[0]), min(times)
    print(
        f"{options.device}: {options.boxes} boxes, {int(model.search.required.numpy()[0])} pairs, "
        f"{count} contacts, {1e3 * best:.2f} ms a step, {count / best / 1e6:.2f} M contacts/s"
    )


if __name__ == "__main__":
    main()
