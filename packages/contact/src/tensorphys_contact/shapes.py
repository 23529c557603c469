"""Shape types, combine modes, and which pairs of shapes have a narrow-phase routine."""

from __future__ import annotations

import enum
import itertools
from collections.abc import Mapping
from typing import Final

from .errors import UnsupportedShapeError


class ShapeType(enum.IntEnum):
    """Collision geometry, each in its own shape frame.

    The fields of ``shape_size`` (stage lengths) are given behind each name.
    """

    PLANE = 0
    """Half space below the plane through the frame origin, normal +Z; size unused."""
    SPHERE = 1
    """(radius, 0, 0), centred."""
    CAPSULE = 2
    """(radius, half height of the cylindrical part, 0), axis +Z."""
    BOX = 3
    """Half extents."""
    CONVEX_HULL = 4
    """Vertices of a cooked :class:`~tensorphys_contact.Hull`; size unused."""
    CYLINDER = 5
    """(radius, half height, 0), axis +Z."""
    CONE = 6
    """(radius, half height, 0), axis +Z, apex at +half height, base at −half height."""
    ELLIPSOID = 7
    """Semi-axes."""
    TRIANGLE_MESH = 8
    """Surface of a cooked :class:`~tensorphys_contact.TriangleMesh`, solid on its back side; size unused."""
    HEIGHT_FIELD = 9
    """A mesh of :func:`~tensorphys_contact.cook_height_field`; size unused."""
    SDF = 10
    """Surface of a cooked :class:`~tensorphys_contact.SdfGeometry`; size is its scale, equal along all axes."""
    SPHERES = 11
    """Spheres of a :class:`~tensorphys_contact.SphereSet`; size is its scale, equal along all axes."""


CONVEX_SHAPES: Final = tuple(kind for kind in ShapeType if ShapeType.SPHERE <= kind <= ShapeType.ELLIPSOID)
MESH_SHAPES: Final = (ShapeType.TRIANGLE_MESH, ShapeType.HEIGHT_FIELD)


class CombineMode(enum.IntEnum):
    """How a value of two materials becomes one; of two modes the larger code wins."""

    AVERAGE = 0
    MIN = 1
    MULTIPLY = 2
    MAX = 3


class PairFamily(enum.IntEnum):
    """Pairs that share a kernel; those of simple shapes come first."""

    PLANE = 0
    ROUND = 1
    ROUND_BOX = 2
    BOX_BOX = 3
    CONVEX = 4
    MESH = 5
    SAMPLED = 6


PAIR_FAMILY: Final[dict[tuple[ShapeType, ShapeType], tuple[PairFamily, int]]] = {
    (ShapeType.PLANE, ShapeType.SPHERE): (PairFamily.PLANE, 1),
    (ShapeType.PLANE, ShapeType.CAPSULE): (PairFamily.PLANE, 2),
    (ShapeType.PLANE, ShapeType.BOX): (PairFamily.PLANE, 4),
    (ShapeType.PLANE, ShapeType.CONVEX_HULL): (PairFamily.PLANE, 4),
    (ShapeType.PLANE, ShapeType.CYLINDER): (PairFamily.PLANE, 4),
    (ShapeType.SPHERE, ShapeType.SPHERE): (PairFamily.ROUND, 1),
    (ShapeType.SPHERE, ShapeType.CAPSULE): (PairFamily.ROUND, 1),
    (ShapeType.CAPSULE, ShapeType.CAPSULE): (PairFamily.ROUND, 2),
    (ShapeType.SPHERE, ShapeType.BOX): (PairFamily.ROUND_BOX, 1),
    (ShapeType.CAPSULE, ShapeType.BOX): (PairFamily.ROUND_BOX, 2),
    (ShapeType.BOX, ShapeType.BOX): (PairFamily.BOX_BOX, 4),
    (ShapeType.PLANE, ShapeType.CONE): (PairFamily.PLANE, 4),
    (ShapeType.PLANE, ShapeType.ELLIPSOID): (PairFamily.PLANE, 1),
    **{
        (low, high): (
            PairFamily.CONVEX,
            1 if low == ShapeType.SPHERE or ShapeType.ELLIPSOID in (low, high) else 4,
        )
        for low, high in itertools.combinations_with_replacement(CONVEX_SHAPES, 2)
        if high >= ShapeType.CONVEX_HULL
    },
    **{
        (convex, mesh): (PairFamily.MESH, 4 if convex == ShapeType.SPHERE else 8)
        for convex in CONVEX_SHAPES
        for mesh in MESH_SHAPES
    },
    **{
        (low, high): (PairFamily.SAMPLED, 16)
        for high in (ShapeType.SDF, ShapeType.SPHERES)
        for low in ShapeType
        if low <= high
    },
    **{(low, ShapeType.SDF): (PairFamily.SAMPLED, 64) for low in (*MESH_SHAPES, ShapeType.SDF)},
}
"""(lower type, higher type) → (kernel family, largest manifold)."""


Families = Mapping[tuple[ShapeType, ShapeType], tuple[PairFamily, int]]
"""Kernel family and largest manifold of pairs of types, lower first."""


def pair_families(
    *, sdf_limit: int | None = None, sphere_limit: int | None = None
) -> dict[tuple[ShapeType, ShapeType], tuple[PairFamily, int]]:
    """:data:`PAIR_FAMILY` with other manifolds for pairs with a signed distance field or a set of spheres.

    Args:
        sdf_limit: Contacts of a field with another, a triangle mesh or a height field; with other shapes at most 16 of
            them.
        sphere_limit: Contacts of a set of spheres with anything.
    """
    result = dict(PAIR_FAMILY)
    for (low, high), (family, size) in PAIR_FAMILY.items():
        if high == ShapeType.SDF and sdf_limit is not None:
            result[low, high] = family, sdf_limit if size > 16 else min(sdf_limit, 16)
        elif high == ShapeType.SPHERES and sphere_limit is not None:
            result[low, high] = family, sphere_limit
    return result


SIMPLE_FAMILIES: Final = (PairFamily.PLANE, PairFamily.ROUND, PairFamily.ROUND_BOX)
"""Families whose pairs a CPU collides environment by environment, in one kernel."""


def pair_is_supported(type0: int, type1: int) -> bool:
    """Tell whether two shape types, in any order, have a narrow-phase routine."""
    first, second = sorted((int(type0), int(type1)))
    return (first, second) in {(int(a), int(b)) for a, b in PAIR_FAMILY}


def manifold_size(type0: int, type1: int) -> int:
    """Return the largest number of contact points of a pair of shape types.

    Raises:
        UnsupportedPairError: the pair has no narrow-phase routine.
    """
    from .errors import UnsupportedPairError

    first, second = sorted((int(type0), int(type1)))
    if not pair_is_supported(first, second):
        raise UnsupportedPairError(
            f"no narrow phase for {shape_name(first)} against {shape_name(second)}; "
            "planes, triangle meshes and height fields do not meet each other"
        )
    return PAIR_FAMILY[ShapeType(first), ShapeType(second)][1]


def shape_name(code: int) -> str:
    """Return the name of a shape code, also of an unknown one."""
    try:
        return ShapeType(code).name
    except ValueError:
        return f"shape code {code}"


def require_known_shape(code: int) -> ShapeType:
    """Return the :class:`ShapeType` of a code.

    Raises:
        UnsupportedShapeError: the code is unknown.
    """
    try:
        return ShapeType(code)
    except ValueError:
        known = ", ".join(f"{t.name}={t.value}" for t in ShapeType)
        raise UnsupportedShapeError(f"{shape_name(code)} is unknown; available: {known}") from None
