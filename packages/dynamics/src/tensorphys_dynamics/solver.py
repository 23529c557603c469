"""One step of all articulations: launches of the generic path, or the one kernel of the fused path."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics._kernels import (
    finish,
    joint_couplings,
    joint_keep,
    joint_rows,
    joint_solve,
    kinematics,
    matching,
    rows,
    skyline,
    smooth,
    sweep_kernel,
    targets,
)
from tensorphys_dynamics._kernels.arrays import ContactData, ContactRows, Scratch
from tensorphys_dynamics.direct import create_skyline
from tensorphys_dynamics.errors import ModelError
from tensorphys_dynamics.fused import FusedStep, supports
from tensorphys_dynamics.joints import JointModel
from tensorphys_dynamics.model import Model
from tensorphys_dynamics.parallel import LARGE, ParallelSweep, large_environments
from tensorphys_dynamics.protocols import (
    CONTACT_FIELDS,
    OPTIONAL_CONTACT_FIELDS,
    PATCH_FIELDS,
    Contacts,
    Coupling,
)
from tensorphys_dynamics.sleeping import Sleep
from tensorphys_dynamics.state import Control, State, create_trail


class Solver:
    """Steps a model. All launches of a step run without host synchronisation and allocation.

    Attributes:
        time_step: Length of a step [s], float32, one value on the device; may change between steps.
        bounce_threshold: Approach speed above which restitution acts [m/s], one value on the device.
        contact_impulse: Impulse on body 0 over the last step, friction included, environment axes [N s], vec3,
            one a contact slot.
        contact_normal_impulse: Normal part of it [N s], float32, one a contact slot.
        contact_spin_impulse: Angular impulse about the normal on body 0 by torsional friction [N m s], float32, one a
            contact slot.
        launch_count: Kernel launches of one step.
        trail: State of each substep of the last step where its kick was taken, `velocity_change` being the change of
            velocity over the whole substep; what kinematics reads, the velocities of roots moved by hand left out.
        path: "generic", or "fused" where one kernel takes the whole step.
        parallel: Solve of large environments, None where there is none.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        control: Control,
        contacts: Contacts | None = None,
        *,
        joints: JointModel | None = None,
        sleep: Sleep | None = None,
        substeps: int = 4,
        velocity_passes: int = 1,
        time_step: float = 1.0 / 60.0,
        bounce_threshold: float = 0.2,
        path: Literal["auto", "generic", "fused"] = "auto",
        large_from: int = LARGE,
        direct_from: int = 2,
    ) -> None:
        """Allocate the scratch of a step.

        Args:
            model: Constants.
            state: State that the steps advance in place.
            control: Inputs.
            contacts: Contacts that the caller refreshes before each step; None for none.
            joints: Joints beside the trees, couplings and tendons; None for none.
            sleep: Which articulations sleep; None where none ever does.
            substeps: Substeps of one pass over the rows.
            velocity_passes: Passes without position bias at the end of each substep; restitution acts in them.
            time_step: First length of a step [s].
            bounce_threshold: Approach speed above which restitution acts [m/s].
            path: "fused" for one kernel a step, "generic" for kernels that take any scene, "auto" for the fused
                path wherever `fused.supports` allows it.
            large_from: Articulations that move, from which on the contacts of an environment are solved in parallel
                inside it, on the generic path.
            direct_from: Articulations that move, from which on the contacts of an environment are solved at once, on the
                generic path; 1 where a coupling may press on them.

        Raises:
            ModelError: If a count is not positive, an array of the contacts has a wrong type or device, or the
                fused path is asked for and does not fit.
        """
        if substeps < 1 or velocity_passes < 1:
            raise ModelError(
                f"expected at least one substep and velocity pass, given {substeps} and {velocity_passes}"
            )
        self.model, self.state, self.control, self.contacts = model, state, control, contacts
        self.substeps, self.velocity_passes = substeps, velocity_passes
        device = model.device
        self.time_step = wp.full(1, time_step, dtype=wp.float32, device=device)
        self.bounce_threshold = wp.full(1, bounce_threshold, dtype=wp.float32, device=device)
        self._scratch = create_scratch(model)
        # whether a root may be moved by hand: one of a fixed base without joints
        self._movable = any(kind.fixed_base and kind.link_count == 1 for kind in model.types)
        self._contact = _contact_data(contacts, model)
        self._slots = self._contact.body0.shape[0]
        self.joints = JointModel(model) if joints is None else joints
        coupled = _coupled_articulations(model, self.joints)
        for array in (self._scratch.coupled, self._scratch.exposed):
            array.assign(coupled)
        strain = partial(_strained, model, state, self._scratch)
        self.path = _choose_path(path, model, contacts, self.joints, strain, substeps)
        has_patches = self._contact.patch_radius.shape[0] > 0
        self._rows = _contact_rows(model, self._slots, self.path, has_patches)
        solved = self._slots if self.path == "generic" else 0
        large = large_environments(model, large_from if solved else model.articulation_count + 1)
        if self.path == "generic":
            self._skyline, self._newton, self._direct = create_skyline(model, solved, large, direct_from)
            self._sweep = sweep_kernel.sweep_kernel(self.joints.block_count > 0, self._direct)
        if large.any():
            self._rows.left_out = wp.zeros(self._slots, dtype=wp.int32, device=device)
        self.parallel = (
            ParallelSweep(model, state, self._contact, self.joints, large) if large.any() else None
        )
        self._all_large = bool(large.all())
        self.sleep = sleep
        self._large = wp.array(large, dtype=wp.int32, device=device)
        self.contact_impulse: wp.array = self._rows.total
        self.contact_normal_impulse: wp.array = self._rows.normal_total
        self.contact_spin_impulse: wp.array = self._rows.spin_total
        self.launch_count = 0
        trail, self.trail = create_trail(state, substeps)
        if self.path == "fused":
            self._fused = FusedStep(model, state, control, self._contact, self._rows, trail, self.joints)

    def update_kinematics(self, *, every: bool = False) -> None:
        """Derive link poses and velocities of articulations whose truth was written; forget their warm starts.

        Args:
            every: Whether to derive those of all articulations.
        """
        self._launch(
            kinematics.update_written,
            self.model.articulation_count,
            [self.model.tables, self.model.data, self._scratch, int(every)],
            [self.state.data, self._rows.previous_count],
        )
        j = self.joints
        if j.block_count:
            inputs = [self.model.tables, self.state.data, j.tables]
            self._launch(joint_keep.forget_joints, j.block_count, inputs, [j.rows])

    def aim(self) -> int:
        """Set out with the roots that have targets, before contacts are found: they arrive at the end of the step.

        Returns:
            Kernel launches.
        """
        if self._movable:
            inputs = [self.model.tables, self.model.data, self.time_step]
            self._launch(targets.aim_roots, self.model.articulation_count, inputs, [self.state.data])
        return int(self._movable)

    def step(self, coupling: Coupling | None = None) -> None:
        """Launch one step of `time_step` with the contacts as they stand.

        Args:
            coupling: Whoever has constraints between links and something else; on the generic path alone.

        Raises:
            ModelError: If there is a coupling on the fused path.
        """
        if coupling is not None and self.path == "fused":
            raise ModelError("the fused path takes no coupling; give path='generic'")
        before = self._launched
        if self.sleep is not None:
            kept = (self._contact, self._rows.previous_count, self.joints, self.time_step)
            self._launched += self.sleep.begin_step(*kept, self._large, self._scratch)
        if self.path == "fused":
            timing = [self.time_step, self.bounce_threshold, self.substeps, self.velocity_passes]
            self._fused.launch(*timing)
            self._launched += 1
        else:
            self._launch_generic(coupling)
        if self._movable:
            self._launch(targets.stop_roots, self.model.articulation_count, [], [self.state.data])
        if self.sleep is not None:
            self._launched += self.sleep.end_step(self.time_step)
        self.launch_count = self._launched - before

    def kernels(self) -> list[Any]:
        """Kernels of a step that take long to compile, for compiling them side by side before the first step."""
        if self.path == "fused":
            return [kinematics.update_written, self._fused.kernel]
        found = [kinematics.update_written, smooth.smooth_substep, self._sweep, finish.finish_step]
        if self._slots:
            found += (
                [rows.contact_rows]
                if self.parallel is None
                else [rows.contact_rows, matching.match_each_contact]
            )
            found += [skyline.plan_skyline] if self._direct else []
        if self.joints.block_count:
            found += [joint_rows.joint_rows, joint_couplings.coupling_rows, joint_solve.assemble_joints]
            found.append(joint_keep.keep_joints)
        return found

    @property
    def divides(self) -> bool:
        """Whether environments may be stepped one range after another, see :meth:`step_range`."""
        return self.path == "fused" and self.sleep is None and not self._movable

    def step_range(self, first: int, end: int) -> None:
        """Launch one step of some environments: to the bit what :meth:`step` does with them.

        Ranges that do not overlap may be launched from different threads at once.

        Args:
            first: First environment.
            end: Environment behind the last.

        Raises:
            ModelError: If environments cannot be stepped on their own.
        """
        if not self.divides:
            raise ModelError("environments are stepped together here")
        self._fused.launch(
            self.time_step, self.bounce_threshold, self.substeps, self.velocity_passes, first, end
        )
        self.launch_count = 1

    def _launch_generic(self, coupling: Coupling | None) -> None:
        m, state, scratch, contact = self.model, self.state.data, self._scratch, self._contact
        timing = [self.time_step, self.substeps]
        if self._slots:
            inputs = [m.tables, m.data, state, contact, *timing]
            if self.parallel is None:
                self._launch(rows.match_contacts, m.environment_count, inputs, [self._rows, scratch])
            else:
                wp.copy(scratch.exposed, scratch.coupled)
                self._rows.left_out.zero_()
                self._launch(matching.match_each_contact, self._slots, inputs, [self._rows, scratch])
                self._launched += self.parallel.color(scratch)
            if self._direct:
                inputs = [m.tables, m.data, contact]
                self._launch(skyline.plan_skyline, m.environment_count, inputs, [self._skyline])
        if coupling is not None:
            coupling.begin()
        for substep in range(self.substeps):
            inputs = [m.tables, m.data, self.control.data, contact, self._rows, *timing, int(substep == 0)]
            outputs = [state, scratch, self.trail[max(substep, 1) - 1], self.trail[substep]]
            self._launch(smooth.smooth_substep, m.articulation_count, inputs, outputs)
            if self.parallel is not None:
                self._launched += self.parallel.select(scratch, self._rows, timing)
            if self._slots:
                inputs = [m.tables, m.data, state, scratch, contact, *timing, self._large]
                self._launch(rows.contact_rows, self._slots, inputs, [self._rows])
            self._launch_joint_rows()
            if coupling is None:
                self._launch_sweep()
            else:
                coupling.exchange(self._launch_sweep)
            if self.joints.block_count:
                j = self.joints
                inputs = [m.tables, m.data, state, j.tables, j.parameters, *timing, int(substep == 0)]
                self._launch(joint_keep.keep_joints, m.environment_count, inputs, [scratch, j.rows])
        if self._slots:
            self._launch(rows.keep_contacts, self._slots, [contact, *timing], [self._rows])
        inputs = [m.tables, m.data, *timing]
        outputs = [state, self.control.data, scratch, self.trail[-1]]
        self._launch(finish.finish_step, m.articulation_count, inputs, outputs)

    def _launch_sweep(self) -> None:
        """One pass over all rows of a substep, and the passes without bias."""
        m, timing = self.model, [self.time_step, self.substeps]
        if not self._all_large:
            inputs = [m.tables, m.data, self._contact, self.bounce_threshold, *timing, self.velocity_passes]
            outputs = [
                self.state.data,
                self._scratch,
                self._rows,
                self.joints.rows,
                self._skyline,
                self._newton,
            ]
            inputs.append(self.joints.tables)
            self._launch(self._sweep, m.environment_count, inputs, outputs)
        if self.parallel is not None:
            passes = [self.bounce_threshold, self.velocity_passes]
            self._launched += self.parallel.sweep(self._scratch, self._rows, timing, *passes)

    def _launch_joint_rows(self) -> None:
        """Rows of joints and couplings at the positions of a substep, and their products."""
        m, j = self.model, self.joints
        if not j.block_count:
            return
        shared = [m.tables, m.data, self.state.data, self._scratch, j.tables, j.parameters]
        timing = [self.time_step, self.substeps]
        if j.joint_count:
            self._launch(joint_rows.joint_rows, j.block_count, [*shared, *timing], [j.rows])
        if j.block_count > j.joint_count:
            self._launch(joint_couplings.coupling_rows, j.block_count, [*shared, *timing], [j.rows])
        self._launch(joint_solve.assemble_joints, m.environment_count, [m.tables, j.tables], [j.rows])

    def warm_start(self) -> dict[str, wp.array]:
        """Arrays that carry contact impulses to the next step, for saving and loading a state."""
        names = ("previous_count", "previous_key", "previous_force")
        return {name: getattr(self._rows, name) for name in names}

    def hold(self, rows: wp.array, result: wp.array) -> bool:
        """Work out what holds articulations at rest against gravity by the sums of the fused path.

        Args:
            rows: Articulations, int32.
            result: Filled for these with generalized forces [N, N m], float32, shape [velocity_count].

        Returns:
            Whether it is the fused path; nothing is done on the other one, whose sums are those of `Quantities`.
        """
        if self.path == "fused" and rows.shape[0]:
            self._fused.hold(rows, self.time_step, self.substeps, result)
        return self.path == "fused"

    _launched = 0

    def _launch(self, kernel: Any, count: int, inputs: list[Any], outputs: list[Any]) -> None:
        wp.launch(kernel, dim=count, inputs=inputs, outputs=outputs, device=self.model.device)
        self._launched += 1


