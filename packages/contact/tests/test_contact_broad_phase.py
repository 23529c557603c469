"""Search for near pairs in one world, against all pairs and brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import warp as wp
from hypothesis import given
from hypothesis import strategies as st

import tensorphys_contact as tc
from tensorphys_contact import ShapeType

HULL = tc.cook_hull(np.array(list(itertools.product((-0.1, 0.2), repeat=3))))
MESH = tc.cook_height_field(np.zeros((9, 9)), (0.5, 0.5))
FIELDS = ("shape0", "shape1", "anchor0", "anchor1", "normal", "separation")


def world(seed: int, count: int, spread: float, pairs, device: str) -> tuple[tc.Model, wp.array]:
    """A ground plane, a mesh, a large static box, and small shapes of all kinds, some with two on a body."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(1, 8, count)
    size = rng.uniform(0.05, 0.2, (count, 3))
    body = np.arange(count) // 2 * 2  # two shapes on each
    body[rng.random(count) < 0.1] = -1
    q = rng.normal(size=(2, count, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    local = np.concatenate([rng.normal(size=(count, 3)) * 0.1, q[0]], axis=1)
    pose = np.concatenate([rng.uniform(-spread, spread, (count, 3)), q[1]], axis=1).astype(np.float32)
    fixed = body < 0
    local[fixed, :3] += pose[fixed, :3]
    total = count + 3
    model = tc.build_model(
        shape_type=[*kind, ShapeType.BOX, ShapeType.HEIGHT_FIELD, ShapeType.PLANE],
        shape_body=[*body, -1, -1, -1],
        shape_pose=[
            *local,
            *[[0, 0, -spread - 0.5, 0, 0, 0, 1]],
            [-2, -2, -spread, 0, 0, 0, 1],
            [0, 0, -spread, 0, 0, 0, 1],
        ],
        shape_size=[*size, (3 * spread, 3 * spread, 0.5), (0, 0, 0), (0, 0, 0)],
        shape_environment=[0] * (count + 1) + [-1, -1],
        pairs=pairs(body),
        environment_count=1,
        shape_material=np.zeros(total, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(total, 0.01),
        rest_offset=np.zeros(total),
        shape_hull=[*np.where(kind == 4, 0, -1), -1, -1, -1],
        hulls=[HULL],
        shape_mesh=[-1] * count + [-1, 0, -1],
        meshes=[MESH],
        device=device,
    )
    return model, wp.array(pose, dtype=wp.transform, device=device)


def solve(model: tc.Model, pose: wp.array) -> tuple[tc.Contacts, dict]:
    contacts = tc.create_contacts(model)
    tc.collide(model, pose, contacts)
    count = int(contacts.count.numpy()[0])
    return contacts, {name: getattr(contacts, name).numpy()[:count] for name in (*FIELDS, "key")}


@given(seed=st.integers(0, 10**6), count=st.integers(2, 60), spread=st.sampled_from([0.25, 0.5, 1.0, 4.0]))
def test_search_finds_what_all_pairs_give(device: str, seed: int, count: int, spread: float) -> None:
    """Never a missed pair: the contacts of the search are those of all pairs, in the same order."""
    environment = [0] * (count + 1) + [-1, -1]
    every, pose = world(
        seed, count, spread, lambda body: tc.candidate_pairs([*body, -1, -1, -1], environment), device
    )
    search, _ = world(seed, count, spread, lambda body: tc.PairSearch(4096), device)
    _, expected = solve(every, pose)
    contacts, found = solve(search, pose)
    for name in FIELDS:
        assert np.array_equal(found[name], expected[name])
    assert (np.diff(found["key"]) > 0).all()
    assert not contacts.overflow.numpy().any()
    assert not search.search.overflow.numpy().any()


def test_pairs_that_are_filtered_are_not_found(device: str) -> None:
    search, pose = world(3, 40, 0.3, lambda body: tc.PairSearch(4096), device)
    _, found = solve(search, pose)
    shapes = np.stack([found["shape0"], found["shape1"]], axis=1)
    body = search.shape_body.numpy()
    pair = shapes[len(shapes) // 2]
    bodies = body[shapes[len(shapes) // 3]]
    fewer, _ = world(
        3,
        40,
        0.3,
        lambda _: tc.PairSearch(4096, filtered_pairs=[pair[::-1]], filtered_body_pairs=[bodies]),
        device,
    )
    _, left = solve(fewer, pose)
    gone = (shapes == pair).all(axis=1) | (np.sort(body[shapes], axis=1) == np.sort(bodies)).all(axis=1)
    assert gone.sum() > 0
    assert np.array_equal(left["shape0"], found["shape0"][~gone])
    assert np.array_equal(left["separation"], found["separation"][~gone])


def test_too_many_pairs_are_flagged_and_counted(device: str) -> None:
    enough, pose = world(4, 60, 0.3, lambda body: tc.PairSearch(4096), device)
    solve(enough, pose)
    required = int(enough.search.required.numpy()[0])
    few, _ = world(4, 60, 0.3, lambda body: tc.PairSearch(required // 2), device)
    contacts, first = solve(few, pose)
    assert few.search.overflow.numpy().tolist() == [1, 0]
    assert few.search.required.numpy().tolist() == [required, 0]
    assert contacts.overflow.numpy().tolist() == [1]
    _, second = solve(few, pose)
    assert all(np.array_equal(first[name], second[name]) for name in first)
    exact, _ = world(4, 60, 0.3, lambda body: tc.PairSearch(required), device)
    solve(exact, pose)
    assert exact.search.overflow.numpy().tolist() == [0, 0]


def test_what_a_search_cannot_do_is_named(device: str) -> None:
    with pytest.raises(tc.PairError, match="capacity"):
        world(0, 4, 1.0, lambda body: tc.PairSearch(0), device)
    base = {
        "shape_pose": [[0, 0, 0, 0, 0, 0, 1]],
        "shape_environment": [0],
        "shape_material": [0],
        "materials": tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        "contact_offset": [0.0],
        "rest_offset": [0.0],
        "pairs": tc.PairSearch(8),
        "device": device,
    }
    with pytest.raises(tc.PairError, match="2 environments"):
        tc.build_model(shape_type=[1], shape_body=[0], shape_size=[[1, 0, 0]], environment_count=2, **base)
    with pytest.raises(tc.PairError, match="no shape but planes"):
        tc.build_model(shape_type=[0], shape_body=[-1], shape_size=[[0, 0, 0]], environment_count=1, **base)


def test_a_search_runs_as_a_recorded_graph_and_does_not_wait(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, pose = world(5, 50, 0.4, lambda body: tc.PairSearch(4096), device)
    moved = world(6, 50, 0.4, lambda body: tc.PairSearch(4096), device)[1]
    contacts, first = solve(model, pose)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the step must neither read back nor wait")

    with monkeypatch.context() as patch:
        patch.setattr(wp.array, "numpy", refuse)
        for name in ("zeros", "empty", "clone", "synchronize", "synchronize_device", "synchronize_stream"):
            patch.setattr(wp, name, refuse)
        with wp.ScopedCapture(device=device) as capture:
            tc.collide(model, pose, contacts)
    wp.copy(pose, moved)
    wp.capture_launch(capture.graph)
    count = int(contacts.count.numpy()[0])
    replayed = {name: getattr(contacts, name).numpy()[:count] for name in (*FIELDS, "key")}
    _, direct = solve(model, moved)
    assert not np.array_equal(first["key"], direct["key"])
    for name, value in direct.items():
        assert np.array_equal(replayed[name], value)
