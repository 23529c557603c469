"""What assets do in scenes: friction, impacts, kinematic bodies, clones, and prims that are not what was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from asset_stages import ENVS, Stage, arm_cfg, cube_cfg, host, make
from pxr import UsdPhysics, UsdShade

import tensorphys_assets as ta

pytestmark = pytest.mark.usefixtures("everywhere")


def material(asset: ta.RigidObject, friction: float, restitution: float) -> None:
    view = asset.root_view
    values = view.get_material_properties()
    values.assign(np.tile([friction, friction, restitution], (asset.num_instances, 1, 1)).astype(np.float32))
    view.set_material_properties(values, None)


def ground_material(stage: Stage, friction: float, restitution: float) -> None:
    """What cubes touch has the same material, so that the average of both is that."""
    api = UsdPhysics.MaterialAPI.Apply(stage.usd.DefinePrim("/World/material", "Material"))
    api.CreateStaticFrictionAttr(friction)
    api.CreateDynamicFrictionAttr(friction)
    api.CreateRestitutionAttr(restitution)
    binding = UsdShade.MaterialBindingAPI.Apply(stage.usd.GetPrimAtPath("/World/ground"))
    made = UsdShade.Material(stage.usd.GetPrimAtPath("/World/material"))
    binding.Bind(made, UsdShade.Tokens.weakerThanDescendants, "physics")


def test_without_friction_a_cube_keeps_its_speed() -> None:
    stage = Stage(2, ground=True).cubes(at=(0, 0, 0.1))
    ground_material(stage, 0.0, 0.0)
    scene, cube = make(stage, cube_cfg())
    material(cube, 0.0, 0.0)
    scene.step(30)
    velocity = np.zeros((2, 6), np.float32)
    velocity[:, 0] = 0.1
    cube.write_root_velocity_to_sim_index(root_velocity=velocity)
    scene.step(5)
    np.testing.assert_allclose(host(cube.data.root_lin_vel_w)[:, 0], 0.1, rtol=1e-5, atol=1e-5)


def test_static_friction_holds_up_to_its_bound() -> None:
    stage = Stage(2, ground=True).cubes(at=(0, 0, 0.1))
    ground_material(stage, 0.5, 0.0)
    scene, cube = make(stage, cube_cfg())
    material(cube, 0.5, 0.0)
    scene.step(30)
    start = host(cube.data.root_pos_w)[:, 0]
    push = np.zeros((2, 1, 3), np.float32)
    push[:, 0, 0] = 0.5 * 9.81 * np.array([0.99, 1.01])
    # At the height of the contact, so that the cube does not tilt.
    low = np.full((2, 1, 3), [0, 0, -0.1], np.float32)
    cube.permanent_wrench_composer.set_forces_and_torques_index(forces=push, positions=low)
    scene.step(200)
    moved = host(cube.data.root_pos_w)[:, 0] - start
    assert abs(moved[0]) < 2e-3
    assert moved[1] > 0.02


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_restitution(restitution: float) -> None:
    stage = Stage(1, ground=True).cubes(at=(0, 0, 0.5))
    ground_material(stage, 0.0, restitution)
    scene, cube = make(stage, cube_cfg())
    material(cube, 0.0, restitution)
    fastest, after = 0.0, None
    for _ in range(60):
        scene.step()
        speed = host(cube.data.root_lin_vel_w)[0, 2]
        if after is None and fastest < -1.0 and speed > -0.5:
            after = speed
        fastest = min(fastest, speed)
    assert after is not None
    if restitution == 0.0:
        assert after <= 1e-3
    else:
        np.testing.assert_allclose(after, -restitution * fastest, rtol=0.06)


def test_kinematic_bodies_stay() -> None:
    scene, cube = make(Stage(2).cubes(kinematic=True), cube_cfg())
    start = host(cube.data.root_pose_w)
    scene.step(20)
    np.testing.assert_array_equal(host(cube.data.root_pose_w), start)
    np.testing.assert_array_equal(host(cube.data.root_vel_w), 0.0)
    assert cube.num_bodies == 1


def test_clones_stand_in_numeric_order_and_are_written_by_row() -> None:
    scene, cube = make(Stage(12).cubes(), cube_cfg())
    assert cube.root_view.prim_paths == [f"/World/envs/env_{number}/Cube" for number in range(12)]
    pose = np.array([[7, 7, 7, 0, 0, 0, 1]], np.float32)
    cube.write_root_pose_to_sim_index(root_pose=pose, env_ids=[10])
    np.testing.assert_array_equal(host(cube.data.root_pos_w)[10], 7.0)
    cube.data.invalidate_all()
    np.testing.assert_allclose(host(cube.data.root_pos_w)[[9, 11], 0], [18, 22])
    assert scene.num_envs == 12
    np.testing.assert_array_equal(scene.env_origins[:, 0], 2.0 * np.arange(12))


def test_defaults_are_relative_to_the_environment_and_can_be_changed() -> None:
    cfg = cube_cfg()
    cfg.init_state.pos, cfg.init_state.lin_vel = (0.1, 0.2, 0.3), (1.0, 0, 0)
    _, cube = make(Stage(2).cubes(), cfg)
    np.testing.assert_allclose(host(cube.data.default_root_pose), [[0.1, 0.2, 0.3, 0, 0, 0, 1]] * 2)
    np.testing.assert_allclose(host(cube.data.default_root_vel), [[1, 0, 0, 0, 0, 0]] * 2)
    cube.data.default_root_vel.warp.zero_()
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        assert not host(cube.data.default_root_state)[:, 7:].any()


def test_first_values_stay_when_properties_are_written() -> None:
    _, cube = make(Stage(2).cubes(), cube_cfg())
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        first = cube.data.default_mass
    cube.set_masses_index(masses=np.full((2, 1), 5.0, np.float32))
    np.testing.assert_array_equal(host(cube.data.body_mass), 5.0)
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        assert cube.data.default_mass is first
    np.testing.assert_array_equal(host(first), 1.0)


def test_prims_that_are_not_what_an_asset_needs_are_refused() -> None:
    stage = Stage(1).cubes().arms()
    with pytest.raises(RuntimeError, match="Expected 1 prims"):
        make(Stage(1).cubes(), cube_cfg("Nothing"))
    with pytest.raises(RuntimeError, match="use Articulation"):
        make(stage, cube_cfg("Robot/base"))
    with pytest.raises(RuntimeError, match="no articulation"):
        make(stage, ta.ArticulationCfg(prim_path=f"{ENVS}/Cube"))
    with pytest.raises(RuntimeError, match="/wrong"):
        make(stage, arm_cfg(articulation_root_prim_path="/wrong"))
    two = Stage(1).arms("Both/One").arms("Both/Two")
    with pytest.raises(RuntimeError, match="articulation_root_prim_path"):
        make(two, ta.ArticulationCfg(prim_path=f"{ENVS}/Both"))
    _, arm = make(two, ta.ArticulationCfg(prim_path=f"{ENVS}/Both", articulation_root_prim_path="/Two"))
    assert arm.root_view.prim_paths == ["/World/envs/env_0/Both/Two/base"]


def test_nothing_is_to_be_had_before_a_reset() -> None:
    with ta.AssetScene(Stage(1).cubes().usd, environments=ENVS) as scene:
        cube = ta.RigidObject(cube_cfg())
    assert not cube.is_initialized
    for what in ("data", "root_view", "num_instances", "permanent_wrench_composer"):
        with pytest.raises(ta.NotReadyError):
            getattr(cube, what)
    with pytest.raises(ta.NotReadyError):
        scene.step()
    with pytest.raises(ta.NotReadyError, match="no scene"):
        ta.RigidObject(cube_cfg())


def test_floating_and_fixed_bases() -> None:
    scene, fixed = make(Stage(2).arms(), arm_cfg())
    assert fixed.is_fixed_base
    assert fixed.num_base_dofs == 0
    start = host(fixed.data.root_pose_w)
    scene.step(20)
    np.testing.assert_allclose(host(fixed.data.root_pose_w), start, atol=1e-6)
    assert np.linalg.norm(host(fixed.data.body_com_vel_w)[:, 1:]) > 0.1
    scene, floating = make(Stage(2).arms(fixed=False), arm_cfg())
    assert not floating.is_fixed_base
    assert floating.num_base_dofs == 6
    scene.step(20)
    assert (host(floating.data.root_pos_w)[:, 2] < 0.9).all()


def test_prims_can_be_hidden() -> None:
    stage = Stage(2).cubes()
    _, cube = make(stage, cube_cfg())
    cube.set_visibility(False, env_ids=[1])
    values = [stage.usd.GetPrimAtPath(path).GetAttribute("visibility").Get() for path in stage.paths("Cube")]
    assert values == ["inherited", "invisible"]
    assert cube.prim.GetPath() == "/World/envs/env_0/Cube"
    assert not cube.set_debug_vis(True)


def test_prims_are_spawned_by_the_configuration() -> None:
    stage = Stage(2)

    class Spawner(ta.AssetBaseCfg):
        def func(self, path: str, cfg: object, *, translation: object, orientation: object) -> None:
            stage.cubes(path.rpartition("/")[2], at=translation)

    cfg = cube_cfg("New", spawn=Spawner(prim_path=""))
    cfg.init_state.pos = (0, 0, 0.7)
    _, cube = make(stage, cfg)
    np.testing.assert_allclose(host(cube.data.root_pos_w)[:, 2], 0.7)
