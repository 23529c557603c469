"""Rows of the whole stage, one set of columns a table, before they are split by environment."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Sdf

from tensorphys_scene import (
    Articulations,
    Axes,
    Bodies,
    BodyForces,
    FaceMaterials,
    FixedTendonAxes,
    FixedTendons,
    JointCouplings,
    Joints,
    Links,
    Materials,
    Mesh,
    MimicJoints,
    Shapes,
    SoftPrims,
    SpatialTendons,
    Table,
    TendonAttachments,
)
from tensorphys_usd.articulations import StageArticulations
from tensorphys_usd.axes import AxisRow
from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.coupling_rows import CouplingRows
from tensorphys_usd.couplings import StageCouplings
from tensorphys_usd.frames import poses
from tensorphys_usd.joints import StageJoints
from tensorphys_usd.materials import StageMaterials
from tensorphys_usd.shapes import StageShapes
from tensorphys_usd.soft import StageSoft
from tensorphys_usd.spatial_tendons import StageSpatialTendons

_NOT_COLUMNS = ("axis", "name", "has_state")


@dataclass
class TableRows:
    """Columns of one table for the whole stage.

    Attributes:
        kind: The table's class.
        paths: Prim of each row.
        columns: Columns by name, in the types of the table.
        references: Index columns and the tables that they point into.
        names: What each row has beside columns (names, or the data of soft prims), None where the table has none.
    """

    kind: type[Table]
    paths: list[Sdf.Path]
    columns: dict[str, npt.NDArray[Any]]
    references: dict[str, str] = field(default_factory=dict)
    names: tuple[Any, ...] | None = None

    @property
    def count(self) -> int:
        """Number of rows."""
        return len(self.paths)


def _rows(
    kind: type[Table],
    paths: list[Sdf.Path],
    columns: dict[str, Any],
    references: dict[str, str] | None = None,
) -> TableRows:
    declared = {item.name: item.metadata for item in fields(kind) if "dtype" in item.metadata}
    arrays = {
        name: np.array(values, dtype=declared[name]["dtype"]).reshape(len(paths), *declared[name]["shape"])
        for name, values in columns.items()
    }
    return TableRows(kind, paths, arrays, references or {})


def _coupling(
    kind: type[Table], rows: CouplingRows, references: dict[str, str] | None = None, *, named: bool = False
) -> TableRows:
    known = {item.name for item in fields(kind) if "dtype" in item.metadata}
    columns = {name: rows.columns.get(name, []) for name in sorted(known)}
    if rows.paths:  # a column that no row gives a value takes its default
        columns = {name: values for name, values in columns.items() if name in rows.columns}
    table = _rows(kind, rows.paths, columns, references)
    table.names = tuple(rows.names) if named else None
    return table


class StageRows:
    """All tables of a stage.

    Attributes:
        bodies, shapes, joints, axes, links, articulations, materials, face_materials, body_forces: Rows by table.
        mimic_joints, joint_couplings, fixed_tendons, fixed_tendon_axes, spatial_tendons, tendon_attachments: Likewise.
        soft_prims: Likewise.
        meshes: Meshes that shapes refer to.
        pairs: Pairs of shape rows that never collide, shape [pair_count, 2].
    """

    def __init__(
        self,
        bodies: StageBodies,
        masses: dict[str, npt.NDArray[np.float64]],
        shapes: StageShapes,
        joints: StageJoints,
        articulations: StageArticulations,
        couplings: StageCouplings,
        tendons: StageSpatialTendons,
        soft: StageSoft,
        forces: CouplingRows,
        materials: StageMaterials,
        meshes: list[Mesh],
        pairs: npt.NDArray[np.int64],
    ) -> None:
        self.meshes = meshes
        self.pairs = pairs
        self._body_frames = bodies.frames
        self._shape_places = shapes.places
        placed = poses([(frame.rotation, frame.translation) for frame in bodies.frames])
        flags = {"pose": placed, "enabled": bodies.enabled, "kinematic": bodies.kinematic}
        self.bodies = _rows(Bodies, bodies.paths, {**bodies.columns, **flags, **masses})
        shape_columns = {"body": shapes.bodies, "pose": poses(shapes.places), **shapes.columns}
        self.shapes = _rows(Shapes, shapes.paths, shape_columns, {"body": "bodies"})
        material_columns = {
            item.name: getattr(materials.table, item.name)
            for item in fields(Materials)
            if "dtype" in item.metadata
        }
        self.materials = _rows(Materials, [Sdf.Path(p) for p in materials.table.path], material_columns)
        faces = {"shape": "shapes"}  # materials of shapes and faces are renumbered together
        self.face_materials = _coupling(FaceMaterials, shapes.face_materials, faces)
        self.body_forces = _coupling(BodyForces, forces, {"body": "bodies"})
        self._trees(joints, articulations, bodies, couplings)
        self.spatial_tendons = _coupling(SpatialTendons, tendons.spatial_tendons, named=True)
        soft_columns = {"kind": [int(kind) for kind in soft.kinds], "transform": soft.transforms}
        self.soft_prims = _rows(SoftPrims, soft.paths, soft_columns)
        self.soft_prims.names = tuple(soft.data)
        references = {"tendon": "spatial_tendons", "body": "bodies", "parent": "tendon_attachments"}
        self.tendon_attachments = _coupling(
            TendonAttachments, tendons.tendon_attachments, references, named=True
        )

    def _trees(
        self,
        joints: StageJoints,
        articulations: StageArticulations,
        bodies: StageBodies,
        couplings: StageCouplings,
    ) -> None:
        order = _joint_order(joints, articulations)
        new_row = {joint: row for row, joint in enumerate(order)}
        ends = {"body0": [joints.body0[j] for j in order], "body1": [joints.body1[j] for j in order]}
        rest: dict[str, Any] = {name: [values[j] for j in order] for name, values in joints.columns.items()}
        rest["frame0"] = poses([joints.frames0[j] for j in order])
        rest["frame1"] = poses([joints.frames1[j] for j in order])
        references = {"body0": "bodies", "body1": "bodies"}
        self.joints = _rows(Joints, [joints.paths[j] for j in order], {**ends, **rest}, references)
        axis_rows = [(new_row[j], joints.paths[j], axis) for j in order for axis in joints.axes[j]]
        names = [item.name for item in fields(AxisRow) if item.name not in _NOT_COLUMNS]
        values = zip(*map(operator.attrgetter(*names), (axis for _, _, axis in axis_rows)), strict=True)
        axis_columns: dict[str, Any] = (
            dict(zip(names, values, strict=True)) if axis_rows else dict.fromkeys(names, ())
        )
        axis_columns["joint"] = [joint for joint, _, _ in axis_rows]
        axis_columns["axis"] = [int(axis.axis) for _, _, axis in axis_rows]
        self.axes = _rows(Axes, [path for _, path, _ in axis_rows], axis_columns, {"joint": "joints"})
        self.axes.names = unique_names(joints, articulations, order)
        keys = [(j, index) for j in order for index in range(len(joints.axes[j]))]
        self._couplings(couplings, new_row, {key: row for row, key in enumerate(keys)})
        links: dict[str, list[Any]] = {
            name: [] for name in ("articulation", "body", "parent", "joint", "joint_count", "flipped")
        }
        paths: list[Sdf.Path] = []
        for index, tree in enumerate(articulations.trees):
            first = len(paths)
            for link in tree.links:
                paths.append(bodies.paths[link.body])
                links["articulation"].append(index)
                links["body"].append(link.body)
                links["parent"].append(first + link.parent if link.parent >= 0 else -1)
                links["joint"].append(new_row[link.joints[0]] if link.joints else -1)
                links["joint_count"].append(len(link.joints))
                links["flipped"].append(link.flipped)
        references = {"articulation": "articulations", "body": "bodies", "parent": "links", "joint": "joints"}
        self.links = _rows(Links, paths, links, references)
        settings: dict[str, list[Any]] = {"fixed_base": [tree.fixed_base for tree in articulations.trees]}
        for name in articulations.trees[0].settings if articulations.trees else ():
            settings[name] = [tree.settings[name] for tree in articulations.trees]
        self.articulations = _rows(Articulations, [tree.path for tree in articulations.trees], settings)

    def _couplings(
        self, couplings: StageCouplings, joint_row: dict[int, int], axis_row: dict[tuple[int, int], int]
    ) -> None:
        """Rows of the couplings, their joints and degrees of freedom renumbered."""
        for rows in (couplings.mimic_joints, couplings.joint_couplings, couplings.fixed_tendon_axes):
            for name in {"axis", "reference"} & rows.columns.keys():
                rows.columns[name] = [axis_row[key] for key in rows.columns[name]]
            for name in {"joint", "joint0", "joint1"} & rows.columns.keys():
                rows.columns[name] = [joint_row.get(joint, -1) for joint in rows.columns[name]]
        to_axes = {"axis": "axes", "reference": "axes"}
        self.mimic_joints = _coupling(MimicJoints, couplings.mimic_joints, to_axes)
        to_joints = {"joint": "joints", "joint0": "joints", "joint1": "joints"}
        self.joint_couplings = _coupling(JointCouplings, couplings.joint_couplings, to_joints)
        self.fixed_tendons = _coupling(FixedTendons, couplings.fixed_tendons, named=True)
        to_tendons = {"tendon": "fixed_tendons", "axis": "axes"}
        self.fixed_tendon_axes = _coupling(FixedTendonAxes, couplings.fixed_tendon_axes, to_tendons)

    def table(self, name: str) -> TableRows:
        """Rows of the table with this name."""
        rows: TableRows = getattr(self, name)
        return rows

    def make_static(self, shape: int) -> None:
        """Take a shape off its (disabled) body."""
        frame = self._body_frames[int(self.shapes.columns["body"][shape])]
        rotation, translation = self._shape_places[shape]
        moved = (frame.rotation @ rotation, frame.translation + frame.rotation @ translation)
        self.shapes.columns["pose"][shape] = poses([moved])[0]
        self.shapes.columns["body"][shape] = -1


def _joint_order(joints: StageJoints, articulations: StageArticulations) -> list[int]:
    """Joints in stage order, those whose motions add right after the first of them."""
    followers: dict[int, list[int]] = {}
    for tree in articulations.trees:
        for link in tree.links:
            if len(link.joints) > 1:
                followers[link.joints[0]] = link.joints[1:]
    moved = {joint for group in followers.values() for joint in group}
    order = []
    for joint in range(joints.count):
        if joint not in moved:
            order.append(joint)
            order.extend(followers.get(joint, []))
    return order


def unique_names(joints: StageJoints, articulations: StageArticulations, order: list[int]) -> tuple[str, ...]:
    """Names of degrees of freedom in axis order; of equal names of one articulation later ones get _0, _1, …"""
    name_of: dict[tuple[int, int], str] = {}
    for tree in articulations.trees:
        taken: set[str] = set()
        for link in tree.links:
            for joint in link.joints:
                for index, axis in enumerate(joints.axes[joint]):
                    name, number = axis.name, 0
                    while name in taken:
                        name, number = f"{axis.name}_{number}", number + 1
                    taken.add(name)
                    name_of[joint, index] = name
    return tuple(
        name_of.get((joint, index), axis.name)
        for joint in order
        for index, axis in enumerate(joints.axes[joint])
    )
