"""Accelerations and joint forces of the last step through the views."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

DT = 1 / 60


def author_lever(stage: Any, path: str, *, flipped: bool, position=(0, 0, 0)) -> None:
    """Case 090: a link of 2 kg, centre of mass 0.5 m from its joint about Y, held by a stiff drive."""
    stage.xform(path, position)
    base, link = f"{path}/base", f"{path}/link"
    stage.body(base, mass=5.0)
    stage.body(link, mass=2.0, inertia=(0.01, 0.1, 0.1), com=(0.5, 0, 0))
    stage.joint(f"{path}/root", "fixed", None, base, at0=position)
    drive = {"type": "force", "stiffness": 2e4, "damping": 2e3}
    stage.joint(f"{path}/hinge", "revolute", base, link, axis="Y", drive=drive, flipped=flipped)
    stage.articulation(path)


@pytest.fixture
def levers(stages: SimpleNamespace, arrays: Any) -> SimpleNamespace:
    stage = stages.Author.new()
    author_lever(stage, "/lever", flipped=False)
    author_lever(stage, "/flipped", flipped=True, position=(0, 3, 0))
    sim = stages.view(arrays, stage)
    views = {name: sim.create_articulation_view(f"/{name}") for name in ("lever", "flipped")}
    return SimpleNamespace(sim=sim, arrays=arrays, host=arrays.host, **views)


def test_a_held_lever(levers: SimpleNamespace) -> None:
    """Case 090; the wrench of a flipped joint is that on its parent, at the same place."""
    for view in (levers.lever, levers.flipped):
        assert not levers.host(view.get_link_incoming_joint_force()).any(), "before the first step"
        assert not levers.host(view.get_dof_projected_joint_forces()).any()
    for _ in range(180):
        levers.sim.step(DT)
    for view, sign in ((levers.lever, 1.0), (levers.flipped, -1.0)):
        wrench = levers.host(view.get_link_incoming_joint_force())
        assert wrench.shape == (1, 2, 6)
        np.testing.assert_array_equal(wrench[0, 0], 0.0)
        np.testing.assert_allclose(wrench[0, 1], sign * np.array([0, 0, 19.62, 0, -9.81, 0]), atol=0.02)
        projected = levers.host(view.get_dof_projected_joint_forces())
        np.testing.assert_allclose(projected, [[sign * -9.81]], atol=0.02)
        np.testing.assert_allclose(levers.host(view.get_link_accelerations()), 0.0, atol=1e-3)


def test_joint_forces_are_what_moves_the_links(levers: SimpleNamespace) -> None:
    """While a lever swings, its joint carries mass times acceleration less weight, and the actuation about its axis."""
    view, arrays = levers.lever, levers.arrays
    view.set_dof_stiffnesses(arrays.cpu.make([[0.0]]), None)
    view.set_dof_dampings(arrays.cpu.make([[0.0]]), None)
    view.set_dof_actuation_forces(arrays.make([[4.0]]), None)
    last = None
    for _ in range(20):
        before = levers.host(view.get_link_velocities())
        levers.sim.step(1 / 240)
        after = levers.host(view.get_link_velocities())
        acceleration = levers.host(view.get_link_accelerations())[0, 1]
        # against the exact motion the velocities of a driven joint give the acceleration of half a substep later, the
        # kicks that of half a substep earlier: a quarter of a step between the two
        change = (after - before)[0, 1] * 240
        shift = 0.0 if last is None else np.abs(change - last).max() / 4
        np.testing.assert_allclose(acceleration, change, atol=2e-3 + shift)
        last = change
        wrench = levers.host(view.get_link_incoming_joint_force())[0, 1]
        q = float(levers.host(view.get_dof_positions())[0, 0])
        turn = np.array([[np.cos(q), 0, np.sin(q)], [0, 1, 0], [-np.sin(q), 0, np.cos(q)]])
        needed = 2.0 * acceleration[:3] + (0, 0, 19.62)
        # the wrench turns with the link; half a step lies between its mean and now
        np.testing.assert_allclose(turn @ wrench[:3], needed, atol=0.02 * np.abs(needed).max())
        np.testing.assert_allclose(levers.host(view.get_dof_projected_joint_forces()), [[4.0]], rtol=5e-3)
        np.testing.assert_allclose(wrench[4], 4.0, rtol=5e-3)


def test_accelerations_of_bodies(stages: SimpleNamespace, arrays: Any) -> None:
    stage = stages.Author.new()
    stage.body("/ball", (0, 0, 5), mass=2.0)
    author_lever(stage, "/lever", flipped=False)
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view(["/ball", "/lever/link"])
    assert not arrays.host(view.get_accelerations()).any()
    sim.step(DT)
    np.testing.assert_allclose(arrays.host(view.get_accelerations())[0], (0, 0, -9.81, 0, 0, 0), atol=1e-3)
    force = np.zeros((2, 3))
    force[0] = (6.0, 0.0, 0.0)
    view.apply_forces(arrays.make(force), arrays.rows([0]))
    sim.step(DT)
    np.testing.assert_allclose(arrays.host(view.get_accelerations())[0], (3, 0, -9.81, 0, 0, 0), atol=5e-3)
    # what is set anew has no acceleration yet, the others keep theirs
    view.set_velocities(arrays.make(np.ones((2, 6))), arrays.rows([0]))
    found = arrays.host(view.get_accelerations())
    assert not found[0].any()
    sim.step(DT)
    np.testing.assert_allclose(arrays.host(view.get_accelerations())[0, :3], (0, 0, -9.81), atol=2e-3)
    sim.simulation.reset()
    assert not arrays.host(view.get_accelerations()).any()


def test_contacts_gravity_and_acceleration_add_up(stages: SimpleNamespace, arrays: Any) -> None:
    """A ball that lands and rolls: mass times acceleration is weight and contact in every step."""
    stage = stages.Author.new()
    stage.body("/ball", (0, 0, 0.25), mass=2.0, inertia=(0.03, 0.03, 0.03), radius=0.2)
    ground = stage.xform("/ground")
    from pxr import UsdGeom, UsdPhysics

    plane = UsdGeom.Plane.Define(stage.stage, "/ground/plane")
    plane.CreateAxisAttr("Z")
    UsdPhysics.CollisionAPI.Apply(plane.GetPrim())
    assert ground
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view("/ball")
    view.set_velocities(arrays.make([[1.0, 0, 0, 0, 0, 0]]), None)
    touched = 0
    for _ in range(90):
        sim.step(DT)
        acceleration = arrays.host(view.get_accelerations())[0].astype(float)
        solver, contacts = sim.simulation.solver, sim.simulation.contacts
        count = int(contacts.count.numpy()[0])
        impulse = solver.contact_impulse.numpy()[:count].astype(float)
        sign = np.where(contacts.body0.numpy()[:count] >= 0, 1.0, -1.0)
        force = (sign[:, None] * impulse).sum(0) / DT
        touched += bool(np.abs(force).max(initial=0.0) > 0.0)
        largest = max(19.62, np.abs(force).max(initial=0.0))
        np.testing.assert_allclose(2.0 * acceleration[:3], force + (0, 0, -19.62), atol=1e-3 * largest)
    assert touched > 30


def test_swapped_bodies_of_a_cart_pole_carry_opposite_loads(stages: SimpleNamespace, arrays: Any) -> None:
    """The same motion of a cart-pole and of its copy with the ends of both joints swapped, targets of opposite sign."""
    stage = stages.Author.new()
    gains = {"type": "force", "stiffness": 2e3, "damping": 2e2}
    for name, flipped, place in (("straight", False, 0), ("flipped", True, 5)):
        sign = -1.0 if flipped else 1.0
        stage.cart_pole(
            f"/{name}",
            (place, 0, 0),
            cart={"drive": {**gains, "targetPosition": sign * 1.0}},
            pole={"drive": {**gains, "targetPosition": sign * 45.0}},
            flipped=flipped,
        )
    sim = stages.view(arrays, stage)
    straight, flipped = (sim.create_articulation_view(f"/{name}") for name in ("straight", "flipped"))
    for number in range(240):
        sim.step(DT)
        if number not in (10, 239):
            continue
        poses = [arrays.host(view.get_link_transforms())[0] for view in (straight, flipped)]
        np.testing.assert_allclose(poses[1][:, :3] - (5, 0, 0), poses[0][:, :3], atol=1e-4)
        projected = [arrays.host(view.get_dof_projected_joint_forces())[0] for view in (straight, flipped)]
        scale = np.abs(projected[0]).max()
        np.testing.assert_allclose(projected[1], -projected[0], atol=2e-3 * scale)
        wrenches = [
            arrays.host(view.get_link_incoming_joint_force())[0].astype(float) for view in (straight, flipped)
        ]
        assert not wrenches[0][0].any()
        assert not wrenches[1][0].any()
        # the joint frames: of the cart at the origin of a link, of the pole half a metre below its centre or at the cart
        cart, pole = poses[0][1, :3], poses[0][2]
        rail = poses[0][0, :3]
        turn = _matrix(pole[3:])
        hinge = pole[:3] + turn @ (0, 0, -0.5)
        places = ([(np.eye(3), cart), (turn, hinge)], [(np.eye(3), rail), (np.eye(3), cart)])
        for link in (1, 2):
            sides = []
            for side in (0, 1):
                rotation, origin = places[side][link - 1]
                force = rotation @ wrenches[side][link, :3]
                torque = rotation @ wrenches[side][link, 3:] + np.cross(origin - cart, force)
                sides.append(np.concatenate((force, torque)))
            np.testing.assert_allclose(sides[1], -sides[0], atol=2e-3 * np.abs(sides[0]).max())
    # at rest the hinge holds the pole of 0.5 kg, 0.5 m from it, and the rail all of it
    q = float(arrays.host(straight.get_dof_positions())[0, 1])
    assert q == pytest.approx(np.radians(45.0), abs=0.01)
    assert projected[0][1] == pytest.approx(-0.5 * 9.81 * 0.5 * np.sin(q), abs=0.01)
    assert abs(wrenches[0][1, 2]) == pytest.approx(1.5 * 9.81, abs=0.01)


def _matrix(q: np.ndarray) -> np.ndarray:
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_a_light_chain_carries_a_heavy_load(stages: SimpleNamespace, arrays: Any) -> None:
    """Case 053 at rest: five links of 10 g hold 100 kg; the first joint carries all of it."""
    stage = stages.Author.new()
    stage.xform("/chain")
    stage.body("/chain/base", mass=1.0)
    stage.joint("/chain/root", "fixed", None, "/chain/base")
    above = "/chain/base"
    for number in range(5):
        path, last = f"/chain/l{number}", number == 4
        stage.body(
            path,
            (0, 0, -0.2 * number),
            mass=100.01 if last else 0.01,
            inertia=(0.1, 0.1, 0.1) if last else (4e-5, 4e-5, 1e-6),
            com=(0, 0, -0.2 if last else -0.1),
        )
        at = (0, 0, 0.0 if number == 0 else -0.2)
        stage.joint(f"/chain/j{number}", "revolute", above, path, axis="Y", at0=at)
        above = path
    stage.articulation("/chain")
    sim = stages.view(arrays, stage)
    view = sim.create_articulation_view("/chain")
    for _ in range(600):
        sim.step(1 / 120)
    assert np.abs(arrays.host(view.get_dof_positions())).max() < 1e-3
    force = arrays.host(view.get_link_incoming_joint_force())[0]
    assert force[1, 2] == pytest.approx(100.05 * 9.81, rel=1e-3)
    np.testing.assert_allclose(force[1:, 2], (100.05 - 0.01 * np.arange(5)) * 9.81, rtol=1e-4)
