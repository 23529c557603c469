"""Free rigid bodies as a model, and the kinetic and potential energy of all links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_dynamics.model import Model, build_model
from tensorphys_dynamics.state import Control, State
from tensorphys_dynamics.topology import ArticulationType
from tensorphys_spatial import quaternion_rotate

Array = npt.NDArray[np.float64]


def bodies_model(
    mass: npt.ArrayLike,
    inertia: npt.ArrayLike,
    device: str,
    *,
    copies: int = 1,
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    **link: Any,
) -> tuple[Model, State, Control]:
    """Free bodies, all in one environment, in each of several environments.

    Args:
        mass: Masses [kg], shape [bodies].
        inertia: Inertias about the centres of mass [kg m²], shape [bodies, 3, 3].
        device: Device.
        copies: Number of environments.
        gravity: Gravity [m/s²].
        **link: Further columns of the links, one environment.
    """
    none = np.zeros(0, np.int32)
    kind = ArticulationType(False, np.array([-1], np.int32), none, np.zeros(0, bool))
    columns = {"mass": mass, "inertia": inertia, **link}
    count = len(np.asarray(mass))
    model = build_model(
        types=[kind],
        articulation_type=np.zeros(count * copies),
        articulation_environment=np.repeat(np.arange(copies), count),
        environment_count=copies,
        link={name: np.concatenate([np.asarray(values)] * copies) for name, values in columns.items()},
        dof={},
        gravity=gravity,
        device=device,
    )
    return model, State(model), Control(model)


def link_energy(model: Model, state: State) -> tuple[float, float]:
    """Kinetic energy and potential energy in the gravity of environment 0 [J]."""
    (kinetic,), (potential,) = link_energies(model, [(state.link_pose.numpy(), state.link_velocity.numpy())])
    return float(kinetic), float(potential)


def link_energies(model: Model, rows: Sequence[tuple[npt.NDArray[Any], ...]]) -> tuple[Array, Array]:
    """The same at several states.

    Args:
        model: Constants.
        rows: Poses and velocities of all links at each of the states.

    Returns:
        Kinetic and potential energies [J], each of shape [states].
    """
    mass, com = model.link_mass.numpy().astype(float), model.link_com.numpy().astype(float)
    inertia, gravity = model.link_inertia.numpy().astype(float), model.gravity.numpy()[0].astype(float)
    kinetic, potential = np.zeros(len(rows)), np.zeros(len(rows))
    for number, row in enumerate(rows):
        pose, velocity = row[0].astype(float), row[1].astype(float)
        centre = pose[:, :3] + quaternion_rotate(pose[:, 3:], com)
        spin = quaternion_rotate(pose[:, 3:] * [-1, -1, -1, 1], velocity[:, 3:])
        turning = np.einsum("li,lij,lj->", spin, inertia, spin)
        kinetic[number] = 0.5 * (mass * (velocity[:, :3] ** 2).sum(axis=1)).sum() + 0.5 * turning
        potential[number] = -(mass[:, None] * centre).sum(axis=0) @ gravity
    return kinetic, potential
