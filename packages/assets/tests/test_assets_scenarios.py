"""Scenes of Isaac Lab's own tests of assets, rebuilt with stages of our own, with its tolerances."""

from __future__ import annotations

import numpy as np
import pytest
from asset_stages import ENVS, Stage, arm_cfg, cube_cfg, host, make, to
from pxr import Gf, Sdf, UsdGeom, UsdPhysics

import tensorphys_assets as ta

pytestmark = pytest.mark.usefixtures("everywhere")


def variants(count: int, apart: float = 2.0) -> Stage:
    """A cube, a sphere and a cylinder of 0.4 m in turn, one an environment, a little above the ground."""
    stage = Stage(count, ground=True)
    for number in range(count):
        env = UsdGeom.Xform(stage.usd.GetPrimAtPath(f"/World/envs/env_{number}"))
        env.GetOrderedXformOps()[0].Set(Gf.Vec3d(apart * number, 0, 0))
        path = f"/World/envs/env_{number}/Object"
        stage.body(path, (0, 0, 0.25), inertia=(0.03, 0.03, 0.03))
        kind = (UsdGeom.Cube, UsdGeom.Sphere, UsdGeom.Cylinder)[number % 3]
        shape = kind.Define(stage.usd, f"{path}/shape")
        if kind is UsdGeom.Cube:
            shape.CreateSizeAttr(0.4)
        else:
            shape.CreateRadiusAttr(0.2)
        if kind is UsdGeom.Cylinder:
            shape.CreateHeightAttr(0.4)
        UsdPhysics.CollisionAPI.Apply(shape.GetPrim())
    return stage


@pytest.mark.parametrize("apart", [2.0, 0.0], ids=["apart", "all in one place"])
def test_clones_of_different_shapes_settle_and_touch_only_their_own(apart: float) -> None:
    scene, objects = make(variants(6, apart), cube_cfg("Object"))
    scene.step(150)
    position = host(objects.data.root_pos_w)
    origin = np.stack((apart * np.arange(6), np.zeros(6)), axis=1)
    np.testing.assert_allclose(position[:, 2], 0.2, atol=0.02)
    np.testing.assert_allclose(position[:, :2], origin, atol=0.02)
    # Clones stand as high as their source.
    np.testing.assert_allclose(position[3:, 2], position[:3, 2], atol=1e-5)


def test_rows_of_interleaved_shapes_are_those_of_their_environments() -> None:
    _, objects = make(variants(6), cube_cfg("Object"))
    assert objects.root_view.prim_paths == [f"/World/envs/env_{number}/Object" for number in range(6)]
    poses = np.tile(np.array([0, 0, 0, 0, 0, 0, 1], np.float32), (3, 1))
    poses[:, 2] = [4.0, 1.0, 3.0]
    objects.write_root_pose_to_sim_index(root_pose=poses, env_ids=[4, 1, 3])
    objects.data.invalidate_all()
    np.testing.assert_allclose(host(objects.data.root_pos_w)[:, 2], [0.25, 1, 0.25, 3, 4, 0.25], atol=1e-6)


def reversed_chain() -> Stage:
    """A fixed base and a chain of three links, whose second joint names its bodies the other way round."""
    stage = Stage(2)
    for number, root in enumerate(stage.paths("Robot")):
        stage.xform(root)
        UsdPhysics.ArticulationRootAPI.Apply(stage.body(f"{root}/base", (0, 0, 1)))
        stage.joint(f"{root}/anchor", "Fixed", None, f"{root}/base", at0=(2.0 * number, 0, 1))
        before = f"{root}/base"
        for place, (kind, axis) in enumerate((("Revolute", "Y"), ("Revolute", "Z"), ("Prismatic", "X"))):
            link = f"{root}/link_{place}"
            stage.body(
                link,
                (0.4 * place + 0.2, 0, 1),
                mass=1.0 + place,
                inertia=(0.02, 0.03, 0.04),
                com=(0.05, 0.02, 0.01),
            )
            ends = {"at0": (0.2, 0, 0), "at1": (-0.2, 0, 0)}
            bodies = (before, link)
            if place == 0:
                ends["at0"] = (0, 0, 0)
            if place == 1:
                bodies, ends = (link, before), {"at0": (-0.2, 0, 0), "at1": (0.2, 0, 0)}
            stage.joint(f"{root}/joint_{place}", kind, *bodies, axis=axis, **ends)
            before = link
    return stage


