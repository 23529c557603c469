"""Names, trees, types and paths of articulations."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorphys import DofDriveType, DofMotion, DofType, JointType
from tensorphys.metatype import unique_names


def test_cart_poles(stages: SimpleNamespace) -> None:
    """Behaviour 2."""
    stage = stages.Author.new()
    stage.environments(16, lambda path, _: stage.cart_pole(f"{path}/cartpole"))
    view = stages.view("numpy", stage).create_articulation_view("/envs/*/cartpole")
    assert (view.count, view.max_links, view.max_dofs, view.max_shapes) == (16, 3, 2, 0)
    assert view.is_homogeneous
    kind = view.shared_metatype
    assert kind == view.get_metatype(15)
    assert kind.link_names == ["rail", "cart", "pole"]
    assert kind.link_indices == {"rail": 0, "cart": 1, "pole": 2}
    assert kind.link_parents == ["", "rail", "cart"]
    assert kind.link_parent_indices == {"cart": 0, "pole": 1}
    assert kind.joint_names == kind.dof_names == ["cartJoint", "poleJoint"]
    assert kind.dof_indices == kind.joint_indices == {"cartJoint": 0, "poleJoint": 1}
    assert kind.joint_types == [JointType.Prismatic, JointType.Revolute]
    assert kind.joint_dof_offsets == [0, 1]
    assert kind.joint_dof_counts == [1, 1]
    assert kind.dof_types == [DofType.Translation, DofType.Rotation]
    assert kind.fixed_base
    assert (kind.link_count, kind.joint_count, kind.dof_count) == (3, 2, 2)
    assert view.prim_paths == [f"/envs/env{i}/cartpole" for i in range(16)]
    assert view.dof_paths == [[f"{path}/cartJoint", f"{path}/poleJoint"] for path in view.prim_paths]
    assert view.link_paths == [[f"{path}/{name}" for name in kind.link_names] for path in view.prim_paths]
    np.testing.assert_array_equal(view.get_dof_types(), [[DofType.Translation, DofType.Rotation]] * 16)
    np.testing.assert_array_equal(view.get_dof_motions(), [[DofMotion.Limited, DofMotion.Free]] * 16)


# Link, parent, position, axes of the joint to the parent as (name, axis, low, high); links as they are authored.
HUMANOID: list[tuple[str, str, tuple[float, float, float], list[tuple[str, str, float, float]]]] = [
    ("torso", "", (0, 0, 1.4), []),
    ("head", "torso", (0, 0, 1.6), []),
    ("lower_waist", "torso", (0, 0, 1.2), [("abdomen_z", "Z", -45, 45), ("abdomen_y", "Y", -75, 30)]),
    ("pelvis", "lower_waist", (0, 0, 1.1), [("abdomen_x", "X", -35, 35)]),
    (
        "right_thigh", "pelvis", (0, -0.1, 1.0),
        [("right_hip_x", "X", -45, 15), ("right_hip_z", "Z", -60, 35), ("right_hip_y", "Y", -120, 45)],
    ),
    ("right_shin", "right_thigh", (0, -0.1, 0.6), [("right_knee", "Y", -160, 2)]),
    ("right_foot", "right_shin", (0, -0.1, 0.1), [("right_ankle_y", "Y", -50, 50), ("right_ankle_x", "X", -50, 50)]),
    (
        "left_thigh", "pelvis", (0, 0.1, 1.0),
        [("left_hip_x", "X", -45, 15), ("left_hip_z", "Z", -60, 35), ("left_hip_y", "Y", -120, 45)],
    ),
    ("left_shin", "left_thigh", (0, 0.1, 0.6), [("left_knee", "Y", -160, 2)]),
    ("left_foot", "left_shin", (0, 0.1, 0.1), [("left_ankle_y", "Y", -50, 50), ("left_ankle_x", "X", -50, 50)]),
    (
        "right_upper_arm", "torso", (0, -0.2, 1.5),
        [("right_shoulder1", "X", -90, 70), ("right_shoulder2", "Y", -90, 70)],
    ),
    ("right_lower_arm", "right_upper_arm", (0.2, -0.4, 1.3), [("right_elbow", "Z", -90, 50)]),
    ("right_hand", "right_lower_arm", (0.4, -0.3, 1.4), []),
    ("left_upper_arm", "torso", (0, 0.2, 1.5), [("left_shoulder1", "X", -90, 70), ("left_shoulder2", "Y", -90, 70)]),
    ("left_lower_arm", "left_upper_arm", (0.2, 0.4, 1.3), [("left_elbow", "Z", -90, 50)]),
    ("left_hand", "left_lower_arm", (0.4, 0.3, 1.4), []),
]  # fmt: skip


def test_humanoid(stages: SimpleNamespace) -> None:
    """Behaviour 3: breadth-first links; several hinges between two bodies add mobility, one DOF each."""
    from pxr import Sdf

    stage = stages.Author.new()

    def fill(path: str, _: int) -> None:
        root = f"{path}/humanoid"
        stage.xform(root)
        places = {}
        for name, parent, position, hinges in HUMANOID:
            places[name] = position
            stage.body(f"{root}/{name}", position)
            if not parent:
                stage.articulation(f"{root}/{name}")
                stage.stage.GetPrimAtPath(f"{root}/{name}").CreateAttribute(
                    "newton:jointsAddMobility", Sdf.ValueTypeNames.Bool
                ).Set(True)
                continue
            ends = (f"{root}/{parent}", f"{root}/{name}")
            at = np.subtract(position, places[parent])
            for hinge, axis, low, high in hinges:
                stage.joint(
                    f"{root}/{name}/{hinge}", "revolute", *ends, axis=axis, at0=at, limits=(low, high)
                )
            if not hinges:
                stage.joint(f"{root}/{name}/weld", "fixed", *ends, at0=at)

    stage.environments(3, fill)
    view = stages.view("numpy", stage).create_articulation_view("/envs/*/humanoid/torso")
    kind = view.shared_metatype
    assert kind.link_names == [
        "torso", "head", "lower_waist", "right_upper_arm", "left_upper_arm", "pelvis", "right_lower_arm",
        "left_lower_arm", "right_thigh", "left_thigh", "right_hand", "left_hand", "right_shin", "left_shin",
        "right_foot", "left_foot",
    ]  # fmt: skip
    parents = {name: parent for name, parent, _, _ in HUMANOID}
    assert kind.link_parents == [parents[name] for name in kind.link_names]
    assert kind.link_parent_indices == {
        name: kind.link_names.index(parents[name]) for name in kind.link_names if parents[name]
    }
    hinges = {name: [hinge[0] for hinge in joints] for name, _, _, joints in HUMANOID}
    assert kind.dof_names == [hinge for link in kind.link_names for hinge in hinges[link]]
    assert len(kind.dof_names) == 21
    assert not kind.fixed_base
    limits = {hinge[0]: hinge[2:] for _, _, _, joints in HUMANOID for hinge in joints}
    expected = np.array([limits[name] for name in kind.dof_names])
    np.testing.assert_allclose(np.degrees(view.get_dof_limits()), [expected] * 3, atol=5e-5)
    np.testing.assert_array_equal(view.get_dof_types(), np.full((3, 21), DofType.Rotation))
    np.testing.assert_array_equal(view.get_dof_motions(), np.full((3, 21), DofMotion.Limited))


def test_one_link_without_joints(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviour 5: arrays of size zero pass through every getter and setter."""
    stage = stages.Author.new()
    stage.body("/World/base")
    stage.articulation("/World/base")
    stage.joint("/World/tie", "fixed", None, "/World/base")
    view = stages.view(arrays, stage).create_articulation_view("/World/base")
    assert (view.count, view.max_links, view.max_dofs) == (1, 1, 0)
    assert view.is_homogeneous
    assert view.shared_metatype.fixed_base
    assert view.dof_paths == [[]]
    for name in ("dof_positions", "dof_velocities", "dof_stiffnesses", "dof_actuation_forces", "dof_limits"):
        values = getattr(view, f"get_{name}")()
        assert tuple(values.shape)[:2] == (1, 0)
        own = arrays if name in ("dof_positions", "dof_velocities", "dof_actuation_forces") else arrays.cpu
        getattr(view, f"set_{name}")(values, own.rows([0]))


