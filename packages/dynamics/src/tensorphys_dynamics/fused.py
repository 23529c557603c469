"""The fused path of a step: one kernel for environments that hold one articulation of one type each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics._kernels.arrays import ContactData, ContactRows, ControlData, StateData
from tensorphys_dynamics._kernels.fused.contact_setup import ROW_HEAD
from tensorphys_dynamics._kernels.fused.holding import holding_kernel
from tensorphys_dynamics._kernels.fused.source import LOCAL_CONTACTS, SizeClass, step_kernel
from tensorphys_dynamics.fused_mimics import (
    MOST_MIMICS,
    mimic_data,
    mimic_table,
    mimics_of_an_environment,
    refuses_joints,
)
from tensorphys_dynamics.joints import JointModel
from tensorphys_dynamics.model import Model, has_bounded_impulses, is_any_thin
from tensorphys_dynamics.protocols import Contacts
from tensorphys_dynamics.state import Control, State
from tensorphys_dynamics.topology import ArticulationType

_BOUNDS = (8, 16, 32, 64)
_MIMIC_BOUNDS = (0, 1, 4, MOST_MIMICS)
# Reason, column of links and its value where nothing is asked for.
_GENERIC = (
    ("a body has a surface velocity", "surface_linear", 0.0),
    ("a body has a surface velocity", "surface_angular", 0.0),
    ("a body feels no gyroscopic torque", "gyroscopic", 1),
    ("a body is held along an axis", "locked_axes", 0),
)


def supports(model: Model, contacts: Contacts | None = None, joints: JointModel | None = None) -> str | None:
    """Why a scene cannot take the fused path, or None where it can.

    Args:
        model: Constants.
        contacts: Contacts of the scene; they must join links of one environment, or a link and what never moves.
        joints: What is beside the trees; mimic joints alone, the same ones in every environment.
    """
    kinds = np.unique(model.articulation_type.numpy())
    environments = model.articulation_environment.numpy()
    if len(environments) != model.environment_count or (np.diff(environments) != 1).any():
        return "an environment does not hold exactly one articulation"
    if len(kinds) != 1:
        return "articulations have several types"
    kind = model.types[int(kinds[0])]
    if kind.velocity_count == 0:
        return "the articulation has no degree of freedom"
    if kind.is_long:
        return f"the articulation has a chain of {kind.max_chain} velocities, too many for the factors of its mass matrix"
    if kind.ball_count:
        return "the articulation has ball joints"
    if kind.velocity_count > _BOUNDS[-1] or kind.link_count > _BOUNDS[-1]:
        return (
            f"the articulation has {kind.velocity_count} velocities and {kind.link_count} links, "
            f"more than {_BOUNDS[-1]}"
        )
    refused = None if joints is None else refuses_joints(model, joints)
    if refused is not None:
        return refused
    if model.device.is_cuda:
        size = choose_size_class(
            kind, 0, 0 if joints is None else mimics_of_an_environment(joints), cuda=True
        )
        if size.lanes > 1 and 4 * size.scratch_floats * (32 // size.lanes) > _SHARED_BYTES:
            return "the articulation needs more shared memory than a block has"
    for reason, column, usual in _GENERIC:
        if (getattr(model, f"link_{column}").numpy() != usual).any():
            return reason
    if kind.link_count == 1 and is_any_thin(model):
        return "a body is so thin that its spin changes within a substep"
    if has_bounded_impulses(model):
        return "a body bounds the impulses of its contacts"
    patches = getattr(contacts, "patch_radius", None)
    if patches is not None and patches.shape[0] > 0:
        return "contacts have torsional friction"
    if contacts is not None and contacts.slot_start.shape[0] != model.environment_count + 1:
        return "the contacts are of another number of environments"
    return None


class FusedStep:
    """Launches the kernel of a step.

    Attributes:
        size_class: Bounds that the kernel is compiled for.
    """

    def __init__(
        self,
        model: Model,
        state: State,
        control: Control,
        contact: ContactData,
        rows: ContactRows,
        trail: StateData,
        joints: JointModel,
    ) -> None:
        """Choose the size class, and put the topology on the device.

        Args:
            model: Constants; `supports` must be None for it.
            state: State that the step advances.
            control: Inputs.
            contact: Contacts.
            rows: Impulses of contacts that outlive a step.
            trail: States of the substeps, one after another.
            joints: Mimic joints.
        """
        kind = model.types[int(model.articulation_type.numpy()[0])]
        slots = int(np.diff(contact.slot_start.numpy()).max(initial=0))
        mimics = mimics_of_an_environment(joints)
        self.size_class = choose_size_class(kind, slots, mimics, cuda=model.device.is_cuda)
        padding = 8 if self.size_class.wide else 1
        self.kernel = step_kernel(self.size_class, cuda=model.device.is_cuda)
        self._count = model.environment_count
        self._device = model.device
        table = _table(kind, self.size_class, padding)
        if mimics:
            row = mimic_table(joints)
            table[self.size_class.tables["MIMIC"] :][: len(row)] = row
        self._table = wp.array(table, dtype=wp.int32, device=model.device)
        self._mimics = mimic_data(joints)
        if self.size_class.wide:
            self._spill_stride = max(slots - LOCAL_CONTACTS, 0) * self.size_class.block_size
        else:
            self._spill_stride = slots * (ROW_HEAD + 4 * self.size_class.row)
        self._spill = wp.empty(
            max(self._spill_stride * self._count, 1), dtype=wp.float32, device=model.device
        )
        self._model, self._state, self._control = model, state, control
        self._contact, self._rows, self._trail = contact, rows, trail

    def launch(
        self,
        time_step: wp.array,
        bounce_threshold: wp.array,
        substeps: int,
        velocity_passes: int,
        first: int = 0,
        end: int | None = None,
    ) -> None:
        """Launch the kernel for environments from one to the one before another, by default for all."""
        inputs = [self._table, self._model.data, self._contact, self._mimics, time_step, bounce_threshold]
        inputs += [substeps, velocity_passes, self._spill_stride, first]
        outputs = [self._state.data, self._control.data, self._rows, self._trail, self._spill]
        # a group never leaves its warp: blocks of one warp let a multiprocessor take as many as its memory holds
        block = {"block_dim": 32} if self._device.is_cuda else {}
        threads = ((self._count if end is None else end) - first) * self.size_class.lanes
        wp.launch(self.kernel, dim=threads, inputs=inputs, outputs=outputs, device=self._device, **block)

    def hold(self, rows: wp.array, time_step: wp.array, substeps: int, result: wp.array) -> None:
        """Generalized forces that hold links at rest against gravity, to the bit those that a step takes off.

        Args:
            rows: Environments, int32.
            time_step: As for `launch`.
            substeps: As for `launch`.
            result: Filled for these environments, float32, shape [velocity_count].
        """
        if self._resting is None:
            # roots at rest, and nothing applied
            state = StateData()
            for name in cast(Any, StateData).vars:
                setattr(state, name, getattr(self._state.data, name))
            state.root_velocity = wp.zeros_like(self._state.data.root_velocity)
            self._resting = state, Control(self._model).data
        state, control = self._resting
        inputs = [rows, self._table, self._model.data, self._contact, time_step, substeps, state, control]
        block = {"block_dim": 32} if self._device.is_cuda else {}
        wp.launch(
            holding_kernel(self.size_class, cuda=self._device.is_cuda),
            dim=rows.shape[0] * self.size_class.lanes,
            inputs=inputs,
            outputs=[result],
            device=self._device,
            **block,
        )

    _resting: tuple[StateData, ControlData] | None = None


def _bound(count: int) -> int:
    return next(b for b in _BOUNDS if b >= count)


def _longest_row(kind: ArticulationType) -> int:
    """Most velocities that move a contact of one or two links."""
    chains = [set(kind.chains[last]) if last >= 0 else set() for last in kind.link_chain]
    return max(len(a | b) for a in chains for b in chains)


def _row_starts(kind: ArticulationType, padding: int) -> npt.NDArray[np.int64]:
    """Where rows start, and the end of the last one.

    Rows of the CPU, with padding above 1, are whole vectors. Of a group those of the root are as wide as the root, and
    those of joints have a place before their first entry.
    """
    if padding > 1:
        lengths = np.array([-(-len(c) // padding) * padding for c in kind.chains])
        return np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    starts, at = [], 0
    for i, chain in enumerate(kind.chains):
        joint = i >= kind.root_count
        starts.append(at + joint)
        at = starts[-1] + (len(chain) if joint else kind.root_count)
    return np.array([*starts, at], np.int64)


# Floats for rows of contacts that fast memory has for certain; more would cost environments at a time, which is worse
# than rows in global memory (an ant with 256 took 980 us, with 576 1123 us).
_ROWS = 256
# A block may declare this much.
_SHARED_BYTES = 48 * 1024


def choose_size_class(
    kind: ArticulationType, slots: int, mimics: int = 0, *, cuda: bool, lanes: int | None = None
) -> SizeClass:
    """The class of an articulation: coarse on the CPU, where room costs nothing, close to its size on CUDA.

    Args:
        kind: Articulation.
        slots: Most contact slots of an environment.
        mimics: Mimic joints of an environment.
        cuda: Whether the kernel runs on CUDA.
        lanes: Lanes an environment on CUDA: 1, 8, 16 or 32; None for what was fastest.
    """
    count = kind.velocity_count
    if not cuda:
        velocities = _bound(count)
        entries = int(np.sum(-(-np.arange(1, velocities + 1) // 8) * 8))
        bound = next(b for b in _MIMIC_BOUNDS if b >= mimics)
        return SizeClass(kind.root_count, _bound(kind.link_count), velocities, entries, 1, mimics=bound)
    if lanes is None:
        lanes = 1 if count <= 4 else 8 if count <= 32 and kind.max_chain <= 12 else 16
    bare = SizeClass(
        root=kind.root_count,
        links=kind.link_count,
        velocities=count,
        entries=-(-int(_row_starts(kind, 1)[-1]) // 8) * 8,
        lanes=lanes,
        wide=False,
        pool=32,
        row=_longest_row(kind),
        mimics=mimics,
    )
    wanted = slots * (ROW_HEAD + 4 * bare.row)
    # room beside the rest, and at least what the smooth part needs in the same place
    smooth = 22 * bare.links + bare.velocities
    room = max(_ROWS, smooth)
    pool = -(-(wanted if lanes == 1 else min(wanted, room)) // 32) * 32
    size = replace(bare, pool=max(pool, 32))
    while 1 < size.lanes < 32 and 4 * size.scratch_floats * (32 // size.lanes) > _SHARED_BYTES:
        size = replace(size, lanes=2 * size.lanes)
    return size


def _stages(depths: npt.NDArray[np.int64]) -> tuple[list[int], list[int]]:
    """Order by depth, and where each depth starts."""
    order = np.argsort(depths, kind="stable")
    starts = [int(np.searchsorted(depths[order], d)) for d in range(int(depths.max()) + 1)]
    return order.tolist(), [*starts, len(depths)]


def _table(kind: ArticulationType, size: SizeClass, padding: int) -> npt.NDArray[np.int32]:
    """Tables of the topology as one array, see `SizeClass.tables`.

    A single lane walks links and velocities in their own order; a group walks them level by level.
    """
    places = size.tables
    table = np.zeros(places["END"], np.int32)
    root, links, velocities = kind.root_count, kind.link_count, kind.velocity_count
    starts = _row_starts(kind, padding)
    if size.lanes == 1:
        link_order, link_starts = list(range(links)), [0, 1, links]
        order, stages = list(range(velocities)), [0, velocities]
    else:
        depth = np.zeros(links, np.int64)
        for link in range(1, links):
            depth[link] = depth[kind.parent[link]] + 1
        link_order, link_starts = _stages(depth)
        order, stages = _stages(np.array([len(c) - 1 for c in kind.chains], np.int64))
    columns: dict[str, Any] = {
        "COUNTS": [links, velocities, len(link_starts) - 1, len(stages) - 1, int(starts[-1])],
        "PARENT": kind.parent,
        "FIRST": root + kind.dof_start,
        "LAST": kind.link_chain,
        "ORDER": link_order,
        "LEVEL": link_starts,
        "LINK": np.concatenate((np.zeros(root, np.int32), kind.dof_link)),
        "ROTATIONAL": np.concatenate((np.zeros(root, np.int32), kind.dof_rotational)),
        "ROW": starts[:-1],
        "DEPTH": [len(c) - 1 for c in kind.chains],
    }
    if size.wide:
        columns |= {"VORDER": order, "STAGE": stages}
    else:
        below = [[d for d, chain in enumerate(kind.chains) if i in chain[:-1]] for i in range(velocities)]
        below[:root] = [[]] * root
        words = [chain[root:] + (0,) * (-len(chain[root:]) % 4) for chain in kind.chains]
        columns["WORD"] = np.cumsum([0, *(len(c) // 4 for c in words)])[:-1]
        columns["WORDS"] = [
            int.from_bytes(bytes(c[p : p + 4]), "little") for c in words for p in range(0, len(c), 4)
        ]
        columns["ROW"] = starts[:-1] + (np.array(columns["DEPTH"]) << 16)
        columns["BELOW"] = np.concatenate(([0], np.cumsum([len(b) for b in below])))
        columns["BELOW_ROW"] = [int(starts[d]) << 8 | d for b in below for d in b]
    for name, values in columns.items():
        table[places[name] : places[name] + len(values)] = values
    for i, chain in enumerate(kind.chains):
        at = places["CHAIN"] + starts[i]
        table[at : at + len(chain)] = chain
        if not size.wide:
            at = places["CHAIN_ROW"] + starts[i]
            table[at : at + len(chain)] = starts[list(chain)]
    return table
