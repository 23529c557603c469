"""Warp functions and structs that kernels of other packages may use.

Other packages read fields through ``table_distance_gradient`` and the plain arrays of a
:class:`~tensorphys_sdf.FieldTable`. ``SdfGrid`` and ``SdfSurface`` are taken from a field, ``field.grid.struct`` and
``field.surface_struct``, for kernels of a program of its own.
"""

from tensorphys_sdf._kernels.differentiable import exact_distance, field_distance
from tensorphys_sdf._kernels.field import field_distance_gradient, field_lower_bound
from tensorphys_sdf._kernels.grid import sample_clamped
from tensorphys_sdf._kernels.primitives import (
    distance_box,
    distance_capsule,
    distance_cone,
    distance_cylinder,
    distance_difference,
    distance_ellipsoid_bound,
    distance_intersection,
    distance_offset,
    distance_plane,
    distance_rounded_box,
    distance_shell,
    distance_smooth_union,
    distance_sphere,
    distance_torus,
    distance_union,
    into_frame,
    into_scaled_frame,
)
from tensorphys_sdf._kernels.surface import (
    closest_on_surface,
    exact_distance_gradient,
    surface_sign,
    winding_number,
)
from tensorphys_sdf._kernels.table import table_distance_gradient, table_error_bound
from tensorphys_sdf.structs import SdfGrid, SdfSurface

__all__ = [
    "SdfGrid",
    "SdfSurface",
    "closest_on_surface",
    "distance_box",
    "distance_capsule",
    "distance_cone",
    "distance_cylinder",
    "distance_difference",
    "distance_ellipsoid_bound",
    "distance_intersection",
    "distance_offset",
    "distance_plane",
    "distance_rounded_box",
    "distance_shell",
    "distance_smooth_union",
    "distance_sphere",
    "distance_torus",
    "distance_union",
    "exact_distance",
    "exact_distance_gradient",
    "field_distance",
    "field_distance_gradient",
    "field_lower_bound",
    "into_frame",
    "into_scaled_frame",
    "sample_clamped",
    "surface_sign",
    "table_distance_gradient",
    "table_error_bound",
    "winding_number",
]