def test_duplicate_names(stages: SimpleNamespace) -> None:
    """Behaviour 6."""
    stage = stages.Author.new()
    for path in ("/World/robot", "/World/robot/a", "/World/robot/b"):
        stage.xform(path)
    stage.articulation("/World/robot")
    links = [f"/World/robot/{name}" for name in ("base", "a/arm", "b/arm", "tip")]
    for i, path in enumerate(links):
        stage.body(path, (0, 0, i))
    for path, ends in (("a/hinge", links[:2]), ("b/hinge", links[1:3]), ("wrist", links[2:])):
        stage.joint(f"/World/robot/{path}", "revolute", *ends, at0=(0, 0, 1))
    stage.joint("/World/robot/tie", "fixed", None, links[0])
    kind = stages.view("numpy", stage).create_articulation_view("/World/robot").shared_metatype
    assert kind.link_names == ["base", "arm", "arm_0", "tip"]
    assert kind.joint_names == kind.dof_names == ["hinge", "hinge_0", "wrist"]
    assert kind.link_parents == ["", "base", "arm", "arm_0"]
    assert kind.link_indices == {"base": 0, "arm": 1, "arm_0": 2, "tip": 3}
    assert kind.link_parent_indices == {"arm": 0, "arm_0": 1, "tip": 2}
    assert kind.dof_indices == {"hinge": 0, "hinge_0": 1, "wrist": 2}


