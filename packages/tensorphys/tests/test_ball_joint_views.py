"""Spherical joints and D6 joints with several axes of an articulation, through the views."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, UsdPhysics

from tensorphys import JointType

MASS, ARM = 2.0, 0.5
LOCKED = (1.0, -1.0)


def author_joint(
    stage: Any,
    path: str,
    bodies: tuple[str, str],
    kind: str,
    *,
    flipped: bool,
    free: str = "XYZ",
    limits: dict[str, tuple[float, float]] | None = None,
    cone: tuple[float, float] | None = None,
    drive: dict[str, float] | None = None,
) -> None:
    """A joint at the origin of the first body and ARM before the second; its X axis is that of the bodies."""
    schema = UsdPhysics.SphericalJoint if kind == "spherical" else UsdPhysics.Joint
    joint = schema.Define(stage.stage, path)
    ends = [(bodies[0], (0, 0, 0)), (bodies[1], (-ARM, 0, 0))]
    for side, (body, at) in enumerate(reversed(ends) if flipped else ends):
        getattr(joint, f"CreateBody{side}Rel")().SetTargets([Sdf.Path(body)])
        getattr(joint, f"CreateLocalPos{side}Attr")(Gf.Vec3f(*map(float, at)))
    prim = joint.GetPrim()
    if cone is not None:
        joint.CreateConeAngle0LimitAttr(cone[0])
        joint.CreateConeAngle1LimitAttr(cone[1])
    if kind == "d6":
        bounds = {f"trans{a}": LOCKED for a in "XYZ"} | {f"rot{a}": LOCKED for a in "XYZ" if a not in free}
        for token, (low, high) in (bounds | (limits or {})).items():
            limit = UsdPhysics.LimitAPI.Apply(prim, token)
            limit.CreateLowAttr(low)
            limit.CreateHighAttr(high)
    for axis in free if drive else "":
        api = UsdPhysics.DriveAPI.Apply(prim, f"rot{axis}")
        api.CreateTypeAttr("force")
        api.CreateStiffnessAttr(drive["stiffness"])
        api.CreateDampingAttr(drive["damping"])


def author_arm(
    stage: Any, path: str, kind: str = "spherical", *, flipped: bool = False, **joint: Any
) -> None:
    """A fixed base and an arm along X."""
    base, arm = f"{path}/base", f"{path}/arm"
    stage.xform(path)
    stage.body(base, (0, 0, 2))
    stage.body(arm, (ARM, 0, 2), mass=MASS, inertia=(0.02, 0.1, 0.12))
    place = stage.stage.GetPrimAtPath(path).GetAttribute("xformOp:translate").Get() or (0, 0, 0)
    stage.joint(f"{path}/root", "fixed", None, base, at0=np.add(place, (0, 0, 2)))
    author_joint(stage, f"{path}/ball", (base, arm), kind, flipped=flipped, **joint)
    stage.articulation(path)


def arms(stages: SimpleNamespace, arrays: Any, *, gravity: float = 9.81, **joint: Any) -> SimpleNamespace:
    """Two environments, the bodies of the joint of the second in the other order."""
    stage = stages.Author.new(gravity=gravity)

    def fill(path: str, number: int) -> None:
        author_arm(stage, f"{path}/arm", flipped=number == 1, **joint)

    stage.environments(2, fill, spacing=4.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    sim.set_subspace_roots("/envs/*")
    view = sim.create_articulation_view("/envs/*/arm")

    def get(name: str) -> np.ndarray:
        return arrays.host(getattr(view, f"get_{name}")()).astype(float)

    def put(name: str, values: Any) -> None:
        device = arrays.cpu if name in ("dof_limits",) else arrays
        getattr(view, f"set_{name}")(device.make(values), device.rows([0, 1]))

    return SimpleNamespace(sim=sim, view=view, get=get, put=put, arrays=arrays, dt=stages.DT)


def matrix(r: Any) -> np.ndarray:
    """Rotation matrix of a rotation vector."""
    x, y, z = r
    angle = np.linalg.norm(r)
    k = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sinc(angle / np.pi) * k + 0.5 * np.sinc(angle / 2 / np.pi) ** 2 * k @ k


def pose_matrix(pose: np.ndarray) -> np.ndarray:
    """Rotation matrix of a pose."""
    angle = 2 * np.arctan2(np.linalg.norm(pose[3:6]), pose[6])
    return matrix(pose[3:6] / max(np.linalg.norm(pose[3:6]), 1e-12) * angle)


KINDS = pytest.mark.parametrize("kind", ["spherical", "d6"])


@KINDS
def test_metadata(stages: SimpleNamespace, arrays: Any, kind: str) -> None:
    a = arms(stages, arrays, kind=kind)
    meta = a.view.get_metatype(0)
    assert meta.joint_types == [JointType.Spherical]
    assert meta.dof_names == ["ball:0", "ball:1", "ball:2"]
    assert a.view.max_dofs == 3
    assert a.view.get_metatype(1).dof_names == meta.dof_names
    assert (a.arrays.host(a.view.get_dof_motions()) == 0).all()


@KINDS
def test_positions_are_rotation_vectors(stages: SimpleNamespace, arrays: Any, kind: str) -> None:
    """What is set is read at once and after a step at rest; body 1 stands turned against body 0 by it."""
    a = arms(stages, arrays, kind=kind, gravity=0.0)
    for r in ([0.4, -1.1, 0.7], [0.0, 3.1, 0.3], [2.2, -1.3, 1.8]):
        a.put("dof_velocities", np.zeros((2, 3)))
        a.put("dof_positions", [r, r])
        np.testing.assert_allclose(a.get("dof_positions"), [r, r], rtol=1e-6)
        links = a.get("link_transforms")
        np.testing.assert_allclose(pose_matrix(links[0, 1]), matrix(r), atol=1e-6)
        np.testing.assert_allclose(pose_matrix(links[1, 1]), matrix(r).T, atol=1e-6)
        np.testing.assert_allclose(links[0, 1, :3], [0, 0, 2] + matrix(r) @ [ARM, 0, 0], atol=1e-6)
        a.sim.step(a.dt)
        np.testing.assert_allclose(a.get("dof_positions"), [r, r], atol=2e-6)


@KINDS
def test_velocities_are_the_angular_velocity_in_the_frame_of_body_1(
    stages: SimpleNamespace, arrays: Any, kind: str
) -> None:
    a = arms(stages, arrays, kind=kind, gravity=0.0)
    r, v = np.array([0.4, -1.1, 0.7]), np.array([1.0, 2.0, -0.5])
    a.put("dof_positions", [r, r])
    a.put("dof_velocities", [v, v])
    np.testing.assert_allclose(a.get("dof_velocities"), [v, v], rtol=1e-6)
    omega = a.get("link_velocities")[:, 1, 3:]
    np.testing.assert_allclose(omega[0], matrix(r) @ v, atol=1e-5)
    np.testing.assert_allclose(omega[1], -v, atol=1e-5)  # the base is body 1 and stands along the axes
    links = a.get("link_velocities")
    for e in range(2):
        one = a.sim.create_articulation_view(f"/envs/env{e}/arm")
        jacobian, mass = (
            arrays.host(m)[0] for m in (one.get_jacobians(), one.get_generalized_mass_matrices())
        )
        np.testing.assert_allclose(jacobian[-1] @ v, links[e, 1], atol=1e-5)
        # mass matrix: the kinetic energy of the arm
        turn = pose_matrix(a.get("link_transforms")[e, 1])
        inertia = turn @ np.diag([0.02, 0.1, 0.12]) @ turn.T
        energy = MASS * links[e, 1, :3] @ links[e, 1, :3] + omega[e] @ inertia @ omega[e]
        assert v @ mass @ v == pytest.approx(energy, rel=1e-5)


@KINDS
def test_gravity_compensation_holds_the_arm(stages: SimpleNamespace, arrays: Any, kind: str) -> None:
    a = arms(stages, arrays, kind=kind)
    r = np.array([0.4, -1.1, 0.7])
    a.put("dof_positions", [r, -r])
    torque = np.cross(matrix(r) @ [ARM, 0, 0], [0, 0, MASS * 9.81])
    forces = a.get("gravity_compensation_forces")
    np.testing.assert_allclose(forces[0], matrix(r).T @ torque, atol=1e-4)
    np.testing.assert_allclose(forces[1], -torque, atol=1e-4)
    a.put("dof_actuation_forces", forces)
    for _ in range(20):
        a.sim.step(a.dt)
    np.testing.assert_allclose(a.get("dof_positions"), [r, -r], atol=1e-4)
    np.testing.assert_allclose(a.get("dof_projected_joint_forces"), forces, atol=2e-3)
    wrench = a.get("link_incoming_joint_force")[:, 1]
    # force and torque on body 1, in its joint frame: the arm, and the base of the exchanged one
    np.testing.assert_allclose(wrench[0, :3], matrix(r).T @ [0, 0, MASS * 9.81], atol=2e-3)
    np.testing.assert_allclose(wrench[1, :3], [0, 0, -MASS * 9.81], atol=2e-3)
    np.testing.assert_allclose(wrench[:, 3:], forces, atol=2e-3)


@KINDS
def test_exchanged_bodies_fall_alike(stages: SimpleNamespace, arrays: Any, kind: str) -> None:
    a = arms(stages, arrays, kind=kind)
    r, v = np.array([0.4, -1.1, 0.7]), np.array([1.0, 2.0, -0.5])
    a.put("dof_positions", [r, -r])
    a.put("dof_velocities", [v, -matrix(r) @ v])
    for _ in range(60):
        a.sim.step(a.dt)
    links = a.get("link_transforms")
    np.testing.assert_allclose(links[0, 1, :3], links[1, 1, :3], atol=2e-4)
    np.testing.assert_allclose(pose_matrix(links[0, 1]), pose_matrix(links[1, 1]), atol=1e-3)


def test_drives_reach_their_targets(stages: SimpleNamespace, arrays: Any) -> None:
    a = arms(stages, arrays, kind="d6", gravity=0.0, drive={"stiffness": 2.0, "damping": 0.3})
    target = np.array([0.6, -1.2, 0.9])
    a.put("dof_position_targets", [target, -target])
    for _ in range(240):
        a.sim.step(a.dt)
    np.testing.assert_allclose(a.get("dof_positions"), [target, -target], atol=1e-3)


def test_limits_of_a_d6_joint_hold(stages: SimpleNamespace, arrays: Any) -> None:
    a = arms(stages, arrays, kind="d6", limits={"rotY": (-20.0, 40.0)})
    limits = a.get("dof_limits")
    np.testing.assert_allclose(limits[:, 1], np.radians([[-20.0, 40.0]] * 2), rtol=1e-6)
    assert (np.abs(limits[:, [0, 2]]) > 3e38).all()
    for _ in range(240):
        a.sim.step(a.dt)
    largest = a.get("dof_positions")[0, 1]  # gravity turns the arm about +Y
    assert np.radians(39.5) < largest < np.radians(40.0) + 1e-3
    assert -np.radians(20.0) - 1e-3 < a.get("dof_positions")[1, 1] < -np.radians(19.5)
    limits[:, 1] = [-0.1, 0.1]
    a.put("dof_limits", limits)
    for _ in range(120):
        a.sim.step(a.dt)
    np.testing.assert_allclose(np.abs(a.get("dof_positions")[:, 1]), 0.1, atol=2e-3)


def test_a_cone_bounds_the_swing(stages: SimpleNamespace, arrays: Any) -> None:
    a = arms(stages, arrays, kind="spherical", cone=(30.0, 30.0))
    np.testing.assert_allclose(a.get("dof_limits")[:, 1:], np.radians([[[-30.0, 30.0]] * 2] * 2), rtol=1e-6)
    a.put("dof_velocities", [[10.0, 0.0, 1.0], [-10.0, 0.0, -1.0]])
    for _ in range(180):
        a.sim.step(a.dt)
        axes = [pose_matrix(pose)[:, 0] for pose in a.get("link_transforms")[:, 1]]
        assert max(np.arccos([axis[0] for axis in axes])) < np.radians(30.0) + 2e-3
    assert min(np.arccos([axis[0] for axis in axes])) > np.radians(29.0)
    assert np.abs(a.get("dof_positions")[:, 0]).max() > 0.5  # the twist is free


@pytest.mark.parametrize("free", ["XY", "XZ", "YZ"])
def test_two_rotations_turn_one_after_the_other(stages: SimpleNamespace, arrays: Any, free: str) -> None:
    a = arms(stages, arrays, kind="d6", free=free, gravity=0.0)
    q = [0.7, -0.4]
    numbers = ["XYZ".index(axis) for axis in free]
    names = a.view.get_metatype(0).dof_names
    assert names == [f"ball:{k}" for k in numbers]
    order = [a.view.get_metatype(1).dof_names.index(name) for name in names]
    a.put("dof_positions", [q, np.array(q)[order]])
    first, second = (matrix(angle * np.eye(3)[k]) for angle, k in zip(q, numbers, strict=True))
    links = a.get("link_transforms")
    np.testing.assert_allclose(pose_matrix(links[0, 1]), first @ second, atol=1e-6)
    np.testing.assert_allclose(pose_matrix(links[1, 1]), (first @ second).T, atol=1e-6)
