"""Carrying state and what was set at run time from one simulation to the next."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_backend.rows import Rows
from tensorphys_engine import Simulation

__all__ = ["as_built", "carry_state", "is_same_layout", "particle_ranges", "patch_parameters"]

Kind = Literal["articulation", "link", "dof", "velocity", "shape", "joint"]

_STATE: dict[Kind, tuple[str, ...]] = {
    "articulation": (
        *(f"state.{name}" for name in ("root_pose", "root_velocity", "root_target", "root_aimed")),
        *(f"state.{name}" for name in ("root_remainder", "diverged", "root_synced", "fresh")),
    ),
    "link": (
        *(f"state.{name}" for name in ("link_pose", "link_velocity", "previous_force", "previous_torque")),
        *("control.link_force", "control.link_torque"),
    ),
    "dof": (
        *(f"state.{name}" for name in ("dof_position", "dof_saturation", "dof_limit_force")),
        *(f"state.{name}" for name in ("dof_friction_force", "dof_sliding", "previous_actuation")),
        *(f"control.{name}" for name in ("position_target", "velocity_target", "actuation")),
    ),
    "velocity": ("state.velocity", "state.half_kick", "state.velocity_change"),
    "joint": tuple(f"joints.{name}" for name in ("joint_broken", "joint_break_time", "joint_break_step")),
}
_SLEEP: dict[Kind, tuple[str, ...]] = {
    "articulation": tuple(
        f"sleep.{name}" for name in ("asleep", "wake_counter", "quiet_energy", "kept_support", "kept_gravity")
    ),
    "dof": tuple(
        f"sleep.{name}" for name in ("kept_position_target", "kept_velocity_target", "kept_actuation")
    ),
}
_PREFIXES: dict[str, Kind] = {"link_": "link", "dof_": "dof", "shape_": "shape", "joint_": "joint"}
_TARGETS = ("control.position_target", "control.velocity_target")
_NODES = ("position", "velocity", "positions", "velocities")
_GEOMETRY = ("shape_type", "shape_size", "shape_body", "shape_half", "local_pose")


def carry_state(
    old: Simulation,
    old_rows: Rows,
    baseline: Mapping[str, Any],
    new: Simulation,
    new_rows: Rows,
    *,
    moved: Collection[str] = (),
    keep_sleep: bool = True,
) -> None:
    """Give what is in both simulations the state that it had, and properties that were set at run time.

    Contact impulses are found anew.

    Args:
        old: Simulation that ends.
        old_rows: Names of its rows.
        baseline: Its parameters when it was built, by name.
        new: Simulation that follows, just built.
        new_rows: Names of its rows.
        moved: Names of articulations whose pose is that of the stage.
        keep_sleep: Whether what slept goes on sleeping; not where a support may be gone.
    """
    past, future = old.save_state(), new.save_state()
    names: dict[Kind, tuple[str, ...]] = dict(_STATE)
    if keep_sleep and old.sleep is not None and new.sleep is not None:
        names = {kind: (*names.get(kind, ()), *_SLEEP.get(kind, ())) for kind in names}
    for kind, arrays in names.items():
        there, here = _common(getattr(old_rows, kind), getattr(new_rows, kind))
        for name in arrays:
            stay = np.ones(len(here), bool)
            if name == "state.root_pose":
                stay = np.array([new_rows.articulation[row] not in moved for row in here], bool)
            _assign(future.state[name], past.state[name], here[stay], there[stay])
    fresh = future.state["state.fresh"].numpy()
    # The attitude of a ball joint is kept apart from its positions, and derived from them where the state is new.
    again = [new.model.ball_count > 0 or name in moved for name in new_rows.articulation]
    future.state["state.fresh"].assign(np.maximum(fresh, np.asarray(again, np.int32)))
    for name, array in past.parameters.items():
        found = next((kind for prefix, kind in _PREFIXES.items() if name.startswith(prefix)), None)
        if found is None or name not in future.parameters:
            continue
        there, here = _common(getattr(old_rows, found), getattr(new_rows, found))
        if len(array) != len(getattr(old_rows, found)):
            continue
        was, now = baseline[name].numpy(), array.numpy()
        changed = _differing(was, now)[there]
        _assign(future.parameters[name], array, here[changed], there[changed])
    if np.any(baseline["gravity"].numpy() != past.parameters["gravity"].numpy()):
        wp.copy(future.parameters["gravity"], past.parameters["gravity"])
    new.load_state(future)
    new.time, new.step_count = old.time, old.step_count
    _carry_particles(old, new)
    _carry_deformables(old, new)
    new.refresh()
    new.apply_disabled()


def as_built(simulation: Simulation) -> dict[str, Any]:
    """Parameters and targets of a simulation that was just built, by name."""
    saved = simulation.save_state()
    return dict(saved.parameters) | {name: saved.state[name] for name in _TARGETS}


def patch_parameters(live: Simulation, baseline: Mapping[str, Any], wanted: Simulation) -> dict[str, Any]:
    """Write parameters in which a new parse differs from the old one; what was set at run time stays otherwise.

    Args:
        live: Simulation that goes on.
        baseline: Parameters of the old parse.
        wanted: Simulation of the new parse, of the same layout.

    Returns:
        Parameters of the new parse, the next baseline.
    """
    saved, after = live.save_state(), as_built(wanted)
    live_arrays = dict(saved.parameters) | {name: saved.state[name] for name in _TARGETS}
    for name, array in live_arrays.items():
        was, now = baseline[name].numpy(), after[name].numpy()
        rows = (
            np.flatnonzero((was != now).reshape(len(now), -1).any(axis=1)) if len(now) else np.zeros(0, int)
        )
        _assign(array, after[name], rows, rows)
    live.load_state(saved)
    if live.particles is not None:
        live.particles.derive()
    live.wake_up()
    live.apply_disabled()
    return after


def is_same_layout(old: Simulation, old_rows: Rows, new: Simulation, new_rows: Rows) -> bool:
    """Whether two simulations have the same rows and geometry, so that they differ in parameters alone."""
    if old_rows != new_rows or (old.soft is None) != (new.soft is None):
        return False
    if old.soft is not None or not _same_particles(old, new):
        return False
    for name in _GEOMETRY:
        a, b = getattr(old.contact_model, name).numpy(), getattr(new.contact_model, name).numpy()
        if a.shape != b.shape or not np.array_equal(a, b):
            return False
    a, b = (simulation.save_state().parameters for simulation in (old, new))
    return all(name in b and b[name].shape == array.shape for name, array in a.items())


def _same_particles(old: Simulation, new: Simulation) -> bool:
    """Whether both have no particles, or cloths and sets of the same prims and springs."""
    if old.particles is None or new.particles is None:
        return old.particles is None and new.particles is None
    a, b = old.particles.plan, new.particles.plan
    if (a.cloth_paths, a.set_paths) != (b.cloth_paths, b.set_paths):
        return False
    springs = [
        [cloth.mesh.springs.indices for system in plan.systems for cloth in system.cloths] for plan in (a, b)
    ]
    return all(np.array_equal(first, second) for first, second in zip(*springs, strict=True))


def _common(
    old: tuple[str, ...], new: tuple[str, ...]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Rows in the old and in the new arrays of the names that are in both."""
    place = {name: row for row, name in enumerate(old)}
    pairs = [(place[name], row) for row, name in enumerate(new) if name in place]
    both = np.asarray(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _differing(was: npt.NDArray[Any], now: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Whether each row of two arrays differs."""
    differs = np.asarray(was != now)
    return np.asarray(differs.any(axis=tuple(range(1, differs.ndim))))


def _assign(target: Any, source: Any, here: Any, there: Any) -> None:
    """Write rows of one device array into rows of another, of the same kind."""
    if not len(here):
        return
    values = np.array(target.numpy())
    values[here] = source.numpy()[there]
    target.assign(values)


def _carry_particles(old: Simulation, new: Simulation) -> None:
    """Give cloths and sets of particles that are in both simulations their positions and velocities."""
    if old.particles is None or new.particles is None:
        return
    past, future = particle_ranges(old, sets=True), particle_ranges(new, sets=True)
    for name in ("positions", "velocities"):
        source = getattr(old.particles.state, name).numpy()
        target = getattr(new.particles.state, name)
        values = np.array(target.numpy())
        for path, place in future.items():
            before = past.get(path)
            if before is not None and len(before) == len(place):
                values[place.start : place.stop] = source[before.start : before.stop]
        target.assign(values)


def _carry_deformables(old: Simulation, new: Simulation) -> None:
    """Give deformables that are in both simulations, with as many nodes, their positions and velocities."""
    if old.soft is None or new.soft is None:
        return
    place = {path: body for body, path in enumerate(old.soft.paths)}
    for name in _NODES:
        source, target = getattr(old.soft.state, name).numpy(), getattr(new.soft.state, name)
        values = np.array(target.numpy())
        for body, path in enumerate(new.soft.paths):
            before = old.soft.nodes_of(place[path]) if path in place else slice(0, 0)
            nodes = new.soft.nodes_of(body)
            if before.stop - before.start == nodes.stop - nodes.start:
                values[nodes] = source[before]
        target.assign(values)
    new.soft.forget()


def particle_ranges(simulation: Simulation, *, sets: bool = False) -> dict[str, range]:
    """Particles of each cloth by its path.

    Args:
        simulation: The simulation.
        sets: Whether sets of particles are wanted as well.
    """
    particles = simulation.particles
    if particles is None:
        return {}
    plan, start = particles.plan, particles.model.set_start
    members = list(zip(plan.cloth_paths, plan.cloth_member, strict=True))
    if sets:
        members += zip(plan.set_paths, plan.set_member, strict=True)
    return {path: range(int(start[member]), int(start[member + 1])) for path, member in members}
