"""Torsional friction acts where contacts have the dimension for it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tensorphys_scene import Scene


@pytest.mark.parametrize(
    ("schemas", "authored", "resists"),
    [
        ("", "", True),
        (', "MjcCollisionAPI"', "", False),
        (', "MjcCollisionAPI"', "uniform int mjc:condim = 3", False),
        (', "MjcCollisionAPI"', "uniform int mjc:condim = 4", True),
        (', "MjcCollisionAPI"', "uniform int mjc:condim = 6", True),
    ],
)
def test_contacts_of_mujoco_resist_spin_from_dimension_four_on(
    scene_of: Callable[..., Scene], schemas: str, authored: str, resists: bool
) -> None:
    scene = scene_of(f"""
    def Sphere "Ball" (prepend apiSchemas = ["PhysicsCollisionAPI"{schemas}]) {{
        {authored}
    }}""")
    assert scene.templates[0].shapes.resists_spin.tolist() == [resists]
    assert not [text for _, text in scene.findings if "condim" in text]
