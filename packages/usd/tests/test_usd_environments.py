"""Templates, environments, shared shapes."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from tensorphys_scene import Scene, Template, equal
from tensorphys_usd import StageError, parse_stage
from tensorphys_usd.roots import find_roots

_TABLES = ("bodies", "shapes", "materials", "joints", "axes", "links", "articulations")


def robot(stage: Usd.Stage, root: str, *, mass: float = 1.0, size: float = 1.0) -> None:
    """Two links on a base that is welded to the world, one loose cube and a ground plane."""
    for index in range(3):
        xform = UsdGeom.Xform.Define(stage, f"{root}/robot/l{index}")
        xform.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 0.5 * index))
        prim = xform.GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(prim)
        UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(mass if index == 1 else 1.0)
        cube = UsdGeom.Cube.Define(stage, f"{root}/robot/l{index}/col")
        cube.CreateSizeAttr(size)
        UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath(f"{root}/robot/l0"))
    weld = UsdPhysics.FixedJoint.Define(stage, f"{root}/robot/weld")
    weld.CreateBody0Rel().SetTargets([root])
    weld.CreateBody1Rel().SetTargets([f"{root}/robot/l0"])
    for index in range(2):
        joint = UsdPhysics.RevoluteJoint.Define(stage, f"{root}/robot/j{index}")
        joint.CreateBody0Rel().SetTargets([f"{root}/robot/l{index}"])
        joint.CreateBody1Rel().SetTargets([f"{root}/robot/l{index + 1}"])
        joint.CreateLocalPos0Attr((0.0, 0.0, 0.5))
    cube = UsdGeom.Cube.Define(stage, f"{root}/cube")
    cube.AddTranslateOp().Set(Gf.Vec3d(1.0, 0.0, 0.0))
    UsdPhysics.RigidBodyAPI.Apply(cube.GetPrim())
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    UsdPhysics.CollisionAPI.Apply(UsdGeom.Plane.Define(stage, f"{root}/floor").GetPrim())


def stage_with(origins: list[tuple[float, float, float]], **differences: list[float]) -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdPhysics.Scene.Define(stage, "/scene")
    for index, origin in enumerate(origins):
        UsdGeom.Xform.Define(stage, f"/World/envs/env_{index}").AddTranslateOp().Set(Gf.Vec3d(*origin))
        robot(
            stage, f"/World/envs/env_{index}", **{name: values[index] for name, values in differences.items()}
        )
    return stage


def assert_equal_templates(first: Template, second: Template) -> None:
    assert first.prims == second.prims
    for name in _TABLES:
        assert equal(getattr(first, name), getattr(second, name)), name
    np.testing.assert_array_equal(first.filtered_pairs, second.filtered_pairs)


@given(
    origins=st.lists(
        st.tuples(*[st.floats(-1024.0, 1024.0, width=32)] * 3), min_size=1, max_size=5, unique=True
    )
)
def test_environments_share_one_template_wherever_they_stand(
    origins: list[tuple[float, float, float]],
) -> None:
    scene = parse_stage(stage_with(origins), environments="/World/envs/env_*")
    reference = parse_stage(stage_with([(0.0, 0.0, 0.0)]), environments="/World/envs/env_*")
    assert len(scene.templates) == 1
    assert not scene.overrides
    np.testing.assert_array_equal(scene.environments.origin, origins)
    for name in _TABLES:
        first, second = getattr(scene.templates[0], name), getattr(reference.templates[0], name)
        assert first.path == second.path
    np.testing.assert_allclose(scene.templates[0].bodies.pose, reference.templates[0].bodies.pose, atol=1e-12)
    np.testing.assert_allclose(
        scene.templates[0].joints.frame0, reference.templates[0].joints.frame0, atol=1e-12
    )


def test_paths_are_relative_to_the_root() -> None:
    scene = parse_stage(stage_with([(0, 0, 0), (5, 0, 0)]), environments="/World/envs/env_*")
    template = scene.templates[0]
    assert template.bodies.path == ("/robot/l0", "/robot/l1", "/robot/l2", "/cube")
    assert template.prims[:3] == ("", "/robot", "/robot/l0")
    assert template.shapes.body.tolist() == [0, 1, 2, 3, -1]
    assert scene.environments.path == ("/World/envs/env_0", "/World/envs/env_1")
    assert template.articulations.path == ("/robot/l0",)


def test_without_a_pattern_everything_is_one_world() -> None:
    scene = parse_stage(stage_with([(0, 0, 0), (5, 0, 0)]))
    template = scene.templates[0]
    assert scene.environments.path == ("",)
    assert template.articulations.count == 2
    assert template.bodies.path[4] == "/World/envs/env_1/robot/l0"
    assert template.links.articulation.tolist() == [0, 0, 0, 1, 1, 1]
    assert template.prims[0] == ""
    assert "/World/envs/env_1/floor" in template.prims


def test_differences_are_kept_by_environment() -> None:
    stage = stage_with([(0, 0, 0), (5, 0, 0), (0, 5, 0)], mass=[1.0, 2.0, 3.0])
    scene = parse_stage(stage, environments="/World/envs/env_*")
    assert len(scene.templates) == 1
    assert set(scene.overrides) == {(0, "bodies.mass"), (0, "bodies.inertia")}
    np.testing.assert_allclose(scene.overrides[0, "bodies.mass"][:, 1], (1.0, 2.0, 3.0))
    single = parse_stage(stage_with([(0, 0, 0)], mass=[3.0])).templates[0].bodies
    np.testing.assert_allclose(scene.overrides[0, "bodies.inertia"][2], single.inertia)


def test_other_structure_is_another_template() -> None:
    stage = stage_with([(0, 0, 0), (5, 0, 0), (0, 5, 0)])
    stage.RemovePrim("/World/envs/env_1/cube")
    scene = parse_stage(stage, environments="/World/envs/env_*")
    assert scene.environments.template.tolist() == [0, 1, 0]
    assert [template.bodies.count for template in scene.templates] == [4, 3]


def test_static_shapes_outside_belong_to_all() -> None:
    stage = stage_with([(0, 0, 0), (5, 0, 0)])
    wall = UsdGeom.Cube.Define(stage, "/World/wall")
    wall.AddTranslateOp().Set(Gf.Vec3d(10.0, 0.0, 0.0))
    UsdPhysics.CollisionAPI.Apply(wall.GetPrim())
    still = UsdGeom.Cube.Define(stage, "/World/still")
    UsdPhysics.CollisionAPI.Apply(still.GetPrim())
    UsdPhysics.RigidBodyAPI.Apply(still.GetPrim()).CreateRigidBodyEnabledAttr(False)
    scene = parse_stage(stage, environments="/World/envs/env_*")
    assert scene.shared.shapes.path == ("/World/wall", "/World/still")
    np.testing.assert_allclose(scene.shared.shapes.pose[0, :3], (10, 0, 0))
    assert scene.templates[0].shapes.count == 5


def test_moving_bodies_outside_are_an_error() -> None:
    stage = stage_with([(0, 0, 0)])
    UsdPhysics.RigidBodyAPI.Apply(UsdGeom.Cube.Define(stage, "/World/loose").GetPrim())
    with pytest.raises(
        StageError, match=r"^/World/loose: moving body outside of all environments.*one world"
    ):
        parse_stage(stage, environments="/World/envs/env_*")


def test_joints_between_environments_are_an_error() -> None:
    stage = stage_with([(0, 0, 0), (5, 0, 0)])
    joint = UsdPhysics.FixedJoint.Define(stage, "/World/bridge")
    joint.CreateBody0Rel().SetTargets(["/World/envs/env_0/cube"])
    joint.CreateBody1Rel().SetTargets(["/World/envs/env_1/cube"])
    with pytest.raises(StageError, match=r"^/World/bridge: joint between bodies of two environments"):
        parse_stage(stage, environments="/World/envs/env_*")


def test_a_pattern_without_a_match() -> None:
    with pytest.raises(StageError, match="environments='/World/nothing_\\*' matches no prim"):
        parse_stage(stage_with([(0, 0, 0)]), environments="/World/nothing_*")


def test_a_filter_stays_in_its_environment() -> None:
    stage = stage_with([(0, 0, 0), (5, 0, 0)])
    for index in range(2):
        api = UsdPhysics.FilteredPairsAPI.Apply(stage.GetPrimAtPath(f"/World/envs/env_{index}/cube"))
        api.CreateFilteredPairsRel().SetTargets([f"/World/envs/env_{index}/robot/l2"])
    scene = parse_stage(stage, environments="/World/envs/env_*")
    assert len(scene.templates) == 1
    assert scene.templates[0].filtered_pairs.tolist() == [[0, 1], [1, 2], [2, 3]]


def test_materials_of_an_environment_and_of_all() -> None:
    stage = stage_with([(0, 0, 0), (5, 0, 0)])
    common = UsdShade.Material.Define(stage, "/World/common")
    UsdPhysics.MaterialAPI.Apply(common.GetPrim()).CreateDynamicFrictionAttr(0.25)
    for index in range(2):
        root = f"/World/envs/env_{index}"
        own = UsdShade.Material.Define(stage, f"{root}/own")
        UsdPhysics.MaterialAPI.Apply(own.GetPrim()).CreateDynamicFrictionAttr(0.5)
        for name, material in (("cube", own), ("floor", common)):
            prim = stage.GetPrimAtPath(f"{root}/{name}")
            UsdShade.MaterialBindingAPI.Apply(prim).Bind(material, materialPurpose="physics")
    scene = parse_stage(stage, environments="/World/envs/env_*")
    template = scene.templates[0]
    assert len(scene.templates) == 1
    assert set(template.materials.path) == {"/own", "/World/common"}
    friction = template.materials.dynamic_friction[template.shapes.material[-2:]]
    assert friction.tolist() == [0.5, 0.25]


def test_an_unbound_material_is_another_template() -> None:
    stage = stage_with([(0, 0, 0), (5, 0, 0), (0, 5, 0)], mass=[1.0, 2.0, 3.0])
    for index in range(3):
        material = UsdShade.Material.Define(stage, f"/World/envs/env_{index}/own")
        UsdPhysics.MaterialAPI.Apply(material.GetPrim()).CreateDynamicFrictionAttr(0.5)
        cube = UsdShade.MaterialBindingAPI.Apply(stage.GetPrimAtPath(f"/World/envs/env_{index}/cube"))
        if index != 1:
            cube.Bind(material, materialPurpose="physics")
    scene = parse_stage(stage, environments="/World/envs/env_*")
    assert scene.environments.template.tolist() == [0, 1, 0]
    assert [template.shapes.material[3] for template in scene.templates] == [0, -1]
    np.testing.assert_allclose(scene.overrides[0, "bodies.mass"][:, 1], (1.0, 3.0))
    assert scene.templates[1].bodies.mass[1] == 2.0


def test_friction_of_environments_differs_in_one_template() -> None:
    stage = stage_with([(0, 0, 0), (5, 0, 0)])
    for index in range(2):
        root = f"/World/envs/env_{index}"
        material = UsdShade.Material.Define(stage, f"{root}/own")
        UsdPhysics.MaterialAPI.Apply(material.GetPrim()).CreateDynamicFrictionAttr(0.25 + index)
        UsdShade.MaterialBindingAPI.Apply(stage.GetPrimAtPath(f"{root}/cube")).Bind(material)
    scene = parse_stage(stage, environments="/World/envs/env_*")
    assert len(scene.templates) == 1
    assert list(scene.overrides) == [(0, "materials.dynamic_friction")]
    np.testing.assert_allclose(scene.overrides[0, "materials.dynamic_friction"], [[0.25], [1.25]])


@pytest.mark.parametrize(
    ("differs", "templates"),
    [("nothing", 1), ("sampled root transform", 1), ("place", 1), ("turn", 1), ("note", 1), ("target", 2)],
)
def test_only_equal_specs_are_read_once(differs: str, templates: int) -> None:
    stage = stage_with([(0, 0, 0), (5, 0, 0), (0, 5, 0)])
    root = UsdGeom.Xformable(stage.GetPrimAtPath("/World/envs/env_1"))
    if differs == "sampled root transform":
        root.GetOrderedXformOps()[0].Set(Gf.Vec3d(1, 2, 3), 4.0)
    elif differs == "place":
        UsdGeom.Xformable(stage.GetPrimAtPath("/World/envs/env_1/cube")).GetOrderedXformOps()[0].Set(
            (9, 0, 0)
        )
    elif differs == "turn":
        root.AddRotateZOp().Set(90.0)
    elif differs == "note":
        root.GetPrim().CreateAttribute("note", Sdf.ValueTypeNames.String).Set("xformOp:translate = (0, 0, 0)")
    elif differs == "target":
        weld = UsdPhysics.Joint(stage.GetPrimAtPath("/World/envs/env_1/robot/weld"))
        weld.GetBody1Rel().SetTargets(["/World/envs/env_1/cube"])
    parsed = [0, 0, 0] if differs == "nothing" else [0, 1, 0]
    assert find_roots(stage, "/World/envs/env_*").source.tolist() == parsed
    scene = parse_stage(stage, environments="/World/envs/env_*")
    assert len(scene.templates) == templates
    assert bool(scene.overrides) == (differs in ("place", "turn"))


def test_parsing_environments_is_linear(scene_of: Callable[..., Scene]) -> None:
    def seconds(count: int) -> float:
        stage = stage_with([(3.0 * index, 0.0, 0.0) for index in range(count)])
        start = time.perf_counter()
        parse_stage(stage, environments="/World/envs/env_*")
        return time.perf_counter() - start

    seconds(2)
    small, large = min(seconds(8) for _ in range(2)), seconds(64)
    assert large < 24.0 * small  # 8 for linear, 64 for quadratic


def _copies() -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/scene")
    UsdGeom.Xform.Define(stage, "/other")
    for index in range(3):
        UsdGeom.Xform.Define(stage, f"/envs/e{index}").AddTranslateOp().Set(Gf.Vec3d(9.0 * index, 0.0, 0.0))
        robot(stage, f"/envs/e{index}")
    return stage


def _group(stage: Usd.Stage, target: str) -> None:
    group = UsdPhysics.CollisionGroup.Define(stage, "/group")
    group.GetCollidersCollectionAPI().CreateIncludesRel().SetTargets([target])
    group.CreateFilteredGroupsRel().SetTargets(["/group"])


@pytest.mark.parametrize(
    ("target", "parsed"),
    [("/other", [0, 0, 0]), ("/envs/e1/cube", [0, 1, 2]), ("/envs", [0, 1, 2]), ("/envs/e1", [0, 1, 2])],
)
def test_only_groups_that_reach_into_environments_are_read_for_each(target: str, parsed: list[int]) -> None:
    stage = _copies()
    _group(stage, target)
    assert find_roots(stage, "/envs/*").source.tolist() == parsed
    scene = parse_stage(stage, environments="/envs/*")
    pairs = [len(scene.templates[index].filtered_pairs) for index in scene.environments.template]
    assert pairs[0] == pairs[2]
    assert (pairs[1] > pairs[0]) == (target == "/envs/e1")


def test_only_joints_that_reach_into_environments_are_read_for_each() -> None:
    stage = _copies()
    joint = UsdPhysics.FixedJoint.Define(stage, "/joint")
    joint.CreateBody1Rel().SetTargets(["/other"])
    assert find_roots(stage, "/envs/*").source.tolist() == [0, 0, 0]
    joint.CreateBody1Rel().SetTargets(["/envs/e2/cube"])
    assert find_roots(stage, "/envs/*").source.tolist() == [0, 1, 2]
    scene = parse_stage(stage, environments="/envs/*")
    assert scene.environments.template.tolist() == [0, 0, 1]
    assert [template.joints.count for template in scene.templates] == [3, 4]
