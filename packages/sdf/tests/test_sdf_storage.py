"""Files, the cache, and the hash of the content."""

from __future__ import annotations

import pathlib
import warnings

import numpy as np
import pytest
import warp as wp

import tensorphys_sdf as ts
from tensorphys_sdf.testing import box_mesh, sphere_mesh

POINTS = np.random.default_rng(0).uniform(-3, 3, (3000, 3))


def open_box() -> tuple[np.ndarray, np.ndarray]:
    vertices, triangles = box_mesh()
    return vertices, triangles[~(vertices[triangles][:, :, 2] > 0).all(axis=1)]


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_npz_gives_the_same_bits(device: str, tmp_path: pathlib.Path, bits: int) -> None:
    parameters = ts.FieldParameters(resolution=24, bits_per_subgrid_pixel=bits)
    with pytest.warns(ts.OpenMeshWarning):
        field = ts.field_from_mesh(*open_box(), parameters=parameters, device=device)
    field.save(tmp_path / "field.npz")
    again = ts.load_field(tmp_path / "field.npz", device=device)
    for mode in ("sampled", "exact"):
        np.testing.assert_array_equal(
            field.distance_and_gradient(POINTS, mode=mode), again.distance_and_gradient(POINTS, mode=mode)
        )
    np.testing.assert_array_equal(
        field.distance(POINTS, conservative=True), again.distance(POINTS, conservative=True)
    )
    assert again.parameters == field.parameters and again.key == field.key and again.exact
    assert again.surface.report == field.surface.report and again.surface.sign == "winding"


def test_npz_of_a_field_without_surface(device: str, tmp_path: pathlib.Path) -> None:
    field = ts.field_from_voxels(
        np.random.default_rng(1).normal(size=(5, 6, 7)), (1, 2, 3), (0.1, 0.2, 0.3), device=device
    )
    ts.save_field(field, tmp_path / "voxels.npz")
    again = ts.load_field(tmp_path / "voxels.npz", device=device)
    np.testing.assert_array_equal(field.distance(POINTS), again.distance(POINTS))
    assert again.surface is None


def test_nanovdb(device: str, tmp_path: pathlib.Path) -> None:
    field = ts.field_from_mesh(*box_mesh(), parameters=ts.FieldParameters(resolution=16), device=device)
    ts.save_nanovdb(field, tmp_path / "field.nvdb")
    volume = wp.Volume.load_from_nvdb((tmp_path / "field.nvdb").read_bytes(), device=device)
    assert volume.get_voxel_size() == pytest.approx(tuple(field.grid.layout.fine_cell))
    again = ts.load_nanovdb(tmp_path / "field.nvdb", device=device)
    layout = field.grid.layout
    room = np.array(layout.cell)
    low, high = layout.lower + room, layout.upper - room
    inner = POINTS[np.all((low < POINTS) & (high > POINTS), axis=1)]
    assert len(inner) > 100
    np.testing.assert_allclose(again.distance(inner), field.distance(inner), atol=1e-5)
    np.testing.assert_allclose(again.distance(POINTS), field.distance(POINTS, mode="exact"), atol=0.15)


def test_files_of_another_kind(tmp_path: pathlib.Path) -> None:
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    (tmp_path / "text.npz").write_text("no field", encoding="utf-8")
    (tmp_path / "text.nvdb").write_bytes(b"no volume at all, sixteen bytes and more")
    for name in ("other.npz", "text.npz"):
        with pytest.raises(ts.FieldFileError, match="no signed distance field"):
            ts.load_field(tmp_path / name, device="cpu")
    with pytest.raises(ts.FieldFileError):
        ts.load_nanovdb(tmp_path / "text.nvdb", device="cpu")


def test_cache_in_memory_and_in_files(device: str, tmp_path: pathlib.Path) -> None:
    mesh, parameters = open_box(), ts.FieldParameters(resolution=12)
    cache = ts.FieldCache(tmp_path / "fields", capacity=1)
    with pytest.warns(ts.OpenMeshWarning):
        first = ts.field_from_mesh(*mesh, parameters=parameters, cache=cache, device=device)
    assert ts.field_from_mesh(*mesh, parameters=parameters, cache=cache, device=device) is first
    assert [p.name for p in (tmp_path / "fields").iterdir()] == [f"{first.key}.npz"]
    other = ts.field_from_mesh(*box_mesh(), parameters=parameters, cache=cache, device=device)
    assert other.key != first.key and len(cache) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read = ts.field_from_mesh(*mesh, parameters=parameters, cache=cache, device=device)
    assert read is not first
    np.testing.assert_array_equal(read.distance(POINTS), first.distance(POINTS))


def test_content_key_depends_on_everything_that_decides_a_field() -> None:
    vertices, triangles = sphere_mesh(cuts=3)
    parameters = ts.FieldParameters()
    key = ts.content_key(vertices, triangles, parameters)
    assert key == ts.content_key(vertices.copy(), triangles.astype(np.int32), parameters)
    moved = vertices.copy()
    moved[0, 0] = np.nextafter(moved[0, 0], 2.0)
    keys = {
        key,
        ts.content_key(moved, triangles, parameters),
        ts.content_key(vertices, triangles[::-1], parameters),
        ts.content_key(vertices, triangles, ts.FieldParameters(resolution=255)),
        ts.content_key(vertices, triangles, parameters, sign="winding"),
        ts.content_key(vertices, triangles, parameters, repair=False),
    }
    assert len(keys) == 6
