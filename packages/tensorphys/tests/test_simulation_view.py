"""The simulation view: making it, gravity, validity, object types, what is not there."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import UsdUtils

import tensorphys
from tensorphys import ObjectType


def _ball(stages: SimpleNamespace) -> Any:
    stage = stages.Author.new()
    stage.body("/World/ball", (0, 0, 3))
    return stage


def test_gravity(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviour 1."""
    sim = stages.view(arrays, _ball(stages))
    np.testing.assert_allclose(sim.get_gravity(), (0, 0, -9.81), rtol=1e-6)
    sim.set_gravity([0, 0, 1])
    assert sim.get_gravity() == (0.0, 0.0, 1.0)
    sim.set_gravity(SimpleNamespace(x=0.5, y=2.0, z=-1.0))
    gravity = sim.get_gravity()
    assert (gravity[0], gravity[1], gravity[2]) == (0.5, 2.0, -1.0)
    view = sim.create_rigid_body_view("/World/ball")
    for _ in range(10):
        sim.step(stages.DT)
    velocity = arrays.host(view.get_velocities())[0, :3]
    np.testing.assert_allclose(velocity, np.array(gravity) * 10 * stages.DT, rtol=1e-5)
    for bad in (3.0, [1, 2], [1, 2, "x"], None):
        with pytest.raises(TypeError, match="expected three numbers"):
            sim.set_gravity(bad)


def test_object_types(stages: SimpleNamespace) -> None:
    """Behaviour 65."""
    stage = _ball(stages)
    stage.ant("/World/ant", (3, 0, 3))
    stage.cart_pole("/World/cartpole", (9, 0, 0))
    sim = stages.view("numpy", stage)
    for path, kind in (
        ("/World/ball", ObjectType.RigidBody),
        ("/World/ant", ObjectType.Invalid),
        ("/World/ant/torso", ObjectType.ArticulationRootLink),
        ("/World/ant/left_back_leg", ObjectType.ArticulationLink),
        ("/World/ant/joints/left_back_ankle", ObjectType.ArticulationJoint),
        ("/World/cartpole", ObjectType.Articulation),
        ("/World/cartpole/rail", ObjectType.ArticulationRootLink),
        ("/World/cartpole/cart", ObjectType.ArticulationLink),
        ("/World/cartpole/poleJoint", ObjectType.ArticulationJoint),
        ("/World/nothing", ObjectType.Invalid),
        ("/World", ObjectType.Invalid),
    ):
        assert sim.get_object_type(path) == kind, path


def test_devices(stages: SimpleNamespace, arrays: Any) -> None:
    sim = stages.view(arrays, _ball(stages))
    assert str(sim.device) == arrays.device
    on_cpu = arrays.device == "cpu"
    assert sim.device_ordinal == (-1 if on_cpu else 0)
    assert (sim.cuda_context is None) == on_cpu


def test_invalid_views_say_so_and_keep_their_names(stages: SimpleNamespace, arrays: Any) -> None:
    stage = _ball(stages)
    stage.cart_pole("/World/cartpole")
    sim = stages.view(arrays, stage)
    body = sim.create_rigid_body_view("/World/ball")
    robot = sim.create_articulation_view("/World/cartpole")
    poses = body.get_transforms()
    assert sim.is_valid
    assert sim.check()
    assert body.check()
    sim.invalidate()
    assert not sim.is_valid
    assert not sim.check()
    assert not robot.check()
    for call in (
        body.get_transforms,
        lambda: body.set_transforms(poses, None),
        lambda: body.apply_forces(poses, None),
        robot.get_dof_positions,
        robot.get_masses,
        robot.get_dof_types,
        lambda: sim.step(0.01),
        sim.get_gravity,
        lambda: sim.create_rigid_body_view("/World/ball"),
    ):
        with pytest.raises(tensorphys.InvalidViewError, match="no longer valid"):
            call()
    assert body.prim_paths == ["/World/ball"]
    assert (robot.max_dofs, robot.shared_metatype.dof_count) == (2, 2)
    assert robot.dof_paths == [["/World/cartpole/cartJoint", "/World/cartpole/poleJoint"]]


