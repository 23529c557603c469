"""Where on which bodies sensors sit."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tensorphys.subspaces import relative_pose
from tensorphys_assets.errors import PrimError
from tensorphys_assets.scene import AssetScene

__all__ = ["attach"]

_PLAIN = re.compile(r"[\w/]+")


def attach(scene: AssetScene, expression: str) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float32]]]:
    """Body of each environment at or above the prims that an expression names.

    Args:
        scene: The scene.
        expression: Path expression of a body in each environment, or of a prim below one, whose names below the body are plain.

    Returns:
        Paths of the bodies, and poses [m, xyzw] of the prims in their frames as they are on the stage, shape [environments, 7].

    Raises:
        PrimError: There is no rigid body, or several in an environment, or no such prim below it.
    """
    head, tail = expression.rstrip("/"), ""
    while True:
        try:
            rows = scene.bodies(head)
            break
        except PrimError as error:
            if "no rigid body" not in str(error):
                raise
        head, _, name = head.rpartition("/")
        tail = f"{name}/{tail}" if tail else name
        if not head:
            raise PrimError(f"{expression}: there is no rigid body at or above such a prim")
    if len(rows[0]) != 1:
        raise PrimError(f"{head}: expected one body, found {len(rows[0])} in an environment")
    bodies = [row[0] for row in rows]
    offsets = np.tile(np.array([0, 0, 0, 0, 0, 0, 1], np.float32), (len(bodies), 1))
    if tail:
        if not _PLAIN.fullmatch(tail):
            raise PrimError(f"{expression}: expected a plain path below the body {bodies[0]}, given {tail!r}")
        stage = scene.view._core.stage
        for row, body in enumerate(bodies):
            offsets[row] = _offset(stage, body, f"{body}/{tail}")
    return bodies, offsets


def _offset(stage: Any, body: str, path: str) -> list[float]:
    """Pose of a prim relative to a body, both without their scales."""
    prims = [stage.GetPrimAtPath(name) if stage is not None else None for name in (body, path)]
    if not all(prims):
        raise PrimError(f"{path}: the stage has no such prim below the body {body}")
    return relative_pose(*prims)
