"""Cases that people met in practice, with the numbers that are right."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tensorphys_fem as tf

G = 9.81


def test_vertex_order_of_a_tetrahedron(make_scene, device) -> None:
    """A negative volume is turned by name, and the rest shape is kept."""
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 0, 1), (0, 1, 0)], dtype=float)
    with pytest.warns(tf.MeshRepairWarning, match="negative volume 0"):
        turned = tf.TetMesh.from_arrays(points, [[0, 1, 2, 3]])
    good = tf.TetMesh.from_arrays(points, [[0, 2, 1, 3]])
    assert np.array_equal(turned.points, points)
    with pytest.raises(tf.MeshError, match="negative volume 0"):
        tf.TetMesh.from_arrays(points, [[0, 1, 2, 3]], on_inverted="raise")
    for mesh in (turned, good):
        scene = make_scene([tf.Body(mesh, tf.Material(1e5, 0.3))], device=device, gravity=(0, 0, 0))
        scene.run(300, 1 / 60)
        assert np.abs(scene.x - points).max() < 1e-5
        assert scene.model.node_mass.numpy().sum() == pytest.approx(1000.0 / 6.0, rel=1e-5)


def _bar():
    return tf.box_mesh((2, 2, 10), 0.05)


def test_hanging_bar(make_scene, device) -> None:
    """Static elongation ρ g L² / 2 E, oscillation about it without damping, reaction and mass."""
    mesh = _bar()
    top, bottom = mesh.points[:, 2] > 0.5 - 1e-9, mesh.points[:, 2] < 1e-9
    expected = -1000.0 * G * 0.5**2 / (2.0 * 1e6)
    for factor in (1.0, 10.0):
        body = tf.Body(mesh, tf.Material(1e6 * factor, 0.0), scheme=tf.Scheme.CONSERVING)
        scene = make_scene([body], device=device)
        scene.hold(top)
        scene.solver.solve_static(scene.state, scene.control)
        assert scene.x[bottom, 2].mean() == pytest.approx(expected / factor, rel=1e-3)
        assert scene.solver.reaction.numpy().sum(axis=0)[2] == pytest.approx(5.0 * G, rel=1e-4)
    body = tf.Body(mesh, tf.Material(1e6, 0.0), scheme=tf.Scheme.CONSERVING)
    scene = make_scene([body], device=device)
    scene.hold(top)
    tips, forces = [], []
    for _ in range(253):  # two periods
        scene.run(1, 5e-4)
        tips.append(scene.x[bottom, 2].mean())
        forces.append(scene.solver.reaction.numpy()[:, 2].sum())
    assert np.mean(tips) == pytest.approx(expected, rel=0.05)
    assert min(tips) == pytest.approx(2.0 * expected, rel=0.02)
    assert np.mean(forces) == pytest.approx(5.0 * G, rel=0.01)
    first = 20 + int(np.argmin(tips[20:90]))
    second = first + 60 + int(np.argmin(tips[first + 60 : first + 190]))
    assert (second - first) * 5e-4 == pytest.approx(0.0632, rel=0.03)
    assert scene.model.node_mass.numpy().sum() == pytest.approx(5.0, rel=1e-6)


@pytest.mark.parametrize("scheme", list(tf.Scheme))
def test_kinematic_nodes_hold_and_release(make_scene, device, scheme) -> None:
    mesh = tf.box_mesh((2, 2, 2), 0.1, origin=(0, 0, 2))
    driven = int(np.argmax(mesh.points @ [1, 1, 10]))
    scene = make_scene([tf.Body(mesh, tf.Material(1e5, 0.3), scheme=scheme)], device=device)
    scene.hold([driven])
    flags = scene.control.target.numpy().copy()
    dt = 1 / 240
    for _ in range(120):
        scene.run(1, dt)
        held = scene.state.positions.numpy()[driven]
        assert np.array_equal(held, flags[driven, :3])
    assert scene.x[:, 2].mean() < 2.095
    scene.release()
    mass = scene.model.node_mass.numpy()[:, None]
    velocity = (mass * scene.v).sum(axis=0) / mass.sum()
    place = scene.x[driven, 2]
    scene.run(72, dt)
    after = (mass * scene.v).sum(axis=0) / mass.sum()
    assert np.allclose((after - velocity) / (72 * dt), (0, 0, -G), rtol=0.01, atol=1e-9)
    assert scene.x[driven, 2] < place - 0.3
    scene.state.reset()
    assert np.array_equal(scene.control.target.numpy()[:, :3], flags[:, :3])


def test_moved_targets_are_reached_exactly(make_scene, device) -> None:
    mesh = tf.box_mesh((2, 2, 2), 0.1)
    scene = make_scene([tf.Body(mesh, tf.Material(1e6, 0.3))], device=device)
    left = mesh.points[:, 0] < 1e-9
    places = mesh.points.copy()
    for step in range(30):
        places[left, 0] = 0.013 * (step + 1)
        scene.hold(left, places)
        scene.run(1, 1 / 60)
        assert np.array_equal(scene.state.positions.numpy()[left], places[left].astype(np.float32))
        assert np.allclose(scene.v[left, 0], 0.78, rtol=1e-4)
    scene.release()
    scene.run(1, 1 / 60)
    assert scene.v[left, 0].mean() == pytest.approx(0.78, abs=0.4)


def _damaged():
    mesh = tf.box_mesh((1, 1, 1), 0.1)
    points = np.vstack([mesh.points, [5, 5, 5]])
    tets = np.vstack([mesh.tets, [0, 1, 2, 3], [0, 4, 6, 6]])
    return points, tets


def test_degenerate_elements_and_unused_nodes(make_scene, device) -> None:
    points, tets = _damaged()
    with pytest.raises(tf.MeshError, match="without volume 6, 7"):
        tf.TetMesh.from_arrays(points, tets)
    with pytest.warns(tf.MeshRepairWarning, match="6, 7"):
        mesh = tf.TetMesh.from_arrays(points, tets, on_degenerate="drop")
    assert mesh.report.unused_nodes.tolist() == [8]
    assert mesh.report.dropped.tolist() == [6, 7]
    scene = make_scene([tf.Body(mesh, tf.Material(1e5, 0.3))], device=device)
    scene.run(240, 1 / 240)
    assert np.isfinite(scene.x).all()
    assert np.array_equal(scene.x[8], (5, 5, 5))
    assert scene.model.node_mass.numpy().sum() == pytest.approx(1.0, rel=1e-6)
    assert scene.x[:8, 2].mean() - 0.05 == pytest.approx(-4.905, rel=0.01)


@pytest.mark.parametrize("law", list(tf.Elasticity))
@pytest.mark.parametrize("patches", [False, True])
def test_rigid_motion_and_uniaxial_patch(make_scene, device, law, patches) -> None:
    mesh = tf.box_mesh((2, 2, 2), 0.5)
    youngs, poisson = 1e6, 0.3 if not patches else 0.49
    lame, shear = youngs * poisson / ((1 + poisson) * (1 - 2 * poisson)), youngs / (2 * (1 + poisson))
    scene = make_scene(
        [tf.Body(mesh, tf.Material(youngs, poisson, elasticity=law))], device=device, nodal_dilatation=patches
    )
    axis = np.array((1.0, 2.0, 3.0)) / np.sqrt(14.0)
    cross = np.array(((0, -axis[2], axis[1]), (axis[2], 0, -axis[0]), (-axis[1], axis[0], 0)))
    turn = np.eye(3) + np.sin(np.pi / 3) * cross + (1 - np.cos(np.pi / 3)) * cross @ cross
    random = np.eye(3) + 0.01 * np.random.default_rng(3).standard_normal((3, 3))
    inner = int(np.argmin(np.linalg.norm(mesh.points - 0.5, axis=1)))
    for f in (turn, np.diag((1.001, 1, 1)), random, np.diag((-1.0, 1, 1))):
        # float64, past the float32 setter: its rounding is a strain of 1e-7.
        scene.state.position.assign(mesh.points @ f.T)
        scene.measures.measure_forces(scene.state)
        forces = scene.measures.nodal_forces.numpy().copy()
        assert np.isfinite(forces).all()
        assert np.abs(forces[inner]).max() < 1e-6 * youngs
        if f is turn:
            assert np.abs(forces).max() < 1e-6 * youngs
            assert scene.energy() < 1e-9 * youngs
        if f[0, 0] == 1.001:
            assert scene.energy() == pytest.approx(0.5 * (lame + 2 * shear) * 1e-6, rel=5e-3)
            face = mesh.points[:, 0] > 1 - 1e-9
            assert -forces[face, 0].sum() == pytest.approx((lame + 2 * shear) * 1e-3, rel=5e-3)
            side = mesh.points[:, 1] > 1 - 1e-9
            assert -forces[side, 1].sum() == pytest.approx(lame * 1e-3, rel=5e-3)
        if f is random:
            _compare_with_energy(scene, mesh.points @ f.T, forces)


def _compare_with_energy(scene, positions, forces) -> None:
    step = 1e-6
    for node, axis in ((0, 0), (13, 1), (26, 2), (4, 0)):
        values = []
        for sign in (1, -1):
            moved = positions.copy()
            moved[node, axis] += sign * step
            scene.state.position.assign(moved)
            values.append(scene.energy())
        numeric = -(values[0] - values[1]) / (2 * step)
        assert forces[node, axis] == pytest.approx(numeric, abs=1e-5 * np.abs(forces).max())


def test_messages_name_what_is_wrong() -> None:
    points, tets = _damaged()
    with pytest.raises(tf.MeshError, match=r"elements 1: nodes outside of 0..8"):
        tf.TetMesh.from_arrays(points, [[0, 1, 2, 4], [0, 1, 2, 9]])
    with pytest.raises(tf.MeshError, match="nodes 8: positions are not finite"):
        tf.TetMesh.from_arrays(np.where(points == 5, np.nan, points), tets)
    with pytest.raises(tf.MeshError, match="expected integers"):
        tf.TetMesh.from_arrays(points, tets.astype(float))
    with pytest.raises(tf.MaterialError, match="poissons_ratio"):
        tf.Material(1e5, 0.5)
    with pytest.raises(tf.MaterialError, match="youngs_modulus"):
        tf.Material(0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.TetMesh.from_arrays(points, tets[:6])
