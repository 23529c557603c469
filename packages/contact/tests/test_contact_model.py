"""Candidate pairs and the checks of build_model."""

from __future__ import annotations

import itertools
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tensorphys_contact as tc
from tensorphys_contact import ShapeType

IDENTITY = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[int], list[int], list[tuple[int, int]]]:
    """Bodies, environments and filtered pairs of a few shapes."""
    body: list[int] = []
    environment: list[int] = []
    next_body = 0
    for e in range(draw(st.integers(1, 3))):
        for _ in range(draw(st.integers(0, 4))):
            kind = draw(st.sampled_from(["new", "same", "static"]))
            if kind == "static":
                body.append(-1)
            else:
                next_body += kind == "new" or not any(
                    b >= 0 and k == e for b, k in zip(body, environment, strict=True)
                )
                body.append(next_body - 1)
            environment.append(e)
    shared = draw(st.integers(0, 2))
    body += [-1] * shared
    environment += [-1] * shared
    pair = st.tuples(st.integers(0, max(len(body) - 1, 0)), st.integers(0, max(len(body) - 1, 0)))
    return body, environment, draw(st.lists(pair, max_size=4))


@given(world=worlds())
def test_candidate_pairs_are_what_the_rule_says(
    world: tuple[list[int], list[int], list[tuple[int, int]]],
) -> None:
    body, environment, filtered = world
    forbidden = {tuple(sorted(p)) for p in filtered}
    expected = [
        (i, j)
        for i, j in itertools.combinations(range(len(body)), 2)
        if body[i] != body[j]
        and (environment[i] == environment[j] or -1 in (environment[i], environment[j]))
        and (i, j) not in forbidden
    ]
    expected.sort(key=lambda p: (environment[p[0]], *p))
    found = tc.candidate_pairs(body, environment, filtered_pairs=np.array(filtered).reshape(-1, 2))
    assert [tuple(p) for p in found.tolist()] == expected


def test_filtered_body_pairs_hold_for_all_their_shapes() -> None:
    body, environment = [0, 0, 1, 2, -1], [0, 0, 0, 0, -1]
    found = tc.candidate_pairs(body, environment, filtered_body_pairs=[[1, 0], [2, -1]])
    assert found.tolist() == [[0, 3], [0, 4], [1, 3], [1, 4], [2, 3], [2, 4]]


def test_replicated_pairs_equal_built_ones() -> None:
    body = [0, 1, 1, 2]
    template = tc.candidate_pairs([*body, -1, -1], [0] * 4 + [-1, -1])
    many = tc.replicate_pairs(template, 4, 5, shared_shape_count=2)
    bodies = [b + 3 * e for e in range(5) for b in body] + [-1, -1]
    assert np.array_equal(many, tc.candidate_pairs(bodies, [e for e in range(5) for _ in body] + [-1, -1]))


def test_many_environments_are_built_quickly() -> None:
    template = np.array(list(itertools.combinations(range(10), 2)))[:40]
    begin = time.perf_counter()
    pairs = tc.replicate_pairs(template, 10, 16384)
    count = 10 * 16384
    model = tc.build_model(**arguments(count, pairs, 16384, np.repeat(np.arange(16384), 10)))
    assert model.pair_count == 16384 * 40
    # One second is asked for on an idle machine; a shared one gets some more.
    assert time.perf_counter() - begin < 4.0


@pytest.mark.parametrize(
    ("body", "environment", "words"),
    [
        ([0, 1], [1, 0], "sorted by environment"),
        ([0, 1], [-1, 0], "sorted by environment"),
        ([0, 1], [0, -1], "moving body"),
        ([0], [0, 0], "equally long"),
    ],
)
def test_candidate_pairs_refuses(body: list[int], environment: list[int], words: str) -> None:
    with pytest.raises(tc.PairError, match=words):
        tc.candidate_pairs(body, environment)


def test_replicate_pairs_refuses_an_index_outside_of_the_template() -> None:
    with pytest.raises(tc.PairError, match=r"0\.\.3"):
        tc.replicate_pairs([[0, 4]], 3, 2, shared_shape_count=1)


