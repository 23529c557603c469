"""Mass, centre of mass and inertia of solids."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .errors import DegenerateMeshError, InertiaError
from .inertia import inertia_rotate, inertia_translate
from .transform import transform_point

__all__ = [
    "MassProperties",
    "combine_mass_properties",
    "mass_properties_of_box",
    "mass_properties_of_capsule",
    "mass_properties_of_cone",
    "mass_properties_of_cylinder",
    "mass_properties_of_mesh",
    "mass_properties_of_sphere",
    "mesh_is_closed",
]

Array = npt.NDArray[np.float64]

# A mesh with less volume than this part of the cube around it counts as flat.
_FLAT = 1e-10


@dataclass(frozen=True, eq=False)
class MassProperties:
    """Mass properties of a solid in some frame.

    Attributes:
        mass: Mass, at least zero.
        com: Centre of mass [length], shape [3].
        inertia: Inertia about the centre of mass, axes of the frame [mass length²], shape [3, 3].
    """

    mass: float
    com: Array
    inertia: Array

    def transformed(self, pose: npt.ArrayLike) -> MassProperties:
        """The same solid seen from frame A, given the pose (shape [7]) of its frame in A."""
        pose = np.asarray(pose, dtype=np.float64)
        return MassProperties(
            self.mass, transform_point(pose, self.com), inertia_rotate(self.inertia, pose[3:])
        )

    def with_mass(self, mass: float) -> MassProperties:
        """The same distribution with another mass; the inertia scales along.

        Raises:
            InertiaError: This solid has no mass to scale.
        """
        if not self.mass > 0.0:
            raise InertiaError(f"cannot scale a solid of mass {self.mass} to mass {mass}")
        return MassProperties(float(mass), self.com, self.inertia * (mass / self.mass))


def _solid(mass: float, diagonal: tuple[float, float, float], com_z: float = 0.0) -> MassProperties:
    return MassProperties(mass, np.array([0.0, 0.0, com_z]), np.diag(np.array(diagonal, dtype=np.float64)))


def combine_mass_properties(parts: Iterable[MassProperties]) -> MassProperties:
    """Mass properties of several solids together, all in one frame.

    Args:
        parts: Solids; overlaps count twice.

    Returns:
        The sum; all zero when there is no mass.
    """
    parts = list(parts)
    mass = sum(part.mass for part in parts)
    if not mass > 0.0:
        return MassProperties(0.0, np.zeros(3), np.zeros((3, 3)))
    com = sum((part.mass * part.com for part in parts), np.zeros(3)) / mass
    inertia = sum(
        (inertia_translate(part.inertia, part.mass, part.com - com) for part in parts), np.zeros((3, 3))
    )
    return MassProperties(float(mass), com, inertia)


def mass_properties_of_box(half_extents: npt.ArrayLike, *, density: float = 1.0) -> MassProperties:
    """Box about the origin, axes along the frame.

    Args:
        half_extents: Half lengths [length], shape [3].
        density: Density [mass length⁻³].

    Returns:
        Its mass properties.
    """
    x, y, z = (float(h) for h in np.asarray(half_extents, dtype=np.float64))
    mass = density * 8.0 * x * y * z
    third = mass / 3.0
    return _solid(mass, (third * (y * y + z * z), third * (x * x + z * z), third * (x * x + y * y)))


def mass_properties_of_sphere(radius: float, *, density: float = 1.0) -> MassProperties:
    """Ball about the origin, radius [length], density [mass length⁻³]."""
    mass = density * 4.0 / 3.0 * math.pi * radius**3
    moment = 0.4 * mass * radius**2
    return _solid(mass, (moment, moment, moment))


def mass_properties_of_cylinder(radius: float, half_height: float, *, density: float = 1.0) -> MassProperties:
    """Cylinder about the origin, axis +Z; lengths [length], density [mass length⁻³]."""
    mass = density * math.pi * radius**2 * 2.0 * half_height
    across = mass * (0.25 * radius**2 + half_height**2 / 3.0)
    return _solid(mass, (across, across, 0.5 * mass * radius**2))


def mass_properties_of_capsule(radius: float, half_height: float, *, density: float = 1.0) -> MassProperties:
    """Capsule about the origin, axis +Z.

    Args:
        radius: Radius of cylinder and caps [length].
        half_height: Half length of the cylinder without the caps [length].
        density: Density [mass length⁻³].

    Returns:
        Its mass properties.
    """
    cylinder = mass_properties_of_cylinder(radius, half_height, density=density)
    caps = mass_properties_of_sphere(radius, density=density)
    # Each half ball has its centre of mass 3/8 r beyond the end of the cylinder.
    across = caps.inertia[0, 0] + caps.mass * half_height * (half_height + 0.75 * radius)
    inertia = cylinder.inertia + np.diag([across, across, caps.inertia[2, 2]])
    return MassProperties(cylinder.mass + caps.mass, np.zeros(3), inertia)


def mass_properties_of_cone(radius: float, half_height: float, *, density: float = 1.0) -> MassProperties:
    """Cone with axis +Z: apex at ``+half_height``, base of the radius at ``-half_height``.

    Args:
        radius: Radius of the base [length].
        half_height: Half of the height [length].
        density: Density [mass length⁻³].

    Returns:
        Its mass properties; the centre of mass lies at ``z = -half_height / 2``.
    """
    height = 2.0 * half_height
    mass = density * math.pi * radius**2 * height / 3.0
    across = mass * (0.15 * radius**2 + 0.0375 * height**2)
    return _solid(mass, (across, across, 0.3 * mass * radius**2), -0.5 * half_height)


def mesh_is_closed(triangles: npt.ArrayLike) -> bool:
    """Whether every directed edge of a triangle mesh has exactly one opposite.

    Args:
        triangles: Vertex indices, shape [triangles, 3]; equal positions must share an index.

    Returns:
        True for a closed surface that is wound consistently.
    """
    t = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
    if t.size == 0:
        return False
    edges = np.concatenate([t[:, [0, 1]], t[:, [1, 2]], t[:, [2, 0]]])
    count = int(t.max()) + 1
    forward = np.sort(edges[:, 0] * count + edges[:, 1])
    backward = np.sort(edges[:, 1] * count + edges[:, 0])
    return bool(np.array_equal(forward, backward) and np.all(np.diff(forward) > 0))


def mass_properties_of_mesh(
    vertices: npt.ArrayLike, triangles: npt.ArrayLike, *, density: float = 1.0
) -> MassProperties:
    """Exact mass properties of the solid inside a closed triangle mesh.

    The integrals over the solid are sums over the tetrahedra between a point and each triangle,
    source: [Blow & Binstock 2004]. A mesh wound inwards gives the same result as outwards.

    Args:
        vertices: Positions [length], shape [vertices, 3].
        triangles: Vertex indices, shape [triangles, 3].
        density: Density [mass length⁻³].

    Returns:
        Its mass properties. For a mesh that is not closed (:func:`mesh_is_closed`) they are those of
        the solid closed by a fan from the middle of its bounding box.

    Raises:
        DegenerateMeshError: No triangles, an index out of range, positions that are not finite, or no
            volume.
    """
    v = np.asarray(vertices, dtype=np.float64).reshape(-1, 3)
    t = np.asarray(triangles, dtype=np.int64).reshape(-1, 3)
    if t.size == 0:
        raise DegenerateMeshError("the mesh has no triangles")
    if t.min() < 0 or t.max() >= len(v):
        raise DegenerateMeshError(
            f"triangle index {int(t.min() if t.min() < 0 else t.max())} with {len(v)} vertices"
        )
    used = v[np.unique(t)]
    if not np.all(np.isfinite(used)):
        raise DegenerateMeshError("the mesh has vertices that are not finite")
    middle = 0.5 * (used.min(axis=0) + used.max(axis=0))
    extent = float(np.max(used.max(axis=0) - used.min(axis=0)))
    # About the middle and in units of the extent, so that neither a far nor a tiny mesh loses digits.
    corners = (v[t] - middle) / (extent if extent > 0.0 else 1.0)
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6.0
    volume = float(volumes.sum())
    if not abs(volume) > _FLAT:
        raise DegenerateMeshError(
            f"the mesh encloses no volume ({volume * extent**3:g} in a box of size {extent:g})"
        )
    total = a + b + c
    com = volumes @ total / (4.0 * volume)
    second = np.einsum("t,tki,tkj->ij", volumes, corners, corners) + np.einsum(
        "t,ti,tj->ij", volumes, total, total
    )
    covariance = second / (20.0 * volume) - np.outer(com, com)
    mass = density * abs(volume) * extent**3
    inertia = mass * extent**2 * (np.trace(covariance) * np.eye(3) - covariance)
    return MassProperties(mass, middle + extent * com, 0.5 * (inertia + inertia.T))
