"""Rows of faces of deformables against convex shapes that reach in between their nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from tensorphys_contact import FaceSet, Model, PointShapes, QueryTree
from tensorphys_engine._kernels import soft_faces as kernels

if TYPE_CHECKING:
    from tensorphys_engine.soft_bodies import SoftBodies

# Depth that a row leaves, as a part of the mean edge: so far a face is to be deeper than its corners to be met.
_SLACK = 1.0e-3


class SoftFaces:
    """At most four rows of each of T faces in a substep.

    Attributes:
        faces: What each face meets.
        end: Flat link at the far end, −1 for what never moves, int32 [T, 4].
        point: Where the force acts, environment frame [length], vec3 [T, 4].
        gap: Distance along the normal at the start of the substep [length], float32 [T, 4].
        friction: Coefficient, float32 [T, 4].
        force: On the face [force], vec3 [T, 4]; zero where it meets nothing.
        kept_force: What the next substep starts from, vec3 [T, 4].
    """

    end: Any
    point: Any
    gap: Any
    friction: Any
    force: Any
    kept_force: Any

    def __init__(self, soft: SoftBodies) -> None:
        """Allocate.

        Args:
            soft: Deformables.
        """
        self._soft, device = soft, soft.model.device
        start = soft.model.node_start
        corners = [b.triangles + first for b, first in zip(soft.bodies, start[:-1], strict=True)]
        counts = [len(c) for c in corners]
        solid = np.repeat([int(not b.is_shell) for b in soft.bodies], counts)
        self.faces = FaceSet(
            np.concatenate(corners), solid=solid, point_count=soft.model.node_count, device=device
        )
        places = self.faces.shape.shape
        self.data = kernels.FaceRows()
        for name in ("corner", "shape", "weight", "normal", "distance", "kept", "kept_weight"):
            setattr(self.data, name, getattr(self.faces, name))
        slack = np.repeat([_SLACK * b.edge for b in soft.bodies], counts)
        self.data.slack = wp.array(slack, dtype=wp.float32, device=device)
        types = {"end": wp.int32, "gap": wp.float32, "friction": wp.float32}
        types |= dict.fromkeys(("point", "force", "kept_force"), wp.vec3)
        for name, dtype in types.items():
            array: Any = wp.zeros(places, dtype=dtype, device=device)
            setattr(self, name, array)
            setattr(self.data, name, array)

    def find(
        self,
        model: Model,
        tree: QueryTree,
        shapes: PointShapes,
        links: Any,
        near: Any,
        materials: Any,
        time: Any,
        margin: Any,
    ) -> None:
        """Rows at the start of a substep."""
        position = self._soft.state.positions
        self.faces.collide(model, tree, shapes, links.pose, near, position=position, margin=margin)
        inputs = [self._soft.nodes, materials, links, time, position, margin]
        self._launch(kernels.build_faces, inputs, [self.data])

    def push(self, links: Any, time: Any, link_sums: Any, corner_sums: Any) -> None:
        """Give forces to both ends."""
        self._launch(kernels.push_faces, [self.data, links, time], [link_sums, corner_sums])

    def count_active(self, links: Any, time: Any, velocity: Any, counts: list[Any]) -> None:
        """Count rows that push."""
        inputs = [self.data, links, self._soft.nodes, time, velocity]
        self._launch(kernels.count_faces, inputs, counts)

    def renew(self, links: Any, time: Any, velocity: Any, counts: list[Any]) -> None:
        """Next forces, from the velocities that the last ones gave."""
        inputs = [self._soft.nodes, links, time, velocity, *counts]
        self._launch(kernels.renew_faces, inputs, [self.data])

    def keep(self, time: Any, shape_sums: Any) -> None:
        """Keep forces for the next substep."""
        self._launch(kernels.keep_faces, [time], [self.data, shape_sums])

    def forget(self, mask: Any) -> None:
        """Begin without forces where bodies were moved by hand."""
        inputs = [self.faces.corner, self._soft.nodes.body, mask]
        self._launch(kernels.forget_faces, inputs, [self.faces.kept])

    def warm_start(self) -> dict[str, Any]:
        """Arrays that the next step reads."""
        return {
            "face_kept": self.faces.kept,
            "face_kept_weight": self.faces.kept_weight,
            "face_kept_force": self.kept_force,
        }

    def _launch(self, kernel: Any, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(
            kernel, dim=self.faces.shape.shape, inputs=inputs, outputs=outputs, device=self._soft.model.device
        )