def test_unique_names_do_not_collide_with_made_ones() -> None:
    assert unique_names(["a", "b", "a", "a_0"]) == ["a", "b", "a_0", "a_0_0"]


def test_drive_types(stages: SimpleNamespace) -> None:
    """Behaviour 22."""

    def fill(path: str, number: int) -> None:
        force, acceleration = {"type": "force", "stiffness": 1.0}, {"type": "acceleration", "stiffness": 1.0}
        cart = {"drive": force} if number % 2 else {}
        pole = {"drive": acceleration} if number % 4 >= 2 else {}
        stage.cart_pole(f"{path}/cartpole", cart=cart, pole=pole)

    stage = stages.Author.new()
    stage.environments(16, fill)
    view = stages.view("numpy", stage).create_articulation_view("/envs/*/cartpole")
    cart = [DofDriveType.Force if i % 2 else DofDriveType.NoDrive for i in range(16)]
    pole = [DofDriveType.Acceleration if i % 4 >= 2 else DofDriveType.NoDrive for i in range(16)]
    np.testing.assert_array_equal(view.get_drive_types(), np.stack((cart, pole), axis=1))


def test_heterogeneous_rows_are_padded_with_zeros(stages: SimpleNamespace, arrays: Any) -> None:
    def fill(path: str, number: int) -> None:
        (stage.ant if number % 2 else stage.cart_pole)(f"{path}/robot")

    stage = stages.Author.new(gravity=0.0)
    stage.environments(4, fill, spacing=5.0)
    sim = stages.view(arrays, stage)
    view = sim.create_articulation_view([f"/envs/env{i}/robot{'/torso' * (i % 2)}" for i in range(4)])
    assert not view.is_homogeneous
    assert view.shared_metatype is None
    assert (view.max_links, view.max_dofs) == (9, 8)
    assert view.get_metatype(0).dof_count == 2
    assert [len(paths) for paths in view.dof_paths] == [2, 8, 2, 8]
    values = np.random.default_rng(1).uniform(-1, 1, (4, 8)).astype(np.float32)
    view.set_dof_positions(arrays.make(values), None)
    values[::2, 2:] = 0.0
    np.testing.assert_array_equal(arrays.host(view.get_dof_positions()), values)
    masses = arrays.host(view.get_masses())
    np.testing.assert_allclose(masses[0], [5, 1, 0.5, 0, 0, 0, 0, 0, 0])
    masses[:, 2] = 3.0
    view.set_masses(arrays.cpu.make(masses), None)
    np.testing.assert_allclose(
        arrays.host(view.get_inv_masses())[:2, :4], [[0.2, 1, 1 / 3, 0], [0.5, 1 / 0.3, 1 / 3, 1 / 0.3]]
    )
    roots = arrays.host(view.get_root_velocities())
    roots[:, 0] = 1.0
    view.set_root_velocities(arrays.make(roots), None)
    np.testing.assert_array_equal(arrays.host(view.get_root_velocities())[:, 0], [0, 1, 0, 1])


