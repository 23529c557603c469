"""Columns that joints, couplings and tendons are given in, and their checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics.errors import ModelError

Array = npt.NDArray[Any]
_UNBOUNDED = float(np.finfo(np.float32).max)
_IDENTITY = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
_INF = float("inf")

# name: (dtype, row shape, default; None where it must be given)
Spec = tuple[Any, tuple[int, ...], Any]
JOINT_COLUMNS: dict[str, Spec] = {
    "link0": (wp.int32, (), None),
    "link1": (wp.int32, (), None),
    "frame0": (wp.transform, (7,), _IDENTITY),
    "frame1": (wp.transform, (7,), _IDENTITY),
    "locked": (wp.int32, (6,), 1),
    "cone": (wp.int32, (), 0),
    "enabled": (wp.int32, (), 1),
    "lower": (wp.float32, (6,), -_INF),
    "upper": (wp.float32, (6,), _INF),
    "limit_stiffness": (wp.float32, (6,), 0.0),
    "limit_damping": (wp.float32, (6,), 0.0),
    "drive_type": (wp.int32, (6,), 0),
    "stiffness": (wp.float32, (6,), 0.0),
    "damping": (wp.float32, (6,), 0.0),
    "position_target": (wp.float32, (6,), 0.0),
    "velocity_target": (wp.float32, (6,), 0.0),
    "max_force": (wp.float32, (6,), _INF),
    "min_distance": (wp.float32, (), -_INF),
    "max_distance": (wp.float32, (), _INF),
    "distance_stiffness": (wp.float32, (), 0.0),
    "distance_damping": (wp.float32, (), 0.0),
    "break_force": (wp.float32, (), _INF),
    "break_torque": (wp.float32, (), _INF),
}
MIMIC_COLUMNS: dict[str, Spec] = {
    "dof": (wp.int32, (), None),
    "reference": (wp.int32, (), None),
    "gearing": (wp.float32, (), 1.0),
    "offset": (wp.float32, (), 0.0),
    "natural_frequency": (wp.float32, (), 0.0),
    "damping_ratio": (wp.float32, (), 0.0),
    "enabled": (wp.int32, (), 1),
}
FIXED_TENDON_COLUMNS: dict[str, Spec] = {
    "stiffness": (wp.float32, (), 0.0),
    "damping": (wp.float32, (), 0.0),
    "limit_stiffness": (wp.float32, (), 0.0),
    "lower": (wp.float32, (), -_INF),
    "upper": (wp.float32, (), _INF),
    "rest_length": (wp.float32, (), 0.0),
    "offset": (wp.float32, (), 0.0),
    "dead_band": (wp.float32, (), 0.0),
    "hard_limits": (wp.int32, (), 0),
    "max_force": (wp.float32, (), _INF),
    "enabled": (wp.int32, (), 1),
}
TENDON_AXIS_COLUMNS: dict[str, Spec] = {
    "tendon": (wp.int32, (), None),
    "dof": (wp.int32, (), None),
    "gearing": (wp.float32, (), 1.0),
    "force_coefficient": (wp.float32, (), 1.0),
}
SPATIAL_TENDON_COLUMNS: dict[str, Spec] = {
    "stiffness": (wp.float32, (), 0.0),
    "damping": (wp.float32, (), 0.0),
    "limit_stiffness": (wp.float32, (), 0.0),
    "offset": (wp.float32, (), 0.0),
    "dead_band": (wp.float32, (), 0.0),
    "hard_limits": (wp.int32, (), 0),
    "enabled": (wp.int32, (), 1),
}
ATTACHMENT_COLUMNS: dict[str, Spec] = {
    "tendon": (wp.int32, (), None),
    "link": (wp.int32, (), None),
    "parent": (wp.int32, (), -1),
    "position": (wp.vec3, (3,), 0.0),
    "gearing": (wp.float32, (), 1.0),
    "leaf": (wp.int32, (), 0),
    "rest_length": (wp.float32, (), 0.0),
    "lower": (wp.float32, (), -_INF),
    "upper": (wp.float32, (), _INF),
}
GEAR_COLUMNS: dict[str, Spec] = {
    "joint0": (wp.int32, (), None),
    "joint1": (wp.int32, (), None),
    "axis0": (wp.int32, (), None),
    "axis1": (wp.int32, (), None),
    "factor0": (wp.float32, (), 1.0),
    "factor1": (wp.float32, (), 1.0),
    "offset": (wp.float32, (), 0.0),
}


def read_columns(
    family: str, given: Mapping[str, npt.ArrayLike] | None, specs: Mapping[str, Spec]
) -> dict[str, Array]:
    """Complete columns of a family, checked.

    Args:
        family: Name of the family, for messages.
        given: Columns by name; None for no rows.
        specs: What there is.

    Returns:
        Every column, int32 or float64, with one length.

    Raises:
        ModelError: If a column is unknown, missing or of another length, or holds NaN.
    """
    given = {} if given is None else given
    unknown = sorted(set(given) - set(specs))
    if unknown:
        raise ModelError(f"unknown {family} columns {unknown}; known are {sorted(specs)}")
    count = len(np.asarray(next(iter(given.values())))) if given else 0
    result = {}
    for name, (dtype, shape, default) in specs.items():
        values = given.get(name)
        if values is None and default is None and count:
            raise ModelError(f"{family} column {name!r} is required")
        array = np.broadcast_to(np.float64(0.0 if default is None else default), (count, *shape))
        if values is not None:
            array = np.asarray(values, np.float64)
        if array.shape != (count, *shape):
            raise ModelError(
                f"{family} column {name!r}: expected shape {(count, *shape)}, given {array.shape}"
            )
        if np.isnan(array).any():
            row = int(np.argwhere(np.isnan(array))[0][0])
            raise ModelError(f"{family} column {name!r} is NaN in row {row}")
        result[name] = array.astype(np.int32 if dtype is wp.int32 else np.float64)
    return result


def to_device(values: Array, dtype: Any, device: wp.Device) -> wp.array:
    """A column as a device array; columns by axis become flat."""
    if dtype is wp.int32:
        return wp.array(np.ascontiguousarray(values, np.int32).ravel(), dtype=dtype, device=device)
    host = np.clip(values, -_UNBOUNDED, _UNBOUNDED).astype(np.float32)
    if dtype is wp.float32:
        host = host.ravel()
    return wp.array(np.ascontiguousarray(host), dtype=dtype, device=device)
