"""Opening a stage, and what all parts of one parse share: prims in order, world transforms, attributes, units."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Set

import numpy as np
from pxr import Sdf, Tf, Usd, UsdGeom, UsdPhysics, UsdUtils

from tensorphys_usd.attributes import Attributes, is_physics
from tensorphys_usd.errors import StageError
from tensorphys_usd.frames import Frame, split_all
from tensorphys_usd.geometry_values import bad_transform, world_transform
from tensorphys_usd.report import Report


def open_stage(path: str | os.PathLike[str]) -> Usd.Stage:
    """Open a stage file.

    Raises:
        StageError: If the file does not exist or is no stage.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise StageError(f"{name}: no such file")
    try:
        stage = Usd.Stage.Open(name)
    except Tf.ErrorException as error:
        reason = " ".join(str(error).split())
        raise StageError(f"{name}: OpenUSD cannot open it: {reason}") from None
    if stage is None:
        raise StageError(f"{name}: OpenUSD cannot open it")
    return stage


def stage_of_cache(stage_cache_id: int) -> Usd.Stage:
    """Stage in the process-wide stage cache (`UsdUtils.StageCache`) with this id.

    Raises:
        StageError: If the cache holds no such stage.
    """
    stage = UsdUtils.StageCache.Get().Find(Usd.StageCache.Id.FromLongInt(stage_cache_id))
    if not stage:
        raise StageError(
            f"stage cache: no stage with id {stage_cache_id}; insert it with UsdUtils.StageCache.Get()"
        )
    return stage


