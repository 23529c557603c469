"""Simulation and collision meshes of deformables as views see them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys._kernels.elements import interpolate_points
from tensorphys.catalog import spread

if TYPE_CHECKING:
    from tensorphys.core import Core
    from tensorphys_fem import FemMeasures, FemModel

__all__ = ["CollisionMeshes", "SimulationMeshes"]

IntArray = npt.NDArray[np.int32]


class SimulationMeshes:
    """The meshes that are simulated, of the bodies of a view.

    Args:
        core: What all views share.
        bodies: Numbers of the bodies, one a row.

    Attributes:
        nodes, elements: Flat node and element of each item, -1 where a row has fewer, shape [rows, items].
    """

    def __init__(self, core: Core, bodies: IntArray) -> None:
        self._core, self._bodies = core, bodies
        model = self.model
        start = np.asarray(model.node_start, np.int64)
        self.nodes = spread(start[bodies], np.diff(start)[bodies])
        first = np.asarray(model.element_start, np.int64)[bodies]
        self.elements = spread(first, np.array([len(self._corners(body)) for body in bodies.tolist()]))

    @property
    def model(self) -> FemModel:
        """Model whose flat arrays the numbers stand for."""
        return self._core.soft.model

    def measure(self) -> FemMeasures:
        """Stresses and the like of all elements as they are now."""
        soft = self._core.soft
        soft.measures.measure_elements(soft.state)
        return soft.measures

    def positions(self) -> wp.array:
        """Positions of all nodes, environment frames [m], vec3."""
        return self._core.soft.state.positions

    def _mesh(self, body: int) -> Any:
        return self.model.bodies[body].mesh

    def _corners(self, body: int) -> IntArray:
        mesh = self._mesh(body)
        return np.asarray(mesh.tets if hasattr(mesh, "tets") else mesh.triangles, np.int32)

    @property
    def width(self) -> int:
        """Nodes of an element."""
        return max((self._corners(body).shape[1] for body in self._bodies.tolist()), default=4)

    def indices(self) -> npt.NDArray[np.uint32]:
        """Nodes of each element, counted from the first of its body, shape [rows, elements, width]."""
        result = np.zeros((*self.elements.shape, self.width), np.uint32)
        for row, body in enumerate(self._bodies.tolist()):
            corners = self._corners(body)
            result[row, : len(corners)] = corners
        return result

    def rest_points(self) -> npt.NDArray[np.float32]:
        """Nodes at rest in the axes of each body, scale included [m], shape [rows, nodes, 3]."""
        result = np.zeros((*self.nodes.shape, 3), np.float32)
        for row, body in enumerate(self._bodies.tolist()):
            points = self._mesh(body).points
            result[row, : len(points)] = points
        return result

    def rest_poses(self) -> npt.NDArray[np.float32]:
        """Inverse of the edges [x1 − x0, x2 − x0, x3 − x0] at rest, column by column, shape [rows, elements, 9].

        Zero where an element has no volume.
        """
        result = np.zeros((*self.elements.shape, 9), np.float32)
        for row, body in enumerate(self._bodies.tolist()):
            points, corners = np.asarray(self._mesh(body).points, float), self._corners(body)
            edges = np.swapaxes(points[corners[:, 1:]] - points[corners[:, :1]], 1, 2)
            solid = np.abs(np.linalg.det(edges)) > 6.0e-9
            inverse = np.zeros_like(edges)
            inverse[solid] = np.linalg.inv(edges[solid])
            result[row, : len(corners)] = np.swapaxes(inverse, 1, 2).reshape(len(corners), 9)
        return result


class CollisionMeshes(SimulationMeshes):
    """The collision meshes of the bodies of a view, which the simulation meshes carry.

    A body whose prim has no collision mesh of its own shows its simulation mesh.
    """

    def __init__(self, core: Core, bodies: IntArray) -> None:
        soft = core.soft
        self._own = any(soft.bodies[body].collision is not None for body in bodies.tolist())
        if self._own:
            self._build(core)
        super().__init__(core, bodies)

    def _build(self, core: Core) -> None:
        """A model of all collision meshes, for its measures, and what carries its nodes."""
        from tensorphys_fem import Body, FemModel, TetMesh

        soft = core.soft
        made: list[Body] = []
        nodes: list[npt.NDArray[Any]] = []
        weights: list[npt.NDArray[Any]] = []
        for number, item in enumerate(soft.bodies):
            first, body = int(soft.model.node_start[number]), item.body
            if item.collision is None:
                made.append(body)
                own = first + np.arange(len(body.mesh.points))
                nodes.append(np.repeat(own[:, None], 4, axis=1))
                weights.append(np.tile([1.0, 0.0, 0.0, 0.0], (len(own), 1)))
                continue
            mesh = TetMesh.from_arrays(item.collision.points, item.collision.elements)
            made.append(Body(mesh, body.material, environment=body.environment, name=body.name))
            nodes.append(first + item.collision.nodes)
            weights.append(item.collision.weights)
        device = core.device
        count = soft.model.environment_count
        self._model = FemModel(made, environment_count=count, nodal_dilatation=False, device=device)
        self._nodes: Any = wp.array(np.concatenate(nodes).astype(np.int32), dtype=wp.vec4i, device=device)
        self._weights: Any = wp.array(
            np.concatenate(weights).astype(np.float32), dtype=wp.vec4, device=device
        )
        self._places: Any = wp.zeros(self._model.node_count, dtype=wp.vec3, device=device)

    @cached_property
    def _followers(self) -> tuple[Any, Any]:
        from tensorphys_fem import FemMeasures, FemState

        return FemState(self._model), FemMeasures(self._model)

    @property
    def model(self) -> FemModel:
        """Model whose flat arrays the numbers stand for."""
        return self._model if self._own else super().model

    def measure(self) -> FemMeasures:
        """Stresses and the like of all elements as they are now."""
        if not self._own:
            return super().measure()
        state, measures = self._followers
        given = self._core.soft.model.materials
        for name in ("youngs_modulus", "poissons_ratio", "law"):
            wp.copy(getattr(self._model.materials, name), getattr(given, name))
        state.set_positions(self.positions())
        measures.measure_elements(state)
        return measures

    def positions(self) -> wp.array:
        """Positions of all nodes, environment frames [m], vec3."""
        if not self._own:
            return super().positions()
        wp.launch(
            interpolate_points,
            dim=self._places.shape[0],
            inputs=[super().positions(), self._nodes, self._weights],
            outputs=[self._places],
            device=self._core.device,
        )
        return self._places
