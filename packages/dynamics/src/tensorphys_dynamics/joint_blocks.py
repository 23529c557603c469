"""From columns of joints, couplings and tendons to blocks of rows, environment by environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_dynamics._kernels import joint_arrays as kinds
from tensorphys_dynamics.errors import ModelError
from tensorphys_dynamics.joint_columns import Array
from tensorphys_dynamics.joint_structure import Block, Structure, make_structure
from tensorphys_dynamics.model import Model

_KINDS = {
    "joint": int(kinds.BODY),
    "mimic": int(kinds.MIMIC),
    "fixed_tendon": int(kinds.FIXED_TENDON),
    "leaf": int(kinds.SPATIAL_TENDON),
    "gear": int(kinds.GEAR),
}
_LOCK, _LIMIT, _DRIVE = int(kinds.LOCK), int(kinds.LIMIT), int(kinds.DRIVE)
_DISTANCE, _CONE = int(kinds.DISTANCE), int(kinds.CONE)
_COUPLING, _COUPLING_LIMIT = int(kinds.COUPLING), int(kinds.COUPLING_LIMIT)


class EnvironmentBlocks:
    """Blocks of all environments; those with equal joints share a structure.

    Attributes:
        structures: Distinct structures.
        environment_structure: Structure of each environment.
        leaf_columns: Tendon, rest length and bounds of each leaf of a spatial tendon.
    """

    def __init__(self, model: Model, columns: Mapping[str, Mapping[str, Array]]) -> None:
        self._model, self._columns = model, columns
        self._link_start = model.articulation_link_start.numpy()
        self._dof_start = model.articulation_dof_start.numpy()
        self._kind = model.articulation_type.numpy()
        environments = model.articulation_environment.numpy()
        self._first = np.searchsorted(environments, np.arange(model.environment_count + 1))
        self._environment = environments
        self._leaves()
        self._item_environment = {
            "joint": self._joint_environment(),
            "mimic": self._dof_environment("mimic", columns["mimic"]["dof"]),
            "fixed_tendon": self._tendon_environment(),
            "leaf": self._leaf_environment(),
        }
        gear = columns["gear"]["joint0"]
        self._item_environment["gear"] = self._item_environment["joint"][gear]
        self._starts = {}
        for family, values in self._item_environment.items():
            if (np.diff(values) < 0).any():
                raise ModelError(f"rows of {family} must be sorted by environment")
            self._starts[family] = np.searchsorted(values, np.arange(model.environment_count + 1))
        self.structures: list[Structure] = []
        self.environment_structure = np.zeros(model.environment_count, np.int32)
        known: dict[Any, int] = {}
        if not any(len(values) for values in self._item_environment.values()):
            self.structures.append(make_structure([], []))
            return
        for e in range(model.environment_count):
            key = self._key(e)
            if key not in known:
                known[key] = len(self.structures)
                first, last = self._first[e], self._first[e + 1]
                types = [model.types[k] for k in self._kind[first:last]]
                self.structures.append(make_structure(self._blocks(e), types))
            self.environment_structure[e] = known[key]

    def flat_items(self) -> npt.NDArray[np.int32]:
        """Row of each flat block in the columns of its family."""
        family_of = {code: family for family, code in _KINDS.items()}
        local = [
            (
                np.array([b.item for b in s.blocks], np.int64),
                [family_of[b.kind] for b in s.blocks],
            )
            for s in self.structures
        ]
        parts = []
        for e, structure in enumerate(self.environment_structure):
            items, families = local[structure]
            if families:
                parts.append(items + np.array([self._starts[f][e] for f in families], np.int64))
        return np.concatenate(parts).astype(np.int32) if parts else np.zeros(0, np.int32)

    def _articulation_of_link(self, links: Array) -> Array:
        return np.searchsorted(self._link_start, links, side="right") - 1

    def _articulation_of_dof(self, dofs: Array) -> Array:
        return np.searchsorted(self._dof_start, dofs, side="right") - 1

    def _joint_environment(self) -> Array:
        joint = self._columns["joint"]
        ends = np.stack((joint["link0"], joint["link1"]), axis=-1).reshape(-1, 2)
        if ends.size and (ends.min() < -1 or ends.max() >= self._model.link_count):
            raise ModelError(f"joint links: expected −1 to {self._model.link_count - 1}, given {ends.max()}")
        where = np.where(ends >= 0, self._environment_of_links(ends), -1)
        result = where.max(axis=1, initial=-1)
        for row in np.flatnonzero(result < 0):
            raise ModelError(f"joint {row} joins the world to the world")
        for row in np.flatnonzero((where >= 0).all(axis=1) & (where[:, 0] != where[:, -1])):
            raise ModelError(f"joint {row} joins links of two environments")
        return result

    def _environment_of_links(self, links: Array) -> Array:
        if not len(self._environment):
            return np.full(links.shape, -1)
        return self._environment[np.maximum(self._articulation_of_link(np.maximum(links, 0)), 0)]

    def _dof_environment(self, family: str, dofs: Array) -> Array:
        if dofs.size and (dofs.min() < 0 or dofs.max() >= self._model.dof_count):
            raise ModelError(f"{family} dof: expected 0 to {self._model.dof_count - 1}, given {dofs.max()}")
        return self._environment[self._articulation_of_dof(dofs)]

    def _tendon_environment(self) -> Array:
        axis, count = self._columns["fixed_tendon_axis"], len(self._columns["fixed_tendon"]["stiffness"])
        return self._of_tendons(
            "fixed_tendon_axis", axis["tendon"], count, axis["dof"], self._dof_environment
        )

    def _of_tendons(self, family: str, tendon: Array, count: int, members: Array, environment: Any) -> Array:
        if (np.diff(tendon) < 0).any():
            raise ModelError(f"rows of {family} must be sorted by tendon")
        present = np.unique(tendon)
        if len(present) != count or (count and (present[0] != 0 or present[-1] != count - 1)):
            raise ModelError(f"{family}: expected rows for each of {count} tendons")
        return np.asarray(environment(family, members)[np.searchsorted(tendon, np.arange(count))])

    def _leaves(self) -> None:
        a = self._columns["attachment"]
        self._leaf_rows = np.flatnonzero(a["leaf"])
        self.leaf_columns = {
            name: a[name][self._leaf_rows] for name in ("tendon", "rest_length", "lower", "upper")
        }

    def _leaf_environment(self) -> Array:
        a, count = self._columns["attachment"], len(self._columns["spatial_tendon"]["stiffness"])
        links = a["link"]
        if links.size and (links.min() < 0 or links.max() >= self._model.link_count):
            raise ModelError(
                f"attachment link: expected 0 to {self._model.link_count - 1}, given {links.max()}"
            )
        of_tendon = self._of_tendons(
            "attachment", a["tendon"], count, links, lambda _, rows: self._environment_of_links(rows)
        )
        return of_tendon[a["tendon"][self._leaf_rows]]

    def _slice(self, family: str, e: int) -> slice:
        return slice(int(self._starts[family][e]), int(self._starts[family][e + 1]))

    def _key(self, e: int) -> tuple[Any, ...]:
        """All that the structure of an environment depends on."""
        if not any(len(range(*self._slice(f, e).indices(2**31))) for f in _KINDS):
            return ()
        first, last = self._first[e], self._first[e + 1]
        link, dof = (int(s[first]) for s in (self._link_start, self._dof_start))
        c = self._columns
        j, m, f, g = (self._slice(name, e) for name in ("joint", "mimic", "fixed_tendon", "gear"))
        parts: list[Any] = [self._kind[first:last].tobytes()]
        joint = c["joint"]
        parts += [np.where(joint[n][j] >= 0, joint[n][j] - link, -1).tobytes() for n in ("link0", "link1")]
        parts += [joint[n][j].tobytes() for n in ("locked", "cone", "drive_type")]
        parts += [
            np.isfinite(joint[n][j]).tobytes() for n in ("lower", "upper", "min_distance", "max_distance")
        ]
        parts += [(c["mimic"][n][m] - dof).tobytes() for n in ("dof", "reference")]
        parts.append(c["mimic"]["gearing"][m].tobytes())
        axis = c["fixed_tendon_axis"]
        rows = slice(*np.searchsorted(axis["tendon"], (f.start, f.stop)))
        parts += [(axis["tendon"][rows] - f.start).tobytes(), (axis["dof"][rows] - dof).tobytes()]
        parts += [axis[n][rows].tobytes() for n in ("gearing", "force_coefficient")]
        leaves = self._leaf_rows[self._slice("leaf", e)]
        a = c["attachment"]
        for leaf in leaves:
            path = self._path(int(leaf))
            parts += [(a["link"][path] - link).tobytes(), a["position"][path].tobytes()]
            parts.append(a["gearing"][path].tobytes())
        parts += [(c["gear"][n][g] - j.start).tobytes() for n in ("joint0", "joint1")]
        return tuple(parts)

    def _path(self, leaf: int) -> list[int]:
        """Attachments from the root to a leaf."""
        a, path = self._columns["attachment"], [leaf]
        while a["parent"][path[-1]] >= 0:
            parent = int(a["parent"][path[-1]])
            if parent >= path[-1] or a["tendon"][parent] != a["tendon"][leaf]:
                raise ModelError(f"attachment {path[-1]}: parent {parent} is no earlier one of its tendon")
            path.append(parent)
        return path[::-1]

    def _blocks(self, e: int) -> list[Block]:
        blocks = [self._joint(e, row) for row in range(*self._slice("joint", e).indices(2**31))]
        blocks += [self._mimic(e, row) for row in range(*self._slice("mimic", e).indices(2**31))]
        blocks += [
            self._fixed_tendon(e, row) for row in range(*self._slice("fixed_tendon", e).indices(2**31))
        ]
        blocks += [self._leaf(e, row) for row in range(*self._slice("leaf", e).indices(2**31))]
        blocks += [self._gear(e, row) for row in range(*self._slice("gear", e).indices(2**31))]
        for block in blocks:
            offset = 0
            for a in block.segments:
                block.offsets[a] = offset
                offset += self._type(e, a).velocity_count
        return blocks

    def _type(self, e: int, articulation: int) -> Any:
        return self._model.types[int(self._kind[self._first[e] + articulation])]

    def _add_end(self, e: int, block: Block, link: int) -> None:
        """Add a flat link, −1 for the world, as an end of a block."""
        local = articulation = -1
        if link >= 0:
            flat = int(self._articulation_of_link(np.array(link)))
            articulation = flat - int(self._first[e])
            kind = self._type(e, articulation)
            last = kind.link_chain[link - int(self._link_start[flat])]
            support = set(kind.chains[last]) if last >= 0 else set()
            block.segments[articulation] = block.segments.get(articulation, set()) | support
            local = link - int(self._link_start[self._first[e]])
        block.ends.append(local)
        block.end_articulations.append(articulation)

    def _add_term(self, e: int, block: Block, family: str, dof: int, gearing: float, force: float) -> None:
        flat = int(self._articulation_of_dof(np.array(dof)))
        articulation = flat - int(self._first[e])
        kind = self._type(e, articulation)
        local = dof - int(self._dof_start[flat])
        velocity = kind.root_count + local
        # each of the three velocities of a ball joint moves all of its positions
        last = next((velocity + 2 - (local - b) for b in kind.balls if b <= local < b + 3), velocity)
        block.segments[articulation] = block.segments.get(articulation, set()) | set(kind.chains[last])
        if len(block.segments) > 1:
            raise ModelError(f"{family} {block.item} couples degrees of freedom of two articulations")
        block.terms.append((velocity, local, gearing, force))

    def _joint(self, e: int, row: int) -> Block:
        c = self._columns["joint"]
        locked = c["locked"][row] != 0
        limited = np.isfinite(c["lower"][row]) | np.isfinite(c["upper"][row])
        rows = [(_LOCK, int(axis)) for axis in np.flatnonzero(locked)]
        cone = bool(c["cone"][row])
        if cone and limited[4:].any():
            rows.append((_CONE, 4))
        limited[4:] &= not cone
        rows += [(_LIMIT, int(axis)) for axis in np.flatnonzero(limited & ~locked)]
        rows += [(_DRIVE, int(axis)) for axis in np.flatnonzero((c["drive_type"][row] != 0) & ~locked)]
        if np.isfinite(c["min_distance"][row]) or np.isfinite(c["max_distance"][row]):
            rows.append((_DISTANCE, 0))
        start = int(self._starts["joint"][e])
        block = Block(_KINDS["joint"], row - start, rows)
        self._add_end(e, block, int(c["link0"][row]))
        self._add_end(e, block, int(c["link1"][row]))
        return block

    def _mimic(self, e: int, row: int) -> Block:
        c = self._columns["mimic"]
        block = Block(_KINDS["mimic"], row - int(self._starts["mimic"][e]), [(_COUPLING, 0)])
        gearing = float(c["gearing"][row])
        self._add_term(e, block, "mimic", int(c["dof"][row]), 1.0, 1.0)
        self._add_term(e, block, "mimic", int(c["reference"][row]), gearing, gearing)
        return block

    def _fixed_tendon(self, e: int, row: int) -> Block:
        c = self._columns["fixed_tendon_axis"]
        item = row - int(self._starts["fixed_tendon"][e])
        block = Block(_KINDS["fixed_tendon"], item, [(_COUPLING, 0), (_COUPLING_LIMIT, 0)])
        for k in range(*np.searchsorted(c["tendon"], (row, row + 1))):
            gearing, force = float(c["gearing"][k]), float(c["force_coefficient"][k])
            self._add_term(e, block, "fixed_tendon", int(c["dof"][k]), gearing, force)
        return block

    def _leaf(self, e: int, row: int) -> Block:
        a = self._columns["attachment"]
        item = row - int(self._starts["leaf"][e])
        block = Block(_KINDS["leaf"], item, [(_COUPLING, 0), (_COUPLING_LIMIT, 0)])
        for k in self._path(int(self._leaf_rows[row])):
            self._add_end(e, block, int(a["link"][k]))
            x, y, z = (float(v) for v in a["position"][k])
            block.positions.append((x, y, z))
            block.gearings.append(float(a["gearing"][k]))
        return block

    def _gear(self, e: int, row: int) -> Block:
        gear, joint = self._columns["gear"], self._columns["joint"]
        block = Block(_KINDS["gear"], row - int(self._starts["gear"][e]), [(_COUPLING, 0)])
        for name in ("joint0", "joint1"):
            for end in ("link0", "link1"):
                self._add_end(e, block, int(joint[end][gear[name][row]]))
        return block
