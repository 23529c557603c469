"""Continuous collision detection of the bodies that ask for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

import tensorphys_contact
import tensorphys_dynamics
from tensorphys_engine._kernels import way
from tensorphys_engine.findings import Findings
from tensorphys_engine.hulls import contact_types
from tensorphys_engine.numbering import Numbering
from tensorphys_scene import ShapeType

_SAMPLED = (ShapeType.SDF, ShapeType.SPHERES)


@dataclass
class ContinuousCollision:
    """What a step does for bodies that ask for continuous collision detection; see :func:`continuous_collision`.

    Before the contacts of a step are found, :meth:`expect` writes the motion that bodies will make if nothing stops them. After it,
    :meth:`hold` takes back what bodies without joints moved through a surface all the same, such as in a second
    impact of one step.

    Attributes:
        swept: Pairs that are swept.
    """

    swept: tensorphys_contact.SweptPairs
    _contact_model: tensorphys_contact.Model
    _model: tensorphys_dynamics.Model
    _state: tensorphys_dynamics.State
    _time_step: Any
    _free_articulation: Any
    _link_environment: Any
    _start_pose: Any

    @property
    def launch_count(self) -> int:
        """Kernel launches of a step."""
        return 3 + 3 * len(self.swept.family_pairs)

    def expect(self) -> None:
        """Write the motion that the bodies set out on."""
        state = self._state
        wp.copy(self._start_pose, state.link_pose)
        self._launch(
            way.expected_motion,
            [
                self._free_articulation,
                self._model.link_gravity,
                self._link_environment,
                self._model.gravity,
                state.link_velocity,
                self._time_step,
            ],
            [self.swept.body_motion],
        )

    def hold(self, contacts: tensorphys_contact.Contacts) -> None:
        """Keep bodies on the side of a surface that they were on."""
        com, state, motion = self._model.link_com, self._state, self.swept.body_motion
        made = [com, self._start_pose, state.link_pose, state.link_velocity, self._time_step]
        self._launch(way.made_motion, made, [motion])
        tensorphys_contact.hold_swept(self._contact_model, self.swept, self._start_pose, contacts)
        inputs = [self._free_articulation, com, self._start_pose, motion, self.swept.body_time]
        self._launch(way.hold_bodies, inputs, [state.link_pose, state.root_pose])

    def _launch(self, kernel: Any, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(
            kernel, dim=self._model.link_count, inputs=inputs, outputs=outputs, device=self._model.device
        )


def note_continuous(numbering: Numbering, findings: Findings) -> None:
    """Say where continuous collision detection is asked for and not, or not wholly, given."""
    scene = numbering.scene
    shared = contact_types(scene.shared.shapes.type[numbering.shared_shape_row])
    for t, (tables, plan) in enumerate(zip(scene.templates, numbering.plans, strict=True)):
        users = numbering.links.members(t)
        asking = np.flatnonzero(tables.bodies.ccd[np.maximum(plan.link_body, 0)] & (plan.link_body >= 0))
        if not users.size or not asking.size:
            continue
        kinds = np.concatenate((contact_types(tables.shapes.type[plan.shape_row]), shared))
        counts = np.bincount(plan.link_articulation, minlength=1)[plan.link_articulation]
        for link in asking.tolist():
            path = scene.environments.path[int(users[0])] + plan.link_path(tables, link)
            if not scene.settings.ccd:
                findings.note(
                    path,
                    "continuous collision detection is asked for by the body but not by the scene; contacts look "
                    "ahead by one step",
                )
                continue
            if np.isin(kinds, _SAMPLED).any():
                findings.note(
                    path,
                    "pairs with signed distance fields or sets of spheres have no continuous collision detection; "
                    "their contacts look ahead by one step",
                )
            if counts[link] > 1:
                findings.note(
                    path,
                    "a link of an articulation is stopped at its first touch of a step; after a second one in the "
                    "same step it is not held back",
                )


def continuous_links(numbering: Numbering) -> npt.NDArray[np.bool_]:
    """Links whose bodies and scene both ask for continuous collision detection, shape [links]."""
    asked = numbering.fill(numbering.links, "bodies.ccd", "link_body", bool)
    return np.asarray(asked & numbering.scene.settings.ccd)


def free_articulations(numbering: Numbering) -> npt.NDArray[np.int32]:
    """Articulation of each link that is a body without joints and moves, else −1, shape [links]."""
    kinds = numbering.types
    is_free = np.array([t.root_count > 0 and t.link_count == 1 for t in kinds], bool)[
        numbering.articulation_type
    ]
    counts = np.array([t.link_count for t in kinds], np.int64)[numbering.articulation_type]
    return np.repeat(np.where(is_free, np.arange(len(counts)), -1), counts).astype(np.int32)


def continuous_collision(
    links: npt.NDArray[np.bool_],
    free: npt.NDArray[np.int32],
    environment: npt.NDArray[np.int32],
    *,
    model: tensorphys_dynamics.Model,
    contact_model: tensorphys_contact.Model,
    contact_offset: Any,
    state: tensorphys_dynamics.State,
    time_step: Any,
) -> ContinuousCollision | None:
    """What a step has to do for some links, or None where there is nothing to sweep.

    Args:
        links: Whether each link asks, shape [links].
        free: See :func:`free_articulations`.
        environment: Environment of each link, shape [links].
        model: Constants of the dynamics.
        contact_model: Shapes and pairs, as large as they are now.
        contact_offset: Contact offset that each shape was given.
        state: State of the dynamics.
        time_step: Length of a step on the device.
    """
    if not links.any():
        return None
    swept = tensorphys_contact.create_swept_pairs(
        contact_model, body_swept=links, body_com=model.link_com, offset=contact_offset
    )
    if not swept.family_pairs:
        return None
    device = model.device
    return ContinuousCollision(
        swept=swept,
        _contact_model=contact_model,
        _model=model,
        _state=state,
        _time_step=time_step,
        _free_articulation=wp.array(free, dtype=wp.int32, device=device),
        _link_environment=wp.array(environment, dtype=wp.int32, device=device),
        _start_pose=wp.clone(state.link_pose),
    )
