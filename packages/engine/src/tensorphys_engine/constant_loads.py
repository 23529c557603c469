"""Constant loads on bodies, and external forces that bodies keep from one step to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics import Control, Model, State
from tensorphys_engine._kernels import constant_loads as kernels
from tensorphys_engine.layout import Array
from tensorphys_engine.numbering import Numbering

_VECTORS = ("position", "force", "torque")


@dataclass(frozen=True)
class SceneLoads:
    """Constant loads of a scene.

    Attributes:
        columns: Columns of ``BodyForces`` over all environments and the flat ``link``, sorted by link.
        keeping: Flat links of bodies that keep external forces.
    """

    columns: dict[str, Array]
    keeping: npt.NDArray[np.int32]


class ConstantLoads:
    """What acts on bodies in every step beside the forces of the user.

    Call `begin_step` before and `end_step` after the dynamics of a step.

    Args:
        loads: What `read_loads` found.
        model: Constants of the dynamics.
        state: State that is stepped.
        control: Inputs of a step, whose forces the dynamics clears.

    Attributes:
        launch_count: Kernel launches of a step.
    """

    def __init__(self, loads: SceneLoads, model: Model, state: State, control: Control) -> None:
        self._model, self._state, self._control = model, state, control
        device, columns = model.device, loads.columns
        links, start = np.unique(columns["link"], return_index=True)
        self._loaded = len(links)
        count = len(columns["force"])
        self._loads: list[Any] = [
            wp.array(links.astype(np.int32), dtype=wp.int32, device=device),
            wp.array(np.append(start, count).astype(np.int32), dtype=wp.int32, device=device),
        ]
        for name, dtype in (
            ("position", wp.vec3),
            ("rotation", wp.quat),
            ("force", wp.vec3),
            ("torque", wp.vec3),
            ("acceleration", wp.int32),
            ("world", wp.int32),
        ):
            host = columns[name].astype(np.int32 if dtype is wp.int32 else np.float32)
            self._loads.append(wp.array(host, dtype=dtype, device=device))
        self._keeping = len(loads.keeping)
        self._keeper = wp.array(loads.keeping, dtype=wp.int32, device=device)
        self._kept: list[Any] = [wp.zeros(self._keeping, dtype=wp.vec3, device=device) for _ in range(2)]
        self.launch_count = int(self._loaded > 0) + 2 * int(self._keeping > 0)

    def begin_step(self) -> None:
        """Add the loads to the forces of the user."""
        m, forces = self._model, [self._control.link_force, self._control.link_torque]
        if self._keeping:
            self._launch(kernels.keep_forces, self._keeping, [self._keeper, *forces], self._kept)
        if self._loaded:
            inputs = [*self._loads, self._state.link_pose, m.link_mass, m.link_com, m.link_inertia]
            self._launch(kernels.add_constant_loads, self._loaded, inputs, forces)

    def end_step(self) -> None:
        """Put the forces of the user back where they are kept."""
        if self._keeping:
            forces = [self._control.link_force, self._control.link_torque]
            self._launch(kernels.restore_forces, self._keeping, [self._keeper, *self._kept], forces)

    def _launch(self, kernel: Any, count: int, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(kernel, dim=count, inputs=inputs, outputs=outputs, device=self._model.device)


def read_loads(numbering: Numbering) -> SceneLoads:
    """Loads of a scene, and the bodies that keep external forces."""
    return SceneLoads(_load_columns(numbering), _keeping_links(numbering))


def _load_columns(numbering: Numbering) -> dict[str, Array]:
    """Loads of all environments that act on something that moves, sorted by link."""
    parts: dict[str, list[Array]] = {
        name: [] for name in ("link", "rotation", *_VECTORS, "acceleration", "world")
    }
    for t, plan in enumerate(numbering.plans):
        body = numbering.scene.templates[t].body_forces.body
        local = plan.body_link[body]
        read = {
            name: numbering.columns(t, f"body_forces.{name}")
            for name in ("enabled", "rotation", *_VECTORS, "acceleration", "world")
        }
        moved = np.flatnonzero((local >= 0) & ~plan.link_immovable[local])
        members = len(numbering.links.members(t))
        if not moved.size or not members:
            continue
        acts = np.broadcast_to(read.pop("enabled")[:, moved], (members, len(moved))).ravel().astype(bool)
        parts["link"].append(numbering.links_of(t, local[moved]).ravel()[acts])
        for name, values in read.items():
            chosen = values[:, moved]
            every = np.broadcast_to(chosen, (members, *chosen.shape[1:]))
            parts[name].append(every.reshape(members * len(moved), *chosen.shape[2:])[acts])
    shapes: dict[str, tuple[int, ...]] = {"rotation": (4,), **dict.fromkeys(_VECTORS, (3,))}
    empty = {name: np.zeros((0, *shapes.get(name, ()))) for name in parts}
    joined = {name: np.concatenate([empty[name], *values]) for name, values in parts.items()}
    order = np.argsort(joined["link"], kind="stable")
    return {name: values[order] for name, values in joined.items()}


def _keeping_links(numbering: Numbering) -> npt.NDArray[np.int32]:
    """Flat links of bodies that keep external forces."""
    keeps = numbering.fill(numbering.links, "bodies.retain_forces", "link_body", bool)
    based = numbering.links.fill([plan.link_body[None] < 0 for plan in numbering.plans], bool)
    return np.flatnonzero(keeps & ~based).astype(np.int32)
