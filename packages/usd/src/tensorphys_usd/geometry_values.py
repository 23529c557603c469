"""Values of geometry attributes, whose authored types may be wrong: schemas type them, layers may say otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Gf, Tf, Usd, UsdGeom

from tensorphys_usd.errors import StageError


def wrong(prim: Usd.Prim, name: str, value: Any, expected: str) -> StageError:
    """Error about a value of another type than the attribute's."""
    shown = " ".join(str(value).split())[:80]
    return StageError(f"{prim.GetPath()}: {name} is {shown}, expected {expected}")


def number_of(prim: Usd.Prim, name: str) -> float:
    """Value of an attribute, its fallback where none is authored.

    Raises:
        StageError: If it is no number.
    """
    value = prim.GetAttribute(name).Get()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise wrong(prim, name, value, "a number")


def vectors_of(
    prim: Usd.Prim, name: str, width: int = 3, time: Usd.TimeCode | None = None
) -> npt.NDArray[np.float64]:
    """Vectors of an attribute, none where it has no value; shape [count, width].

    Raises:
        StageError: If it holds something else, or numbers that are not finite.
    """
    value = _value(prim, name, time)
    result = _array(prim, name, value, np.float64, width)
    bad = np.flatnonzero(~np.isfinite(result).all(axis=1))
    if bad.size:
        what = "point" if name == "points" else f"{name} of entry"
        raise StageError(f"{prim.GetPath()}: {what} {int(bad[0])} is not finite: {result[bad[0]].tolist()}")
    return result


def integers_of(
    prim: Usd.Prim, name: str, width: int = 1, time: Usd.TimeCode | None = None
) -> npt.NDArray[np.int64]:
    """Whole numbers of an attribute, none where it has no value; shape [count], or [count, width] above one.

    Raises:
        StageError: If it holds something else.
    """
    value = _value(prim, name, time)
    result = _array(prim, name, value, np.int64, width)
    return result[:, 0] if width == 1 else result


def world_transform(cache: UsdGeom.XformCache, prim: Usd.Prim) -> Gf.Matrix4d:
    """Local-to-world transform of a prim, acting on rows.

    Raises:
        StageError: If the value of a transform op at or above it is of a wrong type.
    """
    try:
        return cache.GetLocalToWorldTransform(prim)
    except Tf.ErrorException:
        raise StageError(
            bad_transform(prim) or f"{prim.GetPath()}: world transform cannot be computed"
        ) from None


def bad_transform(prim: Usd.Prim) -> str | None:
    """The transform op at or above a prim that is not finite or of a wrong type."""
    for path in prim.GetPath().GetPrefixes():
        xformable = UsdGeom.Xformable(prim.GetStage().GetPrimAtPath(path))
        for op in xformable.GetOrderedXformOps() if xformable else ():
            try:
                finite = np.isfinite(np.array(op.GetOpTransform(Usd.TimeCode.Default()))).all()
            except Tf.ErrorException:
                return f"{path}: {op.GetOpName()} is {op.Get()}, which is of a wrong type"
            if not finite:
                return f"{path}: {op.GetOpName()} is {op.Get()}, which is not finite"
    return None


def _value(prim: Usd.Prim, name: str, time: Usd.TimeCode | None) -> Any:
    return prim.GetAttribute(name).Get(Usd.TimeCode.Default() if time is None else time)


def _array(prim: Usd.Prim, name: str, value: Any, dtype: Any, width: int) -> npt.NDArray[Any]:
    expected = {np.float64: "numbers", np.int64: "whole numbers"}[dtype]
    if width > 1:
        expected = f"vectors of {width} {expected}"
    if value is None:
        return np.zeros((0, width), dtype)
    if isinstance(value, (str, int, float)):
        raise wrong(prim, name, value, expected)
    try:
        array = np.array(value)
    except (TypeError, ValueError):
        raise wrong(prim, name, value, expected) from None
    if array.size == 0:
        return np.zeros((0, width), dtype)
    kinds = "iub" if dtype is np.int64 else "iubf"
    if array.dtype.kind not in kinds or array.reshape(len(array), -1).shape[1] != width:
        raise wrong(prim, name, value, expected)
    return array.reshape(len(array), width).astype(dtype)
