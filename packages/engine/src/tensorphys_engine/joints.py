"""From the tables of joints, couplings and tendons to the joints of the dynamics, flat over all environments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tensorphys_dynamics import JointModel, Model
from tensorphys_engine.findings import Findings
from tensorphys_engine.gears import GearColumns, articulation_of_dof, first_path
from tensorphys_engine.layout import Array, IntArray, Layout
from tensorphys_engine.loose_joints import LooseJoints, read_loose_joints
from tensorphys_engine.numbering import Numbering
from tensorphys_spatial import transform_point

_TENDON = ("stiffness", "damping", "limit_stiffness", "offset", "dead_band", "hard_limits", "enabled")
_FIXED_TENDON = (*_TENDON, "lower", "upper", "rest_length", "max_force")


@dataclass(frozen=True)
class SceneJoints:
    """Joints beside the trees, couplings and tendons of a scene.

    Attributes:
        model: Rows of the solver.
        loose: Joints outside of trees.
        fixed_tendons, spatial_tendons: Where the simulated tendons of each environment stand.
        fixed_tendon_articulation, spatial_tendon_articulation: Flat articulation of each flat tendon.
        unstretched: Flat leaf attachments whose rest length is that at the start.
        attachment: Columns of the attachments of spatial tendons.
    """

    model: JointModel
    loose: LooseJoints
    fixed_tendons: Layout
    spatial_tendons: Layout
    fixed_tendon_articulation: IntArray
    spatial_tendon_articulation: IntArray
    unstretched: Array
    attachment: dict[str, Array]

    def rest_where_it_starts(self, link_pose: Array) -> None:
        """Give leaves without an authored rest length that which they have now.

        Args:
            link_pose: Poses of all links at the start, shape [links, 7].
        """
        if not self.unstretched.any():
            return
        a, parameters = self.attachment, self.model.parameter_arrays()
        point = transform_point(link_pose[a["link"]].astype(float), a["position"])
        parent = np.where(a["parent"] >= 0, a["parent"], np.arange(len(point)))
        length = a["gearing"] * np.linalg.norm(point - point[parent], axis=1)
        for row in np.flatnonzero(a["parent"] >= 0):
            length[row] += length[parent[row]]
        leaves = np.flatnonzero(a["leaf"])
        total = length[leaves] + parameters["spatial_tendon_offset"].numpy()[a["tendon"][leaves]]
        rest = np.where(self.unstretched[leaves], total, a["rest_length"][leaves])
        parameters["leaf_rest_length"].assign(rest.astype(np.float32))


def build_joints(numbering: Numbering, model: Model, dof_position: Array, findings: Findings) -> SceneJoints:
    """Joints beside the trees, couplings and tendons of a scene.

    Args:
        numbering: Flat numbers.
        model: Model of the trees.
        dof_position: Positions of all degrees of freedom at the start.
        findings: Takes what is left out.
    """
    loose = read_loose_joints(numbering, findings)
    dof_of_axis = tuple(_dof_of_axis(t, numbering) for t in range(len(numbering.plans)))
    gears = GearColumns(numbering, loose, dof_of_axis, dof_position, findings)
    mimic = _mimic_columns(numbering, dof_of_axis, findings)
    coupled = gears.mimics
    if len(coupled["dof"]):
        mimic = {name: np.concatenate((values, coupled[name])) for name, values in mimic.items()}
        dof_environment = numbering.dofs.environment
        order = np.argsort(dof_environment[mimic["dof"]], kind="stable")
        mimic = {name: values[order] for name, values in mimic.items()}
    fixed_rows = tuple(
        _fixed_tendon_rows(numbering, t, dof_of_axis[t], findings) for t in range(len(dof_of_axis))
    )
    fixed_layout = _layout(numbering, fixed_rows)
    spatial_rows = tuple(_spatial_tendon_rows(numbering, t, findings) for t in range(len(dof_of_axis)))
    spatial_layout = _layout(numbering, spatial_rows)
    attachment = _attachment_columns(numbering, spatial_rows, spatial_layout)
    unstretched = np.isnan(attachment["rest_length"])
    attachment["rest_length"] = np.where(unstretched, 0.0, attachment["rest_length"])
    joints = JointModel(
        model,
        joint=loose.columns,
        mimic=mimic,
        gear=gears.gears,
        fixed_tendon=_tendon_columns(numbering, "fixed_tendons", fixed_rows, fixed_layout, _FIXED_TENDON),
        fixed_tendon_axis=_tendon_axes(numbering, fixed_rows, fixed_layout, dof_of_axis),
        spatial_tendon=_tendon_columns(numbering, "spatial_tendons", spatial_rows, spatial_layout, _TENDON),
        attachment=attachment,
    )
    return SceneJoints(
        model=joints,
        loose=loose,
        fixed_tendons=fixed_layout,
        spatial_tendons=spatial_layout,
        fixed_tendon_articulation=fixed_layout.fill(
            [
                _articulation_of_fixed(numbering, t, rows, dof_of_axis[t]) + numbering.articulations.first(t)
                for t, rows in enumerate(fixed_rows)
            ],
            np.int32,
        ),
        spatial_tendon_articulation=spatial_layout.fill(
            [
                _articulation_of_spatial(numbering, t, rows) + numbering.articulations.first(t)
                for t, rows in enumerate(spatial_rows)
            ],
            np.int32,
        ),
        unstretched=unstretched,
        attachment=attachment,
    )


def _dof_of_axis(template: int, numbering: Numbering) -> IntArray:
    """Local degree of freedom of each row in ``axes``, −1 outside of trees."""
    plan = numbering.plans[template]
    result = np.full(numbering.scene.templates[template].axes.count, -1, np.int32)
    result[plan.dof_axis_row] = np.arange(len(plan.dof_axis_row))
    return result


def _layout(numbering: Numbering, rows: tuple[IntArray, ...]) -> Layout:
    return Layout(numbering.scene.environments.template, [len(r) for r in rows])


def _mimic_columns(
    numbering: Numbering, dof_of_axis: tuple[IntArray, ...], findings: Findings
) -> dict[str, Array]:
    rows = []
    for t, template in enumerate(numbering.scene.templates):
        table, prefix = template.mimic_joints, first_path(numbering, t)
        own, other = dof_of_axis[t][table.axis], dof_of_axis[t][table.reference]
        fits = (own >= 0) & (other >= 0)
        fits &= articulation_of_dof(numbering, t, own) == articulation_of_dof(numbering, t, other)
        for row in np.flatnonzero(~fits):
            findings.omit(
                "mimic joints between joints of no common articulation, left out",
                prefix + table.path[row],
                "a mimic joint couples degrees of freedom of one articulation; left out",
            )
        rows.append(np.flatnonzero(fits).astype(np.int32))
    layout = _layout(numbering, tuple(rows))
    dofs = numbering.dofs
    columns: dict[str, Array] = {}
    for name, source in (("dof", "axis"), ("reference", "reference")):
        parts = [
            dof_of_axis[t][getattr(template.mimic_joints, source)[rows[t]]] + dofs.first(t)
            for t, template in enumerate(numbering.scene.templates)
        ]
        columns[name] = layout.fill(parts, np.int64)
    for name in ("gearing", "offset", "natural_frequency", "damping_ratio", "enabled"):
        parts = [numbering.columns(t, f"mimic_joints.{name}")[:, rows[t]] for t in range(len(rows))]
        columns[name] = layout.fill(parts, np.float64)
    return columns


def _fixed_tendon_rows(
    numbering: Numbering, template: int, dof_of_axis: IntArray, findings: Findings
) -> IntArray:
    """Rows of fixed tendons over degrees of freedom of one articulation."""
    tables = numbering.scene.templates[template]
    axes, tendons = tables.fixed_tendon_axes, tables.fixed_tendons
    dof = dof_of_axis[axes.axis]
    articulation = articulation_of_dof(numbering, template, dof)
    rows = []
    for row in range(tendons.count):
        own = axes.tendon == row
        if own.any() and (dof[own] >= 0).all() and len(set(articulation[own])) == 1:
            rows.append(row)
        else:
            findings.omit(
                "fixed tendons over no common articulation, left out",
                first_path(numbering, template) + tendons.path[row],
                "a fixed tendon runs over degrees of freedom of one articulation; left out",
            )
    return np.array(rows, np.int32)


def _articulation_of_fixed(
    numbering: Numbering, template: int, rows: IntArray, dof_of_axis: IntArray
) -> IntArray:
    axes = numbering.scene.templates[template].fixed_tendon_axes
    first = np.array([int(np.argmax(axes.tendon == row)) for row in rows], np.int64)
    dof = dof_of_axis[axes.axis[first]] if len(rows) else np.zeros(0, np.int32)
    return articulation_of_dof(numbering, template, dof).astype(np.int32)


def _articulation_of_spatial(numbering: Numbering, template: int, rows: IntArray) -> IntArray:
    table, plan = numbering.scene.templates[template].tendon_attachments, numbering.plans[template]
    first = np.array([int(np.argmax(table.tendon == row)) for row in rows], np.int64)
    link = plan.body_link[table.body[first]] if len(rows) else np.zeros(0, np.int32)
    return np.asarray(plan.link_articulation[link], np.int32)


def _spatial_tendon_rows(numbering: Numbering, template: int, findings: Findings) -> IntArray:
    """Rows of spatial tendons over simulated bodies."""
    tables = numbering.scene.templates[template]
    table, tendons, plan = tables.tendon_attachments, tables.spatial_tendons, numbering.plans[template]
    rows = []
    for row in range(tendons.count):
        own = table.tendon == row
        if (plan.body_link[table.body[own]] >= 0).all() and table.leaf[own].any():
            rows.append(row)
        else:
            findings.omit(
                "spatial tendons over no simulated bodies, left out",
                first_path(numbering, template) + tendons.path[row],
                "a spatial tendon runs from a root to leaves on simulated bodies; left out",
            )
    return np.array(rows, np.int32)


def _tendon_columns(
    numbering: Numbering, table: str, rows: tuple[IntArray, ...], layout: Layout, names: tuple[str, ...]
) -> dict[str, Array]:
    return {
        name: layout.fill(
            [numbering.columns(t, f"{table}.{name}")[:, r] for t, r in enumerate(rows)], np.float64
        )
        for name in names
    }


def _members(table_tendon: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Rows of a table that belong to the chosen tendons, by tendon, and the place of their tendon among these."""
    place = np.full(int(table_tendon.max(initial=-1)) + 1, -1)
    place[rows] = np.arange(len(rows))
    chosen = np.flatnonzero(place[table_tendon] >= 0)
    chosen = chosen[np.argsort(place[table_tendon[chosen]], kind="stable")]
    return chosen.astype(np.int32), place[table_tendon[chosen]].astype(np.int32)


