"""Motion of all bodies of each instance."""

from __future__ import annotations

from tensorphys_assets._kernels import motion
from tensorphys_assets.members import FirstValue, Part, Quantity, Same
from tensorphys_assets.view_data import ViewData

__all__ = ["BodyData", "BodyNames"]


class BodyNames:
    """Parts and other names of the quantities of bodies."""

    body_link_pos_w = Part("Position of each link.", "body_link_pose_w", "vec3f", 0)
    body_link_quat_w = Part("Orientation of each link, xyzw.", "body_link_pose_w", "quatf", 3)
    body_link_lin_vel_w = Part("Linear velocity of each link's origin.", "body_link_vel_w", "vec3f", 0)
    body_link_ang_vel_w = Part("Angular velocity of each link.", "body_link_vel_w", "vec3f", 3)
    body_com_pos_w = Part("Position of each centre of mass.", "body_com_pose_w", "vec3f", 0)
    body_com_quat_w = Part("Orientation of each body's principal axes, xyzw.", "body_com_pose_w", "quatf", 3)
    body_com_lin_vel_w = Part("Linear velocity of each centre of mass.", "body_com_vel_w", "vec3f", 0)
    body_com_ang_vel_w = Part("Angular velocity of each body.", "body_com_vel_w", "vec3f", 3)
    body_com_lin_acc_w = Part("Linear acceleration of each centre of mass.", "body_com_acc_w", "vec3f", 0)
    body_com_ang_acc_w = Part("Angular acceleration of each body.", "body_com_acc_w", "vec3f", 3)
    body_com_pos_b = Part("Centre of mass in the link frame.", "body_com_pose_b", "vec3f", 0)
    body_com_quat_b = Part("Principal axes in the link frame, xyzw.", "body_com_pose_b", "quatf", 3)

    body_pose_w = Same("body_link_pose_w")
    body_pos_w = Same("body_link_pos_w")
    body_quat_w = Same("body_link_quat_w")
    body_vel_w = Same("body_com_vel_w")
    body_lin_vel_w = Same("body_com_lin_vel_w")
    body_ang_vel_w = Same("body_com_ang_vel_w")
    body_acc_w = Same("body_com_acc_w")
    body_lin_acc_w = Same("body_com_lin_acc_w")
    body_ang_acc_w = Same("body_com_ang_acc_w")
    com_pos_b = Same("body_com_pos_b")
    com_quat_b = Same("body_com_quat_b")

    default_mass = FirstValue("body_mass")
    default_inertia = FirstValue("body_inertia")


class BodyData(BodyNames, ViewData):
    """Poses, velocities and what follows from them, one element a body.

    Subclasses declare ``body_link_pose_w``, ``body_com_vel_w`` and ``body_com_pose_b``.
    """

    body_com_pose_w = Quantity(
        "Frame of each centre of mass in the world.",
        axes="NB",
        dtype="transformf",
        kernel=motion.com_poses,
        reads=("body_link_pose_w", "body_com_pose_b"),
    )
    body_link_vel_w = Quantity(
        "Velocity of each link's origin, world axes.",
        axes="NB",
        dtype="spatial_vectorf",
        kernel=motion.link_velocities,
        reads=("body_link_pose_w", "body_com_pose_b", "body_com_vel_w"),
    )
    body_state_w = Quantity(
        "Link pose and velocity of the centre of mass in one. Deprecated.",
        axes="NB",
        dtype="vec13f",
        kernel=motion.states,
        reads=("body_link_pose_w", "body_com_vel_w"),
        deprecated="body_link_pose_w and body_com_vel_w",
    )
    body_link_state_w = Quantity(
        "Pose and velocity of each link in one. Deprecated.",
        axes="NB",
        dtype="vec13f",
        kernel=motion.states,
        reads=("body_link_pose_w", "body_link_vel_w"),
        deprecated="body_link_pose_w and body_link_vel_w",
    )
    body_com_state_w = Quantity(
        "Pose and velocity of each centre of mass in one. Deprecated.",
        axes="NB",
        dtype="vec13f",
        kernel=motion.states,
        reads=("body_com_pose_w", "body_com_vel_w"),
        deprecated="body_com_pose_w and body_com_vel_w",
    )
