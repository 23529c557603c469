"""From rows of the whole stage to templates, environments, shared shapes and per-environment differences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Sdf

from tensorphys_scene import Environments, SoftData, Template
from tensorphys_usd.likeness import differences, equal_groups
from tensorphys_usd.membership import OUTSIDE, IntArray, Roots
from tensorphys_usd.row_owners import rows_by_environment
from tensorphys_usd.rows import StageRows, TableRows
from tensorphys_usd.stage import Reading
from tensorphys_usd.variants import Variants


@dataclass
class _Part:
    """Rows of one environment with local indices, ready to become a template."""

    prims: tuple[str, ...]
    paths: dict[str, tuple[str, ...]]
    columns: dict[str, dict[str, npt.NDArray[Any]]]
    names: dict[str, tuple[Any, ...]]
    meshes: tuple[int, ...]
    pairs: npt.NDArray[np.int32]


class Splitter:
    """Splits the rows of a stage by environment."""

    def __init__(self, reading: Reading, roots: Roots, rows: StageRows, variants: Variants) -> None:
        self._reading = reading
        self._variants = variants
        self._roots = roots
        self._rows = rows
        self._of = rows_by_environment(roots, rows)
        self._order = {name: np.argsort(environment, kind="stable") for name, environment in self._of.items()}
        self._starts = {
            name: np.searchsorted(environment[self._order[name]], np.arange(-1, roots.count + 1))
            for name, environment in self._of.items()
        }
        self._local: dict[str, IntArray] = {}
        for name, order in self._order.items():
            local = np.zeros(len(order), np.int64)
            environment = self._of[name][order]
            local[order] = np.arange(len(order)) - self._starts[name][environment + 1]
            self._local[name] = local
        self._places: dict[str, IntArray] = {}
        self._shift()
        self._split_pairs()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all tables."""
        return tuple(self._of)

    def table(self, name: str) -> TableRows:
        """Rows of a table for the whole stage."""
        return self._rows.table(name)

    def prims(self, environment: int) -> tuple[str, ...]:
        """Relative paths of all prims of an environment; outside of all nothing but a root."""
        return self._roots.prims(environment) if environment != OUTSIDE else ("",)

    def places(self, name: str, rows: IntArray) -> IntArray:
        """Where the prims of rows stand below the root of their environment, in depth-first order."""
        if name not in self._places:
            self._places[name] = self._roots.places(self.table(name).paths, self._of[name])
        return self._places[name][rows]

    def _shift(self) -> None:
        """Carry world positions into environment frames."""

        def shift(table: TableRows, name: str, column: str, mask: npt.NDArray[np.bool_]) -> None:
            environment = self._of[name]
            inside = mask & (environment != OUTSIDE)
            table.columns[column][inside, :3] -= self._roots.origins[environment[inside]]

        rows = self._rows
        shift(rows.bodies, "bodies", "pose", np.ones(rows.bodies.count, bool))
        shift(rows.shapes, "shapes", "pose", rows.shapes.columns["body"] < 0)
        soft = self._of["soft_prims"]
        inside = soft != OUTSIDE
        rows.soft_prims.columns["transform"][inside, :3, 3] -= self._roots.origins[soft[inside]]
        shift(rows.joints, "joints", "frame0", rows.joints.columns["body0"] < 0)
        shift(rows.joints, "joints", "frame1", rows.joints.columns["body1"] < 0)

    def _split_pairs(self) -> None:
        pairs = self._rows.pairs
        environment = self._of["shapes"]
        place = environment[pairs] if pairs.size else np.zeros((0, 2), np.int64)
        mixed = (
            (place[:, 0] != place[:, 1]) & (place.min(axis=1) == OUTSIDE) if pairs.size else np.zeros(0, bool)
        )
        for row in np.flatnonzero(mixed)[:1]:
            first, second = (self._rows.shapes.paths[shape] for shape in pairs[row])
            self._reading.report.add(
                first,
                f"filter against {second}, which is shared by all environments, is not supported: ignored",
            )
        same = place[:, 0] == place[:, 1]
        kept, place = pairs[same], place[same, 0]
        order = np.argsort(place, kind="stable")
        local = np.sort(self._local["shapes"][kept[order]], axis=1)
        self._pairs = local.astype(np.int32).reshape(-1, 2)
        self._pair_starts = np.searchsorted(place[order], np.arange(-1, self._roots.count + 1))

    def part(self, environment: int) -> _Part:
        """Rows of one environment (−1: what is outside of all)."""
        columns: dict[str, dict[str, npt.NDArray[Any]]] = {}
        paths: dict[str, tuple[str, ...]] = {}
        for name in self._of:
            table = self._rows.table(name)
            rows = self.rows_of(name, environment)
            columns[name] = {column: self.local(name, column, rows) for column in table.columns}
            paths[name] = tuple(self._roots.relative(environment, table.paths[row]) for row in rows)
        shapes = columns["shapes"]
        for part in (shapes, columns["face_materials"]):
            part["material"] = _index_into(self._used_materials(environment), part["material"])
        meshes = np.unique(shapes["mesh"][shapes["mesh"] >= 0]).astype(np.int64)
        shapes["mesh"] = _index_into(meshes, shapes["mesh"])
        return _Part(
            prims=self.prims(environment),
            paths=paths,
            columns=columns,
            names=self._names(environment),
            meshes=tuple(meshes.tolist()),
            pairs=self.pairs(environment),
        )

    def _names(self, environment: int) -> dict[str, tuple[Any, ...]]:
        result: dict[str, tuple[Any, ...]] = {}
        for table in self._of:
            names = self._rows.table(table).names
            if names is not None:
                result[table] = tuple(names[row] for row in self.rows_of(table, environment))
        result["soft_prims"] = tuple(self._relative_data(environment, data) for data in result["soft_prims"])
        return result

    def _relative_data(self, environment: int, data: SoftData) -> SoftData:
        def relative(path: str) -> str:
            return self._roots.relative(environment, Sdf.Path(path)) if path else ""

        targets = {name: tuple(relative(path) for path in paths) for name, paths in data.targets.items()}
        return replace(data, targets=targets, material=relative(data.material))

    def local(self, name: str, column: str, rows: IntArray) -> npt.NDArray[Any]:
        """Values of a column, references counted within their environment."""
        table = self.table(name)
        values = table.columns[column][rows]
        target = table.references.get(column)
        if target is None:
            return values
        return np.where(values >= 0, np.append(self._local[target], -1)[values], -1).astype(np.int32)

    def pairs(self, environment: int) -> npt.NDArray[np.int32]:
        """Filtered pairs of local shapes."""
        return self._pairs[self._pair_starts[environment + 1] : self._pair_starts[environment + 2]]

    def _used_materials(self, environment: int) -> IntArray:
        """Materials of an environment: those below its root and those that its shapes use."""
        inside = self._members("materials", environment) if environment != OUTSIDE else np.zeros(0, np.int64)
        used = self._rows.shapes.columns["material"][self._members("shapes", environment)]
        faces = self._rows.face_materials.columns["material"][self._members("face_materials", environment)]
        return np.unique(np.concatenate((inside, used[used >= 0].astype(np.int64), faces.astype(np.int64))))

    def rows_of(self, name: str, environment: int) -> IntArray:
        """Rows of a table that an environment's template holds, materials of others that it uses included."""
        if name == "materials":
            return self._used_materials(environment)
        rows = self._members(name, environment)
        if name != "soft_prims" or environment == OUTSIDE or not len(rows):
            return rows
        table = self._rows.soft_prims
        used: set[str] = set()
        for row in rows:
            data = (table.names or ())[row]
            used.add(data.material)
            used.update(*data.targets.values())
        outside = np.flatnonzero(self._of[name] == OUTSIDE)
        return np.unique(
            np.concatenate((rows, [row for row in outside if str(table.paths[row]) in used]))
        ).astype(np.int64)

    def _members(self, name: str, environment: int) -> IntArray:
        """Rows of a table that belong to an environment, in stage order; outside of all only static shapes count."""
        if environment == OUTSIDE and name not in ("shapes", "materials", "face_materials"):
            return np.zeros(0, np.int64)
        starts = self._starts[name]
        return self._order[name][starts[environment + 1] : starts[environment + 2]]

    def row_counts(self, name: str, environments: IntArray) -> IntArray:
        """Number of rows of a table that each environment holds."""
        if name in ("materials", "soft_prims") and self.table(name).count:
            return np.array([len(self.rows_of(name, int(environment))) for environment in environments])
        starts = self._starts[name]
        return np.asarray(starts[environments + 2] - starts[environments + 1])

    def rows_of_all(self, name: str, environments: IntArray) -> IntArray:
        """Rows of a table of environments that hold equally many, shape [environments, rows]."""
        if name in ("materials", "soft_prims") and self.table(name).count:
            return np.stack([self.rows_of(name, int(environment)) for environment in environments])
        count = int(self.row_counts(name, environments[:1])[0])
        return self._order[name][self._starts[name][environments + 1][:, None] + np.arange(count)]

    def numbers(self, name: str, column: str, environments: IntArray) -> npt.NDArray[Any] | None:
        """Values of a float column, shape [environments, rows, ...]; None where all are surely equal."""
        source = self._roots.source[environments]
        varied = f"{name}.{column}" in self._variants.columns
        if not varied and (source == source[0]).all():
            return None
        values = self.table(name).columns[column][self.rows_of_all(name, source)]
        if varied:
            self._variants.replace(f"{name}.{column}", environments, values)
        return values

    def template(self, part: _Part) -> Template:
        """A template of a part."""
        rows = self._rows
        tables: dict[str, Any] = {
            name: rows.table(name).kind(path=part.paths[name], **_known(part, name)) for name in part.columns
        }
        return Template(
            prims=part.prims,
            meshes=tuple(rows.meshes[row] for row in part.meshes),
            filtered_pairs=part.pairs,
            **tables,
        )


