"""The part of the backend that joins bodies while a simulation goes on; beside the interface."""

from __future__ import annotations

from typing import Any

from tensorphys_backend.attachments import define_attachment, remove_attachment
from tensorphys_backend.interface import PhysicsBackend

__all__ = ["AttachmentCalls"]


class AttachmentCalls(PhysicsBackend):
    """Joints that hold what is grasped."""

    def create_attachment_constraint(
        self,
        prim_path: str,
        joint_type: str,
        body0: str | None,
        body1: str | None,
        joint_frame_in_parent_frame_pos: Any,
        joint_frame_in_parent_frame_quat: Any,
        joint_frame_in_child_frame_pos: Any,
        joint_frame_in_child_frame_quat: Any,
    ) -> str:
        """Join two bodies; while the simulation plays they are so from the next step on, and batch views of before are stale.

        Bodies that are joined do not collide with each other.

        Args:
            prim_path: Prim of the joint, which is authored.
            joint_type: ``"FixedJoint"`` or ``"SphericalJoint"``.
            body0, body1: Paths of both bodies; None for the world.
            joint_frame_in_parent_frame_pos, joint_frame_in_parent_frame_quat: The joint in the own, scaled frame of body 0:
                position [stage length] and quaternion xyzw.
            joint_frame_in_child_frame_pos, joint_frame_in_child_frame_quat: Likewise in that of body 1.

        Returns:
            What :meth:`remove_attachment_constraint` takes: the path.

        Raises:
            ValueError: Another type, or numbers that are no frame.
            PrimPathError: The path is taken or none, or a body is none.
        """
        parent = (joint_frame_in_parent_frame_pos, joint_frame_in_parent_frame_quat)
        child = (joint_frame_in_child_frame_pos, joint_frame_in_child_frame_quat)
        define_attachment(self.stage, prim_path, joint_type, (body0, body1), (parent, child))
        self.flush_changes()
        return prim_path

    def remove_attachment_constraint(self, handle: str) -> None:
        """Set free what :meth:`create_attachment_constraint` joined; what is free already stays so.

        Raises:
            PrimPathError: The path is that of something else.
        """
        remove_attachment(self.stage, handle)
        self.flush_changes()
