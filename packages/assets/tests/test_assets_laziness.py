"""Buffers are filled once a step at most, only when they are read, and stand where they stood."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from asset_stages import Stage, arm_cfg, cube_cfg, here, host, make, pair_cfg, pair_stage

import tensorphys_assets as ta

pytestmark = pytest.mark.usefixtures("everywhere")


def pointer(proxy: object) -> int:
    return proxy.warp.ptr


def test_proxies_and_pointers_stay_over_steps_and_writes() -> None:
    scene, arm = make(Stage(2).arms(), arm_cfg())
    names = (
        "root_pose_w",
        "body_link_pos_w",
        "joint_pos",
        "body_com_jacobian_w",
        "joint_stiffness",
        "heading_w",
    )
    before = {name: (getattr(arm.data, name), pointer(getattr(arm.data, name))) for name in names}
    scene.step(2)
    arm.write_joint_position_to_sim_index(position=np.full((2, 4), 0.1, np.float32))
    for name, (proxy, place) in before.items():
        assert getattr(arm.data, name) is proxy
        assert pointer(proxy) == place


def test_a_quantity_is_fetched_once_a_step_and_only_when_read() -> None:
    scene, arm = make(Stage(2).arms(), arm_cfg())
    data = arm.data
    first = data.fill_count("body_link_pose_w")
    assert first == 0
    for _ in range(3):
        scene.step()
        data.body_link_pose_w, data.body_link_pos_w, data.body_link_quat_w, data.body_com_pose_w  # noqa: B018
    assert data.fill_count("body_link_pose_w") == 3
    scene.step(5)
    assert data.fill_count("body_link_pose_w") == 3


def test_properties_are_fetched_once() -> None:
    scene, arm = make(Stage(2).arms(), arm_cfg())
    fills = arm.data.fill_count("body_mass")
    for _ in range(3):
        scene.step()
        arm.data.body_mass, arm.data.joint_armature  # noqa: B018
    assert arm.data.fill_count("body_mass") == max(fills, 1)
    arm.set_masses_index(masses=np.full((2, 5), 2.0, np.float32))
    assert arm.data.fill_count("body_mass") == max(fills, 1)
    np.testing.assert_array_equal(host(arm.data.body_mass), 2.0)


@pytest.mark.parametrize(
    ("writer", "payload", "shape", "fresh", "stale"),
    [
        (
            "write_root_pose_to_sim_index",
            "root_pose",
            (2, 7),
            ("root_link_pose_w", "joint_pos", "joint_vel", "root_com_vel_w"),
            ("root_com_pose_w", "projected_gravity_b", "heading_w", "body_link_pose_w", "_root_com_vel_b"),
        ),
        (
            "write_root_velocity_to_sim_index",
            "root_velocity",
            (2, 6),
            (
                "root_com_vel_w",
                "root_link_pose_w",
                "root_com_pose_w",
                "body_link_pose_w",
                "projected_gravity_b",
            ),
            ("root_link_vel_w", "body_com_vel_w", "_root_com_vel_b"),
        ),
        (
            "write_joint_velocity_to_sim_index",
            "velocity",
            (2, 4),
            ("joint_vel", "joint_pos", "body_link_pose_w", "root_com_vel_w", "body_com_pose_w"),
            ("body_com_vel_w", "body_link_vel_w"),
        ),
        (
            "write_joint_position_to_sim_index",
            "position",
            (2, 4),
            ("joint_pos", "joint_vel", "root_link_pose_w", "root_com_vel_w"),
            ("body_link_pose_w", "body_com_vel_w", "body_com_pose_w", "mass_matrix", "body_com_jacobian_w"),
        ),
    ],
)
def test_writes_make_their_dependants_stale_and_nothing_else(writer, payload, shape, fresh, stale) -> None:
    _, arm = make(Stage(2).arms(fixed=False), arm_cfg())
    data = arm.data
    for name in (*fresh, *stale):
        data.read(name)
    values = np.zeros(shape, np.float32)
    if shape[-1] == 7:
        values[:, 6] = 1.0
    getattr(arm, writer)(**{payload: values}, skip_forward=True)
    assert all(data.is_fresh(name) for name in (*fresh, *stale))
    getattr(arm, writer)(**{payload: values})
    assert [name for name in fresh if not data.is_fresh(name)] == []
    assert [name for name in stale if data.is_fresh(name)] == []


def passes(scene: ta.AssetScene, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each pass of kinematics from now on."""
    count: list[int] = []
    once = scene.simulation.one_refresh
    work = once._work
    monkeypatch.setattr(once, "_work", lambda: (count.append(1), work()))
    return count


