"""Point instancers whose prototypes hold physics: their instances become prims of a stage of their own.

OpenUSD's physics parser does not look into point instancers. A second stage with the same layers gets one more, in
memory, in which every instance is a prim that references its prototype, and in which the prims below the instancer,
which do not stand there themselves, are inactive. The stage that was given is left as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Gf, Sdf, Tf, Usd, UsdGeom, UsdPhysics, Vt

from tensorphys_usd.errors import StageError
from tensorphys_usd.geometry_values import (
    bad_transform,
    integers_of,
    vectors_of,
    world_transform,
    wrong,
)

# Instancers in prototypes of instancers, so deep.
_MOST_LEVELS = 8
# Prototypes are often below a prim that is not defined, so that they do not stand on the stage themselves.
_ANYTHING = Usd.TraverseInstanceProxies(Usd.PrimIsActive & Usd.PrimIsLoaded)
_OP = "xformOp:transform:instance"


@dataclass
class Expanded:
    """A stage on which instances are prims.

    Attributes:
        stage: The stage; the given one where nothing had to be done.
        notes: Prim path and text about each instancer.
        layer: The layer that holds the instances, None where there are none; it must live as long as the stage.
    """

    stage: Usd.Stage
    notes: list[tuple[str, str]] = field(default_factory=list)
    layer: Sdf.Layer | None = None


def expand_instancers(stage: Usd.Stage) -> Expanded:
    """A stage on which every instance of a point instancer with physics is a prim.

    Instance i of the prototype ``/…/Box`` of the instancer ``/World/Boxes`` is ``/World/Boxes/Box_i``. Instances with
    an inactive id are left out, invisible ones are not. Initial velocities of the instances are those of their root
    prim, where that is a rigid body.

    Args:
        stage: The stage.

    Raises:
        StageError: If an instancer's arrays do not fit each other or its prototypes, or instancers hold themselves.
    """
    found = _instancers(stage, set())
    if not found:
        return Expanded(stage)
    for path in found:
        _refuse_cycles(stage, (path,))
    result = _overlaid(stage)
    done: set[Sdf.Path] = set()
    while found:
        for path in found:
            done.add(path)
            _expand(result, path)
        found = _instancers(result.stage, done)
    return result


def add_instances(
    expanded: Expanded, into: Sdf.Layer, places: Mapping[Sdf.Path, Sdf.Path], asset: str = ""
) -> None:
    """Write the instances to another layer, so that a stage with that layer shows them as prims, too.

    Args:
        expanded: The expanded stage.
        into: The layer; a spec at one of the places is replaced.
        places: Where prims of the stage are to stand on the stage of that layer, with what is below them.
        asset: File that holds prototypes at none of these places; none where every prim stays in its place.
    """
    if expanded.layer is None:
        return
    for source, place in places.items():
        if not expanded.layer.GetPrimAtPath(source):
            continue
        Sdf.CreatePrimInLayer(into, place)
        Sdf.CopySpec(expanded.layer, source, into, place)
        if asset:
            into.Traverse(place, lambda path, at=place: _refer(into.GetPrimAtPath(path), at, places, asset))


def _refer(
    spec: Sdf.PrimSpec | None, place: Sdf.Path, places: Mapping[Sdf.Path, Sdf.Path], asset: str
) -> None:
    """Lead an instance to its prototype from another layer; the copy of a spec follows references inside of it."""
    if spec is None or not spec.referenceList.prependedItems:
        return
    target = spec.referenceList.prependedItems[0].primPath
    if target.HasPrefix(place):
        return
    source = next((source for source in places if target.HasPrefix(source)), None)
    reference = Sdf.Reference(asset, target)
    if source is not None:
        reference = Sdf.Reference("", target.ReplacePrefix(source, places[source]))
    spec.referenceList.prependedItems = [reference]


def _prototypes(stage: Usd.Stage, path: Sdf.Path) -> list[Sdf.Path]:
    return list(UsdGeom.PointInstancer(stage.GetPrimAtPath(path)).GetPrototypesRel().GetForwardedTargets())


def _refuse_cycles(stage: Usd.Stage, chain: tuple[Sdf.Path, ...]) -> None:
    """Refuse an instancer whose prototypes, or instancers in them, hold it.

    Args:
        stage: The stage.
        chain: Instancers, each in a prototype of the one before it.
    """
    for target in _prototypes(stage, chain[-1]):
        for held in chain:
            if held.HasPrefix(target):
                raise StageError(
                    f"{chain[-1]}: prototypes names {target}, which holds the instancer {held} itself"
                )
        if len(chain) == _MOST_LEVELS:
            raise StageError(f"{chain[0]}: point instancers nest deeper than {_MOST_LEVELS}")
        prim = stage.GetPrimAtPath(target)
        for inner in Usd.PrimRange(prim, _ANYTHING) if prim else ():
            if inner.GetTypeName() == "PointInstancer":
                _refuse_cycles(stage, (*chain, inner.GetPath()))


def _instancers(stage: Usd.Stage, done: set[Sdf.Path]) -> list[Sdf.Path]:
    """Instancers with physics that have not been dealt with; what is below one waits for it."""
    found = []
    iterator = iter(Usd.PrimRange(stage.GetPseudoRoot(), Usd.TraverseInstanceProxies()))
    for prim in iterator:
        if prim.GetTypeName() != "PointInstancer" or prim.GetPath() in done:
            continue
        targets = _prototypes(stage, prim.GetPath())
        if any(_has_physics(stage.GetPrimAtPath(target)) for target in targets):
            found.append(prim.GetPath())
            iterator.PruneChildren()
    return found


def _has_physics(root: Usd.Prim) -> bool:
    if not root:
        return True  # a target that does not exist is an error further on
    return any(
        prim.IsA(UsdPhysics.Joint)
        or prim.GetTypeName() == "PointInstancer"
        or any(str(name).startswith("Physics") for name in prim.GetPrimTypeInfo().GetAppliedAPISchemas())
        for prim in Usd.PrimRange(root, _ANYTHING)
    )


def _overlaid(stage: Usd.Stage) -> Expanded:
    """The same stage with one more layer on top."""
    layer = Sdf.Layer.CreateAnonymous("instances.usda")
    session = stage.GetSessionLayer()
    if session is not None:
        layer.subLayerPaths.append(session.identifier)
        for key in session.pseudoRoot.ListInfoKeys():
            if key not in ("subLayers", "subLayerOffsets"):
                layer.pseudoRoot.SetInfo(key, session.pseudoRoot.GetInfo(key))
    root, context = stage.GetRootLayer(), stage.GetPathResolverContext()
    mask = stage.GetPopulationMask()
    made = (
        Usd.Stage.Open(root, layer, context)
        if mask == Usd.StagePopulationMask.All()
        else Usd.Stage.OpenMasked(root, layer, context, mask)
    )
    made.SetLoadRules(stage.GetLoadRules())
    made.MuteAndUnmuteLayers(stage.GetMutedLayers(), [])
    return Expanded(made, layer=layer)


def _expand(result: Expanded, path: Sdf.Path) -> None:
    stage, layer = result.stage, result.layer
    assert layer is not None
    prim = stage.GetPrimAtPath(path)
    instancer = UsdGeom.PointInstancer(prim)
    prototypes = instancer.GetPrototypesRel().GetForwardedTargets()
    read = _Arrays(path, instancer, prototypes, stage)
    instances = [ancestor for ancestor in path.GetPrefixes() if stage.GetPrimAtPath(ancestor).IsInstance()]
    taken = {child.GetName() for child in prim.GetAllChildren()}
    names = _names(prototypes, read.prototype, taken)
    with Sdf.ChangeBlock():
        for ancestor in instances:  # prims of an instance cannot be written to
            Sdf.CreatePrimInLayer(layer, ancestor).SetInfo("instanceable", False)
        # The parser does not look below prims of that type.
        Sdf.CreatePrimInLayer(layer, path).typeName = "Xform"
        for name in taken:
            Sdf.CreatePrimInLayer(layer, path.AppendChild(name)).SetInfo("active", False)
        for row in np.flatnonzero(read.active).tolist():
            target = prototypes[read.prototype[row]]
            spec = Sdf.CreatePrimInLayer(layer, path.AppendChild(names[row]))
            spec.specifier = Sdf.SpecifierDef
            if not stage.GetPrimAtPath(target).IsA(UsdGeom.Xformable):
                spec.typeName = "Xform"
            spec.SetInfo("active", True)
            spec.referenceList.prependedItems = [Sdf.Reference("", target)]
            _author(spec, _OP, Sdf.ValueTypeNames.Matrix4d, read.transforms[row])
            order = Sdf.ValueTypeNames.TokenArray
            _author(spec, "xformOpOrder", order, [_OP], variability=Sdf.VariabilityUniform)
            if stage.GetPrimAtPath(target).HasAPI(UsdPhysics.RigidBodyAPI):
                for name, values in read.velocities.items():
                    _author(spec, name, Sdf.ValueTypeNames.Vector3f, Gf.Vec3f(*values[row].tolist()))
    shown = [names[row] for row in np.flatnonzero(read.active)[:1]]
    if shown:
        text = f"point instancer: its {int(read.active.sum())} instances are prims, the first one {path}/{shown[0]}"
        result.notes.append((str(path), text))


def _author(
    spec: Sdf.PrimSpec,
    name: str,
    kind: Any,
    value: Any,
    *,
    variability: Any = Sdf.VariabilityVarying,
) -> None:
    Sdf.AttributeSpec(spec, name, kind, variability).default = value


def _names(prototypes: list[Sdf.Path], prototype: npt.NDArray[np.int64], taken: set[str]) -> list[str]:
    """Name of each instance: its prototype's and its index, and underscores where that name is taken."""
    used = set(taken)
    names = []
    for row, index in enumerate(prototype.tolist()):
        name = f"{prototypes[index].name}_{row}"
        while name in used:
            name += "_"
        used.add(name)
        names.append(name)
    return names


