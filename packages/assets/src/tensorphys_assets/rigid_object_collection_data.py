"""Data of collections of rigid objects."""

from __future__ import annotations

from typing import Any

from tensorphys_assets._kernels import motion
from tensorphys_assets.body_data import BodyData
from tensorphys_assets.lab import lab_class
from tensorphys_assets.members import Part, Quantity, Same
from tensorphys_assets.root_data import fill_gravity
from tensorphys_assets.view_data import EngineAccess

__all__ = ["RigidObjectCollectionData"]

_Lab: Any = (
    lab_class(
        "isaaclab.assets.rigid_object_collection.base_rigid_object_collection_data",
        "BaseRigidObjectCollectionData",
    )
    or object
)


class RigidObjectCollectionData(BodyData, _Lab):
    """State and properties of several rigid objects an instance.

    Args:
        engine: The view; its rows stand by instance, then by object.
        count: Instances.
        body_names: Names of the objects.
    """

    body_names: list[str]

    GRAVITY_VEC_W = Quantity(
        "Direction of gravity, world axes; zero without gravity.", axes="NB", dtype="vec3f", fill=fill_gravity
    )
    FORWARD_VEC_B = Quantity(
        "Forward direction in link axes.",
        axes="NB",
        dtype="vec3f",
        fill=lambda data, array: array.fill_((1.0, 0.0, 0.0)),
        static=True,
    )
    default_body_pose = Quantity(
        "Link pose of each object after a reset, relative to the environment.",
        axes="NB",
        dtype="transformf",
        constant=True,
    )
    default_body_vel = Quantity(
        "Velocity of each centre of mass after a reset.", axes="NB", dtype="spatial_vectorf", constant=True
    )
    default_body_state = Quantity(
        "Default pose and velocity in one. Deprecated.",
        axes="NB",
        dtype="vec13f",
        kernel=motion.states,
        reads=("default_body_pose", "default_body_vel"),
        deprecated="default_body_pose and default_body_vel",
    )
    body_link_pose_w = Quantity(
        "Pose of each link in the world.", axes="NB", dtype="transformf", source="transforms"
    )
    body_com_vel_w = Quantity(
        "Velocity of each centre of mass, world axes.",
        axes="NB",
        dtype="spatial_vectorf",
        source="velocities",
    )
    body_com_pose_b = Quantity(
        "Frame of each centre of mass in its link frame.",
        axes="NB",
        dtype="transformf",
        source="coms",
        static=True,
    )
    body_com_acc_w = Quantity(
        "Acceleration of each centre of mass in the last step, world axes.",
        axes="NB",
        dtype="spatial_vectorf",
        source="accelerations",
    )
    body_mass = Quantity("Masses.", axes="NB", dtype="float32", source="masses", static=True)
    body_inertia = Quantity(
        "Inertias about the centres of mass in link axes, row by row.",
        axes="NB9",
        dtype="float32",
        source="inertias",
        static=True,
        follows=("body_com_pose_b",),
    )
    projected_gravity_b = Quantity(
        "Direction of gravity in link axes.",
        axes="NB",
        dtype="vec3f",
        kernel=motion.projected_gravity,
        reads=("body_link_pose_w", "GRAVITY_VEC_W"),
    )
    heading_w = Quantity(
        "Yaw of each link's x axis.",
        axes="NB",
        dtype="float32",
        kernel=motion.headings,
        reads=("body_link_pose_w",),
    )
    _body_link_vel_b = Quantity(
        "Velocity of each link's origin in link axes.",
        axes="NB",
        dtype="spatial_vectorf",
        kernel=motion.local_velocities,
        reads=("body_link_pose_w", "body_link_vel_w"),
    )
    _body_com_vel_b = Quantity(
        "Velocity of each centre of mass in link axes.",
        axes="NB",
        dtype="spatial_vectorf",
        kernel=motion.local_velocities,
        reads=("body_link_pose_w", "body_com_vel_w"),
    )
    body_link_lin_vel_b = Part(
        "Linear velocity of each link's origin, link axes.", "_body_link_vel_b", "vec3f", 0
    )
    body_link_ang_vel_b = Part("Angular velocity, link axes.", "_body_link_vel_b", "vec3f", 3)
    body_com_lin_vel_b = Part(
        "Linear velocity of each centre of mass, link axes.", "_body_com_vel_b", "vec3f", 0
    )
    body_com_ang_vel_b = Part("Angular velocity, link axes.", "_body_com_vel_b", "vec3f", 3)

    # Names of Isaac Lab 2.
    default_object_pose = Same("default_body_pose", deprecated=True)
    default_object_vel = Same("default_body_vel", deprecated=True)
    default_object_state = Same("default_body_state", deprecated=True)
    object_link_pose_w = Same("body_link_pose_w", deprecated=True)
    object_link_vel_w = Same("body_link_vel_w", deprecated=True)
    object_com_pose_w = Same("body_com_pose_w", deprecated=True)
    object_com_vel_w = Same("body_com_vel_w", deprecated=True)
    object_state_w = Same("body_state_w", deprecated=True)
    object_link_state_w = Same("body_link_state_w", deprecated=True)
    object_com_state_w = Same("body_com_state_w", deprecated=True)
    object_com_acc_w = Same("body_com_acc_w", deprecated=True)
    object_com_pose_b = Same("body_com_pose_b", deprecated=True)
    object_link_pos_w = Same("body_link_pos_w", deprecated=True)
    object_link_quat_w = Same("body_link_quat_w", deprecated=True)
    object_link_lin_vel_w = Same("body_link_lin_vel_w", deprecated=True)
    object_link_ang_vel_w = Same("body_link_ang_vel_w", deprecated=True)
    object_com_pos_w = Same("body_com_pos_w", deprecated=True)
    object_com_quat_w = Same("body_com_quat_w", deprecated=True)
    object_com_lin_vel_w = Same("body_com_lin_vel_w", deprecated=True)
    object_com_ang_vel_w = Same("body_com_ang_vel_w", deprecated=True)
    object_com_lin_acc_w = Same("body_com_lin_acc_w", deprecated=True)
    object_com_ang_acc_w = Same("body_com_ang_acc_w", deprecated=True)
    object_com_pos_b = Same("body_com_pos_b", deprecated=True)
    object_com_quat_b = Same("body_com_quat_b", deprecated=True)
    object_link_lin_vel_b = Same("body_link_lin_vel_b", deprecated=True)
    object_link_ang_vel_b = Same("body_link_ang_vel_b", deprecated=True)
    object_com_lin_vel_b = Same("body_com_lin_vel_b", deprecated=True)
    object_com_ang_vel_b = Same("body_com_ang_vel_b", deprecated=True)
    object_pose_w = Same("body_link_pose_w", deprecated=True)
    object_pos_w = Same("body_link_pos_w", deprecated=True)
    object_quat_w = Same("body_link_quat_w", deprecated=True)
    object_vel_w = Same("body_com_vel_w", deprecated=True)
    object_lin_vel_w = Same("body_com_lin_vel_w", deprecated=True)
    object_ang_vel_w = Same("body_com_ang_vel_w", deprecated=True)
    object_lin_vel_b = Same("body_com_lin_vel_b", deprecated=True)
    object_ang_vel_b = Same("body_com_ang_vel_b", deprecated=True)
    object_acc_w = Same("body_com_acc_w", deprecated=True)
    object_lin_acc_w = Same("body_com_lin_acc_w", deprecated=True)
    object_ang_acc_w = Same("body_com_ang_acc_w", deprecated=True)

    def __init__(self, engine: EngineAccess, count: int, body_names: list[str]) -> None:
        super().__init__(engine, {"N": count, "B": len(body_names)})
        self.body_names = body_names
        self.is_primed = False

    def _reset_pose(self, from_link: bool = True) -> None:
        """Make what depends on poses stale."""
        self.invalidate(("body_link_pose_w",), themselves=not from_link)

    def _reset_velocity(self, from_com: bool = True) -> None:
        """Make what depends on velocities stale."""
        self.invalidate(("body_com_vel_w",), themselves=not from_com)
