"""Convex hulls, cylinders, cones and ellipsoids: closed forms, manifolds, identities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType

EYE = (0.0, 0.0, 0.0, 1.0)
CUBE = tc.cook_hull(np.array(list(itertools.product((-1.0, 1.0), repeat=3))))
CONVEX = [kind for kind in ShapeType if 1 <= kind <= 7]


def turn(axis: int, angle: float) -> tuple[float, ...]:
    q = [0.0, 0.0, 0.0, float(np.cos(angle / 2))]
    q[axis] = float(np.sin(angle / 2))
    return tuple(q)


def touch(
    kinds: tuple, sizes: tuple, poses: list, device: str, hull: tc.Hull = CUBE, offset: float = 0.01
) -> dict:
    """Contacts of two bodies, the anchors in the environment frame."""
    is_hull = [int(k == ShapeType.CONVEX_HULL) - 1 for k in kinds]
    model = tc.build_model(
        shape_type=kinds,
        shape_body=[0, 1],
        shape_pose=[[0, 0, 0, *EYE]] * 2,
        shape_size=sizes,
        shape_environment=[0, 0],
        pairs=[[0, 1]],
        environment_count=1,
        shape_material=[0, 0],
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[offset, offset],
        rest_offset=[0.0, 0.0],
        shape_hull=is_hull,
        hulls=[hull],
        device=device,
    )
    contacts = tc.create_contacts(model)
    pose = np.array(poses, dtype=np.float32)
    tc.collide(model, wp.array(pose, dtype=wp.transform, device=device), contacts)
    count = int(contacts.count.numpy()[0])
    found = {n: getattr(contacts, n).numpy()[:count] for n in ("separation", "normal", "key")}
    for side in range(2):
        anchor = getattr(contacts, f"anchor{side}").numpy()[:count].astype(float)
        p, q = pose[side, :3].astype(float), pose[side, 3:].astype(float)
        found[f"p{side}"] = p + anchor + 2 * np.cross(q[:3], np.cross(q[:3], anchor) + q[3] * anchor)
    return found


NONE = (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("kinds", "sizes", "upper", "count"),
    [
        ((4, 4), (NONE, NONE), (0.2, 0.1, 1.999, *EYE), 4),
        ((3, 4), ((1, 1, 1), NONE), (0.2, 0.1, 1.999, *turn(2, 0.4)), 4),
        ((4, 3), (NONE, (1, 1, 1)), (0.2, 0.1, 1.999, *turn(2, 0.4)), 4),
        ((4, 5), (NONE, (0.3, 0.5, 0)), (0.2, 0.1, 1.499, *EYE), 4),
        ((3, 5), ((1, 1, 1), (0.3, 0.5, 0)), (0.2, 0.1, 1.299, *turn(1, np.pi / 2)), 2),
        ((5, 5), ((0.5, 1, 0), (0.3, 0.5, 0)), (0.2, 0.1, 1.499, *EYE), 4),
        ((3, 6), ((1, 1, 1), (0.3, 0.5, 0)), (0.2, 0.1, 1.499, *EYE), 4),
        ((2, 4), ((0.2, 0.5, 0), NONE), (0, 0, 1.199, *EYE), 2),
        ((1, 4), ((0.2, 0, 0), NONE), (0, 0, 1.199, *EYE), 1),
        ((3, 7), ((1, 1, 1), (0.3, 0.2, 0.5)), (0.2, 0.1, 1.499, *EYE), 1),
        ((4, 7), (NONE, (0.3, 0.2, 0.5)), (0.2, 0.1, 1.499, *EYE), 1),
    ],
)  # fmt: skip
def test_resting_shapes(kinds: tuple, sizes: tuple, upper: tuple, count: int, device: str) -> None:
    """A millimetre deep on a flat face, with as many points as it takes to stand."""
    poses = [(0, 0, 0, *EYE), upper]
    if kinds[0] < 3:  # a capsule lies, a sphere needs no pose
        poses = [(*upper[:3], *turn(1, np.pi / 2)), (0, 0, 0, *EYE)]
    found = touch(kinds, sizes, poses, device)
    down = 1.0 if kinds[0] < 3 else -1.0
    assert len(found["key"]) == count
    assert found["separation"].min() == pytest.approx(-0.001, abs=3e-6)
    assert (found["separation"] < 0.0).all()
    np.testing.assert_allclose(
        found["normal"], np.tile([0, 0, down], (count, 1)), atol=2e-3 if 7 in kinds else 1e-6
    )
    np.testing.assert_allclose(
        ((found["p0"] - found["p1"]) * found["normal"]).sum(axis=1), found["separation"], atol=2e-6
    )


def test_points_of_a_face_span_it(device: str) -> None:
    found = touch((4, 4), (NONE, NONE), [(0, 0, 0, *EYE), (0.5, 0.0, 1.999, *EYE)], device)
    assert {tuple(p[:2].round(5)) for p in found["p0"]} == {(x, y) for x in (-0.5, 1.0) for y in (-1.0, 1.0)}
    np.testing.assert_allclose(found["separation"], -0.001, atol=1e-6)


def test_parallel_cylinders_touch_along_the_common_part(device: str) -> None:
    lying = turn(1, np.pi / 2)
    found = touch(
        (5, 5), ((0.2, 0.5, 0), (0.3, 0.5, 0)), [(0, 0, 0, *lying), (0.6, 0, 0.499, *lying)], device
    )
    np.testing.assert_allclose(np.sort(found["p0"][:, 0]), [0.1, 0.5], atol=1e-4)
    np.testing.assert_allclose(found["separation"], -0.001, atol=2e-6)


@pytest.mark.parametrize("pair", list(itertools.product(CONVEX, CONVEX)), ids=str)
def test_swapping_flips_the_normal_and_far_apart_is_nothing(pair: tuple, device: str) -> None:
    sizes = {
        1: (0.3, 0, 0),
        2: (0.2, 0.3, 0),
        3: (0.3, 0.2, 0.4),
        4: NONE,
        5: (0.3, 0.4, 0),
        6: (0.3, 0.4, 0),
        7: (0.3, 0.2, 0.4),
    }
    hull = tc.cook_hull(np.array(list(itertools.product((-0.3, 0.2), repeat=3))) * [1.0, 0.7, 1.3])
    poses = [(0, 0, 0, *turn(0, 0.3)), (0.35, 0.1, 0.05, *turn(2, 0.7))]
    size = (sizes[pair[0]], sizes[pair[1]])
    there = touch(pair, size, poses, device, hull, 0.05)
    back = touch(pair[::-1], size[::-1], poses[::-1], device, hull, 0.05)
    assert len(there["key"]) > 0
    assert there["separation"].min() == pytest.approx(back["separation"].min(), abs=1e-5)
    a, b = (f["normal"][f["separation"].argmin()] for f in (there, back))
    np.testing.assert_allclose(a, -b, atol=5e-3)
    poses[1] = (3.0, 0.1, 0.05, *turn(2, 0.7))
    assert len(touch(pair, size, poses, device, hull, 0.05)["key"]) == 0


def test_keys_stay_while_a_hull_slides_a_little(device: str) -> None:
    keys = [
        touch((4, 4), (NONE, NONE), [(0, 0, 0, *EYE), (0.3 + 1e-3 * k, 0.2, 1.999, *turn(2, 0.2))], device)[
            "key"
        ].tolist()
        for k in range(5)
    ]
    assert all(key == keys[0] for key in keys)
    assert len(set(keys[0])) == 4


@pytest.mark.parametrize("tilt", [0.0, 0.2, 1.2, np.pi / 2, 2.8])
def test_cone_and_ellipsoid_on_a_plane(tilt: float, device: str) -> None:
    """Closed form: the height of the lowest point."""
    for kind, size in ((6, (0.3, 0.4, 0.0)), (7, (0.3, 0.2, 0.4))):
        down = np.array([0.0, -np.sin(tilt), -np.cos(tilt)])  # world −z in the shape frame
        if kind == 6:
            low = max(size[0] * abs(down[1]) - size[1] * down[2], size[1] * down[2])
        else:
            low = float(np.linalg.norm(np.array(size) * down))
        found = touch(
            (0, kind), ((0, 0, 0), size), [(0, 0, 0, *EYE), (0, 0, low - 0.002, *turn(0, tilt))], device
        )
        assert found["separation"].min() == pytest.approx(-0.002, abs=1e-6)
        np.testing.assert_allclose(found["p0"][:, 2], 0.0, atol=1e-6)
