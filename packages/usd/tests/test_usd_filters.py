"""Pairs that never collide."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pxr import Usd

from tensorphys_scene import Scene
from tensorphys_usd import parse_stage


def cube(name: str, extra: str = "", schemas: str = "") -> str:
    listed = ", ".join(filter(None, ['"PhysicsRigidBodyAPI"', '"PhysicsCollisionAPI"', schemas]))
    return f'def Cube "{name}" (prepend apiSchemas = [{listed}]) {{\n{extra}\n}}\n'


def named(scene: Scene) -> set[str]:
    template = scene.templates[0]
    return {
        "".join(sorted(template.shapes.path[shape][-1] for shape in pair)) for pair in template.filtered_pairs
    }


def group(name: str, members: list[str], filtered: list[str], extra: str = "") -> str:
    colliders = ", ".join(f"</{member}>" for member in members)
    groups = ", ".join(f"</{other}>" for other in filtered)
    relation = f"rel physics:filteredGroups = [{groups}]" if filtered else ""
    return f"""
    def PhysicsCollisionGroup "{name}" (prepend apiSchemas = ["CollectionAPI:colliders"]) {{
        rel collection:colliders:includes = [{colliders}]
        {relation}
        {extra}
    }}
    """


def test_filtered_pairs_of_bodies_and_colliders(scene_of: Callable[..., Scene]) -> None:
    filters = '"PhysicsFilteredPairsAPI"'
    text = cube("A", "rel physics:filteredPairs = [</B>, </Nothing>]", filters) + cube("B") + cube("C")
    scene = scene_of(text)
    assert named(scene) == {"AB"}
    assert [path for path, text in scene.findings if "/Nothing" in text] == ["/A"]


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (group("G", ["A", "B"], ["H"]) + group("H", ["C"], []), {"AC", "BC"}),
        (group("G", ["A", "B"], ["G"]), {"AB"}),
        (group("G", ["A"], []) + group("H", ["B"], []), set()),
        (
            group("G", ["A"], ["H"], "bool physics:invertFilteredGroups = 1")
            + group("H", ["B"], [])
            + group("I", ["C"], []),
            {"AC"},
        ),
        # Groups that merge are one group, and each filters what any of them does.
        (
            group("G", ["A"], ["I"], 'string physics:mergeGroup = "both"')
            + group("H", ["B"], [], 'string physics:mergeGroup = "both"')
            + group("I", ["C"], []),
            {"AC", "BC"},
        ),
    ],
)
def test_collision_groups(scene_of: Callable[..., Scene], groups: str, expected: set[str]) -> None:
    scene = scene_of(cube("A") + cube("B") + cube("C") + groups)
    assert named(scene) == expected
    assert scene.templates[0].shapes.collision_group[0] == 0


def test_a_scene_that_inverts_the_filters_of_groups(stage_of: Callable[[str], Usd.Stage]) -> None:
    """Groups collide only with those that they list, as the filter of cloned environments is authored."""
    scene = 'def PhysicsScene "S" { bool physxScene:invertCollisionGroupFilter = 1; }\n'
    groups = (
        group("E0", ["A", "B"], ["E0", "G"])
        + group("E1", ["C"], ["E1", "G"])
        + group("G", ["D"], ["E0", "E1"])
    )
    made = parse_stage(stage_of(scene + cube("A") + cube("B") + cube("C") + cube("D") + groups))
    assert named(made) == {"AC", "BC"}
    assert made.findings == ()


def test_pairs_are_sorted_and_unique(scene_of: Callable[..., Scene]) -> None:
    filters = '"PhysicsFilteredPairsAPI"'
    text = cube("A", "rel physics:filteredPairs = [</C>, </B>]", filters)
    text += cube("B", "rel physics:filteredPairs = [</A>, </B>]", filters) + cube("C")
    assert scene_of(text).templates[0].filtered_pairs.tolist() == [[0, 1], [0, 2]]
