"""Pairing of contact sensors with their filters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorphys_patterns import (
    NoMatchError,
    PairingError,
    PathTree,
    PatternError,
    pair_filter_lists,
    pair_filters,
    pair_patterns,
)

SENSORS = ["/e0/foot", "/e1/foot", "/e2/foot"]


def test_one_to_one_and_broadcast():
    boxes = ["/e0/box", "/e1/box", "/e2/box"]
    pairing = pair_filters(SENSORS, [boxes, ["/ground"]])
    assert pairing.filters == tuple((box, "/ground") for box in boxes)
    assert pairing.filter_count == 2
    assert pairing.problems == ()


@pytest.mark.parametrize("hits", [[], ["/a", "/b"], ["/a", "/b", "/c", "/d"]])
def test_unfit_number_empties_the_column_and_is_reported(hits):
    pairing = pair_filters(SENSORS, [hits, ["/ground"]], labels=["'/x*'", "'/ground'"])
    assert pairing.filters == (("", "/ground"),) * 3
    assert len(pairing.problems) == 1
    assert f"'/x*' matches {len(hits)} paths for 3 sensors" in pairing.problems[0]


def test_labels_must_fit():
    with pytest.raises(PairingError):
        pair_filters(SENSORS, [["/ground"]], labels=[])


def test_no_filters():
    pairing = pair_filters(SENSORS, [])
    assert pairing.filters == ((), (), ())
    assert pairing.filter_count == 0


def test_argument_shapes():
    assert pair_filter_lists("/a", None) == [("/a", ())]
    assert pair_filter_lists(["/a", "/b"], None) == [("/a", ()), ("/b", ())]
    assert pair_filter_lists("/a", ["/x", "/y"]) == [("/a", ("/x", "/y"))]
    assert pair_filter_lists(["/a", "/b"], [["/x"], ["/y"]]) == [("/a", ("/x",)), ("/b", ("/y",))]


@pytest.mark.parametrize(
    ("sensors", "filters", "reason"),
    [
        ("/a", "/x", "a list, given the text"),
        ("/a", [["/x"]], "flat list"),
        (["/a"], ["/x"], "one list of filter patterns for each"),
        (["/a", "/b"], [["/x"]], "2 sensor patterns need as many filter lists, given 1"),
        (["/a", "/b"], [["/x"], ["/x", "/y"]], r"same number of filters, given \[1, 2\]"),
    ],
)
def test_argument_shapes_that_do_not_fit(sensors, filters, reason):
    with pytest.raises(PairingError, match=reason):
        pair_filter_lists(sensors, filters)


def test_patterns_in_a_tree():
    tree = PathTree([f"/e{i}/{name}" for i in range(3) for name in ("foot", "hand", "box")] + ["/ground"])
    pairing = pair_patterns(["/e*/foot", "/e*/hand"], [["/e*/box", "/ground"], ["/ground", "/e*/foot"]], tree)
    assert pairing.sensors == (*SENSORS, "/e0/hand", "/e1/hand", "/e2/hand")
    assert pairing.filters == (
        *((f"/e{i}/box", "/ground") for i in range(3)),
        *(("/ground", f"/e{i}/foot") for i in range(3)),
    )
    relative = pair_patterns("/e*/foot", ["ground", "/e0/*"], tree)
    assert relative.filters[1] == ("", "/e0/hand")
    assert len(relative.problems) == 1
    assert "relative" in relative.problems[0]
    with pytest.raises(PatternError):
        pair_patterns("e*/foot", None, tree)
    with pytest.raises(NoMatchError, match="/e\\*/toe"):
        pair_patterns("/e*/toe", None, tree)


@given(st.integers(1, 5), st.lists(st.integers(0, 6), max_size=4))
def test_table_is_rectangular(sensor_count, hit_counts):
    sensors = [f"/s{i}" for i in range(sensor_count)]
    hits = [[f"/f{c}_{i}" for i in range(count)] for c, count in enumerate(hit_counts)]
    pairing = pair_filters(sensors, hits)
    assert [len(row) for row in pairing.filters] == [len(hit_counts)] * sensor_count
    for column, count in enumerate(hit_counts):
        values = [row[column] for row in pairing.filters]
        if count == sensor_count:
            assert values == hits[column]
        elif count == 1:
            assert values == hits[column] * sensor_count
        else:
            assert values == [""] * sensor_count
    assert len(pairing.problems) == sum(count not in (1, sensor_count) for count in hit_counts)
