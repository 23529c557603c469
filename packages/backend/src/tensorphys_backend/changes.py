"""What happened to a stage since it was last looked at."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pxr import Sdf, Tf, Usd, UsdGeom

__all__ = ["PendingChanges", "StageChanges"]

_PHYSICAL = ("physics:", "physx", "newton:", "mjc:", "drive:", "limit:", "state:", "xformOp")
_GEOMETRIC = frozenset(
    ("size", "radius", "height", "axis", "extent", "points", "faceVertexIndices", "faceVertexCounts")
    + ("width", "length", "doubleSided", "orientation", "tetVertexIndices", "velocities")
)
_UNSEEN = frozenset(("extent",))


@dataclass
class PendingChanges:
    """Changes by what they ask for.

    Attributes:
        structural: Prims that came, went, were (de)activated, or whose schemas or composition changed.
        moved: Prims with a new transform.
        changed: Prims with another attribute that may matter to the simulation.
    """

    structural: set[str] = field(default_factory=set)
    moved: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.structural or self.moved or self.changed)


class StageChanges:
    """Listens to a stage as long as it lives or until it is closed.

    Args:
        stage: The stage.
    """

    def __init__(self, stage: Usd.Stage) -> None:
        self._pending = PendingChanges()
        self._quiet = 0
        known = weakref.ref(self)

        def changed(notice: Usd.Notice.ObjectsChanged, sender: Usd.Stage) -> None:
            listener = known()
            if listener is not None and not listener._quiet:
                listener._take(notice)

        # The registry itself holds no function alive.
        self._callback = changed
        self._key: Any = Tf.Notice.Register(Usd.Notice.ObjectsChanged, changed, stage)

    def close(self) -> None:
        """Listen no longer."""
        if self._key is not None:
            self._key.Revoke()
            self._key = None

    @contextlib.contextmanager
    def unheard(self) -> Iterator[None]:
        """Leave out what the backend itself authors meanwhile."""
        self._quiet += 1
        try:
            yield
        finally:
            self._quiet -= 1

    @property
    def pending(self) -> PendingChanges:
        """What happened and was not taken yet."""
        return self._pending

    def take(self) -> PendingChanges:
        """What happened since the last call."""
        taken, self._pending = self._pending, PendingChanges()
        return taken

    def _take(self, notice: Usd.Notice.ObjectsChanged) -> None:
        for path in notice.GetResyncedPaths():
            if path.IsPrimPath() or path == Sdf.Path.absoluteRootPath:
                self._pending.structural.add(str(path))
            elif path.IsPropertyPath():
                self._property(path)
        for path in notice.GetChangedInfoOnlyPaths():
            if path.IsPropertyPath():
                self._property(path)

    def _property(self, path: Sdf.Path) -> None:
        name, prim = path.name, str(path.GetPrimPath())
        if UsdGeom.Xformable.IsTransformationAffectedByAttrNamed(name):
            self._pending.moved.add(prim)
        elif name not in _UNSEEN and (name in _GEOMETRIC or name.startswith(_PHYSICAL)):
            self._pending.changed.add(prim)
        elif name.startswith("material:binding") or name == "proxyPrim":
            self._pending.changed.add(prim)
