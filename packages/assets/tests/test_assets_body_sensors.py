"""Motion of frames on bodies, and loads of joints, against closed forms: the scenarios of Isaac Lab's tests on our own stages."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from asset_stages import ENVS, Stage, arm_cfg, cube_cfg, here, host, make
from pxr import Gf, UsdGeom, UsdPhysics

import tensorphys_assets as ta

pytestmark = pytest.mark.usefixtures("everywhere")

G = 9.81
HALF = float(np.sqrt(0.5))


def pva_cfg(path: str = "Cube", **options: object) -> ta.PvaCfg:
    return ta.PvaCfg(prim_path=f"{ENVS}/{path}", **options)


def offset(pos: tuple[float, ...] = (0, 0, 0), rot: tuple[float, ...] = (0, 0, 0, 1)) -> ta.SensorOffsetCfg:
    return ta.PvaCfg.OffsetCfg(pos=pos, rot=rot)


def turned(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Vectors turned by quaternions xyzw."""
    axis, w = quat[..., :3], quat[..., 3:]
    return vector + 2 * np.cross(axis, np.cross(axis, vector) + w * vector)


def velocity(*numbers: float, count: int = 2) -> np.ndarray:
    return np.tile(np.array(numbers, np.float32), (count, 1))


# Poses, velocities and accelerations.


def test_a_constant_velocity_is_no_acceleration() -> None:
    scene, cube, sensor = make(Stage(2, gravity=0.0).cubes(), cube_cfg(), pva_cfg())
    cube.write_root_velocity_to_sim_index(root_velocity=velocity(0.5, -0.25, 1.0, 0, 0, 0))
    for step in range(10):
        scene.step()
        data = sensor.data
        np.testing.assert_allclose(host(data.lin_vel_b), [[0.5, -0.25, 1.0]] * 2, atol=1e-4, rtol=1e-4)
        np.testing.assert_allclose(host(data.lin_acc_b), 0.0, atol=1e-3)
        np.testing.assert_allclose(host(data.ang_acc_b), 0.0, atol=1e-3)
        np.testing.assert_allclose(host(data.pos_w)[:, 2], 1.0 + 0.01 * (step + 1), atol=1e-5)


def test_free_fall_has_the_acceleration_of_gravity_and_rest_has_none() -> None:
    stage = Stage(2, ground=True).cubes(at=(0, 0, 0.1))
    scene, cube, sensor, imu = make(
        stage, cube_cfg(), pva_cfg(), ta.ImuCfg(prim_path=f"{ENVS}/Cube", offset=offset((0.05, 0, 0)))
    )
    scene.step(40)
    cube.write_root_pose_to_sim_index(root_pose=velocity(2, 0, 9, 0, 0, 0, 1)[1:], env_ids=[1])
    cube.write_root_velocity_to_sim_index(root_velocity=velocity(0, 0, 0, 0, 0, 0)[1:], env_ids=[1])
    scene.step(5)
    data = sensor.data
    np.testing.assert_allclose(host(data.lin_acc_b), [[0, 0, 0], [0, 0, -G]], atol=1e-2)
    np.testing.assert_allclose(host(data.lin_vel_b), [[0, 0, 0], [0, 0, -G * 0.05]], atol=1e-3)
    np.testing.assert_allclose(host(data.projected_gravity_b), [[0, 0, -1]] * 2, atol=1e-3)
    np.testing.assert_allclose(host(imu.data.lin_acc_b), [[0, 0, G], [0, 0, 0]], atol=1e-2)
    pose = host(data.pose_w)
    np.testing.assert_array_equal(pose[:, :3], host(data.pos_w))
    np.testing.assert_array_equal(pose[:, 3:], host(data.quat_w))
    np.testing.assert_array_equal(pose, host(cube.data.root_link_pose_w))
    assert data.pos_w.warp.ptr == data.pose_w.warp.ptr


def test_a_force_accelerates_by_its_share_of_the_mass() -> None:
    stage = Stage(2, gravity=0.0).cubes(mass=2.0)
    scene, cube, sensor = make(stage, cube_cfg(), pva_cfg(offset=offset(rot=(0, 0, HALF, HALF))))
    cube.permanent_wrench_composer.set_forces_and_torques_index(
        forces=np.full((2, 1, 3), [1.0, 0, 3.0], np.float32)
    )
    for step in range(5):
        scene.step()
        np.testing.assert_allclose(host(sensor.data.lin_acc_b), [[0, -0.5, 1.5]] * 2, atol=1e-4, rtol=1e-4)
        time = 0.01 * (step + 1)
        np.testing.assert_allclose(
            host(sensor.data.lin_vel_b), [[0, -0.5 * time, 1.5 * time]] * 2, atol=1e-4, rtol=1e-4
        )


