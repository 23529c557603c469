"""Wrenches and projected forces of joints against statics and dynamics by hand [behaviours 47, 48 and 51 to 54]."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, UsdGeom, UsdPhysics, UsdShade

G = 10.0
DT = 1e-3
# Rotations that carry an axis of a joint frame to Y, the axis about which gravity turns a bar along X.
TURNS = {
    "X": Gf.Rotation(Gf.Vec3d(0, 0, 1), 90),
    "Y": Gf.Rotation(Gf.Vec3d(0, 0, 1), 0),
    "Z": Gf.Rotation(Gf.Vec3d(1, 0, 0), -90),
}
OBLIQUE = Gf.Rotation(Gf.Vec3d(1, 0.1, 5), 25)


def matrix(turn: Gf.Rotation) -> np.ndarray:
    """Columns are the axes of the turned frame."""
    return np.array([list(turn.TransformDir(Gf.Vec3d(*axis))) for axis in np.eye(3)]).T


@dataclass
class Bar:
    """A bar along X on a joint at its end, and perhaps a second one welded to its tip."""

    path: str
    place: tuple[float, float, float]
    axis: str
    mass: float
    half: float
    links: int
    free: str
    weld: Gf.Rotation = OBLIQUE

    @property
    def frames(self) -> list[np.ndarray]:
        """Axes of the joint frame of each link; all links stand along the axes of the world."""
        return [matrix(TURNS[self.axis]), matrix(self.weld)][: self.links]

    @property
    def gravity_torque(self) -> float:
        """Torque of the weight about the joint [N m]: +Y, it turns the tip down."""
        return self.mass * G * self.half * (1 if self.links == 1 else 4)

    def across(self) -> float:
        return self.mass * (2 * self.half) ** 2 / 12

    def wrenches(self, loads: dict[int, tuple[Any, Any]], acceleration: float = 0.0) -> np.ndarray:
        """Wrench of each joint on its link, in its joint frame, shape [links, 6].

        Args:
            loads: Force on a link [N] and where on X [m] it acts, by link.
            acceleration: About Y [rad/s²], from rest.
        """
        result = []
        for joint in range(self.links):
            force, torque = np.zeros(3), np.zeros(3)
            start = 2 * self.half * joint
            for link in range(joint, self.links):
                com = np.array([self.half * (2 * link + 1), 0, 0])
                spin = np.array([0, acceleration, 0])
                needed = self.mass * np.cross(spin, com) + [0, 0, self.mass * G]
                force += needed
                torque += np.cross(com - [start, 0, 0], needed) + self.across() * spin
                if link in loads:
                    load, at = loads[link]
                    force -= load
                    torque -= np.cross([at - start, 0, 0], load)
            frame = self.frames[joint]
            result.append(np.concatenate((frame.T @ force, frame.T @ torque)))
        return np.array(result)

    def author(self, stage: Any, *, collider: bool = False) -> None:
        x, y, z = self.place
        stage.xform(self.path, self.place)
        stage.articulation(self.path)
        stage.body(f"{self.path}/base")
        stage.joint(f"{self.path}/tie", "fixed", None, f"{self.path}/base", at0=(x, y, z))
        before = f"{self.path}/base"
        for link in range(self.links):
            path = f"{self.path}/link{link}"
            across = self.across()
            stage.body(
                path, (self.half * (2 * link + 1), 0, 0), mass=self.mass, inertia=(0.002, across, across)
            )
            if collider:
                stage.collider(f"{path}/box", "cube", 1.0)
                thin = 0.2 * self.half
                cube = UsdGeom.Cube.Get(stage.stage, f"{path}/box")
                cube.AddScaleOp().Set(Gf.Vec3f(2 * self.half, thin, thin))
            turn = TURNS[self.axis] if link == 0 else self.weld
            joint = self._joint(stage, f"{self.path}/joint{link}", before, path, link)
            quaternion = Gf.Quatf(turn.GetQuat())
            joint.CreateLocalRot0Attr(quaternion)
            joint.CreateLocalRot1Attr(quaternion)
            before = path

    def _joint(self, stage: Any, path: str, before: str, child: str, link: int) -> UsdPhysics.Joint:
        if link > 0:
            joint = UsdPhysics.FixedJoint.Define(stage.stage, path)
        elif len(self.free) == 1:
            joint = UsdPhysics.RevoluteJoint.Define(stage.stage, path)
            joint.CreateAxisAttr(self.free)
        else:
            joint = UsdPhysics.Joint.Define(stage.stage, path)
            locked = [f"trans{a}" for a in "XYZ"] + [f"rot{a}" for a in "XYZ" if a not in self.free]
            for token in locked:
                limit = UsdPhysics.LimitAPI.Apply(joint.GetPrim(), token)
                limit.CreateLowAttr(1.0)
                limit.CreateHighAttr(-1.0)
        joint.CreateBody0Rel().SetTargets([Sdf.Path(before)])
        joint.CreateBody1Rel().SetTargets([Sdf.Path(child)])
        joint.CreateLocalPos0Attr(Gf.Vec3f(0 if link == 0 else self.half, 0, 0))
        joint.CreateLocalPos1Attr(Gf.Vec3f(-self.half, 0, 0))
        return joint


def open_bars(stages: SimpleNamespace, arrays: Any, bars: list[Bar], ball: float = 0.0) -> SimpleNamespace:
    """A world of bars; with a ball radius each lies on a fixed ball under its tip, without friction."""
    stage = stages.Author.new(gravity=G)
    for bar in bars:
        bar.author(stage, collider=ball > 0)
        if ball:
            x, y, z = bar.place
            tip = (x + 2 * bar.half * bar.links, y, z - 0.1 * bar.half - ball)
            stage.body(f"/balls/{bar.path[1:]}", tip, radius=ball, kinematic=True)
    if ball:
        material = UsdShade.Material.Define(stage.stage, "/slippery")
        api = UsdPhysics.MaterialAPI.Apply(material.GetPrim())
        for create in (
            api.CreateStaticFrictionAttr,
            api.CreateDynamicFrictionAttr,
            api.CreateRestitutionAttr,
        ):
            create(0.0)
        for prim in stage.stage.Traverse():
            if prim.HasAPI(UsdPhysics.CollisionAPI):
                UsdShade.MaterialBindingAPI.Apply(prim).Bind(material, materialPurpose="physics")
    sim = stages.view(arrays, stage)
    return SimpleNamespace(
        sim=sim, arrays=arrays, views=[sim.create_articulation_view(bar.path) for bar in bars]
    )


def check(
    world: SimpleNamespace, view: Any, bar: Bar, loads: Any, *, acceleration: float = 0.0, torque: float = 0.0
) -> None:
    """Compare wrenches with those by hand, and the projected force with the torque about Y that was applied."""
    wrench = world.arrays.host(view.get_link_incoming_joint_force())[0].astype(float)
    expected = bar.wrenches(loads, acceleration)
    scale = np.abs(expected).max()
    assert not wrench[0].any()
    np.testing.assert_allclose(wrench[1:], expected, atol=3e-3 * scale, err_msg=bar.path)
    projected = world.arrays.host(view.get_dof_projected_joint_forces())[0]
    applied = np.where([axis == bar.axis for axis in bar.free], torque, 0.0)
    np.testing.assert_allclose(projected, applied, atol=3e-3 * scale, err_msg=bar.path)


@pytest.mark.parametrize("loaded", [0, 1])
def test_statics_of_a_bar_with_a_welded_one(stages: SimpleNamespace, arrays: Any, loaded: int) -> None:
    """Behaviour 48: a force on the first or on the welded link keeps both level, and pushes 5 N sideways."""
    bars = [Bar(f"/bar{axis}", (0, 3.0 * k, 0), axis, 1.5, 0.45, 2, axis) for k, axis in enumerate("XYZ")]
    world = open_bars(stages, arrays, bars)
    lever = bars[0].half * (2 * loaded + 1)
    load = np.array([2.0, 5.0, bars[0].gravity_torque / lever])
    for view in world.views:
        force = np.zeros((1, 3, 3), np.float32)
        force[0, loaded + 1] = load
        place = arrays.host(view.get_link_transforms())[..., :3]
        view.apply_forces_and_torques_at_position(arrays.make(force), None, arrays.make(place), None, True)
    world.sim.step(DT)
    for bar, view in zip(bars, world.views, strict=True):
        check(world, view, bar, {loaded: (load, lever)})
        assert np.abs(arrays.host(view.get_dof_velocities())).max() < 1e-4


def test_a_weld_is_a_force_torque_sensor(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviour 53: a motor torque beside gravity turns both bars; the weld carries what moves the second."""
    bars = [Bar(f"/bar{axis}", (0, 3.0 * k, 0), axis, 1.5, 0.45, 2, axis) for k, axis in enumerate("XYZ")]
    world = open_bars(stages, arrays, bars)
    torque = -4 * bars[0].mass * G * bars[0].half
    for sign in (1.0, 2.0):
        for view in world.views:
            view.set_dof_velocities(arrays.make([[0.0]]), None)
            view.set_dof_positions(arrays.make([[0.0]]), None)
            view.set_dof_actuation_forces(arrays.make([[sign * torque]]), None)
        world.sim.step(DT)
        for bar, view in zip(bars, world.views, strict=True):
            about = bar.mass * bar.half**2 * (1 + 9) + 2 * bar.across()
            acceleration = (bar.gravity_torque + sign * torque) / about
            check(world, view, bar, {}, acceleration=acceleration, torque=sign * torque)


