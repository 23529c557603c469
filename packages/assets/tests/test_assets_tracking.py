"""A hand that follows poses, loads of joints at rest, and places of data that stay under replayed graphs."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest
import warp as wp
from asset_stages import Stage, arm_cfg, cube_cfg, here, host, make

import tensorphys_assets as ta

pytestmark = pytest.mark.usefixtures("everywhere")

PANDA = pathlib.Path(__file__).parents[3] / "examples" / "panda" / "panda.usdc"
REST = np.array([0.0, -0.569, 0.0, -2.81, 0.0, 3.037, 0.741])
GOAL = REST + np.array([0.4, 0.25, -0.2, 0.3, 0.15, -0.3, 0.3])
DT = 1.0 / 240.0


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of quaternions, x y z w."""
    vector = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    return np.append(vector, a[3] * b[3] - a[:3] @ b[:3])


def apart(goal: np.ndarray, pose: np.ndarray) -> np.ndarray:
    """Way [m] and rotation vector [rad] from a pose to a goal."""
    turn = product(goal[3:], pose[3:] * [-1, -1, -1, 1])
    turn *= 1.0 if turn[3] >= 0 else -1.0
    sine = np.linalg.norm(turn[:3])
    angle = 2 * np.arctan2(sine, turn[3])
    return np.concatenate((goal[:3] - pose[:3], turn[:3] * (angle / sine if sine > 1e-9 else 2.0)))


class Panda:
    """A Panda at its rest, whose hand has a pose to reach: that of other angles of the joints."""

    def __init__(self, stiffness: float, damping: float) -> None:
        stage = Stage(1)
        robot = stage.xform("/World/envs/env_0/Robot")
        robot.GetReferences().AddReference(str(PANDA))
        arm = ta.IdealPDActuatorCfg(
            joint_names_expr=["panda_joint.*"], stiffness=stiffness, damping=damping, armature=0.1
        )
        fingers = ta.IdealPDActuatorCfg(
            joint_names_expr=["panda_finger_joint.*"], stiffness=200.0, damping=10.0
        )
        rest = {f"panda_joint{number}": float(angle) for number, angle in enumerate(REST, start=1)}
        init = ta.ArticulationCfg.InitialStateCfg(joint_pos=rest)
        cfg = arm_cfg(init_state=init, actuators={"arm": arm, "fingers": fingers})
        self.scene, self.robot = make(stage, cfg, dt=DT)
        self.arm, _ = self.robot.find_joints("panda_joint.*", preserve_order=True)
        (self.hand,), _ = self.robot.find_bodies("panda_hand")
        self.place(GOAL)
        self.goal = self.pose()
        self.place(REST)

    def place(self, angles: np.ndarray) -> None:
        position = np.zeros((1, self.robot.num_joints), np.float32)
        position[0, self.arm] = angles
        self.robot.write_joint_state_to_sim_index(position=position, velocity=0 * position)
        self.robot.actuators.target_command.set_position_index(value=position)

    def pose(self) -> np.ndarray:
        return host(self.robot.data.body_link_pose_w)[0, self.hand].astype(float)

    def jacobian(self) -> np.ndarray:
        """Of the hand over the joints of the arm; a fixed base has no row."""
        return host(self.robot.data.body_link_jacobian_w)[0, self.hand - 1][:, self.arm].astype(float)

    def joints(self, name: str) -> np.ndarray:
        return host(getattr(self.robot.data, name))[0, self.arm].astype(float)

    def command(self, kind: str, values: np.ndarray) -> None:
        full = np.zeros((1, self.robot.num_joints), np.float32)
        full[0, self.arm] = values
        ids = self.arm
        setter = getattr(self.robot.actuators.target_command, f"set_{kind}_index")
        setter(value=np.ascontiguousarray(full[:, ids]), joint_ids=ids)

    def operate(self, goal: np.ndarray, *, carried: bool, stiffness: float = 100.0) -> None:
        """One step of a critically damped mass at the hand, and damping of what does not move it."""
        jacobian, velocity = self.jacobian(), self.joints("joint_vel")
        mass = host(self.robot.data.mass_matrix)[0].astype(float)[np.ix_(self.arm, self.arm)]
        inverse = np.linalg.inv(mass)
        at_hand = np.linalg.inv(jacobian @ inverse @ jacobian.T)
        pull = stiffness * apart(goal, self.pose()) - 2 * np.sqrt(stiffness) * (jacobian @ velocity)
        still = np.eye(7) - jacobian.T @ at_hand @ jacobian @ inverse
        effort = jacobian.T @ at_hand @ pull - still @ (mass @ velocity) * 10.0
        if carried:
            effort += self.joints("gravity_compensation_forces")
        self.command("effort", effort)
        self.scene.step()


def assert_tracked(errors: list[np.ndarray], start: np.ndarray) -> None:
    """Isaac Lab's tolerances for a Panda: 5 mm and 0.05 rad in the mean, after a way that was there to go."""
    assert np.linalg.norm(start[:3]) > 0.1
    assert np.linalg.norm(start[3:]) > 0.2
    last = np.array(errors[-60:])
    assert np.linalg.norm(last[:, :3], axis=1).mean() < 5e-3
    assert np.linalg.norm(last[:, 3:], axis=1).mean() < 0.05


def test_inverse_kinematics_bring_a_hand_to_a_pose() -> None:
    panda = Panda(200.0, 20.0)
    start, errors = apart(panda.goal, panda.pose()), []
    for _ in range(360):
        error, jacobian = apart(panda.goal, panda.pose()), panda.jacobian()
        damped = jacobian @ jacobian.T + 0.01**2 * np.eye(6)
        panda.command("position", panda.joints("joint_pos") + jacobian.T @ np.linalg.solve(damped, error))
        panda.command("effort", panda.joints("gravity_compensation_forces"))
        panda.scene.step()
        errors.append(apart(panda.goal, panda.pose()))
    assert_tracked(errors, start)


