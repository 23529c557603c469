"""Views of signed distance fields, in every frontend."""

from __future__ import annotations

import pathlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Sdf, UsdGeom, UsdPhysics

import tensorphys


@pytest.fixture(autouse=True)
def cache_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "fields"
    monkeypatch.setenv("TENSORPHYS_SDF_CACHE", str(folder))
    return folder


CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
FACES = [
    0,
    1,
    3,
    0,
    3,
    2,
    4,
    6,
    7,
    4,
    7,
    5,
    0,
    4,
    5,
    0,
    5,
    1,
    2,
    3,
    7,
    2,
    7,
    6,
    0,
    2,
    6,
    0,
    6,
    4,
    1,
    5,
    7,
    1,
    7,
    3,
]


def cube(stage: Any, path: str, half: float = 1.0, scale: Any = None, **attributes: float) -> Any:
    """A cube mesh with approximation sdf."""
    mesh = UsdGeom.Mesh.Define(stage.stage, path)
    mesh.CreatePointsAttr((CORNERS * half).tolist())
    mesh.CreateFaceVertexCountsAttr([3] * 12)
    mesh.CreateFaceVertexIndicesAttr(FACES)
    mesh.CreateSubdivisionSchemeAttr("none")
    if scale is not None:
        mesh.AddScaleOp().Set(scale)
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim()).CreateApproximationAttr("sdf")
    for name, value in attributes.items():
        kind = Sdf.ValueTypeNames.Int if isinstance(value, int) else Sdf.ValueTypeNames.Float
        mesh.GetPrim().CreateAttribute(f"physxSDFMeshCollision:{name}", kind).Set(value)
    return mesh


def cube_distance(p: np.ndarray, half: float = 1.0) -> np.ndarray:
    q = np.abs(p) - half
    return np.linalg.norm(np.maximum(q, 0.0), axis=-1) + np.minimum(q.max(axis=-1), 0.0)


def test_case_110_values_and_layout(stages: SimpleNamespace, arrays: Any) -> None:
    stage = stages.Author.new()
    cube(stage, "/World/Cube", sdfResolution=64)
    points = np.array(
        [[(0, 0, 0), (0.5, 0, 0), (0, 0.9, 0), (1.5, 0, 0), (1.5, 1.5, 0), (1.2, 1.2, 1.2), (0, 0, -0.75)]]
    )
    expected = [-1.0, -0.5, -0.1, 0.5, 0.7071068, 0.3464102, -0.25]
    results = {}
    for conventions in ("documentation", "runtime"):
        view = stages.view(arrays, stage, conventions=conventions).create_sdf_shape_view("/World/Cube", 7)
        assert (view.count, view.max_num_points, view.object_paths) == (1, 7, ["/World/Cube"])
        assert view.check() and view._backend.max_num_points == 7
        results[conventions] = arrays.host(view.get_sdf_and_gradients(arrays.make(points)))
    r = results["documentation"]
    assert r.shape == (1, 7, 4) and r.dtype == np.float32 and np.isfinite(r).all()
    np.testing.assert_allclose(r[0, :, 0], expected, atol=0.02)
    np.testing.assert_allclose(r[0, [1, 3, 4], 1:], [(1, 0, 0), (1, 0, 0), (0.7071, 0.7071, 0)], atol=1e-3)
    np.testing.assert_array_equal(results["runtime"], np.roll(r, -1, axis=-1))