def test_reset_ends_all_views(stages: SimpleNamespace) -> None:
    stage = _ball(stages)
    views = [stages.view("numpy", stage) for _ in range(2)]
    views[0].step(0.5)
    tensorphys.reset()
    assert [view.is_valid for view in views] == [False, False]
    fresh = stages.view("numpy", stage)
    assert fresh.is_valid
    assert fresh.create_rigid_body_view("/World/ball").get_transforms()[0, 2] == 3.0
    api = tensorphys.acquire_tensor_api()
    assert api is tensorphys.acquire_tensor_api(plugin_name=None, library_path=None)
    api.reset()
    assert not fresh.is_valid


def test_stages_of_the_cache(stages: SimpleNamespace) -> None:
    cache = UsdUtils.StageCache.Get()
    first, second = _ball(stages).stage, _ball(stages).stage
    with pytest.raises(tensorphys.StageSelectionError, match="holds 0"):
        tensorphys.create_simulation_view("numpy", device="cpu")
    try:
        number = cache.Insert(first).ToLongInt()
        for arguments in ((), (-1,), (number,)):
            sim = tensorphys.create_simulation_view("numpy", *arguments, device="cpu")
            assert sim.create_rigid_body_view("/World/ball").count == 1
        cache.Insert(second)
        with pytest.raises(tensorphys.StageSelectionError, match=f"holds 2 .*{number}"):
            tensorphys.create_simulation_view("numpy", device="cpu")
        with pytest.raises(tensorphys.StageSelectionError, match="has no stage 4711"):
            tensorphys.create_simulation_view("numpy", 4711, device="cpu")
    finally:
        cache.Clear()


def test_scenes_files_and_replication(stages: SimpleNamespace, tmp_path: Path) -> None:
    import tensorphys_scene
    import tensorphys_usd

    stage = _ball(stages).stage
    path = tmp_path / "ball.usda"
    stage.GetRootLayer().Export(str(path))
    scene = tensorphys_usd.parse_stage(stage)
    for options in ({"stage": path}, {"stage": str(path)}, {"scene": scene}):
        sim = tensorphys.create_simulation_view("numpy", device="cpu", **options)
        np.testing.assert_array_equal(
            sim.create_rigid_body_view("/World/ball").get_transforms(), [[0, 0, 3, 0, 0, 0, 1]]
        )
    many = tensorphys.create_simulation_view("numpy", scene=scene, replicate=12, device="cpu")
    view = many.create_rigid_body_view("/World/envs/*/World/ball")
    assert view.prim_paths == [f"/World/envs/env_{i}/World/ball" for i in range(12)]
    placed = tensorphys_scene.replicate(scene, 3, origins=[[0, 0, 0], [4, 0, 0], [0, 5, 1]])
    sim = tensorphys.create_simulation_view("numpy", scene=placed, device="cpu")
    view = sim.create_rigid_body_view("/World/envs/env_*/World/ball")
    np.testing.assert_array_equal(view.get_transforms()[:, :3], [[0, 0, 3], [4, 0, 3], [0, 5, 4]])
    with pytest.raises(tensorphys.StageSelectionError, match="a scene is complete"):
        tensorphys.create_simulation_view("numpy", scene=scene, stage=stage)
    with pytest.raises(tensorphys.StageSelectionError, match="stage or stage_id"):
        tensorphys.create_simulation_view("numpy", 3, stage=stage)


def test_wrong_names_and_devices(stages: SimpleNamespace) -> None:
    stage = _ball(stages).stage
    with pytest.raises(tensorphys.FrontendError, match="no frontend is named 'julia'"):
        tensorphys.create_simulation_view("julia", stage=stage)
    with pytest.raises(tensorphys.FrontendError, match="use 'numpy'"):
        tensorphys.create_simulation_view("tensorflow", stage=stage)
    with pytest.raises(tensorphys.FrontendError, match="there is no 'cuda:77'"):
        tensorphys.create_simulation_view("warp", stage=stage, device="cuda:77")
    with pytest.raises(tensorphys.StageSelectionError, match="conventions: expected one of"):
        tensorphys.create_simulation_view("numpy", stage=stage, conventions="other")
    for name, alias in (("np", "numpy"), ("wp", "warp")):
        sim = tensorphys.create_simulation_view(name, stage=stage, device="cpu")
        kind = type(sim.create_rigid_body_view("/World/ball").get_transforms()).__module__
        assert kind.startswith(alias)