def _coupled_articulations(model: Model, joints: JointModel) -> npt.NDArray[np.int32]:
    """1 for each articulation that joints beside its tree act on."""
    result = np.zeros(model.articulation_count, np.int32)
    if joints.block_count:
        t = joints.tables
        structure, starts, touched = (
            a.numpy() for a in (t.environment_structure, t.structure_touched, t.touched)
        )
        first = model.tables.environment_articulation.numpy()
        for environment, kind in enumerate(structure):
            result[first[environment] + touched[starts[kind] : starts[kind + 1]]] = 1
    return result


def _contact_data(contacts: Contacts | None, model: Model) -> ContactData:
    data = ContactData()
    for name, dtype in CONTACT_FIELDS.items():
        if contacts is None:
            count = model.environment_count + 1 if name in ("slot_start", "count") else 0
            array = wp.zeros(count, dtype=dtype, device=model.device)
        else:
            array = getattr(contacts, name)
            _check_field(name, array, dtype, model)
        setattr(data, name, array)
    slots = data.body0.shape[0]
    for name, dtype in OPTIONAL_CONTACT_FIELDS.items():
        array = getattr(contacts, name, None)
        if array is None:
            array = wp.zeros(0 if name in PATCH_FIELDS else slots, dtype=dtype, device=model.device)
        _check_field(name, array, dtype, model)
        setattr(data, name, array)
    return data


