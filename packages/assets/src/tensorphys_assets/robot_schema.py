"""Orders of joints and bodies that are authored on the prim of a robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tensorphys_assets.errors import ConfigurationError

__all__ = ["authored_order"]

_RELATIONSHIPS = {"joint": "isaac:physics:robotJoints", "body": "isaac:physics:robotLinks"}
# Both spellings are found in stages.
_OVERRIDES = ("isaac:nameOverride", "isaac:NameOverride")


def authored_order(stage: Any, root: str, kind: str, names: Sequence[str]) -> list[str]:
    """Names in the order of the targets of ``isaac:physics:robotJoints`` or ``isaac:physics:robotLinks``.

    The relationship is that of the root's prim or of the nearest prim above it that has one. Targets that have such a relationship
    themselves stand for its targets; targets that are none of the names are left out, as sites are. Of a joint with several free
    axes, whose names end with a colon and a number, all follow at its place.

    Args:
        stage: ``Usd.Stage``, or ``None``.
        root: Path of the articulation's root.
        kind: ``joint`` or ``body``.
        names: Names in the order of the engine.

    Raises:
        ConfigurationError: There is no such relationship, it names a prim that is not there or one twice, or lacks names.
    """
    relationship, what = _RELATIONSHIPS[kind], f"{kind}_ordering 'robot_schema'"
    prim = stage.GetPrimAtPath(root) if stage is not None else None
    while prim and not _targets(prim, relationship):
        prim = prim.GetParent()
    if not prim:
        raise ConfigurationError(f"{what}: neither {root} nor a prim above it has targets of {relationship}")
    where = prim.GetPath()
    wanted: dict[str, Any] = {}  # path of each target, and its name
    pending = list(reversed(_targets(prim, relationship)))
    while pending:
        path = pending.pop()
        target = stage.GetPrimAtPath(path)
        if not target:
            raise ConfigurationError(f"{what}: {where} names {path}, which is no prim of the stage")
        if str(path) in wanted:
            raise ConfigurationError(f"{what}: {where} names {path} twice")
        inner = _targets(target, relationship)
        wanted[str(path)] = None if inner else _name(target)
        pending += reversed(inner)
    axes: dict[str, list[str]] = {}
    for name in names:
        axes.setdefault(name.rpartition(":")[0] or name, []).append(name)
    order = [name for target in wanted.values() if target is not None for name in axes.get(target, ())]
    if sorted(order) != sorted(names):
        lacking = sorted(set(names) - set(order))
        raise ConfigurationError(
            f"{what}: the targets of {relationship} of {where} lack {lacking}, or name some twice"
        )
    return order


def _targets(prim: Any, relationship: str) -> list[Any]:
    found = prim.GetRelationship(relationship)
    return list(found.GetTargets()) if found else []


def _name(prim: Any) -> str:
    for attribute in _OVERRIDES:
        found = prim.GetAttribute(attribute)
        if found and found.Get():
            return str(found.Get())
    return str(prim.GetName())
