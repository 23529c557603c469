"""What an articulation is made of: masses, gains, limits and tendons."""

from __future__ import annotations

import warp as wp

from tensorphys_assets._kernels.limits import soft_limits
from tensorphys_assets.members import FirstValue, Part, Quantity, Same
from tensorphys_assets.view_data import ViewData

__all__ = ["ArticulationProperties"]


def _joint(doc: str, source: str, dtype: str = "float32") -> Quantity:
    return Quantity(doc, axes="NJ", dtype=dtype, source=source, static=True)


def _fixed(doc: str, source: str, dtype: str = "float32") -> Quantity:
    return Quantity(doc, axes="NF", dtype=dtype, source=f"fixed_tendon_{source}", static=True, own=True)


def _spatial(doc: str, source: str) -> Quantity:
    return Quantity(doc, axes="NS", dtype="float32", source=f"spatial_tendon_{source}", static=True, own=True)


def _fill_soft_limits(data: ArticulationProperties, target: wp.array) -> None:
    limits = data.array("joint_pos_limits")
    if limits.size:
        wp.launch(soft_limits, limits.shape, [limits, data.soft_limit_factor], [target], device=data.device)


class ArticulationProperties(ViewData):
    """Properties, read once and valid until they are written; the user may write defaults at any time."""

    soft_limit_factor: float

    default_joint_pos = Quantity("Joint positions after a reset.", axes="NJ", dtype="float32", constant=True)
    default_joint_vel = Quantity("Joint velocities after a reset.", axes="NJ", dtype="float32", constant=True)

    joint_stiffness = _joint(
        "Stiffness of the drives; zero where an actuator model does their work.", "dof_stiffnesses"
    )
    joint_damping = _joint("Damping of the drives.", "dof_dampings")
    joint_armature = _joint("Inertia added to each joint.", "dof_armatures")
    _joint_friction = _joint("Static, dynamic and viscous friction.", "dof_friction_properties", "vec3f")
    joint_friction_coeff = Part("Static friction.", "_joint_friction", "float32", 0)
    joint_dynamic_friction_coeff = Part("Dynamic friction.", "_joint_friction", "float32", 1)
    joint_viscous_friction_coeff = Part("Viscous friction.", "_joint_friction", "float32", 2)
    joint_pos_limits = _joint("Lower and upper limit; ±3.4e38 where there is none.", "dof_limits", "vec2f")
    joint_vel_limits = _joint("Speed limit in the solver.", "dof_max_velocities")
    joint_effort_limits = _joint("Effort limit of the drives in the solver.", "dof_max_forces")
    soft_joint_pos_limits = Quantity(
        "Limits about the same centre, narrowed by ``soft_joint_pos_limit_factor``.",
        axes="NJ",
        dtype="vec2f",
        fill=_fill_soft_limits,
        follows=("joint_pos_limits",),
        static=True,
    )

    fixed_tendon_stiffness = _fixed("Stiffness of fixed tendons.", "stiffnesses")
    fixed_tendon_damping = _fixed("Damping of fixed tendons.", "dampings")
    fixed_tendon_limit_stiffness = _fixed("Stiffness beyond their limits.", "limit_stiffnesses")
    fixed_tendon_rest_length = _fixed("Rest length of fixed tendons.", "rest_lengths")
    fixed_tendon_offset = _fixed("Offset of the length of fixed tendons.", "offsets")
    fixed_tendon_pos_limits = _fixed("Least and greatest length of fixed tendons.", "limits", "vec2f")
    spatial_tendon_stiffness = _spatial("Stiffness of spatial tendons.", "stiffnesses")
    spatial_tendon_damping = _spatial("Damping of spatial tendons.", "dampings")
    spatial_tendon_limit_stiffness = _spatial("Stiffness beyond their limits.", "limit_stiffnesses")
    spatial_tendon_offset = _spatial("Offset of the length of spatial tendons.", "offsets")

    body_mass = Quantity("Masses.", axes="NB", dtype="float32", source="masses", static=True)
    body_com_pose_b = Quantity(
        "Frame of each centre of mass in its link frame.",
        axes="NB",
        dtype="transformf",
        source="coms",
        static=True,
    )
    body_inertia = Quantity(
        "Inertias about the centres of mass in link axes, row by row.",
        axes="NB9",
        dtype="float32",
        source="inertias",
        static=True,
        follows=("body_com_pose_b",),
    )

    joint_limits = Same("joint_pos_limits")
    default_joint_limits = Same("default_joint_pos_limits")
    joint_velocity_limits = Same("joint_vel_limits")
    joint_friction = Same("joint_friction_coeff")
    fixed_tendon_limit = Same("fixed_tendon_pos_limits")

    default_joint_stiffness = FirstValue("joint_stiffness")
    default_joint_damping = FirstValue("joint_damping")
    default_joint_armature = FirstValue("joint_armature")
    default_joint_friction_coeff = FirstValue("joint_friction_coeff")
    default_joint_viscous_friction_coeff = FirstValue("joint_viscous_friction_coeff")
    default_joint_pos_limits = FirstValue("joint_pos_limits")
    default_fixed_tendon_stiffness = FirstValue("fixed_tendon_stiffness")
    default_fixed_tendon_damping = FirstValue("fixed_tendon_damping")
    default_fixed_tendon_limit_stiffness = FirstValue("fixed_tendon_limit_stiffness")
    default_fixed_tendon_rest_length = FirstValue("fixed_tendon_rest_length")
    default_fixed_tendon_offset = FirstValue("fixed_tendon_offset")
    default_fixed_tendon_pos_limits = FirstValue("fixed_tendon_pos_limits")
    default_spatial_tendon_stiffness = FirstValue("spatial_tendon_stiffness")
    default_spatial_tendon_damping = FirstValue("spatial_tendon_damping")
    default_spatial_tendon_limit_stiffness = FirstValue("spatial_tendon_limit_stiffness")
    default_spatial_tendon_offset = FirstValue("spatial_tendon_offset")
    default_fixed_tendon_limit = Same("default_fixed_tendon_pos_limits", deprecated=True)
    default_joint_friction = Same("default_joint_friction_coeff", deprecated=True)
