"""Writing simulated state to a stage: a layer on top of the input whose time samples usdview plays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal

import numpy as np
import numpy.typing as npt
from pxr import Sdf, Usd

from tensorphys_scene import AxisType, Scene
from tensorphys_usd.errors import StageError
from tensorphys_usd.recorded_copies import copy_motions
from tensorphys_usd.recorded_frames import BodyFrames, PointFrames
from tensorphys_usd.recorded_layer import RecordedLayer
from tensorphys_usd.recorded_prims import author_bodies, author_points, author_states, prims_with_points
from tensorphys_usd.samples import Samples
from tensorphys_usd.stage import open_stage

Array = npt.NDArray[np.float64]

_VECTOR = "(%.12g, %.12g, %.12g)"
_ROW = "(%.12g, %.12g, %.12g, %.12g)"
_POINT = "(%.9g, %.9g, %.9g)"
_NUMBER = "%.9g"


class Recorder:
    """Writes poses, joint states and points as time samples into a layer of its own; the input stays as it is.

    Authored environments are overridden in place: the layer has the input as its sublayer. Replicated environments
    are prims of their own that reference the input. Rigid bodies nested below others get transforms relative to
    their parents, so that the world transforms are those given; authored scales and resets of the transform stack
    stay. An instance with a recorded prim inside is split, and the instances of point instancers with physics are prims
    there, by the names that the scene has for them. Frames are kept as numbers and written at the end, also
    after an error or an interrupt, if it is used as a context manager.

    Args:
        path: File to write, `.usda` or `.usdc`; text is written several times faster.
        source: The stage that the scene was parsed from, or its file.
        scene: The scene.
        root: Prim of the source that the environments are copies of, where `replicate` was given one.
        environments: Indices of the environments to record; default all.
        frames_per_second: Time codes in a second.

    Attributes:
        environments: Environments that are recorded, in the order of the rows of `record`.
        body_rows: Rows of the environment's body table that are recorded.
        axis_rows: Rows of its axis table, the degrees of freedom whose states can be recorded.

    Raises:
        StageError: If the source lacks a body of the scene, or the file cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        source: Usd.Stage | str | os.PathLike[str],
        scene: Scene,
        *,
        root: str = "",
        environments: Sequence[int] | None = None,
        frames_per_second: float = 60.0,
    ) -> None:
        self._path = os.path.abspath(os.fspath(path))
        given = open_stage(source) if isinstance(source, (str, os.PathLike)) else source
        self._rate = float(frames_per_second)
        self.environments = (
            tuple(range(scene.environments.count)) if environments is None else tuple(environments)
        )
        templates = {int(scene.environments.template[index]) for index in self.environments}
        if len(templates) != 1:
            raise StageError(
                f"{self._path}: recorded environments use {len(templates)} templates, expected one"
            )
        self._template = scene.templates[templates.pop()]
        bodies = self._template.bodies
        self.body_rows = np.flatnonzero(bodies.enabled)
        self.axis_rows = np.arange(self._template.axes.count)
        names = [bodies.path[row] for row in self.body_rows]
        self._last = 0.0
        self._roots = [scene.environments.path[index] for index in self.environments]
        self._origins = scene.environments.origin[list(self.environments)]
        self._samples: list[Samples] = []
        self._target = RecordedLayer(self._path, given, root.rstrip("/"), self._roots, self._rate)
        self._motions: Array | None = None
        if not self._target.authored:
            origin = self._target.source_origin(self._template)
            self._motions = copy_motions(scene, self.environments, origin)
            self._target.refer_to_source(self._motions)
        self._bodies = BodyFrames(self._target.source, self._target.on_source(names))
        if self._motions is not None:
            self._bodies.repeat(self._motions)
        self._poses: Array | None = None
        self._points: dict[str, PointFrames] = {}
        self._point_samples: dict[tuple[str, str], int] = {}
        self._states: dict[str, int] = {}
        similar, others = len(self._bodies.similar_rows), len(self._bodies.other_rows)
        matrix = f"({', '.join([_ROW] * 4)})"
        self._samples += [Samples(similar, _VECTOR), Samples(similar, _ROW), Samples(others, matrix)]

    def record(
        self,
        time: float,
        poses: npt.ArrayLike | None = None,
        *,
        joint_positions: npt.ArrayLike | None = None,
        joint_velocities: npt.ArrayLike | None = None,
        points: Mapping[str, npt.ArrayLike] | None = None,
        point_velocities: Mapping[str, npt.ArrayLike] | None = None,
        frame: Literal["world", "environment"] = "world",
    ) -> None:
        """Add a frame.

        Args:
            time: Simulated time [s].
            poses: Poses of the recorded bodies [x y z qx qy qz qw], shape [environment, body, 7], or [body, 7] for
                one environment; rows of all bodies of the table are accepted too.
            joint_positions, joint_velocities: Of the degrees of freedom in the order of the template's axes [rad or
                stage length, and a second], shape [environment, axis] or [axis]. They are written as
                `state:<instance>:physics:position` and `velocity` of the joints, rotations in degrees.
            points: Points of meshes, tetrahedral meshes, curves or particles by prim path, absolute or relative to
                the environment, shape [environment, point, 3] or [point, 3]. They are written in the frame of the
                prim, which may be carried by a recorded body; then that body's poses of the same call count.
            point_velocities: Their velocities, likewise [stage length/s]; only turned and scaled into that frame.
            frame: Whether poses, points and velocities are in the world or in the frames of the environments.

        Raises:
            StageError: If a shape is wrong, a number is not finite, or a prim does not exist or has no points.
        """
        if frame not in ("world", "environment"):
            raise StageError(f"{self._path}: frame must be 'world' or 'environment', given {frame!r}")
        if self._target.layer is None:
            raise StageError(f"{self._path}: is written already")
        code = round(time * self._rate, 6)
        origins = self._origins if frame == "environment" else np.zeros_like(self._origins)
        if poses is not None:
            self._record_poses(code, poses, origins)
        for name, values in (("position", joint_positions), ("velocity", joint_velocities)):
            if values is not None:
                self._record_states(code, name, values)
        for attribute, given in (("points", points), ("velocities", point_velocities)):
            for prim, values in (given or {}).items():
                self._record_points(code, attribute, prim, values, origins)
        self._last = max(self._last, code)

    def _record_poses(self, code: float, poses: npt.ArrayLike, origins: Array) -> None:
        given = np.asarray(poses, dtype=np.float64)
        given = given.reshape(len(self.environments), -1, 7) if given.size else given.reshape(0, 0, 7)
        if (
            given.shape[1] != len(self.body_rows)
            and self.body_rows.size
            and given.shape[1] > self.body_rows[-1]
        ):
            given = given[:, self.body_rows]
        expected = (len(self.environments), len(self.body_rows), 7)
        if given.shape != expected:
            raise StageError(f"{self._path}: expected poses of shape {expected}, given {np.shape(poses)}")
        if not np.isfinite(given).all():
            environment, row, _ = np.argwhere(~np.isfinite(given))[0]
            name = self._template.bodies.path[self.body_rows[row]]
            raise StageError(f"{self._path}: pose of {self._roots[environment]}{name} is not finite")
        flat = given.copy()
        flat[..., :3] += origins[:, None]
        flat = flat.reshape(-1, 7)
        size = np.linalg.norm(flat[:, 3:], axis=1)
        flat[:, 3:] /= size[:, None]
        if self._poses is None:
            names = [self._template.bodies.path[row] for row in self.body_rows]
            with Sdf.ChangeBlock():
                author_bodies(
                    self._target, self._bodies, [root + name for root in self._roots for name in names]
                )
        self._poses = flat
        if len(self._bodies.similar_rows):
            translations, rotations = self._bodies.similarities(flat[:, :3], flat[:, 3:])
            self._samples[0].add(code, translations)
            self._samples[1].add(code, rotations[:, [3, 0, 1, 2]])
        if len(self._bodies.other_rows):
            matrices = self._bodies.matrices(flat[:, :3], flat[:, 3:])
            self._samples[2].add(code, matrices.reshape(-1, 16))

    def _record_states(self, code: float, name: str, values: npt.ArrayLike) -> None:
        axes = self._template.axes
        given = np.asarray(values, dtype=np.float64)
        expected = (len(self.environments), axes.count)
        if given.shape == expected[1:] and len(self.environments) == 1:
            given = given[None]
        if given.shape != expected:
            raise StageError(
                f"{self._path}: expected joint states of shape {expected}, given {np.shape(values)}"
            )
        if not np.isfinite(given).all():
            environment, row = np.argwhere(~np.isfinite(given))[0]
            raise StageError(
                f"{self._path}: {name} of {self._roots[environment]}{axes.path[row]} is not finite"
            )
        if name not in self._states:
            self._states[name] = len(self._samples)
            self._samples.append(Samples(len(self._roots) * axes.count, _NUMBER))
            author_states(self._target, self._template, name, self._states[name])
        degrees = np.where(axes.axis >= int(AxisType.ROT_X), 180.0 / np.pi, 1.0)
        self._samples[self._states[name]].add(code, (given * degrees).reshape(-1, 1))

    def _record_points(
        self,
        code: float,
        attribute: str,
        prim: str,
        values: npt.ArrayLike,
        origins: Array,
    ) -> None:
        given = np.asarray(values, dtype=np.float64)
        given = given[None] if given.ndim == 2 else given
        if given.ndim != 3 or given.shape[0] != len(self.environments) or given.shape[2] != 3:
            expected = f"({len(self.environments)}, points, 3)"
            raise StageError(f"{prim}: expected {attribute} of shape {expected}, given {np.shape(values)}")
        if not np.isfinite(given).all():
            environment, row, _ = np.argwhere(~np.isfinite(given))[0]
            raise StageError(f"{self._roots[environment]}{prim}: {attribute} {row} is not finite")
        key = (prim, attribute)
        if key not in self._point_samples:
            self._begin_points(attribute, prim, given.shape[1])
        frames = self._points[prim]
        vectors = attribute == "velocities"
        moved = given if vectors else given + origins[:, None]
        local = frames.local(moved, self._poses, vectors=vectors)
        samples = self._samples[self._point_samples[key]]
        if samples.width != 3 * local.shape[1]:
            raise StageError(f"{prim}: expected {samples.width // 3} {attribute}, given {local.shape[1]}")
        samples.add(code, local.reshape(len(local), -1))

    def _begin_points(self, attribute: str, name: str, count: int) -> None:
        """Make room for the samples of one prim in each environment, and author its attribute."""
        inside, prims = prims_with_points(self._target, name, count)
        if name not in self._points:
            self._points[name] = PointFrames(self._bodies, prims, self._motions)
        samples = self._point_samples[name, attribute] = len(self._samples)
        pattern = f"[{', '.join([_POINT] * count)}]"
        keep = not self._path.endswith(".usda")
        self._samples.append(Samples(len(self._roots), pattern, width=3 * count, keep=keep))
        author_points(self._target, attribute, inside, prims, samples)

    def close(self) -> None:
        """Write the file."""
        self._target.write(self._samples, list(self._point_samples.values()), self._last)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