def test_forces_at_the_hand_bring_it_to_a_pose() -> None:
    panda = Panda(0.0, 0.0)
    start, errors = apart(panda.goal, panda.pose()), []
    for _ in range(360):
        panda.operate(panda.goal, carried=True)
        errors.append(apart(panda.goal, panda.pose()))
    assert_tracked(errors, start)


@pytest.mark.parametrize("carried", [True, False])
def test_a_hand_sags_unless_its_weight_is_carried(carried: bool) -> None:
    panda = Panda(0.0, 0.0)
    held = panda.pose()
    for _ in range(300):
        panda.operate(held, carried=carried)
    sag = np.linalg.norm(panda.pose()[:3] - held[:3])
    assert sag < 1e-4 if carried else sag > 0.012


def test_joints_at_rest_carry_weight_and_load() -> None:
    """Shoulder and elbow against statics: what hangs on them, and a force at the lower link, about the joint."""
    stiff = ta.ImplicitActuatorCfg(joint_names_expr=[".*"], stiffness=4000.0, damping=400.0)
    scene, arm = make(Stage(2).arms(), arm_cfg(actuators={"all": stiff}))
    (upper,), _ = arm.find_bodies("left_upper")
    (lower,), _ = arm.find_bodies("left_lower")
    load = np.zeros((1, 1, 3), np.float32)
    load[0, 0] = [3.0, 2.0, -5.0]
    arm.permanent_wrench_composer.set_forces_and_torques_index(
        forces=load, body_ids=[lower], env_ids=[1], is_global=True
    )
    scene.step(200)
    assert np.abs(host(arm.data.joint_vel)).max() < 1e-4
    found = arm.root_view.get_link_incoming_joint_force().numpy()
    centre = host(arm.data.body_com_pos_w).astype(float)
    link = host(arm.data.body_link_pose_w).astype(float)
    mass = host(arm.data.body_mass).astype(float)
    for env in range(2):
        pulls = {body: np.array([0, 0, -9.81 * mass[env, body]]) for body in (upper, lower)}
        if env == 1:
            pulls[lower] = pulls[lower] + load[0, 0]
        for joint, hung in ((upper, (upper, lower)), (lower, (lower,))):
            quat = link[env, joint, 3:]

            def turned(vector: np.ndarray, quat: np.ndarray = quat) -> np.ndarray:
                return vector + 2 * np.cross(quat[:3], np.cross(quat[:3], vector) + quat[3] * vector)

            at = link[env, joint, :3] + turned(np.array([-0.25, 0, 0]))
            force = -sum(pulls[body] for body in hung)
            torque = -sum(np.cross(centre[env, body] - at, pulls[body]) for body in hung)
            given = found[env, joint].astype(float)
            np.testing.assert_allclose(turned(given[:3]), force, atol=1e-2, rtol=1e-3)
            np.testing.assert_allclose(turned(given[3:]), torque, atol=1e-2, rtol=1e-3)


def proxies(data: Any) -> dict[str, Any]:
    """Every member that is there to be read and lies in an array."""
    with_arrays = {}
    for name in dir(type(data)):
        member = getattr(type(data), name, None)
        if name.startswith("_") or not name.endswith(
            ("_w", "_b", "_pos", "_vel", "_acc", "_mass", "_matrix")
        ):
            continue
        if member is not None and isinstance(value := getattr(data, name), ta.ProxyArray):
            with_arrays[name] = value
    return with_arrays


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("captured", [False, True], ids=["steps", "a graph of the caller"])
def test_places_of_all_data_stay_over_steps_resets_and_replays(captured: bool) -> None:
    """A twin that is stepped without graphs of a caller says what the values are."""

    def both() -> tuple[ta.AssetScene, ta.Articulation, ta.RigidObject]:
        return make(Stage(2).arms().cubes(at=(0, 1.0, 3)), arm_cfg(), cube_cfg())

    (scene, arm, cube), (other, twin, box) = both(), both()
    start = np.tile([0.4, -0.3, 0.2, 0.5], (2, 1)).astype(np.float32)
    kept = {asset: proxies(asset.data) for asset in (arm, cube)}
    assert len(kept[arm]) > 30
    assert len(kept[cube]) > 20
    places = {(asset, name): proxy.warp.ptr for asset, found in kept.items() for name, proxy in found.items()}
    for each, robot, thing in ((scene, arm, cube), (other, twin, box)):
        each.step(2)
        robot.reset()
        thing.reset()
        robot.write_joint_state_to_sim_index(position=start, velocity=0 * start)
    if captured:
        with wp.ScopedCapture(device=here()) as capture:
            scene.step()
        for _ in range(5):
            wp.capture_launch(capture.graph)
        arm.data.invalidate_all()
        cube.data.invalidate_all()
    else:
        scene.step(5)
    other.step(5)
    for (asset, name), place in places.items():
        proxy = getattr(asset.data, name)
        assert proxy is kept[asset][name], name
        assert proxy.warp.ptr == place, name
    for name in ("joint_pos", "joint_vel", "body_link_pose_w", "body_com_vel_w", "mass_matrix"):
        np.testing.assert_allclose(
            host(getattr(arm.data, name)), host(getattr(twin.data, name)), atol=1e-6, err_msg=name
        )
    np.testing.assert_allclose(host(cube.data.root_pose_w), host(box.data.root_pose_w), atol=1e-6)
    assert np.abs(host(arm.data.joint_pos) - start).max() > 1e-3
