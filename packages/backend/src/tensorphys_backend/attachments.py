"""Joints that callers make and take away while a simulation goes on, as grasps are held by them."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Gf, Sdf, Usd, UsdPhysics

from tensorphys_backend.errors import PrimPathError
from tensorphys_backend.paths import is_prim_path
from tensorphys_backend.world import to_numpy

__all__ = ["define_attachment", "remove_attachment"]

_TYPES = {"FixedJoint": UsdPhysics.FixedJoint, "SphericalJoint": UsdPhysics.SphericalJoint}


def define_attachment(
    stage: Usd.Stage, path: str, joint_type: str, bodies: tuple[Any, Any], frames: tuple[tuple[Any, Any], ...]
) -> None:
    """Author a joint between two bodies, outside of articulations.

    Args:
        stage: The stage.
        path: Prim of the joint.
        joint_type: ``"FixedJoint"`` or ``"SphericalJoint"``.
        bodies: Paths of both bodies; one may be None for the world.
        frames: Position [stage length] and quaternion xyzw of the joint in each body's own, scaled frame.

    Raises:
        ValueError: Another type, or numbers that are no frame.
        PrimPathError: The path is taken or none, or a body is none.
    """
    if joint_type not in _TYPES:
        raise ValueError(f"joint_type: expected FixedJoint or SphericalJoint, given {joint_type!r}")
    if not is_prim_path(path):
        raise PrimPathError(f"{path}: expected the path of a prim for the joint")
    if stage.GetPrimAtPath(path):
        raise PrimPathError(f"{path}: there is such a prim already")
    for body in bodies:
        prim = None if body is None else stage.GetPrimAtPath(str(body))
        if body is not None and not (prim and prim.HasAPI(UsdPhysics.RigidBodyAPI)):
            raise PrimPathError(f"{body}: no rigid body is there to attach")
    if bodies[0] is None and bodies[1] is None:
        raise PrimPathError(f"{path}: a joint needs a body")
    places = [(_numbers("position", place, 3), _turn(turn)) for place, turn in frames]
    joint = _TYPES[joint_type].Define(stage, path)
    joint.CreateExcludeFromArticulationAttr(True)
    for body, relation in zip(bodies, (joint.CreateBody0Rel(), joint.CreateBody1Rel()), strict=True):
        if body is not None:
            relation.SetTargets([Sdf.Path(str(body))])
    for number, (place, turn) in enumerate(places):
        getattr(joint, f"CreateLocalPos{number}Attr")(Gf.Vec3f(*place))
        getattr(joint, f"CreateLocalRot{number}Attr")(Gf.Quatf(turn[3], *turn[:3]))


def remove_attachment(stage: Usd.Stage, path: str) -> None:
    """Take a joint away; one that is gone stays so.

    Raises:
        PrimPathError: Something else is there.
    """
    prim = stage.GetPrimAtPath(str(path))
    if not prim:
        return
    if not prim.IsA(UsdPhysics.Joint):
        raise PrimPathError(f"{path}: expected a joint, the prim is a {prim.GetTypeName()}")
    stage.RemovePrim(prim.GetPath())


def _numbers(name: str, value: Any, count: int) -> list[float]:
    vector = np.asarray(to_numpy(value), float).reshape(-1)
    if vector.shape != (count,) or not np.isfinite(vector).all():
        raise ValueError(f"{name}: expected {count} finite numbers, given {vector.tolist()}")
    return [float(number) for number in vector]


def _turn(value: Any) -> list[float]:
    turn = np.asarray(_numbers("quaternion", value, 4))
    length = float(np.linalg.norm(turn))
    if length == 0.0:
        raise ValueError("quaternion: expected x y z w, not all zero")
    return [float(number) for number in turn / length]