class _Arrays:
    """What an instancer says of its instances.

    Attributes:
        prototype: Index of the prototype of each instance.
        active: Whether each one stands on the stage.
        transforms: Transform of each one in the instancer's frame, that of its prototype's root included.
        velocities: Initial velocities by attribute of rigid bodies, in world axes, angles in degrees.
    """

    def __init__(
        self, path: Sdf.Path, instancer: UsdGeom.PointInstancer, prototypes: list[Sdf.Path], stage: Usd.Stage
    ) -> None:
        positions = instancer.GetPositionsAttr()
        time = Usd.TimeCode.Default()
        if positions.Get(time) is None and positions.GetNumTimeSamples():
            time = Usd.TimeCode.EarliestTime()
        prim = instancer.GetPrim()
        self.prototype = integers_of(prim, "protoIndices", time=time)
        count = len(self.prototype)
        for target in prototypes:
            if not stage.GetPrimAtPath(target):
                raise StageError(f"{path}: prototypes names {target}, which is no prim")
        wrong = self.prototype[(self.prototype < 0) | (self.prototype >= len(prototypes))]
        if wrong.size:
            raise StageError(
                f"{path}: protoIndices holds {int(wrong[0])}, there are {len(prototypes)} prototypes"
            )
        for name, needed in _ARRAYS:
            numbers = _numbers(prim, name, time)
            length = len(numbers)
            if length != count and (needed or length):
                raise StageError(f"{path}: {name} has {length} entries, protoIndices has {count}")
            bad = ~np.isfinite(numbers).all(axis=1)
            if name == "scales":
                bad |= (numbers == 0.0).any(axis=1)
            elif name in _TURNS:
                bad |= ~numbers.any(axis=1)
            for row in np.flatnonzero(bad)[:1]:
                raise StageError(f"{path}: {name} of instance {int(row)} is {numbers[row].tolist()}")
        self.transforms = _transforms(instancer, [stage.GetPrimAtPath(target) for target in prototypes], time)
        self.active = ~np.isin(_ids(instancer, count, time), _inactive(instancer))
        self.velocities = self._velocities(instancer, time)

    @staticmethod
    def _velocities(
        instancer: UsdGeom.PointInstancer, time: Usd.TimeCode
    ) -> dict[str, npt.NDArray[np.float64]]:
        world = world_transform(UsdGeom.XformCache(time), instancer.GetPrim())
        linear = np.array(world, dtype=np.float64)[:3, :3]
        turn = np.array(world.GetOrthonormalized(False).ExtractRotationMatrix(), dtype=np.float64)
        result = {}
        for name, attribute, matrix in (
            ("physics:velocity", instancer.GetVelocitiesAttr(), linear),
            ("physics:angularVelocity", instancer.GetAngularVelocitiesAttr(), turn),
        ):
            value = attribute.Get(time)
            if value is not None and len(value):
                result[name] = np.array(value, dtype=np.float64) @ matrix
        return result


