"""Print the contact points of a box that leans over a plane, for four angles.

python examples/box_on_plane.py
"""

from __future__ import annotations

import numpy as np
import warp as wp

import tensorphys_contact as tc

HALF = np.array([0.2, 0.3, 0.1])
ANGLES = np.radians([0.0, 1.0, 30.0, 60.0])


def build() -> tc.Model:
    """One environment an angle, all over one shared plane."""
    count = len(ANGLES)
    shape_body = [*range(count), -1]
    shape_environment = [*range(count), -1]
    return tc.build_model(
        shape_type=[tc.ShapeType.BOX] * count + [tc.ShapeType.PLANE],
        shape_body=shape_body,
        shape_pose=np.tile([0.0, 0, 0, 0, 0, 0, 1], (count + 1, 1)),
        shape_size=[HALF] * count + [np.zeros(3)],
        shape_environment=shape_environment,
        pairs=tc.candidate_pairs(shape_body, shape_environment),
        environment_count=count,
        shape_material=np.zeros(count + 1, dtype=int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(count + 1, 0.005),
        rest_offset=np.zeros(count + 1),
    )


def main() -> None:
    """Place each box 1 mm into the plane and print what touches."""
    model = build()
    contacts = tc.create_contacts(model)
    poses = np.zeros((len(ANGLES), 7), dtype=np.float32)
    poses[:, 2] = HALF[1] * np.sin(ANGLES) + HALF[2] * np.cos(ANGLES) - 0.001
    poses[:, 3], poses[:, 6] = np.sin(ANGLES / 2), np.cos(ANGLES / 2)
    tc.collide(model, wp.array(poses, dtype=wp.transform), contacts)
    start, count = contacts.slot_start.numpy(), contacts.count.numpy()
    anchor, separation = contacts.anchor0.numpy(), contacts.separation.numpy()
    for environment, angle in enumerate(ANGLES):
        print(f"{np.degrees(angle):4.0f} degrees")
        for slot in range(start[environment], start[environment] + count[environment]):
            print(f"  corner {anchor[slot]} separation {separation[slot]: .6f}")


if __name__ == "__main__":
    main()
