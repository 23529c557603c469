"""Convex decomposition and simplification of meshes with well-kept libraries, and a cache of the results.

The libraries are extras: ``coacd`` for decomposition, ``fast-simplification`` for
simplification (``pip install tensorphys-contact[cooking]``).
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import itertools
import os
import pathlib
import tempfile
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import MeshError, MissingLibraryError
from .hulls import Hull, cook_hull
from .meshes import TriangleMesh, cook_mesh

FORMAT = 2
"""Number of the layout of cached files; a change makes old ones unused."""


class CookingCache:
    """Arrays on disk under the hash of all that they were made of.

    Args:
        folder: Where the files are; made at the first write.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = pathlib.Path(folder)

    def arrays(
        self, key: str, make: Callable[[], dict[str, npt.NDArray[Any]]]
    ) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of a key, made and kept if they are not there or cannot be read."""
        path = self._folder / f"{key}.npz"
        try:
            with np.load(path) as stored:
                return {name: stored[name] for name in stored.files}
        except (OSError, ValueError, zipfile.BadZipFile):
            pass
        made = make()
        self._folder.mkdir(parents=True, exist_ok=True)
        # Written beside and moved over, so that no reader ever sees half a file.
        handle, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
        with os.fdopen(handle, "wb") as stream:
            # The signature of `savez` names its options, which the arrays' names are not.
            np.savez(stream, **made)  # type: ignore[arg-type]
        os.replace(name, path)
        return made


def content_hash(task: str, arrays: tuple[npt.ArrayLike, ...], options: dict[str, Any]) -> str:
    """Hash of a task, its arrays (values, shapes and types) and its options."""
    digest = hashlib.sha256(f"{FORMAT}|{task}|{sorted(options.items())!r}".encode())
    for array in arrays:
        data = np.ascontiguousarray(array)
        digest.update(f"|{data.dtype.str}{data.shape}|".encode())
        digest.update(data.tobytes())
    return digest.hexdigest()


def cached_hull(points: npt.ArrayLike, *, vertex_limit: int = 64, cache: CookingCache) -> Hull:
    """:func:`cook_hull` with its result kept in a cache.

    Raises:
        HullError: as :func:`cook_hull`.
    """
    cloud = np.asarray(points, dtype=np.float64)
    key = content_hash("hull", (cloud,), {"vertex_limit": vertex_limit})
    names = [field.name for field in dataclasses.fields(Hull)]

    def make() -> dict[str, npt.NDArray[Any]]:
        hull = cook_hull(cloud, vertex_limit=vertex_limit)
        return {name: np.asarray(getattr(hull, name)) for name in names}

    found = cache.arrays(key, make)
    return Hull(**{**found, "radius": float(found["radius"])})  # type: ignore[arg-type]


def cached_mesh(
    points: npt.ArrayLike,
    triangles: npt.ArrayLike,
    *,
    flip: bool = False,
    repair: bool = False,
    cache: CookingCache,
) -> TriangleMesh:
    """:func:`cook_mesh` with its result kept in a cache.

    Raises:
        MeshError: as :func:`cook_mesh`.
    """
    arrays = (np.asarray(points, dtype=np.float64), np.asarray(triangles, dtype=np.int64))
    key = content_hash("mesh", arrays, {"flip": flip, "repair": repair})
    names = [field.name for field in dataclasses.fields(TriangleMesh)]

    def make() -> dict[str, npt.NDArray[Any]]:
        mesh = cook_mesh(*arrays, flip=flip, repair=repair)
        return {name: np.asarray(getattr(mesh, name)) for name in names}

    found = cache.arrays(key, make)
    return TriangleMesh(**{**found, "radius": float(found["radius"])})  # type: ignore[arg-type]


def decompose(
    points: npt.ArrayLike,
    triangles: npt.ArrayLike,
    *,
    threshold: float = 0.05,
    hull_limit: int = 32,
    vertex_limit: int = 64,
    seed: int = 0,
    cache: CookingCache | None = None,
) -> list[Hull]:
    """Cover a mesh by convex hulls with CoACD [Wei et al. 2022].

    Args:
        points: Points [length], shape [count, 3].
        triangles: Corners of each triangle, shape [count, 3].
        threshold: Concavity that is left, as a part of the size of the mesh.
        hull_limit: Largest number of hulls.
        vertex_limit: Largest number of corners of a hull.
        seed: Seed of the search; equal input gives equal hulls.
        cache: Where results are kept.

    Raises:
        MissingLibraryError: ``coacd`` is not installed.
        MeshError: a mesh that cannot be cooked, or of which no hull has a volume.
    """
    mesh = cook_mesh(points, triangles)
    options = {"threshold": threshold, "hull_limit": hull_limit, "seed": seed}

    def make() -> dict[str, npt.NDArray[Any]]:
        library = _library("coacd", "convex decomposition")
        library.set_log_level("error")
        parts = library.run_coacd(
            library.Mesh(mesh.vertices, mesh.triangles),
            threshold=threshold,
            max_convex_hull=hull_limit,
            seed=seed,
        )
        corners = [np.asarray(part[0], dtype=np.float64) for part in parts]
        return {
            "start": np.cumsum([0] + [len(c) for c in corners]),
            "points": np.concatenate([np.zeros((0, 3)), *corners]),
        }

    key = content_hash("decompose", (mesh.vertices, mesh.triangles), options)
    found = make() if cache is None else cache.arrays(key, make)
    start = found["start"]
    hulls = [cook_hull(found["points"][a:b], vertex_limit=vertex_limit) for a, b in itertools.pairwise(start)]
    if not hulls:
        raise MeshError("the decomposition of the mesh is empty")
    return hulls


def simplify(
    points: npt.ArrayLike,
    triangles: npt.ArrayLike,
    *,
    triangle_count: int,
    cache: CookingCache | None = None,
) -> TriangleMesh:
    """Reduce a mesh to about a number of triangles by quadric error edge collapse [Garland and Heckbert 1997].

    Args:
        points: Points [length], shape [count, 3].
        triangles: Corners of each triangle, shape [count, 3].
        triangle_count: Wanted number of triangles, at least 4; a smaller mesh is only cleaned.
        cache: Where results are kept.

    Raises:
        MissingLibraryError: ``fast-simplification`` is not installed.
        MeshError: a mesh that cannot be cooked, or a count below 4.
    """
    mesh = cook_mesh(points, triangles)
    if triangle_count < 4:
        raise MeshError(f"a mesh is reduced to at least 4 triangles, not to {triangle_count}")
    if len(mesh.triangles) <= triangle_count:
        return mesh

    def make() -> dict[str, npt.NDArray[Any]]:
        library = _library("fast_simplification", "simplification")
        # Of unit size about the origin: the library works in float32 and with absolute thresholds.
        scaled = (mesh.vertices - mesh.center) / mesh.radius
        reduced, faces = library.simplify(
            scaled.astype(np.float32), mesh.triangles.astype(np.int32), target_count=triangle_count
        )
        return {"points": np.asarray(reduced, np.float64), "triangles": np.asarray(faces, np.int64)}

    key = content_hash("simplify", (mesh.vertices, mesh.triangles), {"triangle_count": triangle_count})
    found = make() if cache is None else cache.arrays(key, make)
    return cook_mesh(found["points"] * mesh.radius + mesh.center, found["triangles"])


@dataclasses.dataclass(frozen=True)
class BoundingBox:
    """A box that holds points.

    Attributes:
        center: Centre [length], shape [3].
        axes: Unit axes as columns, right-handed, shape [3, 3].
        half: Half extents along the axes [length], shape [3].
    """

    center: npt.NDArray[np.float64]
    axes: npt.NDArray[np.float64]
    half: npt.NDArray[np.float64]


def bounding_box(points: npt.ArrayLike) -> BoundingBox:
    """Box of small volume about points: the best of those that share a face with their hull.

    Raises:
        HullError: points that span no volume.
    """
    hull = cook_hull(points, vertex_limit=256)
    best: BoundingBox | None = None
    for normal in hull.face_plane[:, :3]:
        for a, b in hull.edges:
            side = hull.vertices[b] - hull.vertices[a]
            side = side - normal * (normal @ side)
            length = np.linalg.norm(side)
            if (
                length < 1e-6 * hull.radius
                or abs(normal @ (hull.vertices[b] - hull.vertices[a])) > 1e-6 * length
            ):
                continue
            axes = np.stack([side / length, np.cross(normal, side / length), normal], axis=1)
            local = np.asarray(points, dtype=np.float64) @ axes
            low, high = local.min(axis=0), local.max(axis=0)
            if best is None or np.prod(high - low) < np.prod(2.0 * best.half):
                best = BoundingBox(axes @ (0.5 * (low + high)), axes, 0.5 * (high - low))
    assert best is not None  # every face of a hull has an edge in its plane
    return best


def _library(name: str, purpose: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.replace("_", "-")
        raise MissingLibraryError(
            f"{purpose} needs the library {package}: pip install tensorphys-contact[cooking]"
        ) from error
