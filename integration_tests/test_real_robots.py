"""Robots that others made, as `tools/fetch_robots.py` brings them: `nox -s robots` fetches them and runs these tests."""

import os
import pathlib

import pytest

from tensorphys_usd import parse_stage

pytestmark = pytest.mark.robots

# Bodies, degrees of freedom and fixed base; counted in the model files (URDF joints that are not fixed, MJCF
# joints that are not free, USD joint axes that are not locked), not by this project. The URDF converter fixes
# every base to the world.
EXPECTED = {
    "panda": (11, 9, True),
    "ur5": (8, 6, True),
    "anymal_c": (59, 12, True),
    "g1": (35, 29, True),
    "talos": (56, 32, True),
    "ant": (13, 8, False),
    "humanoid": (13, 17, False),
    "mjwarp_humanoid": (16, 21, False),
    "newton_nv_ant": (9, 8, False),
    "newton_nv_humanoid": (13, 21, False),
    "newton_quadruped": (13, 12, True),
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
    # One of newton's stages has no PhysicsScene prim.
    scene = parse_stage(stage, require_scene=name != "newton_cartpole_single_pendulum")
    (template,) = scene.templates
    body_count, dof_count, fixed = EXPECTED[name]
    assert template.bodies.count == body_count
    assert template.articulations.fixed_base.tolist() == [fixed]
    assert template.axes.count == dof_count
    assert len(set(template.axes.names)) == dof_count


def test_every_fetched_robot_is_expected_here(robots: pathlib.Path) -> None:
    # The four-bar mechanism is a closed loop of free boxes without an articulation.
    assert {folder.name for folder in robots.iterdir() if folder.is_dir()} == {
        *EXPECTED,
        "newton_boxes_fourbar",
    }
