"""States of a run, frame by frame, as arrays over environments."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys.cli.energy import Energies
from tensorphys_engine import Simulation

Array = npt.NDArray[Any]
Frame = dict[str, Any]


class Columns:
    """Flat rows of all environments as [environment, item], padded to the environment with the most.

    Args:
        start: First flat row of each environment, one more at the end.

    Attributes:
        row: Flat row of each item, shape [environments, items].
        present: Whether there is one; elsewhere the row is 0.
    """

    def __init__(self, start: npt.NDArray[np.int64]) -> None:
        counts = np.diff(start)
        item = np.arange(int(counts.max(initial=0)))
        self.present = item < counts[:, None]
        self.row = np.where(self.present, start[:-1, None] + item, 0)

    def spread(self, flat: Array) -> Array:
        """Values of flat rows, NaN where an environment has no such item; shape [environments, items, ...]."""
        if not flat.shape[0]:
            return np.zeros((*self.row.shape, *flat.shape[1:]), flat.dtype)
        values = flat[self.row]
        values[~self.present] = np.nan
        return values


class Frames:
    """Collects the state of a simulation; see the keys in ``tensorphys simulate --help``.

    Args:
        simulation: The simulation.

    Attributes:
        links, dofs: Places of links and degrees of freedom.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        numbering = simulation.directory.numbering
        self.links = Columns(numbering.links.start)
        self.dofs = Columns(numbering.dofs.start)
        model: Any = simulation.model
        starts = np.array(model.articulation_velocity_start.numpy())
        dof_starts = np.array(model.articulation_dof_start.numpy())
        # Each articulation's degrees of freedom are the last of its velocities.
        behind = np.repeat(starts[1:] - dof_starts[1:], np.diff(dof_starts))
        self._dof_velocity = np.arange(len(behind)) + behind
        self._slot_environment = np.array(simulation.contacts.environment.numpy())
        self._energies = Energies(simulation)
        self._frames: list[Frame] = []

    def take(self, *, keep: bool) -> Frame:
        """Copy the present state into a frame; waits for the device.

        Args:
            keep: Whether :meth:`arrays` holds it.
        """
        simulation = self._simulation
        state: Any = simulation.state
        kinetic, potential = self._energies.now()
        force, count, depth = self._contacts()
        velocity = state.velocity.numpy()
        frame: Frame = {
            "time": np.float64(simulation.time),
            "step": np.int64(simulation.step_count),
            "link_pose": self.links.spread(state.link_pose.numpy().reshape(-1, 7)),
            "link_velocity": self.links.spread(state.link_velocity.numpy().reshape(-1, 6)),
            "dof_position": self.dofs.spread(state.dof_position.numpy()),
            "dof_velocity": self.dofs.spread(velocity[self._dof_velocity]),
            "contact_force": self.links.spread(force),
            "contact_count": count,
            "penetration": depth,
            "kinetic_energy": kinetic,
            "potential_energy": potential,
        }
        if keep:
            self._frames.append(frame)
        return frame

    def _contacts(self) -> tuple[Array, Array, Array]:
        """Net force on each link, number of contacts and deepest penetration of each environment."""
        simulation = self._simulation
        contacts = simulation.contacts
        force = np.zeros((simulation.model.link_count, 3), np.float32)
        count = np.array(contacts.count.numpy())
        depth = np.zeros(len(count), np.float32)
        if len(self._slot_environment) != contacts.capacity:  # the buffers have grown
            self._slot_environment = np.array(contacts.environment.numpy())
        environment = self._slot_environment
        starts = contacts.slot_start.numpy()
        used = np.flatnonzero(np.arange(contacts.capacity) - starts[environment] < count[environment])
        if used.size:
            impulse = simulation.solver.contact_impulse.numpy()[used] / np.float32(simulation.time_step)
            for bodies, sign in ((contacts.body0, 1.0), (contacts.body1, -1.0)):
                body = bodies.numpy()[used]
                moving = body >= 0
                np.add.at(force, body[moving], np.float32(sign) * impulse[moving])
            gap = (contacts.separation.numpy() - contacts.rest_distance.numpy())[used]
            np.maximum.at(depth, environment[used], -gap)
        return force, count, depth

    def arrays(self) -> dict[str, Array]:
        """All frames, stacked along a first axis."""
        first = self._frames[0]
        return {name: np.stack([frame[name] for frame in self._frames]) for name in first}

    def description(self) -> dict[str, Array]:
        """What does not change: names, masses, units and origins."""
        simulation = self._simulation
        scene, plans = simulation.scene, simulation.directory.numbering.plans
        links, dofs = self.links.row.shape[1], self.dofs.row.shape[1]
        templates = len(scene.templates)
        link_path, dof_name, dof_path = (
            [[""] * count for _ in range(templates)] for count in (links, dofs, dofs)
        )
        rotational = np.zeros((templates, dofs), bool)
        mass = np.full((templates, links), np.nan)
        model: Any = simulation.model
        flat_mass = model.link_mass.numpy()
        for t, (template, plan) in enumerate(zip(scene.templates, plans, strict=True)):
            users = np.flatnonzero(scene.environments.template == t)
            count = len(plan.link_body)
            link_path[t][:count] = [plan.link_path(template, link) for link in range(count)]
            if users.size:
                mass[t, :count] = flat_mass[self.links.row[users[0], :count]]
            rows, end = plan.dof_axis_row, len(plan.dof_axis_row)
            dof_name[t][:end] = [template.axes.names[row] for row in rows]
            dof_path[t][:end] = [template.axes.path[row] for row in rows]
            rotational[t, :end] = template.axes.axis[rows] >= 3
        environments, settings = scene.environments, scene.settings
        return {
            "dt": np.float64(simulation.time_step),
            "environment_path": np.array(environments.path),
            "environment_origin": environments.origin,
            "environment_template": environments.template,
            "link_path": np.array(link_path, dtype=np.str_),
            "link_mass": mass,
            "dof_name": np.array(dof_name, dtype=np.str_),
            "dof_path": np.array(dof_path, dtype=np.str_),
            "dof_rotational": rotational,
            "gravity": np.array(settings.gravity),
            "meters_per_unit": np.float64(settings.meters_per_unit),
            "kilograms_per_unit": np.float64(settings.kilograms_per_unit),
        }
