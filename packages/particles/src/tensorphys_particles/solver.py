"""Steps of a model in time."""

from __future__ import annotations

import itertools
import warnings
from typing import Literal

import numpy as np
import warp as wp

from tensorphys_particles._kernels import air, cells, fluids, motion, pairs, rows, springs, structs
from tensorphys_particles.errors import CapacityError, CapacityWarning, ModelError, SettingsError
from tensorphys_particles.model import ParticleModel, check_array
from tensorphys_particles.protocols import Obstacles
from tensorphys_particles.settings import SolverSettings
from tensorphys_particles.state import ParticleState


class ParticleSolver:
    """Position-based solver of all systems of a model.

    A step makes no allocation and does not return to the host; it can be captured in a CUDA graph (`dt` given as an
    array, or frozen).

    Attributes:
        acceleration: External acceleration of each particle [length/s²], vec3 ``[N]``, kept until changed.
        neighbors_needed: Largest number of neighbours that a particle of a system had when it was above
            ``max_neighborhood`` since :meth:`clear_overflow`, else 0; int32 ``[S]``.
        volume: Volume inside each cloth with pressure [length³], float32 ``[L]``.
    """

    def __init__(
        self,
        model: ParticleModel,
        settings: SolverSettings | None = None,
        *,
        obstacles: Obstacles | None = None,
    ) -> None:
        """Allocate the work arrays.

        Args:
            model: Particles.
            settings: Budgets.
            obstacles: What particles collide with beside each other.
        """
        self.model = model
        self.settings = settings or SolverSettings()
        self.obstacles = obstacles
        self.device = model.device
        count, device = model.particle_count, model.device

        def vectors(size: int = count) -> wp.array:
            return wp.zeros(size, dtype=wp.vec3, device=device)

        def floats(size: int = count) -> wp.array:
            return wp.zeros(size, dtype=wp.float32, device=device)

        def integers(size: int) -> wp.array:
            return wp.zeros(size, dtype=wp.int32, device=device)

        self.acceleration = vectors()
        self.neighbors_needed = integers(model.system_count)
        self.volume = floats(model.cloth_count)
        self._time, self._step_time = floats(1), floats(1)
        self._move, self._predicted, self._margin = vectors(), vectors(), floats()
        self._triangle_impulse = vectors(model.cloths.triangle_count)
        self._spring_multiplier = floats(model.cloths.spring_count)
        self._volume_gradient = vectors(count if model.cloths.inflated else 0)
        self._volume_multiplier = floats(model.cloth_count)
        # Pairs of buffers: Jacobi passes read one and write the other.
        self._moves, self._places = (vectors(), vectors()), (vectors(), vectors())
        self._density, self._multiplier, self._contact_count = floats(), floats(), integers(count)
        flow = count if model.has_fluid_forces else 0
        self._vorticity, self._normal, self._exchange, self._gain = (
            vectors(flow),
            vectors(flow),
            floats(flow),
            vectors(flow),
        )
        self._key = integers(2 * count if model.has_pairs else 0)
        self._order = wp.array(np.tile(np.arange(count, dtype=np.int32), 2), dtype=wp.int32, device=device)
        self._slot = wp.array(np.arange(count, dtype=np.int32), dtype=wp.int32, device=device)
        self._cell_start, self._cell_end = (
            integers(model.cell_count if model.has_pairs else 0) for _ in "se"
        )
        self._slots = structs.Slots()
        self._slots.particle = self._order
        self._slots.start, self._slots.inverse_mass = vectors(), floats()
        self._slots.neighbor = integers(count * model.capacity if model.has_pairs else 0)
        self._slots.neighbor_count = integers(count)
        by_column = device.is_cuda
        self._slots.slot_stride = 1 if by_column else model.capacity
        self._slots.rank_stride = count if by_column else 1
        self._rows = _take_rows(obstacles, model)

    def step(self, state: ParticleState, dt: float | wp.array) -> None:
        """Advance the state in place.

        Args:
            state: Positions and velocities.
            dt: Time step [s], a number or a float32 array ``[1]`` on the device.
        """
        self._take_time(state, dt, self.settings.substeps)
        for _ in range(self.settings.substeps):
            self._substep(state)

    def measure_density(self, state: ParticleState, out: wp.array) -> None:
        """Number density of each fluid particle over that at rest, obstacles included.

        Args:
            state: Positions.
            out: float32 ``[N]``; 0 for particles that are not fluid.
        """
        check_array("out", out, wp.float32, (self.model.particle_count,), self.device)
        self._take_time(state, 1.0e-9, 1)
        wp.copy(self._predicted, state.positions)
        self._move.zero_()
        self._arrange(state)
        self._measure(0)
        self._launch(pairs.scatter_density, [self._slots, self.model.particles, self._density], [out])

    def check_overflow(self, *, on_overflow: Literal["raise", "warn"] = "raise") -> None:
        """Look, on the host, whether a buffer was too small since :meth:`clear_overflow`.

        Raises:
            CapacityError: One was, and `on_overflow` is ``"raise"``. ``"warn"`` gives a :class:`CapacityWarning`.
        """
        needed = self.neighbors_needed.numpy()
        if not needed.any():
            return
        worst = int(needed.argmax())
        held = int(self.model.systems.capacity.numpy()[worst])
        text = (
            f"max_neighborhood: {int((needed > 0).sum())} particle systems had more neighbours than they keep; "
            f"system {worst} (environment {int(self.model.environment[worst])}) keeps {held} and needed "
            f"{int(needed[worst])}. Raise max_neighborhood, or space the particles by twice their rest offset"
        )
        if on_overflow == "raise":
            raise CapacityError(text)
        warnings.warn(text, CapacityWarning, stacklevel=2)

    def clear_overflow(self) -> None:
        """Forget overflows."""
        self.neighbors_needed.zero_()

    def _take_time(self, state: ParticleState, dt: float | wp.array, substeps: int) -> None:
        if state.model is not self.model:
            raise ModelError("the state must be made from the model of the solver")
        if isinstance(dt, wp.array):
            check_array("dt", dt, wp.float32, (1,), self.device)
            self._launch(motion.split_step, [dt, substeps], [self._time], dim=1)
        else:
            if not dt > 0.0:
                raise SettingsError(f"dt: expected a positive number [s], got {dt}")
            self._time.fill_(dt / substeps)

    def _launch(self, kernel: wp.Kernel, inputs: list, outputs: list, dim: int | None = None) -> None:
        size = self.model.particle_count if dim is None else dim
        wp.launch(kernel, dim=size, inputs=inputs, outputs=outputs, device=self.device)

    def _substep(self, state: ParticleState) -> None:
        model, cloths = self.model, self.model.cloths
        constants = [model.systems, model.materials, model.particles]
        around = [cloths.triangle_start, cloths.triangle_at] if cloths.triangle_count else [None, None]
        if cloths.triangle_count:
            self._launch(
                air.push_triangles,
                [*constants, cloths.triangles, around[0], state.positions, state.velocities, self._time],
                [self._triangle_impulse],
                dim=cloths.triangle_count,
            )
        self._launch(
            motion.predict,
            [
                *constants,
                *around,
                self._triangle_impulse,
                state.positions,
                state.velocities,
                self.acceleration,
                self._time,
            ],
            [self._move, self._predicted, self._margin],
        )
        self._arrange(state)
        self._spring_multiplier.zero_()
        now = 0
        for _ in range(self.settings.iterations):
            now = self._iterate(now)
        gain = None
        if model.has_fluid_forces and model.has_pairs:
            gain = self._flow(now)
        self._launch(
            motion.finish,
            [self._slots, model.systems, model.particles, self._moves[now], gain, self._time],
            [state.positions, state.velocities],
        )
        if self.obstacles is not None:
            self.obstacles.advance(self._time)

    def _arrange(self, state: ParticleState) -> None:
        """Obstacles, cells and slots at the predicted places."""
        model, particles = self.model, self.model.particles
        if self.obstacles is not None:
            self.obstacles.collide(self._predicted, self._margin, self._time)
        if model.has_pairs:
            self._launch(
                cells.number_cells, [model.systems, particles, self._predicted], [self._key, self._order]
            )
            bits = max(1, (model.cell_count - 1).bit_length())
            wp.utils.radix_sort_pairs(self._key, self._order, model.particle_count, 0, bits)
            self._cell_start.zero_()
            self._cell_end.zero_()
            self._launch(
                cells.mark_cells, [self._key, model.particle_count], [self._cell_start, self._cell_end]
            )
        slots = self._slots
        self._launch(
            motion.fill_slots,
            [slots, particles, self._rows, state.positions, self._move],
            [
                self._slot,
                slots.start,
                slots.inverse_mass,
                self._moves[0],
                self._places[0],
                self._rows.impulse,
            ],
        )
        if model.has_pairs:
            self._launch(
                cells.find_neighbors,
                [model.systems, particles, slots, self._places[0], self._cell_start, self._cell_end],
                [slots.neighbor, slots.neighbor_count, self.neighbors_needed],
            )

    def _iterate(self, now: int) -> int:
        """One pass over all constraints; returns which buffers hold the result."""
        model = self.model
        self._pull_springs(now)
        if model.cloths.inflated:
            self._hold_volumes(now)
        constants = [model.systems, model.materials, model.particles, self._slots, self._rows]
        if model.has_pairs:
            self._measure(now)
            self._launch(
                pairs.correct_pairs,
                [
                    *constants,
                    self._places[now],
                    self._moves[now],
                    self._multiplier,
                    self._contact_count,
                    self.settings.relaxation,
                    self._time,
                ],
                [self._moves[1 - now], self._places[1 - now]],
            )
            return 1 - now
        if self.obstacles is not None:
            self._launch(
                rows.project_particles, [*constants, self._time], [self._moves[now], self._places[now]]
            )
        return now

    def _measure(self, now: int) -> None:
        model = self.model
        self._launch(
            pairs.measure_pairs,
            [model.systems, model.particles, self._slots, self._rows, self._places[now], self._time],
            [self._density, self._multiplier, self._contact_count],
        )

    def _pull_springs(self, now: int) -> None:
        cloths = self.model.cloths
        if not cloths.spring_count:
            return
        starts = cloths.color_start if self.device.is_cuda else (0, cloths.spring_count)
        for first, last in itertools.pairwise(starts):
            self._launch(
                springs.solve_springs,
                [
                    first,
                    cloths.spring_order,
                    cloths.ends,
                    cloths.rest_length,
                    cloths.stiffness,
                    cloths.damping,
                    self._slot,
                    self._slots,
                    self._time,
                ],
                [self._spring_multiplier, self._moves[now], self._places[now]],
                dim=last - first,
            )

    def _hold_volumes(self, now: int) -> None:
        model, cloths = self.model, self.model.cloths
        self._launch(
            springs.volume_gradients,
            [0, cloths.triangle_start, cloths.triangle_at, cloths.triangles, self._slot, self._places[now]],
            [self._volume_gradient],
        )
        self._launch(
            springs.volume_multipliers,
            [
                cloths.first,
                cloths.count,
                cloths.pressure,
                cloths.rest_volume,
                self._slot,
                self._slots,
                self._volume_gradient,
                self._places[now],
            ],
            [self._volume_multiplier, self.volume],
            dim=model.cloth_count,
        )
        self._launch(
            springs.apply_volume,
            [0, cloths.cloth, self._volume_multiplier, self._volume_gradient, self._slot, self._slots],
            [self._moves[now], self._places[now]],
        )

    def _flow(self, now: int) -> wp.array:
        model = self.model
        constants = [model.systems, model.materials, model.particles, self._slots]
        constants += [self._places[now], self._moves[now]]
        self._launch(
            fluids.measure_flow,
            [*constants, self._time],
            [self._vorticity, self._normal, self._exchange],
        )
        self._launch(
            fluids.gain_velocities,
            [*constants, self._vorticity, self._normal, self._exchange, self._time],
            [self._gain],
        )
        return self._gain


def _take_rows(obstacles: Obstacles | None, model: ParticleModel) -> structs.Rows:
    """Check the arrays of obstacles once and keep them."""
    taken = structs.Rows()
    taken.present = int(obstacles is not None)
    if obstacles is None:
        taken.impulse = wp.zeros((0, 0), dtype=wp.vec3, device=model.device)
        return taken
    count = model.particle_count
    check_array("count", obstacles.count, wp.int32, (count,), model.device)
    taken.count = obstacles.count
    shape = (count, int(obstacles.normal.shape[1]))
    for name in ("normal", "point", "velocity", "impulse"):
        check_array(name, getattr(obstacles, name), wp.vec3, shape, model.device)
        setattr(taken, name, getattr(obstacles, name))
    for name in ("friction", "response"):
        check_array(name, getattr(obstacles, name), wp.float32, shape, model.device)
        setattr(taken, name, getattr(obstacles, name))
    return taken
