"""The shapes of a model as obstacles of particles."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
import warp as wp

from ._kernels import point_sets as kernels
from .model import Model
from .point_sets import PointShapes, collide_points, create_point_contacts
from .queries import QueryTree, update_query_tree


class PointObstacles:
    """All shapes as planes beside each particle; has the structure of ``tensorphys_particles.Obstacles``.

    The owner of the bodies writes their state before a substep (``body_pose``, ``body_com``, ``body_velocity``,
    ``body_response``) and takes ``body_impulse`` after it.

    Attributes:
        count, normal, point, velocity, friction, response, impulse: As the protocol of particles has them.
        body_pose: Poses of the bodies, environment frames, transform [bodies].
        body_com: Their centres of mass, environment frames [length], vec3 [bodies].
        body_velocity: [linear at the centre of mass, angular], spatial_vector [bodies].
        body_response: Velocity by impulse about the centre of mass, zero for what does not yield, spatial_matrix
            [bodies].
        body_impulse: Impulse of the particles on each body in the last substep, [linear, angular about the centre of
            mass], spatial_vector [bodies].
        needed: Most rows that a particle wanted where that is more than there are, int32 [1].
    """

    def __init__(
        self,
        model: Model,
        tree: QueryTree,
        shapes: PointShapes,
        environment: npt.ArrayLike,
        *,
        rows: int = 4,
        body_pose: Any = None,
        body_com: Any = None,
        body_velocity: Any = None,
        body_response: Any = None,
    ) -> None:
        """Allocate the rows.

        Args:
            model: Shapes.
            tree: Their boxes; followed to the poses by :meth:`collide`.
            shapes: Their geometry.
            environment: Environment of each particle.
            rows: Rows a particle.
            body_pose, body_com, body_velocity, body_response: Arrays to read instead of own ones.
        """
        self.model, self.tree, self.shapes = model, tree, shapes
        self.contacts = create_point_contacts(environment, rows, model.device)
        self.count, self.normal, self.point = (
            self.contacts.count,
            self.contacts.normal,
            self.contacts.point,
        )
        self.needed = self.contacts.needed
        shape, device, bodies = self.normal.shape, model.device, max(model.body_count, 1)
        self.velocity, self.impulse = (wp.zeros(shape, dtype=wp.vec3, device=device) for _ in range(2))
        self.friction, self.response = (wp.zeros(shape, dtype=wp.float32, device=device) for _ in range(2))

        def own(given: Any, dtype: Any) -> Any:
            return wp.zeros(bodies, dtype=dtype, device=device) if given is None else given

        self.body_pose = own(body_pose, wp.transform)
        self.body_com = own(body_com, wp.vec3)
        self.body_velocity = own(body_velocity, wp.spatial_vector)
        self.body_response = own(body_response, wp.spatial_matrix)
        spatial: Any = wp.spatial_vector
        self.body_impulse = wp.zeros(bodies, dtype=spatial, device=device)
        self._sums: Any = wp.zeros((bodies, 6), dtype=wp.int64, device=device)
        self._touching: Any = wp.zeros(bodies, dtype=wp.int32, device=device)

    def collide(self, positions: wp.array, margin: wp.array, time: wp.array) -> None:
        """Write the rows of a substep.

        Args:
            positions: Where particles are at its end if nothing holds them [length], vec3 [N].
            margin: Distance from which a particle wants a row [length]; −inf: never. float32 [N].
            time: Length of the substep; bodies are seen where they are at its start.
        """
        del time
        update_query_tree(self.tree, self.model, self.body_pose)
        collide_points(
            self.model,
            self.tree,
            self.shapes,
            self.body_pose,
            self.contacts,
            position=positions,
            margin=margin,
        )
        self._touching.zero_()
        found = [self.count, self.contacts.shape]
        self._launch(
            kernels.fill_obstacles,
            [
                self.shapes.columns,
                self.model.dynamic_friction,
                *found,
                self.normal,
                self.body_com,
                self.body_velocity,
                self.body_response,
            ],
            [self.point, self.velocity, self.friction, self.response, self._touching],
        )
        self._launch(kernels.share_obstacles, [self.shapes.columns, *found, self._touching], [self.response])

    def advance(self, time: wp.array) -> None:
        """Sum the impulses of the substep for each body."""
        del time
        self._launch(
            kernels.sum_obstacles,
            [
                self.shapes.columns,
                self.count,
                self.contacts.shape,
                self.point,
                self.impulse,
                self.body_com,
            ],
            [self._sums],
        )
        wp.launch(
            kernels.take_sums,
            dim=self.body_impulse.shape[0],
            inputs=[],
            outputs=[self._sums, self.body_impulse],
            device=self.model.device,
        )

    def _launch(self, kernel: Any, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(kernel, dim=self.count.shape[0], inputs=inputs, outputs=outputs, device=self.model.device)