def test_a_frame_off_the_centre_of_mass_of_a_spinning_body() -> None:
    place = offset((0.3, 0, 0.2), (0, 0, HALF, HALF))
    stage = Stage(1, gravity=0.0).cubes(com=(0.1, 0, 0))
    scene, cube, sensor = make(stage, cube_cfg(), pva_cfg(offset=place))
    cube.write_root_com_velocity_to_sim_index(root_velocity=velocity(1, 2, 3, 0, 0, 2.0, count=1))
    scene.step(3)
    angle = 2.0 * 0.03
    # The frame is 0.2 m from the axis of the spin, along its own -Y.
    np.testing.assert_allclose(host(sensor.data.lin_acc_b)[0], [0, 4.0 * 0.2, 0], atol=1e-3)
    np.testing.assert_allclose(host(sensor.data.ang_vel_b)[0], [0, 0, 2.0], atol=1e-5)
    drift = [np.cos(-angle) * 1 - np.sin(-angle) * 2, np.sin(-angle) * 1 + np.cos(-angle) * 2 + 0.4, 3.0]
    np.testing.assert_allclose(host(sensor.data.lin_vel_b)[0], [drift[1], -drift[0], drift[2]], atol=1e-4)
    turn = [0, 0, np.sin(angle / 2 + np.pi / 4), np.cos(angle / 2 + np.pi / 4)]
    np.testing.assert_allclose(host(sensor.data.quat_w)[0], turn, atol=1e-5)


class Pendulum:
    """A rod that swings about Y under its weight: its centre of mass 0.5 m from the pivot."""

    def __init__(self, sensor: object, *, gravity: float = G, dt: float = 0.002, axis: str = "Y") -> None:
        stage = Stage(2, gravity=gravity)
        for number, root in enumerate(stage.paths("Robot")):
            stage.xform(root)
            base = stage.body(f"{root}/base", (0, 0, 1), mass=2.0)
            stage.joint(f"{root}/anchor", "Fixed", None, f"{root}/base", at0=(2.0 * number, 0, 1))
            UsdPhysics.ArticulationRootAPI.Apply(base)
            rod = stage.body(f"{root}/rod", (0.5, 0, 1), mass=1.5, inertia=(0.01, 0.125, 0.125))
            UsdGeom.Xform.Define(stage.usd, f"{root}/rod/tip/eye")
            tip = UsdGeom.Xformable(stage.usd.GetPrimAtPath(f"{root}/rod/tip/eye"))
            tip.AddTranslateOp().Set(Gf.Vec3d(0.4, 0, 0.1))
            tip.AddRotateZOp().Set(90.0)
            tip.AddScaleOp().Set(Gf.Vec3f(2, 2, 2))
            stage.joint(
                f"{root}/hinge", "Revolute", f"{root}/base", f"{root}/rod", axis=axis, at1=(-0.5, 0, 0)
            )
            assert rod
        self.scene, self.arm, self.sensor = make(stage, arm_cfg(), sensor, dt=dt)
        self.inertia = 0.125 + 1.5 * 0.25

    @property
    def motion(self) -> tuple[np.ndarray, np.ndarray]:
        return host(self.arm.data.joint_pos)[:, 0], host(self.arm.data.joint_vel)[:, 0]


