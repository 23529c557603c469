"""Writing simulated poses to a stage: a layer on top of the input whose time samples usdview plays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from types import TracebackType

import numpy as np
import numpy.typing as npt
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from tensorphys_scene import Scene
from tensorphys_spatial import quaternion_from_matrix, quaternion_to_matrix
from tensorphys_usd.errors import StageError
from tensorphys_usd.frames import split_all
from tensorphys_usd.stage import open_stage

Array = npt.NDArray[np.float64]

_SUFFIX = "tensorphys"
_TRANSLATE = f"xformOp:translate:{_SUFFIX}"
_ORIENT = f"xformOp:orient:{_SUFFIX}"
_SCALE = f"xformOp:scale:{_SUFFIX}"
_MATRIX = f"xformOp:transform:{_SUFFIX}"
# Relative difference of scales below which a transform counts as a similarity; authored scales are float32.
_UNIFORM = 1e-5


class Recorder:
    """Writes poses of bodies as time samples into a layer of its own; the input file stays as it is.

    Authored environments are overridden in place: the layer has the input as its sublayer. Replicated environments
    are prims of their own that reference the input. Rigid bodies nested below others get transforms relative to
    their parents, so that the world transforms are those given. Use it as a context manager: whatever was recorded
    is written at its end, after an error or an interrupt too.

    Args:
        path: File to write, `.usda` or `.usdc`.
        source: The stage that the scene was parsed from, or its file.
        scene: The scene.
        environments: Indices of the environments to record; default all.
        frames_per_second: Time codes in a second.

    Attributes:
        environments: Environments that are recorded, in the order of the rows of `record`.
        body_rows: Rows of the environment's body table that are recorded.

    Raises:
        StageError: If the source lacks a body of the scene, or the file cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        source: Usd.Stage | str | os.PathLike[str],
        scene: Scene,
        *,
        environments: Sequence[int] | None = None,
        frames_per_second: float = 60.0,
    ) -> None:
        self._path = os.path.abspath(os.fspath(path))
        self._source = open_stage(source) if isinstance(source, (str, os.PathLike)) else source
        self._rate = float(frames_per_second)
        self.environments = (
            tuple(range(scene.environments.count)) if environments is None else tuple(environments)
        )
        templates = {int(scene.environments.template[index]) for index in self.environments}
        if len(templates) != 1:
            raise StageError(
                f"{self._path}: recorded environments use {len(templates)} templates, expected one"
            )
        bodies = scene.templates[templates.pop()].bodies
        self.body_rows = np.flatnonzero(bodies.enabled)
        names = [bodies.path[row] for row in self.body_rows]
        self._last = 0.0
        roots = [scene.environments.path[index] for index in self.environments]
        authored = all(not root or self._source.GetPrimAtPath(root) for root in roots)
        self._layer = self._new_layer(sublayer=authored)
        shifts = np.zeros((len(roots), 3))
        if not authored:
            shifts = scene.environments.origin[list(self.environments)]
            self._reference(roots, shifts)
        if authored:
            self._bodies = _Bodies(self._source, [root + name for root in roots for name in names])
        else:
            self._bodies = _Bodies(self._source, names)
            self._bodies.repeat(len(roots))
        self._shifts = np.repeat(shifts, len(names), axis=0)
        self._specs = [
            self._author(root + name, index, "" if authored else root)
            for index, (root, name) in enumerate((root, name) for root in roots for name in names)
        ]

    def record(self, time: float, poses: npt.ArrayLike) -> None:
        """Add a frame.

        Args:
            time: Simulated time [s].
            poses: World poses of the recorded bodies [x y z qx qy qz qw], shape [environment, body, 7], or
                [body, 7] for one environment; rows of all bodies of the table are accepted too.

        Raises:
            StageError: If the shape is wrong or a pose is not finite.
        """
        given = np.asarray(poses, dtype=np.float64)
        given = given.reshape(len(self.environments), -1, 7) if given.size else given.reshape(0, 0, 7)
        if (
            given.shape[1] != len(self.body_rows)
            and self.body_rows.size
            and given.shape[1] > self.body_rows[-1]
        ):
            given = given[:, self.body_rows]
        if given.shape != (len(self.environments), len(self.body_rows), 7):
            expected = (len(self.environments), len(self.body_rows), 7)
            raise StageError(f"{self._path}: expected poses of shape {expected}, given {np.shape(poses)}")
        flat = given.reshape(-1, 7)
        if not np.isfinite(flat).all():
            row = int(np.argwhere(~np.isfinite(flat))[0][0])
            raise StageError(f"{self._path}: pose of {self._specs[row][0].GetParentPath()} is not finite")
        code = round(time * self._rate, 6)
        self._last = max(self._last, code)
        translations, rotations, matrices = self._bodies.local(flat[:, :3] - self._shifts, flat[:, 3:])
        set_sample = self._layer.SetTimeSample
        with Sdf.ChangeBlock():
            for index, paths in enumerate(self._specs):
                if len(paths) == 1:
                    set_sample(paths[0], code, Gf.Matrix4d(matrices[index].tolist()))
                    continue
                x, y, z, w = rotations[index].tolist()
                set_sample(paths[0], code, Gf.Vec3d(*translations[index].tolist()))
                set_sample(paths[1], code, Gf.Quatd(w, x, y, z))

    def close(self) -> None:
        """Write the file."""
        self._layer.startTimeCode = 0.0
        self._layer.endTimeCode = self._last
        self._layer.Save()

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
        if os.path.exists(self._path):
            os.remove(self._path)
        layer = Sdf.Layer.CreateNew(self._path)
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
            default = self._source.GetRootLayer().defaultPrim
            if default:
                layer.defaultPrim = default
        return layer

    def _input_file(self) -> str:
        """File of the source; a stage in memory is written beside the output."""
        root = self._source.GetRootLayer()
        if root.realPath:
            return str(root.realPath)
        stem, _ = os.path.splitext(self._path)
        name = f"{stem}.input.usda"
        self._source.Flatten().Export(name)
        return name

    def _reference(self, roots: Sequence[str], origins: Array) -> None:
        """Make prims of replicated environments that reference the root prims of the source."""
        tops = [
            prim
            for prim in self._source.GetPseudoRoot().GetChildren()
            if not prim.IsA(UsdPhysics.Scene) and not prim.IsAbstract()
        ]
        stage = Usd.Stage.Open(self._layer)
        self._layer.defaultPrim = Sdf.Path(roots[0]).GetPrefixes()[0].name
        for root, origin in zip(roots, origins, strict=True):
            for ancestor in Sdf.Path(root).GetParentPath().GetPrefixes():
                UsdGeom.Xform.Define(stage, ancestor)
            xform = UsdGeom.Xform.Define(stage, root)
            xform.AddTranslateOp().Set(Gf.Vec3d(*origin.tolist()))
            for top in tops:
                prim = stage.DefinePrim(f"{root}/{top.GetName()}", top.GetTypeName())
                prim.GetReferences().AddReference(self._asset, top.GetPath())

    def _author(self, name: str, index: int, prefix: str) -> list[Sdf.Path]:
        """Ops of one body; paths of the attributes that get samples. The prefix leads to the copy of the source."""
        path = Sdf.Path(name)
        for instance in self._bodies.instances[index]:
            Sdf.CreatePrimInLayer(self._layer, Sdf.Path(f"{prefix}{instance}")).instanceable = False
        spec = Sdf.CreatePrimInLayer(self._layer, path)
        names = Sdf.ValueTypeNames
        if self._bodies.similar[index]:
            ops = [_TRANSLATE, _ORIENT]
            Sdf.AttributeSpec(spec, _TRANSLATE, names.Double3)
            Sdf.AttributeSpec(spec, _ORIENT, names.Quatd)
            sampled = list(ops)
            scale = self._bodies.scales[index]
            if np.abs(scale - 1.0).max() > 1e-12:
                attribute = Sdf.AttributeSpec(spec, _SCALE, names.Double3)
                attribute.default = Gf.Vec3d(*scale.tolist())
                ops.append(_SCALE)
        else:
            Sdf.AttributeSpec(spec, _MATRIX, names.Matrix4d)
            ops = sampled = [_MATRIX]
        if self._bodies.resets[index]:
            ops = ["!resetXformStack!", *ops]
        order = Sdf.AttributeSpec(spec, "xformOpOrder", names.TokenArray, Sdf.VariabilityUniform)
        order.default = ops
        return [path.AppendProperty(op) for op in sampled]


