"""Transforms of prims as they are now, with their scale, and the layer that renderers see."""

from __future__ import annotations

from typing import Any

import numpy as np
from pxr import Gf, Sdf, Usd, UsdGeom

from tensorphys_backend.changes import StageChanges
from tensorphys_backend.errors import PrimPathError
from tensorphys_backend.world import World

__all__ = ["RenderLayer", "StagePoses", "rigid_matrix", "rigid_pose"]


def rigid_matrix(pose: Any) -> Gf.Matrix4d:
    """Matrix that acts on row vectors of a pose ``x y z qx qy qz qw``."""
    x, y, z, qx, qy, qz, qw = (float(value) for value in pose)
    matrix = Gf.Matrix4d()
    matrix.SetRotate(Gf.Quatd(qw, qx, qy, qz))
    matrix.SetTranslateOnly(Gf.Vec3d(x, y, z))
    return matrix


def rigid_pose(matrix: Gf.Matrix4d) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Pose ``x y z qx qy qz qw`` of a matrix that acts on row vectors, without its scale and shear."""
    rigid = matrix.RemoveScaleShear()
    turn = rigid.ExtractRotationQuat().GetNormalized()
    return np.array([*rigid.ExtractTranslation(), *turn.GetImaginary(), turn.GetReal()])


class RenderLayer:
    """Poses of bodies in a layer of the session, over what is authored; authored layers are never written.

    Args:
        stage: The stage.
        changes: Does not hear what is written here.
    """

    def __init__(self, stage: Usd.Stage, changes: StageChanges) -> None:
        self._stage, self._changes = stage, changes
        self._layer = Sdf.Layer.CreateAnonymous("tensorphys_poses.usda")
        with changes.unheard():
            stage.GetSessionLayer().subLayerPaths.insert(0, self._layer.identifier)

    def clear(self) -> None:
        """Show what is authored."""
        if not self._layer.empty:
            with self._changes.unheard():
                self._layer.Clear()

    def close(self) -> None:
        """Take the layer off the stage."""
        with self._changes.unheard():
            paths = self._stage.GetSessionLayer().subLayerPaths
            if self._layer.identifier in paths:
                paths.remove(self._layer.identifier)

    def write(self, poses: StagePoses) -> None:
        """Write the pose of each body as it is now; scale stays."""
        with self._changes.unheard(), Sdf.ChangeBlock():
            for path, matrix in poses.bodies().items():
                prim = Sdf.CreatePrimInLayer(self._layer, path)
                for name, kind, value in (
                    ("xformOp:transform:physics", Sdf.ValueTypeNames.Matrix4d, matrix),
                    (
                        "xformOpOrder",
                        Sdf.ValueTypeNames.TokenArray,
                        ["!resetXformStack!", "xformOp:transform:physics"],
                    ),
                ):
                    spec = prim.attributes.get(name) or Sdf.AttributeSpec(prim, name, kind)
                    spec.default = value


class StagePoses:
    """Transforms of prims; without a simulation those that are authored.

    The authored transform of a body is a scale (or shear) in front of a rigid pose; the simulation moves the latter.

    Args:
        stage: The stage, with nothing in its render layer.
        world: The simulation; None while it is stopped.
    """

    def __init__(self, stage: Usd.Stage, world: World | None) -> None:
        self._stage, self._world = stage, world
        self._links: dict[str, int] = {}
        self._authored: dict[str, Gf.Matrix4d] = {}
        self._scale: dict[str, Gf.Matrix4d] = {}
        if world is None:
            return
        cache = UsdGeom.XformCache()
        for link, path in enumerate(world.simulation.directory.link_paths):
            prim = stage.GetPrimAtPath(path) if path.startswith("/") else None
            if prim and prim.IsA(UsdGeom.Xformable):
                matrix = cache.GetLocalToWorldTransform(prim)
                self._links[path], self._authored[path] = link, matrix
                self._scale[path] = matrix * matrix.RemoveScaleShear().GetInverse()

    def bodies(self) -> dict[str, Gf.Matrix4d]:
        """World transform of each body as it is now, with scale."""
        if self._world is None:
            return {}
        poses = self._world.simulation.state.link_pose.numpy()
        return {path: self._scale[path] * rigid_matrix(poses[link]) for path, link in self._links.items()}

    def scale(self, path: str) -> Gf.Matrix4d | None:
        """What stands in front of the rigid pose of a body, None of what is none."""
        return self._scale.get(path)

    def world(self, path: str) -> Gf.Matrix4d:
        """World transform of a prim as it is now, with scale.

        Raises:
            PrimPathError: There is no such prim.
        """
        prim = self._prim(path)
        authored = self._clean(prim)
        owner = next((str(p) for p in prim.GetPath().GetAncestorsRange() if str(p) in self._links), None)
        if owner is None or self._world is None:
            return authored
        pose = self._world.simulation.state.link_pose.numpy()[self._links[owner]]
        live = self._scale[owner] * rigid_matrix(pose)
        if owner == path:
            return live
        return authored * self._clean(self._prim(owner)).GetInverse() * live

    def local(self, path: str) -> Gf.Matrix4d:
        """Transform of a prim in its parent prim as it is now, with scale.

        Raises:
            PrimPathError: There is no such prim.
        """
        parent = self._prim(path).GetParent()
        here = self.world(path)
        if not parent or parent.IsPseudoRoot():
            return here
        return here * self.world(str(parent.GetPath())).GetInverse()

    def authored_pose(self, path: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Rigid part of the authored world transform of a prim, ``x y z qx qy qz qw``."""
        return rigid_pose(self._clean(self._prim(path)))

    def _prim(self, path: str) -> Usd.Prim:
        prim = self._stage.GetPrimAtPath(path)
        if not prim:
            raise PrimPathError(f"{path}: the stage has no such prim")
        return prim

    def _clean(self, prim: Usd.Prim) -> Gf.Matrix4d:
        """World transform as it was authored when the simulation was built, where that is known."""
        known = self._authored.get(str(prim.GetPath()))
        if known is not None:
            return known
        matrix, above = Gf.Matrix4d(1.0), prim
        while above and not above.IsPseudoRoot():
            known = self._authored.get(str(above.GetPath()))
            if known is not None:
                return matrix * known
            if above.IsA(UsdGeom.Xformable):
                local = UsdGeom.Xformable(above)
                matrix = matrix * local.GetLocalTransformation()
                if local.GetResetXformStack():
                    break
            above = above.GetParent()
        return matrix
