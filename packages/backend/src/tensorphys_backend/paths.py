"""Prim paths as pairs of integers, as scene queries take them."""

from __future__ import annotations

import hashlib
import importlib
from typing import Any

from pxr import Sdf, Usd

from tensorphys_backend.errors import PrimPathError

__all__ = ["decode_path", "encode_path", "is_prim_path"]


def is_prim_path(path: str) -> bool:
    """Whether a text is the absolute path of a prim, and not of the root of a stage."""
    if not Sdf.Path.IsValidPathString(path):
        return False
    parsed = Sdf.Path(path)
    return bool(parsed.IsAbsolutePath() and parsed.IsPrimPath())


def encode_path(path: str) -> tuple[int, int]:
    """Two integers of 32 bits that stand for a path; the same in every process.

    Args:
        path: Prim path.
    """
    digest = hashlib.blake2b(str(path).encode(), digest_size=8).digest()
    return int.from_bytes(digest[:4], "little"), int.from_bytes(digest[4:], "little")


def decode_path(stage: Usd.Stage, first: Any, second: Any) -> str:
    """Path of the prim of a stage that two integers stand for.

    Args:
        stage: The stage.
        first: First integer, or the path itself.
        second: Second integer; anything where ``first`` is a path.

    Raises:
        PrimPathError: No prim of the stage is meant.
    """
    if isinstance(first, str):
        return first
    wanted = (int(first), int(second))
    for prim in Usd.PrimRange.Stage(stage, Usd.TraverseInstanceProxies()):
        path = str(prim.GetPath())
        if encode_path(path) == wanted:
            return path
    vendor = _vendor()
    if vendor is not None:
        path = str(vendor.decodeSdfPath(*wanted))
        if stage.GetPrimAtPath(path):
            return path
    raise PrimPathError(
        f"path {wanted}: no prim of the stage is meant; encode it with tensorphys_backend.encode_path"
    )


def _vendor() -> Any:
    """The vendor's module that encodes paths of its own, where it is installed."""
    try:
        return importlib.import_module("pxr.PhysicsSchemaTools")
    except ImportError:
        return None
