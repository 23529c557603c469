"""The layer of a recording: made on top of its source, filled with attributes that get samples, and written at the end."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics, Vt

from tensorphys_scene import Template
from tensorphys_usd.errors import StageError
from tensorphys_usd.instancers import add_instances, expand_instancers
from tensorphys_usd.recorded_frames import found_prim
from tensorphys_usd.samples import Samples, filled

Array = npt.NDArray[np.float64]


class RecordedLayer:
    """A new layer over the stage that is recorded.

    Args:
        path: Absolute path of the file to write.
        given: The stage.
        root: Prim of it that the environments are copies of, or empty.
        roots: Paths of the recorded environments.
        rate: Time codes in a second.

    Attributes:
        source: The stage with the instances of its point instancers as prims.
        roots: Paths of the recorded environments.
        authored: Whether the environments are prims of the source; then the layer has it as its sublayer.
        layer: The layer; None once it is written.

    Raises:
        StageError: If the file cannot be written.
    """

    def __init__(self, path: str, given: Usd.Stage, root: str, roots: Sequence[str], rate: float) -> None:
        self._path, self._given, self._root, self._rate = path, given, root, rate
        self._instances = expand_instancers(given)
        self.source = self._instances.stage
        self.roots = list(roots)
        self.authored = all(not root or self.source.GetPrimAtPath(root) for root in self.roots)
        self._places: list[tuple[int, int]] = []  # samples and prim of each attribute, by its number
        self._attributes: dict[int, list[Sdf.Path]] = {}
        self.layer: Sdf.Layer | None = self._new_layer(sublayer=self.authored)

    @property
    def open_layer(self) -> Sdf.Layer:
        """The layer.

        Raises:
            StageError: If it is written.
        """
        if self.layer is None:
            raise StageError(f"{self._path}: is written already")
        return self.layer

    def on_source(self, names: Sequence[str]) -> list[str]:
        """Paths on the source of prims of all recorded environments; of one where they are copies."""
        if self.authored:
            return [root + name for root in self.roots for name in names]
        return [self._root + name for name in names]

    def source_origin(self, template: Template) -> Array:
        """Origin of the frame that the template is in: not zero where the copied prim was an environment itself."""
        bodies, soft = template.bodies, template.soft_prims
        paths, places = (bodies.path, bodies.pose[:, :3])
        if not paths:
            paths, places = soft.path, soft.transform[:, :3, 3]
        for path, place in zip(paths, places, strict=True):
            prim = self.source.GetPrimAtPath(self._root + path)
            if prim:
                world = UsdGeom.XformCache().GetLocalToWorldTransform(prim)
                return np.array(world.ExtractTranslation(), np.float64) - place
        return np.zeros(3)

    def split(self, instances: Sequence[Sdf.Path], environment: int) -> None:
        """Make instances editable, in the copy of the source that an environment is, or where they stand."""
        layer, root = self.open_layer, "" if self.authored else self.roots[environment]
        for instance in instances:
            path = str(instance)[len(self._root) :] if root else str(instance)
            Sdf.CreatePrimInLayer(layer, f"{root}{path}").instanceable = False

    def attribute(
        self, spec: Sdf.PrimSpec, name: str, kind: Sdf.ValueTypeName, samples: int, row: int
    ) -> None:
        """An attribute that gets samples; until then its default is its number."""
        number = len(self._places)
        self._places.append((samples, row))
        attribute = Sdf.AttributeSpec(spec, name, kind)
        attribute.default = _placeholder(kind, number)
        self._attributes.setdefault(samples, []).append(attribute.path)

    def refer_to_source(self, motions: Array) -> None:
        """Make prims of replicated environments that reference the source: its root prims, or the one copied prim."""
        layer = self.open_layer
        tops = [
            prim
            for prim in self.source.GetPseudoRoot().GetChildren()
            if not prim.IsA(UsdPhysics.Scene) and not prim.IsAbstract()
        ]
        rest = np.eye(4)
        if self._root:
            prim = found_prim(self._given, self._root, "the copied prim")
            rest = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(prim))
        layer.defaultPrim = Sdf.Path(self.roots[0]).GetPrefixes()[0].name
        with Sdf.ChangeBlock():
            for root, motion in zip(self.roots, motions, strict=True):
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
                order_ops(spec, ["!resetXformStack!", "xformOp:transform"])
                if self._root:
                    spec.referenceList.Prepend(Sdf.Reference(self._asset, self._root))
                    continue
                for top in tops:
                    copy = Sdf.CreatePrimInLayer(layer, f"{root}/{top.GetName()}")
                    copy.specifier = Sdf.SpecifierDef
                    if top.GetTypeName():
                        copy.typeName = top.GetTypeName()
                    copy.referenceList.Prepend(Sdf.Reference(self._asset, top.GetPath()))

    def write(self, samples: Sequence[Samples], arrays: Sequence[int], last: float) -> None:
        """Write the file, once.

        Args:
            samples: Samples of the attributes.
            arrays: Those whose values are arrays, which binary files take as such.
            last: Last time code.
        """
        layer, self.layer = self.layer, None
        if layer is None:
            return
        layer.startTimeCode = 0.0
        layer.endTimeCode = last
        is_text = self._path.endswith(".usda")
        apart = [] if is_text else list(arrays)
        inline = [Samples(0, "") if row in apart else item for row, item in enumerate(samples)]
        text = filled(layer.ExportToString(), inline, self._places)
        del layer
        if is_text:
            with open(self._path, "w", encoding="utf-8") as file:
                file.write(text)
        else:
            binary = Sdf.Layer.CreateAnonymous(".usda")
            binary.ImportFromString(text)
            for row in apart:
                for code, values in samples[row].frames.items():
                    for path, numbers in zip(self._attributes[row], values, strict=True):
                        array = Vt.Vec3fArray.FromNumpy(numbers.reshape(-1, 3).astype(np.float32))
                        binary.SetTimeSample(path, code, array)
            binary.Export(self._path)
        known = Sdf.Layer.Find(self._path)
        if known is not None:
            known.Reload(force=True)

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
        UsdGeom.SetStageUpAxis(stage, UsdGeom.GetStageUpAxis(self.source))
        UsdGeom.SetStageMetersPerUnit(stage, UsdGeom.GetStageMetersPerUnit(self.source))
        UsdPhysics.SetStageKilogramsPerUnit(stage, UsdPhysics.GetStageKilogramsPerUnit(self.source))
        layer.timeCodesPerSecond = self._rate
        layer.framesPerSecond = self._rate
        if sublayer:
            layer.subLayerPaths.append(self._asset)
            tops = self._instances.layer.rootPrims if self._instances.layer else ()
            add_instances(self._instances, layer, {top.path: top.path for top in tops})
            default = self.source.GetRootLayer().defaultPrim
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


def order_ops(spec: Sdf.PrimSpec, ops: Sequence[str]) -> None:
    """Set the order of the transform ops of a prim."""
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