def _known(part: _Part, name: str) -> dict[str, Any]:
    columns: dict[str, Any] = dict(part.columns[name])
    if name in part.names:
        columns["data" if name == "soft_prims" else "names"] = part.names[name]
    return columns


def _index_into(rows: IntArray, index: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Positions of an index's values in sorted rows, −1 kept."""
    result = np.full(index.shape, -1, np.int32)
    result[index >= 0] = np.searchsorted(rows, index[index >= 0])
    return result


def split(
    reading: Reading, roots: Roots, rows: StageRows, variants: Variants
) -> tuple[tuple[Template, ...], Environments, Template, dict[tuple[int, str], npt.NDArray[np.float64]]]:
    """Templates, environments, shared shapes and per-environment columns of a stage."""
    splitter = Splitter(reading, roots, rows, variants)
    template_of = np.zeros(roots.count, np.int32)
    templates = []
    overrides: dict[tuple[int, str], npt.NDArray[np.float64]] = {}
    for index, members in enumerate(equal_groups(splitter, np.unique(roots.source))):
        users = np.flatnonzero(np.isin(roots.source, members))
        template_of[users] = index
        templates.append(splitter.template(splitter.part(int(members[0]))))
        # The template's own environment stands first in stage order.
        readers = np.unique(roots.numbers[users])
        row_of_user = np.searchsorted(readers, roots.numbers[users])
        for name, values in differences(splitter, readers).items():
            overrides[index, name] = values[row_of_user]
    shared = splitter.template(splitter.part(OUTSIDE)) if roots.paths else Template()
    environments = Environments(path=roots.names(), template=template_of, origin=roots.origins)
    return tuple(templates), environments, shared, overrides
