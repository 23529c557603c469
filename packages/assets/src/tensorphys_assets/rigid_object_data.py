"""Data of rigid objects."""

from __future__ import annotations

from typing import Any

from tensorphys_assets.body_data import BodyNames
from tensorphys_assets.lab import lab_class
from tensorphys_assets.members import Quantity, Reshaped
from tensorphys_assets.root_data import RootData
from tensorphys_assets.view_data import EngineAccess

__all__ = ["RigidObjectData"]

_Lab: Any = lab_class("isaaclab.assets.rigid_object.base_rigid_object_data", "BaseRigidObjectData") or object


class RigidObjectData(BodyNames, RootData, _Lab):
    """State and properties of a rigid object: one body an instance.

    Arrays of bodies have an axis of length one and share the memory of those of the root.

    Args:
        engine: The view.
        count: Instances.
        body_names: Name of the body.
    """

    body_names: list[str]

    root_link_pose_w = Quantity(
        "Pose of the link in the world.", axes="N", dtype="transformf", source="transforms"
    )
    root_com_vel_w = Quantity(
        "Velocity of the centre of mass, world axes.", axes="N", dtype="spatial_vectorf", source="velocities"
    )
    body_com_pose_b = Quantity(
        "Frame of the centre of mass in the link frame.",
        axes="NB",
        dtype="transformf",
        source="coms",
        static=True,
    )
    _root_com = Reshaped("Frame of the centre of mass in the link frame.", "body_com_pose_b", "N")
    body_com_acc_w = Quantity(
        "Acceleration of the centre of mass in the last step, world axes; free fall has that of gravity.",
        axes="NB",
        dtype="spatial_vectorf",
        source="accelerations",
    )
    body_mass = Quantity("Mass.", axes="NB", dtype="float32", source="masses", static=True)
    body_inertia = Quantity(
        "Inertia about the centre of mass in link axes, row by row.",
        axes="NB9",
        dtype="float32",
        source="inertias",
        static=True,
        follows=("body_com_pose_b",),
    )
    body_link_pose_w = Reshaped("Pose of the link in the world.", "root_link_pose_w", "NB")
    body_link_vel_w = Reshaped("Velocity of the link's origin, world axes.", "root_link_vel_w", "NB")
    body_com_pose_w = Reshaped("Frame of the centre of mass in the world.", "root_com_pose_w", "NB")
    body_com_vel_w = Reshaped("Velocity of the centre of mass, world axes.", "root_com_vel_w", "NB")
    body_state_w = Reshaped("Same as ``root_state_w``, deprecated.", "root_state_w", "NB", deprecated=True)
    body_link_state_w = Reshaped(
        "Same as ``root_link_state_w``, deprecated.", "root_link_state_w", "NB", deprecated=True
    )
    body_com_state_w = Reshaped(
        "Same as ``root_com_state_w``, deprecated.", "root_com_state_w", "NB", deprecated=True
    )

    def __init__(self, engine: EngineAccess, count: int, body_names: list[str]) -> None:
        super().__init__(engine, {"N": count, "B": 1})
        self.body_names = body_names
        self.is_primed = False

    def _reset_pose(self, from_link: bool = True) -> None:
        """Make what depends on poses stale."""
        self.invalidate(("root_link_pose_w",), themselves=not from_link)

    def _reset_velocity(self, from_com: bool = True) -> None:
        """Make what depends on velocities stale."""
        self.invalidate(("root_com_vel_w",), themselves=not from_com)
