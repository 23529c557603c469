"""Mechanical energy of each environment, on the host in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_engine import Simulation
from tensorphys_scene import DriveType
from tensorphys_spatial import quaternion_rotate, quaternion_rotate_inverse

Array = npt.NDArray[np.float64]


class Energies:
    """Evaluates energies of the present state [stage mass · stage length² / s²].

    Kinetic: ½ m v² + ½ ω·Iω of each link that can move, and ½ a q̇² of each armature. Potential: −m g·c of each link,
    with c its centre of mass in the environment frame, and ½ k (q − q₀)² of joint springs and of drives whose gains
    multiply into forces. What a drive with a moving target does is work from outside.

    Args:
        simulation: The simulation; masses and gains are read at each evaluation.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._link_environment = simulation.directory.numbering.links.environment
        self._dof_environment = simulation.directory.numbering.dofs.environment
        model: Any = simulation.model
        starts = model.articulation_velocity_start.numpy()
        dof_starts = model.articulation_dof_start.numpy()
        fixed = np.diff(starts) == np.diff(dof_starts)
        root = model.articulation_link_start.numpy()[:-1]
        self._moves = np.ones(model.link_count, bool)
        self._moves[root[fixed]] = False
        behind = np.repeat(starts[1:] - dof_starts[1:], np.diff(dof_starts))
        self._dof_velocity = np.arange(len(behind)) + behind

    def now(self) -> tuple[Array, Array]:
        """Kinetic and potential energy of each environment, shape [environments] each; waits for the device."""
        simulation = self._simulation
        model: Any = simulation.model
        state: Any = simulation.state
        control: Any = simulation.control

        def read(array: Any) -> Array:
            return np.asarray(array.numpy(), dtype=np.float64)

        pose, velocity = read(state.link_pose).reshape(-1, 7), read(state.link_velocity).reshape(-1, 6)
        mass = np.where(self._moves, read(model.link_mass), 0.0)
        turning = quaternion_rotate_inverse(pose[:, 3:], velocity[:, 3:])
        momentum = np.einsum("nij,nj->ni", read(model.link_inertia), turning) * self._moves[:, None]
        center = pose[:, :3] + quaternion_rotate(pose[:, 3:], read(model.link_com))
        gravity = read(model.gravity)[self._link_environment] * read(model.link_gravity)[:, None]
        kinetic = 0.5 * mass * (velocity[:, :3] ** 2).sum(axis=1) + 0.5 * (turning * momentum).sum(axis=1)
        potential = -mass * (gravity * center).sum(axis=1)
        count = simulation.environment_count
        by_link, by_dof = self._link_environment, self._dof_environment
        rate, position = read(state.velocity)[self._dof_velocity], read(state.dof_position)
        spring = read(model.dof_passive_stiffness) * (position - read(model.dof_spring_reference)) ** 2
        is_force = model.dof_drive_type.numpy() == DriveType.FORCE
        stretch = position - read(control.position_target)
        drive = np.where(is_force, read(model.dof_stiffness) * stretch**2, 0.0)
        armature = 0.5 * read(model.dof_armature) * rate**2

        def total(by: Any, values: Array) -> Array:
            return np.asarray(np.bincount(by, values, count), dtype=np.float64)

        return (
            total(by_link, kinetic) + total(by_dof, armature),
            total(by_link, potential) + total(by_dof, 0.5 * (spring + drive)),
        )
