"""Flat columns of articulations, links and degrees of freedom, and their state at the start."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tensorphys_dynamics import dof_axis, link_rest_pose
from tensorphys_engine.findings import Findings
from tensorphys_engine.layout import Array
from tensorphys_engine.numbering import Numbering
from tensorphys_engine.template_plan import TemplatePlan
from tensorphys_scene import JointType
from tensorphys_spatial import quaternion_normalize, transform_identity

# Poses that differ by more are reported.
_POSE_TOLERANCE = 1e-3  # [m]
_TURN_TOLERANCE = 5e-3  # [rad]; float32 quaternions resolve about 1e-3 here

_LINK_COLUMNS: tuple[tuple[str, str, tuple[int, ...]], ...] = (
    ("mass", "bodies.mass", ()),
    ("com", "bodies.com", (3,)),
    ("inertia", "bodies.inertia", (3, 3)),
    ("linear_damping", "bodies.linear_damping", ()),
    ("angular_damping", "bodies.angular_damping", ()),
    ("max_linear_velocity", "bodies.max_linear_velocity", ()),
    ("max_angular_velocity", "bodies.max_angular_velocity", ()),
    ("max_depenetration_velocity", "bodies.max_depenetration_velocity", ()),
    ("max_contact_impulse", "bodies.max_contact_impulse", ()),
    ("surface_linear", "bodies.surface_velocity", (3,)),
    ("surface_angular", "bodies.surface_angular_velocity", (3,)),
)

# A base has no body. It never moves, so only its frame counts.
_BASE_COLUMNS: dict[str, float | Array] = {
    "mass": 1.0,
    "com": 0.0,
    "inertia": np.eye(3),
    "gravity": 0.0,
    "max_contact_impulse": np.inf,
    "surface_linear": 0.0,
    "surface_angular": 0.0,
}

_DOF_COLUMNS = (
    "armature",
    "lower",
    "upper",
    "stiffness",
    "damping",
    "max_force",
    "max_velocity",
    "passive_stiffness",
    "passive_damping",
    "spring_reference",
    "static_friction",
    "dynamic_friction",
    "viscous_friction",
)


@dataclass(frozen=True)
class InitialState:
    """State in which a scene starts, flat, float32, environment frames.

    Attributes:
        root_pose: Pose of the root link of each articulation [m, -], shape [articulations, 7].
        root_velocity: Its velocity, linear at the centre of mass, then angular, shape [articulations, 6]; zero
            where the root is fixed or kinematic.
        dof_position: Positions [m or rad], shape [dofs].
        dof_velocity: Velocities, shape [dofs].
        position_target, velocity_target: Targets of the drives, shape [dofs].
    """

    root_pose: npt.NDArray[np.float32]
    root_velocity: npt.NDArray[np.float32]
    dof_position: npt.NDArray[np.float32]
    dof_velocity: npt.NDArray[np.float32]
    position_target: npt.NDArray[np.float32]
    velocity_target: npt.NDArray[np.float32]


def link_columns(numbering: Numbering) -> dict[str, Array]:
    """Columns of all links for the dynamics model, float32, by name; shape [links, ...]."""
    links = numbering.links
    columns = {
        name: numbering.fill(links, source, "link_body", np.float32, shape)
        for name, source, shape in _LINK_COLUMNS
    }
    disabled = numbering.fill(links, "bodies.disable_gravity", "link_body", bool)
    columns["gravity"] = (~disabled).astype(np.float32)
    local = numbering.fill(links, "bodies.surface_velocity_local", "link_body", bool)
    columns["surface_local"] = local.astype(np.int32)
    own = numbering.fill(links, "bodies.gyroscopic", "link_body", bool)
    free = links.fill([_is_free(plan)[None] for plan in numbering.plans], bool)
    columns["gyroscopic"] = (own | ~free).astype(np.int32)
    floating = links.fill([_is_floating_root(plan)[None] for plan in numbering.plans], bool)
    axes = numbering.fill(links, "bodies.locked_axes", "link_body", np.int32)
    columns["locked_axes"] = np.where(floating, axes, 0).astype(np.int32)
    for name, value in _BASE_COLUMNS.items():
        columns[name][links.fill([plan.link_body[None] < 0 for plan in numbering.plans], bool)] = value
    # The mass of what never accelerates is not read; the model wants a positive one.
    immovable = links.fill([plan.link_immovable[None] for plan in numbering.plans], bool)
    columns["mass"][immovable & (columns["mass"] <= 0.0)] = 1.0
    columns["rest_pose"] = links.fill(
        [_rest_poses(numbering, t) for t in range(len(numbering.plans))], np.float32, (7,)
    )
    return columns


def _is_free(plan: TemplatePlan) -> npt.NDArray[np.bool_]:
    """Whether each link is a free body, shape [links]."""
    return np.asarray((plan.articulation_row[plan.link_articulation] < 0) & ~plan.link_immovable)


def _is_floating_root(plan: TemplatePlan) -> npt.NDArray[np.bool_]:
    """Whether each link is the root of a floating base, shape [links]."""
    return np.asarray((plan.link_parent < 0) & ~plan.articulation_fixed[plan.link_articulation])


def note_unbound_bodies(numbering: Numbering, findings: Findings) -> None:
    """Report what bodies ask for that only free ones or floating roots have; environments of a template are alike."""
    for template, (tables, plan) in enumerate(zip(numbering.scene.templates, numbering.plans, strict=True)):
        users = numbering.links.members(template)
        if not users.size:
            continue
        bodies, prefix = tables.bodies, numbering.scene.environments.path[int(users[0])]
        simulated = plan.body_link >= 0
        link = np.maximum(plan.body_link, 0)
        held = plan.link_immovable[link] if link.size else np.zeros(0, bool)
        free = _is_free(plan)[link] if link.size else np.zeros(0, bool)
        floating = _is_floating_root(plan)[link] if link.size else np.zeros(0, bool)
        belt = (bodies.surface_velocity != 0).any(axis=1) | (bodies.surface_angular_velocity != 0).any(axis=1)
        for rows, text in (
            (
                simulated & ~bodies.gyroscopic & ~free & ~held,
                "links of articulations feel their gyroscopic torque",
            ),
            (
                simulated & (bodies.locked_axes != 0) & ~floating & ~held,
                "world axes are locked for free bodies and floating roots alone",
            ),
            (~simulated & belt, "a body that is not simulated has no surface velocity"),
        ):
            for row in np.flatnonzero(rows):
                findings.note(prefix + bodies.path[row], text)


def _rest_poses(numbering: Numbering, template: int) -> Array:
    """Pose of each link in its parent at zero displacement, shape [1 or members, links, 7]."""
    plan = numbering.plans[template]
    child = np.flatnonzero(plan.link_joint >= 0)
    joint = plan.link_joint[child]
    frame0 = _unit(numbering.columns(template, "joints.frame0")[:, joint])
    frame1 = _unit(numbering.columns(template, "joints.frame1")[:, joint])
    frame0, frame1 = np.broadcast_arrays(frame0, frame1)
    count = len(frame0)
    flipped = np.tile(plan.link_flipped[child], count)
    pose = transform_identity((count, len(plan.link_body)))
    pose[:, child] = link_rest_pose(frame0.reshape(-1, 7), frame1.reshape(-1, 7), flipped).reshape(
        count, -1, 7
    )
    on_base = np.flatnonzero((plan.link_parent >= 0) & (plan.link_body[plan.link_parent] < 0))
    pose[:, on_base, :3] -= _base_positions(numbering, template, on_base)
    return pose


def _base_positions(numbering: Numbering, template: int, links: Array) -> Array:
    """Position of the base above each of the links: the world end of the joint, shape [1 or members, links, 3].

    The base keeps the axes of the environment.
    """
    plan = numbering.plans[template]
    joint = plan.link_joint[links]
    frame0, frame1 = (
        numbering.columns(template, f"joints.{name}")[:, joint, :3] for name in ("frame0", "frame1")
    )
    return np.where(plan.link_flipped[links][:, None], frame1, frame0)


def dof_columns(numbering: Numbering) -> dict[str, Array]:
    """Columns of all degrees of freedom for the dynamics model, by name; shape [dofs, ...]."""
    dofs = numbering.dofs
    columns = {
        name: numbering.fill(dofs, f"axes.{name}", "dof_axis_row", np.float32) for name in _DOF_COLUMNS
    }
    columns["friction_coefficient"] = numbering.fill(
        dofs, "joints.friction_coefficient", "dof_joint", np.float32
    )
    envelope = numbering.fill(dofs, "axes.envelope", "dof_axis_row", np.float32, (3,))
    for place, name in enumerate(("speed_effort_gradient", "max_actuator_velocity", "velocity_resistance")):
        columns[name] = envelope[:, place]
    columns["envelope"] = numbering.fill(dofs, "axes.has_envelope", "dof_axis_row", np.int32)
    columns["drive_type"] = numbering.fill(dofs, "axes.drive_type", "dof_axis_row", np.int32)
    kind = numbering.fill(dofs, "joints.type", "dof_joint", np.int32)
    columns["cone"] = (kind == int(JointType.SPHERICAL)).astype(np.int32)
    motions = [_dof_motions(numbering, t) for t in range(len(numbering.plans))]
    columns["axis"] = dofs.fill([axis for axis, _ in motions], np.float32, (3,))
    columns["anchor"] = dofs.fill([anchor for _, anchor in motions], np.float32, (3,))
    return columns


def _dof_motions(numbering: Numbering, template: int) -> tuple[Array, Array]:
    plan = numbering.plans[template]
    frame0 = _unit(numbering.columns(template, "joints.frame0")[:, plan.dof_joint])
    frame1 = _unit(numbering.columns(template, "joints.frame1")[:, plan.dof_joint])
    frame0, frame1 = np.broadcast_arrays(frame0, frame1)
    count, size = frame0.shape[:2]
    direction = np.eye(3)[numbering.scene.templates[template].axes.axis[plan.dof_axis_row] % 3]
    axis, anchor = dof_axis(
        frame0.reshape(-1, 7),
        frame1.reshape(-1, 7),
        np.tile(plan.dof_flipped, count),
        np.tile(direction, (count, 1)),
    )
    return axis.reshape(count, size, 3), anchor.reshape(count, size, 3)


def initial_state(numbering: Numbering) -> InitialState:
    """State in which the scene starts."""
    roots = [np.flatnonzero(plan.link_parent < 0) for plan in numbering.plans]
    bodies = [plan.link_body[root] for plan, root in zip(numbering.plans, roots, strict=True)]
    articulations, dofs, read = numbering.articulations, numbering.dofs, numbering.columns
    poses = [_root_poses(numbering, t, root) for t, root in enumerate(roots)]
    velocities = []
    for t, (body, plan) in enumerate(zip(bodies, numbering.plans, strict=True)):
        linear, angular = np.broadcast_arrays(
            read(t, "bodies.linear_velocity")[:, body], read(t, "bodies.angular_velocity")[:, body]
        )
        moving = ~plan.articulation_fixed[:, None]  # a base is fixed
        velocities.append(np.concatenate((linear, angular), axis=-1) * moving)
    return InitialState(
        root_pose=articulations.fill(poses, np.float32, (7,)),
        root_velocity=articulations.fill(velocities, np.float32, (6,)),
        dof_position=numbering.fill(dofs, "axes.position", "dof_axis_row", np.float32),
        dof_velocity=numbering.fill(dofs, "axes.velocity", "dof_axis_row", np.float32),
        position_target=numbering.fill(dofs, "axes.target_position", "dof_axis_row", np.float32),
        velocity_target=numbering.fill(dofs, "axes.target_velocity", "dof_axis_row", np.float32),
    )


def _root_poses(numbering: Numbering, template: int, roots: Array) -> Array:
    """Pose of the root link of each articulation, shape [1 or members, articulations, 7]."""
    plan = numbering.plans[template]
    pose = _unit(numbering.columns(template, "bodies.pose")[:, plan.link_body[roots]])
    is_base = plan.link_body[roots] < 0
    if not is_base.any():
        return pose
    child = np.flatnonzero(np.isin(plan.link_parent, roots[is_base]))
    position = _base_positions(numbering, template, child)
    count = max(len(pose), len(position))
    pose = np.broadcast_to(pose, (count, *pose.shape[1:])).copy()
    pose[:, is_base] = transform_identity((1,))
    pose[:, is_base, :3] = position
    return pose


def note_moved_roots(numbering: Numbering, findings: Findings) -> None:
    """Report each fixed base whose joint to the world stands elsewhere than the authored pose, which is kept."""
    environments = numbering.scene.environments
    for template, tables in enumerate(numbering.scene.templates):
        users = numbering.links.members(template)
        if not users.size:
            continue
        on_world = np.flatnonzero((tables.links.parent < 0) & (tables.links.joint >= 0))
        plan = numbering.plans[template]
        for row in on_world[plan.link_parent[plan.body_link[tables.links.body[on_world]]] < 0]:
            joint, body = int(tables.links.joint[row]), int(tables.links.body[row])
            flipped = np.array([tables.joints.body0[joint] == body])
            frame0, frame1 = (_unit(f[joint][None]) for f in (tables.joints.frame0, tables.joints.frame1))
            wanted = link_rest_pose(frame0, frame1, flipped)
            pose = _unit(tables.bodies.pose[body])
            if _differ(wanted, pose[None], numbering)[0]:
                findings.note(
                    environments.path[int(users[0])] + tables.joints.path[joint],
                    f"the frames of this joint put the base at {_place(wanted[0])}, "
                    f"its prim stands at {_place(pose)}; the prim's pose is kept",
                )


def note_moved_links(numbering: Numbering, link_pose: Array, findings: Findings) -> None:
    """Report each link that its joints put elsewhere than its authored pose; environments of a template are alike.

    Articulations with an authored joint position are passed over: their prims stand at zero.

    Args:
        numbering: Flat numbers.
        link_pose: Pose of each link at the start, shape [links, 7].
        findings: Takes the findings.
    """
    environments = numbering.scene.environments
    for template, (tables, plan) in enumerate(zip(numbering.scene.templates, numbering.plans, strict=True)):
        users = numbering.links.members(template)
        if not users.size:
            continue
        bent = plan.link_articulation[
            plan.dof_link[numbering.columns(template, "axes.position")[0, plan.dof_axis_row] != 0.0]
        ]
        links = np.flatnonzero(
            (plan.link_parent >= 0) & (plan.link_body >= 0) & ~np.isin(plan.link_articulation, bent)
        )
        authored = _unit(numbering.columns(template, "bodies.pose")[0, plan.link_body[links]])
        found = link_pose[numbering.links.start[users[0]] + links]
        for row in np.flatnonzero(_differ(found, authored, numbering)):
            findings.note(
                environments.path[int(users[0])] + tables.bodies.path[plan.link_body[links[row]]],
                f"the joints put this link at {_place(found[row])}, "
                f"its prim stands at {_place(authored[row])}; the joints are followed",
            )


def _differ(first: Array, second: Array, numbering: Numbering) -> npt.NDArray[np.bool_]:
    """Whether poses differ by more than a tolerance in place or angle, shape [count]."""
    length = _POSE_TOLERANCE / numbering.scene.settings.meters_per_unit
    half_turn = np.arccos(np.minimum(1.0, np.abs((first[:, 3:] * second[:, 3:]).sum(axis=1))))
    moved = np.abs(first[:, :3] - second[:, :3]).max(axis=1, initial=0.0) > length
    return np.asarray(moved | (2.0 * half_turn > _TURN_TOLERANCE))


def _place(pose: Array) -> list[float]:
    return [round(float(x), 4) for x in pose[:3]]


def _unit(pose: Array) -> Array:
    """Poses with unit quaternions."""
    return np.concatenate((pose[..., :3], quaternion_normalize(pose[..., 3:])), axis=-1)
