"""Writing simulated state to a stage: a layer on top of the input whose time samples usdview plays."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Literal

import numpy as np
import numpy.typing as npt
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics, Vt

from tensorphys_scene import AxisType, JointType, Scene
from tensorphys_spatial import (
    quaternion_conjugate,
    quaternion_multiply,
    quaternion_rotate,
    quaternion_to_matrix,
)
from tensorphys_usd.axes import TOKENS
from tensorphys_usd.errors import StageError
from tensorphys_usd.instancers import add_instances, expand_instancers
from tensorphys_usd.recorded_frames import BodyFrames, PointFrames, found_prim, instances_above
from tensorphys_usd.samples import Samples, filled
from tensorphys_usd.stage import open_stage

Array = npt.NDArray[np.float64]

_SUFFIX = "tensorphys"
_TRANSLATE = f"xformOp:translate:{_SUFFIX}"
_ORIENT = f"xformOp:orient:{_SUFFIX}"
_SCALE = f"xformOp:scale:{_SUFFIX}"
_MATRIX = f"xformOp:transform:{_SUFFIX}"
_VECTOR = "(%.12g, %.12g, %.12g)"
_ROW = "(%.12g, %.12g, %.12g, %.12g)"
_POINT = "(%.9g, %.9g, %.9g)"
_NUMBER = "%.9g"
_AXES = {axis: token for token, axis in TOKENS.items()}


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
        self._root = root.rstrip("/")
        self._given = open_stage(source) if isinstance(source, (str, os.PathLike)) else source
        self._instances = expand_instancers(self._given)
        self._source = self._instances.stage
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
        self._authored = all(not root or self._source.GetPrimAtPath(root) for root in self._roots)
        self._samples: list[Samples] = []
        self._places: list[tuple[int, int]] = []  # samples and prim of each attribute, by its number
        self._attributes: dict[int, list[Sdf.Path]] = {}
        self._layer: Sdf.Layer | None = self._new_layer(sublayer=self._authored)
        self._motions: Array | None = None
        if not self._authored:
            self._motions = _motions(scene, self.environments, self._source_origin())
            self._reference(self._layer, self._motions)
        self._bodies = BodyFrames(self._source, self._on_source(names))
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
        layer = self._layer
        if layer is None:
            raise StageError(f"{self._path}: is written already")
        code = round(time * self._rate, 6)
        origins = self._origins if frame == "environment" else np.zeros_like(self._origins)
        if poses is not None:
            self._record_poses(layer, code, poses, origins)
        for name, values in (("position", joint_positions), ("velocity", joint_velocities)):
            if values is not None:
                self._record_states(layer, code, name, values)
        for attribute, given in (("points", points), ("velocities", point_velocities)):
            for prim, values in (given or {}).items():
                self._record_points(layer, code, attribute, prim, values, origins)
        self._last = max(self._last, code)

    def _record_poses(self, layer: Sdf.Layer, code: float, poses: npt.ArrayLike, origins: Array) -> None:
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
                self._author_bodies(layer, [root + name for root in self._roots for name in names])
        self._poses = flat
        if len(self._bodies.similar_rows):
            translations, rotations = self._bodies.similarities(flat[:, :3], flat[:, 3:])
            self._samples[0].add(code, translations)
            self._samples[1].add(code, rotations[:, [3, 0, 1, 2]])
        if len(self._bodies.other_rows):
            matrices = self._bodies.matrices(flat[:, :3], flat[:, 3:])
            self._samples[2].add(code, matrices.reshape(-1, 16))

    def _record_states(self, layer: Sdf.Layer, code: float, name: str, values: npt.ArrayLike) -> None:
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
            self._states[name] = self._author_states(layer, name)
        degrees = np.where(axes.axis >= int(AxisType.ROT_X), 180.0 / np.pi, 1.0)
        self._samples[self._states[name]].add(code, (given * degrees).reshape(-1, 1))

    def _record_points(
        self,
        layer: Sdf.Layer,
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
            self._point_samples[key] = self._author_points(layer, attribute, prim, given.shape[1])
        frames = self._points[prim]
        vectors = attribute == "velocities"
        moved = given if vectors else given + origins[:, None]
        local = frames.local(moved, self._poses, vectors=vectors)
        samples = self._samples[self._point_samples[key]]
        if samples.width != 3 * local.shape[1]:
            raise StageError(f"{prim}: expected {samples.width // 3} {attribute}, given {local.shape[1]}")
        samples.add(code, local.reshape(len(local), -1))

    def close(self) -> None:
        """Write the file."""
        layer, self._layer = self._layer, None
        if layer is None:
            return
        layer.startTimeCode = 0.0
        layer.endTimeCode = self._last
        is_text = self._path.endswith(".usda")
        arrays = [] if is_text else list(self._point_samples.values())
        inline = [Samples(0, "") if row in arrays else item for row, item in enumerate(self._samples)]
        text = filled(layer.ExportToString(), inline, self._places)
        del layer
        if is_text:
            with open(self._path, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            binary = Sdf.Layer.CreateAnonymous(".usda")
            binary.ImportFromString(text)
            for row in arrays:
                for code, values in self._samples[row].frames.items():
                    for path, numbers in zip(self._attributes[row], values, strict=True):
                        array = Vt.Vec3fArray.FromNumpy(numbers.reshape(-1, 3).astype(np.float32))
                        binary.SetTimeSample(path, code, array)
            binary.Export(self._path)
        known = Sdf.Layer.Find(self._path)
        if known is not None:
            known.Reload(force=True)

    def __enter__(self) -> Recorder:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _new_layer(self, *, sublayer: bool) -> Sdf.Layer:
        input_path = self._input_file()
        if os.path.abspath(input_path) == self._path:
            raise StageError(f"{self._path}: is the input; choose another file")
        layer = Sdf.Layer.Find(self._path)
        if layer is not None:  # some open stage shows an earlier recording
            layer.Clear()
        else:
            if os.path.exists(self._path):
                os.remove(self._path)
            try:
                layer = Sdf.Layer.CreateNew(self._path)
            except Tf.ErrorException as error:
                reason = " ".join(str(error).split())
                raise StageError(f"{self._path}: cannot be written: {reason}") from None
            if layer is None:
                raise StageError(f"{self._path}: cannot be written")
        self._asset = os.path.relpath(input_path, os.path.dirname(self._path))
        if not self._asset.startswith("."):
            self._asset = "./" + self._asset
        stage = Usd.Stage.Open(layer)
        UsdGeom.SetStageUpAxis(stage, UsdGeom.GetStageUpAxis(self._source))
        UsdGeom.SetStageMetersPerUnit(stage, UsdGeom.GetStageMetersPerUnit(self._source))
        UsdPhysics.SetStageKilogramsPerUnit(stage, UsdPhysics.GetStageKilogramsPerUnit(self._source))
        layer.timeCodesPerSecond = self._rate
        layer.framesPerSecond = self._rate
        if sublayer:
            layer.subLayerPaths.append(self._asset)
            tops = self._instances.layer.rootPrims if self._instances.layer else ()
            add_instances(self._instances, layer, {top.path: top.path for top in tops})
            default = self._source.GetRootLayer().defaultPrim
            if default:
                layer.defaultPrim = default
        return layer

    def _input_file(self) -> str:
        """File of the source; a stage in memory is written beside the output."""
        root = self._given.GetRootLayer()
        if root.realPath:
            return str(root.realPath)
        stem, _ = os.path.splitext(self._path)
        name = f"{stem}.input.usda"
        self._given.Flatten().Export(name)
        return name

    def _reference(self, layer: Sdf.Layer, motions: Array) -> None:
        """Make prims of replicated environments that reference the source: its root prims, or the one copied prim."""
        tops = [
            prim
            for prim in self._source.GetPseudoRoot().GetChildren()
            if not prim.IsA(UsdPhysics.Scene) and not prim.IsAbstract()
        ]
        rest = np.eye(4)
        if self._root:
            prim = found_prim(self._given, self._root, "the copied prim")
            rest = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(prim))
        layer.defaultPrim = Sdf.Path(self._roots[0]).GetPrefixes()[0].name
        with Sdf.ChangeBlock():
            for root, motion in zip(self._roots, motions, strict=True):
                for ancestor in Sdf.Path(root).GetPrefixes():
                    spec = Sdf.CreatePrimInLayer(layer, ancestor)
                    spec.specifier, spec.typeName = Sdf.SpecifierDef, "Xform"
                places = {top.GetPath(): Sdf.Path(f"{root}/{top.GetName()}") for top in tops}
                if self._root:
                    places = {Sdf.Path(self._root): Sdf.Path(root)}
                add_instances(self._instances, layer, places, self._asset)
                spec = Sdf.CreatePrimInLayer(layer, root)
                spec.specifier, spec.typeName = Sdf.SpecifierDef, "Xform"
                place = Sdf.AttributeSpec(spec, "xformOp:transform", Sdf.ValueTypeNames.Matrix4d)
                place.default = Gf.Matrix4d((rest @ motion).tolist())
                _order(spec, ["!resetXformStack!", "xformOp:transform"])
                if self._root:
                    spec.referenceList.Prepend(Sdf.Reference(self._asset, self._root))
                    continue
                for top in tops:
                    copy = Sdf.CreatePrimInLayer(layer, f"{root}/{top.GetName()}")
                    copy.specifier = Sdf.SpecifierDef
                    if top.GetTypeName():
                        copy.typeName = top.GetTypeName()
                    copy.referenceList.Prepend(Sdf.Reference(self._asset, top.GetPath()))

    def _source_origin(self) -> Array:
        """Origin of the frame that the template is in: not zero where the copied prim was an environment itself."""
        bodies, soft = self._template.bodies, self._template.soft_prims
        paths, places = (bodies.path, bodies.pose[:, :3])
        if not paths:
            paths, places = soft.path, soft.transform[:, :3, 3]
        for path, place in zip(paths, places, strict=True):
            prim = self._source.GetPrimAtPath(self._root + path)
            if prim:
                world = UsdGeom.XformCache().GetLocalToWorldTransform(prim)
                return np.array(world.ExtractTranslation(), np.float64) - place
        return np.zeros(3)

    def _on_source(self, names: Sequence[str]) -> list[str]:
        """Paths on the source of prims of all recorded environments; of one where they are copies."""
        if self._authored:
            return [root + name for root in self._roots for name in names]
        return [self._root + name for name in names]

    def _split(self, layer: Sdf.Layer, instances: Sequence[Sdf.Path], root: str) -> None:
        """Make instances editable; the root leads to the copy of the source."""
        for instance in instances:
            path = str(instance)[len(self._root) :] if root else str(instance)
            Sdf.CreatePrimInLayer(layer, f"{root}{path}").instanceable = False

    def _attribute(
        self, spec: Sdf.PrimSpec, name: str, kind: Sdf.ValueTypeName, samples: int, row: int
    ) -> None:
        """An attribute that gets samples; until then its default is its number."""
        number = len(self._places)
        self._places.append((samples, row))
        attribute = Sdf.AttributeSpec(spec, name, kind)
        attribute.default = _placeholder(kind, number)
        self._attributes.setdefault(samples, []).append(attribute.path)

    def _author_bodies(self, layer: Sdf.Layer, names: Sequence[str]) -> None:
        bodies, types = self._bodies, Sdf.ValueTypeNames
        place = np.where(bodies.similar, np.cumsum(bodies.similar), np.cumsum(~bodies.similar)) - 1
        per_root = len(names) // max(1, len(self._roots))
        for index, name in enumerate(names):
            self._split(
                layer, bodies.instances[index], "" if self._authored else self._roots[index // per_root]
            )
            spec = Sdf.CreatePrimInLayer(layer, name)
            row = int(place[index])
            if bodies.similar[index]:
                ops = [_TRANSLATE, _ORIENT]
                self._attribute(spec, _TRANSLATE, types.Double3, 0, row)
                self._attribute(spec, _ORIENT, types.Quatd, 1, row)
                scale = bodies.scales[index]
                if np.abs(scale - 1.0).max() > 1e-12:
                    Sdf.AttributeSpec(spec, _SCALE, types.Double3).default = Gf.Vec3d(*scale.tolist())
                    ops.append(_SCALE)
            else:
                ops = [_MATRIX]
                self._attribute(spec, _MATRIX, types.Matrix4d, 2, row)
            _order(spec, ["!resetXformStack!", *ops] if bodies.resets[index] else ops)

    def _author_states(self, layer: Sdf.Layer, name: str) -> int:
        """Attributes of joint states; returns their samples."""
        axes, joints = self._template.axes, self._template.joints
        samples = len(self._samples)
        self._samples.append(Samples(len(self._roots) * axes.count, _NUMBER))
        prims = [
            found_prim(self._source, path, "a joint of the scene") for path in self._on_source(axes.path)
        ]
        with Sdf.ChangeBlock():
            for row, path in enumerate(root + path for root in self._roots for path in axes.path):
                prim = prims[row % len(prims)]
                axis = row % axes.count
                kind = JointType(int(joints.type[axes.joint[axis]]))
                instance = _instance(kind, AxisType(int(axes.axis[axis])), prim)
                root = "" if self._authored else self._roots[row // axes.count]
                self._split(layer, instances_above(prim), root)
                spec = Sdf.CreatePrimInLayer(layer, path)
                schema = f"PhysicsJointStateAPI:{instance}"
                if schema not in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
                    applied = spec.GetInfo("apiSchemas") or Sdf.TokenListOp()
                    items = list(dict.fromkeys([*applied.prependedItems, schema]))
                    spec.SetInfo("apiSchemas", Sdf.TokenListOp.Create(prependedItems=items))
                self._attribute(
                    spec, f"state:{instance}:physics:{name}", Sdf.ValueTypeNames.Float, samples, row
                )
        return samples

    def _author_points(self, layer: Sdf.Layer, attribute: str, name: str, count: int) -> int:
        """Point attributes of one prim in each environment; returns their samples."""
        inside = name
        if len(self._roots) == 1 and self._roots[0] and name.startswith(self._roots[0] + "/"):
            inside = name[len(self._roots[0]) :]
        prims = [found_prim(self._source, path, "a prim with points") for path in self._on_source([inside])]
        for prim in prims:
            if not (prim.IsA(UsdGeom.PointBased) or prim.IsA(UsdGeom.PointInstancer)):
                raise StageError(
                    f"{prim.GetPath()}: a {prim.GetTypeName() or 'prim without type'} has no points"
                )
            known = UsdGeom.PointBased(prim).GetPointsAttr().Get() if prim.IsA(UsdGeom.Gprim) else None
            if known is not None and not prim.IsA(UsdGeom.Points) and len(known) not in (0, count):
                raise StageError(f"{prim.GetPath()}: has {len(known)} points, given {count}")
        if name not in self._points:
            self._points[name] = PointFrames(self._bodies, prims, self._motions)
        samples = len(self._samples)
        pattern = f"[{', '.join([_POINT] * count)}]"
        self._samples.append(
            Samples(len(self._roots), pattern, width=3 * count, keep=not self._path.endswith(".usda"))
        )
        types = Sdf.ValueTypeNames
        kind = types.Point3fArray if attribute == "points" else types.Vector3fArray
        with Sdf.ChangeBlock():
            for row, root in enumerate(self._roots):
                prim = prims[row % len(prims)]
                self._split(layer, instances_above(prim), "" if self._authored else root)
                spec = Sdf.CreatePrimInLayer(layer, root + inside)
                written = attribute
                if attribute == "points" and prim.IsA(UsdGeom.PointInstancer):
                    written = "positions"
                self._attribute(spec, written, kind, samples, row)
        return samples


def _motions(scene: Scene, environments: Sequence[int], origin: Array) -> Array:
    """Motions of copies of a source, matrices that act on row vectors; turns are found from what the copies hold.

    Args:
        scene: The scene.
        environments: Which of its environments.
        origin: Origin of the frame of the source in the world, about which copies are turned, shape [3].
    """
    chosen = list(environments)
    template = int(scene.environments.template[chosen[0]])
    result = np.tile(np.eye(4), (len(chosen), 1, 1))
    result[:, 3, :3] = scene.environments.origin[chosen] - origin
    poses = scene.overrides.get((template, "bodies.pose"))
    rest = scene.templates[template].bodies.pose
    if poses is None or not len(rest):
        return result
    row = np.cumsum(scene.environments.template == template) - 1
    turned = poses[row[chosen]]
    turn = quaternion_multiply(turned[..., 3:], quaternion_conjugate(rest[None, :, 3:]))
    # Only a motion of the whole counts; poses may differ for other reasons.
    whole = (
        np.abs(quaternion_rotate(turn[:, :1], rest[None, :, :3]) - turned[..., :3]).max(axis=(1, 2)) < 1e-9
    )
    whole &= np.abs(np.abs((turn * turn[:, :1]).sum(axis=2)) - 1.0).max(axis=1) < 1e-9
    matrices = np.swapaxes(quaternion_to_matrix(turn[:, 0]), 1, 2)
    result[whole, :3, :3] = matrices[whole]
    result[whole, 3, :3] += origin - origin @ matrices[whole]
    return result


def _order(spec: Sdf.PrimSpec, ops: Sequence[str]) -> None:
    order = spec.attributes.get("xformOpOrder")
    if order is None:  # instances of point instancers have one already
        order = Sdf.AttributeSpec(spec, "xformOpOrder", Sdf.ValueTypeNames.TokenArray, Sdf.VariabilityUniform)
    order.default = list(ops)


def _placeholder(kind: Sdf.ValueTypeName, number: int) -> object:
    types = Sdf.ValueTypeNames
    if kind == types.Double3:
        return Gf.Vec3d(number, 0.0, 0.0)
    if kind == types.Quatd:
        return Gf.Quatd(number, 0.0, 0.0, 0.0)
    if kind == types.Matrix4d:
        return Gf.Matrix4d(float(number))
    return float(number) if kind == types.Float else [Gf.Vec3f(number, 0.0, 0.0)]


def _instance(kind: JointType, axis: AxisType, prim: Usd.Prim) -> str:
    """Instance name of the schema of joint states: the one that the source uses, else the usual one."""
    usual = {JointType.REVOLUTE: "angular", JointType.PRISMATIC: "linear"}.get(kind)
    token = _AXES[axis]
    if usual is None or f"PhysicsJointStateAPI:{token}" in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
        return token
    return usual
