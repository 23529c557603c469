"""Orders of joints and bodies that users ask for, and the way to that of the engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import warp as wp

from tensorphys_assets.errors import ConfigurationError

__all__ = ["ArticulationNameMap", "build_name_map", "depth_first", "make_order", "map_ids"]


class ArticulationNameMap:
    """A permutation of names; :func:`build_name_map` makes one.

    Args:
        user: Names in the order of users.
        backend: The same names in the order of the engine.
        device: Device of the arrays.

    Attributes:
        user_names, backend_names: The names.
        user_to_backend_indices: Engine's place of each user's place.
        backend_to_user_indices: User's place of each engine's place.
        user_to_backend, backend_to_user: The same as int32 on the device; read only.
    """

    def __init__(self, user: Sequence[str], backend: Sequence[str], device: str = "cpu") -> None:
        self.user_names, self.backend_names = tuple(user), tuple(backend)
        places = {name: place for place, name in enumerate(backend)}
        self.user_to_backend_indices = tuple(places[name] for name in user)
        places = {name: place for place, name in enumerate(user)}
        self.backend_to_user_indices = tuple(places[name] for name in backend)
        self.user_to_backend = wp.array(self.user_to_backend_indices, dtype=wp.int32, device=device)
        self.backend_to_user = wp.array(self.backend_to_user_indices, dtype=wp.int32, device=device)
        self._shifted: dict[int, wp.array] = {}

    def columns(self, first: int) -> wp.array:
        """``user_to_backend`` behind entries that stay where they are, int32.

        Args:
            first: Number of those entries: the velocities of a floating base.
        """
        if first not in self._shifted:
            values = np.concatenate((np.arange(first), np.asarray(self.user_to_backend_indices) + first))
            device = self.user_to_backend.device
            self._shifted[first] = wp.array(values.astype(np.int32), dtype=wp.int32, device=device)
        return self._shifted[first]


def build_name_map(
    *, kind: str, backend_names: Any, user_names: Any, device: str = "cpu"
) -> ArticulationNameMap | None:
    """Map between two orders of the same names.

    Args:
        kind: ``joint`` or ``body``, for messages.
        backend_names: Names in the order of the engine, a list or tuple.
        user_names: The same in the order of users, or ``None`` for that of the engine.
        device: Device of its arrays.

    Returns:
        The map, ``None`` where the orders agree.

    Raises:
        TypeError: Names are no list or tuple of strings.
        ConfigurationError: Names are missing, repeated or unknown.
    """
    backend = _checked(backend_names, "backend_names")
    if user_names is None:
        return None
    user = _checked(user_names, "user_names")
    for whose, names in (("backend", backend), ("requested", user)):
        if len(set(names)) != len(names):
            raise ConfigurationError(f"{kind}_ordering: Duplicate {whose} {kind} names: {list(names)}")
    missing, extra = sorted(set(backend) - set(user)), sorted(set(user) - set(backend))
    if missing or extra:
        raise ConfigurationError(
            f"{kind}_ordering: expected a permutation of {list(backend)}. Missing={missing}, extra={extra}"
        )
    return None if user == backend else ArticulationNameMap(user, backend, device)


def _checked(names: Any, what: str) -> tuple[str, ...]:
    if not isinstance(names, (list, tuple)):
        raise TypeError(f"{what} must be a list or tuple of strings; got {type(names).__name__}.")
    for place, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"{what} element {place} must be str; got {name!r} ({type(name).__name__}).")
    return tuple(names)


def depth_first(names: Sequence[str], parents: Sequence[str]) -> list[str]:
    """Names of a tree, each branch to its end before the next.

    Args:
        names: Names in any order; children of one parent stay in it.
        parents: Name of each one's parent, ``""`` of the root.
    """
    children: dict[str, list[str]] = {}
    for name, parent in zip(names, parents, strict=True):
        children.setdefault(parent, []).append(name)
    order: list[str] = []
    pending = list(reversed(children.get("", [])))
    while pending:
        name = pending.pop()
        order.append(name)
        pending += reversed(children.get(name, []))
    return order


def make_order(
    wanted: Any,
    backend: Sequence[str],
    depth: Sequence[str],
    kind: str,
    device: str = "cpu",
    *,
    authored: Callable[[], Sequence[str]] | None = None,
) -> ArticulationNameMap | None:
    """Map for an order that a configuration asks for.

    Args:
        wanted: ``None`` or ``"physx"`` (breadth first, the engine's), ``"mjwarp"`` (depth first), ``"robot_schema"`` (as
            authored), or the names in order; conventions in any case, or as members of an enumeration of strings.
        backend: Names in the order of the engine.
        depth: The same, depth first.
        kind: ``joint`` or ``body``.
        device: Device of the arrays of the map.
        authored: What tells the authored order; without it there is none.

    Returns:
        The map, ``None`` where the orders agree.

    Raises:
        ConfigurationError: Names are missing, repeated or unknown, or the convention is.
    """
    if isinstance(wanted, str):
        convention = wanted.lower()
        orders: dict[str, Callable[[], Sequence[str] | None]] = {
            "physx": lambda: None,
            "mjwarp": lambda: depth,
        }
        if authored is not None:
            orders["robot_schema"] = authored
        if convention not in orders:
            raise ConfigurationError(
                f"{kind}_ordering: expected {', '.join(map(repr, orders))} or a list of all names, given {wanted!r}"
            )
        order = orders[convention]()
        wanted = None if order is None else list(order)
    return build_name_map(kind=kind, backend_names=list(backend), user_names=wanted, device=device)


def map_ids(order: ArticulationNameMap | None, ids: Sequence[int] | slice) -> Sequence[int] | slice:
    """Engine's places of users' places.

    Args:
        order: Map, ``None`` where the orders agree.
        ids: Places in the order of users.
    """
    if order is None:
        return ids
    if isinstance(ids, slice):
        ids = range(len(order.user_to_backend_indices))[ids]
    return [order.user_to_backend_indices[int(place)] for place in ids]
