"""Deformable bodies and particles as data: what a stage says of them, by prim."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_scene.columns import Table, column
from tensorphys_scene.errors import SceneValueError
from tensorphys_scene.soft_defaults import SOFT_DEFAULTS


class SoftKind(IntEnum):
    """What a prim of deformables or particles is."""

    VOLUME_BODY = 0
    SURFACE_BODY = 1
    CURVES_BODY = 2
    GEOMETRY = 3  # simulation or collision geometry below a body
    MATERIAL = 4
    ATTACHMENT = 5
    COLLISION_FILTER = 6
    PARTICLE_SYSTEM = 7
    PARTICLE_SET = 8
    PARTICLE_CLOTH = 9
    PARTICLE_MATERIAL = 10


@dataclass(frozen=True, eq=False)
class SoftData:
    """What one prim says.

    Attributes:
        schemas: Its type and the applied schemas that concern it.
        values: Authored attributes by full name: numbers, text, or arrays; lengths and masses in stage units. What is
            not authored has the value of its schema, see :meth:`value`.
        targets: Authored relationships by full name: prim paths, relative to the template's root where below it.
        points: Vertices in the prim's frame [m], shape [point_count, 3], float64.
        elements: Vertex indices, shape [element_count, 4] for tetrahedra or [element_count, 3] for triangles, int32.
        material: Path of the material that is bound for physics, "" where none.
    """

    schemas: tuple[str, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    targets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    points: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 3)))
    elements: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 3), np.int32))
    material: str = ""

    def value(self, name: str) -> Any:
        """Authored value of an attribute, else the one that its schema gives.

        Args:
            name: Full name, such as ``physxDeformable:sleepThreshold``.

        Raises:
            SceneValueError: If the attribute is not authored and no schema gives it a value.
        """
        if name in self.values:
            return self.values[name]
        if name not in SOFT_DEFAULTS:
            raise SceneValueError(f"{name} is not authored, and no schema of soft prims gives it a value")
        return SOFT_DEFAULTS[name]

    @cached_property
    def digest(self) -> bytes:
        """Equal for equal content."""
        made = hashlib.blake2b(digest_size=16)
        for part in (self.schemas, sorted(self.targets.items()), self.material):
            made.update(repr(part).encode())
        for name in sorted(self.values):
            _add(made, name, self.values[name])
        _add(made, "points", self.points)
        _add(made, "elements", self.elements)
        return made.digest()


def _add(made: Any, name: str, value: Any) -> None:
    made.update(name.encode())
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        made.update(repr((value.dtype.str, value.shape)).encode() + value.tobytes())
    else:
        made.update(repr(value.tolist() if isinstance(value, np.ndarray) else value).encode())


@dataclass(frozen=True, kw_only=True)
class SoftPrims(Table):
    """Prims of deformables and particles, both generations of schemas.

    Attributes:
        kind: :class:`SoftKind`.
        transform: Prim frame in the environment frame, acting on columns, shape [count, 4, 4].
        data: What each prim says.
    """

    kind: npt.NDArray[np.int32] = column(np.int32)
    transform: npt.NDArray[np.float64] = column(float, (4, 4), finite=True)
    data: tuple[SoftData, ...] = ()