FREE = {
    1: {"X": "X", "Y": "Y", "Z": "Z"},
    2: {"X": "XY", "Y": "YZ", "Z": "XZ"},
    3: {"X": "XYZ", "Y": "XYZ", "Z": "XYZ"},
}


@pytest.mark.parametrize("links", [1, 2])
@pytest.mark.parametrize("freedoms", [1, 2, 3])
def test_forces_of_a_bar_on_a_ball(stages: SimpleNamespace, arrays: Any, links: int, freedoms: int) -> None:
    """Behaviours 51 and 52: the tip lies on a ball; a motor bears all of the weight, none of it, or presses."""
    bars, loads, torques = [], [], []
    for row, axis in enumerate("XYZ"):
        for column, share in enumerate((-1.0, 0.0, 1.0)):
            place = (6.0 * column, 4.0 * row, 0.0)
            weld = Gf.Rotation(Gf.Vec3d(0, 1, 0), 90)
            bar = Bar(f"/bar{axis}{column}", place, axis, 1.0, 0.5, links, FREE[freedoms][axis], weld)
            bars.append(bar)
            torques.append(share * bar.gravity_torque)
            tip = 2 * bar.half * links
            loads.append({links - 1: (np.array([0, 0, (1 + share) * bar.gravity_torque / tip]), tip)})
    world = open_bars(stages, arrays, bars, ball=0.25)
    for bar, view, torque in zip(bars, world.views, torques, strict=True):
        names = view.shared_metatype.dof_names
        assert len(names) == freedoms
        values = [torque if axis == bar.axis else 0.0 for axis in bar.free]
        view.set_dof_actuation_forces(arrays.make([values]), None)
    for _ in range(4):  # the tips come to rest on the balls within the first
        world.sim.step(DT)
    for bar, view, load, torque in zip(bars, world.views, loads, torques, strict=True):
        check(world, view, bar, load, torque=torque)