def test_reversed_joints_have_one_sign_in_all_dynamics() -> None:
    _, arm = make(reversed_chain(), arm_cfg())
    rng = np.random.default_rng(3)
    q, v = (rng.uniform(-0.5, 0.5, (2, 3)).astype(np.float32) for _ in range(2))
    arm.write_joint_state_to_sim_index(position=q, velocity=v)
    data = arm.data
    jacobian = host(data.body_com_jacobian_w)
    velocity = host(data.body_com_vel_w)[:, 1:]
    np.testing.assert_allclose(np.einsum("nbrc,nc->nbr", jacobian, v), velocity, atol=1e-5)
    energy = 0.5 * np.einsum("nc,ncd,nd->n", v, host(data.mass_matrix), v)
    mass = host(data.body_mass)[:, 1:]
    inertia = host(data.body_inertia)[:, 1:].reshape(2, 3, 3, 3)
    quat = host(data.body_link_quat_w)[:, 1:]
    u, w = quat[..., :3], quat[..., 3:]
    spin = velocity[..., 3:]
    # Into link axes, in which the inertia is.
    local = spin + 2 * np.cross(-u, np.cross(-u, spin) + w * spin)
    kinetic = 0.5 * (mass * (velocity[..., :3] ** 2).sum(-1)).sum(1)
    kinetic += 0.5 * np.einsum("nbi,nbij,nbj->n", local, inertia, local)
    np.testing.assert_allclose(energy, kinetic, rtol=1e-5)
    weight = np.einsum("nbc,nb->nc", jacobian[:, :, 2], 9.81 * mass)
    np.testing.assert_allclose(host(data.gravity_compensation_forces), weight, rtol=1e-5, atol=2e-5)


def test_a_fixed_base_stays_at_its_pose_in_the_environment() -> None:
    scene, arm = make(Stage(3).arms(), arm_cfg())
    scene.step(20)
    expected = np.tile(np.array([0, 0, 1, 0, 0, 0, 1], np.float32), (3, 1))
    expected[:, :3] += scene.env_origins
    np.testing.assert_allclose(host(arm.data.root_pose_w), expected, atol=1e-6)


def test_forces_on_several_links_turn_a_floating_base() -> None:
    scene, arm = make(Stage(2, gravity=0.0).arms(fixed=False), arm_cfg())
    ids, _ = arm.find_bodies(".*_lower")
    force = np.zeros((1, 2, 3), np.float32)
    force[0, :, 1] = 20.0
    arm.permanent_wrench_composer.set_forces_and_torques_index(forces=force, body_ids=ids, env_ids=[0])
    scene.step(100)
    spin = np.linalg.norm(host(arm.data.root_ang_vel_w), axis=1)
    assert spin[0] > 0.1
    assert spin[1] == 0.0


def test_a_pendulum_with_its_mass_off_the_link() -> None:
    """Link and centre of mass turn as one: v_com = v_link + ω × r, all through a swing."""
    stage = Stage(2)
    for number, root in enumerate(stage.paths("Robot")):
        stage.xform(root)
        UsdPhysics.ArticulationRootAPI.Apply(stage.body(f"{root}/base", (0, 0, 1)))
        stage.joint(f"{root}/anchor", "Fixed", None, f"{root}/base", at0=(2.0 * number, 0, 1))
        stage.body(f"{root}/arm", (0, 0, 1))
        stage.joint(f"{root}/hinge", "Revolute", f"{root}/base", f"{root}/arm", axis="Y")
    scene, arm = make(stage, arm_cfg())
    offset = np.tile(np.array([0.5, 0, 0, 0, 0, 0, 1], np.float32), (2, 1, 1))
    arm.set_coms_index(coms=offset, body_ids=[1])
    for _ in range(50):
        scene.step()
        data = arm.data
        angle, rate = host(data.joint_pos)[:, 0], host(data.joint_vel)[:, 0]
        reach = 0.5 * np.stack((np.cos(angle), 0 * angle, -np.sin(angle)), axis=1)
        along = 0.5 * np.stack((-np.sin(angle), 0 * angle, -np.cos(angle)), axis=1) * rate[:, None]
        origin = host(data.root_pos_w)
        np.testing.assert_allclose(host(data.body_link_pos_w)[:, 1], origin, atol=1e-5)
        np.testing.assert_allclose(host(data.body_com_pos_w)[:, 1], origin + reach, atol=1e-3)
        np.testing.assert_allclose(host(data.body_link_lin_vel_w)[:, 1], 0.0, atol=1e-3)
        np.testing.assert_allclose(host(data.body_com_lin_vel_w)[:, 1], along, atol=1e-3)
        spin = host(data.body_link_ang_vel_w)[:, 1]
        np.testing.assert_array_equal(spin, host(data.body_com_ang_vel_w)[:, 1])
        np.testing.assert_allclose(spin[:, 1], rate, atol=1e-5)
    # It falls: the motion was there to be seen.
    assert (host(arm.data.joint_vel)[:, 0] > 1.0).all()


