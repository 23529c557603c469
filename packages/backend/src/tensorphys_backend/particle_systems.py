"""Particle systems that are made, filled and emptied while a simulation goes on: what is authored for them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from pxr import Gf, Sdf, Usd, UsdGeom, Vt

from tensorphys_backend.errors import PrimPathError
from tensorphys_backend.paths import is_prim_path

__all__ = ["authored_particles", "define_system", "points_path", "system_path", "write_particles"]

Float32Array = npt.NDArray[np.float32]
_FOLDER = "particle_systems"
_POINTS = "particles"


def system_path(stage: Usd.Stage, name: str) -> str:
    """Path of the prim of a particle system.

    Args:
        stage: The stage.
        name: Its name, below ``particle_systems`` of the default prim or of ``/World``; or the path of its prim.

    Raises:
        PrimPathError: It is neither a name nor a path.
    """
    if is_prim_path(name):
        return name
    if not Sdf.Path.IsValidIdentifier(name):
        raise PrimPathError(
            f"{name}: expected the name of a particle system, such as water, or its prim path"
        )
    root = stage.GetDefaultPrim()
    return f"{root.GetPath() if root else '/World'}/{_FOLDER}/{name}"


def points_path(system: str) -> str:
    """Path of the prim that holds the particles of a system."""
    return f"{system}/{_POINTS}"


def define_system(stage: Usd.Stage, path: str, *, contact_offset: float, fluid: bool) -> None:
    """Make a particle system; one that is there stays as it is.

    Args:
        stage: The stage.
        path: Its prim.
        contact_offset: Half of the distance within which particles act on each other [m].
        fluid: Whether they are a fluid, and not grains.

    Raises:
        PrimPathError: There is a prim of another type.
        ValueError: The offset is not positive.
    """
    present = stage.GetPrimAtPath(path)
    if present and present.GetTypeName() == "PhysxParticleSystem":
        return
    if present and present.GetTypeName():
        raise PrimPathError(f"{path}: expected a particle system, the prim is a {present.GetTypeName()}")
    if not (np.isfinite(contact_offset) and contact_offset > 0.0):
        raise ValueError(f"contact_offset: expected a positive length [m], given {contact_offset}")
    system = stage.DefinePrim(path, "PhysxParticleSystem")
    length = float(contact_offset) / UsdGeom.GetStageMetersPerUnit(stage)
    kinds = Sdf.ValueTypeNames
    system.CreateAttribute("particleContactOffset", kinds.Float, False).Set(length)
    system.CreateAttribute("tensorphys:fluid", kinds.Bool, True).Set(bool(fluid))


def authored_particles(stage: Usd.Stage, system: str) -> tuple[Float32Array, Float32Array]:
    """Authored positions and velocities of a system [stage lengths, per second], world frame, each of shape [N, 3].

    Raises:
        PrimPathError: There is no such system.
    """
    prim = stage.GetPrimAtPath(system)
    if not prim or prim.GetTypeName() != "PhysxParticleSystem":
        raise PrimPathError(f"{system}: no particle system is there; call create_particle_system")
    points = UsdGeom.Points(stage.GetPrimAtPath(points_path(system)))
    if not points:
        return np.zeros((0, 3), np.float32), np.zeros((0, 3), np.float32)
    # Copies: what USD hands out cannot be written to.
    places = np.array(points.GetPointsAttr().Get(), np.float32).reshape(-1, 3)
    speeds = points.GetVelocitiesAttr().Get()
    motion = np.zeros_like(places) if not speeds else np.array(speeds, np.float32).reshape(-1, 3)
    return places, motion


def write_particles(stage: Usd.Stage, system: str, places: Float32Array, motion: Float32Array) -> None:
    """Author the particles of a system, world frame; without any there is no prim of them.

    Args:
        stage: The stage.
        system: The system.
        places, motion: Positions and velocities [stage lengths, per second], shape [N, 3].
    """
    path = points_path(system)
    if not len(places):
        stage.RemovePrim(path)
        return
    with Sdf.ChangeBlock():
        layer = stage.GetEditTarget().GetLayer()
        _spec(layer, path, system, bool(stage.GetPrimAtPath(system).GetAttribute("tensorphys:fluid").Get()))
        for name, values in (("points", places), ("velocities", motion)):
            kind = Sdf.ValueTypeNames.Point3fArray if name == "points" else Sdf.ValueTypeNames.Vector3fArray
            _attribute(layer, path, name, kind, Vt.Vec3fArray([Gf.Vec3f(*map(float, row)) for row in values]))


def _spec(layer: Sdf.Layer, path: str, system: str, fluid: bool) -> None:
    """Prim of the particles, where it is not there; it stands in the world, wherever the system is."""
    if layer.GetPrimAtPath(path):
        return
    spec = Sdf.CreatePrimInLayer(layer, path)
    spec.specifier, spec.typeName = Sdf.SpecifierDef, "Points"
    spec.SetInfo("apiSchemas", Sdf.TokenListOp.Create(prependedItems=["PhysxParticleSetAPI"]))
    relation = Sdf.RelationshipSpec(spec, "physxParticle:particleSystem", False)
    relation.targetPathList.explicitItems = [Sdf.Path(system)]
    _attribute(layer, path, "physxParticle:fluid", Sdf.ValueTypeNames.Bool, fluid)
    _attribute(layer, path, "xformOpOrder", Sdf.ValueTypeNames.TokenArray, ["!resetXformStack!"])


def _attribute(layer: Sdf.Layer, path: str, name: str, kind: Any, value: Any) -> None:
    spec = layer.GetAttributeAtPath(f"{path}.{name}")
    if spec is None:
        spec = Sdf.AttributeSpec(layer.GetPrimAtPath(path), name, kind)
    spec.default = value
