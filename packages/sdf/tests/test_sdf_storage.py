"""Files, the cache, and the hash of the content."""

from __future__ import annotations

import json
import os
import pathlib
from concurrent.futures import ThreadPoolExecutor

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


def of_version(path: pathlib.Path, version: int) -> None:
    """Make a file one of another version."""
    with np.load(path) as file:
        stored = dict(file)
    head = json.loads(bytes(stored["head"]))
    stored["head"] = np.frombuffer(json.dumps({**head, "version": version}).encode(), dtype=np.uint8)
    np.savez(path, **stored)


def test_files_of_another_version(tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture) -> None:
    """They are refused by name, and a cache makes such a field anew."""
    parameters = ts.FieldParameters(resolution=8)
    cache = ts.FieldCache(tmp_path)
    field = ts.field_from_mesh(*box_mesh(), parameters=parameters, cache=cache, device="cpu")
    path = tmp_path / f"{field.key}.npz"
    of_version(path, 2)
    with pytest.raises(ts.FieldFileError, match=r"npz: version 2, this library reads 3"):
        ts.load_field(path, device="cpu")
    again = ts.field_from_mesh(
        *box_mesh(), parameters=parameters, cache=ts.FieldCache(tmp_path), device="cpu"
    )
    assert "the field is made anew" in caplog.text and "version 2" in caplog.text
    np.testing.assert_array_equal(again.distance(POINTS), field.distance(POINTS))
    np.testing.assert_array_equal(ts.load_field(path, device="cpu").distance(POINTS), field.distance(POINTS))


def test_cache_in_memory_and_in_files(device: str, tmp_path: pathlib.Path) -> None:
    mesh, parameters = open_box(), ts.FieldParameters(resolution=12)
    cache = ts.FieldCache(tmp_path / "fields", capacity=1)
    with pytest.warns(ts.OpenMeshWarning):
        first = ts.field_from_mesh(*mesh, parameters=parameters, cache=cache, device=device)
    assert ts.field_from_mesh(*mesh, parameters=parameters, cache=cache, device=device) is first
    assert [p.name for p in (tmp_path / "fields").iterdir()] == [f"{first.key}.npz"]
    other = ts.field_from_mesh(*box_mesh(), parameters=parameters, cache=cache, device=device)
    assert other.key != first.key and len(cache) == 1
    # a file keeps no warnings: another run is told the same
    with pytest.warns(ts.OpenMeshWarning, match="4 boundary edges"):
        read = ts.field_from_mesh(*mesh, parameters=parameters, cache=cache, device=device)
    assert read is not first
    np.testing.assert_array_equal(read.distance(POINTS), first.distance(POINTS))


def test_files_that_cannot_be_read_or_written(
    tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    mesh, parameters = box_mesh(), ts.FieldParameters(resolution=8)
    folder = tmp_path / "fields"
    first = ts.field_from_mesh(*mesh, parameters=parameters, cache=ts.FieldCache(folder), device="cpu")
    path = folder / f"{first.key}.npz"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    again = ts.field_from_mesh(*mesh, parameters=parameters, cache=ts.FieldCache(folder), device="cpu")
    assert "cannot be read, the field is made anew" in caplog.text
    np.testing.assert_array_equal(again.distance(POINTS), first.distance(POINTS))
    assert ts.FieldCache(folder).get(first.key, "cpu") is not None
    # a file under a wrong name is not taken for another field
    (folder / f"{'0' * 32}.npz").write_bytes(path.read_bytes())
    assert ts.FieldCache(folder).get("0" * 32, "cpu") is None
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    blocked = ts.FieldCache(tmp_path / "file")
    ts.field_from_mesh(*mesh, parameters=parameters, cache=blocked, device="cpu")
    assert "the field is not kept in a file" in caplog.text and len(blocked) == 1


def test_oldest_files_leave_first(tmp_path: pathlib.Path) -> None:
    parameters = ts.FieldParameters(resolution=8)
    fields = [
        ts.field_from_mesh(*box_mesh((1, 1, h)), parameters=parameters, device="cpu") for h in (1, 2, 3)
    ]
    sizes = []
    for field in fields:
        field.save(tmp_path / "one.npz")
        sizes.append((tmp_path / "one.npz").stat().st_size)
    cache = ts.FieldCache(tmp_path / "fields", limit=sum(sizes) - 1)
    for age, field in zip((30, 20, 10), fields, strict=True):
        cache.put(field)
        path = tmp_path / "fields" / f"{field.key}.npz"
        os.utime(path, (path.stat().st_atime - age, path.stat().st_mtime - age))
    assert {p.stem for p in (tmp_path / "fields").iterdir()} == {field.key for field in fields[1:]}


def _fill(folder: str) -> str:
    cache = ts.FieldCache(folder)
    parameters = ts.FieldParameters(resolution=8)
    return ts.field_from_mesh(*box_mesh(), parameters=parameters, cache=cache, device="cpu").key


def test_processes_share_a_folder(tmp_path: pathlib.Path) -> None:
    """Threads, each with a cache of its own, stand in for processes: they meet in the files alone."""
    with ThreadPoolExecutor(4) as pool:
        keys = set(pool.map(_fill, [str(tmp_path)] * 8))
    assert len(keys) == 1 and [p.name for p in tmp_path.iterdir()] == [f"{keys.pop()}.npz"]


def test_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> None:
    monkeypatch.setenv("TENSORPHYS_SDF_CACHE", str(tmp_path / "here"))
    assert ts.default_cache_folder() == tmp_path / "here"
    for off in ("", "0", "off", "None"):
        monkeypatch.setenv("TENSORPHYS_SDF_CACHE", off)
        assert ts.default_cache_folder() is None
    monkeypatch.delenv("TENSORPHYS_SDF_CACHE")
    folder = ts.default_cache_folder()
    assert folder is not None and folder.parts[-2:] == ("tensorphys", "sdf")


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
