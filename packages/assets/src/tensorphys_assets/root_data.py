"""Motion of the root of each instance."""

from __future__ import annotations

from typing import Any

from tensorphys_assets._kernels import motion
from tensorphys_assets.members import Part, Quantity, Same
from tensorphys_assets.view_data import ViewData

__all__ = ["RootData", "fill_gravity"]


def fill_gravity(data: ViewData, target: Any) -> None:
    """Fill directions of gravity."""
    data._engine.gravity_direction(target)


class RootData(ViewData):
    """Poses, velocities and what follows from them, one element an instance.

    Subclasses declare ``root_link_pose_w``, ``root_com_vel_w`` and ``_root_com``.
    """

    GRAVITY_VEC_W = Quantity(
        "Direction of gravity, world axes; zero without gravity.", axes="N", dtype="vec3f", fill=fill_gravity
    )
    FORWARD_VEC_B = Quantity(
        "Forward direction in link axes.",
        axes="N",
        dtype="vec3f",
        fill=lambda data, array: array.fill_((1.0, 0.0, 0.0)),
        static=True,
    )

    default_root_pose = Quantity(
        "Pose of the root link after a reset, relative to the environment.",
        axes="N",
        dtype="transformf",
        constant=True,
    )
    default_root_vel = Quantity(
        "Velocity of the root's centre of mass after a reset.",
        axes="N",
        dtype="spatial_vectorf",
        constant=True,
    )
    default_root_state = Quantity(
        "Default pose and velocity in one. Deprecated.",
        axes="N",
        dtype="vec13f",
        kernel=motion.states,
        reads=("default_root_pose", "default_root_vel"),
        deprecated="default_root_pose and default_root_vel",
    )

    root_com_pose_w = Quantity(
        "Frame of the root's centre of mass in the world.",
        axes="N",
        dtype="transformf",
        kernel=motion.com_poses,
        reads=("root_link_pose_w", "_root_com"),
    )
    root_link_vel_w = Quantity(
        "Velocity of the root link's origin, world axes.",
        axes="N",
        dtype="spatial_vectorf",
        kernel=motion.link_velocities,
        reads=("root_link_pose_w", "_root_com", "root_com_vel_w"),
    )
    root_state_w = Quantity(
        "Link pose and velocity of the centre of mass in one. Deprecated.",
        axes="N",
        dtype="vec13f",
        kernel=motion.states,
        reads=("root_link_pose_w", "root_com_vel_w"),
        deprecated="root_link_pose_w and root_com_vel_w",
    )
    root_link_state_w = Quantity(
        "Pose and velocity of the link in one. Deprecated.",
        axes="N",
        dtype="vec13f",
        kernel=motion.states,
        reads=("root_link_pose_w", "root_link_vel_w"),
        deprecated="root_link_pose_w and root_link_vel_w",
    )
    root_com_state_w = Quantity(
        "Pose and velocity of the centre of mass in one. Deprecated.",
        axes="N",
        dtype="vec13f",
        kernel=motion.states,
        reads=("root_com_pose_w", "root_com_vel_w"),
        deprecated="root_com_pose_w and root_com_vel_w",
    )
    projected_gravity_b = Quantity(
        "Direction of gravity in link axes.",
        axes="N",
        dtype="vec3f",
        kernel=motion.projected_gravity,
        reads=("root_link_pose_w", "GRAVITY_VEC_W"),
    )
    heading_w = Quantity(
        "Yaw of the link's x axis.",
        axes="N",
        dtype="float32",
        kernel=motion.headings,
        reads=("root_link_pose_w",),
    )
    _root_link_vel_b = Quantity(
        "Velocity of the link's origin in link axes.",
        axes="N",
        dtype="spatial_vectorf",
        kernel=motion.local_velocities,
        reads=("root_link_pose_w", "root_link_vel_w"),
    )
    _root_com_vel_b = Quantity(
        "Velocity of the centre of mass in link axes.",
        axes="N",
        dtype="spatial_vectorf",
        kernel=motion.local_velocities,
        reads=("root_link_pose_w", "root_com_vel_w"),
    )

    root_link_pos_w = Part("Position of the root link.", "root_link_pose_w", "vec3f", 0)
    root_link_quat_w = Part("Orientation of the root link, xyzw.", "root_link_pose_w", "quatf", 3)
    root_link_lin_vel_w = Part("Linear velocity of the link's origin.", "root_link_vel_w", "vec3f", 0)
    root_link_ang_vel_w = Part("Angular velocity of the link.", "root_link_vel_w", "vec3f", 3)
    root_com_pos_w = Part("Position of the root's centre of mass.", "root_com_pose_w", "vec3f", 0)
    root_com_quat_w = Part("Orientation of the principal axes, xyzw.", "root_com_pose_w", "quatf", 3)
    root_com_lin_vel_w = Part("Linear velocity of the centre of mass.", "root_com_vel_w", "vec3f", 0)
    root_com_ang_vel_w = Part("Angular velocity of the root.", "root_com_vel_w", "vec3f", 3)
    root_link_lin_vel_b = Part(
        "Linear velocity of the link's origin, link axes.", "_root_link_vel_b", "vec3f", 0
    )
    root_link_ang_vel_b = Part("Angular velocity, link axes.", "_root_link_vel_b", "vec3f", 3)
    root_com_lin_vel_b = Part(
        "Linear velocity of the centre of mass, link axes.", "_root_com_vel_b", "vec3f", 0
    )
    root_com_ang_vel_b = Part("Angular velocity, link axes.", "_root_com_vel_b", "vec3f", 3)

    root_pose_w = Same("root_link_pose_w")
    root_pos_w = Same("root_link_pos_w")
    root_quat_w = Same("root_link_quat_w")
    root_vel_w = Same("root_com_vel_w")
    root_lin_vel_w = Same("root_com_lin_vel_w")
    root_ang_vel_w = Same("root_com_ang_vel_w")
    root_lin_vel_b = Same("root_com_lin_vel_b")
    root_ang_vel_b = Same("root_com_ang_vel_b")
