"""Local transforms of recorded prims from world poses, authored scales and resets of the transform stack kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pxr import Sdf, Usd, UsdGeom

from tensorphys_spatial import (
    quaternion_conjugate,
    quaternion_from_matrix,
    quaternion_multiply,
    quaternion_rotate,
    quaternion_rotate_inverse,
    quaternion_to_matrix,
)
from tensorphys_usd.errors import StageError
from tensorphys_usd.frames import split_all

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Relative difference of scales below which a transform counts as a similarity; authored scales are float32.
_UNIFORM = 1e-5


class BodyFrames:
    """Bodies of one or more environments.

    Args:
        stage: The source.
        names: Prim paths of the bodies.

    Attributes:
        index_of: Row of each body by path.
        instances: Instance prims above each body, which must be split to be written to.
        similar: Whether a body's local transform is a rotation, a translation and a constant scale along its axes.
        scales: That scale, shape [count, 3].
        resets: Whether the body ignores its parents' transforms.

    Raises:
        StageError: If the stage lacks a body.
    """

    def __init__(self, stage: Usd.Stage, names: Sequence[str]) -> None:
        self._cache = UsdGeom.XformCache()
        prims = [found_prim(stage, name, "a body of the scene") for name in names]
        count = len(prims)
        self.index_of = {prim.GetPath(): index for index, prim in enumerate(prims)}
        self.instances: list[list[Sdf.Path]] = []
        self.resets = [bool(UsdGeom.Xformable(prim).GetResetXformStack()) for prim in prims]
        self.similar = np.zeros(count, dtype=bool)
        self.scales = np.ones((count, 3))
        self._stretch = np.zeros((count, 3, 3))
        self.ancestor = np.full(count, -1, dtype=np.int64)
        self._between = np.zeros((count, 4, 4))  # parent prim relative to the ancestor body, or in the world
        self.moves = np.zeros(count, dtype=bool)  # whether it moves along with the root of its environment
        self.rest = self._worlds_of(prims)
        frames = split_all(np.swapaxes(self.rest[:, :3, :3], 1, 2), self.rest[:, 3, :3])
        for index, prim in enumerate(prims):
            self._stretch[index] = frames[index].stretch
            self.instances.append(instances_above(prim))
            if self.resets[index]:
                self._between[index] = np.eye(4)
            else:
                self.ancestor[index], self._between[index], self.moves[index] = self.above(prim.GetParent())
            self._mode(index)
        self._prepare()

    def _worlds_of(self, prims: Sequence[Usd.Prim]) -> Array:
        read = self._cache.GetLocalToWorldTransform
        return np.array([np.array(read(prim)) for prim in prims]).reshape(-1, 4, 4)

    def above(self, prim: Usd.Prim) -> tuple[int, Array, bool]:
        """What carries a prim.

        Returns:
            The body, −1 for none; the prim's transform in it, or in the world; whether that would move along with the
            root of the environment.
        """
        world = np.array(self._cache.GetLocalToWorldTransform(prim))
        reset = False
        while prim and prim.GetPath() not in self.index_of and not prim.IsPseudoRoot():
            if UsdGeom.Xformable(prim) and UsdGeom.Xformable(prim).GetResetXformStack():
                reset = True
                break
            prim = prim.GetParent()
        body = self.index_of.get(prim.GetPath(), -1)
        if body >= 0 and not reset:
            return body, world @ np.linalg.inv(self.rest[body]), False
        return -1, world, not reset

    def repeat(self, motions: Array) -> None:
        """Make copies of all bodies, one after the other.

        Args:
            motions: Motion of the root of each copy, matrices that act on row vectors, shape [copies, 4, 4].
        """
        size, count = len(self.resets), len(motions)
        motion = np.repeat(motions, size, axis=0)
        offsets = np.repeat(np.arange(count) * size, size)
        along = self.moves.copy()
        for row in range(size):
            body = row
            while self.ancestor[body] >= 0:
                body = self.ancestor[body]
            along[row] = self.moves[body]
        ancestor = np.tile(self.ancestor, count)
        self.ancestor = np.where(ancestor >= 0, ancestor + offsets, -1)
        self.instances, self.resets = self.instances * count, self.resets * count
        for name in ("similar", "moves"):
            setattr(self, name, np.tile(getattr(self, name), count))
        self.scales = np.tile(self.scales, (count, 1))
        for name in ("_stretch", "_between", "rest"):
            setattr(self, name, np.tile(getattr(self, name), (count, 1, 1)))
        self._between = moved(self._between, motion, self.moves)
        self.rest = moved(self.rest, motion, np.tile(along, count))
        self._prepare()

    def _mode(self, index: int) -> None:
        """Decide between separate ops and a matrix."""
        parts = [self._between[index, :3, :3].T]
        if self.ancestor[index] >= 0:
            parts.append(self._stretch[self.ancestor[index]])
        uniform = 1.0
        for part in parts:
            stretch = split_all(part[None], np.zeros((1, 3)))[0].stretch
            size = float(np.diagonal(stretch).mean())
            if np.abs(stretch - size * np.eye(3)).max() > _UNIFORM * abs(size):
                return
            uniform *= size
        own = self._stretch[index]
        if np.abs(own - np.diag(np.diagonal(own))).max() > _UNIFORM * np.abs(own).max():
            return
        self.similar[index] = True
        scale = np.diagonal(own) / uniform
        self.scales[index] = np.where(np.abs(scale - 1.0) < _UNIFORM, 1.0, scale)

    def _prepare(self) -> None:
        """Split what stays the same in each frame."""
        self.similar_rows = np.flatnonzero(self.similar)
        self.other_rows = np.flatnonzero(~self.similar)
        between = self._between[self.similar_rows]
        frames = split_all(np.swapaxes(between[:, :3, :3], 1, 2), between[:, 3, :3])
        ancestor = self.ancestor[self.similar_rows]
        self._carried = np.flatnonzero(ancestor >= 0)
        self._carrier = ancestor[self._carried]
        self._turn = np.zeros((len(frames), 4))
        self._size = np.ones(len(frames))
        if frames:
            self._turn = quaternion_from_matrix(np.stack([frame.rotation for frame in frames]))
            self._size = np.array([float(frame.scale.mean()) for frame in frames])
        self._shift = between[:, 3, :3].copy()
        self._carrier_size = np.diagonal(self._stretch[self._carrier], axis1=1, axis2=2).mean(axis=1)

    def similarities(self, translations: Array, quaternions: Array) -> tuple[Array, Array]:
        """Local translations and quaternions of the similar bodies from world poses of all bodies."""
        turn, shift, size = self._turn, self._shift, self._size
        if len(self._carrier):
            turn, shift, size = turn.copy(), shift.copy(), size.copy()
            above, rows = quaternions[self._carrier], self._carried
            turn[rows] = quaternion_multiply(above, turn[rows])
            moved = quaternion_rotate(above, shift[rows] * self._carrier_size[:, None])
            shift[rows] = translations[self._carrier] + moved
            size[rows] *= self._carrier_size
        rows = self.similar_rows
        local = quaternion_rotate_inverse(turn, translations[rows] - shift) / size[:, None]
        return local, quaternion_multiply(quaternion_conjugate(turn), quaternions[rows])

    def matrices(self, translations: Array, quaternions: Array) -> Array:
        """Local matrices (row vectors) of the other bodies from world poses of all bodies."""
        rows = self.other_rows
        ancestor = self.ancestor[rows]
        above = self._between[rows]
        carried = np.flatnonzero(ancestor >= 0)
        carriers = self.worlds(ancestor[carried], translations, quaternions)
        above[carried] = above[carried] @ carriers
        return np.asarray(self.worlds(rows, translations, quaternions) @ np.linalg.inv(above))

    def worlds(self, rows: IntArray, translations: Array, quaternions: Array) -> Array:
        """World matrices (row vectors) of some bodies from world poses of all bodies, scale included."""
        result = np.zeros((len(rows), 4, 4))
        linear = quaternion_to_matrix(quaternions[rows]) @ self._stretch[rows]
        result[:, :3, :3] = np.swapaxes(linear, 1, 2)
        result[:, 3, :3] = translations[rows]
        result[:, 3, 3] = 1.0
        return result


class PointFrames:
    """Prims whose points are recorded, one in each environment.

    Args:
        bodies: The bodies, of which one may carry the prims.
        prims: The prims on the source.
        motions: Motions of the roots of copies of them, shape [copies, 4, 4]; None where all are on the source.
    """

    def __init__(self, bodies: BodyFrames, prims: Sequence[Usd.Prim], motions: Array | None = None) -> None:
        self._bodies = bodies
        found = [bodies.above(prim) for prim in prims]
        ancestor = np.array([body for body, _, _ in found], np.int64)
        between = np.stack([matrix for _, matrix, _ in found])
        if motions is not None:
            count = len(motions)
            offsets = np.repeat(np.arange(count) * (len(bodies.resets) // count), len(prims))
            ancestor = np.tile(ancestor, count)
            ancestor = np.where(ancestor >= 0, ancestor + offsets, -1)
            moves = np.tile(np.array([along for _, _, along in found], bool), count)
            between = moved(np.tile(between, (count, 1, 1)), np.repeat(motions, len(prims), axis=0), moves)
        self._ancestor, self._between = ancestor, between

    def local(self, points: Array, poses: Array | None, *, vectors: bool = False) -> Array:
        """Points, or vectors, in the frames of the prims.

        Args:
            points: In the world, shape [prims, points, 3].
            poses: World poses of all bodies, shape [bodies, 7]; None where they rest.
            vectors: Whether translations do not count.
        """
        world = self._between
        carried = np.flatnonzero(self._ancestor >= 0)
        if len(carried):
            world, carriers = world.copy(), self._ancestor[carried]
            above = self._bodies.rest[carriers]
            if poses is not None:
                above = self._bodies.worlds(carriers, poses[:, :3], poses[:, 3:])
            world[carried] = world[carried] @ above
        inverse = np.linalg.inv(world)
        result = points @ inverse[:, :3, :3]
        if not vectors:
            result += inverse[:, None, 3, :3]
        return np.asarray(result)


def moved(worlds: Array, motions: Array, chosen: npt.NDArray[np.bool_]) -> Array:
    """World matrices, the chosen ones after motions; all act on row vectors."""
    return np.where(chosen[:, None, None], worlds @ motions, worlds)


def found_prim(stage: Usd.Stage, name: str, what: str) -> Usd.Prim:
    """The prim at a path of the source.

    Raises:
        StageError: If there is none.
    """
    prim = stage.GetPrimAtPath(name) if Sdf.Path.IsValidPathString(name) else None
    if not prim:
        raise StageError(f"{name}: {what} that the source stage does not have")
    return prim


def instances_above(prim: Usd.Prim) -> list[Sdf.Path]:
    """Instance prims at or above an instance proxy."""
    found: list[Sdf.Path] = []
    while prim and not prim.IsPseudoRoot():
        if prim.IsInstance():
            found.append(prim.GetPath())
        if not (prim.IsInstanceProxy() or prim.IsInstance()):
            break
        prim = prim.GetParent()
    return found