def _check_field(name: str, array: wp.array, dtype: type, model: Model) -> None:
    if array.dtype is not dtype or array.device != model.device:
        raise ModelError(
            f"contacts.{name}: expected {dtype.__name__} on {model.device}, "
            f"given {array.dtype.__name__} on {array.device}"
        )


# Ratio of masses of one articulation from which on its factors are looked at.
_UNEQUAL = 1.0e3


def _strained(model: Model, state: State, scratch: Scratch) -> bool:
    """Whether light links of a floating base carry heavy ones, so that float32 factors lose their digits."""
    owner = model.tables.link_articulation.numpy()
    mass = model.link_mass.numpy()
    lightest = np.full(model.articulation_count, np.inf)
    heaviest = np.zeros(model.articulation_count)
    np.minimum.at(lightest, owner, mass)
    np.maximum.at(heaviest, owner, mass)
    floating = np.array([not kind.fixed_base for kind in model.types])[model.articulation_type.numpy()]
    suspects = floating & (heaviest > _UNEQUAL * lightest)
    if not suspects.any():
        return False
    from tensorphys_dynamics._kernels.strain import measure_strain

    strained = wp.zeros(model.articulation_count, dtype=wp.int32, device=model.device)
    inputs = [model.tables, model.data, state.data, scratch, strained]
    wp.launch(measure_strain, dim=model.articulation_count, inputs=inputs, device=model.device)
    return bool((strained.numpy().astype(bool) & suspects).any())


