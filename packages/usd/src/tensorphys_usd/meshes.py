"""Triangles, hulls and volume integrals of mesh prims."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pxr import Sdf, Usd, UsdGeom, UsdShade
from scipy.spatial import ConvexHull, QhullError

from tensorphys_scene import Mesh
from tensorphys_spatial import DegenerateMeshError, MassProperties, mass_properties_of_mesh
from tensorphys_usd.errors import StageError
from tensorphys_usd.geometry_values import integers_of, vectors_of
from tensorphys_usd.stage import Reading

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int32]


def _fans(counts: IntArray, holes: IntArray) -> npt.NDArray[np.int64]:
    """Triangles of each face, shape [face_count]."""
    kept = np.ones(counts.size, dtype=bool)
    kept[holes[(holes >= 0) & (holes < counts.size)]] = False
    return np.where(kept, np.maximum(counts - 2, 0), 0).astype(np.int64)


def triangulate(counts: IntArray, indices: IntArray, *, holes: IntArray, left_handed: bool) -> IntArray:
    """Fan triangles of polygons, in face order, counter-clockwise from outside.

    Args:
        counts: Vertices of each face, shape [face_count].
        indices: Vertex indices of all faces one after the other.
        holes: Faces to leave out.
        left_handed: Whether the faces are authored clockwise.

    Returns:
        Vertex indices, shape [triangle_count, 3].
    """
    starts = np.concatenate(([0], np.cumsum(counts)[:-1])).astype(np.int64)
    fans = _fans(counts, holes)
    face = np.repeat(np.arange(counts.size), fans)
    corner = np.arange(face.size) - np.repeat(np.cumsum(fans) - fans, fans)
    first = starts[face]
    corners = np.stack((first, first + corner + 1, first + corner + 2), axis=1)
    triangles = indices[corners].astype(np.int32)
    return triangles[:, ::-1].copy() if left_handed else triangles


def read_mesh(prim: Usd.Prim) -> Mesh:
    """Points and triangles of a mesh prim in its own frame; the subdivision cage is taken as it is.

    Raises:
        StageError: If points are not finite or faces refer to points that do not exist.
    """
    path = prim.GetPath()
    mesh = UsdGeom.Mesh(prim)
    points = vectors_of(prim, "points")
    counts, indices, holes = (
        integers_of(prim, name).astype(np.int32)
        for name in ("faceVertexCounts", "faceVertexIndices", "holeIndices")
    )
    if (counts < 0).any() or int(counts.sum()) != indices.size:
        raise StageError(
            f"{path}: faceVertexCounts ask for {int(counts.sum())} indices, given {indices.size}"
        )
    if indices.size and (indices.min() < 0 or indices.max() >= len(points)):
        wrong = int(indices.min()) if indices.min() < 0 else int(indices.max())
        raise StageError(f"{path}: faceVertexIndices holds {wrong}, the mesh has {len(points)} points")
    left_handed = str(mesh.GetOrientationAttr().Get()) == str(UsdGeom.Tokens.leftHanded)
    triangles = triangulate(counts, indices, holes=holes, left_handed=left_handed)
    return Mesh(points, triangles, _groups(face_subsets(prim), counts, holes))


def face_subsets(prim: Usd.Prim) -> list[UsdGeom.Subset]:
    """Subsets of faces of a mesh that materials are bound to, in stage order."""
    subsets = []
    for child in prim.GetFilteredChildren(Usd.TraverseInstanceProxies()):
        subset = UsdGeom.Subset(child) if child.IsA(UsdGeom.Subset) else None
        if subset and str(subset.GetFamilyNameAttr().Get()) == str(UsdShade.Tokens.materialBind):
            if str(subset.GetElementTypeAttr().Get()) == str(UsdGeom.Tokens.face):
                subsets.append(subset)
    return subsets


def _groups(subsets: list[UsdGeom.Subset], counts: IntArray, holes: IntArray) -> IntArray:
    """Number of the subset of each triangle, −1 where it is in none.

    Raises:
        StageError: If a subset names a face that does not exist.
    """
    if not subsets:
        return np.zeros(0, np.int32)
    group = np.full(counts.size, -1, np.int32)
    for row, subset in enumerate(subsets):
        faces = integers_of(subset.GetPrim(), "indices")
        wrong = faces[(faces < 0) | (faces >= counts.size)]
        if wrong.size:
            raise StageError(
                f"{subset.GetPath()}: indices hold {int(wrong[0])}, the mesh has {counts.size} faces"
            )
        group[faces] = row
    return np.repeat(group, _fans(counts, holes))


def hull_of(points: Array) -> Mesh | None:
    """Convex hull with outward triangles; None where the points do not span a volume."""
    try:
        hull = ConvexHull(points)
    except (QhullError, ValueError):
        return None
    triangles = hull.simplices
    a, b, c = (points[triangles[:, k]] for k in range(3))
    outward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) > 0.0
    return Mesh(points, np.where(outward[:, None], triangles, triangles[:, ::-1]).astype(np.int32))


class StageMeshes:
    """Meshes that colliders use; equal ones are kept once.

    Attributes:
        meshes: The meshes.
    """

    def __init__(self, reading: Reading) -> None:
        self.meshes: list[Mesh] = []
        self._reading = reading
        self._rows: dict[bytes, int] = {}
        self._of_prim: dict[Sdf.Path, Mesh] = {}
        self._solids: dict[tuple[int, bool], MassProperties | None] = {}

    def of_prim(self, path: Sdf.Path) -> Mesh:
        """Mesh of a prim in its own frame; instances of one prototype are read once."""
        prim = self._reading.prim(path)
        source = prim.GetPrimInPrototype().GetPath() if prim.IsInstanceProxy() else path
        found = self._of_prim.get(source)
        if found is None:
            found = self._of_prim[source] = read_mesh(prim)
        return found

    def subsets(self, path: Sdf.Path) -> list[Usd.Prim]:
        """Prims of the subsets of faces of a mesh that materials are bound to; none for other prims."""
        prim = self._reading.prim(path)
        return [subset.GetPrim() for subset in face_subsets(prim)] if prim.IsA(UsdGeom.Mesh) else []

    def add(self, mesh: Mesh) -> int:
        """Index of an equal mesh, added where there is none."""
        key = b"|".join((mesh.points.tobytes(), mesh.triangles.tobytes(), mesh.groups.tobytes()))
        row = self._rows.get(key)
        if row is None:
            row = self._rows[key] = len(self.meshes)
            self.meshes.append(mesh)
        return row

    def solid(self, row: int, *, hull: bool) -> MassProperties | None:
        """Mass properties at unit density and scale one of a mesh or of its hull; None where there is no volume."""
        key = (row, hull)
        if key not in self._solids:
            mesh = hull_of(self.meshes[row].points) if hull else self.meshes[row]
            try:
                self._solids[key] = (
                    None if mesh is None else mass_properties_of_mesh(mesh.points, mesh.triangles)
                )
            except DegenerateMeshError:
                self._solids[key] = None
        return self._solids[key]


def scaled(solid: MassProperties, scale: Array) -> MassProperties:
    """A solid of unit density after a scale along the axes of its frame."""
    factor = float(abs(np.prod(scale)))
    # The second moment ∫ x xᵀ scales by s sᵀ; the inertia is its trace times one, minus itself.
    second = 0.5 * np.trace(solid.inertia) * np.eye(3) - solid.inertia
    second = second * np.outer(scale, scale) * factor
    return MassProperties(solid.mass * factor, solid.com * scale, np.trace(second) * np.eye(3) - second)
