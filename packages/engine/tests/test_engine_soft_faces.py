"""Faces of coarse deformables on edges, corners and small shapes: what lies between nodes is carried as well."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from tensorphys_engine import Simulation
from tensorphys_engine.testing.soft_scenes import RigidBox, SoftCube, soft_scene

G = 9.81


def _points_of_faces(simulation: Simulation, count: int = 12) -> np.ndarray:
    """Points all over the surface of all deformables."""
    corners = simulation.soft.coupling.faces.faces.corner.numpy()
    i, j = np.meshgrid(np.arange(count + 1), np.arange(count + 1), indexing="ij")
    inside = i + j <= count
    weights = np.stack((i[inside], j[inside], count - i[inside] - j[inside]), axis=1) / count
    x = simulation.soft.state.position.numpy()[corners]
    return np.einsum("pk,tkx->tpx", weights, x).reshape(-1, 3)


def _depth_in_box(points: np.ndarray, center, half) -> float:
    """How deep the deepest of points lies in a box that is not turned."""
    return float((np.asarray(half) - np.abs(points - center)).min(axis=1).max())


def _forces_of_nodes(simulation: Simulation) -> np.ndarray:
    """Forces of the rows that end at a node alone."""
    rows = simulation.soft.rows
    force = rows.force.numpy().astype(float)
    return force[np.arange(force.shape[1]) < rows.count.numpy()[:, None]]


@pytest.mark.parametrize("youngs", [1e4, 5e4, 1e6])
def test_a_cube_stays_on_a_box_of_its_own_width(device: str, youngs: float) -> None:
    """2 × 2 × 2 cells, 4 mm off the middle: a row of nodes has nothing below it, the edge of the box holds their faces."""
    half = (0.025, 0.025, 0.02)
    scene = soft_scene(
        [SoftCube((0.004, 0.0, 0.0651), cells=2, youngs_modulus=youngs, damping=0.005)],
        [RigidBox((0.0, 0.0, 0.02), half, kinematic=True)],
    )
    simulation = Simulation(scene, device=device)
    start = simulation.soft.state.position.numpy().mean(axis=0)
    for _ in range(90):
        simulation.step()
    moved = simulation.soft.state.position.numpy().mean(axis=0) - start
    assert np.abs(moved[:2]).max() < 1e-4
    force = simulation.soft.contact_force.numpy().astype(float).sum(axis=0)
    np.testing.assert_allclose(force, (0.0, 0.0, 0.2 * G), atol=2e-3 * 0.2 * G)
    assert np.abs(simulation.soft.state.velocities.numpy()).max() < 1e-3
    assert _depth_in_box(_points_of_faces(simulation), (0.0, 0.0, 0.02), half) < 2e-4
    # what the box got is what the nodes got
    impulse = simulation.soft.coupling.shape_impulse.numpy().astype(float)[:, 2].sum()
    assert impulse * 60.0 == pytest.approx(-force[2], rel=5e-3)


def test_a_cube_of_one_cell_rests_on_what_fits_between_its_nodes(device: str) -> None:
    """No node touches anything: eight nodes, on a box of a third of the area of a face."""
    half = (0.015, 0.015, 0.02)
    scene = soft_scene(
        [SoftCube((0.006, 0.004, 0.0651), cells=1, youngs_modulus=1e5, damping=0.01)],
        [RigidBox((0.0, 0.0, 0.02), half, kinematic=True)],
    )
    simulation = Simulation(scene, device=device)
    start = simulation.soft.state.position.numpy().mean(axis=0)
    for _ in range(60):
        simulation.step()
    assert not _forces_of_nodes(simulation).any()
    moved = simulation.soft.state.position.numpy().mean(axis=0) - start
    assert np.abs(moved[:2]).max() < 2e-4
    force = simulation.soft.contact_force.numpy().astype(float).sum(axis=0)
    np.testing.assert_allclose(force, (0.0, 0.0, 0.2 * G), atol=5e-3 * 0.2 * G)
    assert _depth_in_box(_points_of_faces(simulation), (0.0, 0.0, 0.02), half) < 3e-4


def test_a_small_box_stands_on_a_face(device: str) -> None:
    """A free box narrower than a cell on a coarse cube: the ground carries both, and the box stays where it is."""
    scene = soft_scene(
        [SoftCube((0.0, 0.0, 0.0251), cells=1, youngs_modulus=1e5, damping=0.01)],
        [RigidBox((0.004, 0.002, 0.0606), (0.01, 0.01, 0.01), mass=0.1)],
    )
    simulation = Simulation(scene, device=device)
    for _ in range(90):
        simulation.step()
    assert _forces_of_nodes(simulation)[:, 2].sum() == pytest.approx(0.3 * G, rel=0.01)
    pose = simulation.state.link_pose.numpy()[0]
    np.testing.assert_allclose(pose[:2], (0.004, 0.002), atol=5e-4)
    assert abs(pose[6]) > np.cos(0.5 * 0.02)


@pytest.mark.parametrize("youngs", [2e4, 1e6])
def test_a_corner_that_hits_a_face_passes_no_momentum_by(device: str, youngs: float) -> None:
    """A box thrown with its corner first into the middle of a face, without gravity: both momenta are as before, and nothing
    passes through."""
    scene = soft_scene(
        [SoftCube((0.0, 0.0, 0.0), cells=1, youngs_modulus=youngs, damping=0.005)],
        [RigidBox((0.006, 0.004, 0.06), (0.012, 0.012, 0.012), mass=0.1)],
        ground=False,
        gravity=0.0,
        rate=240.0,
    )
    simulation = Simulation(scene, device=device)
    state, soft = simulation.state, simulation.soft
    pose = state.root_pose.numpy()
    # a space diagonal along z
    axis, angle = np.array((1.0, -1.0, 0.0)) / np.sqrt(2.0), np.arccos(1.0 / np.sqrt(3.0))
    pose[0, 3:] = (*(np.sin(0.5 * angle) * axis), np.cos(0.5 * angle))
    velocity = np.zeros(state.velocity.shape[0], np.float32)
    velocity[:6] = (0.05, 0.0, -0.5, 0.0, 0.0, 0.0)
    for name, values in (("root_pose", pose), ("velocity", velocity)):
        array = getattr(state, name)
        array.assign(wp.array(values.astype(array.numpy().dtype), dtype=array.dtype, device=device))
    state.fresh.fill_(1)
    simulation.refresh()
    mass = soft.model.node_mass.numpy()[:, None]
    inertia = 0.1 * 2.0 * 0.012**2 / 3.0

    def momenta() -> tuple[np.ndarray, np.ndarray, float]:
        twist = state.link_velocity.numpy()[0].astype(float)
        at = state.link_pose.numpy()[0, :3].astype(float)
        x, v = soft.state.position.numpy(), soft.state.velocity.numpy()
        linear = 0.1 * twist[:3] + (mass * v).sum(axis=0)
        angular = inertia * twist[3:] + 0.1 * np.cross(at, twist[:3]) + np.cross(x, mass * v).sum(axis=0)
        return linear, angular, at[2] - x[:, 2].mean()

    before = momenta()
    touched, least = False, np.inf
    for _ in range(60):
        simulation.step()
        touched = touched or bool((soft.coupling.faces.faces.kept.numpy() >= 0).any())
        assert not _forces_of_nodes(simulation).any()
        least = min(least, momenta()[2])
    after = momenta()
    assert touched
    assert least > 0.03 and after[2] > 0.045
    assert np.abs(after[0] - before[0]).max() < 1e-5 * 0.05
    # the damped scheme loses h² ω² of the spin of the cube in a step
    assert np.abs(after[1] - before[1]).max() < 0.01 * 0.05 * 0.03
    assert np.linalg.norm(state.link_velocity.numpy()[0, :3]) <= 0.5


def test_forces_of_faces_are_saved_and_forgotten(device: str) -> None:
    """A run from a saved state repeats bit for bit; bodies that are set somewhere by hand start without forces."""
    scene = soft_scene(
        [SoftCube((0.004, 0.0, 0.065), cells=2)], [RigidBox((0.0, 0.0, 0.02), (0.025, 0.025, 0.02))]
    )
    simulation = Simulation(scene, device=device)
    for _ in range(20):
        simulation.step()
    saved = simulation.save_state()
    results = []
    for _ in range(2):
        simulation.load_state(saved)
        for _ in range(5):
            simulation.step()
        results.append(simulation.soft.state.position.numpy().copy())
    np.testing.assert_array_equal(*results)
    faces = simulation.soft.coupling.faces.faces
    assert (faces.kept.numpy() >= 0).any()
    simulation.soft.set_positions(simulation.soft.state.positions)
    assert (faces.kept.numpy() == -1).all()