MIMIC_SUBSTEPS = 4
"""Substeps below which mimic joints take the generic path: with one, a gripper whose two fingers met their limits at once gained
energy without bound in the fused kernel, in 1 of 4096 arms within 100 steps of 5 ms; with four none did in 32,768."""


def _choose_path(
    path: Literal["auto", "generic", "fused"],
    model: Model,
    contacts: Contacts | None,
    joints: JointModel,
    is_strained: Callable[[], bool],
    substeps: int,
) -> Literal["generic", "fused"]:
    if path not in ("auto", "generic", "fused"):
        raise ModelError(f"expected path 'auto', 'generic' or 'fused', given {path!r}")
    if joints.model is not model:
        raise ModelError("the joints are of another model")
    reason = None if path == "generic" else supports(model, contacts, joints)
    if path != "generic" and reason is None and is_strained():
        reason = "light links of a floating base carry heavy ones, which takes factors in float64"
    if path == "auto" and reason is None and substeps < MIMIC_SUBSTEPS and joints.mimic_count:
        reason = "limits and mimic joints find their balance in four substeps"
    if path == "fused" and reason is not None:
        raise ModelError(f"the fused path does not fit: {reason}")
    return "generic" if path == "generic" or reason is not None else "fused"


def _contact_rows(model: Model, slots: int, path: str, has_patches: bool) -> ContactRows:
    r = ContactRows()
    device = model.device
    # the fused path keeps its rows elsewhere
    shape = (2 * slots, max(model.max_chain, 1)) if slots and path == "generic" else (1, 1)
    r.y = wp.zeros(shape, dtype=wp.vec3, device=device)
    r.spin = wp.zeros(shape if has_patches else (1, 1), dtype=wp.float32, device=device)
    r.spin_lever = wp.zeros(slots, dtype=wp.vec2, device=device)
    r.yields = wp.zeros(slots, dtype=wp.int32, device=device)
    r.ends = wp.zeros(2 * slots, dtype=wp.vec4i, device=device)
    r.inverse = wp.zeros(slots, dtype=wp.vec4, device=device)
    r.arm = wp.zeros(2 * slots, dtype=wp.vec3, device=device)
    for name in ("tangent", "coupling", "prescribed", "impulse", "total", "previous_force"):
        setattr(r, name, wp.zeros(slots, dtype=wp.vec3, device=device))
    numbers = ("separation", "compliance", "push", "approach", "bounce", "normal_total", "rest_speed", "most")
    spins = ("spin_inverse", "spin_prescribed", "spin_impulse", "spin_total")
    for name in (*numbers, *spins):
        setattr(r, name, wp.zeros(slots, dtype=wp.float32, device=device))
    r.previous_count = wp.zeros(model.environment_count, dtype=wp.int32, device=device)
    r.previous_key = wp.zeros(slots, dtype=wp.int64, device=device)
    return r


def create_scratch(model: Model) -> Scratch:
    """Allocate the quantities of one substep."""
    links = model.link_count
    has_long = any(kind.is_long for kind in model.types)
    counts = {"link": links, "subtree": links, "heavy": links, "articulated": links if has_long else 0}
    momentum: tuple[str, ...] = (
        "momentum_linear",
        "momentum_angular",
        "momentum_known",
        "origin_shift",
        "total_mass",
    )
    momentum += ("origin_start", "origin_travel", "mass_centre", "centre_step", "gravity_share")
    articulation = (*momentum, "loaded", "rubbed", "coupled", "exposed", "idle")
    entry = ("mass_entry", "factor_entry", "dof_row", "wide_entry")
    counts |= {"wide": links}
    data = Scratch()
    for name, kind in cast(Any, Scratch).vars.items():
        if name in articulation:
            count = model.articulation_count
        elif name in entry:
            count = model.entry_count
        elif name == "wide_right":
            count = model.velocity_count
        elif name == "ball_row":
            count = model.ball_entry_count
        elif name == "environment_idle":
            count = model.environment_count
        else:
            count = counts.get(name.split("_")[0], model.velocity_count)
        setattr(data, name, wp.zeros(count, dtype=kind.type.dtype, device=model.device))
    return data
