"""Membranes and hinges: closed forms of stretching and bending, derivatives, momenta."""

from __future__ import annotations

import numpy as np
import pytest

import tensorphys_fem as tf

YOUNGS, THICKNESS = 1e6, 0.01


def _strip(columns, rows, size, *, equilateral=False):
    """A plate in the x-y plane, of right or equilateral triangles."""
    height = size * (np.sqrt(0.75) if equilateral else 1.0)
    points = [
        (i * size + (0.5 * size * (j % 2) if equilateral else 0.0), j * height, 0.0)
        for j in range(rows + 1)
        for i in range(columns + 1)
    ]
    triangles = []
    for j in range(rows):
        for i in range(columns):
            a, b = j * (columns + 1) + i, (j + 1) * (columns + 1) + i
            if equilateral and j % 2 == 1:
                triangles += [(a, a + 1, b + 1), (a, b + 1, b)]
            else:
                triangles += [(a, a + 1, b), (a + 1, b + 1, b)]
    return np.array(points), np.array(triangles)


def _scene(make_scene, device, points, triangles, *, poisson=0.0, scheme=tf.Scheme.DAMPED, **options):
    mesh = tf.ShellMesh.from_arrays(points, triangles)
    body = tf.Body(mesh, tf.Material(YOUNGS, poisson), scheme=scheme, thickness=THICKNESS)
    return make_scene([body], device=device, **options)


