"""Gear and rack joints: what couples the displacements of two others."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorphys_engine.findings import Findings
from tensorphys_engine.layout import Array, IntArray
from tensorphys_engine.loose_joints import LooseJoints, displacements
from tensorphys_engine.numbering import Numbering
from tensorphys_scene import JointType, Template


def first_path(numbering: Numbering, template: int) -> str:
    """Path of the first environment of a template, for messages."""
    users = numbering.links.members(template)
    return numbering.scene.environments.path[int(users[0])] if users.size else ""


def articulation_of_dof(numbering: Numbering, template: int, dof: Array) -> Array:
    """Local articulation of local degrees of freedom."""
    start = numbering.plans[template].articulation_dof_start
    return np.searchsorted(start, dof, side="right") - 1


class GearColumns:
    """Gear and rack joints: mimic joints where both hinges are in one tree, gears where both are outside.

    Attributes:
        mimics, gears: Columns for `tensorphys_dynamics.JointModel`.
    """

    def __init__(
        self,
        numbering: Numbering,
        loose: LooseJoints,
        dof_of_axis: tuple[IntArray, ...],
        dof_position: Array,
        findings: Findings,
    ) -> None:
        self._numbering, self._loose, self._findings = numbering, loose, findings
        self._dof_of_axis, self._position = dof_of_axis, dof_position
        names = ("dof", "reference", "gearing", "offset", "natural_frequency", "damping_ratio", "enabled")
        mimics: dict[str, list[Array]] = {name: [] for name in names}
        gears: dict[str, list[Array]] = {
            name: [] for name in ("joint0", "joint1", "axis0", "axis1", "factor0", "factor1", "offset")
        }
        has_gears = any(template.joint_couplings.count for template in numbering.scene.templates)
        self._displacement = displacements(numbering, loose) if has_gears else np.zeros((0, 6))
        for t, template in enumerate(numbering.scene.templates):
            for row in range(template.joint_couplings.count):
                self._add(t, template, row, mimics, gears)
        self.mimics = {name: np.concatenate([*parts, np.zeros(0)]) for name, parts in mimics.items()}
        self.gears = {name: np.concatenate([*parts, np.zeros(0)]) for name, parts in gears.items()}
        for table, key in (
            (self.mimics, ("dof", "reference")),
            (self.gears, ("joint0", "joint1", "axis0", "axis1")),
        ):
            for name in key:
                table[name] = table[name].astype(np.int64)
        order = np.argsort(self.gears["joint0"], kind="stable")
        self.gears = {name: values[order] for name, values in self.gears.items()}

    def _add(
        self,
        t: int,
        template: Template,
        row: int,
        mimics: dict[str, list[Array]],
        gears: dict[str, list[Array]],
    ) -> None:
        table, joints = template.joint_couplings, template.joints
        own = int(table.joint[row])
        hinges = [int(table.joint0[row]), int(table.joint1[row])]
        if not joints.enabled[own]:
            return
        axis_rows = [np.flatnonzero(template.axes.joint == hinge) for hinge in hinges]
        if min(hinges) < 0 or any(len(rows) != 1 for rows in axis_rows):
            self._leave_out(t, table.path[row], "it couples no two joints with one axis each")
            return
        first, second = (int(rows[0]) for rows in axis_rows)
        ratio = self._numbering.columns(t, "joint_couplings.ratio")[:, row]
        rack = int(joints.type[own]) == JointType.RACK_AND_PINION
        bodies = (int(joints.body0[own]), int(joints.body1[own]))
        signs = [-1.0 if int(joints.body0[h]) == b >= 0 else 1.0 for h, b in zip(hinges, bodies, strict=True)]
        # gear: ratio · angle 0 + angle 1; rack: angle − ratio · displacement
        one = np.ones_like(ratio)
        sizes = (signs[0] * one, -ratio * signs[1]) if rack else (ratio * signs[0], signs[1] * one)
        dofs = [int(self._dof_of_axis[t][axis]) for axis in (first, second)]
        places = [np.flatnonzero(self._loose.rows[t] == hinge) for hinge in hinges]
        members = self._numbering.links.members(t)
        shape = (len(members),)
        factors = [np.broadcast_to(size, shape) for size in sizes]
        if min(dofs) >= 0 and len(set(articulation_of_dof(self._numbering, t, np.array(dofs)))) == 1:
            flat = [dof + self._numbering.dofs.first(t)[:, 0] for dof in dofs]
            gearing = factors[1] / factors[0]
            start = [self._position[f] for f in flat]
            values: tuple[Any, ...] = (
                flat[0],
                flat[1],
                gearing,
                -start[0] - gearing * start[1],
                0.0,
                0.0,
                1.0,
            )
            for name, value in zip(mimics, values, strict=True):
                mimics[name].append(np.broadcast_to(value, shape))
        elif all(len(place) for place in places):
            flat = [int(p[0]) + self._loose.layout.first(t)[:, 0] for p in places]
            axes = [int(template.axes.axis[axis]) for axis in (first, second)]
            start = [self._displacement[f, axis] for f, axis in zip(flat, axes, strict=True)]
            offset = -factors[0] * start[0] - factors[1] * start[1]
            coupled: tuple[Any, ...] = (*flat, *axes, *factors, offset)
            for name, value in zip(gears, coupled, strict=True):
                gears[name].append(np.broadcast_to(value, shape))
        else:
            self._leave_out(
                t, table.path[row], "one of its joints is in an articulation and the other is not"
            )

    def _leave_out(self, template: int, path: str, why: str) -> None:
        self._findings.omit(
            "gear and rack joints, left out",
            first_path(self._numbering, template) + path,
            f"this gear or rack joint is left out: {why}",
        )
