"""Time the search for pairs and the contacts of many boxes in one pile.

python bench/pile.py --boxes 20000 --device cpu --peers coal,newton
"""

from __future__ import annotations

import functools

import numpy as np
import warp as wp
from peer_scenes import peer_runs
from timing import arguments, measure, peers, recorded, report

import tensorphys_contact as tc
from tensorphys_contact import ShapeType


def place(boxes: int) -> np.ndarray:
    """Boxes of 0.2 m on a loose grid, turned at random, many of them touching, the lowest on the ground."""
    rng = np.random.default_rng(0)
    side = int(np.ceil(boxes ** (1.0 / 3.0)))
    cell = np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[:boxes]
    q = rng.normal(size=(boxes, 4))
    return np.concatenate(
        [cell * 0.24 + rng.normal(size=(boxes, 3)) * 0.02, q / np.linalg.norm(q, axis=1)[:, None]], axis=1
    )


def build(boxes: int, device: str) -> tuple[tc.Model, wp.array]:
    """The pile over a plane."""
    pose = place(boxes)
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
    """Print JSON: our time, and that of the peers that are asked for."""
    parser = arguments(__doc__)
    parser.add_argument("--boxes", type=int, default=20000)
    options = parser.parse_args()
    model, pose = build(options.boxes, options.device)
    contacts = tc.create_contacts(model)
    step = recorded(functools.partial(tc.collide, model, pose, contacts), options.device)
    result = measure(step, options.device, repeat=options.repeat)
    assert model.search is not None
    found = int(contacts.count.numpy()[0])
    own = {
        "name": "tensorphys_contact",
        **result,
        "pairs": int(model.search.required.numpy()[0]),
        "contacts": found,
        "contacts_per_second": found / result["seconds"],
    }
    scene = [(3, [0.1, 0.1, 0.1])] * options.boxes
    runs = peer_runs(scene, place(options.boxes), 1, set(), options, offset=0.005)
    report(f"pile of {options.boxes} boxes", options, [own, *peers(options, runs)])


if __name__ == "__main__":
    main()
