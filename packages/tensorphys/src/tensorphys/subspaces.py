"""Frames of sub-trees that views report positions in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from tensorphys.errors import MissingPackageError, ViewError
from tensorphys.matching import match_prims

if TYPE_CHECKING:
    from tensorphys.core import Core

__all__ = ["Subspaces", "relative_pose"]

FloatArray = npt.NDArray[np.float64]


class Subspaces:
    """Roots of subspaces and their translations when they were set.

    Args:
        core: What all views share.
    """

    def __init__(self, core: Core) -> None:
        self._core = core
        self._origins: dict[str, FloatArray] = {}

    def set(self, patterns: str | Sequence[str]) -> None:
        """Take the prims that patterns match as roots, with the translations that they have now.

        Raises:
            NoMatchError: A pattern matches nothing.
            ViewError: The translation of a prim is not known.
        """
        if patterns == "/":
            self._origins = {}
            return
        directory = self._core.catalog.directory
        matches = match_prims(patterns, directory.tree)
        columns = directory.entities(np.asarray(matches.nodes, dtype=np.int64))
        place = zip(matches.paths, columns.environment.tolist(), columns.link.tolist(), strict=True)
        finder = _Translations(self._core)
        self._origins = {path: finder.of(path, environment, link) for path, environment, link in place}

    def of(self, paths: Sequence[str]) -> FloatArray:
        """Origin of the subspace of each path: that of its nearest ancestor or of itself, else zero [m].

        Args:
            paths: Prim paths.

        Returns:
            Origins in the world, shape [count, 3].
        """
        result = np.zeros((len(paths), 3))
        if not self._origins:
            return result
        known: dict[str, FloatArray] = dict(self._origins)
        zero = np.zeros(3)
        for row, path in enumerate(paths):
            passed = []
            while path and path not in known:
                passed.append(path)
                path = path.rpartition("/")[0]
            origin = known.get(path, zero)
            known.update(dict.fromkeys(passed, origin))
            result[row] = origin
        return result


class _Translations:
    """World translations of prims: of environments and bodies from the simulation, of others from the stage."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._environments = core.catalog.scene.environments
        self._link_position: FloatArray | None = None
        self._cache: Any = None

    def of(self, path: str, environment: int, link: int) -> FloatArray:
        if environment >= 0 and path == self._environments.path[environment]:
            return np.array(self._environments.origin[environment])
        if link >= 0:
            if self._link_position is None:
                self._core.settle()
                poses = self._core.array("state.link_pose").numpy()
                self._link_position = poses[:, :3].astype(np.float64)
            return np.asarray(self._environments.origin[environment] + self._link_position[link])
        return self._from_stage(path, environment)

    def _from_stage(self, path: str, environment: int) -> FloatArray:
        stage = self._core.stage
        if stage is None:
            raise ViewError(
                f"set_subspace_roots: a scene holds no transform of {path}: give an environment or a rigid "
                "body, or make the simulation view from a stage"
            )
        self._refuse_below_body(path)
        origin = np.zeros(3)
        prim = stage.GetPrimAtPath(path)
        if not prim and environment >= 0:
            # A replicated environment: the stage holds the source alone.
            origin = self._environments.origin[environment]
            prim = stage.GetPrimAtPath(path[len(self._environments.path[environment]) :])
        if not prim:
            raise ViewError(f"set_subspace_roots: the stage has no prim {path}")
        if self._cache is None:
            self._cache = _xform_cache("set_subspace_roots")
        matrix = self._cache.GetLocalToWorldTransform(prim)
        return np.asarray(origin + np.array(matrix.ExtractTranslation(), dtype=np.float64))

    def _refuse_below_body(self, path: str) -> None:
        directory = self._core.catalog.directory
        above = path.rpartition("/")[0]
        while above:
            node = directory.tree.find(above)
            if node is not None and directory.entities([node]).link[0] >= 0:
                raise ViewError(
                    f"set_subspace_roots: {path} moves with the rigid body {above}; give that body"
                )
            above = above.rpartition("/")[0]


def relative_pose(frame: Any, prim: Any) -> list[float]:
    """Pose of a prim of a stage in the frame of another, both as authored and without their scales [m, xyzw].

    Args:
        frame, prim: ``Usd.Prim``.

    Raises:
        MissingPackageError: usd-core is not installed.
    """
    cache = _xform_cache("relative_pose")
    places = [cache.GetLocalToWorldTransform(each).RemoveScaleShear() for each in (prim, frame)]
    relative = places[0] * places[1].GetInverse()
    rotation = relative.ExtractRotationQuat().GetNormalized()
    return [*relative.ExtractTranslation(), *rotation.GetImaginary(), rotation.GetReal()]


def _xform_cache(what: str) -> Any:
    try:
        from pxr import UsdGeom
    except ImportError as error:
        raise MissingPackageError(what, "usd-core", "pip install usd-core") from error
    return UsdGeom.XformCache()
