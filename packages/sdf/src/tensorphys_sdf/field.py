"""A signed distance field and its queries."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import warp as wp

from tensorphys_sdf._kernels import differentiable, query, records
from tensorphys_sdf.errors import ArrayError, NoSurfaceError, ParameterError
from tensorphys_sdf.grid import Grid
from tensorphys_sdf.mesh import Array
from tensorphys_sdf.parameters import FieldParameters
from tensorphys_sdf.structs import SdfSurface
from tensorphys_sdf.surface import Surface

Mode = Literal["sampled", "exact"]

_ALIGNMENT = 16  # bytes that one store of a result writes
_RIM_THREADS = 1 << 16  # threads that share the points beyond the grid; one on the CPU
_MARCH_STEPS = 512


class SignedDistanceField:
    """Distances to the surface of a shape, negative inside, at any points.

    Made by :func:`field_from_mesh`, :func:`field_from_function`, :func:`field_from_voxels` or
    :func:`load_field`. Points and results are NumPy arrays, or Warp arrays on the device of the field (``vec3``
    in; nothing is read back then, so that a query may be captured in a CUDA graph). Lengths are those of the
    shape. All points are in the frame of the shape, or in world axes when ``pose`` is given.

    Attributes:
        grid: The stored distances.
        surface: The surface for exact queries, or None. Of a field made of a function or of voxels it is
            extracted from the stored distances, and serves points beyond the grid.
        parameters: How finely the field is stored.
        exact: Whether ``surface`` is the given shape itself, so that ``mode="exact"`` is available.
        key: Hash of the content that the field was made of, or an empty string.
    """

    def __init__(
        self,
        grid: Grid,
        surface: Surface | None,
        parameters: FieldParameters,
        *,
        exact: bool,
        key: str = "",
    ) -> None:
        self.grid, self.surface, self.parameters, self.exact, self.key = grid, surface, parameters, exact, key
        self.device = grid.device
        self.surface_struct = surface.struct if surface is not None else _bounds_only(grid)
        # an extracted surface may lack what is thinner than a cell, so that no bound may come from it
        self._bound_struct = self.surface_struct if exact else _bounds_only(grid)
        self._no_poses = wp.empty(0, dtype=wp.transform, device=self.device)

    @property
    def error_bound(self) -> float:
        """Bound of the error of sampled distances within the grid, for closed meshes and true distances."""
        return self.grid.error_bound()

    @property
    def byte_count(self) -> int:
        """Device memory of the stored distances [bytes], without the surface."""
        return self.grid.byte_count

    def distance(
        self,
        points: Any,
        *,
        pose: Any = None,
        mode: Mode = "sampled",
        conservative: bool = False,
        out: Any = None,
    ) -> Any:
        """Signed distances, negative inside.

        Args:
            points: Positions, shape ``(..., 3)``, or a Warp array of ``vec3``. With ``requires_grad`` the
                derivative goes through Warp's tape.
            pose: Pose of the shape ``[x y z qx qy qz qw]``, shape ``(7,)`` or one for each point; points are in
                world axes then.
            mode: ``sampled`` reads the grid; ``exact`` asks the surface.
            conservative: Return a true lower bound of the signed distance instead. It holds for closed meshes,
                unsigned fields, and functions that are true distances.
            out: Warp array of float32 to write into.

        Returns:
            Distances, shape ``(...)``; a Warp array for Warp points.

        Raises:
            ArrayError: An array has the wrong type, shape or device.
            NoSurfaceError: ``mode="exact"`` of a field that was made of values alone.
        """
        _check_mode(mode)
        p, shape = self._points(points)
        poses = self._poses(pose, len(p))
        result = self._out(out, len(p), wp.float32, requires_grad=p.requires_grad)
        if conservative:
            if mode == "exact":
                raise ParameterError(
                    "conservative: the exact distance is its own lower bound; leave mode out"
                )
            self._launch(
                query.lower_bounds, len(p), [self.grid.struct, self._bound_struct, poses, p], [result]
            )
        elif mode == "exact":
            surface = self._exact_surface()
            if p.requires_grad:
                inputs = [surface.struct, poses, p]
                self._launch(differentiable.taped_exact_distances, len(p), inputs, [result])
            else:
                fields = wp.empty(len(p), dtype=wp.vec4, device=self.device)
                self._launch(query.exact_fields, len(p), [surface.struct, poses, p], [fields])
                self._launch(query.first_components, len(p), [fields], [result])
        elif p.requires_grad:
            inputs = [self.grid.struct, self.surface_struct, poses, p]
            self._launch(differentiable.taped_distances, len(p), inputs, [result])
        else:
            self._two_passes("distances", poses, p, result)
        return self._result(points, result, shape)

    def distance_and_gradient(
        self, points: Any, *, pose: Any = None, mode: Mode = "sampled", out: Any = None
    ) -> Any:
        """Signed distances and their derivative with respect to the points.

        The sampled gradient is the exact derivative of the sampled distance (its length is near 1, not 1); the
        exact one has unit length.

        Args:
            points: As for :meth:`distance`.
            pose: As for :meth:`distance`; gradients are in world axes then.
            mode: As for :meth:`distance`.
            out: Warp array of ``vec4`` to write into.

        Returns:
            ``[distance, gx, gy, gz]``, shape ``(..., 4)``; for Warp points a Warp array of ``vec4``.

        Raises:
            ArrayError: An array has the wrong type, shape or device.
            NoSurfaceError: ``mode="exact"`` of a field that was made of values alone.
        """
        p, shape = self._points(points)
        result = self._fields(p, self._poses(pose, len(p)), mode, out)
        return self._result(points, result, (*shape, 4))

    def normal(self, points: Any, *, pose: Any = None, mode: Mode = "sampled", out: Any = None) -> Any:
        """Unit vectors away from the surface (towards growing distance), zero where the gradient is.

        Args and errors as for :meth:`distance_and_gradient`; ``out`` is a Warp array of ``vec3``.

        Returns:
            Shape ``(..., 3)``; for Warp points a Warp array of ``vec3``.
        """
        p, shape = self._points(points)
        fields = self._fields(p, self._poses(pose, len(p)), mode, None)
        result = self._out(out, len(p), wp.vec3)
        self._launch(query.unit_gradients, len(p), [fields], [result])
        return self._result(points, result, (*shape, 3))

    def closest_point(self, points: Any, *, pose: Any = None, out: Any = None) -> Any:
        """Nearest points of the surface: exact for meshes, of the extracted surface for other fields.

        Args:
            points: As for :meth:`distance`.
            pose: As for :meth:`distance`; results are in world axes then.
            out: Warp array of ``vec3`` to write into.

        Returns:
            Shape ``(..., 3)``; for Warp points a Warp array of ``vec3``.

        Raises:
            ArrayError: An array has the wrong type, shape or device.
            NoSurfaceError: The field has no surface.
        """
        if self.surface is None:
            raise NoSurfaceError("closest_point: the field was made of values alone and has no surface")
        p, shape = self._points(points)
        result = self._out(out, len(p), wp.vec3)
        inputs = [self.surface.struct, self._poses(pose, len(p)), p]
        self._launch(query.closest_points, len(p), inputs, [result])
        return self._result(points, result, (*shape, 3))

    def inside(self, points: Any, *, pose: Any = None, mode: Mode = "sampled", out: Any = None) -> Any:
        """Whether points lie inside: where the distance is negative.

        Args and errors as for :meth:`distance`; ``out`` is a Warp array of bool.

        Returns:
            Booleans, shape ``(...)``; a Warp array for Warp points.
        """
        _check_mode(mode)
        p, shape = self._points(points)
        poses = self._poses(pose, len(p))
        result = self._out(out, len(p), wp.bool)
        if mode == "exact":
            self._launch(query.exact_insides, len(p), [self._exact_surface().struct, poses, p], [result])
        else:
            distances = wp.empty(len(p), dtype=wp.float32, device=self.device)
            self._two_passes("distances", poses, p, distances)
            self._launch(query.insides_of_distances, len(p), [distances], [result])
        return self._result(points, result, shape)

    def ray_march(
        self, origins: Any, directions: Any, *, pose: Any = None, max_distance: float = 1.0e6
    ) -> tuple[Any, Any]:
        """Where rays first cross the surface, by sphere tracing of the sampled field.

        Args:
            origins: Starts of the rays, shape ``(..., 3)``.
            directions: Their directions, any length but zero, shape ``(..., 3)``.
            pose: As for :meth:`distance`.
            max_distance: Rays end here.

        Returns:
            The way to the crossing (infinite without one), shape ``(...)``, and the unit normal of the field
            there (zero without one), shape ``(..., 3)``.

        Raises:
            ArrayError: An array has the wrong type, shape or device.
        """
        p, shape = self._points(origins)
        ways, _ = self._points(directions)
        if len(p) != len(ways):
            raise ArrayError(f"ray_march: {len(p)} origins and {len(ways)} directions")
        way, normal = self._out(None, len(p), wp.float32), self._out(None, len(p), wp.vec3)
        precision = 0.05 * float(self.grid.layout.fine_cell.min())
        fields = [self.grid.struct, self.surface_struct]
        inputs = [*fields, self._poses(pose, len(p)), p, ways, max_distance, precision, _MARCH_STEPS]
        self._launch(query.march_rays, len(p), inputs, [way, normal])
        return self._result(origins, way, shape), self._result(origins, normal, (*shape, 3))

    def save(self, path: Any) -> None:
        """Write the field to a plain ``.npz`` file; :func:`load_field` reads it back bit for bit."""
        from tensorphys_sdf.storage import save_field

        save_field(self, path)

    def _fields(self, p: Any, poses: Any, mode: Mode, out: Any) -> Any:
        _check_mode(mode)
        result = self._out(out, len(p), wp.vec4)
        if mode == "exact":
            self._launch(query.exact_fields, len(p), [self._exact_surface().struct, poses, p], [result])
        else:
            self._two_passes("fields", poses, p, result)
        return result

    def _two_passes(self, kind: str, poses: Any, p: Any, result: Any) -> None:
        count = len(p)
        if count == 0:
            return
        rim_count = wp.zeros(1, dtype=wp.int32, device=self.device)
        rim = wp.empty(count, dtype=wp.int32, device=self.device)
        outputs = [result, rim_count, rim]
        plain = len(poses) == 0 and self.grid.layout.subgrid > 0
        if plain and p.is_contiguous and result.is_contiguous and result.ptr % _ALIGNMENT == 0:
            threads = -(-count // (records.LANES * records.POINTS)) * records.LANES
            self._launch(getattr(query, f"sample_{kind}"), threads, [self.grid.struct, p], outputs)
        else:
            inputs = [self.grid.struct, poses, p]
            self._launch(getattr(query, f"sample_any_{kind}"), count, inputs, outputs)
        stride = min(count, _RIM_THREADS) if self.device.is_cuda else 1
        inputs = [self.grid.struct, self.surface_struct, poses, p, rim_count, rim, stride]
        self._launch(getattr(query, f"finish_{kind}"), stride, inputs, [result])

    def _launch(self, kernel: Any, count: int, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(kernel, dim=count, inputs=inputs, outputs=outputs, device=self.device)

    def _exact_surface(self) -> Surface:
        if self.surface is None or not self.exact:
            raise NoSurfaceError("mode='exact': the field was made of values alone and has no exact surface")
        return self.surface

    def _points(self, points: Any) -> tuple[Any, tuple[int, ...]]:
        if isinstance(points, wp.array):
            if points.dtype != wp.vec3 or points.ndim != 1:
                raise ArrayError(
                    f"points: expected a 1-D Warp array of vec3, got {points.ndim}-D {points.dtype}"
                )
            if points.device != self.device:
                raise ArrayError(f"points: on {points.device}, the field is on {self.device}")
            return points, (len(points),)
        array = np.asarray(points, dtype=np.float32)
        if array.ndim == 0 or array.shape[-1] != 3:
            raise ArrayError(f"points: expected shape (..., 3), got {array.shape}")
        return wp.array(array.reshape(-1, 3), dtype=wp.vec3, device=self.device), array.shape[:-1]

    def _poses(self, pose: Any, count: int) -> Any:
        if pose is None:
            return self._no_poses
        if not isinstance(pose, wp.array):
            rows = np.asarray(pose, dtype=np.float32)
            if rows.ndim == 0 or rows.shape[-1] != 7:
                raise ArrayError(f"pose: expected shape (7,) or (count, 7), got {rows.shape}")
            pose = wp.array(rows.reshape(-1, 7), dtype=wp.transform, device=self.device)
        if pose.dtype != wp.transform or pose.device != self.device or len(pose) not in (1, count):
            raise ArrayError(
                f"pose: expected 1 or {count} transforms on {self.device}, got {len(pose)} of {pose.dtype} on "
                f"{pose.device}"
            )
        return pose

    def _out(self, out: Any, count: int, dtype: Any, *, requires_grad: bool = False) -> Any:
        if out is None:
            return wp.empty(count, dtype=dtype, device=self.device, requires_grad=requires_grad)
        if (
            not isinstance(out, wp.array)
            or out.dtype != dtype
            or out.shape != (count,)
            or out.device != self.device
        ):
            raise ArrayError(f"out: expected a Warp array of {count} {dtype.__name__} on {self.device}")
        return out

    @staticmethod
    def _result(given: Any, result: Any, shape: tuple[int, ...]) -> Any:
        if isinstance(given, wp.array):
            return result
        values: Array = result.numpy().reshape(shape)
        return values


def _check_mode(mode: object) -> None:
    if mode not in ("sampled", "exact"):
        raise ParameterError(f"mode: expected 'sampled' or 'exact', got {mode!r}")


def _bounds_only(grid: Grid) -> SdfSurface:
    """Stand-in for a field without a surface; only its bounds are read."""
    struct = SdfSurface()
    struct.node_sphere = wp.empty(0, dtype=wp.vec4, device=grid.device)
    struct.node_dipole = wp.empty(0, dtype=wp.vec3, device=grid.device)
    struct.corner = wp.empty(0, dtype=wp.vec3, device=grid.device)
    struct.pseudonormal = wp.empty(0, dtype=wp.vec3, device=grid.device)
    struct.lower, struct.upper = wp.vec3(*grid.layout.lower), wp.vec3(*grid.layout.upper)
    return struct