def test_patterns_without_hits(stages: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    stage = _ball(stages)
    stage.ant("/World/ant", (3, 0, 3))
    sim = stages.view("numpy", stage)
    with pytest.raises(tensorphys.NoMatchError, match=r"/World/bal.*/World") as error:
        sim.create_rigid_body_view("/World/bal")
    assert error.value.near_names[0] == "ball"
    assert isinstance(error.value, tensorphys.TensorApiError)
    with pytest.raises(tensorphys.NotSuitableError, match="/World/ant/torso"):
        sim.create_articulation_view("/World/ant")
    with pytest.raises(tensorphys.NoMatchError, match="/World/none"):
        sim.create_rigid_body_view(["/World/ball", "/World/none"])
    for bad in ("", "World/ball"):
        with pytest.raises(ValueError, match="invalid pattern"):
            sim.create_rigid_body_view(bad)
    assert sim.create_rigid_body_view("/World/ball/").prim_paths == ["/World/ball"]
    for factory, pattern in (("rigid_body", "/World/none"), ("articulation", "/World/ball")):
        view = getattr(sim, f"create_{factory}_view")(pattern, on_no_match="empty")
        assert view._backend is None
        assert (view.count, view.prim_paths, view.check()) == (0, [], False)
        with pytest.raises(tensorphys.ViewError, match="matched nothing"):
            view.get_masses()
    caplog.clear()
    some = sim.create_rigid_body_view(["/World/*", "/World/none"], on_no_match="empty")
    assert some.prim_paths == ["/World/ball"]
    assert "/World/none" in caplog.text
    assert "/World/ant" in caplog.text
    caplog.clear()
    sim.enable_warnings(False)
    sim.create_rigid_body_view("/World/*")
    assert caplog.text == ""
    runtime = stages.view("numpy", stage, conventions="runtime")
    assert runtime.create_articulation_view("/World/none")._backend is None


def test_what_is_not_there_is_named(stages: SimpleNamespace) -> None:
    stage = _ball(stages)
    stage.cart_pole("/World/cartpole")
    sim = stages.view("numpy", stage)
    for factory, kind in (
        ("soft_body", "a volume deformable"),
        ("soft_body_material", "a material of deformables"),
        ("volume_deformable_body", "a volume deformable"),
        ("surface_deformable_body", "a surface deformable"),
        ("deformable_material", "a material of deformables"),
        ("particle_system", "a particle system with particles"),
        ("particle_cloth", "a particle cloth"),
        ("particle_material", "a material of particles"),
    ):
        make = getattr(sim, f"create_{factory}_view")
        with pytest.raises(tensorphys.NotSuitableError, match=f"none is {kind}"):
            make("/World/cartpole")
        assert make("/World/cartpole", on_no_match="empty")._backend is None
    view = sim.create_articulation_view("/World/cartpole")
    with pytest.raises(AttributeError, match="has no attribute 'get_nonsense'"):
        view.get_nonsense  # noqa: B018
    assert sim.flush()
    sim.initialize_kinematic_bodies()


def test_every_member_of_the_api_is_there(stages: SimpleNamespace) -> None:
    """Members of the views of this slice, as the known API lists them."""
    members = json.loads((Path(__file__).parent / "tensor_api_members.json").read_text())
    stage = _ball(stages)
    stage.cart_pole("/World/cartpole")
    sim = stages.view("numpy", stage)
    objects = {
        "SimulationView": sim,
        "ArticulationView": sim.create_articulation_view("/World/cartpole"),
        "RigidBodyView": sim.create_rigid_body_view("/World/ball"),
    }
    absent = [
        (kind, name) for kind, names in members.items() for name in names if not hasattr(objects[kind], name)
    ]
    assert not absent
