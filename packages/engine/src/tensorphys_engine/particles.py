"""Particles among the bodies of a simulation: their model and state, and how both push each other."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_contact import Model as ContactModel
from tensorphys_contact import PointObstacles, SdfGeometry, create_point_shapes, create_query_tree
from tensorphys_dynamics import LinkEnds, Model
from tensorphys_engine._kernels import particles as kernels
from tensorphys_engine.build import BuiltScene
from tensorphys_engine.errors import ParticleOverflowError, ParticleOverflowWarning
from tensorphys_engine.particle_plan import ParticlePlan
from tensorphys_particles import (
    ParticleMaterial,
    ParticleModel,
    ParticleSolver,
    ParticleState,
    SolverSettings,
)

_SYSTEM_PARAMETERS = (
    "wind",
    "air_density",
    "max_velocity",
    "max_depenetration",
    "particle_contact",
    "contact",
    "rest",
    "solid_rest",
    "fluid_rest",
)
_ROWS = 4


class SceneParticles:
    """Particle systems of all environments; a :class:`tensorphys_dynamics.Coupling`.

    In each substep of the dynamics the particles take their share of substeps of their own. In these the bodies move by
    their velocities, in which what held them otherwise is contained, and yield to the particles by their response; what
    they were given together then acts on them in the substep of the dynamics.

    Attributes:
        plan: What the prims of the scene became.
        model: Constants; arrays may be written between steps, after offsets call ``model.update_offsets()``.
        state: Positions, environment frames, and velocities.
        solver: Solver; holds what overflowed.
        obstacles: The bodies as the particles see them.
        body_impulse: Impulse of the particles on each link in the last substep of the dynamics, [linear, angular about
            the centre of mass], spatial_vector [links].
    """

    def __init__(
        self,
        plan: ParticlePlan,
        model: Model,
        contact_model: ContactModel,
        link_pose: wp.array,
        *,
        shape_sdf: npt.ArrayLike | None = None,
        sdfs: Sequence[SdfGeometry] = (),
    ) -> None:
        """Bring the systems to the device.

        Args:
            plan: Particle systems of the scene.
            model: Bodies.
            contact_model: Their shapes.
            link_pose: Poses of the bodies at the start.
            shape_sdf, sdfs: Signed distance fields, as the contact model was given them.
        """
        device = model.device
        self.plan = plan
        self.model = ParticleModel(plan.systems, device=device)
        self.state = ParticleState(self.model)
        owner = self.model.particles.system.numpy()
        self.obstacles = PointObstacles(
            contact_model,
            create_query_tree(contact_model, link_pose),
            create_point_shapes(contact_model, shape_sdf=shape_sdf, sdfs=sdfs),
            self.model.environment[owner],
            rows=_ROWS,
        )
        spatial: Any = wp.spatial_vector
        self.body_impulse = wp.zeros(max(model.link_count, 1), dtype=spatial, device=device)
        self._links = model.link_count
        self._gravity = model.gravity
        self._environment: Any = wp.array(self.model.environment, dtype=wp.int32, device=device)
        self._time: Any = wp.zeros(1, dtype=wp.float32, device=device)
        self.solver = ParticleSolver(
            self.model, SolverSettings(substeps=plan.substeps), obstacles=_Moving(self)
        )

    def attach(self, ends: LinkEnds, substeps: int) -> None:
        """Take part in the steps of a solver; its substeps are shared out."""
        self._ends, self._substeps = ends, substeps
        self.obstacles.body_response = ends.response
        inner = max(1, round(self.plan.substeps / substeps))
        if inner != self.solver.settings.substeps:
            self.solver.settings = SolverSettings(substeps=inner)

    def begin(self, time_step: wp.array) -> None:
        """Begin a step.

        Args:
            time_step: Length of the step [s], float32 [1].
        """
        self._launch(
            kernels.take_gravity,
            self.model.system_count,
            [self._gravity, self._environment],
            [self.model.systems.gravity],
        )
        self._launch(kernels.part_of_step, 1, [time_step, self._substeps], [self._time])

    def exchange(self, sweep: Callable[[], None]) -> None:
        """Advance the particles by a substep of the dynamics, and have the links feel it.

        Args:
            sweep: As :meth:`tensorphys_dynamics.Coupling.exchange` has it; the links have been observed and swept before.
        """
        ends, seen = self._ends, self.obstacles
        moving = [seen.body_pose, seen.body_com, seen.body_velocity, self.body_impulse]
        if self._links:
            given = [ends.pose, ends.com, ends.velocity, ends.impulse]
            self._launch(kernels.start_bodies, self._links, given, moving)
        self.solver.step(self.state, self._time)
        if self._links:
            wp.copy(ends.impulse, self.body_impulse)
            ends.sweep(sweep)

    def advance(self, time: wp.array) -> None:
        """Move the bodies by a substep of the particles."""
        seen = self.obstacles
        seen.advance(time)
        if self._links:
            moving = [seen.body_pose, seen.body_com, seen.body_velocity, self.body_impulse]
            self._launch(
                kernels.push_bodies, self._links, [seen.body_impulse, seen.body_response, time], moving
            )

    def state_arrays(self) -> dict[str, Any]:
        """What the next step reads."""
        return {"particles.positions": self.state.positions, "particles.velocities": self.state.velocities}

    def parameter_arrays(self) -> dict[str, Any]:
        """What only the user changes."""
        model = self.model
        arrays = {f"particles.{name}": getattr(model.systems, name) for name in _SYSTEM_PARAMETERS}
        for field in dataclasses.fields(ParticleMaterial):
            arrays[f"particles.material.{field.name}"] = getattr(model.materials, field.name)
        for name in ("stiffness", "damping", "pressure"):
            arrays[f"particles.spring.{name}"] = getattr(model.cloths, name)
        return arrays | {"particles.inverse_mass": model.particles.inverse_mass}

    def check_overflow(self, on_overflow: str) -> None:
        """Look whether a particle had more neighbours or shapes than are kept since the last look; waits for the device.

        Args:
            on_overflow: ``"raise"`` for an error, anything else for a warning: what is kept is authored.

        Raises:
            ParticleOverflowError: If so, and an error is wanted.
        """
        needed, rows = self.solver.neighbors_needed.numpy(), int(self.obstacles.needed.numpy()[0])
        texts = []
        if needed.any():
            worst = int(needed.argmax())
            kept = int(self.model.systems.capacity.numpy()[worst])
            path = next(path for path, numbers in self.plan.systems_of.items() if worst in numbers)
            texts.append(
                f"{path}: a particle had {int(needed[worst])} neighbours, and keeps {kept}; raise maxNeighborhood, or "
                "space the particles by twice their rest offset"
            )
        if rows:
            texts.append(f"particles: one touched {rows} shapes, and {_ROWS} are kept")
        if not texts:
            return
        self.solver.clear_overflow()
        self.obstacles.needed.zero_()
        if on_overflow == "raise":
            raise ParticleOverflowError("; ".join(texts))
        warnings.warn("; ".join(texts), ParticleOverflowWarning, stacklevel=3)

    def derive(self) -> None:
        """Derive what depends on parameters that were written back."""
        self.model.update_offsets()

    def world_positions(self, origin: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Positions in the world [length], float64 [particles, 3]; waits for the device.

        Args:
            origin: Origin of each environment [length], [environments, 3].
        """
        home = self.model.environment[self.model.particles.system.numpy()]
        return np.asarray(self.state.positions.numpy(), np.float64) + origin[home]

    def _launch(self, kernel: Any, count: int, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(kernel, dim=count, inputs=inputs, outputs=outputs, device=self.model.device)


class _Moving:
    """Obstacles that move and yield between the substeps of the particles."""

    def __init__(self, owner: SceneParticles) -> None:
        self._owner = owner
        seen = owner.obstacles
        self.count, self.normal, self.point, self.velocity = (
            seen.count,
            seen.normal,
            seen.point,
            seen.velocity,
        )
        self.friction, self.response, self.impulse = seen.friction, seen.response, seen.impulse

    def collide(self, positions: wp.array, margin: wp.array, time: wp.array) -> None:
        self._owner.obstacles.collide(positions, margin, time)

    def advance(self, time: wp.array) -> None:
        self._owner.advance(time)


def scene_particles(built: BuiltScene, link_pose: wp.array) -> SceneParticles | None:
    """The particles of a scene, or None.

    Args:
        built: The scene.
        link_pose: Poses of the links at the start.
    """
    if not built.particle_plan.systems:
        return None
    return SceneParticles(
        built.particle_plan,
        built.model,
        built.contact_model,
        link_pose,
        shape_sdf=built.shape_sdf,
        sdfs=built.sdfs,
    )