def arguments(count: int, pairs: object, environment_count: int = 1, environment: object = None) -> dict:
    return {
        "shape_type": np.full(count, int(ShapeType.SPHERE)),
        "shape_body": np.arange(count),
        "shape_pose": np.tile(IDENTITY, (count, 1)),
        "shape_size": np.tile([0.5, 0.0, 0.0], (count, 1)),
        "shape_environment": np.zeros(count, dtype=int) if environment is None else environment,
        "pairs": pairs,
        "environment_count": environment_count,
        "shape_material": np.zeros(count, dtype=int),
        "materials": tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        "contact_offset": np.full(count, 0.01),
        "rest_offset": np.zeros(count),
        "device": "cpu",
    }


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"shape_type": [1, 10]}, tc.ShapeError, r"shape 1 \(SDF\) has the impossible size"),
        ({"shape_type": [1, 77]}, tc.UnsupportedShapeError, "77 is unknown"),
        ({"shape_type": [1, 4]}, tc.HullError, "shape 1 is a convex hull"),
        ({"shape_body": [0]}, tc.ShapeError, r"shape_body: expected shape \(2,\)"),
        ({"shape_size": [[0.5, 0, 0], [0, 0, 0]]}, tc.ShapeError, r"shape 1 \(SPHERE\).*impossible size"),
        ({"shape_type": [3, 1]}, tc.ShapeError, r"shape 0 \(BOX\)"),
        ({"shape_pose": [IDENTITY, [0, np.nan, 0, 0, 0, 0, 1]]}, tc.ShapeError, "shape 1 has values"),
        ({"shape_pose": [IDENTITY, [0, 0, 0, 0, 0, 0, 2]]}, tc.ShapeError, "quaternion of length 2"),
        ({"shape_environment": [0, 1]}, tc.ShapeError, r"-1\.\.0"),
        ({"shape_material": [0, 1]}, tc.ShapeError, r"shape_material must lie in 0\.\.0"),
        ({"materials": tc.Materials([0.5], [0.5], [0.0], [4], [0])}, tc.ShapeError, "combine modes"),
        ({"materials": tc.Materials([0.5], [0.5, 1], [0.0], [1], [0])}, tc.ShapeError, "one value"),
        ({"contact_offset": [0.1, np.inf]}, tc.ShapeError, "contact_offset: shape 1 is not finite"),
        ({"pairs": [[0, 2]]}, tc.PairError, r"outside of 0\.\.1"),
        ({"pairs": [[1, 1]]}, tc.PairError, "one body"),
        ({"shape_body": [3, 3]}, tc.PairError, "one body"),
        ({"body_environment": [0]}, tc.ShapeError, "body 1 of 1"),
        ({"body_environment": [0, 1]}, tc.ShapeError, "shape 1 is of environment 0"),
        ({"environment_origin": [0.0, 0.0, 0.0]}, tc.ShapeError, "environment_origin"),
    ],
)
def test_build_model_names_what_is_wrong(change: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        tc.build_model(**{**arguments(2, [[0, 1]]), **change})


def test_pairs_across_environments_are_refused() -> None:
    with pytest.raises(tc.PairError, match="couples two environments"):
        tc.build_model(**arguments(2, [[0, 1]], 2, [0, 1]))
    with pytest.raises(tc.PairError, match="sorted by environment"):
        tc.build_model(**arguments(4, [[2, 3], [0, 1]], 2, [0, 0, 1, 1]))


def test_unsupported_pairs_are_listed_and_left_out() -> None:
    model = tc.build_model(**{**arguments(3, [[0, 1], [2, 0]]), "shape_type": [0, 0, 1]})
    assert model.pair_count == 1
    assert model.unsupported_pairs.tolist() == [[0, 1]]
    with pytest.raises(tc.UnsupportedPairError, match="PLANE against PLANE"):
        tc.manifold_size(ShapeType.PLANE, ShapeType.PLANE)


def test_every_error_has_the_base_class() -> None:
    names = [name for name in tc.__all__ if name.endswith("Error")]
    assert all(issubclass(getattr(tc, name), tc.ContactError) for name in names)
