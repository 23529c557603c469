"""Time pairs of convex shapes that are near each other or overlap, kind by kind.

python bench/pairs.py --count 4000 --device cpu --kinds convex_hull-convex_hull,cylinder-cylinder
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import warp as wp
from timing import arguments, measure, recorded, report

import tensorphys_contact as tc
from tensorphys_contact import ShapeType

SIZES = {
    ShapeType.SPHERE: (0.1, 0, 0),
    ShapeType.CAPSULE: (0.06, 0.08, 0),
    ShapeType.BOX: (0.1, 0.12, 0.08),
    ShapeType.CONVEX_HULL: (0, 0, 0),
    ShapeType.CYLINDER: (0.1, 0.12, 0),
    ShapeType.CONE: (0.1, 0.12, 0),
    ShapeType.ELLIPSOID: (0.1, 0.12, 0.08),
}
KINDS = (
    "box-box",
    "sphere-convex_hull",
    "convex_hull-convex_hull",
    "box-cone",
    "cylinder-cylinder",
    "ellipsoid-ellipsoid",
)


def build(first: ShapeType, second: ShapeType, count: int, device: str) -> tuple[tc.Model, wp.array]:
    """One pair in each environment, turned at random, 0.1 to 0.24 m from middle to middle."""
    rng = np.random.default_rng(0)
    pose = np.zeros((count, 2, 7))
    pose[..., 3:] = rng.normal(size=(count, 2, 4))
    pose[..., 3:] /= np.linalg.norm(pose[..., 3:], axis=-1, keepdims=True)
    way = rng.normal(size=(count, 3))
    pose[:, 1, :3] = way / np.linalg.norm(way, axis=1, keepdims=True) * rng.uniform(0.1, 0.24, (count, 1))
    hulls = [tc.cook_hull(rng.normal(size=(24, 3)) * 0.1)] if ShapeType.CONVEX_HULL in (first, second) else []
    model = tc.build_model(
        shape_type=[first, second] * count,
        shape_body=np.arange(2 * count),
        shape_pose=np.tile([0, 0, 0, 0, 0, 0, 1.0], (2 * count, 1)),
        shape_size=[SIZES[first], SIZES[second]] * count,
        shape_hull=[0 if kind == ShapeType.CONVEX_HULL else -1 for kind in (first, second)] * count,
        hulls=hulls,
        shape_environment=np.repeat(np.arange(count), 2),
        pairs=np.arange(2 * count).reshape(-1, 2),
        environment_count=count,
        shape_material=np.zeros(2 * count, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(2 * count, 0.01),
        rest_offset=np.zeros(2 * count),
        device=device,
    )
    return model, wp.array(pose.reshape(-1, 7).astype(np.float32), dtype=wp.transform, device=device)


def run(name: str, options: Any) -> dict[str, Any]:
    """Time of one kind."""
    first, second = (ShapeType[part.upper()] for part in name.split("-"))
    model, bodies = build(first, second, options.count, options.device)
    contacts = tc.create_contacts(model)
    step = recorded(functools.partial(tc.collide, model, bodies, contacts), options.device)
    result = measure(step, options.device, repeat=options.repeat)
    found = int(contacts.count.numpy().sum())
    per_pair = result["seconds"] / options.count
    return {"name": name, **result, "pairs": options.count, "contacts": found, "seconds_per_pair": per_pair}


def main() -> None:
    """Print JSON."""
    parser = arguments(__doc__)
    parser.add_argument("--count", type=int, default=4000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    report("pairs of convex shapes", options, [run(name, options) for name in options.kinds.split(",")])


if __name__ == "__main__":
    main()
