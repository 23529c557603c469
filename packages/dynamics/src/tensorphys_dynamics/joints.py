"""Joints between bodies, couplings of degrees of freedom and tendons: what is solved directly in each substep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics._kernels import joint_arrays as kinds
from tensorphys_dynamics._kernels.joint_arrays import JointParameters, JointRows, JointTables
from tensorphys_dynamics.errors import ModelError
from tensorphys_dynamics.joint_blocks import EnvironmentBlocks
from tensorphys_dynamics.joint_columns import (
    ATTACHMENT_COLUMNS,
    FIXED_TENDON_COLUMNS,
    GEAR_COLUMNS,
    JOINT_COLUMNS,
    MIMIC_COLUMNS,
    SPATIAL_TENDON_COLUMNS,
    TENDON_AXIS_COLUMNS,
    Array,
    Spec,
    read_columns,
    to_device,
)
from tensorphys_dynamics.joint_structure import Structure
from tensorphys_dynamics.model import Model

Columns = Mapping[str, npt.ArrayLike]

_AXIS_FAMILY = (
    "lower",
    "upper",
    "limit_stiffness",
    "limit_damping",
    "drive_type",
    "stiffness",
    "damping",
    "position_target",
    "velocity_target",
    "max_force",
)

_BREAKS = ("joint_broken", "joint_break_load", "joint_break_time", "joint_break_step")


class JointModel:
    """Constraints beside the trees of articulations. Rows of each family are sorted by environment.

    A *joint* holds two links, or a link and the world, by locked axes of its frames, and may have limits, drives
    and bounds of distance on what is free; its six axes are translations X, Y, Z and rotations X, Y, Z, displacement
    of frame 1 in frame 0. A *mimic* couples two degrees of freedom of one articulation,
    q + gearing · q of the reference + offset = 0. A *fixed tendon* is a spring-damper of Σ gearing · q + offset, a
    *spatial tendon* one of Σ gearing · distance + offset along attachments from a root to each leaf. A *gear* couples
    the displacements of two joints, factor 0 · x0 + factor 1 · x1 + offset = 0.

    All device arrays may be written between steps, `joint_<column>`, `mimic_<column>`, `fixed_tendon_<column>`,
    `spatial_tendon_<column>`, `gear_<column>`; columns by axis are flat arrays `axis_<column>` with six values a
    joint, and `fixed_tendon_limits` holds lower and upper bound as vec2. Which axes are locked, limited or driven is fixed at build.

    Attributes:
        joint_count, mimic_count, fixed_tendon_count, spatial_tendon_count, gear_count: Sizes.
        block_count: Blocks of rows of all environments.
        joint_broken: 1 where a load was beyond its bound; such a joint does not act any more. Sticky, int32.
        joint_break_load: [force, torque about frame 1] on body 1 when it broke [N, N m], spatial_vector.
        joint_break_time: Time since the start at which it broke [s], float32.
        joint_break_step: Step in which it broke, the first being 1, int32.
        joint_impulse: [impulse, angular impulse about frame 1] on body 1 over the last step, environment axes
            [N s, N m s], spatial_vector.
    """

    def __init__(
        self,
        model: Model,
        *,
        joint: Columns | None = None,
        mimic: Columns | None = None,
        fixed_tendon: Columns | None = None,
        fixed_tendon_axis: Columns | None = None,
        spatial_tendon: Columns | None = None,
        attachment: Columns | None = None,
        gear: Columns | None = None,
    ) -> None:
        """Build.

        Args:
            model: Model whose links and degrees of freedom are joined.
            joint: Columns named in `JOINT_COLUMNS`. `link0`, `link1` are flat links, −1 for the world, whose frame
                is then one of the environment. `locked` has a truth value an axis, `cone` says that the limits about
                Y and Z are half-angles of one cone, `drive_type` is 0 none, 1 force, 2 acceleration.
            mimic: Columns named in `MIMIC_COLUMNS`; `dof` and `reference` are flat degrees of freedom.
            fixed_tendon: Columns named in `FIXED_TENDON_COLUMNS`.
            fixed_tendon_axis: Columns named in `TENDON_AXIS_COLUMNS`, sorted by tendon.
            spatial_tendon: Columns named in `SPATIAL_TENDON_COLUMNS`.
            attachment: Columns named in `ATTACHMENT_COLUMNS`, sorted by tendon, parents first.
            gear: Columns named in `GEAR_COLUMNS`; joints are rows of `joint`.

        Raises:
            ModelError: If a column is unknown, missing, of a wrong shape or NaN, or ends do not fit together.
        """
        self.model = model
        families = {
            "joint": (joint, JOINT_COLUMNS),
            "mimic": (mimic, MIMIC_COLUMNS),
            "fixed_tendon": (fixed_tendon, FIXED_TENDON_COLUMNS),
            "fixed_tendon_axis": (fixed_tendon_axis, TENDON_AXIS_COLUMNS),
            "spatial_tendon": (spatial_tendon, SPATIAL_TENDON_COLUMNS),
            "attachment": (attachment, ATTACHMENT_COLUMNS),
            "gear": (gear, GEAR_COLUMNS),
        }
        columns = {name: read_columns(name, *family) for name, family in families.items()}
        blocks = EnvironmentBlocks(model, columns)
        self.joint_count = len(columns["joint"]["link0"])
        self.mimic_count = len(columns["mimic"]["dof"])
        self.fixed_tendon_count = len(columns["fixed_tendon"]["stiffness"])
        self.spatial_tendon_count = len(columns["spatial_tendon"]["stiffness"])
        self.gear_count = len(columns["gear"]["joint0"])
        self.parameters = self._parameters(columns, families, blocks)
        self.tables = JointTables()
        self.rows = JointRows()
        self.block_count = self._fill(blocks)
        for name in (*_BREAKS, "joint_impulse"):
            setattr(self, name, getattr(self.rows, name))

    joint_broken: wp.array
    joint_break_load: wp.array
    joint_break_time: wp.array
    joint_break_step: wp.array
    joint_impulse: wp.array

    def state_arrays(self) -> dict[str, wp.array]:
        """Arrays that a step changes and the next one reads, for saving and loading a state."""
        names = (
            "row_state",
            "joint_angle",
            *_BREAKS,
            "environment_step",
            "environment_time",
        )
        return {name: getattr(self.rows, name) for name in names}

    def parameter_arrays(self) -> dict[str, wp.array]:
        """Arrays that only the user changes."""
        return {name: getattr(self.parameters, name) for name in cast(Any, JointParameters).vars}

    def _parameters(
        self,
        columns: Mapping[str, Mapping[str, Array]],
        families: Mapping[str, tuple[Any, Mapping[str, Spec]]],
        blocks: EnvironmentBlocks,
    ) -> JointParameters:
        result = JointParameters()
        device = self.model.device
        for field, kind in cast(Any, JointParameters).vars.items():
            family = next(f for f in ("axis", *families, "leaf") if field.startswith(f + "_"))
            name = field[len(family) + 1 :]
            dtype = kind.type.dtype
            if family == "leaf":
                values = blocks.leaf_columns[name]
            elif field == "fixed_tendon_limits":
                bounds = columns["fixed_tendon"]
                values = np.stack((bounds["lower"], bounds["upper"]), axis=-1)
            elif field == "joint_locked":
                values = (columns["joint"]["locked"] != 0) @ (1 << np.arange(6))
            else:
                values = columns["joint" if family == "axis" else family][name]
            array = to_device(values, dtype, device)
            setattr(result, field, array)
            setattr(self, field, array)
        return result

    def _int(self, values: npt.ArrayLike) -> wp.array:
        return wp.array(np.asarray(values, np.int32).ravel(), dtype=wp.int32, device=self.model.device)

    def _fill(self, blocks: EnvironmentBlocks) -> int:
        t, structures = self.tables, blocks.structures
        index = blocks.environment_structure
        sizes = {
            "block": [len(s.blocks) for s in structures],
            "row": [s.row_start[-1] for s in structures],
            "y": [s.y_start[-1] for s in structures],
            "value": [s.value_count for s in structures],
            "end": [sum(len(b.ends) for b in s.blocks) for s in structures],
        }
        totals = {}
        for name, counts in sizes.items():
            starts = np.concatenate(([0], np.cumsum(np.array(counts, np.int64)[index])))
            totals[name] = int(starts[-1])
            if totals[name] >= 2**31:
                raise ModelError(f"joints need {totals[name]} numbers of {name}, more than {2**31 - 1}")
            setattr(t, f"environment_{name}", self._int(starts))
        t.environment_structure = self._int(index)
        t.flat_environment = self._int(np.repeat(np.arange(len(index)), np.array(sizes["block"])[index]))
        t.flat_item = self._int(blocks.flat_items())
        self._fill_structures(structures)
        self._allocate_rows(totals)
        return totals["block"]

    def _fill_structures(self, structures: list[Structure]) -> None:
        table: dict[str, list[Any]] = {
            name: [] for name in cast(Any, JointTables).vars if not name.startswith(("environment_", "flat_"))
        }
        for structure in structures:
            _append_structure(table, structure)
        counted = {"block": "block_kind", "row": "row_kind", "pair": "pair_block0", "end": "end_link"}
        for name, column in counted.items():
            table[f"structure_{name}"].append(len(table[column]))
        table["structure_touched"].append(len(table["touched"]))
        device = self.model.device
        for name, values in table.items():
            if name == "end_position":
                host = np.asarray(values, np.float32).reshape(-1, 3)
                array = wp.array(host, dtype=wp.vec3, device=device)
            elif name in ("end_gearing", "term_gearing", "term_force"):
                array = wp.array(np.asarray(values, np.float32), dtype=wp.float32, device=device)
            else:
                array = self._int(values)
            setattr(self.tables, name, array)

    def _allocate_rows(self, totals: Mapping[str, int]) -> None:
        counts = {
            "joint": self.joint_count,
            "environment": self.model.environment_count,
            "row": totals["row"],
            "end": totals["end"],
            "y": totals["y"],
            "matrix": totals["value"],
            "factor": totals["value"],
            "stale": self.model.environment_count,
            "u": self.model.velocity_count if totals["block"] else 0,
            "v": self.model.velocity_count if totals["block"] else 0,
        }
        for name, kind in cast(Any, JointRows).vars.items():
            count = counts[name.split("_")[0]]
            setattr(self.rows, name, wp.zeros(count, dtype=kind.type.dtype, device=self.model.device))


def _append_structure(table: dict[str, list[Any]], structure: Structure) -> None:
    """Add the columns of one structure to those of all."""
    first = {name: len(table[f"{name}_kind"]) for name in ("block", "row")}
    table["structure_block"].append(first["block"])
    table["structure_row"].append(first["row"])
    table["structure_pair"].append(len(table["pair_block0"]))
    table["structure_end"].append(len(table["end_link"]))
    table["structure_touched"].append(len(table["touched"]))
    segment_of: list[int] = []
    outside: dict[int, int] = {}
    for k, block in enumerate(structure.blocks):
        articulations = list(block.segments)
        segment_of.append(len(table["segment_articulation"]))
        table["block_kind"].append(block.kind)
        table["block_row"].append(structure.row_start[k])
        table["block_rows"].append(len(block.rows))
        table["block_width"].append(structure.widths[k])
        table["block_y"].append(structure.y_start[k])
        table["block_segment"].append(segment_of[-1])
        table["block_segments"].append(len(articulations))
        table["block_end"].append(len(table["end_link"]))
        table["block_ends"].append(len(block.ends))
        table["block_term"].append(len(table["term_dof"]))
        table["block_terms"].append(len(block.terms))
        loose = len(articulations) > 1 or (block.kind == int(kinds.BODY) and -1 in block.ends)
        for a in articulations:
            table["segment_articulation"].append(a)
            table["segment_offset"].append(block.offsets[a])
            table["segment_support"].append(len(table["support"]))
            table["segment_supports"].append(len(block.segments[a]))
            table["support"] += sorted(block.segments[a])
            outside[a] = max(outside.get(a, 0), int(loose or block.kind == int(kinds.GEAR)))
        table["end_link"] += block.ends
        table["end_segment"] += [articulations.index(a) if a >= 0 else 0 for a in block.end_articulations]
        table["end_position"] += block.positions or [(0.0, 0.0, 0.0)] * len(block.ends)
        table["end_gearing"] += block.gearings or [1.0] * len(block.ends)
        for velocity, dof, gearing, force in block.terms:
            table["term_velocity"].append(velocity)
            table["term_dof"].append(dof)
            table["term_gearing"].append(gearing)
            table["term_force"].append(force)
        for kind, axis in block.rows:
            table["row_block"].append(k)
            table["row_kind"].append(kind)
            table["row_axis"].append(axis)
    table["touched"] += list(outside)
    table["touched_outside"] += list(outside.values())
    table["column_first"].append(len(table["column_row"]))
    for column in structure.columns():
        table["column_start"].append(len(table["column_row"]))
        table["column_row"] += column
    table["column_start"].append(len(table["column_row"]))
    for k, other, segment0, segment1 in structure.pairs:
        table["pair_block0"].append(first["block"] + k)
        table["pair_block1"].append(first["block"] + other)
        table["pair_segment0"].append(segment_of[k] + segment0)
        table["pair_segment1"].append(segment_of[other] + segment1)
