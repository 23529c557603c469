"""A scene in motion: owns models, state, inputs and contacts, and steps them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

import tensorphys_contact
from tensorphys_contact import Contacts
from tensorphys_dynamics import Control, Solver, State
from tensorphys_engine._kernels.margins import motion_margin
from tensorphys_engine.articulation_info import ArticulationInfo
from tensorphys_engine.build import BuiltScene, build_scene
from tensorphys_engine.directory import Directory, Entity
from tensorphys_engine.errors import StepError
from tensorphys_engine.findings import Findings
from tensorphys_engine.name_tree import SceneTree
from tensorphys_engine.saved_state import SavedState, copies, parameter_arrays, restore, state_arrays
from tensorphys_scene import Scene

_DEFAULT_SUBSTEPS = 4
_DEFAULT_VELOCITY_PASSES = 1


class Simulation:
    """Simulates all environments of a scene at once.

    A step is one recorded graph: contacts are found, then the dynamics advances all substeps. All arrays
    are written in place, so that whatever a user changes between two steps (time step, gravity, gains,
    masses, materials, targets) is read by the next replay. Contact buffers have room for every contact
    that the candidate pairs can make, so they cannot overflow.

    State is in environment frames: world position = local position + ``environment_origin``.

    A setter writes truth (``state.root_pose``, ``state.velocity``, ``state.dof_position``,
    ``state.root_velocity``), sets ``state.fresh`` of the articulations to 1 and calls :meth:`refresh`.

    Attributes:
        scene: The scene that was built.
        device: Warp device of all arrays.
        model: Constants of the dynamics; arrays may be written between steps.
        state, control: State and inputs of the dynamics.
        solver: Solver; holds the contact impulses of the last step.
        contact_model: Shapes, materials and candidate pairs; materials and offsets may be written.
        contacts: Contacts of the last step.
        directory: Paths, names and flat numbers.
        findings: Prim path and text of everything that the scene asks for and the simulation leaves out
            or changes, those of the parser included.
        substeps, velocity_passes: Counts of a step.
        step_count: Steps since the start.
        time: Simulated time [s].
        launch_count: Kernel launches of one step.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        device: Any = "cpu",
        substeps: int | None = None,
        velocity_passes: int | None = None,
        ignore_unsupported: bool = False,
        use_graph: bool = True,
    ) -> None:
        """Build a scene.

        Args:
            scene: The scene.
            device: Warp device.
            substeps: Substeps of a step; default the largest authored solver position iteration count, 4 where
                none is authored.
            velocity_passes: Passes without position bias; default the largest authored velocity iteration count,
                1 where none is authored.
            ignore_unsupported: Whether joints that are not supported are left out, with a warning, instead of
                an error.
            use_graph: Whether steps replay a recorded graph; without it each step launches its kernels.

        Raises:
            BuildError: If the scene contradicts itself.
            UnsupportedError: If the scene asks for something that is not supported.
        """
        findings = Findings(raise_unsupported=not ignore_unsupported)
        self.device = wp.get_device(device)
        built = build_scene(scene, findings, device=self.device)
        self.scene = scene
        self.model, self.contact_model = built.model, built.contact_model
        self.directory = Directory(built.numbering)
        self.state: State = State(self.model)
        self.control: Control = Control(self.model)
        self.contacts: Contacts = tensorphys_contact.create_contacts(self.contact_model)
        counts = _authored_counts(scene)
        self.substeps = substeps or counts[0] or _DEFAULT_SUBSTEPS
        given = velocity_passes if velocity_passes is not None else counts[1]
        self.velocity_passes = _DEFAULT_VELOCITY_PASSES if given is None else given
        self._dt = 1.0 / scene.settings.steps_per_second
        self.solver = Solver(
            self.model,
            self.state,
            self.control,
            self.contacts,
            substeps=self.substeps,
            velocity_passes=self.velocity_passes,
            time_step=self._dt,
            bounce_threshold=built.bounce_threshold,
        )
        self._environment_link = built.environment_link
        self._link_radius = built.link_radius
        self._margin = wp.zeros(scene.environments.count, dtype=wp.float32, device=self.device)
        self.step_count, self.time, self.launch_count = 0, 0.0, 0
        self._use_graph, self._graph = use_graph, None
        self._write_initial(built)
        self._initial = self.save_state()
        self.findings = scene.findings + findings.entries
        findings.warn(stacklevel=2)

    def _write_initial(self, built: BuiltScene) -> None:
        initial = built.initial
        self.state.set_initial(
            root_pose=initial.root_pose, velocity=built.velocity, dof_position=initial.dof_position
        )
        for array, values in (
            (self.control.position_target, initial.position_target),
            (self.control.velocity_target, initial.velocity_target),
        ):
            if values.size:
                array.assign(values)
        self.refresh()

    @property
    def environment_count(self) -> int:
        """Number of environments."""
        return self.scene.environments.count

    @property
    def environment_origin(self) -> npt.NDArray[np.float64]:
        """Origin of each environment's frame in the world [m], shape [environments, 3]."""
        return self.scene.environments.origin

    @property
    def tree(self) -> SceneTree:
        """All prims as a name tree."""
        return self.directory.tree

    def lookup(self, path: str) -> Entity:
        """What the prim at a path is in the simulation.

        Raises:
            PathError: If there is no such prim.
        """
        return self.directory.lookup(path)

    def articulation_info(self, articulation: int) -> ArticulationInfo | None:
        """Names, paths and kinds of an articulation's links and joints; None for a free body."""
        return self.directory.articulation_info(articulation)

    @property
    def time_step(self) -> float:
        """Length of a step where :meth:`step` is given none [s]."""
        return self._dt

    def step(self, dt: float | None = None) -> None:
        """Advance all environments by one step.

        Nothing waits for the device and nothing is allocated, except that the first step records the graph.
        While a caller captures a graph of its own, the kernels are launched into that graph.

        Args:
            dt: Length of the step [s], from now on; default that of the last step, at first the authored rate.

        Raises:
            StepError: If ``dt`` is not a positive number.
        """
        if dt is not None and dt != self._dt:
            if not (math.isfinite(dt) and dt > 0.0):
                raise StepError(f"dt must be a positive number of seconds, given {dt}")
            self._dt = float(dt)
            self.solver.time_step.fill_(self._dt)
        if not self._use_graph or self.device.is_capturing:
            self._launch_step()
        else:
            if self._graph is None:
                self.record()
            wp.capture_launch(self._graph)
        self.step_count += 1
        self.time += self._dt

    def record(self) -> None:
        """Compile all kernels of a step and record its graph, so that the first step is as fast as the others."""
        # On CUDA a module must not be loaded while a stream is captured: one step is run and undone.
        if self.device.is_cuda:
            before = self.save_state(parameters=False)
            self._launch_step()
            self.load_state(before)
        with wp.ScopedCapture(device=self.device) as capture:
            self._launch_step()
        self._graph = capture.graph

    def _launch_step(self) -> None:
        wp.launch(
            motion_margin,
            dim=self.environment_count,
            inputs=[
                self._environment_link,
                self._link_radius,
                self.state.link_velocity,
                self.model.gravity,
                self.solver.time_step,
            ],
            outputs=[self._margin],
            device=self.device,
        )
        tensorphys_contact.collide(
            self.contact_model, self.state.link_pose, self.contacts, margin=self._margin
        )
        self.solver.step()
        # The bounds, each kernel family, and two kernels of compaction, four where environments are large.
        compaction = 2 if self.contact_model.chunk_pair is None else 4
        collide = 1 + len(self.contact_model.family_pairs) + compaction
        self.launch_count = 1 + collide + self.solver.launch_count

    def refresh(self) -> None:
        """Derive link poses and velocities of the articulations marked in ``state.fresh``."""
        self.solver.update_kinematics()

    @property
    def gravity(self) -> npt.NDArray[np.float32]:
        """Gravity of each environment [stage length/s²], shape [environments, 3]; reading waits for the device."""
        return np.array(self.model.gravity.numpy())

    def set_gravity(self, gravity: npt.ArrayLike) -> None:
        """Set gravity.

        Args:
            gravity: Vector [stage length/s²], shape [3] or [environments, 3].

        Raises:
            StepError: If the shape does not fit or a value is not finite.
        """
        values = np.asarray(gravity, np.float32)
        if values.shape not in ((3,), (self.environment_count, 3)) or not np.isfinite(values).all():
            raise StepError(f"gravity: expected 3 numbers or {(self.environment_count, 3)}, given {values}")
        if values.ndim == 1:
            self.model.gravity.fill_(wp.vec3(*values.tolist()))
        else:
            self.model.gravity.assign(values)

    def save_state(self, *, parameters: bool = True) -> SavedState:
        """Copy everything that the next step reads.

        Args:
            parameters: Whether masses, gains, limits, materials and gravity are copied, too.
        """
        model = parameter_arrays(self.model, self.contact_model, self.solver) if parameters else {}
        return SavedState(
            state=copies(state_arrays(self.state, self.control, self.solver)),
            parameters=copies(model),
            time=self.time,
            step_count=self.step_count,
        )

    def load_state(self, saved: SavedState) -> None:
        """Go back to a saved state; contacts are empty until the next step.

        Args:
            saved: State of this simulation or of one of an equal scene on the same device.

        Raises:
            StepError: If it is of another scene.
        """
        restore(state_arrays(self.state, self.control, self.solver), saved.state)
        if saved.parameters:
            restore(parameter_arrays(self.model, self.contact_model, self.solver), saved.parameters)
        self.contacts.count.zero_()
        self.solver.contact_impulse.zero_()
        self.solver.contact_normal_impulse.zero_()
        self.time, self.step_count = saved.time, saved.step_count

    def reset(self, *, parameters: bool = True) -> None:
        """Go back to the start of the scene; the same as building it again.

        Args:
            parameters: Whether masses, gains, limits, materials and gravity go back, too.
        """
        if parameters:
            self.load_state(self._initial)
        else:
            initial = self._initial
            self.load_state(SavedState(initial.state, {}, initial.time, initial.step_count))


def _authored_counts(scene: Scene) -> tuple[int | None, int | None]:
    """Largest authored numbers of position and velocity iterations of all templates in use."""
    result = []
    for name in ("position_iterations", "velocity_iterations"):
        values = [
            int(value)
            for template in np.unique(scene.environments.template)
            for table in (scene.templates[template].bodies, scene.templates[template].articulations)
            for value in getattr(table, name)
            if value >= 0
        ]
        result.append(max(values, default=None))
    return result[0], result[1]
