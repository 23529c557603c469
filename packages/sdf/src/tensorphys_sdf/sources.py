"""Where the values of a field come from: a surface, a function, or another field."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

from tensorphys_sdf._kernels import bricks, exact
from tensorphys_sdf.errors import ParameterError
from tensorphys_sdf.filling import Evaluate, FillBricks
from tensorphys_sdf.surface import Surface

# A Warp function ``f(p: wp.vec3) -> float``, or one of float64 positions (N, 3) that returns N distances.
DistanceFunction = Callable[..., Any]


def evaluate_surface(surface: Surface) -> Evaluate:
    """Exact signed distances of a surface."""
    propagate = int(surface.report.closed and surface.sign == "winding")

    def evaluate(points: Any, row: int) -> Any:
        out = wp.empty(len(points), dtype=wp.float32, device=surface.device)
        wp.launch(
            exact.unsigned_rows,
            dim=len(points) // row,
            inputs=[surface.struct, points, row],
            outputs=[out],
            device=surface.device,
        )
        if surface.sign != "unsigned":
            wp.launch(
                exact.sign_rows,
                dim=len(points) // row,
                inputs=[surface.struct, points, row, propagate],
                outputs=[out],
                device=surface.device,
            )
        return out

    return evaluate


def fill_by_surface(surface: Surface) -> FillBricks:
    """Exact signed distances at the nodes of bricks, by the triangles near each of their parts.

    For the CPU, where the threads of a launch run one after another and share what they note.
    """
    inside_known = surface.report.closed and surface.sign == "winding"
    mesh = surface.mesh

    def distances(place: list[Any], count: int, values: Any) -> None:
        near = wp.empty((int(bricks.CAPACITY), 5), dtype=wp.vec3, device=surface.device)
        wp.launch(
            bricks.brick_distances,
            dim=8 * count,
            inputs=[surface.struct, mesh.points, mesh.indices, *place],
            outputs=[near, values],
            device=surface.device,
        )
        if not inside_known and surface.sign != "unsigned":
            give_signs(place, count, values, 0)

    def signs(place: list[Any], count: int, values: Any) -> None:
        if inside_known:
            give_signs(place, count, values, 1)

    def give_signs(place: list[Any], count: int, values: Any, propagate: int) -> None:
        inputs = [surface.struct, *place, propagate]
        wp.launch(bricks.brick_signs, dim=count, inputs=inputs, outputs=[values], device=surface.device)

    return FillBricks(distances, signs)


@functools.lru_cache(maxsize=64)
def _function_kernel(function: Any) -> Any:
    def evaluate_function(points: wp.array[wp.vec3], distance_out: wp.array[wp.float32]):  # type: ignore[no-untyped-def]
        tid = wp.tid()
        distance_out[tid] = function(points[tid])

    return wp.Kernel(
        func=evaluate_function,
        key=f"evaluate_{function.key}",
        module=wp.get_module(f"tensorphys_sdf.function.{function.key}.{id(function)}"),
        options={"enable_backward": False},
    )


def evaluate_function(function: DistanceFunction, device: Any) -> Evaluate:
    """Values of a Warp function or of a function of NumPy arrays.

    Raises:
        ParameterError: A NumPy function returns another number of values than it was given points.
    """
    if isinstance(function, wp.Function):
        kernel = _function_kernel(function)

        def evaluate(points: Any, row: int) -> Any:
            out = wp.empty(len(points), dtype=wp.float32, device=device)
            wp.launch(kernel, dim=len(points), inputs=[points], outputs=[out], device=device)
            return out

        return evaluate

    def evaluate_numpy(points: Any, row: int) -> Any:
        given = points.numpy().astype(np.float64)
        values = np.asarray(function(given), dtype=np.float32).reshape(-1)
        if len(values) != len(given):
            raise ParameterError(f"function: expected {len(given)} distances, got {len(values)}")
        return wp.array(values, dtype=wp.float32, device=device)

    return evaluate_numpy
