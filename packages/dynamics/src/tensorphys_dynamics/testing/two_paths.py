"""A step by two paths: random joints to compare them on, and how far they come apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics.solver import Solver

Array = npt.NDArray[Any]

TRUTH = ("root_pose", "velocity", "dof_position", "link_pose", "link_velocity")


def random_columns(rng: np.random.Generator, count: int) -> dict[str, Array]:
    """Drives of all kinds, some of them bounded, limits, springs, damping."""
    return {
        "lower": np.full(count, -1.0),
        "upper": np.full(count, 1.0),
        "drive_type": rng.integers(0, 3, count),
        "stiffness": rng.uniform(0.0, 100.0, count),
        "damping": rng.uniform(0.0, 10.0, count),
        "max_force": np.where(rng.random(count) < 0.5, 20.0, 3e38),
        "passive_stiffness": rng.choice([0.0, 5.0], count),
        "passive_damping": rng.choice([0.0, 0.5], count),
        "spring_reference": rng.normal(size=count) * 0.2,
        "max_velocity": np.where(rng.random(count) < 0.2, 2.0, 3e38),
    }


def rough_columns(rng: np.random.Generator, count: int) -> dict[str, Array]:
    """The same with friction of both models and performance envelopes."""
    static = np.where(rng.random(count) < 0.4, rng.uniform(0.0, 5.0, count), 0.0)
    return random_columns(rng, count) | {
        "static_friction": static,
        "dynamic_friction": static * rng.uniform(0.3, 1.0, count),
        "viscous_friction": np.where(rng.random(count) < 0.2, 0.5, 0.0),
        "friction_coefficient": np.where(rng.random(count) < 0.4, 0.1, 0.0),
        "envelope": rng.random(count) < 0.4,
        "speed_effort_gradient": rng.uniform(0.0, 0.2, count),
        "max_actuator_velocity": rng.uniform(0.5, 4.0, count),
        "velocity_resistance": rng.uniform(0.0, 2.0, count),
    }


def difference(a: Solver, b: Solver) -> float:
    """Largest normwise difference of the truth of two solvers."""
    worst = 0.0
    for name in TRUTH:
        x, y = (getattr(s.state, name).numpy().astype(float) for s in (a, b))
        if x.size:
            worst = max(worst, np.linalg.norm(x - y) / max(np.linalg.norm(x), 1e-3))
    return worst


def differences_of_single_steps(
    generic: Solver, other: Solver, steps: int, loads: list[int] | None = None
) -> list[float]:
    """Each step starts from the state of the generic path, warm starts and wrenches included; how many contacts bear
    load after each goes to `loads`."""
    result = []
    for step in range(steps):
        rng = np.random.default_rng(step)
        wrench = rng.normal(size=(2, generic.model.link_count, 3)).astype(np.float32)
        other.state.assign(generic.state)
        for name, array in other.warm_start().items():
            wp.copy(array, generic.warm_start()[name])
        for solver in (generic, other):
            solver.control.link_force.assign(wrench[0])
            solver.control.link_torque.assign(wrench[1] * 0.1)
            contacts: Any = solver.contacts
            if contacts is not None:
                contacts.collide(solver.state.link_pose)
            solver.step()
        result.append(difference(generic, other))
        if loads is not None:
            loads.append(int((other.contact_normal_impulse.numpy() > 0.0).sum()))
    return result