def test_accelerations_of_a_pendulum(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviour 47: m g l cos q over the inertia about the hinge; at the centre tangential and centripetal parts."""
    bars = [Bar(f"/bar{k}", (0, 2.0 * k, 0), "Y", 1.0, 0.5, 1, "Y") for k in range(4)]
    world = open_bars(stages, arrays, bars)
    view = world.sim.create_articulation_view("/bar*")
    start = np.linspace(-np.pi, np.pi, 4, dtype=np.float32)[:, None]
    view.set_dof_velocities(arrays.make(start), None)
    for _ in range(50):
        q, before = arrays.host(view.get_dof_positions())[:, 0], arrays.host(view.get_dof_velocities())[:, 0]
        world.sim.step(DT)
        after = arrays.host(view.get_dof_velocities())[:, 0]
        about = bars[0].mass * bars[0].half ** 2 + bars[0].across()
        expected = bars[0].gravity_torque * np.cos(q) / about
        np.testing.assert_allclose((after - before) / DT, expected, rtol=1e-2)
        rate = 0.5 * (before + after)
        along = np.stack((np.cos(q), np.zeros(4), -np.sin(q)), 1)
        down = np.stack((-np.sin(q), np.zeros(4), -np.cos(q)), 1)
        linear = bars[0].half * (expected[:, None] * down - (rate**2)[:, None] * along)
        found = arrays.host(view.get_link_accelerations())
        assert not found[:, 0].any()
        scale = np.linalg.norm(linear, axis=1).max()
        np.testing.assert_allclose(found[:, 1, :3], linear, atol=1e-2 * scale)
        np.testing.assert_allclose(found[:, 1, 4], expected, rtol=1e-2)


def test_projected_forces_are_those_of_the_actuation(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviour 54."""
    stage = stages.Author.new()
    stage.cart_pole("/World/cartpole")
    sim = stages.view(arrays, stage)
    view = sim.create_articulation_view("/World/cartpole")
    np.testing.assert_allclose(arrays.host(view.get_dof_projected_joint_forces()), 0.0, atol=1e-4)
    view.set_dof_actuation_forces(arrays.make([[10.0, 10.0]]), None)
    for _ in range(20):
        sim.step(DT)
        np.testing.assert_allclose(arrays.host(view.get_dof_projected_joint_forces()), 10.0, rtol=4e-2)
