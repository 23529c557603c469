"""Conforming tetrahedra of a surface, through fTetWild (MPL 2.0), an optional package."""

from __future__ import annotations

import importlib
import os
import tempfile
from typing import Any

import numpy as np

from tensorphys_fem.errors import MeshError, MissingPackageError
from tensorphys_fem.mesh import TetMesh, tet_volumes


def tetrahedralize(
    vertices: Any, triangles: Any, *, edge_length: float = 0.05, tolerance: float = 1e-3
) -> TetMesh:
    """Fill a surface with tetrahedra whose boundary follows it within a tolerance [Hu et al. 2020].

    Surfaces with holes and crossings are accepted. The numbering of the result is that of the mesher and may change
    with its version. The working directory of the process is another one while it runs.

    Args:
        vertices: Surface [m], ``(V, 3)``.
        triangles: Corners, ``(F, 3)``.
        edge_length: Edges that are asked for, as a part of the diagonal of the bounding box.
        tolerance: Distance that the boundary may keep from the surface, as a part of the diagonal.

    Raises:
        MissingPackageError: pytetwild is not installed.
        MeshError: The mesher left nothing.
    """
    try:
        mesher = importlib.import_module("pytetwild")
    except ImportError as error:
        raise MissingPackageError(
            "tetrahedralize needs pytetwild: pip install tensorphys-fem[tetrahedralize]; "
            "voxel_mesh does without it"
        ) from error
    home = os.getcwd()
    # The mesher leaves a file where it runs, whatever it is asked for.
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            points, tets = mesher.tetrahedralize(
                np.ascontiguousarray(vertices, dtype=np.float64),
                np.ascontiguousarray(triangles, dtype=np.int32),
                edge_length_fac=edge_length,
                epsilon=tolerance,
                quiet=True,
            )[:2]
        finally:
            os.chdir(home)
    if not len(tets):
        raise MeshError("tetrahedralize: the mesher left no tetrahedra; is the surface a closed solid?")
    used, number = np.unique(tets, return_inverse=True)
    points, tets = np.asarray(points, dtype=np.float64)[used], number.reshape(-1, 4).astype(np.int32)
    # The mesher counts orientation the other way round.
    if float(tet_volumes(points, tets).sum()) < 0.0:
        tets = tets[:, [0, 2, 1, 3]]
    return TetMesh.from_arrays(points, tets, on_degenerate="drop")
