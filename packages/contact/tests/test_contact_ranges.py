"""Contacts of a range of environments are to the bit those of all, and nothing else is written."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType

KINDS = (ShapeType.BOX, ShapeType.SPHERE, ShapeType.CAPSULE, ShapeType.BOX)


def heaps(environments: int, device: str) -> tuple[tc.Model, wp.array]:
    """Four shapes an environment in a heap on a shared plane, all pairs; every environment differs."""
    count = len(KINDS)
    plane = count * environments
    pairs = [
        [count * e + i, plane if j == count else count * e + j]
        for e in range(environments)
        for i in range(count)
        for j in range(i + 1, count + 1)
    ]
    model = tc.build_model(
        shape_type=[*(list(KINDS) * environments), ShapeType.PLANE],
        shape_body=[*range(plane), -1],
        shape_pose=[[0, 0, 0, 0, 0, 0, 1]] * (plane + 1),
        shape_size=[[0.1, 0.1, 0.1]] * plane + [[0, 0, 0]],
        shape_environment=[*np.repeat(np.arange(environments), count), -1],
        pairs=pairs,
        environment_count=environments,
        shape_material=np.zeros(plane + 1, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(plane + 1, 0.02),
        rest_offset=np.zeros(plane + 1),
        device=device,
    )
    rng = np.random.default_rng(5)
    pose = np.zeros((plane, 7))
    pose[:, :3] = rng.uniform(-0.2, 0.2, (plane, 3)) + (0, 0, 0.2)
    turn = rng.normal(size=(plane, 4))
    pose[:, 3:] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    return model, wp.array(pose.astype(np.float32), dtype=wp.transform, device=device)


def columns(contacts: tc.Contacts) -> dict[str, np.ndarray]:
    found = {f.name: getattr(contacts, f.name) for f in dataclasses.fields(contacts)}
    return {name: a.numpy().copy() for name, a in found.items() if isinstance(a, wp.array)}


def test_ranges_together_are_the_whole(device: str) -> None:
    model, pose = heaps(11, device)
    margin = wp.array(np.linspace(0, 0.01, 11), dtype=wp.float32, device=device)
    whole, parts = tc.create_contacts(model), tc.create_contacts(model)
    ranges = tc.split_environments(model, [0, 3, 4, 11])
    assert ranges is not None
    tc.collide(model, pose, whole, margin=margin)
    for environments in reversed(ranges):
        tc.collide_range(model, environments, pose, parts, margin=margin)
    assert whole.count.numpy().min() > 0
    first, second = columns(whole), columns(parts)
    assert [name for name in first if first[name].tobytes() != second[name].tobytes()] == []


def test_a_range_leaves_the_others_alone(device: str) -> None:
    model, pose = heaps(6, device)
    contacts = tc.create_contacts(model)
    ranges = tc.split_environments(model, [0, 2, 6])
    assert ranges is not None
    tc.collide_range(model, ranges[0], pose, contacts)
    assert (contacts.count.numpy()[:2] > 0).all()
    assert (contacts.count.numpy()[2:] == 0).all()
    slots = contacts.slot_start.numpy()
    assert (contacts.separation.numpy()[slots[2] :] == 0).all()


def test_one_large_world_has_no_ranges(device: str) -> None:
    model, _ = heaps(2, device)
    searched = dataclasses.replace(model, chunk_pair=model.pair_start)
    assert tc.split_environments(searched, [0, 1, 2]) is None


@pytest.mark.parametrize("bounds", [[0, 5], [0, 1, 2, 3, 4, 5]])
def test_pairs_of_ranges_are_those_of_the_model(device: str, bounds: list[int]) -> None:
    model, _ = heaps(5, device)
    ranges = tc.split_environments(model, bounds)
    assert ranges is not None
    for family, members in model.family_pairs.items():
        parts = np.concatenate([r.families[family].numpy() for r in ranges if family in r.families])
        given = members.numpy()
        if not model.device.is_cpu:  # a GPU takes the same pair of all environments side by side
            parts, given = np.sort(parts), np.sort(given)
        np.testing.assert_array_equal(parts, given)


def test_too_few_slots_keep_the_deepest_of_each_environment(device: str) -> None:
    """Environments lend each other slots on a CPU; those that overflow must not disturb the others."""
    model, pose = heaps(40, device)
    whole, few = tc.create_contacts(model), tc.create_contacts(model, capacity=np.full(40, 5))
    for _ in range(2):  # counts of the first call are left behind
        tc.collide(model, pose, whole)
        tc.collide(model, pose, few)
    counts = whole.count.numpy()
    assert counts.min() <= 5 < counts.max()
    np.testing.assert_array_equal(few.count.numpy(), np.minimum(counts, 5))
    np.testing.assert_array_equal(few.overflow.numpy(), counts > 5)
    np.testing.assert_array_equal(few.required.numpy(), counts)
    names = ("key", "shape0", "shape1", "separation", "anchor0", "anchor1", "normal", "static_friction")
    for e, count in enumerate(counts):
        start, kept = whole.slot_start.numpy()[e], few.slot_start.numpy()[e]
        deepest = np.sort(np.argsort(whole.separation.numpy()[start : start + count], kind="stable")[:5])
        for name in names:
            expected = getattr(whole, name).numpy()[start + deepest]
            np.testing.assert_array_equal(getattr(few, name).numpy()[kept : kept + len(deepest)], expected)


def test_launches_are_counted(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, pose = heaps(3, device)
    contacts = tc.create_contacts(model)
    launched = []
    launch = wp.launch
    monkeypatch.setattr(wp, "launch", lambda *given, **named: (launched.append(1), launch(*given, **named)))
    tc.collide(model, pose, contacts)
    assert len(launched) == tc.collide_launch_count(model)