class Reading:
    """One pass over one stage.

    Args:
        stage: The stage.
        skip: Prims that are left out with all below them.

    Attributes:
        stage: The stage.
        skip: Prims that are left out.
        report: Findings.
        paths: Paths of all active, loaded, defined prims in depth-first order, instance proxies included.
        order: Position of each of these paths.
        types: Positions of the prims by type name and the API schemas applied to them, registered or not.
        meters_per_unit, kilograms_per_unit: Stage units in metres and kilograms.
        up_axis: "Y" or "Z".
    """

    def __init__(self, stage: Usd.Stage, skip: frozenset[Sdf.Path] = frozenset()) -> None:
        self.stage = stage
        self.skip = skip
        self.report = Report()
        self.paths: list[Sdf.Path] = []
        self.prims: list[Usd.Prim] = []
        self.types: dict[tuple[str, ...], list[int]] = {}
        self._type_of: list[tuple[str, ...]] = []
        iterator = iter(Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()))
        next(iterator)  # the pseudo-root
        for prim in iterator:
            path = prim.GetPath()
            if path in skip:
                iterator.PruneChildren()
                continue
            kind = (str(prim.GetTypeName()), *map(str, prim.GetPrimTypeInfo().GetAppliedAPISchemas()))
            of_kind = self.types.setdefault(kind, [])
            of_kind.append(len(self.paths))
            self.prims.append(prim)
            self.paths.append(path)
            self._type_of.append(kind)
        self.order = {path: index for index, path in enumerate(self.paths)}
        self.meters_per_unit = float(UsdGeom.GetStageMetersPerUnit(stage))
        self.kilograms_per_unit = float(UsdPhysics.GetStageKilogramsPerUnit(stage))
        self.up_axis = str(UsdGeom.GetStageUpAxis(stage))
        for name, value in (
            ("metersPerUnit", self.meters_per_unit),
            ("kilogramsPerUnit", self.kilograms_per_unit),
        ):
            if not (np.isfinite(value) and value > 0.0):
                raise StageError(f"/: {name} is {value}, expected a positive number")
        self._transforms = UsdGeom.XformCache()
        self._frames: dict[Sdf.Path, Frame] = {}
        self._attributes: dict[Sdf.Path, Attributes] = {}

    @property
    def density_unit(self) -> float:
        """One kg/m³ in stage mass per stage volume."""
        return self.meters_per_unit**3 / self.kilograms_per_unit

    @functools.cached_property
    def mujoco_radians(self) -> bool:
        """Whether the stage says that angles in `mjc:` attributes are radians; MuJoCo's own default is degrees."""
        for path, _ in self.of_type("PhysicsScene"):
            return str(self.attributes(path).get("mjc:compiler:angle", "degree")) == "radian"
        return False

    def type_of(self, path: Sdf.Path) -> tuple[str, ...]:
        """Type name of a prim of this pass and the API schemas applied to it."""
        return self._type_of[self.order[path]]

    def of_type(self, name: str) -> list[tuple[Sdf.Path, Usd.Prim]]:
        """Paths and prims of a type, in stage order."""
        return self._chosen(lambda kind: kind[0] == name)

    def with_schema(self, prefix: str) -> list[tuple[Sdf.Path, Usd.Prim]]:
        """Paths and prims to which an API schema is applied whose name begins so, in stage order."""
        return self._chosen(lambda kind: any(name.startswith(prefix) for name in kind[1:]))

    def _chosen(self, test: Callable[[tuple[str, ...]], bool]) -> list[tuple[Sdf.Path, Usd.Prim]]:
        rows = sorted(row for kind, rows in self.types.items() if test(kind) for row in rows)
        return [(self.paths[row], self.prims[row]) for row in rows]

    def prim(self, path: Sdf.Path) -> Usd.Prim:
        """The prim at a path of this pass; an invalid prim where there is none."""
        index = self.order.get(path)
        return self.prims[index] if index is not None else self.stage.GetPrimAtPath(path)

    def attributes(self, path: Sdf.Path) -> Attributes:
        """Authored physics attributes of a prim."""
        found = self._attributes.get(path)
        if found is None:
            row = self.order.get(path)
            schemas = None if row is None else self._type_of[row][1:]
            found = self._attributes[path] = Attributes(self.prim(path), schemas)
        return found

    def read(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Authored physics properties that were used: (prim path, names), in stage order."""
        last = len(self.order)
        rows = (
            (path, attributes.used()) for path, attributes in self._attributes.items() if attributes.names
        )
        ordered = sorted((self.order.get(path, last), str(path), names) for path, names in rows if names)
        return tuple((path, names) for _, path, names in ordered)

    def passed(self, path: Sdf.Path) -> Set[str]:
        """Names of the authored physics properties of a prim whose values OpenUSD's parser alone looked at."""
        found = self._attributes.get(path)
        return found.passed if found is not None else frozenset()

    def has_unused(self, path: Sdf.Path) -> bool:
        """Whether a prim has authored physics attributes that nobody asked for."""
        found = self._attributes.get(path)
        if found is not None:
            return found.has_unused
        return any(map(is_physics, self.prim(path).GetAuthoredPropertyNames()))

    def frame(self, path: Sdf.Path) -> Frame:
        """World transform of a prim.

        Raises:
            StageError: If it is not finite or flattens space.
        """
        if path not in self._frames:
            self.read_frames([path])
        return self._frames[path]

    def read_frames(self, paths: Iterable[Sdf.Path]) -> None:
        """Read the world transforms of many prims at once.

        Raises:
            StageError: As `frame` does.
        """
        missing = [path for path in dict.fromkeys(paths) if path not in self._frames]
        if not missing:
            return
        cache = self._transforms
        values = np.array([np.array(world_transform(cache, self.prim(path))) for path in missing])
        linear, translation = np.swapaxes(values[:, :3, :3], 1, 2), values[:, 3, :3].copy()
        for row in np.flatnonzero(~np.isfinite(values).all(axis=(1, 2))):
            path = missing[row]
            raise StageError(bad_transform(self.prim(path)) or f"{path}: world transform is not finite")
        norms = np.sqrt((linear * linear).sum(axis=1))
        safe = np.where(norms > 0.0, norms, 1.0)
        singular = (norms.min(axis=1) <= 0.0) | (np.abs(np.linalg.det(linear / safe[:, None, :])) < 1e-9)
        for row in np.flatnonzero(singular):
            raise StageError(f"{missing[row]}: world transform is singular: scale {norms[row].tolist()}")
        self._frames.update(zip(missing, split_all(linear, translation), strict=True))
