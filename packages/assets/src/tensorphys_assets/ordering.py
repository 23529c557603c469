"""Orders of joints and bodies that users ask for, and the way to that of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import warp as wp

from tensorphys_assets.errors import ConfigurationError

__all__ = ["ArticulationNameMap", "depth_first", "make_order"]


class ArticulationNameMap:
    """A permutation of names.

    Args:
        user: Names in the order of users.
        backend: The same names in the order of the engine.

    Attributes:
        user_names, backend_names: The names.
        user_to_backend: Engine's place of each user's place.
        backend_to_user: User's place of each engine's place.
    """

    def __init__(self, user: Sequence[str], backend: Sequence[str]) -> None:
        self.user_names, self.backend_names = tuple(user), tuple(backend)
        places = {name: place for place, name in enumerate(backend)}
        self.user_to_backend = tuple(places[name] for name in user)
        places = {name: place for place, name in enumerate(user)}
        self.backend_to_user = tuple(places[name] for name in backend)
        self._arrays: dict[tuple[str, str, int], wp.array] = {}

    def device_array(self, name: str, device: str, shift: int = 0) -> wp.array:
        """One of the permutations as int32 on a device.

        Args:
            name: ``user_to_backend`` or ``backend_to_user``.
            device: Device.
            shift: That many entries before it stay where they are (velocities of a floating base).
        """
        key = (name, device, shift)
        if key not in self._arrays:
            values = np.concatenate((np.arange(shift), np.asarray(getattr(self, name)) + shift)).astype(
                np.int32
            )
            self._arrays[key] = wp.array(values, dtype=wp.int32, device=device)
        return self._arrays[key]


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
    wanted: Any, backend: Sequence[str], depth: Sequence[str], what: str
) -> ArticulationNameMap | None:
    """Map for an order that a configuration asks for.

    Args:
        wanted: ``None`` or ``"physx"`` (breadth first, the engine's), ``"mjwarp"`` (depth first), or the names in order.
        backend: Names in the order of the engine.
        depth: The same, depth first.
        what: Field of the configuration, for messages.

    Returns:
        The map, ``None`` where the orders agree.

    Raises:
        ConfigurationError: Names are missing, repeated or unknown, or the convention is.
    """
    if wanted is None or wanted == "physx":
        return None
    if isinstance(wanted, str):
        if wanted != "mjwarp":
            raise ConfigurationError(
                f"{what}: expected 'physx', 'mjwarp' or a sequence of all names, given {wanted!r}"
            )
        user = list(depth)
    else:
        user = list(wanted)
    if sorted(user) != sorted(backend):
        raise ConfigurationError(f"{what}: expected a permutation of {list(backend)}, given {user}")
    return None if user == list(backend) else ArticulationNameMap(user, backend)
