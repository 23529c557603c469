"""What the views of deformables of both generations share: reading and writing of nodes and elements."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys._kernels.elements import (
    bound_points,
    gather_matrices,
    gather_rotations,
    gather_targets,
    mark_bodies,
    scatter_targets,
)
from tensorphys._kernels.items import gather_item_points, scatter_item_points
from tensorphys.constants_view import plain_layout
from tensorphys.deformable_meshes import CollisionMeshes, SimulationMeshes
from tensorphys.rows import Layout
from tensorphys.view import TensorView
from tensorphys_arrays import Buffer

if TYPE_CHECKING:
    from tensorphys.core import Core

__all__ = ["DeformableRows", "deformable_layout"]

IntArray = npt.NDArray[np.int32]


def deformable_layout(core: Core, bodies: IntArray, subspaces: npt.NDArray[np.float64]) -> Layout:
    """Rows of a view of deformables."""
    soft = core.soft
    homes = soft.body_environment[bodies]
    return Layout(
        objects=bodies,
        articulations=plain_layout(len(bodies), {}).articulations,
        slots={},
        origins=core.catalog.scene.environments.origin[homes],
        subspaces=subspaces,
    )


class DeformableRows(TensorView):
    """Deformables, one row each; rows of smaller ones end with zeros.

    Arrays are on the device of the simulation; each getter owns one and hands out that same array on every call.
    ``indices=None`` means all rows.
    """

    def __init__(self, core: Core, paths: Sequence[str], layout: Layout | None) -> None:
        super().__init__(core, layout)
        self._paths = list(paths)
        self._buffers: dict[str, Buffer] = {}
        if layout is not None:
            self._simulation = SimulationMeshes(core, layout.objects)
            self._collision = CollisionMeshes(core, layout.objects)
            self._bodies: Any = wp.array(layout.objects, dtype=wp.int32, device=core.device)
            self._slots: dict[tuple[int, str], Any] = {}

    @property
    def prim_paths(self) -> list[str]:
        """Prim of each row."""
        return self._paths

    def _meshes(self, collision: bool) -> SimulationMeshes:
        return self._collision if collision else self._simulation

    def _items(self, collision: bool, kind: str) -> int:
        """Items of the largest row; 0 for a view of nothing."""
        return 0 if self._backend is None else int(getattr(self._meshes(collision), kind).shape[1])

    def _places(self, meshes: SimulationMeshes, kind: str) -> Any:
        key = (id(meshes), kind)
        if key not in self._slots:
            numbers = np.ascontiguousarray(getattr(meshes, kind))
            self._slots[key] = wp.array(numbers, dtype=wp.int32, device=self._core.device)
        return self._slots[key]

    def _buffer(self, name: str, shape: tuple[int, ...], dtype: Any = wp.float32) -> Buffer:
        if name not in self._buffers:
            self._buffers[name] = self._core.frontend.allocate(shape, dtype, self._core.device)
        return self._buffers[name]

    def _constant(self, name: str, make: Any, dtype: Any = wp.float32, *, flat: bool = False) -> Any:
        """An array that never changes; what a user wrote into it is put right."""
        self._rows(f"get_{name}")
        with self._core.frontend.ordered_with_caller(self._core.device):
            values = make()
            shape = (self.count, int(np.prod(values.shape[1:]))) if flat else values.shape
            buffer = self._buffer(name, shape, dtype)
            buffer.warp.assign(np.ascontiguousarray(values.reshape(shape)))
        return buffer.array

    def _gather_points(self, name: str, collision: bool, source: Any = None, *, moves: bool = True) -> Any:
        """Points or vectors of nodes, shape [count, nodes, 3]."""
        rows, meshes = self._rows(f"get_{name}"), self._meshes(collision)
        slots = self._places(meshes, "nodes")
        buffer = self._buffer(name, (*slots.shape, 3))
        nothing = self._nowhere
        with self._core.frontend.ordered_with_caller(self._core.device):
            offset = rows.view_offset if moves else nothing
            points = meshes.positions() if source is None else source
            self._launch(gather_item_points, slots.shape, [points, slots, *offset], [buffer.warp])
        return buffer.array

    @property
    def _nowhere(self) -> tuple[Any, Any]:
        zero = self._buffers.get("")
        if zero is None:
            zero = self._buffers[""] = self._core.frontend.allocate(
                (self.count, 3), wp.float32, self._core.device
            )
        vectors = wp.array(
            ptr=zero.warp.ptr, dtype=wp.vec3, shape=(self.count,), device=zero.warp.device, copy=False
        )
        vectors._owner = zero.warp
        return vectors, vectors

    def _gather_elements(self, name: str, collision: bool, source: str, *, flat: bool = False) -> Any:
        """A measure of elements, shape [count, elements, 9 or 4], flat where asked for."""
        self._rows(f"get_{name}")
        meshes = self._meshes(collision)
        slots = self._places(meshes, "elements")
        width = 4 if source == "rotations" else 9
        shape = (*slots.shape, width)
        buffer = self._buffer(name, (shape[0], shape[1] * width) if flat else shape)
        kernel = gather_rotations if source == "rotations" else gather_matrices
        with self._core.frontend.ordered_with_caller(self._core.device):
            values = getattr(meshes.measure(), source)
            self._launch(kernel, slots.shape, [values, slots], [buffer.warp.reshape(shape)])
        return buffer.array

    def _scatter_nodes(self, name: str, data: Any, indices: Any) -> None:
        """Write positions or velocities of the simulation nodes of the selected rows."""
        rows, soft = self._rows(f"set_{name}"), self._core.soft
        what = f"{type(self).__name__}.set_{name}"
        slots = self._places(self._simulation, "nodes")
        is_position = name.endswith("positions")
        with self._core.frontend.ordered_with_caller(self._core.device):
            values = self._transfer.input(data, (*slots.shape, 3), f"{what}(data)")
            selected = self._transfer.select(indices, what)
            if selected is None:
                return
            offset = rows.view_offset if is_position else self._nowhere
            staged, mask = self._staging
            wp.copy(staged, soft.state.positions if is_position else soft.state.velocities)
            mask.zero_()
            self._launch(
                scatter_item_points, slots.shape, [values, slots, selected, *rows.same, *offset], [staged]
            )
            self._launch(mark_bodies, rows.count, [self._bodies, selected], [mask])
            write = soft.set_positions if is_position else soft.set_velocities
            write(staged, mask)

    @cached_property
    def _staging(self) -> tuple[Any, Any]:
        """Nodes and marks of bodies on their way into the state; made once, so that setters can be captured."""
        soft = self._core.soft
        marks: Any = wp.zeros(soft.body_count, dtype=wp.int32, device=self._core.device)
        return wp.clone(soft.state.positions), marks

    def _gather_targets(self, name: str) -> Any:
        rows = self._rows(f"get_{name}")
        slots = self._places(self._simulation, "nodes")
        buffer = self._buffer(name, (*slots.shape, 4))
        with self._core.frontend.ordered_with_caller(self._core.device):
            target = self._core.soft.control.target
            self._launch(gather_targets, slots.shape, [target, slots, *rows.view_offset], [buffer.warp])
        return buffer.array

    def _scatter_targets(self, name: str, data: Any, indices: Any) -> None:
        rows = self._rows(f"set_{name}")
        what = f"{type(self).__name__}.set_{name}"
        slots = self._places(self._simulation, "nodes")
        with self._core.frontend.ordered_with_caller(self._core.device):
            values = self._transfer.input(data, (*slots.shape, 4), f"{what}(data)")
            selected = self._transfer.select(indices, what)
            if selected is None:
                return
            inputs = [values, slots, selected, *rows.same, *rows.view_offset]
            self._launch(scatter_targets, slots.shape, inputs, [self._core.soft.control.target])

    def get_transforms(self) -> Any:
        """Centre of the box around the nodes of each body, without rotation, shape [count, 7]."""
        rows = self._rows("get_transforms")
        slots = self._places(self._simulation, "nodes")
        buffer = self._buffer("transforms", (rows.count, 7))
        with self._core.frontend.ordered_with_caller(self._core.device):
            inputs = [self._simulation.positions(), slots, *rows.view_offset]
            self._launch(bound_points, rows.count, inputs, [buffer.warp])
        return buffer.array

    def _launch(self, kernel: Any, dim: Any, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(kernel, dim, inputs, outputs, device=self._core.device)