_ARRAYS = (
    ("positions", True),
    ("orientations", False),
    ("orientationsf", False),
    ("scales", False),
    ("velocities", False),
    ("angularVelocities", False),
    ("ids", False),
)


_TURNS = ("orientations", "orientationsf")


def _numbers(prim: Usd.Prim, name: str, time: Usd.TimeCode) -> npt.NDArray[np.float64]:
    """Entries of one of the arrays, as rows."""
    if name == "ids":
        return integers_of(prim, name, time=time)[:, None].astype(np.float64)
    value = prim.GetAttribute(name).Get(time)
    if name not in _TURNS:
        return (
            np.array(value, np.float64).reshape(-1, 3)
            if _is_rows(value)
            else vectors_of(prim, name, time=time)
        )
    if value is None:
        return np.zeros((0, 4))
    if isinstance(value, (Vt.QuathArray, Vt.QuatfArray)):
        return np.array([(*turn.GetImaginary(), turn.GetReal()) for turn in value]).reshape(-1, 4)
    raise wrong(prim, name, value, "quaternions")


def _is_rows(value: Any) -> bool:
    return isinstance(value, Vt.Vec3fArray)


def _transforms(
    instancer: UsdGeom.PointInstancer, prototypes: list[Usd.Prim], time: Usd.TimeCode
) -> list[Gf.Matrix4d]:
    """Transform of each instance; orientations, often of half precision, are made unit quaternions first."""
    roots = []
    for prim in prototypes:
        try:
            roots.append(UsdGeom.Xformable(prim).GetLocalTransformation(time))
        except Tf.ErrorException:
            raise StageError(
                bad_transform(prim) or f"{prim.GetPath()}: its transform cannot be computed"
            ) from None
    indices = instancer.GetProtoIndicesAttr().Get(time) or []
    scales = instancer.GetScalesAttr().Get(time) or [None] * len(indices)
    turns = (
        instancer.GetOrientationsfAttr().Get(time)
        or instancer.GetOrientationsAttr().Get(time)
        or [None] * len(indices)
    )
    result = []
    for index, position, turn, scale in zip(
        indices, instancer.GetPositionsAttr().Get(time) or [], turns, scales, strict=True
    ):
        matrix = Gf.Matrix4d(1.0)
        if turn is not None:
            quaternion = Gf.Quatd(turn.GetReal(), Gf.Vec3d(turn.GetImaginary())).GetNormalized()
            matrix = Gf.Matrix4d().SetRotate(quaternion)
        if scale is not None:
            matrix = Gf.Matrix4d().SetScale(Gf.Vec3d(scale)) * matrix
        result.append(roots[index] * matrix * Gf.Matrix4d().SetTranslate(Gf.Vec3d(position)))
    return result


def _ids(instancer: UsdGeom.PointInstancer, count: int, time: Usd.TimeCode) -> npt.NDArray[np.int64]:
    ids = instancer.GetIdsAttr().Get(time)
    return np.arange(count) if ids is None or not len(ids) else np.array(ids, dtype=np.int64)


def _inactive(instancer: UsdGeom.PointInstancer) -> list[int]:
    listed = instancer.GetPrim().GetMetadata("inactiveIds")
    return [] if listed is None else [int(item) for item in listed.GetAppliedItems()]
