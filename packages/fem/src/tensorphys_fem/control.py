"""What acts on bodies from outside: gravity, forces, impulses, targets, attachments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import warp as wp

from tensorphys_fem._kernels import structs
from tensorphys_fem.errors import ModelError
from tensorphys_fem.model import FemModel


class FemControl:
    """Arrays that the next step reads; write them in place.

    Attributes:
        gravity: [m/s²], vec3 ``[environments]``.
        force: On each node during the step [N], environment frame, vec3 ``[N]``.
        impulse: On each node in the step [N s], vec3 ``[N]``; this is where a contact solver puts its exchange.
        target: ``(x, y, z, w)`` of each node, environment frame [m], vec4 ``[N]``. w = 0: the node is at x, y, z at
            the end of the step, exactly; w = 1: it is free. A released node goes on with the velocity that its last
            targets gave it.
        frame_pose: Poses of the frames that nodes are attached to, environment frame, transform ``[frames]``.
        attachment_frame: Frame of each node, −1 for none, int32 ``[N]``.
        attachment_point: Where it is held, frame of the attachment [m], vec3 ``[N]``.
        attachment_stiffness: [N/m], infinite for a rigid hold, float32 ``[N]``.
        attachment_damping: [N s/m], against the velocity of the node, float32 ``[N]``.
    """

    def __init__(self, model: FemModel, *, gravity: Any = (0.0, 0.0, -9.81), frame_count: int = 0) -> None:
        """Everything free, with the given gravity in all environments.

        Args:
            model: Bodies that are acted on.
            gravity: [m/s²], 3 numbers or one row an environment.
            frame_count: Frames that nodes can be attached to; they start at the identity.
        """
        self.model = model
        count, device = model.node_count, model.device
        rows = np.broadcast_to(np.asarray(gravity, dtype=np.float32), (model.environment_count, 3))
        self.gravity = wp.array(np.ascontiguousarray(rows), dtype=wp.vec3, device=device)
        self.force = wp.zeros(count, dtype=wp.vec3, device=device)
        self.impulse = wp.zeros(count, dtype=wp.vec3, device=device)
        free = np.zeros((count, 4), dtype=np.float32)
        free[:, 3] = 1.0
        self.target = wp.array(free, dtype=wp.vec4, device=device)
        poses = np.zeros((max(frame_count, 1), 7), dtype=np.float32)
        poses[:, 6] = 1.0
        self.frame_count = frame_count
        self.frame_pose = wp.array(poses, dtype=wp.transform, device=device)
        self.attachment_frame = wp.full(count, -1, dtype=wp.int32, device=device)
        self.attachment_point = wp.zeros(count, dtype=wp.vec3, device=device)
        self.attachment_stiffness = wp.zeros(count, dtype=wp.float32, device=device)
        self.attachment_damping = wp.zeros(count, dtype=wp.float32, device=device)
        environment = np.array([body.environment for body in model.bodies], dtype=np.int32)
        self._environment = wp.array(environment, dtype=wp.int32, device=device)

    def attach(
        self, nodes: Any, frame: int, points: Any, *, stiffness: float = math.inf, damping: float = 0.0
    ) -> None:
        """Attach nodes to a frame; a node has one attachment, the last one given.

        Args:
            nodes: Indices in the concatenated arrays.
            frame: Index of the frame; −1 lets the nodes go.
            points: Where each node is held, frame of the attachment [m], ``(len(nodes), 3)``.
            stiffness: [N/m]; infinite holds exactly.
            damping: [N s/m].

        Raises:
            ModelError: Nodes, frame or constants out of range.
        """
        index = np.asarray(nodes, dtype=np.int64).reshape(-1)
        if ((index < 0) | (index >= self.model.node_count)).any():
            raise ModelError(f"nodes: expected indices in 0..{self.model.node_count - 1}")
        if not -1 <= frame < self.frame_count:
            raise ModelError(f"frame: expected −1..{self.frame_count - 1} (frame_count), got {frame}")
        if not stiffness >= 0.0 or not 0.0 <= damping < math.inf:
            raise ModelError(f"stiffness, damping: expected none negative, got {stiffness}, {damping}")
        values: tuple[tuple[wp.array, Any], ...] = (
            (self.attachment_frame, frame),
            (self.attachment_point, np.asarray(points, dtype=np.float32)),
            (self.attachment_stiffness, stiffness),
            (self.attachment_damping, damping),
        )
        for array, value in values:
            host = array.numpy()
            host[index] = value
            array.assign(host)

    def loads(self) -> structs.Loads:
        """The arrays as kernels take them."""
        loads = structs.Loads()
        loads.environment = self._environment
        for name in (
            *("gravity", "force", "impulse", "target", "frame_pose", "attachment_frame"),
            *("attachment_point", "attachment_stiffness", "attachment_damping"),
        ):
            setattr(loads, name, getattr(self, name))
        return loads
