"""Time the contact pipeline: quadrupeds of 13 shapes on a shared plane.

Each robot has a box as its trunk, eight capsules as limbs and four spheres as feet. They
stand with the feet 1 mm in the ground. All pairs of shapes are candidates but those of
neighbouring links.

    python bench/quadrupeds.py --environments 8192 --device cpu --peers coal,newton,mujoco_warp
"""

from __future__ import annotations

import functools
import time

import numpy as np
import warp as wp
from peer_scenes import peer_runs
from timing import arguments, measure, peers, recorded, report

import tensorphys_contact as tc

HIPS = np.array([[0.25, 0.15], [0.25, -0.15], [-0.25, 0.15], [-0.25, -0.15]])


def robot() -> tuple[list[int], list[list[float]], np.ndarray, list[tuple[int, int]]]:
    """Shape types, sizes, standing body poses, and pairs of neighbouring bodies."""
    kinds, sizes, poses, neighbours = [int(tc.ShapeType.BOX)], [[0.3, 0.1, 0.05]], [[0, 0, 0.5]], []
    for x, y in HIPS:
        first = len(kinds)
        kinds += [int(tc.ShapeType.CAPSULE), int(tc.ShapeType.CAPSULE), int(tc.ShapeType.SPHERE)]
        sizes += [[0.03, 0.09, 0], [0.025, 0.09, 0], [0.03, 0, 0]]
        poses += [[x, y, 0.375], [x, y, 0.14], [x, y, 0.029]]
        neighbours += [(0, first), (first, first + 1), (first + 1, first + 2), (0, first + 1)]
    pose = np.tile([0.0, 0, 0, 0, 0, 0, 1], (len(kinds), 1))
    pose[:, :3] = poses
    return kinds, sizes, pose, neighbours


def build(environment_count: int, device: str) -> tuple[tc.Model, wp.array]:
    """The model of all environments, and the standing poses."""
    kinds, sizes, pose, neighbours = robot()
    count = len(kinds)
    template = tc.candidate_pairs([*range(count), -1], [*[0] * count, -1], filtered_body_pairs=neighbours)
    shapes = count * environment_count + 1
    model = tc.build_model(
        shape_type=kinds * environment_count + [int(tc.ShapeType.PLANE)],
        shape_body=[*range(count * environment_count), -1],
        shape_pose=np.tile([0.0, 0, 0, 0, 0, 0, 1], (shapes, 1)),
        shape_size=sizes * environment_count + [[0, 0, 0]],
        shape_environment=np.append(np.repeat(np.arange(environment_count), count), -1),
        pairs=tc.replicate_pairs(template, count, environment_count, shared_shape_count=1),
        environment_count=environment_count,
        shape_material=np.zeros(shapes, dtype=int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(shapes, 0.01),
        rest_offset=np.zeros(shapes),
        device=device,
    )
    poses = np.tile(pose, (environment_count, 1)).astype(np.float32)
    return model, wp.array(poses, dtype=wp.transform, device=device)


def main() -> None:
    """Print JSON: our time, and that of the peers that are asked for."""
    parser = arguments(__doc__)
    parser.add_argument("--environments", type=int, default=8192)
    options = parser.parse_args()
    begin = time.perf_counter()
    model, poses = build(options.environments, options.device)
    built = time.perf_counter() - begin
    contacts = tc.create_contacts(model)
    step = recorded(functools.partial(tc.collide, model, poses, contacts), options.device)
    result = measure(step, options.device, repeat=options.repeat, inner=5)
    found = int(contacts.count.numpy().sum())
    own = {
        "name": "tensorphys_contact",
        **result,
        "worlds": options.environments,
        "pairs": model.pair_count,
        "contacts": found,
        "contacts_per_second": found / result["seconds"],
        "build_seconds": built,
    }
    kinds, sizes, pose, neighbours = robot()
    scene = list(zip(kinds, sizes, strict=True))
    runs = peer_runs(
        scene,
        pose,
        options.environments,
        set(neighbours),
        options,
        offset=0.01,
        coal_worlds=min(options.environments, 256),
    )
    report("robots of 13 shapes on a plane", options, [own, *peers(options, runs)])


if __name__ == "__main__":
    main()