def _tendon_axes(
    numbering: Numbering, rows: tuple[IntArray, ...], tendons: Layout, dof_of_axis: tuple[IntArray, ...]
) -> dict[str, Array]:
    templates = numbering.scene.templates
    chosen = [_members(template.fixed_tendon_axes.tendon, rows[t]) for t, template in enumerate(templates)]
    layout = _layout(numbering, tuple(c[0] for c in chosen))
    dof = [
        dof_of_axis[t][template.fixed_tendon_axes.axis[chosen[t][0]]] + numbering.dofs.first(t)
        for t, template in enumerate(templates)
    ]
    columns = {
        "tendon": layout.fill([c[1] + tendons.first(t) for t, c in enumerate(chosen)], np.int64),
        "dof": layout.fill(dof, np.int64),
    }
    for name in ("gearing", "force_coefficient"):
        parts = [numbering.columns(t, f"fixed_tendon_axes.{name}")[:, c[0]] for t, c in enumerate(chosen)]
        columns[name] = layout.fill(parts, np.float64)
    return columns


def _attachment_columns(
    numbering: Numbering, rows: tuple[IntArray, ...], tendons: Layout
) -> dict[str, Array]:
    templates = numbering.scene.templates
    chosen = [_members(template.tendon_attachments.tendon, rows[t]) for t, template in enumerate(templates)]
    layout = _layout(numbering, tuple(c[0] for c in chosen))
    links, parents = [], []
    for t, template in enumerate(templates):
        table, picked = template.tendon_attachments, chosen[t][0]
        links.append(numbering.plans[t].body_link[table.body[picked]] + numbering.links.first(t))
        place = np.full(table.count + 1, -1)
        place[picked] = np.arange(len(picked))
        local = place[table.parent[picked]]
        parents.append(np.where(local >= 0, local + layout.first(t), -1))
    columns = {
        "tendon": layout.fill([c[1] + tendons.first(t) for t, c in enumerate(chosen)], np.int64),
        "link": layout.fill(links, np.int64),
        "parent": layout.fill(parents, np.int64),
    }
    for name, shape in (
        ("position", (3,)),
        *((n, ()) for n in ("gearing", "leaf", "rest_length", "lower", "upper")),
    ):
        parts = [numbering.columns(t, f"tendon_attachments.{name}")[:, c[0]] for t, c in enumerate(chosen)]
        columns[name] = layout.fill(parts, np.float64, shape)
    columns["leaf"] = columns["leaf"].astype(np.int64)
    return columns
