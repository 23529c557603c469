"""Buffers are filled once a step at most, only when they are read, and stand where they stood."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
import warp as wp
from asset_stages import ENVS, Stage, arm_cfg, cube_cfg, here, host, make, pair_cfg, pair_stage

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


def passes(scene: ta.AssetScene, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """One entry for each pass of kinematics from now on: whether it was recorded in a graph."""
    count: list[bool] = []
    once, device = scene.simulation.one_refresh, wp.get_device(here())
    work = once._work
    monkeypatch.setattr(once, "_work", lambda: (count.append(bool(device.is_capturing)), work()))
    return count


POSE = np.tile(np.array([1.0, 2.0, 3.0, 0.0, 0.0, 0.6, 0.8], np.float32), (2, 1))
SPEED = np.arange(12, dtype=np.float32).reshape(2, 6)
JOINTS = np.linspace(-0.5, 0.5, 8, dtype=np.float32).reshape(2, 4)


def write_all(arm: ta.Articulation, sign: float = 1.0) -> None:
    arm.write_root_pose_to_sim_index(root_pose=POSE)
    arm.write_root_velocity_to_sim_index(root_velocity=sign * SPEED)
    arm.write_joint_state_to_sim_index(position=sign * JOINTS, velocity=2.0 * sign * JOINTS)


DERIVED = ("body_link_pose_w", "body_com_vel_w", "body_link_vel_w", "body_com_pose_w", "mass_matrix")
WRITTEN = ("root_link_pose_w", "root_com_vel_w", "root_link_vel_w", "joint_pos", "joint_vel")


def agree(arm: ta.Articulation, twin: ta.Articulation, names: tuple[str, ...] = DERIVED + WRITTEN) -> None:
    for name in names:
        np.testing.assert_array_equal(
            host(getattr(arm.data, name)), host(getattr(twin.data, name)), err_msg=name
        )


def pair_of_arms() -> list[tuple[ta.AssetScene, ta.Articulation]]:
    """Two equal scenes; of the second every write has its pass at once."""
    made = [make(Stage(2).arms(fixed=False), arm_cfg()) for _ in range(2)]
    once = made[1][0].simulation.one_refresh
    once.later = lambda writer: contextlib.nullcontext()
    return made


def test_one_pass_of_kinematics_for_the_reads_after_any_number_of_writes(monkeypatch) -> None:
    (scene, arm), (_, twin) = pair_of_arms()
    count = passes(scene, monkeypatch)
    for sign in (1.0, -1.0):
        write_all(arm, sign)
        write_all(twin, sign)
        assert count == []
    # What was written is there without it, and what it does not change.
    agree(arm, twin, WRITTEN)
    assert count == []
    agree(arm, twin)
    assert count == [False]
    agree(arm, twin)
    arm.data.root_lin_vel_b, arm.data.body_com_acc_w, arm.data.gravity_compensation_forces  # noqa: B018
    assert len(count) == 1
    # A write of velocities leaves poses as they are: reading them needs no pass.
    arm.write_joint_velocity_to_sim_index(velocity=JOINTS)
    arm.data.body_link_pose_w, arm.data.body_com_pose_w, arm.data.projected_gravity_b  # noqa: B018
    assert len(count) == 1
    arm.data.body_com_vel_w, arm.data.body_link_vel_w  # noqa: B018
    assert len(count) == 2


def test_steps_and_reads_without_a_write_make_no_pass(monkeypatch) -> None:
    (scene, arm), (other, twin) = pair_of_arms()
    scene.step(2)
    other.step(2)
    count = passes(scene, monkeypatch)
    for _ in range(3):
        scene.step()
        other.step()
        agree(arm, twin)
    assert count == []
    write_all(arm)
    write_all(twin)
    scene.step()
    other.step()
    assert count == [False]
    agree(arm, twin)
    assert count == [False]


def test_whoever_reads_past_the_asset_reads_what_follows_from_its_writes(monkeypatch) -> None:
    (scene, arm), (_, twin) = pair_of_arms()
    body = ta.Imu(ta.ImuCfg(prim_path=f"{ENVS}/Robot/left_lower"), scene=scene)
    body._initialize(scene)
    write_all(twin)
    link, rigid = (
        host(twin.data.body_link_pose_w),
        scene.view.create_rigid_body_view(f"{ENVS[:-2]}*/Robot/left_lower"),
    )
    place = arm.body_names.index("left_lower")
    readers = {
        "view": lambda: host(arm.root_view.get_link_transforms()).reshape(2, 5, 7)[:, place],
        "other view": lambda: host(rigid.get_transforms()).reshape(2, 7),
        "root of a view": lambda: (
            link[:, place] + host(arm.root_view.get_root_transforms()).reshape(2, 7) - POSE
        ),
        "state": lambda: link[:, place] + 0.0 * scene.simulation.state.link_pose.numpy()[0],
        "saved": lambda: link[:, place] + 0.0 * scene.simulation.save_state().time,
        "refresh": lambda: (scene.view.update_articulations_kinematic(), link[:, place])[1],
    }
    count = passes(scene, monkeypatch)
    for number, (what, read) in enumerate(readers.items(), 1):
        write_all(arm, -1.0)
        write_all(arm)
        np.testing.assert_allclose(read(), link[:, place], atol=1e-6, err_msg=what)
        assert len(count) == number, what
    write_all(arm)
    body._stale = True
    speed = host(twin.data.body_com_vel_w)[:, place, 3:]
    np.testing.assert_allclose(
        np.linalg.norm(host(body.data.ang_vel_b), axis=1), np.linalg.norm(speed, axis=1), rtol=1e-5
    )
    assert len(count) == len(readers) + 1


def test_two_assets_over_the_same_prims_see_what_each_writes(monkeypatch) -> None:
    scene, one, two = make(Stage(2).cubes(), cube_cfg(), cube_cfg())
    scene.step()
    count = passes(scene, monkeypatch)
    one.write_root_pose_to_sim_index(root_pose=POSE[:1], env_ids=[0])
    two.write_root_pose_to_sim_index(root_pose=POSE[:1], env_ids=[1])
    np.testing.assert_array_equal(host(two.data.root_pose_w)[0], POSE[0])
    assert len(count) == 1


class TestGraphsOfACaller:
    """What is captured is right at each replay, whatever was written before it."""

    def test_writes_and_reads_in_one_graph(self, monkeypatch) -> None:
        (scene, arm), (_, twin) = pair_of_arms()
        kept = wp.zeros((2, 5), dtype=wp.transformf, device=here())
        write_all(arm)
        arm.data.body_link_pose_w  # noqa: B018
        pose = wp.array(POSE, dtype=wp.float32, device=here())
        joints = wp.array(JOINTS, dtype=wp.float32, device=here())
        mask = wp.full(2, True, dtype=wp.bool, device=here())
        # Once before, since memory is not made in a capture.
        arm.write_root_pose_to_sim_mask(root_pose=pose, env_mask=mask)
        arm.write_joint_position_to_sim_mask(position=joints, env_mask=mask)
        count = passes(scene, monkeypatch)
        with wp.ScopedCapture(device=here()) as capture:
            arm.write_root_pose_to_sim_mask(root_pose=pose, env_mask=mask)
            arm.write_joint_position_to_sim_mask(position=joints, env_mask=mask)
            wp.copy(kept, arm.data.body_link_pose_w.warp)
        assert count == [True] * 3  # one behind each write, one before the read
        with wp.ScopedCapture(device=here()), scene.one_pass():
            arm.write_root_pose_to_sim_mask(root_pose=pose, env_mask=mask)
            arm.write_joint_position_to_sim_mask(position=joints, env_mask=mask)
        assert count == [True] * 4
        write_all(twin)
        for sign in (-1.0, -0.5):
            write_all(arm, sign)
            scene.replay(capture.graph)
            twin.write_root_velocity_to_sim_index(root_velocity=sign * SPEED)
            twin.write_joint_velocity_to_sim_index(velocity=2.0 * sign * JOINTS)
            np.testing.assert_array_equal(host(kept), host(twin.data.body_link_pose_w))
            agree(arm, twin)

    def test_a_read_in_a_graph_and_writes_outside(self) -> None:
        (_, arm), (_, twin) = pair_of_arms()
        kept = wp.zeros((2, 5), dtype=wp.transformf, device=here())
        arm.data.body_link_pose_w  # noqa: B018  (memory is not made in a capture)
        arm.data.invalidate_all()
        with wp.ScopedCapture(device=here()) as capture:
            wp.copy(kept, arm.data.body_link_pose_w.warp)
        for sign in (1.0, -1.0, 0.3):
            write_all(arm, sign)
            write_all(twin, sign)
            wp.capture_launch(capture.graph)
            np.testing.assert_array_equal(host(kept), host(twin.data.body_link_pose_w))
            # The graph is nothing that the host knows of: it reads for itself.
            agree(arm, twin)

    def test_what_a_capture_would_have_filled_is_filled_outside(self) -> None:
        (_, arm), (_, twin) = pair_of_arms()
        arm.data.body_com_vel_w, arm.data.body_link_pose_w  # noqa: B018
        write_all(arm)
        write_all(twin)
        with wp.ScopedCapture(device=here()):
            arm.data.body_com_vel_w, arm.data.body_link_pose_w  # noqa: B018
        agree(arm, twin)

    def test_a_step_in_a_graph_and_writes_outside(self) -> None:
        (scene, arm), (other, twin) = pair_of_arms()
        for each in (scene, other):
            each.step()
        with wp.ScopedCapture(device=here()) as capture:
            scene.step()
        for sign in (1.0, -1.0, 0.3):
            write_all(arm, sign)
            write_all(twin, sign)
            for _ in range(2):
                scene.replay(capture.graph)
                other.step()
                agree(arm, twin, (*DERIVED, *WRITTEN, "joint_acc"))

    def test_writes_in_a_graph_and_a_step_outside(self) -> None:
        (scene, arm), (other, twin) = pair_of_arms()
        for each in (scene, other):
            each.step()
        pose = wp.array(POSE, dtype=wp.float32, device=here())
        mask = wp.array([False, True], dtype=wp.bool, device=here())
        arm.write_root_pose_to_sim_mask(root_pose=pose, env_mask=mask)
        twin.write_root_pose_to_sim_mask(root_pose=pose, env_mask=mask)
        with wp.ScopedCapture(device=here()) as capture:
            arm.write_root_pose_to_sim_mask(root_pose=pose, env_mask=mask)
        agree(arm, twin)  # nothing has happened yet
        for _ in range(2):
            scene.replay(capture.graph)
            twin.write_root_pose_to_sim_mask(root_pose=pose, env_mask=mask)
            # Past the asset: the graph has left nothing to be done.
            np.testing.assert_array_equal(
                scene.simulation.raw_state.link_pose.numpy(), other.simulation.raw_state.link_pose.numpy()
            )
            for each in (scene, other):
                each.step()
            agree(arm, twin)


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
