"""Make a small stage of a robot for tests: no visual geometry, no materials, collision meshes as convex hulls.

    python3 tools/strip_visuals.py robot.usdc small.usdc

Only what `convexHull` means is kept of a collision mesh, so the physics of the robot does not change. Needs
usd-core and scipy.
"""

from __future__ import annotations

import argparse

import numpy as np
from pxr import Sdf, Usd, UsdGeom, UsdPhysics, UsdShade
from scipy.spatial import ConvexHull


def strip(source: str, target: str) -> None:
    """Write the reduced copy.

    Args:
        source: Stage of the robot.
        target: File to write, `.usda` or `.usdc`.
    """
    stage = Usd.Stage.Open(source)
    for prim in stage.Traverse():
        if prim.IsInstanceable():
            prim.SetInstanceable(False)
    stage = Usd.Stage.Open(stage.Flatten())
    doomed = []
    for prim in stage.Traverse():
        visual = prim.IsA(UsdGeom.Gprim) and not prim.HasAPI(UsdPhysics.CollisionAPI)
        look = prim.IsA(UsdShade.Material) and not prim.HasAPI(UsdPhysics.MaterialAPI)
        if visual or look:
            doomed.append(prim.GetPath())
        elif prim.IsA(UsdGeom.Mesh):
            keep_hull(UsdGeom.Mesh(prim))
    for path in doomed:
        stage.RemovePrim(path)
    known = {prim.GetPath() for prim in stage.TraverseAll()}
    for prim in stage.TraverseAll():
        for relationship in prim.GetRelationships():
            if any(path.GetPrimPath() not in known for path in relationship.GetTargets()):
                prim.RemoveProperty(relationship.GetName())
    stage.GetRootLayer().Export(target)


def keep_hull(mesh: UsdGeom.Mesh) -> None:
    """Replace a mesh of approximation `convexHull` by its hull."""
    approximation = UsdPhysics.MeshCollisionAPI(mesh.GetPrim()).GetApproximationAttr().Get()
    if approximation != UsdPhysics.Tokens.convexHull:
        raise SystemExit(f"{mesh.GetPath()}: approximation {approximation}, only convexHull is supported")
    points = np.array(mesh.GetPointsAttr().Get())
    hull = ConvexHull(points)
    kept, faces = np.unique(hull.simplices, return_inverse=True)
    faces = faces.reshape(hull.simplices.shape)
    corners = points[hull.simplices]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = (normal * hull.equations[:, :3]).sum(axis=1) < 0.0
    faces[inward] = faces[inward, ::-1]
    for name in [p.GetName() for p in mesh.GetPrim().GetAuthoredProperties() if is_surface(p)]:
        mesh.GetPrim().RemoveProperty(name)
    mesh.CreatePointsAttr(points[kept])
    mesh.CreateFaceVertexCountsAttr(np.full(len(faces), 3, np.int32))
    mesh.CreateFaceVertexIndicesAttr(faces.astype(np.int32).ravel())


def is_surface(prop: Usd.Property) -> bool:
    """Whether a property describes points and faces that are replaced, or how they look."""
    name = prop.GetName()
    return name.startswith("primvars:") or name in ("normals", "faceVertexCounts", "faceVertexIndices")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source")
    parser.add_argument("target")
    arguments = parser.parse_args()
    if Sdf.Layer.Find(arguments.target):
        raise SystemExit(f"{arguments.target} is open")
    strip(arguments.source, arguments.target)


if __name__ == "__main__":
    main()
