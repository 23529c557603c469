"""Robots that others made, as `tools/fetch_robots.py` brings them: `nox -s robots` fetches them and runs these tests.

How the converted ones are parsed is tested in `packages/usd`; here are the USD stages that newton ships, which no
converter has touched.
"""

import os
import pathlib

import pytest

from tensorphys_usd import parse_stage

pytestmark = pytest.mark.robots

# Bodies, degrees of freedom and fixed base, counted in the USD text: its joints, and of the generic ones the axes
# that no limit locks.
EXPECTED = {
    "newton_ant": (9, 8, False),
    "newton_humanoid": (16, 21, False),
    "newton_cartpole": (4, 3, True),
    "newton_cartpole_single_pendulum": (3, 2, True),
}


@pytest.fixture(scope="session")
def robots() -> pathlib.Path:
    """Folder of the fetched robots."""
    folder = os.environ.get("TENSORPHYS_ROBOTS")
    if not folder:
        pytest.skip("TENSORPHYS_ROBOTS names no folder of fetched robots (nox -s robots sets it)")
    return pathlib.Path(folder)


@pytest.mark.parametrize("name", list(EXPECTED))
def test_robot_loads_with_all_its_degrees_of_freedom(robots: pathlib.Path, name: str) -> None:
    (stage,) = (robots / name).glob("*.usd*")
    # One of these stages has no PhysicsScene prim.
    scene = parse_stage(stage, require_scene=name != "newton_cartpole_single_pendulum")
    (template,) = scene.templates
    body_count, dof_count, fixed = EXPECTED[name]
    assert template.bodies.count == body_count
    assert template.articulations.fixed_base.tolist() == [fixed]
    assert template.axes.count == dof_count
    assert len(set(template.axes.names)) == dof_count


def test_a_loop_of_boxes_without_an_articulation_loads_as_bodies_and_joints(robots: pathlib.Path) -> None:
    (stage,) = (robots / "newton_boxes_fourbar").glob("*.usd*")
    (template,) = parse_stage(stage).templates
    assert (template.bodies.count, template.joints.count) == (4, 4)
    assert template.articulations.count == 0
