"""Deformables and the dynamics in one substep: both sides solve, and exchange forces until they agree.

Each node that meets something has a row whose force follows from an augmented Lagrangian inside of the implicit solve of
`tensorphys_fem`; the opposite impulse goes to the far end, and the rows of the dynamics are swept again from the start of
the substep. A row knows how its far end yields, as if each row had its share of the mass of its articulation [Tonge,
Benevolenski & Voroshilov 2012], so an exchange never overshoots. The last word has the sweep, with the forces of the last
solve: what the two sides get is equal and opposite to the rounding of integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

import tensorphys_contact
from tensorphys_contact import CONVEX_SHAPES, PointShapes
from tensorphys_dynamics import LinkEnds, Model
from tensorphys_engine._kernels import soft_rows as rows_kernels
from tensorphys_engine._kernels import soft_structs
from tensorphys_engine._kernels import soft_sums as sums_kernels
from tensorphys_engine.soft_faces import SoftFaces
from tensorphys_engine.soft_rows import SHAPE_ROWS

if TYPE_CHECKING:
    from tensorphys_engine.soft_bodies import SoftBodies

# Exchanges of a substep: two hold a grip, four an impact of a stiff body without gain of energy, deformables among each other need more, and so do shapes that lie between nodes alone (docs/architecture.md).
EXCHANGES = 4
SURFACE_EXCHANGES = 8


class SoftCoupling:
    """Substeps of deformables beside a solver; a ``tensorphys_engine.coupling.Coupled``.

    Attributes:
        rows: Rows of the last substep.
        link_impulse: Impulse of the deformables on each link in the last substep, [linear, angular about the centre of
            mass], spatial_vector [links].
        near: Surfaces near the nodes in the last substep.
        faces: Rows of faces in the last substep, None where no shape is convex.
        shape_impulse: Normal impulse of the contacts of deformables on each shape in the last step, vec3 [shapes].
    """

    def __init__(
        self,
        soft: SoftBodies,
        model: Model,
        contact_model: tensorphys_contact.Model,
        point_shapes: PointShapes,
        link_pose: Any,
    ) -> None:
        """Allocate.

        Args:
            soft: Deformables.
            model: Bodies of the dynamics.
            contact_model: Their shapes.
            point_shapes: Geometry of the shapes.
            link_pose: Poses of the links at the start.
        """
        self.soft, self.rows = soft, soft.rows
        self._contact_model, self._point_shapes = contact_model, point_shapes
        self._surfaces = soft.make_surfaces()
        widths = _convex_widths(contact_model)
        self.faces = SoftFaces(soft) if widths.size else None
        # a shape that fits between nodes may be held by rows of faces alone
        between = bool((widths < max(body.edge for body in soft.bodies)).any())
        few = EXCHANGES if self._surfaces is None and not between else SURFACE_EXCHANGES
        self._exchanges = few if soft.exchanges is None else soft.exchanges
        self._substeps = self._remaining = 1
        device = soft.model.device
        count = soft.model.node_count
        self._tree = tensorphys_contact.create_query_tree(contact_model, link_pose)
        self.near = tensorphys_contact.create_point_contacts(soft.node_environment, SHAPE_ROWS, device)
        self.near.ignored_body = soft.ignored_body
        self._time: Any = wp.zeros(1, dtype=wp.float32, device=device)
        self._margin: Any = wp.zeros(count, dtype=wp.float32, device=device)
        self._surface_margin: Any = wp.zeros(count, dtype=wp.float32, device=device)
        links = max(model.link_count, 1)
        self._link_sums: Any = wp.zeros((links, 6), dtype=wp.int64, device=device)
        self._corner_sums: Any = wp.zeros((count, 3), dtype=wp.int64, device=device)
        shapes = max(contact_model.shape_count, 1)
        self._shape_sums: Any = wp.zeros((shapes, 3), dtype=wp.int64, device=device)
        self.shape_impulse: Any = wp.zeros(shapes, dtype=wp.vec3, device=device)
        self._group: Any = wp.zeros(max(model.articulation_count, 1), dtype=wp.int32, device=device)
        self._by_node: Any = wp.zeros(count, dtype=wp.int32, device=device)
        self._by_body: Any = wp.zeros(soft.model.body_count, dtype=wp.int32, device=device)
        self._met: Any = wp.zeros(soft.model.body_count, dtype=wp.int32, device=device)
        spatial: Any = wp.spatial_vector
        self.link_impulse = wp.zeros(links, dtype=spatial, device=device)
        self._others = wp.zeros(links, dtype=spatial, device=device)
        self._near = self._near_arrays(count, device)

    def near_shapes(self, link_pose: Any, distance: float) -> tuple[Any, Any]:
        """Shapes within a distance of each node now, nearest first; for the build, it returns to the host.

        Args:
            link_pose: Poses of the links, transform [links].
            distance: [length], at least 0.

        Returns:
            Their number, int32 [N], and flat shapes, int32 [N, rows].
        """
        margin = wp.full(
            self.soft.model.node_count, distance, dtype=wp.float32, device=self.soft.model.device
        )
        tensorphys_contact.update_query_tree(self._tree, self._contact_model, link_pose)
        tensorphys_contact.collide_points(
            self._contact_model,
            self._tree,
            self._point_shapes,
            link_pose,
            self.near,
            position=self.soft.state.positions,
            margin=margin,
        )
        return self.near.count.numpy().copy(), self.near.shape.numpy().copy()

    def attach(self, ends: LinkEnds, substeps: int) -> None:
        """Take part in the steps of a solver."""
        self.ends, self._substeps = ends, substeps
        self._links = soft_structs.Links()
        for name in ("com", "pose", "velocity", "response", "group"):
            setattr(self._links, name, getattr(ends, name))

    def _near_arrays(self, count: int, device: Any) -> Any:
        near = soft_structs.Near()
        for name in ("count", "shape", "normal", "point", "distance"):
            setattr(near, name, getattr(self.near, name))
        s = self._surfaces
        near.triangle = wp.full(count, -1, dtype=wp.int32, device=device) if s is None else s.triangle
        near.weight = wp.zeros(1, dtype=wp.vec3, device=device) if s is None else s.weight
        near.surface_normal = wp.zeros(1, dtype=wp.vec3, device=device) if s is None else s.normal
        near.surface_distance = wp.zeros(1, dtype=wp.float32, device=device) if s is None else s.distance
        near.corner = wp.zeros(1, dtype=wp.vec3i, device=device) if s is None else s.corner
        near.owner = wp.zeros(1, dtype=wp.int32, device=device) if s is None else s.owner
        self._materials = soft_structs.Surfaces()
        m = self._contact_model
        self._materials.body = m.shape_body
        self._materials.dynamic_friction = m.dynamic_friction
        self._materials.friction_combine = m.friction_combine
        self._materials.rest_offset = m.rest_offset
        return near

    def begin(self, time_step: wp.array[wp.float32]) -> None:
        """Begin a step."""
        self.soft.contact_force.zero_()
        self.soft.attachment_force.zero_()
        self.shape_impulse.zero_()
        self._launch(rows_kernels.split_step, 1, [time_step, self._substeps], [self._time])
        self._remaining = self._substeps

    def exchange(self, sweep: Callable[[], None]) -> None:
        """Take a substep of all deformables, together with the rows of the dynamics."""
        soft, fem, control = self.soft, self.soft.fem, self.soft.substep_control
        inputs = [soft.control.target, soft.state.position, self._remaining]
        self._launch(rows_kernels.part_targets, soft.model.node_count, inputs, [control.target])
        self._remaining -= 1
        if self._others.shape[0] == self.ends.impulse.shape[0]:
            wp.copy(self._others, self.ends.impulse)
        self._find_rows()
        fem.begin(soft.state, control, self._time)
        velocity = soft.state.velocities
        for number in range(self._exchanges):
            if self.faces is not None and number > 0:
                self.faces.renew(
                    self._links, self._time, velocity, [self._group, self._by_node, self._by_body]
                )
            self._push_ends()
            self.ends.sweep(sweep)
            self._aim(velocity)
            fem.solve(control)
            velocity = fem.candidate_velocity
        self._push_ends()
        self.ends.sweep(sweep)
        fem.finish(soft.state, control)
        self._launch(
            sums_kernels.sum_shapes, soft.model.node_count, [self.rows.data, self._time], [self._shape_sums]
        )
        if self.faces is not None:
            self.faces.keep(self._time, self._shape_sums)
        outputs = [self._shape_sums, self.shape_impulse]
        self._launch(sums_kernels.take_shapes, self.shape_impulse.shape[0], [], outputs)
        self._launch(
            sums_kernels.keep_rows,
            soft.model.node_count,
            [self._substeps, self.rows.counterforce],
            [self.rows.data, soft.contact_force, soft.attachment_force],
        )

    def _find_rows(self) -> None:
        soft = self.soft
        inputs = [soft.nodes, soft.control.gravity, self._time, soft.state.velocities]
        outputs = [self._margin, self._surface_margin]
        self._launch(rows_kernels.search_margins, soft.model.node_count, inputs, outputs)
        tensorphys_contact.update_query_tree(self._tree, self._contact_model, self.ends.pose)
        tensorphys_contact.collide_points(
            self._contact_model,
            self._tree,
            self._point_shapes,
            self.ends.pose,
            self.near,
            position=soft.state.positions,
            margin=self._margin,
        )
        if self._surfaces is not None:
            self._surfaces.collide(soft.state.positions, self._surface_margin)
        inputs = [
            soft.nodes,
            self._near,
            self._materials,
            self._links,
            soft.attachments,
            self._time,
            soft.state.positions,
        ]
        self._launch(rows_kernels.build_rows, soft.model.node_count, inputs, [self.rows.data])
        if self.faces is not None:
            self.faces.find(
                self._contact_model,
                self._tree,
                self._point_shapes,
                self._links,
                self.near,
                self._materials,
                self._time,
                self._margin,
            )

    def _push_ends(self) -> None:
        """The opposite of the forces of the rows, to links and to nodes of other deformables."""
        count = self.soft.model.node_count
        inputs = [self.rows.data, self._near, self._links, self._time]
        self._launch(sums_kernels.push_ends, count, inputs, [self._link_sums, self._corner_sums])
        if self.faces is not None:
            self.faces.push(self._links, self._time, self._link_sums, self._corner_sums)
        links = self.ends.impulse.shape[0]
        if links:
            from tensorphys_contact.impulse_sums import take_sums

            self._launch(take_sums, links, [], [self._link_sums, self.link_impulse])
            inputs = [self._others, self.link_impulse]
            self._launch(sums_kernels.add_impulses, links, inputs, [self.ends.impulse])
        if self._surfaces is not None or self.faces is not None:
            self._launch(sums_kernels.take_corners, count, [], [self._corner_sums, self.rows.counterforce])

    def _aim(self, velocity: Any) -> None:
        soft, count = self.soft, self.soft.model.node_count
        counts = [self._group, self._by_node, self._by_body, self._met]
        for array in counts:
            array.zero_()
        inputs = [self.rows.data, self._near, self._links, soft.nodes, self._time, velocity]
        self._launch(rows_kernels.count_active, count, inputs, counts)
        if self.faces is not None:
            self.faces.count_active(self._links, self._time, velocity, counts[:3])
        inputs = [
            soft.nodes,
            self._near,
            self._links,
            soft.attachments,
            self._time,
            velocity,
            *counts,
        ]
        self._launch(rows_kernels.aim_rows, count, inputs, [self.rows.data])

    def _launch(self, kernel: Any, count: int, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(kernel, dim=count, inputs=inputs, outputs=outputs, device=self.soft.model.device)


def _convex_widths(model: tensorphys_contact.Model) -> Any:
    """The second of the three extents of each convex shape: what is longer than this part of a face reaches its corners."""
    convex = np.isin(model.shape_type.numpy(), [int(kind) for kind in CONVEX_SHAPES])
    return 2.0 * np.sort(model.shape_half.numpy()[convex], axis=1)[:, 1]