def test_points_about_a_face(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviour 75: half length 0.5, points within the margin of one face."""
    stage = stages.Author.new()
    cube(stage, "/World/box", half=0.5, sdfResolution=64, sdfMargin=0.05)
    view = stages.view(arrays, stage).create_sdf_shape_view("/World/box", 200)
    rng = np.random.default_rng(0)
    offset = rng.uniform(-0.025, 0.025, 200)
    points = np.stack([0.5 + offset, *rng.uniform(-0.45, 0.45, (2, 200))], axis=1)
    r = arrays.host(view.get_sdf_and_gradients(arrays.make(points[None])))[0]
    np.testing.assert_allclose(r[:, 0], offset, atol=1e-3)
    np.testing.assert_allclose(r[:, 1:], np.tile((1.0, 0.0, 0.0), (200, 1)), atol=1e-2)


def test_many_shapes_with_different_resolutions(stages: SimpleNamespace, arrays: Any) -> None:
    stage = stages.Author.new()

    def fill(path: str, number: int) -> None:
        resolution = 16 + 8 * (number % 2)
        cube(stage, f"{path}/shape", half=1.0 + 0.5 * (number % 2), sdfResolution=resolution)

    stage.environments(4, fill)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view = sim.create_sdf_shape_view("/envs/*/shape", 50)
    assert view.object_paths == [f"/envs/env{n}/shape" for n in range(4)]
    p = np.random.default_rng(1).uniform(-4, 4, (4, 50, 3))
    first = view.get_sdf_and_gradients(arrays.make(p))
    d = arrays.host(first)[..., 0]
    for n in range(4):
        np.testing.assert_allclose(d[n], cube_distance(p[n], 1.0 + 0.5 * (n % 2)), atol=0.1)
    assert view.get_sdf_and_gradients(arrays.make(p)) is first
    assert len(view._sets[False].fields) == 2


def test_case_114_scaled_frame(stages: SimpleNamespace, arrays: Any) -> None:
    stage = stages.Author.new()
    cube(stage, "/World/Cube", scale=(1, 2, 4), sdfResolution=64)
    view = stages.view(arrays, stage).create_sdf_shape_view("/World/Cube", 7)
    points = np.array(
        [(0, 3, 0), (0, 0, 5), (2, 0, 0), (2, 3, 0), (0.5, 0, 0), (0, 1.5, 0), (2, 3, 6)], dtype=float
    )
    scaled = arrays.host(view.get_sdf_and_gradients(arrays.make(points[None]), scaled=True))[0].copy()
    expected = [1.0, 1.0, 1.0, 1.4142136, -0.5, -0.5, 2.4494897]
    np.testing.assert_allclose(scaled[:, 0], expected, atol=8.0 / 64)
    np.testing.assert_allclose(np.linalg.norm(scaled[:, 1:], axis=1), 1.0, atol=1e-5)
    # by default points and distances are those of the mesh without its scale
    plain = arrays.host(view.get_sdf_and_gradients(arrays.make(points[None])))[0]
    np.testing.assert_allclose(plain[:, 0], cube_distance(points), atol=2.0 / 64)


def test_mirrored_scale_keeps_inside_inside(stages: SimpleNamespace, arrays: Any) -> None:
    stage = stages.Author.new()
    cube(stage, "/World/Cube", scale=(-1, 1, 1), sdfResolution=16)
    view = stages.view(arrays, stage).create_sdf_shape_view("/World/Cube", 1)
    d = arrays.host(view.get_sdf_and_gradients(arrays.make(np.zeros((1, 1, 3))), scaled=True))
    assert d[0, 0, 0] == pytest.approx(-1.0, abs=0.1)


def test_what_is_no_sdf_shape(stages: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    stage = stages.Author.new()
    cube(stage, "/World/Cube", sdfResolution=16)
    stage.body("/World/ball", (0, 0, 3), radius=0.5)
    sim = stages.view("numpy", stage)
    with pytest.raises(
        tensorphys.NotSuitableError, match="none is a collider with physics:approximation = sdf"
    ):
        sim.create_sdf_shape_view("/World/ball", 3)
    with pytest.raises(tensorphys.NoMatchError, match="/World/none"):
        sim.create_sdf_shape_view("/World/none", 3)
    with pytest.raises(tensorphys.ViewError, match="num_points is -1"):
        sim.create_sdf_shape_view("/World/Cube", -1)
    caplog.clear()
    view = sim.create_sdf_shape_view("/World/*", 3)
    assert view.object_paths == ["/World/Cube"] and "/World/ball" in caplog.text
    with pytest.raises(Exception, match=r"SdfShapeView.get_sdf_and_gradients\(data\)"):
        view.get_sdf_and_gradients(np.zeros((1, 4, 3)))
    runtime = stages.view("numpy", stage, conventions="runtime")
    assert runtime.create_sdf_shape_view("/World/ball", 3)._backend is None


def test_warnings_about_a_mesh_name_its_prim(
    stages: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    stage = stages.Author.new()
    mesh = cube(stage, "/World/Cube", sdfResolution=16)
    mesh.CreateFaceVertexCountsAttr([3] * 10)
    mesh.CreateFaceVertexIndicesAttr(FACES[:30])
    stages.view("numpy", stage).create_sdf_shape_view("/World/Cube", 3)
    assert "/World/Cube: the mesh is open" in caplog.text


def test_attributes_that_are_wrong_or_ignored(
    stages: SimpleNamespace, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = stages.Author.new()
    cube(wrong, "/World/wrong", sdfResolution=4096)
    with pytest.raises(Exception, match=r"/World/wrong: .*resolution: expected 2 to 2048 cells, got 4096"):
        stages.view("numpy", wrong).create_sdf_shape_view("/World/wrong", 3)
    stage = stages.Author.new()
    cube(stage, "/World/fewer", sdfResolution=16, sdfTriangleCountReductionFactor=0.5)
    sim = stages.view("numpy", stage)
    sim.create_sdf_shape_view("/World/fewer", 3)
    assert "/World/fewer: sdfTriangleCountReductionFactor = 0.5 is ignored" in caplog.text


def test_fields_are_kept_between_runs(
    stages: SimpleNamespace,
    cache_folder: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = stages.Author.new()
    mesh = cube(stage, "/World/Cube", sdfResolution=16)
    mesh.CreateFaceVertexCountsAttr([3] * 10)
    mesh.CreateFaceVertexIndicesAttr(FACES[:30])
    points = np.random.default_rng(0).uniform(-2, 2, (1, 40, 3)).astype(np.float32)
    first, second = (stages.view("numpy", stage) for _ in range(2))
    results = []
    for sim in (first, second):
        caplog.clear()
        view = sim.create_sdf_shape_view("/World/Cube", 40)
        results.append(np.array(view.get_sdf_and_gradients(points)))
        assert "/World/Cube: the mesh is open" in caplog.text
        assert len(list(cache_folder.iterdir())) == 1
        monkeypatch.setattr("tensorphys_sdf.build.build_grid", None)  # the second one must not build
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("extra", [("sdfMargin", 0.3), ("sdfNarrowBandThickness", 0.1)])
def test_margin_and_narrow_band(stages: SimpleNamespace, extra: tuple[str, float]) -> None:
    """More margin makes the grid larger; more narrow band refines more of it."""
    stage = stages.Author.new()
    cube(stage, "/World/plain", sdfResolution=48)
    cube(stage, "/World/more", sdfResolution=48, **{extra[0]: extra[1]})
    sim = stages.view("numpy", stage)
    plain, more = (
        sim.create_sdf_shape_view(f"/World/{name}", 1)._sets[False].fields[0].grid
        for name in ("plain", "more")
    )
    diagonal = 2.0 * np.sqrt(3.0)
    if extra[0] == "sdfMargin":
        assert np.all(plain.layout.lower - more.layout.lower > 0.2 * diagonal)
    else:
        np.testing.assert_array_equal(plain.layout.lower, more.layout.lower)
        for grid, width in ((plain, 0.01), (more, 0.1)):
            middle = np.stack(np.indices(grid.layout.blocks), -1) + 0.5
            depth = np.abs(cube_distance(grid.layout.lower + middle * grid.layout.cell))
            assert (grid.bricks()[0] >= 0)[depth < width * diagonal].all()
        assert more.brick_count > 1.3 * plain.brick_count


@pytest.mark.parametrize(
    ("bits", "subgrid"), [("BitsPerPixel8", 6), ("BitsPerPixel16", 3), ("BitsPerPixel32", 6), (None, 0)]
)
def test_bits_and_subgrid(stages: SimpleNamespace, bits: str | None, subgrid: int) -> None:
    """Fewer bits store a coarser value; the subgrid is the number of cells of a block, 0 without blocks."""
    stage = stages.Author.new()
    mesh = cube(stage, "/World/Cube", sdfResolution=24, sdfSubgridResolution=subgrid)
    if bits is not None:
        kind = Sdf.ValueTypeNames.Token
        mesh.GetPrim().CreateAttribute("physxSDFMeshCollision:sdfBitsPerSubgridPixel", kind).Set(bits)
    view = stages.view("numpy", stage).create_sdf_shape_view("/World/Cube", 300)
    layout = view._sets[False].fields[0].grid.layout
    assert layout.subgrid == subgrid
    np.testing.assert_allclose(layout.fine_cell, 2.0 / 24)
    assert layout.bits == int((bits or "BitsPerPixel32").removeprefix("BitsPerPixel"))
    # exact at the fine nodes but for the stored bits
    nodes = layout.lower + layout.fine_cell * np.stack(np.indices((24, 24, 24)), -1).reshape(-1, 3)
    nodes = np.random.default_rng(0).permutation(nodes[np.abs(cube_distance(nodes)) < 0.06])[:300]
    d = np.array(view.get_sdf_and_gradients(nodes[None].astype(np.float32)))[0, :, 0]
    error = np.abs(d - cube_distance(nodes))
    step = view._sets[False].fields[0].grid.fine_scale if layout.bits < 32 else 0.0
    assert len(error) == 300 and error.max() <= 0.51 * step + 2e-6
    if layout.bits == 8:
        assert error.max() > 1e-4
