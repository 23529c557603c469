"""Which joints stay outside of articulation trees, and the columns that make them rows of the solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tensorphys_engine.findings import Findings
from tensorphys_engine.layout import Array, IntArray, Layout
from tensorphys_engine.numbering import Numbering
from tensorphys_engine.template_plan import TemplatePlan
from tensorphys_scene import JointType, Template
from tensorphys_spatial import quaternion_normalize, transform_inverse, transform_multiply

_COUPLINGS = (int(JointType.GEAR), int(JointType.RACK_AND_PINION))
# Columns of an axis that only trees have.
_TREE_ONLY = ("armature", "static_friction", "dynamic_friction", "viscous_friction", "passive_stiffness")
_AXIS_COLUMNS: dict[str, float] = {
    "lower": -np.inf,
    "upper": np.inf,
    "limit_stiffness": 0.0,
    "limit_damping": 0.0,
    "drive_type": 0.0,
    "stiffness": 0.0,
    "damping": 0.0,
    "max_force": np.inf,
}
_JOINT_COLUMNS = ("distance_stiffness", "distance_damping", "break_force", "break_torque")


def loose_rows(template: Template, plan: TemplatePlan) -> IntArray:
    """Rows in ``joints`` of what joins two bodies, or a body and the world, outside of the trees."""
    joints = template.joints
    links = [_links(plan, body) for body in (joints.body0, joints.body1)]
    moves = np.zeros(joints.count, bool)
    for link in links:
        moves |= (link >= 0) & ~np.append(plan.link_immovable, True)[link]
    chosen = joints.enabled & (plan.joint_link < 0) & moves & ~np.isin(joints.type, _COUPLINGS)
    return np.flatnonzero(chosen).astype(np.int32)


def _links(plan: TemplatePlan, body: IntArray) -> IntArray:
    """Local link of bodies, −1 for the world and for disabled ones."""
    return np.asarray(np.append(plan.body_link, -1)[body], np.int32)


@dataclass(frozen=True)
class LooseJoints:
    """Joints outside of trees, in all environments.

    Attributes:
        rows: Rows in ``joints`` of each template.
        layout: Where they stand in the flat order.
        columns: Columns for `tensorphys_dynamics.JointModel`.
    """

    rows: tuple[IntArray, ...]
    layout: Layout
    columns: dict[str, Array]


def read_loose_joints(numbering: Numbering, findings: Findings) -> LooseJoints:
    """Columns of all joints outside of trees.

    Args:
        numbering: Flat numbers.
        findings: Takes what such a joint does not have.
    """
    rows = tuple(
        loose_rows(template, plan)
        for template, plan in zip(numbering.scene.templates, numbering.plans, strict=True)
    )
    layout = Layout(numbering.scene.environments.template, [len(r) for r in rows])
    columns: dict[str, Array] = {}
    for end in ("0", "1"):
        parts = [
            numbering.links_of(t, _links(plan, _bodies(numbering, t, end)[rows[t]]))
            for t, plan in enumerate(numbering.plans)
        ]
        columns[f"link{end}"] = layout.fill(parts, np.int32)
        frames = [_frames(numbering, t, rows[t], end) for t in range(len(rows))]
        columns[f"frame{end}"] = layout.fill(frames, np.float64, (7,))
    axes = [_axis_columns(numbering, t, rows[t]) for t in range(len(rows))]
    for name in (*_AXIS_COLUMNS, "locked", "position_target", "velocity_target"):
        columns[name] = layout.fill([part[name] for part in axes], np.float64, (6,))
    for name in _JOINT_COLUMNS:
        parts = [numbering.columns(t, f"joints.{name}")[:, rows[t]] for t in range(len(rows))]
        columns[name] = layout.fill(parts, np.float64)
    for name, none in (("min_distance", -np.inf), ("max_distance", np.inf)):
        parts = [numbering.columns(t, f"joints.{name}")[:, rows[t]] for t in range(len(rows))]
        values = layout.fill(parts, np.float64)
        columns[name] = np.where(np.isnan(values), none, values)
    cones = [
        numbering.scene.templates[t].joints.type[rows[t]] == JointType.SPHERICAL for t in range(len(rows))
    ]
    columns["cone"] = layout.fill([c[None] for c in cones], np.int32)
    for t, chosen in enumerate(rows):
        _note_tree_only(numbering, t, chosen, findings)
    loose = LooseJoints(rows, layout, columns)
    _note_states(numbering, loose, findings)
    return loose


def _bodies(numbering: Numbering, template: int, end: str) -> IntArray:
    joints = numbering.scene.templates[template].joints
    return joints.body0 if end == "0" else joints.body1


def _frames(numbering: Numbering, template: int, rows: IntArray, end: str) -> Array:
    """Frames in their links; those in disabled bodies, which never move, in the environment."""
    frame = _unit(numbering.columns(template, f"joints.frame{end}")[:, rows])
    body = _bodies(numbering, template, end)[rows]
    still = (body >= 0) & (_links(numbering.plans[template], body) < 0)
    if still.any():
        pose = _unit(numbering.columns(template, "bodies.pose")[:, body])
        frame, pose = np.broadcast_arrays(frame, pose)
        placed = transform_multiply(pose.reshape(-1, 7), frame.reshape(-1, 7)).reshape(frame.shape)
        frame = np.where(still[:, None], placed, frame)
    return frame


def _axis_columns(numbering: Numbering, template: int, rows: IntArray) -> dict[str, Array]:
    """Columns by axis, shape [1 or members, rows, 6]; axes without a row are locked, save where all are free."""
    tables = numbering.scene.templates[template]
    place = np.full(tables.joints.count, -1)
    place[rows] = np.arange(len(rows))
    axis_rows = np.flatnonzero(place[tables.axes.joint] >= 0)
    joint, axis = place[tables.axes.joint[axis_rows]], tables.axes.axis[axis_rows]
    locked = np.ones((len(rows), 6))
    locked[joint, axis] = 0.0
    locked[tables.joints.type[rows] == JointType.DISTANCE] = 0.0
    result: dict[str, Array] = {}
    sources = {name: name for name in _AXIS_COLUMNS}
    sources |= {"position_target": "target_position", "velocity_target": "target_velocity"}
    for name, source in sources.items():
        values = numbering.columns(template, f"axes.{source}")[:, axis_rows]
        column = np.full((len(values), len(rows), 6), _AXIS_COLUMNS.get(name, 0.0))
        column[:, joint, axis] = values
        result[name] = column
    # a limit without room is a lock, if it is at zero
    pinned = ((result["lower"] == 0.0) & (result["upper"] == 0.0)).all(axis=0)
    result["locked"] = np.maximum(locked, pinned)[None]
    return result


def _note_tree_only(numbering: Numbering, template: int, rows: IntArray, findings: Findings) -> None:
    tables = numbering.scene.templates[template]
    users = numbering.links.members(template)
    if not users.size:
        return
    prefix = numbering.scene.environments.path[int(users[0])]
    for row in np.flatnonzero(np.isin(tables.axes.joint, rows)):
        used = [name for name in _TREE_ONLY if getattr(tables.axes, name)[row] != 0.0]
        if used:
            names = ", ".join(name.replace("_", " ") for name in used)
            findings.note(
                prefix + tables.axes.path[row], f"a joint outside of an articulation has no {names}; left out"
            )


# Authored positions of joints are those of their bodies to this [stage length or rad].
_ROUNDING = 1e-3


def _note_states(numbering: Numbering, loose: LooseJoints, findings: Findings) -> None:
    """Note initial states of joints that are not those of their bodies, which count."""
    shifts: Array | None = None
    for t, rows in enumerate(loose.rows):
        tables, users = numbering.scene.templates[t], numbering.links.members(t)
        axes = np.flatnonzero(np.isin(tables.axes.joint, rows))
        axes = axes[(tables.axes.position[axes] != 0.0) | (tables.axes.velocity[axes] != 0.0)]
        if not users.size or not axes.size:
            continue
        if shifts is None:
            shifts = displacements(numbering, loose)
        first = loose.layout.first(t)[0, 0]
        for row in axes:
            at = first + int(np.searchsorted(rows, tables.axes.joint[row]))
            stands = shifts[at, tables.axes.axis[row]]
            if tables.axes.velocity[row] != 0.0 or abs(tables.axes.position[row] - stands) > _ROUNDING:
                findings.note(
                    numbering.scene.environments.path[int(users[0])] + tables.axes.path[row],
                    "the initial state of a joint outside of an articulation is not applied: "
                    "its bodies stand and move as they are authored",
                )


def displacements(numbering: Numbering, loose: LooseJoints) -> Array:
    """Displacement of all loose joints along and about their six axes where bodies stand as authored.

    Returns:
        Values [m or rad], shape [joints, 6]; rotations are angles about single axes.
    """
    parts = []
    for t, rows in enumerate(loose.rows):
        poses = []
        for end in ("0", "1"):
            frame = _frames(numbering, t, rows, end)
            body = _bodies(numbering, t, end)[rows]
            moves = (_links(numbering.plans[t], body) >= 0)[:, None]
            pose = _unit(numbering.columns(t, "bodies.pose")[:, body]) if len(rows) else frame
            pose, frame = np.broadcast_arrays(pose, frame)
            placed = transform_multiply(pose.reshape(-1, 7), frame.reshape(-1, 7)).reshape(frame.shape)
            poses.append(np.where(moves, placed, frame))
        first, second = (p.reshape(-1, 7) for p in np.broadcast_arrays(*poses))
        between = np.asarray(transform_multiply(transform_inverse(first), second))
        angles = 2.0 * np.arctan2(between[:, 3:6], between[:, 6:])
        angles = (angles + np.pi) % (2.0 * np.pi) - np.pi
        values = np.concatenate((between[:, :3], angles), axis=-1)
        count = max(len(pose) for pose in poses)
        parts.append(values.reshape(count, len(rows), 6))
    return loose.layout.fill(parts, np.float64, (6,))


def joined_bodies(template: Template, plan: TemplatePlan) -> npt.NDArray[np.int64]:
    """Pairs of rows in ``bodies`` whose loose joint keeps them from colliding, lower row first, shape [pairs, 2]."""
    joints, rows = template.joints, loose_rows(template, plan)
    rows = rows[~joints.collision_enabled[rows]]
    pairs = np.stack((joints.body0[rows], joints.body1[rows]), axis=-1).astype(np.int64)
    return np.sort(pairs[(pairs >= 0).all(axis=1)], axis=1)


def _unit(pose: Array) -> Array:
    """Poses with unit quaternions."""
    return np.concatenate((pose[..., :3], quaternion_normalize(pose[..., 3:])), axis=-1)
