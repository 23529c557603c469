"""The part of a template below one prim as a template of its own, the rest as shared static shapes."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_scene.columns import Table
from tensorphys_scene.errors import SceneValueError
from tensorphys_scene.scene import Template
from tensorphys_scene.soft import SoftData, SoftKind

BoolArray = npt.NDArray[np.bool_]

# Index columns of each table and the tables that they point into.
_REFERENCES: dict[str, dict[str, str]] = {
    "bodies": {},
    "materials": {},
    "shapes": {"body": "bodies", "material": "materials"},
    "face_materials": {"shape": "shapes", "material": "materials"},
    "body_forces": {"body": "bodies"},
    "joints": {"body0": "bodies", "body1": "bodies"},
    "axes": {"joint": "joints"},
    "articulations": {},
    "links": {"articulation": "articulations", "body": "bodies", "parent": "links", "joint": "joints"},
    "mimic_joints": {"axis": "axes", "reference": "axes"},
    "joint_couplings": {"joint": "joints", "joint0": "joints", "joint1": "joints"},
    "fixed_tendons": {},
    "fixed_tendon_axes": {"tendon": "fixed_tendons", "axis": "axes"},
    "spatial_tendons": {},
    "soft_prims": {},
    "tendon_attachments": {
        "tendon": "spatial_tendons",
        "body": "bodies",
        "parent": "tendon_attachments",
    },
}


class SourcePart:
    """Rows of a template that belong to one prim and all below it.

    Args:
        template: Template of a whole stage.
        source: Path of the prim.

    Attributes:
        template: What stands at and below the prim, paths relative to it.
        shared: Static shapes elsewhere.
        rows: Rows of the given template that each table of the part holds, by table.
        dropped: Number of filtered pairs between the part and shared shapes; there is no place for them.

    Raises:
        SceneValueError: If there is no such prim, or something that moves is elsewhere or joined across the border.
    """

    def __init__(self, template: Template, source: str) -> None:
        self._whole = template
        self._source = source.rstrip("/")
        known = {*template.prims, *template.bodies.path, *template.shapes.path}
        if not any(self._below(path) for path in known):
            raise SceneValueError(f"replicate: the scene has no prim {source}")
        inside = self._inside()
        self.rows = {name: np.flatnonzero(mask) for name, mask in inside.items()}
        self._check_borders(inside)
        pairs = template.filtered_pairs
        both = inside["shapes"][pairs] if pairs.size else np.zeros((0, 2), bool)
        self.dropped = int((both[:, 0] != both[:, 1]).sum())
        self.template = self._take(self.rows, pairs[both.all(axis=1)])
        self.shared = self._shared(~inside["shapes"], pairs[~both.any(axis=1)])

    def _below(self, path: str) -> bool:
        return path == self._source or path.startswith(self._source + "/")

    def _under(self, table: Table) -> BoolArray:
        return np.array([self._below(path) for path in table.path], dtype=bool)

    def _inside(self) -> dict[str, BoolArray]:
        """Which rows belong to the part."""
        whole = self._whole
        bodies, joints = self._under(whole.bodies), whole.joints
        for row in np.flatnonzero(~bodies & whole.bodies.enabled):
            raise SceneValueError(
                f"replicate: {whole.bodies.path[row]} moves and is not below {self._source}"
            )
        shapes = self._under(whole.shapes)
        on_body = whole.shapes.body >= 0
        shapes[on_body] = bodies[whole.shapes.body[on_body]]
        first, second = (_through(bodies, end, missing=True) for end in (joints.body0, joints.body1))
        joint = first & second
        materials = self._under(whole.materials)
        used = whole.shapes.material[shapes]
        materials[used[used >= 0]] = True
        faces = shapes[whole.face_materials.shape]
        materials[whole.face_materials.material[faces]] = True
        axes = joint[whole.axes.joint]
        links = bodies[whole.links.body]
        tendon_axes = axes[whole.fixed_tendon_axes.axis]
        attachments = bodies[whole.tendon_attachments.body]
        return {
            "bodies": bodies,
            "materials": materials,
            "shapes": shapes,
            "face_materials": faces,
            "body_forces": bodies[whole.body_forces.body],
            "joints": joint,
            "axes": axes,
            "articulations": _owners(whole.articulations.count, whole.links.articulation, links),
            "links": links,
            "mimic_joints": axes[whole.mimic_joints.axis],
            "joint_couplings": joint[whole.joint_couplings.joint],
            "fixed_tendons": _owners(whole.fixed_tendons.count, whole.fixed_tendon_axes.tendon, tendon_axes),
            "fixed_tendon_axes": tendon_axes,
            "spatial_tendons": _owners(
                whole.spatial_tendons.count, whole.tendon_attachments.tendon, attachments
            ),
            "tendon_attachments": attachments,
            "soft_prims": self._soft(),
        }

    def _soft(self) -> BoolArray:
        """Soft prims of the part, and the materials elsewhere that they use."""
        table = self._whole.soft_prims
        own = self._under(table)
        material = np.isin(table.kind, (int(SoftKind.MATERIAL), int(SoftKind.PARTICLE_MATERIAL)))
        for row in np.flatnonzero(~own & ~material):
            raise SceneValueError(f"replicate: {table.path[row]} is soft and is not below {self._source}")
        used: set[str] = set()
        for row in np.flatnonzero(own):
            used.add(table.data[row].material)
            used.update(*table.data[row].targets.values())
        return own | np.array([path in used for path in table.path], dtype=bool)

    def _check_borders(self, inside: dict[str, BoolArray]) -> None:
        """Refuse rows of the part that point out of it; a moving body is always part of it."""
        for name, references in _REFERENCES.items():
            table = getattr(self._whole, name)
            for column, target in references.items():
                index = getattr(table, column)[self.rows[name]]
                for row in self.rows[name][(index >= 0) & ~_through(inside[target], index, missing=True)]:
                    other = getattr(self._whole, target).path[int(getattr(table, column)[row])]
                    raise SceneValueError(
                        f"replicate: {table.path[row]} is joined to {other}, which is not below {self._source}"
                    )

    def _take(self, rows: dict[str, npt.NDArray[np.intp]], pairs: npt.NDArray[np.int32]) -> Template:
        whole = self._whole
        tables: dict[str, Any] = {}
        for name, references in _REFERENCES.items():
            table = getattr(whole, name).take(rows[name])
            changes: dict[str, Any] = {
                column: _renumber(getattr(table, column), rows[target])
                for column, target in references.items()
            }
            for item in fields(table):
                if item.name in ("names", "data"):
                    values = getattr(getattr(whole, name), item.name)
                    changes[item.name] = tuple(values[row] for row in rows[name])
            if name == "soft_prims":
                changes["data"] = tuple(self._relative_data(data) for data in changes["data"])
            path = tuple(self._relative(path) for path in table.path)
            tables[name] = _rebuilt(table, path=path, **changes)
        meshes = np.unique(tables["shapes"].mesh[tables["shapes"].mesh >= 0]).astype(np.intp)
        tables["shapes"] = tables["shapes"].replace(mesh=_renumber(tables["shapes"].mesh, meshes))
        return Template(
            prims=tuple(self._relative(path) for path in whole.prims if self._below(path)) or ("",),
            meshes=tuple(whole.meshes[row] for row in meshes),
            filtered_pairs=_renumber(pairs, rows["shapes"]).reshape(-1, 2),
            **tables,
        )

    def _relative_data(self, data: SoftData) -> SoftData:
        targets = {
            name: tuple(self._relative(path) for path in paths) for name, paths in data.targets.items()
        }
        return replace(data, targets=targets, material=self._relative(data.material))

    def _relative(self, path: str) -> str:
        return path[len(self._source) :] if self._below(path) else path

    def _shared(self, outside: BoolArray, pairs: npt.NDArray[np.int32]) -> Template:
        whole = self._whole
        rows = np.flatnonzero(outside)
        shapes = whole.shapes.take(rows)
        pose = shapes.pose.copy()
        for row in np.flatnonzero(shapes.body >= 0):  # on a disabled body
            pose[row] = _compose(whole.bodies.pose[shapes.body[row]], pose[row])
        faces = whole.face_materials.take(np.flatnonzero(outside[whole.face_materials.shape]))
        used = np.unique(np.concatenate((shapes.material[shapes.material >= 0], faces.material)))
        used = used.astype(np.intp)
        meshes = np.unique(shapes.mesh[shapes.mesh >= 0]).astype(np.intp)
        return Template(
            face_materials=faces.replace(
                shape=_renumber(faces.shape, rows), material=_renumber(faces.material, used)
            ),
            shapes=shapes.replace(
                pose=pose,
                body=np.full(len(rows), -1, np.int32),
                material=_renumber(shapes.material, used),
                mesh=_renumber(shapes.mesh, meshes),
            ),
            materials=whole.materials.take(used),
            meshes=tuple(whole.meshes[row] for row in meshes),
            filtered_pairs=_renumber(pairs, rows).reshape(-1, 2),
        )


def _through(mask: BoolArray, index: npt.NDArray[np.int32], *, missing: bool) -> BoolArray:
    """Mask of the rows that an index names; where it names none, ``missing``."""
    result = np.full(index.shape, missing)
    result[index >= 0] = mask[index[index >= 0]]
    return result


def _owners(count: int, owner: npt.NDArray[np.int32], mask: BoolArray) -> BoolArray:
    result = np.zeros(count, dtype=bool)
    result[owner[mask]] = True
    return result


def _renumber(index: npt.NDArray[Any], rows: npt.NDArray[Any]) -> npt.NDArray[np.int32]:
    """Positions of an index's values in sorted rows, −1 kept."""
    result = np.full(index.shape, -1, np.int32)
    result[index >= 0] = np.searchsorted(rows, index[index >= 0])
    return result


def _rebuilt(table: Table, **changes: Any) -> Table:
    return table.replace(**changes)


def _compose(outer: npt.NDArray[np.float64], inner: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Pose of a frame given in another frame, both ``[x y z qx qy qz qw]``."""
    axis, w = outer[3:6], outer[6]
    turned = np.cross(axis, np.cross(axis, inner[:3]) + w * inner[:3])
    vector = w * inner[3:6] + inner[6] * axis + np.cross(axis, inner[3:6])
    scalar = w * inner[6] - axis @ inner[3:6]
    return np.concatenate((outer[:3] + inner[:3] + 2.0 * turned, vector, [scalar]))
