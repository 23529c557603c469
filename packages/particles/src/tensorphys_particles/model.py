"""What stays the same from step to step: particles, springs, triangles and constants on a device."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_particles._kernels import lattice, motion, structs
from tensorphys_particles.cloths_layout import ClothArrays, build_cloths
from tensorphys_particles.errors import ArrayError, ModelError
from tensorphys_particles.material import ParticleMaterial
from tensorphys_particles.offsets import Offsets
from tensorphys_particles.system import Block, ParticleCloth, ParticleSet, ParticleSystem, block_of

_SYSTEM_FLOATS = ("air_density", "max_velocity", "max_depenetration_velocity", "neighborhood_scale")
_OFFSETS = {"particle_contact": "particle_contact", "contact": "contact", "rest": "rest"}
_OFFSETS |= {"solid_rest": "solid_rest", "fluid_rest": "fluid_rest"}


class ParticleModel:
    """Particle systems of all environments on one device.

    Particles are numbered system by system, in each its sets and then its cloths. Constants may be written between
    steps (arrays of :attr:`systems`, :attr:`materials`, and the springs of :attr:`cloths`); after a change of
    an offset call :meth:`update_offsets`.

    Attributes:
        device: Where the arrays are.
        particle_count, system_count, cloth_count: Sizes N, S, L.
        environment: Environment of each system, int32 ``[S]`` on the host.
        system_start: First particle of each system and the end, int64 ``[S + 1]`` on the host.
        set_start: First particle of each set and cloth in order, and the end, on the host.
        systems: Arrays ``[S]``: ``gravity``, ``wind`` (vec3), ``air_density``, ``max_velocity``,
            ``max_depenetration``, ``particle_contact``, ``contact``, ``rest``, ``solid_rest``, ``fluid_rest``
            (float32), ``self_collision``, ``obstacle_collision`` (int32).
        materials: Arrays, one entry for each set and cloth, named as in :class:`ParticleMaterial`.
        particles: Arrays ``[N]``: ``system``, ``material``, ``fluid``, ``inverse_mass`` and more.
        cloths: Springs and triangles (:class:`ClothArrays`).
        initial_positions, initial_velocities: vec3 ``[N]``.
    """

    def __init__(self, systems: Sequence[ParticleSystem], *, device: wp.DeviceLike = None) -> None:
        """Check the description and bring it to the device.

        Raises:
            ModelError: Something in it is impossible; the message names system and member.
        """
        if not systems:
            raise ModelError("expected at least one particle system")
        self.device = wp.get_device(device)
        offsets = [_offsets_of(system, number) for number, system in enumerate(systems)]
        members: list[tuple[int, ParticleSet | ParticleCloth]] = []
        for number, system in enumerate(systems):
            members += [(number, member) for member in system.sets]
            members += [(number, cloth) for cloth in system.cloths]
        blocks = [
            block_of(member, offsets[s], f"system {s}, {_kind(member)} {number}")
            for number, (s, member) in enumerate(members)
        ]
        counts = np.asarray([len(block.positions) for block in blocks], dtype=np.int64)
        self.set_start = np.concatenate(([0], np.cumsum(counts)))
        self.particle_count = int(self.set_start[-1])
        if self.particle_count == 0:
            raise ModelError("expected at least one particle")
        self.system_count = len(systems)
        self.environment = np.asarray([system.environment for system in systems], dtype=np.int32)
        owner = np.asarray([s for s, _ in members], dtype=np.int32)
        sizes = np.bincount(owner, weights=counts, minlength=len(systems)).astype(np.int64)
        self.system_start = np.concatenate(([0], np.cumsum(sizes)))

        self.systems = self._system_arrays(systems, offsets, sizes)
        self.materials = self._material_arrays([member.material for _, member in members])
        self.particles = self._particle_arrays(members, owner, counts, blocks)
        self.initial_positions = self._vectors([block.positions for block in blocks])
        self.initial_velocities = self._vectors([block.velocities for block in blocks])
        starts = self.set_start[:-1]
        cloths = [(int(starts[k]), m) for k, (_, m) in enumerate(members) if isinstance(m, ParticleCloth)]
        self.cloths: ClothArrays = build_cloths(cloths, self.particle_count, self.device)
        self.cloth_count = len(cloths)
        self.capacity = max(system.max_neighborhood for system in systems)
        self.has_pairs = any(system.global_self_collision for system in systems)
        self.has_fluid_forces = any(
            isinstance(m, ParticleSet) and m.fluid and _flows(m.material) for _, m in members
        )
        self.has_fluid = any(isinstance(m, ParticleSet) and m.fluid for _, m in members)
        self.update_offsets()

    def update_offsets(self) -> None:
        """Derive what depends on the offsets of the systems. Stays on the device; can be captured."""
        wp.launch(lattice.derive_systems, dim=self.system_count, outputs=[self.systems], device=self.device)

    def set_masses(self, values: wp.array, mask: wp.array | None = None) -> None:
        """Write the masses of particles [mass]; ≤ 0 or infinite holds a particle fixed.

        Args:
            values: float32 ``[N]``.
            mask: Systems to write, int32 ``[S]``, not 0 means yes. Default: all.
        """
        check_array("values", values, wp.float32, (self.particle_count,), self.device)
        if mask is not None:
            check_array("mask", mask, wp.int32, (self.system_count,), self.device)
        wp.launch(
            motion.write_masses,
            dim=self.particle_count,
            inputs=[mask, self.particles.system, values],
            outputs=[self.particles.inverse_mass],
            device=self.device,
        )

    def get_masses(self, out: wp.array) -> None:
        """Write the masses of particles [mass] into a float32 array ``[N]``; infinite where held fixed."""
        check_array("out", out, wp.float32, (self.particle_count,), self.device)
        wp.launch(
            motion.read_masses,
            dim=self.particle_count,
            inputs=[self.particles.inverse_mass],
            outputs=[out],
            device=self.device,
        )

    def _vectors(self, parts: list[npt.NDArray[np.float64]]) -> wp.array:
        return wp.array(np.concatenate(parts).astype(np.float32), dtype=wp.vec3, device=self.device)

    def _array(self, values: npt.ArrayLike, dtype: type) -> wp.array:
        return wp.array(np.asarray(values), dtype=dtype, device=self.device)

    def _system_arrays(
        self, systems: Sequence[ParticleSystem], offsets: list[Offsets], sizes: npt.NDArray[np.int64]
    ) -> structs.Systems:
        arrays = structs.Systems()
        for name in ("gravity", "wind"):
            setattr(arrays, name, self._array([getattr(s, name) for s in systems], wp.vec3))
        for name in _SYSTEM_FLOATS:
            values = self._array([getattr(s, name) for s in systems], wp.float32)
            setattr(arrays, name.removesuffix("_velocity") if "depen" in name else name, values)
        for name in _OFFSETS:
            setattr(arrays, name, self._array([getattr(o, name) for o in offsets], wp.float32))
        arrays.self_collision = self._array([int(s.global_self_collision) for s in systems], wp.int32)
        arrays.obstacle_collision = self._array([int(s.obstacle_collision) for s in systems], wp.int32)
        arrays.capacity = self._array([s.max_neighborhood for s in systems], wp.int32)
        # About two cells a particle, a power of two along each axis.
        bits = np.maximum(2, np.ceil(np.log2(np.maximum(2.0 * sizes, 1.0)) / 3.0)).astype(np.int64)
        first = np.concatenate(([0], np.cumsum(np.left_shift(np.int64(1), 3 * bits))))
        if first[-1] >= 2**31:
            raise ModelError(
                f"{self.particle_count} particles need {first[-1]} cells, more than int32 counts"
            )
        self.cell_count = int(first[-1])
        arrays.cell_first = self._array(first[:-1].astype(np.int32), wp.int32)
        arrays.cell_bits = self._array(bits.astype(np.int32), wp.int32)
        count = len(systems)
        arrays.lattice_sum = wp.zeros(count, dtype=wp.float32, device=self.device)
        arrays.second_moment = wp.zeros(count, dtype=wp.float32, device=self.device)
        shape = (count, structs.WALL_SAMPLES + 1)
        arrays.wall = wp.zeros(shape, dtype=wp.float32, device=self.device)
        return arrays

    def _material_arrays(self, materials: list[ParticleMaterial]) -> structs.Materials:
        arrays = structs.Materials()
        for field in dataclasses.fields(ParticleMaterial):
            values = [getattr(material, field.name) for material in materials]
            setattr(arrays, field.name, self._array(values, wp.float32))
        return arrays

    def _particle_arrays(
        self,
        members: list[tuple[int, ParticleSet | ParticleCloth]],
        owner: npt.NDArray[np.int32],
        counts: npt.NDArray[np.int64],
        blocks: list[Block],
    ) -> structs.Particles:
        def spread(values: Sequence[int] | npt.NDArray[np.int32]) -> wp.array:
            return self._array(np.repeat(np.asarray(values, dtype=np.int32), counts), wp.int32)

        arrays = structs.Particles()
        arrays.system = spread(owner)
        arrays.material = spread(range(len(members)))
        arrays.fluid = spread([int(isinstance(m, ParticleSet) and m.fluid) for _, m in members])
        arrays.family = spread([_family(m) for _, m in members])
        filtered = [isinstance(m, ParticleCloth) and m.self_collision_filter for _, m in members]
        arrays.filter_cloth = spread([k if yes else -1 for k, yes in enumerate(filtered)])
        rest = [
            m.mesh.points if isinstance(m, ParticleCloth) else block.positions
            for (_, m), block in zip(members, blocks, strict=True)
        ]
        arrays.rest_point = self._vectors(rest)
        mass = np.concatenate([block.masses for block in blocks])
        free = (mass > 0.0) & np.isfinite(mass)
        inverse = np.where(free, 1.0 / np.where(free, mass, 1.0), 0.0)
        arrays.inverse_mass = self._array(inverse.astype(np.float32), wp.float32)
        return arrays


def check_array(name: str, array: wp.array, dtype: type, shape: tuple[int, ...], device: wp.Device) -> None:
    """Refuse an array of another dtype, shape or device.

    Raises:
        ArrayError: The message says what was expected and given.
    """
    if not isinstance(array, wp.array):
        raise ArrayError(f"{name}: expected a Warp array, got {type(array).__name__}")
    if array.dtype is not dtype or array.shape != shape or array.device != device:
        raise ArrayError(
            f"{name}: expected {dtype.__name__}{list(shape)} on {device}, "
            f"got {array.dtype.__name__}{list(array.shape)} on {array.device}"
        )


def _offsets_of(system: ParticleSystem, number: int) -> Offsets:
    try:
        offsets = system.offsets
    except ModelError as error:
        raise ModelError(f"system {number}: {error}") from None
    if system.max_neighborhood < 1:
        raise ModelError(f"system {number}: max_neighborhood {system.max_neighborhood}, expected at least 1")
    if not system.neighborhood_scale >= 1.0:
        raise ModelError(
            f"system {number}: neighborhood_scale {system.neighborhood_scale}, expected at least 1"
        )
    return offsets


def _kind(member: ParticleSet | ParticleCloth) -> str:
    return "cloth" if isinstance(member, ParticleCloth) else "set"


def _family(member: ParticleSet | ParticleCloth) -> int:
    """Number that two particles share when they may not see each other, negative; else 0."""
    return 0 if member.self_collision else -1 - member.group


def _flows(material: ParticleMaterial) -> bool:
    return (
        max(material.viscosity, material.cohesion, material.surface_tension, material.vorticity_confinement)
        > 0.0
    )