@pytest.mark.parametrize("conventions", ["documentation", "runtime"])
def test_joints_with_several_axes(stages: SimpleNamespace, conventions: str) -> None:
    """The degrees of freedom of one joint are numbered, in their names and, as documented, in their paths."""
    from pxr import UsdPhysics

    stage = stages.Author.new()
    for name, height in (("base", 0), ("arm", 1), ("tip", 2)):
        stage.body(f"/World/robot/{name}", (0, 0, height))
    stage.articulation("/World/robot")
    stage.joint("/World/robot/tie", "fixed", None, "/World/robot/base")
    shoulder = UsdPhysics.Joint.Define(stage.stage, "/World/robot/shoulder")
    shoulder.CreateBody0Rel().SetTargets(["/World/robot/base"])
    shoulder.CreateBody1Rel().SetTargets(["/World/robot/arm"])
    shoulder.CreateLocalPos0Attr((0, 0, 1))
    for axis, low, high in (
        *((f"trans{c}", 1, -1) for c in "XYZ"),
        ("rotX", -30, 40),
        ("rotY", 1, -1),
        ("rotZ", -50, 60),
    ):
        limit = UsdPhysics.LimitAPI.Apply(shoulder.GetPrim(), axis)
        limit.CreateLowAttr(low)
        limit.CreateHighAttr(high)
    stage.joint("/World/robot/wrist", "revolute", "/World/robot/arm", "/World/robot/tip", at0=(0, 0, 1))
    sim = stages.view("numpy", stage, conventions=conventions)
    view = sim.create_articulation_view("/World/robot")
    kind = view.shared_metatype
    assert kind.joint_types == [JointType.Spherical, JointType.Revolute]
    assert (kind.joint_dof_offsets, kind.joint_dof_counts) == ([0, 2], [2, 1])
    assert len(set(kind.dof_names)) == 3
    np.testing.assert_allclose(np.degrees(view.get_dof_limits()[0, :2]), [[-30, 40], [-50, 60]], rtol=1e-5)
    number = (":0", ":2", "") if conventions == "documentation" else ("", "", "")
    joints = ("shoulder", "shoulder", "wrist")
    assert view.dof_paths == [[f"/World/robot/{j}{n}" for j, n in zip(joints, number, strict=True)]]
    if conventions == "documentation":
        assert kind.dof_names[:2] == ["shoulder:0", "shoulder:2"]


def test_a_joint_or_a_link_stands_for_its_articulation(stages: SimpleNamespace) -> None:
    stage = stages.Author.new()
    stage.environments(2, lambda path, _: stage.ant(f"{path}/ant"), spacing=5.0)
    sim = stages.view("numpy", stage)
    view = sim.create_articulation_view(
        ["/envs/env1/ant/left_back_foot", "/envs/env0/ant/joints/left_back_hip", "/envs/*/ant/torso"]
    )
    roots = [f"/envs/env{i}/ant/torso" for i in (1, 0, 0, 1)]
    assert view.prim_paths == roots
    with pytest.raises(ValueError, match="expected a row from 0 to 3, given 4"):
        view.get_metatype(4)
