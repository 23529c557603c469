"""Jacobians, mass matrices, compensation forces, mass centres and momenta of articulation views."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tensorphys.errors import ViewError

Q, QD = (0.0, np.pi / 2), (1.0, 2.0)


def author_arm(stage: Any, path: str, *, fixed: bool, flipped: bool = False, position=(0, 0, 0)) -> None:
    """The planar arm of two links of 1 m: 2 and 1 kg, centres in the middle, root of 5 kg."""
    stage.xform(path, position)
    base, first, second = (f"{path}/{name}" for name in ("base", "link1", "link2"))
    stage.body(base, mass=5.0, inertia=(0.1, 0.1, 0.1))
    stage.body(first, mass=2.0, inertia=(0.01, 1 / 6, 1 / 6), com=(0.5, 0, 0))
    stage.body(second, (1, 0, 0), mass=1.0, inertia=(0.01, 1 / 12, 1 / 12), com=(0.5, 0, 0))
    if fixed:
        stage.joint(f"{path}/root", "fixed", None, base, at0=position)
    stage.joint(f"{path}/joint1", "revolute", base, first, axis="Z", flipped=flipped)
    stage.joint(f"{path}/joint2", "revolute", first, second, axis="Z", at0=(1, 0, 0), flipped=flipped)
    stage.articulation(path if fixed else base)


@pytest.fixture
def arms(stages: SimpleNamespace, arrays: Any) -> SimpleNamespace:
    stage = stages.Author.new()
    author_arm(stage, "/Fixed", fixed=True)
    author_arm(stage, "/Floating", fixed=False, position=(0, 0, 3))
    author_arm(stage, "/Flipped", fixed=True, flipped=True, position=(0, 0, 6))
    sim = stages.view(arrays, stage)
    sim.set_gravity((0.0, -9.81, 0.0))
    views = {
        name: sim.create_articulation_view(f"/{name}{below}")
        for name, below in (("Fixed", ""), ("Floating", "/base"), ("Flipped", ""))
    }
    return SimpleNamespace(sim=sim, arrays=arrays, host=arrays.host, **views)


def pose(w: SimpleNamespace, view: Any, q=Q, qd=QD) -> None:
    view.set_dof_positions(w.arrays.make([q]), None)
    view.set_dof_velocities(w.arrays.make([qd]), None)


def test_jacobians_of_a_planar_arm(arms: SimpleNamespace) -> None:
    """Case 050: shapes of fixed and floating bases, rows at centres of mass."""
    q = np.radians((30.0, 45.0))
    link2 = np.zeros((6, 2))
    link2[0], link2[1], link2[5] = (-0.9829629, -0.4829629), (0.9954349, 0.1294095), (1, 1)
    link1 = np.zeros((6, 2))
    link1[0, 0], link1[1, 0], link1[5, 0] = -0.25, 0.4330127, 1.0
    for name, shape in (("Fixed", (2, 6, 2)), ("Floating", (3, 6, 8))):
        view = getattr(arms, name)
        pose(arms, view, q)
        assert view.jacobian_shape == (shape[0] * 6, shape[2])
        jacobian = arms.host(view.get_jacobians())
        assert jacobian.shape == (1, *shape)
        np.testing.assert_allclose(jacobian[0, -2:, :, -2:], [link1, link2], atol=1e-5)
        root = arms.host(view.get_root_velocities())[0] if name == "Floating" else []
        velocity = jacobian[0] @ np.concatenate((root, QD))
        links = arms.host(view.get_link_velocities())[0]
        np.testing.assert_allclose(velocity, links[-shape[0] :], atol=1e-5)
    root = jacobian[0, :, :, :6]
    np.testing.assert_allclose(root[0], np.eye(6), atol=1e-6)
    np.testing.assert_allclose(root[:, :3, :3], np.tile(np.eye(3), (3, 1, 1)), atol=1e-6)
    np.testing.assert_allclose(root[2, :3, 5], (-0.982963, 0.995435, 0.0), atol=1e-5)


def test_mass_matrix_and_compensation_of_a_planar_arm(arms: SimpleNamespace) -> None:
    """Case 051, and the same arm with the ends of its joints swapped: one sign of a joint everywhere."""
    for name, sign in (("Fixed", 1.0), ("Flipped", -1.0)):
        view = getattr(arms, name)
        pose(arms, view, sign * np.asarray(Q), sign * np.asarray(QD))
        assert view.generalized_mass_matrix_shape == (2, 2)
        np.testing.assert_allclose(
            arms.host(view.get_generalized_mass_matrices())[0], [[2, 1 / 3], [1 / 3, 1 / 3]], atol=1e-5
        )
        gravity = arms.host(view.get_gravity_compensation_forces())
        np.testing.assert_allclose(gravity, [(sign * 19.62, 0)], atol=1e-4)
        coriolis = arms.host(view.get_coriolis_and_centrifugal_compensation_forces())
        np.testing.assert_allclose(coriolis, [(-4.0 * sign, 0.5 * sign)], atol=1e-5)
        links = arms.host(view.get_link_velocities())[0]
        np.testing.assert_allclose(links[2, :2], (-1.5, 1.0), atol=1e-5)
        jacobian = arms.host(view.get_jacobians())[0]
        np.testing.assert_allclose(jacobian @ (sign * np.asarray(QD)), links[1:], atol=1e-5)


def test_gravity_compensation_holds_the_arm(arms: SimpleNamespace) -> None:
    view = arms.Fixed
    pose(arms, view, (0.3, 0.8), (0.0, 0.0))
    start = arms.host(view.get_dof_positions())
    for _ in range(60):
        view.set_dof_actuation_forces(view.get_gravity_compensation_forces(), None)
        arms.sim.step(1 / 60)
    assert np.abs(arms.host(view.get_dof_positions()) - start).max() < 1e-3


def test_floating_base_carries_its_weight_first(arms: SimpleNamespace) -> None:
    view = arms.Floating
    pose(arms, view)
    gravity = arms.host(view.get_gravity_compensation_forces())[0]
    assert gravity.shape == (8,)
    np.testing.assert_allclose(gravity[:3], (0, 8 * 9.81, 0), atol=1e-3)
    np.testing.assert_allclose(gravity[6:], (19.62, 0), atol=1e-3)
    mass = arms.host(view.get_generalized_mass_matrices())[0].astype(float)
    np.testing.assert_allclose(mass[:3, :3], 8 * np.eye(3), atol=1e-5)
    coriolis = arms.host(view.get_coriolis_and_centrifugal_compensation_forces())[0].astype(float)
    # the deprecated ones let the base give way
    gain = mass[6:, :6] @ np.linalg.inv(mass[:6, :6])
    assert view.mass_matrix_shape == (2, 2)
    np.testing.assert_allclose(
        arms.host(view.get_mass_matrices())[0], mass[6:, 6:] - gain @ mass[:6, 6:], atol=1e-5
    )
    np.testing.assert_allclose(arms.host(view.get_generalized_gravity_forces())[0], 0.0, atol=1e-4)
    np.testing.assert_allclose(
        arms.host(view.get_coriolis_and_centrifugal_forces())[0],
        coriolis[6:] - gain @ coriolis[:6],
        atol=1e-4,
    )
    # with a fixed base they are the same as the others
    pose(arms, arms.Fixed)
    np.testing.assert_array_equal(
        arms.host(arms.Fixed.get_generalized_gravity_forces()),
        arms.host(arms.Fixed.get_gravity_compensation_forces()),
    )
    np.testing.assert_array_equal(
        arms.host(arms.Fixed.get_coriolis_and_centrifugal_forces()),
        arms.host(arms.Fixed.get_coriolis_and_centrifugal_compensation_forces()),
    )


def test_mass_centre_and_momentum(arms: SimpleNamespace) -> None:
    view = arms.Floating
    view.set_root_velocities(arms.arrays.make([[0.3, -0.2, 0.1, 0, 0, 0]]), None)
    pose(arms, view, (0.0, 0.0), (0.0, 0.0))
    centre = (2 * 0.5 + 1 * 1.5) / 8
    np.testing.assert_allclose(arms.host(view.get_articulation_mass_center())[0], (centre, 0, 3), atol=1e-6)
    local = arms.host(view.get_articulation_mass_center(True))[0]
    np.testing.assert_allclose(local, (centre, 0, 0), atol=1e-6)
    momentum = arms.host(view.get_articulation_centroidal_momentum())[0]
    assert momentum.shape == (6, 9)
    velocity = np.concatenate((arms.host(view.get_root_velocities())[0], (0.0, 0.0)))
    np.testing.assert_allclose(momentum[:, :-1] @ velocity, (2.4, -1.6, 0.8, 0, 0, 0), atol=1e-5)
    np.testing.assert_allclose(momentum[:, -1], 0.0, atol=1e-5)
    # turning at 2 rad/s the links are drawn inwards: rate of the linear momentum m ω² r
    pose(arms, view, (0.0, 0.0), (2.0, 0.0))
    rate = arms.host(view.get_articulation_centroidal_momentum())[0, :, -1]
    np.testing.assert_allclose(rate, (-4.0 * (2 * 0.5 + 1.5), 0, 0, 0, 0, 0), atol=1e-4)
    with pytest.raises(ViewError, match=r"floating bases.*/Fixed"):
        arms.Fixed.get_articulation_centroidal_momentum()


def test_armature_follows_the_conventions(stages: SimpleNamespace, arrays: Any) -> None:
    found = []
    for conventions in ("documentation", "runtime"):
        stage = stages.Author.new()
        author_arm(stage, "/Fixed", fixed=True)
        view = stages.view(arrays, stage, conventions=conventions).create_articulation_view("/Fixed")
        view.set_dof_armatures(arrays.cpu.make([[0.5, 0.25]]), None)
        found.append(arrays.host(view.get_generalized_mass_matrices())[0])
        np.testing.assert_allclose(arrays.host(view.get_mass_matrices())[0], found[-1], atol=1e-6)
    np.testing.assert_allclose(found[0] - found[1], np.diag((0.5, 0.25)), atol=1e-6)


def test_rows_of_several_kinds(stages: SimpleNamespace, arrays: Any) -> None:
    """Vectors and mass centres are padded with zeros; matrices need one kind."""
    stage = stages.Author.new()
    stage.xform("/envs")
    stage.xform("/envs/env0", (5, 0, 0))
    author_arm(stage, "/envs/env0/robot", fixed=True)
    stage.cart_pole("/envs/env0/cart")
    stage.ant("/envs/env0/ant", (0, 5, 0))
    sim = stages.view(arrays, stage, environments="/envs/*")
    # rows repeat, and stand in another order than the articulations
    names = ("ant/torso", "cart", "robot", "cart")
    mixed = sim.create_articulation_view([f"/envs/env0/{name}" for name in names])
    alone = [sim.create_articulation_view(f"/envs/env0/{name}") for name in names]
    for name in ("gravity_compensation_forces", "coriolis_and_centrifugal_compensation_forces"):
        rows = arrays.host(getattr(mixed, f"get_{name}")())
        assert rows.shape == (4, 6 + 8)
        for row, view in zip(rows, alone, strict=True):
            own = arrays.host(getattr(view, f"get_{name}")())[0]
            first = 0 if own.size == 14 else 6
            np.testing.assert_array_equal(row[first : first + own.size], own)
            np.testing.assert_array_equal(np.delete(row, np.s_[first : first + own.size]), 0.0)
    centres = arrays.host(mixed.get_articulation_mass_center())
    np.testing.assert_array_equal(
        centres, np.concatenate([arrays.host(view.get_articulation_mass_center()) for view in alone])
    )
    assert arrays.host(mixed.get_generalized_gravity_forces()).shape == (4, 8)
    for name in ("jacobian_shape", "generalized_mass_matrix_shape", "mass_matrix_shape"):
        with pytest.raises(ViewError, match=f"{name}: expected a view of articulations of one kind"):
            getattr(mixed, name)
    for name in ("jacobians", "generalized_mass_matrices", "mass_matrices"):
        with pytest.raises(ViewError, match="of one kind"):
            getattr(mixed, f"get_{name}")()
    with pytest.raises(ViewError, match="3 rows is fixed"):
        mixed.get_articulation_centroidal_momentum()


def test_buffers_are_kept(arms: SimpleNamespace) -> None:
    first = arms.Fixed.get_jacobians()
    assert arms.Fixed.get_jacobians() is first
    centre = arms.Fixed.get_articulation_mass_center()
    assert arms.Fixed.get_articulation_mass_center(True) is centre


def test_a_link_without_degrees_of_freedom(stages: SimpleNamespace, arrays: Any) -> None:
    stage = stages.Author.new()
    stage.body("/ball", mass=2.0)
    stage.joint("/ball/root", "fixed", None, "/ball")
    stage.articulation("/ball")
    view = stages.view(arrays, stage).create_articulation_view("/ball")
    assert view.jacobian_shape == (0, 0)
    for name in ("jacobians", "generalized_mass_matrices", "mass_matrices", "gravity_compensation_forces"):
        assert arrays.host(getattr(view, f"get_{name}")()).size == 0
    np.testing.assert_allclose(arrays.host(view.get_articulation_mass_center()), [[0, 0, 0]], atol=1e-7)
