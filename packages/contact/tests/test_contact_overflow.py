"""Buffers that are too small: counted, flagged, and grown, raised or warned about."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
import tensorphys_sdf as ts
from tensorphys_contact import ShapeType

EYE = (0.0, 0.0, 0.0, 1.0)
NAMES = ("shape0", "shape1", "separation", "key")


def boxes_on_a_plane(environments: int, device: str) -> tuple[tc.Model, wp.array]:
    """Two boxes each, the higher environments with both on the ground."""
    model = tc.build_model(
        shape_type=[ShapeType.BOX] * (2 * environments) + [ShapeType.PLANE],
        shape_body=[*range(2 * environments), -1],
        shape_pose=[[0, 0, 0, *EYE]] * (2 * environments + 1),
        shape_size=[[0.1, 0.1, 0.1]] * (2 * environments) + [[0, 0, 0]],
        shape_environment=[*np.repeat(np.arange(environments), 2), -1],
        pairs=[[2 * e + k, 2 * environments] for e in range(environments) for k in range(2)],
        environment_count=environments,
        shape_material=np.zeros(2 * environments + 1, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(2 * environments + 1, 0.01),
        rest_offset=np.zeros(2 * environments + 1),
        device=device,
    )
    pose = np.tile([0.0, 0, 5, *EYE], (2 * environments, 1))
    pose[1::2, 0] = 1.0
    pose[0::2, 2] = 0.0995
    pose[2 * (environments // 2) + 1 :: 2, 2] = 0.0985
    return model, wp.array(pose.astype(np.float32), dtype=wp.transform, device=device)


def used(contacts: tc.Contacts) -> list[dict[str, np.ndarray]]:
    start, count = contacts.slot_start.numpy(), contacts.count.numpy()
    return [
        {n: getattr(contacts, n).numpy()[s : s + c] for n in NAMES}
        for s, c in zip(start[:-1], count, strict=True)
    ]


def test_contacts_that_do_not_fit_are_the_shallowest_and_are_counted(device: str) -> None:
    model, pose = boxes_on_a_plane(4, device)
    contacts = tc.create_contacts(model, capacity=[4, 4, 6, 6])
    tc.collide(model, pose, contacts)
    assert contacts.count.numpy().tolist() == [4, 4, 6, 6]
    assert contacts.required.numpy().tolist() == [4, 4, 8, 8]
    assert contacts.overflow.numpy().tolist() == [0, 0, 1, 1]
    for found in used(contacts)[2:]:
        # All four of the deeper box, and of the equal ones of the other the first.
        assert np.sum(found["separation"] < -0.001) == 4
        assert (np.diff(found["key"]) > 0).all()
    found = tc.find_shortages(model, contacts)
    assert [(s.buffer, s.environment, s.required, s.capacity) for s in found] == [
        ("contacts", 2, 8, 6),
        ("contacts", 3, 8, 6),
    ]


def test_growing_keeps_what_was_handed_out(device: str) -> None:
    model, pose = boxes_on_a_plane(4, device)
    contacts = tc.create_contacts(model, capacity=[4, 4, 6, 6])
    assert tc.settle_overflow(model, contacts) is contacts
    tc.collide(model, pose, contacts)
    held = contacts.separation
    before = held.numpy().copy()
    grown = tc.settle_overflow(model, contacts, on_overflow="grow")
    assert grown is not contacts
    assert np.diff(grown.slot_start.numpy()).tolist() == [4, 4, 8, 8]
    tc.collide(model, pose, grown)
    assert np.array_equal(held.numpy(), before)
    assert not grown.overflow.numpy().any()
    whole = tc.create_contacts(model)
    tc.collide(model, pose, whole)
    for a, b in zip(used(grown), used(whole), strict=True):
        assert all(np.array_equal(a[n], b[n]) for n in NAMES)
    assert tc.settle_overflow(model, grown) is grown


def test_raising_and_warning_name_buffer_environment_and_size(device: str) -> None:
    model, pose = boxes_on_a_plane(2, device)
    contacts = tc.create_contacts(model, capacity=[4, 5])
    tc.collide(model, pose, contacts)
    names = ["/World/a", "/World/b"]
    with pytest.raises(tc.CapacityError, match="contacts: /World/b needs 8, 5 fit"):
        tc.settle_overflow(model, contacts, on_overflow="raise", environment_path=names)
    with pytest.warns(tc.CapacityWarning, match="contacts: environment 1 needs 8, 5 fit"):
        assert tc.settle_overflow(model, contacts, on_overflow="warn") is contacts
    assert tc.settle_overflow(model, contacts, on_overflow="raise") is contacts
    tc.collide(model, pose, contacts)
    with pytest.raises(tc.CapacityError):
        tc.settle_overflow(model, contacts, on_overflow="raise")
    with pytest.raises(ValueError, match="'grow', 'raise' or 'warn'"):
        tc.settle_overflow(model, contacts, on_overflow="ignore")  # type: ignore[arg-type]
    with pytest.raises(tc.ArrayError, match="expected 2 numbers"):
        tc.create_contacts(model, capacity=[1])


def heap(capacity: int, sampled_capacity: int, device: str) -> tuple[tc.Model, wp.array]:
    """Balls, sets of spheres and cubes as fields in one world, over a plane."""
    corners = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.1, 0.1)])
    squares = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = [t for a, b, c, d in squares for t in ((a, b, c), (a, c, d))]
    field = tc.cook_sdf(corners, triangles, parameters=ts.FieldParameters(resolution=16), device=device)
    pair = tc.cook_spheres([[-0.05, 0, 0], [0.05, 0, 0]], 0.08)
    kinds = [ShapeType.SPHERE, ShapeType.SPHERES, ShapeType.SDF] * 6
    count = len(kinds)
    kind = np.array(kinds)
    model = tc.build_model(
        shape_type=[*kinds, ShapeType.PLANE],
        shape_body=[*range(count), -1],
        shape_pose=[[0, 0, 0, *EYE]] * (count + 1),
        shape_size=[[0.1, 0, 0] if k == ShapeType.SPHERE else [1, 1, 1] for k in kinds] + [[0, 0, 0]],
        shape_environment=[0] * (count + 1),
        pairs=tc.PairSearch(capacity, sampled_capacity=sampled_capacity)
        if capacity
        else tc.candidate_pairs([*range(count), -1], [0] * (count + 1)),
        environment_count=1,
        shape_material=np.zeros(count + 1, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(count + 1, 0.005),
        rest_offset=np.zeros(count + 1),
        shape_sdf=[*np.where(kind == ShapeType.SDF, 0, -1), -1],
        sdfs=[field],
        shape_spheres=[*np.where(kind == ShapeType.SPHERES, 0, -1), -1],
        sphere_sets=[pair],
        device=device,
    )
    place = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)[:count]
    rng = np.random.default_rng(1)
    q = rng.normal(size=(count, 4))
    pose = np.concatenate([place * 0.19 + [0, 0, 0.09], q / np.linalg.norm(q, axis=1)[:, None]], axis=1)
    return model, wp.array(pose.astype(np.float32), dtype=wp.transform, device=device)


def test_a_search_grows_by_what_it_needs(device: str) -> None:
    """With pairs of every kind; grown, it finds what all pairs give, in the same order."""
    every, pose = heap(0, 0, device)
    whole = tc.create_contacts(every)
    tc.collide(every, pose, whole)
    (expected,) = used(whole)
    model, pose = heap(12, 5, device)
    contacts = tc.create_contacts(model)
    held = model.pair_shape0
    tc.collide(model, pose, contacts)
    found = {s.buffer: s for s in tc.find_shortages(model, contacts)}
    assert set(found) == {"pair search", "sampled pairs of the search"}
    with pytest.raises(tc.CapacityError, match="pair search: environment 0 needs"):
        tc.settle_overflow(model, contacts, on_overflow="raise")
    for _ in range(3):
        # What was dropped may have hidden more: as often as needed.
        grown = tc.settle_overflow(model, contacts)
        if grown is contacts:
            break
        contacts = grown
        tc.collide(model, pose, contacts)
    assert model.pair_count >= found["pair search"].required
    assert held is not model.pair_shape0
    assert not tc.find_shortages(model, contacts)
    (result,) = used(contacts)
    assert len(expected["key"]) > 40
    for name in ("shape0", "shape1", "separation"):
        assert np.array_equal(result[name], expected[name])
    assert np.array_equal(result["key"] & 0xFFFFFFFF, expected["key"] & 0xFFFFFFFF)
