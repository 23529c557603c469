"""Time the contacts of M16 nuts on their bolts, both signed distance fields; one pair in each environment.

python bench/threads.py --environments 1 --device cpu
"""

from __future__ import annotations

import functools
import time

import numpy as np
import warp as wp
from timing import arguments, measure, recorded, report

import tensorphys_contact as tc
import tensorphys_sdf as ts
from tensorphys_contact import ShapeType
from tensorphys_contact.testing.threads import bolt_mesh, nut_mesh


def main() -> None:
    """Print JSON."""
    parser = arguments(__doc__)
    parser.add_argument("--environments", type=int, default=1)
    parser.add_argument("--resolution", type=int, default=256)
    parser.add_argument("--limit", type=int, default=64)
    options = parser.parse_args()
    thread = {"pitch": 2e-3, "depth": 1.0825e-3}
    bolt = bolt_mesh(major_radius=8e-3, turns=14, **thread)
    nut = nut_mesh(major_radius=8.1e-3, outer_radius=12e-3, turns=6, **thread)
    begin = time.perf_counter()
    parameters = ts.FieldParameters(resolution=options.resolution)
    fields = [tc.cook_sdf(*mesh, parameters=parameters, device=options.device) for mesh in (nut, bolt)]
    built = time.perf_counter() - begin
    count = options.environments
    model = tc.build_model(
        shape_type=[ShapeType.SDF] * (count + 1),
        shape_body=[*range(count), -1],
        shape_pose=[[0, 0, 0, 0, 0, 0, 1]] * (count + 1),
        shape_size=[[1, 1, 1]] * (count + 1),
        shape_environment=[*range(count), -1],
        pairs=[[e, count] for e in range(count)],
        environment_count=count,
        shape_material=np.zeros(count + 1, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(count + 1, 1e-4),
        rest_offset=np.zeros(count + 1),
        shape_sdf=[0] * count + [1],
        sdfs=fields,
        sdf_contact_limit=options.limit,
        device=options.device,
    )
    pose = np.tile([0.0, 0, 8e-3 - 0.06e-3, 0, 0, 0, 1], (count, 1)).astype(np.float32)
    bodies = wp.array(pose, dtype=wp.transform, device=options.device)
    contacts = tc.create_contacts(model)
    step = recorded(functools.partial(tc.collide, model, bodies, contacts), options.device)
    result = measure(step, options.device, repeat=options.repeat)
    assert model.sampled is not None
    row = {
        "name": "tensorphys_contact",
        **result,
        "pairs": count,
        "samples": len(model.sampled.samples.radius),
        "contacts": int(contacts.count.numpy().sum()),
        "deepest": float(contacts.separation.numpy()[: int(contacts.count.numpy()[0])].min()),
        "field_seconds": built,
    }
    report("M16 nuts on their bolts", options, [row])


if __name__ == "__main__":
    main()
