"""Springs and triangles of all cloths in arrays."""

from __future__ import annotations

import dataclasses

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_particles.cloth import ClothMesh
from tensorphys_particles.errors import ModelError
from tensorphys_particles.springs import color_springs
from tensorphys_particles.system import ParticleCloth


@dataclasses.dataclass(frozen=True)
class ClothArrays:
    """Cloths on the device; springs and triangles are numbered cloth by cloth, as authored.

    Attributes:
        first, count: First particle and number of particles of each cloth, int32 ``[L]``.
        spring_start: First spring of each cloth and the end, int64 ``[L + 1]`` on the host.
        ends: Particles of each spring, vec2i ``[springs]``.
        rest_length, stiffness, damping: Of each spring, float32 ``[springs]``.
        spring_order: Springs sorted by colour, int32 ``[springs]``.
        color_start: First spring of each colour in that order and the end, on the host.
        triangles: Particles of each triangle, vec3i ``[triangles]``.
        triangle_start, triangle_at: Triangles at each particle, int32 ``[N + 1]`` and ``[3 · triangles]``.
        pressure: Volume to hold, in rest volumes, float32 ``[L]``.
        rest_volume: [length³], float32 ``[L]``.
        cloth: Cloth with pressure that a particle belongs to, or -1, int32 ``[N]``.
        inflated: Whether any cloth is closed, so that its volume may be held.
    """

    first: wp.array
    count: wp.array
    spring_start: npt.NDArray[np.int64]
    ends: wp.array
    rest_length: wp.array
    stiffness: wp.array
    damping: wp.array
    spring_order: wp.array
    color_start: tuple[int, ...]
    triangles: wp.array
    triangle_start: wp.array
    triangle_at: wp.array
    pressure: wp.array
    rest_volume: wp.array
    cloth: wp.array
    inflated: bool

    @property
    def spring_count(self) -> int:
        """Number of springs of all cloths."""
        return int(self.ends.shape[0])

    @property
    def triangle_count(self) -> int:
        """Number of triangles of all cloths."""
        return int(self.triangles.shape[0])


def build_cloths(
    cloths: list[tuple[int, ParticleCloth]], particle_count: int, device: wp.Device
) -> ClothArrays:
    """Gather the cloths; each comes with the number of its first particle.

    Raises:
        ModelError: A cloth with pressure is not closed.
    """
    colors_of: dict[int, npt.NDArray[np.int32]] = {}
    closed_of: dict[int, bool] = {}
    for number, (_, cloth) in enumerate(cloths):
        mesh: ClothMesh = cloth.mesh
        if id(mesh) not in colors_of:
            colors_of[id(mesh)] = color_springs(mesh.springs.indices, len(mesh.points))
            closed_of[id(mesh)] = mesh.closed
        if cloth.pressure > 0.0 and not closed_of[id(mesh)]:
            raise ModelError(f"cloth {number}: pressure {cloth.pressure}, but its mesh is not closed")
        if not cloth.pressure >= 0.0:
            raise ModelError(f"cloth {number}: pressure {cloth.pressure}, expected at least 0")
    none = np.zeros((0,))
    springs = [cloth.mesh.springs for _, cloth in cloths]
    ends = [first + s.indices for (first, _), s in zip(cloths, springs, strict=True)]
    colors = np.concatenate([none.astype(np.int32)] + [colors_of[id(c.mesh)] for _, c in cloths])
    triangles = np.concatenate(
        [np.zeros((0, 3), dtype=np.int64)] + [first + c.mesh.triangles for first, c in cloths]
    )
    corner_of = triangles.ravel()
    at = np.argsort(corner_of, kind="stable")
    member = np.full(particle_count, -1, dtype=np.int32)
    for number, (first, cloth) in enumerate(cloths):
        if closed_of[id(cloth.mesh)]:
            member[first : first + len(cloth.mesh.points)] = number

    def floats(values: list[npt.NDArray[np.float64]]) -> wp.array:
        joined = np.concatenate([none, *values])
        return wp.array(np.minimum(joined, 3.0e38).astype(np.float32), dtype=wp.float32, device=device)

    def integers(values: npt.ArrayLike, dtype: type = wp.int32) -> wp.array:
        return wp.array(np.asarray(values, dtype=np.int32), dtype=dtype, device=device)

    return ClothArrays(
        first=integers([first for first, _ in cloths]),
        count=integers([len(c.mesh.points) for _, c in cloths]),
        spring_start=np.concatenate(([0], np.cumsum([s.count for s in springs]))).astype(np.int64),
        ends=integers(np.concatenate([np.zeros((0, 2)), *ends]), wp.vec2i),
        rest_length=floats([s.rest_lengths for s in springs]),
        stiffness=floats([s.stiffnesses for s in springs]),
        damping=floats([s.dampings for s in springs]),
        spring_order=integers(np.argsort(colors, kind="stable")),
        color_start=tuple(np.concatenate(([0], np.cumsum(np.bincount(colors)))).astype(int).tolist()),
        triangles=integers(triangles, wp.vec3i),
        triangle_start=integers(np.searchsorted(corner_of[at], np.arange(particle_count + 1))),
        triangle_at=integers(at // 3),
        pressure=floats([np.asarray([c.pressure]) for _, c in cloths]),
        rest_volume=floats([np.asarray([c.mesh.volume]) for _, c in cloths]),
        cloth=integers(member),
        inflated=any(closed_of.values()),
    )