def test_a_pendulum_with_a_sensor_at_its_tip() -> None:
    swing = Pendulum(pva_cfg("Robot/rod", offset=offset((0.4, 0, 0))))
    start = np.array([[0.0], [0.7]], np.float32)
    swing.arm.write_joint_position_to_sim_index(position=start)
    for _ in range(4):
        before = swing.motion
        swing.scene.step()
        after = swing.motion
        data = swing.sensor.data
        angle, speed = (0.5 * (x + y) for x, y in zip(before, after, strict=True))
        # About Y, down is a positive angle: I θ'' = m g l cos θ.
        rate = 1.5 * G * 0.5 * np.cos(angle) / swing.inertia
        zero = np.zeros(2)
        np.testing.assert_allclose(host(data.ang_vel_b), np.stack([zero, after[1], zero], 1), atol=1e-4)
        np.testing.assert_allclose(
            host(data.lin_vel_b), np.stack([zero, zero, -0.9 * after[1]], 1), atol=1e-4
        )
        np.testing.assert_allclose(
            host(data.ang_acc_b), np.stack([zero, rate, zero], 1), rtol=2e-3, atol=1e-2
        )
        inward = np.stack([-0.9 * speed**2, zero, -0.9 * rate], 1)
        np.testing.assert_allclose(host(data.lin_acc_b), inward, rtol=2e-3, atol=2e-2)
        down = np.stack([np.sin(after[0]), zero, -np.cos(after[0])], 1)
        np.testing.assert_allclose(host(data.projected_gravity_b), down, atol=1e-4)


def test_a_prim_below_a_body_carries_a_sensor() -> None:
    swing = Pendulum(pva_cfg("Robot/rod/tip/eye", offset=offset((0, 0.3, 0))))
    # The eye is turned a quarter about Z: 0.3 m along its Y are 0.3 m back along the rod.
    twin = ta.Pva(pva_cfg("Robot/rod", offset=offset((0.1, 0, 0.1), (0, 0, HALF, HALF))), scene=swing.scene)
    twin._initialize(swing.scene)
    imu = ta.Imu(ta.ImuCfg(prim_path=f"{ENVS}/Robot/rod/tip/eye"), scene=swing.scene)
    imu._initialize(swing.scene)
    swing.scene.step(10)
    for name in ("pose_w", "projected_gravity_b", "lin_vel_b", "ang_vel_b", "lin_acc_b", "ang_acc_b"):
        np.testing.assert_allclose(
            host(getattr(swing.sensor.data, name)), host(getattr(twin.data, name)), atol=2e-6, err_msg=name
        )
    np.testing.assert_allclose(host(imu.data.ang_vel_b), host(twin.data.ang_vel_b), atol=1e-6)


def test_where_a_sensor_cannot_sit() -> None:
    stage = Stage(1).cubes().cubes("Cuba", at=(0, 0, 2))
    with pytest.raises(ta.PrimError, match="no rigid body at or above"):
        make(stage, ta.PvaCfg(prim_path=ENVS))
    with pytest.raises(ta.PrimError, match="no such prim"):
        make(stage, pva_cfg("Cube/Nothing"))
    with pytest.raises(ta.PrimError, match="plain path below"):
        make(stage, pva_cfg("Cube/coll.*"))
    with pytest.raises(ta.PrimError, match="one body, found 2"):
        make(stage, ta.ImuCfg(prim_path=f"{ENVS}/Cub.*/collider"))


def test_a_reset_forgets_chosen_instances_until_the_next_measurement() -> None:
    scene, cube, sensor = make(Stage(2).cubes(), cube_cfg(), pva_cfg())
    cube.write_root_velocity_to_sim_index(root_velocity=velocity(1, 2, 3, 4, 5, 6))
    scene.step(3)
    data = sensor.data
    before = {name: host(getattr(data, name)) for name in ("pose_w", "projected_gravity_b", "lin_acc_b")}
    sensor.reset(env_ids=[1])
    np.testing.assert_array_equal(host(data.pose_w)[1], [0, 0, 0, 0, 0, 0, 1])
    np.testing.assert_array_equal(host(data.projected_gravity_b)[1], [0, 0, -1])
    np.testing.assert_array_equal(host(data.lin_acc_b)[1], 0.0)
    for name, values in before.items():
        np.testing.assert_array_equal(host(getattr(data, name))[0], values[0])
    scene.reset()
    # Nothing of before: no step was made since, and bodies stand.
    for name in ("lin_vel_b", "ang_vel_b", "lin_acc_b", "ang_acc_b"):
        np.testing.assert_array_equal(host(getattr(sensor.data, name)), 0.0)


