"""What is authored for a recording on bodies, joints and prims with points: attributes that get samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom

from tensorphys_scene import AxisType, JointType, Template
from tensorphys_usd.axes import TOKENS
from tensorphys_usd.errors import StageError
from tensorphys_usd.recorded_frames import BodyFrames, found_prim, instances_above
from tensorphys_usd.recorded_layer import RecordedLayer, order_ops

_SUFFIX = "tensorphys"
_TRANSLATE = f"xformOp:translate:{_SUFFIX}"
_ORIENT = f"xformOp:orient:{_SUFFIX}"
_SCALE = f"xformOp:scale:{_SUFFIX}"
_MATRIX = f"xformOp:transform:{_SUFFIX}"
_AXES = {axis: token for token, axis in TOKENS.items()}


def author_bodies(target: RecordedLayer, bodies: BodyFrames, names: Sequence[str]) -> None:
    """Transform ops of bodies; their samples are 0 and 1 (translations, rotations) and 2 (matrices).

    Args:
        target: The layer.
        bodies: How the bodies stand on the source.
        names: Their paths in all environments.
    """
    types = Sdf.ValueTypeNames
    place = np.where(bodies.similar, np.cumsum(bodies.similar), np.cumsum(~bodies.similar)) - 1
    per_root = len(names) // max(1, len(target.roots))
    for index, name in enumerate(names):
        target.split(bodies.instances[index], index // per_root)
        spec = Sdf.CreatePrimInLayer(target.open_layer, name)
        row = int(place[index])
        if bodies.similar[index]:
            ops = [_TRANSLATE, _ORIENT]
            target.attribute(spec, _TRANSLATE, types.Double3, 0, row)
            target.attribute(spec, _ORIENT, types.Quatd, 1, row)
            scale = bodies.scales[index]
            if np.abs(scale - 1.0).max() > 1e-12:
                Sdf.AttributeSpec(spec, _SCALE, types.Double3).default = Gf.Vec3d(*scale.tolist())
                ops.append(_SCALE)
        else:
            ops = [_MATRIX]
            target.attribute(spec, _MATRIX, types.Matrix4d, 2, row)
        order_ops(spec, ["!resetXformStack!", *ops] if bodies.resets[index] else ops)


def author_states(target: RecordedLayer, template: Template, name: str, samples: int) -> None:
    """Attributes of the states of all axes in all environments.

    Args:
        target: The layer.
        template: What the environments hold.
        name: ``"position"`` or ``"velocity"``.
        samples: Number of their samples.
    """
    axes, joints = template.axes, template.joints
    prims = [found_prim(target.source, path, "a joint of the scene") for path in target.on_source(axes.path)]
    with Sdf.ChangeBlock():
        for row, path in enumerate(root + path for root in target.roots for path in axes.path):
            prim = prims[row % len(prims)]
            axis = row % axes.count
            kind = JointType(int(joints.type[axes.joint[axis]]))
            instance = _instance(kind, AxisType(int(axes.axis[axis])), prim)
            target.split(instances_above(prim), row // axes.count)
            spec = Sdf.CreatePrimInLayer(target.open_layer, path)
            schema = f"PhysicsJointStateAPI:{instance}"
            if schema not in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
                applied = spec.GetInfo("apiSchemas") or Sdf.TokenListOp()
                items = list(dict.fromkeys([*applied.prependedItems, schema]))
                spec.SetInfo("apiSchemas", Sdf.TokenListOp.Create(prependedItems=items))
            target.attribute(spec, f"state:{instance}:physics:{name}", Sdf.ValueTypeNames.Float, samples, row)


def prims_with_points(target: RecordedLayer, name: str, count: int) -> tuple[str, list[Usd.Prim]]:
    """Path below the root of an environment, and the prims on the source.

    Args:
        target: The layer.
        name: Path, absolute or below the root of the only environment.
        count: Points of each.

    Raises:
        StageError: If there are none, or they have other points.
    """
    inside = name
    if len(target.roots) == 1 and target.roots[0] and name.startswith(target.roots[0] + "/"):
        inside = name[len(target.roots[0]) :]
    prims = [found_prim(target.source, path, "a prim with points") for path in target.on_source([inside])]
    for prim in prims:
        if not (prim.IsA(UsdGeom.PointBased) or prim.IsA(UsdGeom.PointInstancer)):
            raise StageError(f"{prim.GetPath()}: a {prim.GetTypeName() or 'prim without type'} has no points")
        known = UsdGeom.PointBased(prim).GetPointsAttr().Get() if prim.IsA(UsdGeom.Gprim) else None
        if known is not None and not prim.IsA(UsdGeom.Points) and len(known) not in (0, count):
            raise StageError(f"{prim.GetPath()}: has {len(known)} points, given {count}")
    return inside, prims


def author_points(
    target: RecordedLayer, attribute: str, inside: str, prims: Sequence[Usd.Prim], samples: int
) -> None:
    """Point attributes of one prim in each environment.

    Args:
        target: The layer.
        attribute: ``"points"`` or ``"velocities"``.
        inside: Path below the roots.
        prims: The prims on the source.
        samples: Number of their samples.
    """
    types = Sdf.ValueTypeNames
    kind = types.Point3fArray if attribute == "points" else types.Vector3fArray
    with Sdf.ChangeBlock():
        for row, root in enumerate(target.roots):
            prim = prims[row % len(prims)]
            target.split(instances_above(prim), row)
            spec = Sdf.CreatePrimInLayer(target.open_layer, root + inside)
            written = attribute
            if attribute == "points" and prim.IsA(UsdGeom.PointInstancer):
                written = "positions"
            target.attribute(spec, written, kind, samples, row)


def _instance(kind: JointType, axis: AxisType, prim: Usd.Prim) -> str:
    """Instance name of the schema of joint states: the one that the source uses, else the usual one."""
    usual = {JointType.REVOLUTE: "angular", JointType.PRISMATIC: "linear"}.get(kind)
    token = _AXES[axis]
    if usual is None or f"PhysicsJointStateAPI:{token}" in prim.GetPrimTypeInfo().GetAppliedAPISchemas():
        return token
    return usual