def test_one_pass_of_kinematics_a_write_and_none_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    scene, arm = make(Stage(2).arms(fixed=False), arm_cfg())
    count = passes(scene, monkeypatch)
    arm.write_joint_velocity_to_sim_index(velocity=np.ones((2, 4), np.float32))
    assert len(count) == 1
    # Whichever reader comes first, it finds velocities that follow from the write.
    assert np.linalg.norm(host(arm.data.root_link_vel_w)) < 1e-6
    assert np.linalg.norm(host(arm.data.body_com_vel_w)) > 1e-3
    arm.data.body_link_vel_w, arm.data.body_com_pose_w, arm.data.body_link_pose_w  # noqa: B018
    assert len(count) == 1
    arm.write_joint_state_to_sim_index(
        position=np.full((2, 4), 0.3, np.float32), velocity=np.ones((2, 4), np.float32)
    )
    assert len(count) == 2


def test_writes_in_one_block_share_a_pass_which_the_first_read_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    (scene, arm), (other, twin) = (make(Stage(2).arms(fixed=False), arm_cfg()) for _ in range(2))
    count = passes(scene, monkeypatch)
    pose = np.tile(np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.6, 0.8], np.float32), (2, 1))
    speed = np.arange(12, dtype=np.float32).reshape(2, 6)
    joints = np.linspace(-0.5, 0.5, 8, dtype=np.float32).reshape(2, 4)

    def write(asset: ta.Articulation) -> None:
        asset.write_root_pose_to_sim_index(root_pose=pose)
        asset.write_root_velocity_to_sim_index(root_velocity=speed)
        asset.write_joint_state_to_sim_index(position=joints, velocity=2.0 * joints)

    with scene.one_pass():
        write(arm)
        assert count == []
        inside = host(arm.data.body_link_pose_w)
        assert count == [1]
        arm.data.body_com_vel_w  # noqa: B018
        assert count == [1]
    assert count == [1]
    write(twin)
    np.testing.assert_array_equal(inside, host(twin.data.body_link_pose_w))
    with scene.one_pass():
        write(arm)
        with scene.one_pass():
            arm.write_joint_position_to_sim_index(position=-joints)
    assert count == [1, 1]
    twin.write_joint_position_to_sim_index(position=-joints)
    for name in ("body_link_pose_w", "body_com_vel_w", "joint_pos"):
        np.testing.assert_array_equal(host(getattr(arm.data, name)), host(getattr(twin.data, name)))
    for each in (scene, other):
        each.step(3)
    np.testing.assert_array_equal(host(arm.data.body_link_pose_w), host(twin.data.body_link_pose_w))
    with scene.one_pass():
        pass
    assert count == [1, 1]


def test_parts_share_the_memory_of_the_whole() -> None:
    _, cube = make(Stage(2).cubes(), cube_cfg())
    data = cube.data
    whole = pointer(data.root_link_pose_w)
    assert pointer(data.root_link_pos_w) == whole
    assert pointer(data.root_link_quat_w) == whole + 12
    assert pointer(data.body_link_pose_w) == whole
    assert data.root_link_pos_w.warp.strides == data.root_link_pose_w.warp.strides
    np.testing.assert_array_equal(host(data.root_link_pos_w), host(data.root_link_pose_w)[:, :3])


def test_dynamics_are_allocated_when_they_are_read() -> None:
    scene, arm = make(Stage(2).arms(), arm_cfg())
    scene.step(2)
    assert "mass_matrix" not in arm.data._slots
    assert "body_com_jacobian_w" not in arm.data._slots
    arm.data.mass_matrix  # noqa: B018
    assert "mass_matrix" in arm.data._slots


def test_a_second_reset_starts_from_the_stage_again() -> None:
    scene, cube = make(Stage(2).cubes(), cube_cfg())
    scene.step(20)
    fallen = host(cube.data.root_pos_w)[0, 2]
    scene.reset()
    assert fallen < 0.9
    assert host(cube.data.root_pos_w)[0, 2] == 1.0


def test_writes_past_the_asset_are_seen_after_invalidation() -> None:
    _, pair = make(pair_stage(), pair_cfg())
    pair.data.body_mass  # noqa: B018
    masses = wp.array(np.full((4, 1), 3.0, np.float32), dtype=wp.float32, device=here())
    pair.root_view.set_masses(masses, None)
    pair.data.invalidate_all()
    np.testing.assert_array_equal(host(pair.data.body_mass), 3.0)