def test_sensors_see_what_a_replayed_graph_has_done() -> None:
    touch = ta.ContactSensorCfg(prim_path=f"{ENVS}/Cube", history_length=3, track_air_time=True)
    plain = ta.ContactSensorCfg(prim_path=f"{ENVS}/Cube")
    (scene, _, *seen), (other, _, *told) = (
        make(Stage(2, ground=True).cubes(at=(0, 0, 0.12)), cube_cfg(), pva_cfg(), touch, plain)
        for _ in range(2)
    )
    names = (
        ("pose_w", "lin_vel_b", "lin_acc_b"),
        ("net_forces_w_history", "current_air_time", "current_contact_time", "last_air_time"),
        ("net_forces_w",),
    )
    for each, sensors in ((scene, seen), (other, told)):
        each.step()
        for sensor in sensors:
            _ = sensor.data
    with wp.ScopedCapture(device=here()) as capture:
        scene.step()
    for _ in range(20):
        scene.replay(capture.graph)
        other.step()
        for sensor, twin, fields in zip(seen, told, names, strict=True):
            for name in fields:
                one, two = (host(getattr(each.data, name)) for each in (sensor, twin))
                np.testing.assert_array_equal(one, two, err_msg=name)
    assert host(seen[1].data.last_air_time).all()
    assert host(seen[2].data.net_forces_w).any()


# Loads of joints.


def wrench_cfg(**options: object) -> ta.JointWrenchSensorCfg:
    return ta.JointWrenchSensorCfg(prim_path=f"{ENVS}/Robot", **options)


@pytest.mark.parametrize("reversed_joint", [False, True], ids=["base to arm", "arm to base"])
def test_a_turned_joint_off_the_centre_carries_weight_in_its_own_axes(reversed_joint: bool) -> None:
    """The frame is that on the child, whichever body the joint calls its first."""
    stage = Stage(2)
    for number, root in enumerate(stage.paths("Robot")):
        stage.xform(root)
        base = stage.body(f"{root}/base", (0, 0, 1))
        UsdGeom.Xformable(base).AddRotateZOp().Set(90.0)
        UsdPhysics.ArticulationRootAPI.Apply(base)
        anchor = stage.joint(f"{root}/anchor", "Fixed", None, f"{root}/base", at0=(2.0 * number, 0, 1))
        anchor.GetAttribute("physics:localRot0").Set(Gf.Quatf(HALF, 0, 0, HALF))
        arm = stage.body(f"{root}/arm", (0.1, -0.25, 0.85), mass=2.0)
        # As seen from the base at (-0.25, -0.1, -0.15), turned by -90 degrees about the base's X.
        xform = UsdGeom.Xformable(arm)
        xform.AddRotateZOp().Set(90.0)
        xform.AddRotateXOp().Set(-90.0)
        bodies = [f"{root}/arm", f"{root}/base"] if reversed_joint else [f"{root}/base", f"{root}/arm"]
        joint = stage.joint(f"{root}/hinge", "Revolute", *bodies, axis="Z")
        side = 0 if reversed_joint else 1
        joint.GetAttribute(f"physics:localPos{side}").Set(Gf.Vec3f(0.25, -0.15, 0.1))
        joint.GetAttribute(f"physics:localRot{side}").Set(Gf.Quatf(HALF, HALF, 0, 0))
    scene, robot, sensor = make(stage, arm_cfg(), wrench_cfg())
    # Turned about its upright axis, the frame of the arm turns with it and sees the same load.
    robot.write_joint_position_to_sim_index(position=np.array([[0.0], [0.8]], np.float32))
    scene.step(20)
    assert sensor.num_bodies == len(robot.body_names)
    place = sensor.find_bodies("arm")[0][0]
    weight = 2.0 * G
    assert np.abs(host(robot.data.body_com_vel_w)).max() < 1e-3
    np.testing.assert_allclose(host(sensor.data.force)[:, place], [[0, 0, weight]] * 2, atol=1e-2, rtol=1e-3)
    np.testing.assert_allclose(
        host(sensor.data.torque)[:, place], [[-0.1 * weight, 0.25 * weight, 0]] * 2, atol=1e-2, rtol=1e-3
    )
    root = robot.body_names.index("base")
    np.testing.assert_array_equal(host(sensor.data.force)[:, root], 0.0)


