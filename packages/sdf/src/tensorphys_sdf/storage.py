"""Fields in files: plain ``.npz``, and NanoVDB through Warp."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from typing import Any

import numpy as np
import warp as wp

from tensorphys_sdf._kernels import volume as kernels
from tensorphys_sdf.build import field_from_voxels
from tensorphys_sdf.errors import FieldFileError
from tensorphys_sdf.field import SignedDistanceField
from tensorphys_sdf.grid import Grid, GridLayout
from tensorphys_sdf.mesh import MeshReport
from tensorphys_sdf.parameters import FieldParameters
from tensorphys_sdf.surface import Surface

_VERSION = 3
_NAMES = ("coarse", "record", "fine", "slack", "exact")


def save_field(field: SignedDistanceField, path: Any) -> None:
    """Write a field to a plain ``.npz`` file.

    Args:
        field: The field.
        path: File name; NumPy adds ``.npz`` when it is missing.
    """
    surface = field.surface
    head = {
        "version": _VERSION,
        "layout": dataclasses.asdict(field.grid.layout),
        "fine_offset": field.grid.fine_offset,
        "fine_scale": field.grid.fine_scale,
        "parameters": dataclasses.asdict(field.parameters),
        "exact": field.exact,
        "key": field.key,
        "sign": surface.sign if surface is not None else None,
        "report": dataclasses.asdict(surface.report) if surface is not None else None,
    }
    arrays = {name: array.numpy() for name, array in field.grid.arrays.items()}
    if surface is not None:
        arrays |= {"vertices": surface.vertices, "triangles": surface.triangles}
    np.savez(path, head=np.frombuffer(json.dumps(head).encode(), dtype=np.uint8), **arrays)


def load_field(path: Any, *, device: Any = None) -> SignedDistanceField:
    """Read a field that :func:`save_field` wrote; the stored values are the same bit for bit.

    Raises:
        FieldFileError: The file is not of this kind or of another version.
        OSError: The file cannot be read.
    """
    device = wp.get_device(device)
    try:
        # opened here, since NumPy leaves a file open that ends too early
        with open(path, "rb") as source, np.load(source, allow_pickle=False) as file:
            head = json.loads(bytes(file["head"]))
            stored = {name: file[name] for name in file.files if name != "head"}
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise FieldFileError(f"{path}: no signed distance field ({error})") from error
    if head.get("version") != _VERSION:
        raise FieldFileError(f"{path}: version {head.get('version')}, this library reads {_VERSION}")
    layout: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in head["layout"].items()}
    arrays = {
        name: wp.array(stored[name], dtype=wp.dtype_from_numpy(stored[name].dtype), device=device)
        for name in _NAMES
        if name in stored
    }
    grid = Grid(GridLayout(**layout), arrays, head["fine_offset"], head["fine_scale"])
    surface = None
    if head["sign"] is not None:
        surface = Surface(
            stored["vertices"],
            stored["triangles"],
            sign=head["sign"],
            repair=False,
            quiet=True,
            device=device,
        )
        surface.report = MeshReport(**head["report"])
    parameters = FieldParameters(**head["parameters"])
    return SignedDistanceField(grid, surface, parameters, exact=head["exact"], key=head["key"])


def save_nanovdb(field: SignedDistanceField, path: Any) -> None:
    """Write the distances at the fine nodes of the whole grid as a NanoVDB float grid.

    Args:
        field: The field.
        path: File name.
    """
    layout = field.grid.layout
    # whole tiles of 8 nodes: Warp fills up incomplete ones with the background
    nodes = -(-(np.array(layout.blocks) * max(layout.subgrid, 1) + 1) // 8) * 8
    axes = [layout.lower[k] + layout.fine_cell[k] * np.arange(nodes[k]) for k in range(3)]
    values = np.stack(
        [field.distance(np.stack(np.meshgrid([x], axes[1], axes[2], indexing="ij"), -1))[0] for x in axes[0]]
    )
    volume = wp.Volume.load_from_numpy(
        values,
        min_world=tuple(map(float, layout.lower)),
        voxel_size=tuple(map(float, layout.fine_cell)),
        bg_value=float(values.max()),
        device=field.device,
    )
    volume.save_to_nvdb(str(path))


def load_nanovdb(path: Any, *, device: Any = None) -> SignedDistanceField:
    """Read a NanoVDB float grid as a dense field, over the box of its active voxels.

    Beyond that box the distance is that of the extracted surface.

    Raises:
        FieldFileError: The file holds no float grid without rotation.
        OSError: The file cannot be read.
    """
    device = wp.get_device(device)
    with open(path, "rb") as file:
        content = file.read()
    try:
        volume = wp.Volume.load_from_nvdb(content, device=device)
    except RuntimeError as error:
        raise FieldFileError(f"{path}: {error}") from error
    info = volume.get_grid_info()
    matrix = np.array(info.transform_matrix, dtype=np.float64).reshape(3, 3)
    step = np.diag(matrix)
    if volume.dtype != wp.float32 or not np.allclose(matrix, np.diag(step)) or not (step > 0.0).all():
        raise FieldFileError(f"{path}: expected a float grid whose axes are those of its voxels")
    voxels = volume.get_voxels().numpy()
    if len(voxels) == 0:
        raise FieldFileError(f"{path}: the grid has no active voxels")
    first, last = voxels.min(axis=0), voxels.max(axis=0)
    shape = tuple(int(n) for n in last - first + 1)
    values = wp.empty(shape, dtype=wp.float32, device=device)
    inputs = [volume.id, wp.vec3i(*map(int, first))]
    wp.launch(kernels.read_voxels, dim=shape, inputs=inputs, outputs=[values], device=device)
    origin = np.array(info.translation) + step * first
    return field_from_voxels(values, origin, step, outside="surface", device=device)
