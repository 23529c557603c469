"""Noticing that prims leave a stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pxr import Tf, Usd

__all__ = ["StageWatch"]


class StageWatch:
    """Tells of prims that are removed from a stage or deactivated, as long as this object lives.

    Args:
        stage: The stage.
        on_removed: Called with the paths of the prims that are gone; prims below them are gone, too. It must not keep
            this object alive if the watch is to end with its owner.
    """

    def __init__(self, stage: Usd.Stage, on_removed: Callable[[Sequence[str]], None]) -> None:
        self._on_removed = on_removed
        self._key: Any = Tf.Notice.Register(Usd.Notice.ObjectsChanged, self._changed, stage)

    def close(self) -> None:
        """Watch no longer."""
        if self._key is not None:
            self._key.Revoke()
            self._key = None

    def _changed(self, notice: Usd.Notice.ObjectsChanged, stage: Usd.Stage) -> None:
        gone = []
        for path in notice.GetResyncedPaths():
            if path.IsPrimPath():
                prim = stage.GetPrimAtPath(path)
                if not prim or not prim.IsActive():
                    gone.append(str(path))
        if gone:
            self._on_removed(gone)