def test_a_rod_in_a_circle_is_pulled_inwards() -> None:
    swing = Pendulum(wrench_cfg(), gravity=0.0, axis="Z")
    spin = np.array([[3.0], [-5.0]], np.float32)
    swing.arm.write_joint_velocity_to_sim_index(velocity=spin)
    swing.scene.step(5)
    place = swing.sensor.find_bodies("rod")[0][0]
    pull = 1.5 * spin[:, 0] ** 2 * 0.5
    force = host(swing.sensor.data.force)[:, place]
    np.testing.assert_allclose(force[:, 0], -pull, rtol=1e-3)
    # The mean over a step, in the axes at its end: the rod turns by half a step's angle from one to the other.
    aside = 0.5 * 0.002 * np.abs(spin[:, 0]) * pull
    assert (np.abs(force[:, 1]) <= aside).all()
    np.testing.assert_allclose(force[:, 2], 0.0, atol=1e-2)
    torque = host(swing.sensor.data.torque)[:, place]
    assert (np.abs(torque[:, 2]) <= 0.5 * aside).all()
    np.testing.assert_allclose(torque[:, :2], 0.0, atol=1e-2)


def test_loads_inside_of_a_tree_and_from_outside() -> None:
    stage = Stage(2).arms()
    scene, arm, sensor = make(stage, arm_cfg(), wrench_cfg())
    gains = {"joint_stiffness": 1e5, "joint_damping": 1e3}
    for name, value in gains.items():
        shape = (2, arm.num_joints)
        getattr(arm, f"write_{name}_to_sim_index")(**{name[6:]: np.full(shape, value, np.float32)})
    arm.write_joint_effort_limit_to_sim_index(limits=np.full((2, arm.num_joints), 1e6, np.float32))
    scene.step(100)
    assert np.abs(host(arm.data.body_com_vel_w)).max() < 1e-3
    upper, lower = (sensor.find_bodies(f"left_{name}")[0][0] for name in ("upper", "lower"))
    quat = host(arm.data.body_link_quat_w)

    def world(name: str, place: int) -> np.ndarray:
        return turned(quat[:, place], host(getattr(sensor.data, name))[:, place])

    # What hangs on a joint is its load: 1 kg at the shoulder's link, 0.5 kg at the elbow's.
    np.testing.assert_allclose(world("force", lower), [[0, 0, 0.5 * G]] * 2, atol=1e-2, rtol=1e-3)
    np.testing.assert_allclose(world("force", upper), [[0, 0, 1.5 * G]] * 2, atol=1e-2, rtol=1e-3)
    np.testing.assert_allclose(world("torque", lower), [[0, -0.5 * G * 0.25, 0]] * 2, atol=1e-2, rtol=1e-3)
    load = np.zeros((2, 1, 3), np.float32)
    load[1, 0] = [3.0, 2.0, -10.0]
    twist = np.zeros((2, 1, 3), np.float32)
    twist[1, 0] = [0.5, 0, 0]
    arm.permanent_wrench_composer.set_forces_and_torques_index(
        forces=load, torques=twist, body_ids=[lower], is_global=True
    )
    scene.step(100)
    quat = host(arm.data.body_link_quat_w)
    force = [[0, 0, 0.5 * G], [-3.0, -2.0, 0.5 * G + 10.0]]
    np.testing.assert_allclose(world("force", lower), force, atol=1e-2, rtol=1e-3)
    arms = turned(
        quat[:, lower], np.tile([0.25, 0, 0], (2, 1))
    )  # from the joint to the link's centre of mass
    torque = np.cross(arms, force) - twist[:, 0]
    np.testing.assert_allclose(world("torque", lower), torque, atol=1e-2, rtol=1e-3)
    # The same as the view tells, which is of the joint's second body: here the child.
    view = host(arm.root_view.get_link_incoming_joint_force()).reshape(2, -1, 6)
    np.testing.assert_allclose(host(sensor.data.force), view[:, :, :3], atol=1e-5)
    np.testing.assert_allclose(host(sensor.data.torque), view[:, :, 3:], atol=1e-5)
    sensor.reset(env_ids=[1])
    assert not sensor._data.force.warp.numpy()[1].any()
    assert sensor._data.force.warp.numpy()[0].any()
    scene.reset()
    assert not host(sensor.data.force).any()
    assert not host(sensor.data.torque).any()


def test_loads_before_the_start_and_of_another_convention() -> None:
    stage = Stage(1).arms()
    with ta.AssetScene(stage.usd, environments=ENVS) as scene:
        sensor = ta.JointWrenchSensor(wrench_cfg())
        assert sensor.data.force is None
        assert sensor.data.torque is None
        with pytest.raises(ta.ConfigurationError, match="incoming_joint_frame"):
            ta.JointWrenchSensor(wrench_cfg(convention="world"))
    assert scene.members == [sensor]
