"""Samples of the surfaces of shapes: points, and triangles where points alone would be too far apart."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import numpy.typing as npt

from .hulls import Hull
from .meshes import TriangleMesh
from .sdf_shapes import SdfGeometry
from .shapes import ShapeType
from .sphere_sets import SphereSet

Float64Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

CHUNK = 32
"""Samples that share a bounding ball."""

# Triangles of a field's surface with longer sides than this many cells, and than this part of the box, are samples
# themselves; others are well stood for by their corners.
_CELLS = 4.0
_FINE = 1.0 / 24.0
# Longest side of a sampled triangle, as a part of the longest side of the box.
_COARSE = 1.0 / 8.0
_AROUND = 48


@dataclasses.dataclass(frozen=True)
class SampleSet:
    """Samples in the frame of a shape, sorted so that neighbours share chunks.

    Attributes:
        corner: Corners, equal ones for a point [length], shape [count, 3, 3].
        normal: Outward unit normals, zero where any side may touch, shape [count, 3].
        radius: Radius about each sample [length], shape [count].
        chunk_sphere: Centre and radius of a ball about each chunk, shape [chunks, 4].
        chunk_start: First sample of each chunk, one more at the end, shape [chunks + 1].
    """

    corner: Float64Array
    normal: Float64Array
    radius: Float64Array
    chunk_sphere: Float64Array
    chunk_start: IntArray


def sample_shape(
    kind: ShapeType,
    size: Float64Array,
    *,
    hull: Hull | None = None,
    mesh: TriangleMesh | None = None,
    sdf: SdfGeometry | None = None,
    spheres: SphereSet | None = None,
) -> SampleSet:
    """Samples of a shape of any type but a plane.

    Args:
        kind: Type.
        size: Size as the type has it, shape [3].
        hull, mesh, sdf, spheres: Geometry of the types that have one.
    """
    if kind == ShapeType.SPHERE:
        return _chunked(np.zeros((1, 3, 3)), np.zeros((1, 3)), size[:1])
    if kind == ShapeType.SPHERES:
        assert spheres is not None
        balls = spheres.spheres * size[0]
        return _chunked(np.repeat(balls[:, None, :3], 3, axis=1), np.zeros((len(balls), 3)), balls[:, 3])
    if kind == ShapeType.CAPSULE:
        ends = np.linspace(-size[1], size[1], 9)
        corner = np.zeros((8, 3, 3))
        corner[:, 0, 2], corner[:, 1, 2], corner[:, 2, 2] = ends[:-1], ends[1:], ends[1:]
        return _chunked(corner, np.zeros((8, 3)), np.full(8, size[0]))
    if kind in (ShapeType.TRIANGLE_MESH, ShapeType.HEIGHT_FIELD):
        assert mesh is not None
        corner = mesh.vertices[mesh.triangles]
        return _chunked(corner, _normals(corner), np.zeros(len(corner)))
    if kind == ShapeType.SDF:
        assert sdf is not None
        vertices, triangles = sdf.mesh.vertices * size[0], sdf.mesh.triangles.astype(np.int64)
        longest = float(np.ptp(vertices, axis=0).max())
        least = max(_CELLS * sdf.cell * size[0], _FINE * longest)
    else:
        vertices, triangles = _tessellated(kind, size, hull)
        longest, least = float(np.ptp(vertices, axis=0).max()), 0.0
    corner = vertices[triangles]
    normal = _vertex_normals(vertices, triangles, corner)
    sides = np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=2)
    large = _divided(corner[sides.max(axis=1) > least], _COARSE * longest)
    return _chunked(
        np.concatenate([np.repeat(vertices[:, None], 3, axis=1), large]),
        np.concatenate([normal, _normals(large)]),
        np.zeros(len(vertices) + len(large)),
    )


def _tessellated(
    kind: ShapeType, size: Float64Array, hull: Hull | None
) -> tuple[Float64Array, npt.NDArray[np.int64]]:
    """Vertices on the surface and outward triangles of a convex shape with faces, or of an ellipsoid."""
    if kind == ShapeType.CONVEX_HULL:
        assert hull is not None
        faces = [hull.face(k).tolist() for k in range(hull.face_count)]
        return hull.vertices, _fans(faces)
    if kind == ShapeType.BOX:
        corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        faces = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
        return corners * size, _fans(faces)
    if kind == ShapeType.ELLIPSOID:
        octahedron = np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float)
        sides = [[a, b, c] for a, b, c in itertools.product((0, 1), (2, 3), (4, 5))]
        corner = octahedron[sides]
        turned = np.linalg.det(corner) < 0.0
        corner[turned] = corner[turned, ::-1]
        for _ in range(4):
            middle = 0.5 * (corner + np.roll(corner, -1, axis=1))
            a, b, c = (corner[:, k] for k in range(3))
            ab, bc, ca = (middle[:, k] for k in range(3))
            corner = np.concatenate(
                [np.stack(t, axis=1) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
            )
        points, index = np.unique(corner.reshape(-1, 3).round(12), axis=0, return_inverse=True)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        return points * size, index.reshape(-1, 3)
    angle = np.arange(_AROUND) * (2.0 * np.pi / _AROUND)
    ring = np.stack([size[0] * np.cos(angle), size[0] * np.sin(angle), np.full(_AROUND, -size[1])], axis=1)
    below = list(range(_AROUND))
    around = list(zip(below, [*below[1:], 0], strict=True))
    if kind == ShapeType.CONE:
        points = np.concatenate([ring, [[0.0, 0.0, size[1]], [0.0, 0.0, -size[1]]]])
        return points, np.array(
            [[a, b, _AROUND] for a, b in around] + [[b, a, _AROUND + 1] for a, b in around]
        )
    upper = ring * [1.0, 1.0, -1.0]
    points = np.concatenate([ring, upper, [[0.0, 0.0, -size[1]], [0.0, 0.0, size[1]]]])
    up = _AROUND
    triangles = [t for a, b in around for t in ((a, b, b + up), (a, b + up, a + up))]
    triangles += [(b, a, 2 * up) for a, b in around] + [(a + up, b + up, 2 * up + 1) for a, b in around]
    return points, np.array(triangles)


def _fans(faces: list[list[int]]) -> npt.NDArray[np.int64]:
    return np.array([[f[0], f[k], f[k + 1]] for f in faces for k in range(1, len(f) - 1)])


def _normals(corner: Float64Array) -> Float64Array:
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    unit: Float64Array = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
    return unit


def _vertex_normals(
    vertices: Float64Array, triangles: npt.NDArray[np.integer], corner: Float64Array
) -> Float64Array:
    """Angle-weighted normals; zero where they cancel, so that any side may touch."""
    edge = np.roll(corner, -1, axis=1) - corner
    edge /= np.maximum(np.linalg.norm(edge, axis=2, keepdims=True), 1e-300)
    angle = np.arccos(np.clip(-(edge * np.roll(edge, 1, axis=1)).sum(axis=2), -1.0, 1.0))
    weighted = (angle[:, :, None] * _normals(corner)[:, None]).reshape(-1, 3)
    total = np.stack(
        [np.bincount(triangles.ravel(), weights=weighted[:, k], minlength=len(vertices)) for k in range(3)],
        axis=1,
    )
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 1e-3, total / np.maximum(length, 1e-300), 0.0)


def _divided(corner: Float64Array, longest: float) -> Float64Array:
    """Halve triangles across their longest sides until none is longer than a bound."""
    done = [np.zeros((0, 3, 3))]
    while len(corner):
        length = np.linalg.norm(np.roll(corner, -1, axis=1) - corner, axis=2)
        small = length.max(axis=1) <= longest
        done.append(corner[small])
        corner, length = corner[~small], length[~small]
        # The longest side comes first.
        turn = length.argmax(axis=1)
        rows = np.arange(len(corner))
        a, b, c = (corner[rows, (turn + k) % 3] for k in range(3))
        middle = 0.5 * (a + b)
        corner = np.concatenate([np.stack([a, middle, c], axis=1), np.stack([middle, b, c], axis=1)])
    return np.concatenate(done)


def _chunked(corner: Float64Array, normal: Float64Array, radius: Float64Array) -> SampleSet:
    """Sort samples along a Morton curve and bound each run of neighbours."""
    middle = corner.mean(axis=1)
    low, extent = middle.min(axis=0), float(np.ptp(middle, axis=0).max())
    place = ((middle - low) / max(extent, 1e-300) * 1023.0).astype(np.int64)
    code = np.zeros(len(middle), dtype=np.int64)
    for bit in range(10):
        for axis in range(3):
            code |= ((place[:, axis] >> bit) & 1) << (3 * bit + axis)
    order = np.argsort(code, kind="stable")
    corner, normal, radius = corner[order], normal[order], radius[order]
    start = np.append(np.arange(0, len(corner), CHUNK), len(corner))
    balls = []
    for first, last in itertools.pairwise(start):
        points = corner[first:last].reshape(-1, 3)
        center = 0.5 * (points.min(axis=0) + points.max(axis=0))
        reach = np.linalg.norm(points - center, axis=1) + np.repeat(radius[first:last], 3)
        balls.append([*center, float(reach.max())])
    return SampleSet(corner, normal, radius, np.array(balls).reshape(-1, 4), start)