class _Bodies:
    """Local transforms of bodies from their world poses.

    Attributes:
        instances: Instance prims above each body, which must be split to be written to.
        similar: Whether a body's local transform is a rotation, a translation and a constant scale along its axes.
        scales: That scale, shape [count, 3].
        resets: Whether the body ignores its parents' transforms.
    """

    def __init__(self, stage: Usd.Stage, names: Sequence[str]) -> None:
        cache = UsdGeom.XformCache()
        prims = []
        for name in names:
            prim = stage.GetPrimAtPath(name)
            if not prim:
                raise StageError(f"{name}: a body of the scene that the source stage does not have")
            prims.append(prim)
        count = len(prims)
        index_of = {prim.GetPath(): index for index, prim in enumerate(prims)}
        self.instances: list[list[Sdf.Path]] = []
        self.resets = [bool(UsdGeom.Xformable(prim).GetResetXformStack()) for prim in prims]
        self.similar = np.zeros(count, dtype=bool)
        self.scales = np.ones((count, 3))
        self._stretch = np.zeros((count, 3, 3))
        self._ancestor = np.full(count, -1, dtype=np.int64)
        self._between = np.zeros((count, 4, 4))  # parent prim relative to the ancestor body, or in the world
        worlds = np.array([np.array(cache.GetLocalToWorldTransform(prim)) for prim in prims]).reshape(
            -1, 4, 4
        )
        frames = split_all(np.swapaxes(worlds[:, :3, :3], 1, 2), worlds[:, 3, :3])
        for index, prim in enumerate(prims):
            self._stretch[index] = frames[index].stretch
            self.instances.append(_instances_above(prim))
            if self.resets[index]:
                self._between[index] = np.eye(4)
            else:
                parent = prim.GetParent()
                above = np.array(cache.GetLocalToWorldTransform(parent))
                while parent and parent.GetPath() not in index_of and not parent.IsPseudoRoot():
                    if UsdGeom.Xformable(parent) and UsdGeom.Xformable(parent).GetResetXformStack():
                        break
                    parent = parent.GetParent()
                ancestor = index_of.get(parent.GetPath(), -1)
                self._ancestor[index] = ancestor
                self._between[index] = above if ancestor < 0 else above @ np.linalg.inv(worlds[ancestor])
            self._mode(index)

    def repeat(self, count: int) -> None:
        """Make several copies of all bodies, one after the other."""
        size = len(self.resets)
        offsets = np.repeat(np.arange(count) * size, size)
        ancestor = np.tile(self._ancestor, count)
        self._ancestor = np.where(ancestor >= 0, ancestor + offsets, -1)
        self.instances, self.resets = self.instances * count, self.resets * count
        self.similar = np.tile(self.similar, count)
        self.scales = np.tile(self.scales, (count, 1))
        self._stretch = np.tile(self._stretch, (count, 1, 1))
        self._between = np.tile(self._between, (count, 1, 1))

    def _mode(self, index: int) -> None:
        """Decide between separate ops and a matrix."""
        parts = [self._between[index, :3, :3].T]
        if self._ancestor[index] >= 0:
            parts.append(self._stretch[self._ancestor[index]])
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

    def local(self, translations: Array, quaternions: Array) -> tuple[Array, Array, Array]:
        """Local translations, quaternions (where they are ops of their own) and matrices (row vectors)."""
        rotations = quaternion_to_matrix(quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True))
        worlds = np.zeros((len(translations), 4, 4))
        worlds[:, :3, :3] = np.swapaxes(rotations @ self._stretch, 1, 2)
        worlds[:, 3, :3] = translations
        worlds[:, 3, 3] = 1.0
        above = np.where(
            (self._ancestor >= 0)[:, None, None], self._between @ worlds[self._ancestor], self._between
        )
        local = worlds @ np.linalg.inv(above)
        unscaled = np.swapaxes(local[:, :3, :3] / self.scales[:, :, None], 1, 2)
        turned = np.where(self.similar[:, None, None], unscaled, np.eye(3))
        return local[:, 3, :3], quaternion_from_matrix(turned), local


def _instances_above(prim: Usd.Prim) -> list[Sdf.Path]:
    """Instance prims at or above an instance proxy."""
    found: list[Sdf.Path] = []
    while prim and not prim.IsPseudoRoot():
        if prim.IsInstance():
            found.append(prim.GetPath())
        if not (prim.IsInstanceProxy() or prim.IsInstance()):
            break
        prim = prim.GetParent()
    return found
