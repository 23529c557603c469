"""Mimic joints and fixed tendons on axes of ball joints: they couple components of the rotation vector."""

from dataclasses import replace

import numpy as np
import pytest

from tensorphys_dynamics import JointModel, Solver
from tensorphys_dynamics._reference import Tree, energy
from tensorphys_dynamics.testing import model_of, run_steps

UNIT = np.array([0.0, 0, 0, 0, 0, 0, 1])
STILL = np.zeros(3)
DT = 1.0 / 1000.0


def ball_and_wheel(flipped):
    """A body of three inertias on a ball joint, its centre of mass aside, and a wheel on a hinge of the same base."""
    tree = Tree(
        fixed_base=True,
        parent=np.array([-1, 0, 0], np.int32),
        rest_pose=np.tile(UNIT, (3, 1)),
        dof_link=np.array([1, 1, 1, 2], np.int32),
        dof_rotational=np.ones(4, bool),
        dof_axis=np.concatenate((np.eye(3), [[0.0, 0.0, 1.0]])),
        dof_anchor=np.zeros((4, 3)),
        armature=np.zeros(4),
        mass=np.ones(3),
        com=np.array([[0, 0, 0], [0.1, 0.2, 0.0], [0, 0, 0]]),
        inertia=np.array([np.eye(3), np.diag([0.1, 0.2, 0.25]), 0.3 * np.eye(3)]),
        balls=np.array([0], np.int32),
    )
    if flipped:
        axis = tree.dof_axis.copy()
        axis[:3] *= -1.0
        tree = replace(tree, dof_axis=axis)
    return tree


SPRING = 2.0


def run(tree, device, q, v, steps, **couplings):
    """Positions and velocities after each step, without gravity, the start first; springs keep the ball joint upright."""
    model, state, control = model_of(tree, device, gravity=(0, 0, 0), passive_stiffness=[SPRING] * 3 + [0.0])
    state.set_initial(root_pose=[UNIT], dof_position=q, velocity=v)
    joints = JointModel(model, **couplings)
    solver = Solver(model, state, control, joints=joints, time_step=DT)
    solver.update_kinematics()
    rows = [(np.asarray(q, float), np.asarray(v, float))]
    rows += run_steps(solver, steps, (state.dof_position, state.velocity))
    return [np.array(part, float) for part in zip(*rows, strict=True)]


def energies_of(tree, positions, velocities):
    """Kinetic energy and that of the springs, which pull straight back along the rotation vector."""
    kinetic = [energy(tree, UNIT, p, u, STILL) for p, u in zip(positions, velocities, strict=True)]
    return np.array(kinetic) + 0.5 * SPRING * (positions[:, :3] ** 2).sum(1)


@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_rigid_mimic_ties_a_component_to_a_hinge(device, place, flipped):
    """The wheel turns by minus twice the component, through large turns, and nothing is lost or gained."""
    tree = ball_and_wheel(flipped)
    q = np.array([0.5, -0.4, 0.3, 0.0])
    q[3] = -2.0 * q[place]
    mimic = {"dof": [3], "reference": [place], "gearing": [2.0]}
    positions, velocities = run(tree, device, q, [1.0, -2.0, 1.5, 0.0], 2000, mimic=mimic)
    tied = positions[:, 3] + 2.0 * positions[:, place]
    assert np.abs(tied).max() < 1e-4
    # the joint's speeds at the start do not fit the mimic; after one step they do
    energies = energies_of(tree, positions, velocities)[1:]
    # springs are implicit: they take h k / 2 I of it each second, 0.3 %
    assert np.abs(energies - energies[0]).max() < 0.01 * energies[0]
    turned = np.linalg.norm(positions[:, :3], axis=1).max()
    assert 0.8 < turned < 3.1
    assert np.ptp(positions[:, 3]) > 0.5


@pytest.mark.parametrize("flipped", [False, True])
def test_a_fixed_tendon_stores_the_energy_of_its_stretch(device, flipped):
    """Kinetic energy and k / 2 (gearing · component + q of the wheel − rest length)² together stay what they were."""
    tree = ball_and_wheel(flipped)
    q, stiffness, rest = [0.8, -0.5, 0.4, 0.2], 3.0, 0.1
    positions, velocities = run(
        tree,
        device,
        q,
        [0.5, 1.0, -0.8, 0.3],
        600,
        fixed_tendon={"stiffness": [stiffness], "rest_length": [rest]},
        fixed_tendon_axis={
            "tendon": [0, 0, 0],
            "dof": [0, 2, 3],
            "gearing": [1.5, -0.7, 1.0],
            "force_coefficient": [1.5, -0.7, 1.0],
        },
    )
    stretch = 1.5 * positions[:, 0] - 0.7 * positions[:, 2] + positions[:, 3] - rest
    stored = 0.5 * stiffness * stretch**2
    assert np.linalg.norm(positions[:, :3], axis=1).max() < 3.1
    assert stored.max() > 0.5
    assert np.ptp(stored) > 0.5
    total = stored + energies_of(tree, positions, velocities)
    assert np.abs(total - total[0]).max() < 0.01 * total[0]