@pytest.mark.parametrize("equilateral", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_energy_of_a_rolled_plate(make_scene, device, equilateral, axis) -> None:
    """½ D κ² A with D = E t³ / 12 (ν = 0), without the half cells at the rim that have no hinge."""
    points, triangles = _strip(30, 30, 0.05, equilateral=equilateral)
    scene = _scene(make_scene, device, points, triangles)
    curvature = 0.1
    along = points[:, axis]
    rolled = points.copy()
    rolled[:, axis] = np.sin(curvature * along) / curvature
    rolled[:, 2] = (1.0 - np.cos(curvature * along)) / curvature
    scene.state.position.assign(rolled)
    stiffness = YOUNGS * THICKNESS**3 / 12.0
    area = scene.model.bodies[0].mesh.areas.sum()
    expected = 0.5 * stiffness * curvature**2 * area
    assert scene.energy() == pytest.approx(expected, rel=0.06)


def test_stretch_of_a_membrane(make_scene, device) -> None:
    """Uniaxial strain with the sides held: ½ E / (1 − ν²) ε² t A, and the force at the edge."""
    points, triangles = _strip(6, 4, 0.1)
    scene = _scene(make_scene, device, points, triangles, poisson=0.3)
    strain = 0.01
    scene.state.position.assign(points * (1.0 + strain, 1.0, 1.0))
    modulus = YOUNGS / (1.0 - 0.09)
    assert scene.energy() == pytest.approx(0.5 * modulus * strain**2 * THICKNESS * 0.24, rel=1e-6)
    scene.measures.measure_forces(scene.state)
    edge = points[:, 0] > 0.6 - 1e-9
    force = scene.measures.nodal_forces.numpy()[edge, 0].sum()
    assert -force == pytest.approx(modulus * strain * THICKNESS * 0.4, rel=1e-6)
    scene.measures.measure_elements(scene.state)
    stress = scene.measures.stresses.numpy()[0]
    assert stress[0, 0] == pytest.approx(modulus * strain, rel=1e-3)
    assert stress[1, 1] == pytest.approx(0.3 * modulus * strain, rel=0.02)
    assert np.abs(stress[2]).max() < 1e-3 * stress[0, 0]


def test_forces_are_the_derivative_of_the_energy(make_scene, device) -> None:
    random = np.random.default_rng(5)
    points, triangles = _strip(2, 2, 0.1)
    crumpled = points + 0.02 * random.standard_normal(points.shape)
    scene = _scene(make_scene, device, crumpled, triangles, poisson=0.2)
    places = crumpled + 0.02 * random.standard_normal(points.shape)
    scene.state.position.assign(places)
    scene.measures.measure_forces(scene.state)
    forces = scene.measures.nodal_forces.numpy().copy()
    assert np.abs(forces.sum(axis=0)).max() < 1e-12 * np.abs(forces).max()
    assert np.abs(np.cross(places, forces).sum(axis=0)).max() < 1e-10 * np.abs(forces).max()
    for node in range(len(points)):
        for axis in range(3):
            values = []
            for sign in (1, -1):
                moved = places.copy()
                moved[node, axis] += sign * 1e-6
                scene.state.position.assign(moved)
                values.append(scene.energy())
            numeric = -(values[0] - values[1]) / 2e-6
            assert forces[node, axis] == pytest.approx(numeric, abs=1e-5 * np.abs(forces).max())


def test_curved_shell_rests(make_scene, device) -> None:
    """The shape that is given has no stress: nothing moves."""
    points, triangles = _strip(6, 6, 0.1)
    points[:, 2] = 0.1 * np.sin(7.0 * points[:, 0]) * np.cos(5.0 * points[:, 1])
    scene = _scene(make_scene, device, points, triangles, gravity=(0, 0, 0))
    assert np.abs(scene.model.bodies[0].mesh.rest_angles).max() > 0.1
    scene.run(30, 1 / 60)
    assert np.abs(scene.x - points).max() < 1e-9
    flat = tf.ShellMesh.from_arrays(points, triangles, flat_rest=True)
    scene = make_scene([tf.Body(flat, thickness=THICKNESS)], device=device, gravity=(0, 0, 0))
    scene.run(30, 1 / 60)
    assert np.abs(scene.x - points).max() > 1e-4


def test_thrown_shell_conserves(make_scene, device) -> None:
    """A tumbling, bent plate: momenta to 1e-5, energy to 1 %, over half a second."""
    points, triangles = _strip(6, 3, 0.1)
    centre = points.mean(axis=0)
    scene = _scene(
        make_scene, device, points, triangles, poisson=0.3, scheme=tf.Scheme.CONSERVING, gravity=(0, 0, 0)
    )
    bend = np.zeros_like(points)
    bend[:, 2] = 2.0 * (points[:, 0] - centre[0]) ** 2
    scene.throw(np.cross((1.0, 0.5, 2.0), points - centre) + bend + (0, 1, 0))
    energy = scene.energy()
    _, _, linear, angular = scene.bodies()
    scene.run(120, 1 / 240)
    _, _, linear_after, angular_after = scene.bodies()
    assert np.abs(linear_after - linear).max() < 1e-5 * np.linalg.norm(linear)
    assert np.abs(angular_after - angular).max() < 1e-5 * np.linalg.norm(angular)
    assert scene.energy() == pytest.approx(energy, rel=0.01)


def test_cloth_hangs_from_two_corners(make_scene, device) -> None:
    """At rest after 3 s in thick air: the corners carry the weight, nothing is torn."""
    points, triangles = _strip(8, 8, 0.1)
    mesh = tf.ShellMesh.from_arrays(points, triangles)
    material = tf.Material(1e6, 0.3, damping=0.01, velocity_damping=3.0)
    scene = make_scene([tf.Body(mesh, material, thickness=2e-3)], device=device)
    corners = [0, 8]
    scene.hold(corners)
    scene.run(180, 1 / 60)
    weight = scene.model.node_mass.numpy().sum() * 9.81
    reaction = scene.solver.reaction.numpy()[corners].sum(axis=0)
    assert reaction[2] == pytest.approx(weight, rel=0.05)
    assert scene.x[:, 2].min() == pytest.approx(-0.8, abs=0.08)
    scene.measures.measure_elements(scene.state)
    stretches = scene.measures.stretches.numpy()[: len(triangles)]
    assert np.abs(stretches - np.eye(3)).max() < 0.3


def test_edges_of_three_triangles_are_refused() -> None:
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1)], dtype=float)
    with pytest.raises(tf.MeshError, match=r"edge \(0, 1\): more than two"):
        tf.ShellMesh.from_arrays(points, [(0, 1, 2), (1, 0, 3), (0, 1, 4)])
    with pytest.raises(tf.MeshError, match="triangles without area 1"):
        tf.ShellMesh.from_arrays(points, [(0, 1, 2), (0, 2, 3)])
