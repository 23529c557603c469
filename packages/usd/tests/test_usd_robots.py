"""Robots that others made: the one that the repository ships, and all that `tools/fetch_robots.py` converts."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from tensorphys_scene import Scene
from tensorphys_usd import parse_stage

# Bodies and degrees of freedom without the six of a floating base, as the converters' own tools count them.
_COUNTS = {
    "gym_ant": (13, 8, False),
    "gym_half_cheetah": (7, 9, True),
    "gym_hopper": (4, 6, True),
    "gym_humanoid": (13, 17, False),
    "gym_inverted_pendulum": (2, 2, True),
    "gym_inverted_double_pendulum": (3, 3, True),
    "gym_walker2d_v5": (7, 9, True),
    "gym_swimmer": (3, 5, True),
    "gym_reacher": (4, 4, True),
    "gym_pusher_v5": (12, 11, True),
    "newton_nv_ant": (9, 8, False),
    "newton_nv_humanoid": (13, 21, False),
    "newton_quadruped": (13, 12, True),
    "newton_cartpole_urdf": (4, 3, True),
    "mjwarp_humanoid": (16, 21, False),
    "erd_panda": (11, 9, True),
    "erd_g1": (35, 29, True),
    "erd_anymal_c": (59, 12, True),
    "erd_ur5": (8, 6, True),
    "erd_xarm7": (8, 7, True),
    "erd_allegro_right": (21, 16, True),
    "erd_talos_reduced": (56, 32, True),
    "erd_simple_humanoid": (30, 29, True),
    "erd_double_pendulum": (3, 2, True),
}
_PANDA = Path(__file__).parents[3] / "examples" / "panda" / "panda.usdc"


def robot(name: str, **arguments: object) -> Scene:
    folder = Path(os.environ.get("TENSORPHYS_ROBOTS", "robots")) / name
    files = sorted(path for path in folder.glob("*.usd*"))
    if not files:
        pytest.skip(
            f"no converted {name}; set TENSORPHYS_ROBOTS to the folder that tools/fetch_robots.py wrote"
        )
    return parse_stage(files[0], **arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", sorted(_COUNTS))
def test_bodies_and_degrees_of_freedom(name: str) -> None:
    template = robot(name).templates[0]
    bodies, dofs, fixed = _COUNTS[name]
    assert (template.bodies.count, template.axes.count) == (bodies, dofs)
    assert template.articulations.fixed_base[0] == fixed
    assert template.links.count == bodies
    assert len(set(template.links.body.tolist())) == bodies
    # Every joint of the tree that moves belongs to exactly one link.
    owned = [
        joint
        for first, count in zip(template.links.joint, template.links.joint_count, strict=True)
        for joint in range(first, first + count)
    ]
    assert len(owned) == len(set(owned))
    assert set(template.axes.joint.tolist()) <= set(owned)
    assert (np.linalg.eigvalsh(template.bodies.inertia) > 0.0).all()


@pytest.mark.parametrize("name", ["erd_panda", "newton_quadruped", "gym_half_cheetah"])
def test_a_freed_base_floats(name: str) -> None:
    fixed, free = robot(name).templates[0], robot(name, free_base="*").templates[0]
    assert fixed.articulations.fixed_base.all()
    assert not free.articulations.fixed_base.any()
    assert free.links.path == fixed.links.path
    assert free.links.joint[0] == -1
    world = (fixed.joints.body0 < 0) | (fixed.joints.body1 < 0)
    np.testing.assert_array_equal(free.joints.enabled, ~world)


def test_joints_that_add_mobility() -> None:
    template = robot("newton_nv_humanoid").templates[0]
    row = template.links.row("/humanoid/Geometry/torso/lower_waist/pelvis/right_thigh")
    first = template.links.joint[row]
    assert template.links.joint_count[row] == 3
    names = [path.rpartition("/")[2] for path in template.joints.path[first : first + 3]]
    assert names == ["right_hip_x", "right_hip_z", "right_hip_y"]
    assert template.axes.effort_limit[template.axes.names.index("abdomen_y")] == pytest.approx(67.5)


@pytest.mark.skipif(not _PANDA.exists(), reason="only in a checkout of the repository")
def test_the_panda_of_the_repository() -> None:
    scene = parse_stage(_PANDA)
    template = scene.templates[0]
    assert template.axes.names == tuple(f"panda_joint{index}" for index in range(1, 8)) + (
        "panda_finger_joint1",
        "panda_finger_joint2",
    )
    assert template.links.parent.tolist() == [-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8]
    np.testing.assert_allclose(template.axes.lower[3], -3.0718, atol=1e-3)
    np.testing.assert_allclose(template.axes.max_velocity[0], 2.175, atol=1e-3)
    assert template.axes.effort_limit[:7].tolist() == [87.0] * 4 + [12.0] * 3
    fingers = template.mimic_joints
    names = [template.axes.names[row] for row in (fingers.axis[0], fingers.reference[0])]
    assert names == ["panda_finger_joint2", "panda_finger_joint1"]
    assert fingers.gearing.tolist() == [-1.0]