def test_gravity_that_is_taken_away_and_given_back() -> None:
    scene, cube = make(Stage(2).cubes(at=(0, 0, 5)), cube_cfg())
    scene.view.set_gravity((0.0, 0.0, 0.0))
    velocity = np.zeros((2, 6), np.float32)
    velocity[:, 2] = 0.001
    cube.write_root_velocity_to_sim_index(root_velocity=velocity)
    scene.step(30)
    np.testing.assert_allclose(host(cube.data.root_lin_vel_w), velocity[:, :3], atol=1e-4)
    np.testing.assert_array_equal(host(cube.data.projected_gravity_b), 0.0)
    scene.view.set_gravity((0.0, 0.0, -9.81))
    scene.step(30)
    fall = 0.001 - 9.81 * 30 * scene.dt
    np.testing.assert_allclose(host(cube.data.root_lin_vel_w)[:, 2], fall, atol=0.02)
    np.testing.assert_allclose(host(cube.data.projected_gravity_b)[:, 2], -1.0, atol=1e-6)


def test_sensors_stand_in_numeric_order_and_feel_their_own_weight() -> None:
    stage = Stage(12, ground=True).cubes(at=(0, 0, 0.1))
    cfg = ta.ContactSensorCfg(prim_path=f"{ENVS}/Cube", filter_prim_paths_expr=["/World/ground"])
    scene, cube, sensor = make(stage, cube_cfg(), cfg)
    masses = np.arange(1, 13, dtype=np.float32)[:, None]
    cube.set_masses_index(masses=masses)
    scene.step(60)
    weight = 9.81 * masses[:, 0]
    np.testing.assert_allclose(host(sensor.data.net_normal_forces_w)[:, 0, 2], weight, atol=0.1)
    np.testing.assert_allclose(host(sensor.data.normal_force_matrix_w)[:, 0, 0, 2], weight, atol=0.1)


def test_a_pattern_names_bodies_of_its_level_alone() -> None:
    stage = Stage(2, ground=True).cubes("Outer", at=(0, 0, 0.1)).cubes("Outer/Inner", at=(0, 0, 1.0))
    outer = ta.ContactSensorCfg(prim_path=f"{ENVS}/[^/]*")
    inner = ta.ContactSensorCfg(prim_path=f"{ENVS}/Outer/Inner")
    scene, first, second = make(stage, outer, inner)
    assert (first.body_names, second.body_names) == (["Outer"], ["Inner"])
    scene.step(20)
    np.testing.assert_allclose(host(first.data.net_normal_forces_w)[:, 0, 2], 9.81, atol=0.1)
    np.testing.assert_array_equal(host(second.data.net_normal_forces_w), 0.0)


def test_an_arm_reaches_its_targets_and_a_mimic_joint_follows() -> None:
    stage = Stage(2).arms()
    for root in stage.paths("Robot"):
        follower = stage.usd.GetPrimAtPath(f"{root}/right_elbow")
        follower.AddAppliedSchema("PhysxMimicJointAPI:rotY")
        follower.CreateRelationship("physxMimicJoint:rotY:referenceJoint").SetTargets([f"{root}/left_elbow"])
        follower.CreateAttribute("physxMimicJoint:rotY:gearing", Sdf.ValueTypeNames.Float).Set(-1.0)
    motors = ta.ImplicitActuatorCfg(
        joint_names_expr=[".*_shoulder", "left_elbow"], stiffness=400.0, damping=40.0
    )
    scene, arm = make(stage, arm_cfg(actuators={"arm": motors}))
    ids, _ = arm.find_joints([".*_shoulder", "left_elbow"], preserve_order=True)
    target = np.array([[0.3, -0.2, 0.5], [-0.4, 0.1, -0.3]], np.float32)
    arm.actuators.target_command.set_position_index(value=target, joint_ids=ids)
    for _ in range(150):
        scene.step()
        position = host(arm.data.joint_pos)
        driver = position[:, ids[2]]
        np.testing.assert_allclose(position[:, arm.find_joints("right_elbow")[0][0]], driver, atol=5e-4)
    np.testing.assert_allclose(position[:, ids], target, atol=0.1)


def test_materials_of_chosen_environments_change_and_others_stay() -> None:
    _, cube = make(Stage(3).cubes(), cube_cfg())
    view = cube.root_view
    before = view.get_material_properties().numpy().copy()
    wanted = before.copy()
    wanted[1] = [0.7, 0.6, 0.2]
    view.set_material_properties(to("warp", wanted, "cpu"), to("warp", [1], "cpu", np.int32))
    after = view.get_material_properties().numpy()
    np.testing.assert_allclose(after[1, 0], [0.7, 0.6, 0.2], rtol=1e-6)
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
