"""Sleep as a scene asks for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics import Control, Model, Sleep, State
from tensorphys_engine.findings import Findings
from tensorphys_engine.numbering import Numbering


def sleep_of_scene(
    numbering: Numbering,
    model: Model,
    state: State,
    control: Control,
    findings: Findings,
    wanted: bool | None,
    is_coupled: bool,
) -> tuple[Sleep | None, Any]:
    """Sleep of all articulations, None where nothing ever sleeps, and what begins asleep.

    Args:
        numbering: Flat numbers.
        model: Constants of the dynamics.
        state: State that is stepped.
        control: Inputs of a step.
        findings: Takes bodies that begin asleep where none may.
        wanted: Whether bodies may sleep; None for in one world alone, if the scene allows it.
        is_coupled: Whether there are deformables or particles: what they touch is none of the contacts that
            would wake a body.

    Returns:
        Sleep, and numbers of the articulations that begin asleep, int32 on the device.
    """
    scene = numbering.scene
    on = scene.settings.sleeping and scene.environments.count == 1 if wanted is None else wanted
    threshold, begins = _articulation_columns(numbering)
    if is_coupled or not on:
        if is_coupled and on and (threshold.any() or begins.any()):
            findings.note(scene.settings.path, "nothing sleeps beside deformables and particles")
        elif begins.any():
            why = "sleeping is off with several environments" if wanted is None else "sleeping is off"
            why = why if scene.settings.sleeping or wanted is not None else "the scene disables sleeping"
            _note_awake(numbering, findings, why)
        return None, None
    if wanted is None and not threshold.any() and not begins.any():
        return None, None
    sleep = Sleep(model, state, control, threshold)
    rows = np.flatnonzero(begins).astype(np.int32)
    return sleep, wp.array(rows, dtype=wp.int32, device=model.device)


def _articulation_columns(numbering: Numbering) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.bool_]]:
    """Threshold of each articulation, and whether it begins asleep: if all of its bodies do."""
    thresholds, begins = [], []
    for t, plan in enumerate(numbering.plans):
        own = numbering.columns(t, "articulations.sleep_threshold")
        body = numbering.columns(t, "bodies.sleep_threshold")
        asleep = numbering.columns(t, "bodies.starts_asleep")
        count = len(plan.articulation_row)
        members = max(len(own), len(body), len(asleep))
        threshold = np.zeros((members, count))
        asleep_all = np.zeros((members, count), bool)
        for a in range(count):
            links = plan.link_body[plan.link_articulation == a]
            bodies = links[links >= 0]
            row = plan.articulation_row[a]
            threshold[:, a] = body[:, bodies[0]] if row < 0 else own[:, row]
            asleep_all[:, a] = asleep[:, bodies].all(axis=1)
        thresholds.append(threshold)
        begins.append(asleep_all)
    layout = numbering.articulations
    return layout.fill(thresholds, np.float32), layout.fill(begins, bool)


def _note_awake(numbering: Numbering, findings: Findings, why: str) -> None:
    """Say of each body that is authored asleep that it starts awake."""
    scene = numbering.scene
    for index, template in enumerate(scene.templates):
        users = np.flatnonzero(scene.environments.template == index)
        if users.size:
            prefix = scene.environments.path[int(users[0])]
            for row in np.flatnonzero(template.bodies.starts_asleep):
                findings.note(prefix + template.bodies.path[row], f"{why}; the body starts awake")
