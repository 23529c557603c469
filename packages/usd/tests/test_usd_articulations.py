"""Articulation trees."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Usd, UsdGeom, UsdPhysics

from tensorphys_scene import Scene, Template
from tensorphys_usd import StageError, parse_stage

_ROOT = '"PhysicsArticulationRootAPI"'


def body(name: str, schemas: str = "", extra: str = "") -> str:
    listed = ", ".join(filter(None, ['"PhysicsRigidBodyAPI"', '"PhysicsMassAPI"', schemas]))
    return f"""
    def Xform "{name}" (prepend apiSchemas = [{listed}]) {{
        float physics:mass = 1
        float3 physics:diagonalInertia = (1, 1, 1)
        {extra}
    }}
    """


def joint(name: str, first: str, second: str, kind: str = "Revolute", extra: str = "") -> str:
    first = f"rel physics:body0 = </{first}>" if first else ""
    return f"""
    def Physics{kind}Joint "{name}" {{
        {first}
        rel physics:body1 = </{second}>
        {extra}
    }}
    """


def names(template: Template) -> list[str]:
    return [path.rpartition("/")[2] for path in template.links.path]


@given(
    parents=st.lists(st.integers(0, 7), min_size=1, max_size=8),
    order=st.randoms(use_true_random=False),
    fixed=st.booleans(),
    swap=st.lists(st.booleans(), min_size=8, max_size=8),
)
def test_random_trees_are_breadth_first_with_siblings_in_stage_order(
    parents: list[int], order: object, fixed: bool, swap: list[bool]
) -> None:
    parents = [min(parent, index) for index, parent in enumerate(parents)]  # body i + 1 hangs on parents[i]
    stage = Usd.Stage.CreateInMemory()
    UsdPhysics.Scene.Define(stage, "/Scene")
    for index in range(len(parents) + 1):
        prim = UsdGeom.Xform.Define(stage, f"/b{index}").GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(prim)
        UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(1.0)
    UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath("/b0"))
    if fixed:
        UsdPhysics.FixedJoint.Define(stage, "/weld").CreateBody1Rel().SetTargets(["/b0"])
    authored = list(range(len(parents)))
    order.shuffle(authored)  # type: ignore[attr-defined]
    for index in authored:
        ends = [f"/b{parents[index]}", f"/b{index + 1}"]
        joint = UsdPhysics.RevoluteJoint.Define(stage, f"/j{index}")
        joint.CreateBody0Rel().SetTargets([ends[swap[index]]])
        joint.CreateBody1Rel().SetTargets([ends[not swap[index]]])
    template = parse_stage(stage).templates[0]
    expected, queue = [0], [0]
    while queue:
        parent = queue.pop(0)
        children = [index + 1 for index in authored if parents[index] == parent]
        expected += children
        queue += children
    assert names(template) == [f"b{index}" for index in expected]
    assert template.articulations.fixed_base.tolist() == [fixed]
    for row, index in enumerate(expected[1:], start=1):
        assert expected[template.links.parent[row]] == parents[index - 1]
        assert template.joints.path[template.links.joint[row]] == f"/j{index - 1}"
        assert bool(template.links.flipped[row]) == swap[index - 1]
    assert (template.links.joint[0] >= 0) == fixed
    assert template.links.joint_count[0] == int(fixed)


def test_joints_whose_motions_add_stand_together(scene_of: Callable[..., Scene]) -> None:
    text = body("A", _ROOT, "bool newton:jointsAddMobility = 1") + body("B") + body("C")
    text += joint("first", "A", "B") + joint("other", "B", "C") + joint("second", "A", "B", "Prismatic")
    template = scene_of(text).templates[0]
    assert template.joints.path == ("/first", "/second", "/other")
    assert template.links.joint.tolist() == [-1, 0, 2]
    assert template.links.joint_count.tolist() == [0, 2, 1]
    assert template.axes.names == ("first", "second", "other")
    assert not template.joints.excluded.any()


def test_without_added_mobility_a_second_joint_is_a_constraint(scene_of: Callable[..., Scene]) -> None:
    scene = scene_of(body("A", _ROOT) + body("B") + joint("first", "A", "B") + joint("second", "A", "B"))
    template = scene.templates[0]
    assert template.links.joint_count.tolist() == [0, 1]
    assert template.joints.excluded.tolist() == [False, True]
    assert any(path == "/second" for path, _ in scene.findings)


def test_moving_joints_to_the_world(scene_of: Callable[..., Scene]) -> None:
    text = (
        body("A", _ROOT, "bool newton:jointsAddMobility = 1")
        + joint("x", "", "A", "Prismatic")
        + joint("r", "", "A")
    )
    template = scene_of(text).templates[0]
    assert template.links.joint.tolist() == [0]
    assert template.links.joint_count.tolist() == [2]
    assert template.links.parent.tolist() == [-1]
    assert template.axes.count == 2


def test_loops_are_closed_by_constraints(scene_of: Callable[..., Scene]) -> None:
    text = body("A", _ROOT) + body("B") + body("C")
    text += (
        joint("ab", "A", "B")
        + joint("ac", "A", "C")
        + joint("bc", "B", "C")
        + joint("weld", "", "C", "Fixed")
    )
    scene = scene_of(text)
    template = scene.templates[0]
    # The body that is tied to the world is the root, even where another one carries the schema.
    assert names(template) == ["C", "A", "B"]
    assert template.articulations.fixed_base.tolist() == [True]
    assert template.joints.path[int(np.flatnonzero(template.joints.excluded)[0])] == "/ab"
    assert [path for path, text in scene.findings if "loop" in text] == ["/ab"]


def test_root_schema_on_the_root_joint(scene_of: Callable[..., Scene]) -> None:
    weld = joint("weld", "", "B", "Fixed").replace('"weld" {', f'"weld" (prepend apiSchemas = [{_ROOT}]) {{')
    template = scene_of(body("A") + body("B") + joint("j", "B", "A") + weld).templates[0]
    assert template.articulations.path == ("/weld",)
    assert names(template) == ["B", "A"]


def test_disabled_articulation_leaves_joints_between_free_bodies(scene_of: Callable[..., Scene]) -> None:
    text = (
        body("A", _ROOT, "bool physxArticulation:articulationEnabled = 0") + body("B") + joint("j", "A", "B")
    )
    scene = scene_of(text)
    assert scene.templates[0].articulations.count == 0
    assert scene.templates[0].joints.count == 1


@pytest.mark.parametrize("name", ["/A", "/*", "*"])
def test_free_base(scene_of: Callable[..., Scene], name: str) -> None:
    text = body("A", _ROOT) + body("B") + joint("weld", "", "A", "Fixed") + joint("j", "A", "B")
    fixed = scene_of(text).templates[0]
    free = scene_of(text, free_base=[name]).templates[0]
    assert (fixed.articulations.fixed_base[0], free.articulations.fixed_base[0]) == (True, False)
    assert free.joints.enabled.tolist() == [False, True]
    assert (fixed.links.joint[0], free.links.joint[0]) == (0, -1)


def test_fix_base(scene_of: Callable[..., Scene]) -> None:
    text = body("A", _ROOT) + body("B") + joint("j", "A", "B")
    assert scene_of(text).templates[0].articulations.fixed_base.tolist() == [False]
    template = scene_of(text, fix_base=["/A"]).templates[0]
    assert template.articulations.fixed_base.tolist() == [True]
    assert template.links.joint.tolist() == [-1, 0]


def test_names_of_no_articulation_are_refused(scene_of: Callable[..., Scene]) -> None:
    with pytest.raises(StageError, match=r"free_base: no articulation has the root '/Robot'"):
        scene_of(body("A", _ROOT), free_base=["/Robot"])
    with pytest.raises(StageError, match=r"both free_base and fix_base"):
        scene_of(body("A", _ROOT), free_base=["/A"], fix_base=["/A"])


def test_initial_positions_come_from_poses_where_no_state_is_authored(scene_of: Callable[..., Scene]) -> None:
    turned = 'double xformOp:rotateZ = 40\nuniform token[] xformOpOrder = ["xformOp:rotateZ"]'
    moved = 'double3 xformOp:translate = (0, 0, 0.5)\nuniform token[] xformOpOrder = ["xformOp:translate"]'
    axis = 'uniform token physics:axis = "Z"'
    text = body("A", _ROOT) + body("B", "", turned) + body("C", "", moved) + body("D", "", turned)
    text += joint("ab", "A", "B", extra=axis) + joint("ac", "A", "C", "Prismatic", axis)
    text += joint("ad", "A", "D", extra=axis + "\nfloat state:angular:physics:position = 10")
    scene = scene_of(text)
    np.testing.assert_allclose(
        scene.templates[0].axes.position, np.radians([40.0, np.degrees(0.5), 10.0]), atol=1e-6
    )
    assert {path for path, text in scene.findings if "initial position" in text} == {"/ab", "/ac"}


def test_equal_names_are_made_unique(scene_of: Callable[..., Scene]) -> None:
    scopes = [
        f'def Scope "{name}" {{\n{joint("j", first, second)}\n}}\n'
        for name, first, second in (("p", "R/A", "R/B"), ("q", "R/B", "R/C"))
    ]
    text = f'def Xform "R" (prepend apiSchemas = [{_ROOT}]) {{\n{body("A")}{body("B")}{body("C")}{scopes[0]}{scopes[1]}}}\n'
    names = scene_of(text).templates[0].axes.names
    assert sorted(names) == ["j", "j_0"]


def test_self_collision_flag(scene_of: Callable[..., Scene]) -> None:
    cube = 'def Cube "C" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {}'

    def pairs(flag: str) -> list[list[int]]:
        text = body("A", _ROOT, flag + cube) + body("B", "", cube) + body("C", "", cube)
        text += joint("ab", "A", "B", extra="bool physics:collisionEnabled = 1") + joint("bc", "B", "C")
        return scene_of(text).templates[0].filtered_pairs.tolist()

    assert pairs("") == [[0, 1], [1, 2]]
    assert pairs("bool physxArticulation:enabledSelfCollisions = 0\n") == [[0, 1], [0, 2], [1, 2]]


def test_articulation_settings(scene_of: Callable[..., Scene]) -> None:
    settings = """
        int physxArticulation:solverPositionIterationCount = 8
        int physxArticulation:solverVelocityIterationCount = 2
        float physxArticulation:sleepThreshold = 0.25
    """
    table = scene_of(body("A", _ROOT, settings)).templates[0].articulations
    assert (table.position_iterations[0], table.velocity_iterations[0], table.sleep_threshold[0]) == (
        8,
        2,
        0.25,
    )
