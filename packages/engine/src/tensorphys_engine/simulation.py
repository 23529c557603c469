"""A scene in motion: owns models, state, inputs and contacts, and steps them."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import warp as wp

import tensorphys_contact
from tensorphys_contact import Contacts
from tensorphys_dynamics import Control, LinkEnds, Solver, State, StepLoads
from tensorphys_engine.articulation_info import ArticulationInfo
from tensorphys_engine.bodies import note_moved_links
from tensorphys_engine.build import BuiltScene, authored_counts, build_scene
from tensorphys_engine.compiling import compile_step
from tensorphys_engine.constant_loads import ConstantLoads
from tensorphys_engine.contact_buffers import (
    allocate_contacts,
    grown_contacts,
    holds_all,
    move_warm_start,
    overflow_text,
)
from tensorphys_engine.contact_search import launch_contacts, may_touch
from tensorphys_engine.continuous import continuous_collision
from tensorphys_engine.coupling import Coupled, SceneCoupling
from tensorphys_engine.directory import Directory, Entity
from tensorphys_engine.divergence import DivergenceWatch
from tensorphys_engine.errors import ContactOverflowError, ContactOverflowWarning, StepError
from tensorphys_engine.findings import Findings
from tensorphys_engine.interventions import Interventions
from tensorphys_engine.joint_events import JointEvents
from tensorphys_engine.margins import MotionMargins
from tensorphys_engine.name_tree import SceneTree
from tensorphys_engine.one_pass import OnePass
from tensorphys_engine.particles import scene_particles
from tensorphys_engine.saved_state import (
    SavedState,
    check_match,
    copies,
    overwrite,
    parameter_arrays,
    state_arrays,
)
from tensorphys_engine.sleeping import sleep_of_scene
from tensorphys_engine.soft_scene import has_deformables, scene_soft
from tensorphys_engine.threads import ThreadedStep, range_bounds, usable_threads
from tensorphys_scene import Scene

OnOverflow = Literal["grow", "raise", "warn"]

_LOGGER = logging.getLogger(__name__)
_DEFAULT_SUBSTEPS = 4
# Contacts of large worlds are springs that give way by g h² for each body above them; a pile on fewer keeps trembling.
_LARGE_SUBSTEPS = 8
_DEFAULT_VELOCITY_PASSES = 1


class Simulation(Interventions):
    """Simulates all environments of a scene at once.

    A step is one recorded graph: contacts are found, then the dynamics advances all substeps. All arrays
    are written in place, so that whatever a user changes between two steps (time step, gravity, gains,
    masses, materials, targets) is read by the next replay.

    State is in environment frames: world position = local position + ``environment_origin``.

    A setter writes truth (``state.root_pose``, ``state.velocity``, ``state.dof_position``,
    ``state.root_velocity``), sets ``state.fresh`` of the articulations to 1 and calls :meth:`refresh`.

    Contact buffers have room for every contact that the candidate pairs can make, and cannot overflow, where
    that fits ``contact_budget``. Elsewhere the deepest contacts are kept in a fixed order and the environment
    is marked; ``on_overflow`` says what follows, ``strict`` when: at once, with the step repeated from its
    start, or at the next :meth:`check_contacts`. Growing replaces ``contacts`` and ``solver``.

    Attributes:
        scene: The scene that was built.
        device: Warp device of all arrays.
        model: Constants of the dynamics; arrays may be written between steps.
        joints: Joints outside of trees, couplings and tendons; ``joints.model`` has their parameters.
        raw_state: As ``state``, whose derived part may wait for ``one_refresh``.
        control: Inputs of the dynamics.
        sleep: Which articulations sleep; None where nothing ever does.
        particles: Particles; None where there are none.
        soft: Deformables; None where there are none.
        solver: Solver; holds the contact impulses of the last step.
        loads: Accelerations of links and loads of joints in the last step.
        contact_model: Shapes, materials and candidate pairs; materials and rest offsets may be written.
        contact_offset: Contact offset that each shape was given; see :meth:`apply_disabled`.
        contacts: Contacts of the last step.
        directory: Paths, names and flat numbers.
        findings: Prim path and text of everything that the scene asks for and the simulation leaves out
            or changes, those of the parser included.
        substeps, velocity_passes: Counts of a step.
        step_count: Steps since the start.
        time: Simulated time [s].
        launch_count: Kernel launches of one step, without those of particles and deformables.
    """

    def __init__(
        self,
        scene: Scene,
        *,
        device: Any = "cpu",
        substeps: int | None = None,
        velocity_passes: int | None = None,
        ignore_unsupported: bool = False,
        on_overflow: OnOverflow = "grow",
        strict: bool | None = None,
        contact_budget: int | None = 2**30,
        use_graph: bool = True,
        sleeping: bool | None = None,
        threads: int | None = None,
    ) -> None:
        """Build a scene.

        Args:
            scene: The scene.
            device: Warp device.
            substeps: Substeps of a step; default the largest authored solver position iteration count; where none
                is authored 4, or 8 if an environment has 256 shapes and more.
            velocity_passes: Passes without position bias; default the largest authored velocity iteration count,
                at least 1.
            ignore_unsupported: Whether what is not supported is left out, with a warning, instead of an error.
            on_overflow: What happens when contacts do not fit their buffers: ``"grow"`` them, ``"raise"``
                :class:`ContactOverflowError`, or ``"warn"`` and go on with the deepest contacts.
            strict: Whether every step is looked at, and repeated from its start after growth, so that no step
                misses contacts; reads the device after each step. Default on the CPU.
            contact_budget: Memory for contacts and their solver rows [byte]; None for as much as is needed.
            use_graph: Whether steps replay a recorded graph; without it each step launches its kernels.
            sleeping: Whether bodies may fall asleep, by their authored thresholds; default in scenes of one world, as
                authored. Where several environments are to be equal, a body that sleeps is as good as one at rest.
            threads: Threads that share the environments of a recorded step on the CPU; default as many as the process may
                run. Results do not depend on it. Scenes that take the generic path, or that are coupled, run on one.

        Raises:
            BuildError: If the scene contradicts itself.
            UnsupportedError: If the scene asks for something that is not supported.
        """
        if on_overflow not in ("grow", "raise", "warn"):
            raise StepError(f"on_overflow must be 'grow', 'raise' or 'warn', given {on_overflow!r}")
        findings = Findings(raise_unsupported=not ignore_unsupported)
        self.device = wp.get_device(device)
        built = build_scene(scene, findings, device=self.device)
        self.scene = scene
        self.model, self.contact_model = built.model, built.contact_model
        self.joints = built.joints
        self.contact_offset: wp.array = wp.clone(self.contact_model.contact_offset)
        self.directory = Directory(built.numbering)
        self.raw_state: State = State(self.model)
        self.one_refresh = OnePass(
            lambda: self.solver.update_kinematics(), lambda: bool(self.device.is_capturing)
        )
        self.control: Control = Control(self.model)
        self._divergence = DivergenceWatch(self.model, self.raw_state, self.directory)
        is_coupled = bool(built.particle_plan.systems) or has_deformables(scene)
        self.sleep, starts_asleep = sleep_of_scene(
            built.numbering, self.model, self.raw_state, self.control, findings, sleeping, is_coupled
        )
        self._constant_loads = ConstantLoads(built.loads, self.model, self.raw_state, self.control)
        counts = authored_counts(scene)
        default = _LARGE_SUBSTEPS if built.has_large else _DEFAULT_SUBSTEPS
        self.substeps = substeps or counts[0] or default
        # Content authors 0 for engines that need no such pass; the solver needs one.
        self.velocity_passes = velocity_passes or counts[1] or _DEFAULT_VELOCITY_PASSES
        self._dt = 1.0 / scene.settings.steps_per_second
        self._on_overflow: OnOverflow = on_overflow
        self._strict = self.device.is_cpu if strict is None else strict
        self._asks_continuous = (built.continuous, built.free_articulation, built.numbering.links.environment)
        self._coupled: list[Coupled] = []
        self._path: Literal["auto", "generic"] = "generic" if is_coupled else "auto"
        contacts = allocate_contacts(self.contact_model, self.model.max_chain, contact_budget)
        self._use_contacts(contacts, built.bounce_threshold)
        self._margins = MotionMargins(built, self.raw_state, self.contact_offset)
        self.step_count, self.time, self.launch_count = 0, 0.0, 0
        self._use_graph, self._threads = use_graph, threads or usable_threads()
        compile_step(self.solver, self.contact_model, self._margins.kernels() + self.loads.kernels())
        self._write_initial(built)
        self.particles = scene_particles(built, self.raw_state.link_pose)
        if self.particles is not None:
            self._coupled.append(self.particles)
        self.soft = scene_soft(built, self.raw_state.link_pose, findings)
        if self.soft is not None:
            self._coupled.append(self.soft.coupling)
        # Sorting, and trees that follow what moves, are no launches, which is all that a graph of the CPU holds.
        self._use_graph = use_graph and (self.device.is_cuda or not self._coupled)
        self._couple()
        self._keep_start()
        self.joints.rest_where_it_starts(self.raw_state.link_pose.numpy())
        self._joint_events = JointEvents(scene, self.joints.model, self.joints.loose)
        note_moved_links(built.numbering, self.raw_state.link_pose.numpy(), findings)
        if self.sleep is not None:
            self.sleep.put_to_sleep(starts_asleep)
        self._initial_state = copies(self._state_arrays)
        self._initial_parameters = copies(self._parameters)
        self.findings = scene.findings + findings.entries
        findings.warn(stacklevel=2)

    def _use_contacts(self, contacts: Contacts, bounce_threshold: float) -> None:
        """Make the solver for new contact buffers."""
        self.contacts = contacts
        self.solver = Solver(
            self.model,
            self.raw_state,
            self.control,
            contacts,
            joints=self.joints.model,
            sleep=self.sleep,
            substeps=self.substeps,
            velocity_passes=self.velocity_passes,
            time_step=self._dt,
            bounce_threshold=bounce_threshold,
            path=self._path,
            # Loads from outside would press a single body into the soft contacts of the sweep.
            direct_from=1 if self._path == "generic" else 2,
        )
        self.loads = StepLoads(self.solver)
        self._couple()
        self._continuous = continuous_collision(
            *self._asks_continuous,
            model=self.model,
            contact_model=self.contact_model,
            contact_offset=self.contact_offset,
            state=self.raw_state,
            time_step=self.solver.time_step,
        )
        self._graph: Any = None
        may_overflow = not holds_all(self.contact_model, contacts)
        self._guarded = may_overflow and self._strict
        self._start: dict[str, Any] = {}
        # On the CPU this is the memory of the array itself.
        self._overflow_view = contacts.overflow.numpy() if self.device.is_cpu else None

    def _keep_start(self) -> None:
        """Make room for the state at the start of a step that may have to be repeated."""
        self._start = copies(self._stepped) if self._guarded else {}

    def _couple(self) -> None:
        """Have the solver exchange impulses with all that is no link."""
        self._coupling: SceneCoupling | None = None
        if self._coupled:
            ends = LinkEnds(self.solver)
            self._coupling = SceneCoupling(ends, self._coupled, self.solver.time_step, self.substeps)
            self.loads = StepLoads(self.solver, ends=ends)

    @property
    def _stepped(self) -> dict[str, Any]:
        """Arrays that a step changes and the next one reads."""
        return self._state_arrays | self.solver.warm_start()

    @property
    def _state_arrays(self) -> dict[str, Any]:
        arrays = state_arrays(self.raw_state, self.control, self.joints.model, self.sleep)
        for part in (self.particles, self.soft):
            if part is not None:
                arrays |= part.state_arrays()
        return arrays

    @property
    def _parameters(self) -> dict[str, Any]:
        arrays = parameter_arrays(self.model, self.contact_model, self.solver)
        for part in (self.particles, self.soft):
            if part is not None:
                arrays |= part.parameter_arrays()
        return arrays | {"shape_given_contact_offset": self.contact_offset}

    def _write_initial(self, built: BuiltScene) -> None:
        initial = built.initial
        self.raw_state.set_initial(
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
    def on_overflow(self) -> OnOverflow:
        """What happens when contacts do not fit their buffers."""
        return self._on_overflow

    @property
    def time_step(self) -> float:
        """Length of a step where :meth:`step` is given none [s]."""
        return self._dt

    def step(self, dt: float | None = None) -> None:
        """Advance all environments by one step.

        Nothing waits for the device and nothing is allocated, except that the first step records the graph,
        and that a strict step reads one flag an articulation, and one an environment whose contacts might not fit. An
        articulation whose velocities are no numbers any more is stopped where it stands, with a warning. While a caller
        captures a graph of its own, the kernels are launched into that graph.

        Args:
            dt: Length of the step [s], from now on; default that of the last step, at first the authored rate.

        Raises:
            StepError: If ``dt`` is not a positive number.
            ContactOverflowError: If a strict step finds more contacts than fit and ``on_overflow`` is
                ``"raise"``; the state is that before the step.
        """
        if dt is not None and dt != self._dt:
            if not (math.isfinite(dt) and dt > 0.0):
                raise StepError(f"dt must be a positive number of seconds, given {dt}")
            self._dt = float(dt)
            self.solver.time_step.fill_(self._dt)
        self.one_refresh.settle()
        if self.device.is_capturing:
            self._launch_step()
        else:
            self._run_step()
            while self._guarded and self._has_overflow():
                if self._on_overflow == "warn":
                    self._handle_overflow()
                    break
                overwrite(self._stepped, self._start)
                self._handle_overflow()
                self._run_step()
            if self._strict:
                self._divergence.look(stacklevel=2)
        self.step_count += 1
        self.time += self._dt

    def _run_step(self) -> None:
        if not self._use_graph:
            self._launch_step()
            return
        if self._graph is None:
            self.record()
        if isinstance(self._graph, ThreadedStep):
            self._graph.run()
        else:
            wp.capture_launch(self._graph)

    def record(self) -> None:
        """Compile all kernels of a step and record its graph, so that the first step is as fast as the others."""
        # On CUDA a module must not be loaded while a stream is captured: one step is run and undone.
        if self.device.is_cuda:
            before = self.save_state(parameters=False)
            self._launch_step()
            told = self._joint_events.told
            self.load_state(before)
            self._joint_events.told = told
            # The caller's stream may be the legacy default stream (torch's), which cannot be captured.
            with wp.ScopedStream(wp.Stream(self.device)), wp.ScopedCapture(device=self.device) as capture:
                self._launch_step()
        else:
            with wp.ScopedCapture(device=self.device) as capture:
                self._launch_step()
            threaded = self._threaded()
            if threaded is not None:
                self._graph = threaded
                return
        self._graph = capture.graph

    def _launch_step(self) -> None:
        for name, array in self._stepped.items() if self._start else ():
            wp.copy(self._start[name], array)
        self._constant_loads.begin_step()
        aimed = self.solver.aim()
        collide = 0
        if may_touch(self.contact_model):
            pose, step = self.raw_state.link_pose, self.solver.time_step
            collide = launch_contacts(
                self.contact_model, pose, self.contacts, self._margins, self._continuous, step
            )
        self.loads.keep_start()
        self.solver.step(self._coupling)
        self._constant_loads.end_step()
        if self._continuous is not None:
            self._continuous.hold(self.contacts)
        self.launch_count = 1 + aimed + collide + self._constant_loads.launch_count + self.solver.launch_count

    def _threaded(self) -> ThreadedStep | None:
        """The step on several threads; None where environments are stepped together."""
        bounds = range_bounds(self.environment_count, self._threads)
        together = self._margins.has_large or self._coupled or self._continuous is not None
        if len(bounds) < 3 or together or not self.solver.divides:
            return None
        ranges = tensorphys_contact.split_environments(self.contact_model, bounds)
        if ranges is None:
            return None
        launches = [partial(self._launch_range, environments) for environments in ranges]
        return ThreadedStep(self._launch_begin, launches, self._constant_loads.end_step, self.device)

    def _launch_begin(self) -> None:
        for name, array in self._stepped.items() if self._start else ():
            wp.copy(self._start[name], array)
        self._constant_loads.begin_step()
        self.loads.keep_start()

    def _launch_range(self, environments: tensorphys_contact.EnvironmentRange) -> None:
        first, end = environments.first, environments.end
        if may_touch(self.contact_model):
            self._margins.launch(self.solver.time_step, first, end)
            pose, given = self.raw_state.link_pose, self._margins.given
            tensorphys_contact.collide_range(self.contact_model, environments, pose, self.contacts, **given)
        self.solver.step_range(first, end)

    def _has_overflow(self) -> bool:
        view = self._overflow_view
        return bool((self.contacts.overflow.numpy() if view is None else view).any())

    def check_contacts(self) -> None:
        """Look whether contacts did not fit their buffers since the last look; waits for the device.

        Raises:
            ContactOverflowError: If so and ``on_overflow`` is ``"raise"``.
            ParticleOverflowError: Likewise, if a particle had more neighbours than it keeps.
        """
        if self._has_overflow():
            self._handle_overflow()
        if self.particles is not None:
            self.particles.check_overflow(self._on_overflow)

    def check_diverged(self) -> None:
        """Warn of articulations that diverged since the last look (:class:`DivergenceWarning`); waits for the device."""
        self._divergence.look(stacklevel=2)

    def _handle_overflow(self) -> None:
        text = overflow_text(self.contact_model, self.contacts, self.scene.environments.path)
        self.contacts.overflow.zero_()
        if self.contact_model.search is not None and self._on_overflow != "grow":
            self.contact_model.search.overflow.zero_()
            self.contact_model.search.required.zero_()
        if self._on_overflow == "raise":
            raise ContactOverflowError(text)
        if self._on_overflow == "warn":
            warnings.warn(text, ContactOverflowWarning, stacklevel=3)
            return
        _LOGGER.info("%s; growing", text)
        self._replace_contacts(grown_contacts(self.contact_model, self.contacts))

    def _replace_contacts(self, wanted: Contacts) -> None:
        """Make the solver anew, with the impulses of the last step."""
        contacts, solver = self.contacts, self.solver
        self._use_contacts(wanted, 0.0)
        self._keep_start()
        wp.copy(self.solver.bounce_threshold, solver.bounce_threshold)
        move_warm_start(
            solver.warm_start(), contacts.slot_start, self.solver.warm_start(), self.contacts.slot_start
        )

    @property
    def gravity(self) -> npt.NDArray[np.float32]:
        """Gravity of each environment [stage length/s²], shape [environments, 3]; reading waits for the device."""
        return np.array(self.model.gravity.numpy())

    @gravity.setter
    def gravity(self, gravity: npt.ArrayLike) -> None:
        self.set_gravity(gravity)

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
        self.one_refresh.settle()
        return SavedState(
            state=copies(self._state_arrays),
            warm_start=copies(self.solver.warm_start()),
            slot_start=self.contacts.slot_start,
            parameters=copies(self._parameters) if parameters else {},
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
        state = self._state_arrays
        check_match(state, saved.state)
        if saved.parameters:
            check_match(self._parameters, saved.parameters)
            self._write_parameters(saved.parameters)
        overwrite(state, saved.state)
        self.one_refresh.forget()
        warm_start = self.solver.warm_start()
        if saved.slot_start is self.contacts.slot_start:
            overwrite(warm_start, saved.warm_start)
        else:
            move_warm_start(saved.warm_start, saved.slot_start, warm_start, self.contacts.slot_start)
        self._forget_contacts()
        self._joint_events.forget()
        self.time, self.step_count = saved.time, saved.step_count

    def _write_parameters(self, values: Mapping[str, Any]) -> None:
        overwrite(self._parameters, values)
        if self.particles is not None:
            self.particles.derive()

    def _forget_contacts(self) -> None:
        self.contacts.count.zero_()
        if self.soft is not None:
            self.soft.forget_reports()
        self.solver.contact_impulse.zero_()
        self.solver.contact_normal_impulse.zero_()
        self.loads.forget()

    def reset(self, *, parameters: bool = True) -> None:
        """Go back to the start of the scene; the same as building it again.

        Args:
            parameters: Whether masses, gains, limits, materials and gravity go back, too.
        """
        overwrite(self._state_arrays, self._initial_state)
        self.one_refresh.forget()
        if parameters:
            self._write_parameters(self._initial_parameters)
        for array in self.solver.warm_start().values():
            array.zero_()
        self._forget_contacts()
        self._joint_events.forget()
        self.time, self.step_count = 0.0, 0
