"""Near pairs of boxes and convex shapes: none is left out, and margins follow how bodies move relative to each other."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import warp as wp
from hypothesis import given
from hypothesis import strategies as st

import tensorphys_contact as tc
from tensorphys_contact import ShapeType
from tensorphys_contact.shapes import PairFamily

OFFSET = 0.02
KINDS = (ShapeType.BOX, ShapeType.BOX, ShapeType.CONVEX_HULL, ShapeType.CYLINDER, ShapeType.ELLIPSOID)


def shapes(environments: int, device: str) -> tc.Model:
    """One shape of each kind an environment, all pairs; hulls lie beside their origin."""
    count = len(KINDS)
    total = count * environments
    corners = np.random.default_rng(3).uniform(-0.15, 0.15, (14, 3)) * (1.0, 0.6, 0.3) + (0.05, -0.03, 0.02)
    kinds = np.array(list(KINDS) * environments)
    return tc.build_model(
        shape_type=kinds,
        shape_body=np.arange(total),
        shape_pose=np.tile([0.01, 0.02, -0.03, 0, 0, 0, 1], (total, 1)),
        shape_size=np.tile([[0.2, 0.05, 0.02], [0.03, 0.1, 0.06], [0, 0, 0], [0.05, 0.1, 0], [0.1, 0.04, 0.06]],
                           (environments, 1)),
        shape_environment=np.repeat(np.arange(environments), count),
        pairs=[(count * e + i, count * e + j) for e in range(environments) for i in range(count) for j in range(i + 1, count)],
        environment_count=environments,
        shape_material=np.zeros(total, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(total, OFFSET),
        rest_offset=np.zeros(total),
        shape_hull=np.where(kinds == ShapeType.CONVEX_HULL, 0, -1),
        hulls=[tc.cook_hull(corners)],
        device=device,
    )  # fmt: skip


def random_poses(seed: int, count: int, spread: float, device: str) -> wp.array:
    rng = np.random.default_rng(seed)
    turn = rng.normal(size=(count, 4))
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    pose = np.hstack((rng.uniform(-spread, spread, (count, 3)), turn))
    return wp.array(pose.astype(np.float32), dtype=wp.transform, device=device)


def columns(contacts: tc.Contacts) -> dict[str, np.ndarray]:
    found = {f.name: getattr(contacts, f.name) for f in dataclasses.fields(contacts)}
    return {name: a.numpy().copy() for name, a in found.items() if isinstance(a, wp.array)}


@given(seed=st.integers(0, 10_000), spread=st.sampled_from([0.1, 0.2, 0.3]))
def test_boxes_about_shapes_leave_no_contact_out(seed: int, spread: float) -> None:
    """With half extents so large that no box is apart, the contacts are the same bits."""
    model = shapes(4, "cpu")
    pose = random_poses(seed, model.body_count, spread, "cpu")
    tight, loose = tc.create_contacts(model), tc.create_contacts(model)
    tc.collide(model, pose, tight)
    model.shape_half.fill_(wp.vec3(10.0, 10.0, 10.0))
    tc.collide(model, pose, loose)
    first, second = columns(tight), columns(loose)
    assert [name for name in first if first[name].tobytes() != second[name].tobytes()] == []


def test_pairs_that_are_picked_beforehand_have_the_same_contacts(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = shapes(16, device)
    pose = random_poses(1, model.body_count, 0.2, device)
    margin = wp.array(np.linspace(0, 0.02, 16), dtype=wp.float32, device=device)
    whole = tc.create_contacts(model)
    tc.collide(model, pose, whole, margin=margin)
    families = (PairFamily.BOX_BOX, PairFamily.CONVEX)
    monkeypatch.setattr(tc.Model, "filtered", property(lambda _model: families))
    picked = tc.create_contacts(model)
    for _ in range(2):  # the numbers of near pairs start anew
        tc.collide(model, pose, picked, margin=margin)
    first, second = columns(whole), columns(picked)
    assert [name for name in first if first[name].tobytes() != second[name].tobytes()] == []
    assert whole.count.numpy().sum() > 16
    near = picked.manifolds.near_count.numpy()
    assert (near > 0).all()
    assert near.sum() < model.pair_count


def pair_of_boxes(device: str) -> tc.Model:
    """Two cubes of 0.2 m, bodies 0 and 1."""
    return tc.build_model(
        shape_type=[ShapeType.BOX] * 2,
        shape_body=[0, 1],
        shape_pose=[[0, 0, 0, 0, 0, 0, 1]] * 2,
        shape_size=[[0.1, 0.1, 0.1]] * 2,
        shape_environment=[0, 0],
        pairs=[[0, 1]],
        environment_count=1,
        shape_material=[0, 0],
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[OFFSET / 2] * 2,
        rest_offset=[0.0] * 2,
        device=device,
    )


@pytest.mark.parametrize(
    ("first", "second", "gap", "found"),
    [
        # both move alike, and fast: only the offsets count
        ((1.0, 0, 0, 0, 0, 0), (1.0, 0, 0, 0, 0, 0), OFFSET + 0.01, False),
        ((1.0, 0, 0, 0, 0, 0), (1.0, 0, 0, 0, 0, 0), OFFSET - 0.001, True),
        # one comes nearer by 0.05
        ((0.05, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0), OFFSET + 0.045, True),
        ((0.05, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0), OFFSET + 0.06, False),
        # both turn about the origin as one body, 10 m from the cubes
        ((0, 0, 0, 0, 0, 0.2), (0, 0, 0, 0, 0, 0.2), OFFSET + 0.01, False),
        # one turns about itself: its corners come nearer
        ((0, -0.2 * 10.0, 0, 0, 0, 0.2), (0, 0, 0, 0, 0, 0), OFFSET + 0.02, True),
        # never more than the margin of the environment
        ((5.0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0), OFFSET + 0.31, False),
        ((5.0, 0, 0, 0, 0, 0), (0, 0, 0, 0, 0, 0), OFFSET + 0.29, True),
    ],
)
def test_margins_of_pairs_are_what_they_move_relative_to_each_other(device, first, second, gap, found):
    model = pair_of_boxes(device)
    contacts = tc.create_contacts(model)
    pose = [[10.0, 0, 0, 0, 0, 0, 1], [10.0 + 0.2 + gap, 0, 0, 0, 0, 0, 1]]
    motion = wp.array(np.array([first, second], np.float32), dtype=wp.spatial_vector, device=device)
    least = wp.zeros(1, dtype=wp.float32, device=device)
    margin = wp.full(1, 0.3, dtype=wp.float32, device=device)
    poses = wp.array(np.array(pose, np.float32), dtype=wp.transform, device=device)
    tc.collide(model, poses, contacts, margin=margin, motion=(motion, least))
    assert (contacts.count.numpy()[0] > 0) == found
    tc.collide(model, poses, contacts, margin=margin)
    assert (contacts.count.numpy()[0] > 0) == (gap < OFFSET + 0.3)
