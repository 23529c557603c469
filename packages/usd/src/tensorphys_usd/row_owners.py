"""To which environment each row of the tables of a stage belongs; what would tie two environments is refused."""

from __future__ import annotations

import numpy as np

from tensorphys_scene import SoftKind
from tensorphys_usd.errors import StageError
from tensorphys_usd.membership import OUTSIDE, IntArray, Roots
from tensorphys_usd.rows import StageRows, TableRows


def rows_by_environment(roots: Roots, rows: StageRows) -> dict[str, IntArray]:
    """Environment of each row of each table, −1 outside of all.

    Args:
        roots: Environments.
        rows: Tables of the whole stage; colliders of disabled bodies outside of all environments become static.

    Raises:
        StageError: If a moving body or soft prim is outside of all environments, or a joint or coupling is between two.
    """
    return _Owners(roots, rows).of


class _Owners:
    """Environments of rows, by table."""

    def __init__(self, roots: Roots, rows: StageRows) -> None:
        self._roots, self._rows = roots, rows
        self.of: dict[str, IntArray] = {}
        self._check_bodies()
        self.of["bodies"] = self._by_path(rows.bodies)
        self.of["shapes"] = self._of_shapes()
        self.of["face_materials"] = self._through("face_materials", "shape", "shapes")
        self.of["body_forces"] = self._through("body_forces", "body", "bodies")
        self.of["joints"] = self._of_joints()
        self.of["axes"] = self._through("axes", "joint", "joints")
        self.of["links"] = self._through("links", "body", "bodies")
        self.of["articulations"] = self._owners("articulations", "links", "articulation")
        self.of["mimic_joints"] = self._through("mimic_joints", "axis", "axes")
        self.of["joint_couplings"] = self._through("joint_couplings", "joint", "joints")
        self.of["fixed_tendon_axes"] = self._through("fixed_tendon_axes", "axis", "axes")
        self.of["fixed_tendons"] = self._owners("fixed_tendons", "fixed_tendon_axes", "tendon")
        self.of["tendon_attachments"] = self._through("tendon_attachments", "body", "bodies")
        self.of["spatial_tendons"] = self._owners("spatial_tendons", "tendon_attachments", "tendon")
        self._check_references()
        self.of["soft_prims"] = self._of_soft()
        self.of["materials"] = self._by_path(rows.materials)

    def _by_path(self, table: TableRows) -> IntArray:
        return np.array([self._roots.of(path) for path in table.paths], np.int64)

    def _through(self, name: str, column: str, other: str) -> IntArray:
        index = self._rows.table(name).columns[column]
        environments = self.of[other]
        return environments[index] if index.size else np.zeros(0, np.int64)

    def _check_bodies(self) -> None:
        bodies = self._rows.bodies
        for path, enabled in zip(bodies.paths, bodies.columns["enabled"], strict=True):
            if enabled and self._roots.of(path) == OUTSIDE:
                raise StageError(
                    f"{path}: moving body outside of all environments; put it under an environment root, "
                    "or leave out environments= to make one world of the stage"
                )

    def _of_shapes(self) -> IntArray:
        # A collider belongs to its body's environment, wherever the prim stands; disabled bodies outside are static.
        own = self._by_path(self._rows.shapes)
        body = self._rows.shapes.columns["body"]
        on_body = body >= 0
        own[on_body] = self.of["bodies"][body[on_body]]
        lost = on_body & (own == OUTSIDE)
        for row in np.flatnonzero(lost):
            self._rows.make_static(int(row))
        return own

    def _of_joints(self) -> IntArray:
        joints = self._rows.joints
        bodies = self.of["bodies"]
        result = np.zeros(joints.count, np.int64)
        for row in range(joints.count):
            ends = [int(joints.columns[name][row]) for name in ("body0", "body1")]
            places = {int(bodies[body]) for body in ends if body >= 0}
            if len(places) != 1:
                names = " and ".join(str(self._rows.bodies.paths[body]) for body in ends)
                raise StageError(f"{joints.paths[row]}: joint between bodies of two environments, {names}")
            result[row] = places.pop()
        return result

    def _owners(self, name: str, members: str, column: str) -> IntArray:
        """Environments of rows that other rows belong to; each has at least one of them."""
        result = np.zeros(self._rows.table(name).count, np.int64)
        result[self._rows.table(members).columns[column]] = self.of[members]
        return result

    def _of_soft(self) -> IntArray:
        table = self._rows.soft_prims
        owner = self._by_path(table)
        materials = (int(SoftKind.MATERIAL), int(SoftKind.PARTICLE_MATERIAL))
        for row in np.flatnonzero((owner == OUTSIDE) & ~np.isin(table.columns["kind"], materials)):
            raise StageError(
                f"{table.paths[row]}: soft prim outside of all environments; put it under an environment root, "
                "or leave out environments= to make one world of the stage"
            )
        return owner

    def _check_references(self) -> None:
        """Refuse couplings between two environments."""
        for name in ("mimic_joints", "joint_couplings", "fixed_tendon_axes", "tendon_attachments"):
            table = self._rows.table(name)
            for column, target in table.references.items():
                index = table.columns[column]
                given = np.flatnonzero(index >= 0)
                apart = self.of[target][index[given]] != self.of[name][given]
                for row in given[apart]:
                    other = self._rows.table(target).paths[index[row]]
                    raise StageError(f"{table.paths[row]}: coupled to {other} in another environment")
