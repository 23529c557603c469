"""Frames, modes, gradients through the tape, rays, errors."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import warp as wp

import tensorphys_sdf as ts
from tensorphys_sdf.testing import box_mesh, sphere_mesh, torus_mesh

POSE = np.array([10.0, -2.0, 0.5, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])  # a quarter turn about z


@pytest.fixture(scope="module")
def cube(device: str) -> ts.SignedDistanceField:
    return ts.field_from_mesh(*box_mesh(), parameters=ts.FieldParameters(resolution=64), device=device)


def turn(p: np.ndarray) -> np.ndarray:
    return np.stack([-p[..., 1], p[..., 0], p[..., 2]], axis=-1)


def test_case_110_cube(cube: ts.SignedDistanceField) -> None:
    points = [(0, 0, 0), (0.5, 0, 0), (0, 0.9, 0), (1.5, 0, 0), (1.5, 1.5, 0), (1.2, 1.2, 1.2), (0, 0, -0.75)]
    expected = [-1.0, -0.5, -0.1, 0.5, 0.7071068, 0.3464102, -0.25]
    r = cube.distance_and_gradient(points)
    np.testing.assert_allclose(r[:, 0], expected, atol=0.02)
    assert np.isfinite(r).all()
    exact = cube.distance_and_gradient(points, mode="exact")
    np.testing.assert_allclose(exact[:, 0], expected, atol=1e-5)
    n = cube.normal(points)
    np.testing.assert_allclose(n[[1, 3, 4]], [(1, 0, 0), (1, 0, 0), (0.7071, 0.7071, 0)], atol=1e-3)
    np.testing.assert_allclose(np.linalg.norm(n[1:], axis=1), 1.0, atol=1e-6)


def test_shapes_of_arrays(cube: ts.SignedDistanceField) -> None:
    p = np.random.default_rng(0).uniform(-2, 2, (4, 5, 3))
    assert cube.distance(p).shape == (4, 5)
    assert cube.distance_and_gradient(p).shape == (4, 5, 4)
    assert cube.normal(p).shape == cube.closest_point(p).shape == (4, 5, 3)
    assert cube.inside(p).dtype == bool and cube.inside(p).shape == (4, 5)
    assert cube.distance(np.zeros((0, 3))).shape == (0,)
    assert cube.distance((0.0, 0.0, 0.0)).shape == ()
    np.testing.assert_array_equal(cube.distance(p), cube.distance_and_gradient(p)[..., 0])
    np.testing.assert_array_equal(cube.inside(p), cube.distance(p) < 0.0)


def test_world_points_through_poses(cube: ts.SignedDistanceField) -> None:
    p = np.random.default_rng(1).uniform(-2.5, 2.5, (500, 3))
    world = turn(p) + POSE[:3]
    local = {mode: cube.distance_and_gradient(p, mode=mode) for mode in ("sampled", "exact")}
    for pose in (POSE, np.tile(POSE, (500, 1))):
        for mode, expected in local.items():
            r = cube.distance_and_gradient(world, pose=pose, mode=mode)
            np.testing.assert_allclose(r[:, 0], expected[:, 0], atol=1e-5)
            steady = np.abs(r[:, 0] - expected[:, 0]) < 1e-7 + np.abs(expected[:, 0])
            same = np.abs(r[:, 1:] - turn(expected[:, 1:])).max(axis=1) < 1e-3
            assert same[steady].mean() > 0.97  # rounding moves a few points into the next cell
        np.testing.assert_allclose(
            cube.closest_point(world, pose=pose), turn(cube.closest_point(p)) + POSE[:3], atol=1e-4
        )
        np.testing.assert_allclose(cube.distance(world, pose=pose), local["sampled"][:, 0], atol=1e-5)
        clear = np.abs(local["exact"][:, 0]) > 1e-4
        np.testing.assert_array_equal(
            cube.inside(world, pose=pose, mode="exact")[clear], cube.inside(p, mode="exact")[clear]
        )
        lower = cube.distance(world, pose=pose, conservative=True)
        np.testing.assert_allclose(lower, cube.distance(p, conservative=True), atol=2e-3)


def test_closest_points_lie_on_the_surface_at_the_distance(cube: ts.SignedDistanceField) -> None:
    p = np.random.default_rng(2).uniform(-3, 3, (500, 3)).astype(np.float32)
    c = cube.closest_point(p)
    np.testing.assert_allclose(np.abs(c).max(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(
        np.linalg.norm(p - c, axis=1), np.abs(cube.distance(p, mode="exact")), atol=1e-6
    )


def test_warp_arrays_are_returned_on_the_device(cube: ts.SignedDistanceField, device: str) -> None:
    p = np.random.default_rng(3).uniform(-3, 3, (300, 3)).astype(np.float32)
    points = wp.array(p, dtype=wp.vec3, device=device)
    out = wp.empty(300, dtype=wp.vec4, device=device)
    assert cube.distance_and_gradient(points, out=out) is out
    np.testing.assert_array_equal(out.numpy(), cube.distance_and_gradient(p))
    assert isinstance(cube.distance(points), wp.array)


def test_arrays_with_gaps_and_results_at_odd_addresses(cube: ts.SignedDistanceField, device: str) -> None:
    """They take the general way, which needs neither."""
    given = np.random.default_rng(5).uniform(-1.6, 1.6, (1001, 3)).astype(np.float32)
    expected = cube.distance_and_gradient(given)
    points = wp.array(np.repeat(given, 2, axis=0), dtype=wp.vec3, device=device)[::2]
    assert not points.is_contiguous
    np.testing.assert_allclose(cube.distance_and_gradient(points).numpy(), expected, atol=2e-6)
    np.testing.assert_allclose(cube.distance(points).numpy(), expected[:, 0], atol=2e-6)
    room = wp.zeros(4 * 1001 + 1, dtype=wp.float32, device=device)
    out = wp.array(ptr=room.ptr + 4, dtype=wp.vec4, shape=1001, device=device, copy=False)
    cube.distance_and_gradient(wp.array(given, dtype=wp.vec3, device=device), out=out)
    np.testing.assert_allclose(room.numpy()[1:].reshape(-1, 4), expected, atol=2e-6)
    gaps = wp.zeros(2002, dtype=wp.vec4, device=device)
    cube.distance_and_gradient(points, out=gaps[1::2])
    np.testing.assert_allclose(gaps.numpy()[1::2], expected, atol=2e-6)
    assert not gaps.numpy()[::2].any()


def test_what_blocks_hold(cube: ts.SignedDistanceField, device: str) -> None:
    brick, asked = cube.grid.bricks()
    assert brick.shape == asked.shape == cube.grid.layout.blocks
    np.testing.assert_array_equal(np.sort(brick[brick >= 0]), np.arange(cube.grid.brick_count))
    dense = ts.field_from_voxels(np.zeros((3, 3, 3)), device=device).grid
    with pytest.raises(ts.ParameterError, match="no bricks"):
        dense.bricks()
    assert dense.brick_count == 0
    layout = dataclasses.replace(cube.grid.layout, cell=(0.1, 0.1, 0.2))
    with pytest.raises(ts.ParameterError, match="cubes"):
        type(dense)(layout, cube.grid.arrays)


@pytest.mark.parametrize("mode", ["sampled", "exact"])
@pytest.mark.parametrize("posed", [False, True])
def test_gradients_through_the_tape(
    cube: ts.SignedDistanceField, device: str, mode: str, posed: bool
) -> None:
    p = np.random.default_rng(4).uniform(-3, 3, (300, 3)).astype(np.float32)
    points = wp.array(p, dtype=wp.vec3, device=device, requires_grad=True)
    pose = POSE if posed else None
    tape = wp.Tape()
    with tape:
        d = cube.distance(points, pose=pose, mode=mode)
    weight = np.random.default_rng(5).uniform(-1, 1, 300).astype(np.float32)
    tape.backward(grads={d: wp.array(weight, dtype=wp.float32, device=device)})
    r = cube.distance_and_gradient(p, pose=pose, mode=mode)
    np.testing.assert_allclose(d.numpy(), r[:, 0], atol=1e-6)
    np.testing.assert_allclose(points.grad.numpy(), weight[:, None] * r[:, 1:], atol=1e-5)


def test_rays(device: str) -> None:
    field = ts.field_from_mesh(
        *sphere_mesh(cuts=24), parameters=ts.FieldParameters(resolution=64), device=device
    )
    rng = np.random.default_rng(6)
    origin = rng.normal(size=(2000, 3))
    origin *= 4.0 / np.linalg.norm(origin, axis=1, keepdims=True)
    way = rng.uniform(-1.2, 1.2, (2000, 3)) - origin
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    b = (origin * way).sum(1)
    square = b * b - 15.0
    hits = square > 0.0
    t, normal = field.ray_march(origin, 3.0 * way)
    clear = np.abs(square) > 0.15
    np.testing.assert_array_equal(np.isfinite(t)[clear], hits[clear])
    clear &= hits
    np.testing.assert_allclose(t[clear], (-b - np.sqrt(np.maximum(square, 0.0)))[clear], atol=0.03)
    at = origin + t[:, None] * way
    assert (normal[clear] * at[clear]).sum(1).min() > 0.95
    assert (normal[~np.isfinite(t)] == 0.0).all()
    # from inside outwards, through a pose, and not beyond the end
    t, _ = field.ray_march([POSE[:3]], [(1.0, 1.0, 0.0)], pose=POSE)
    np.testing.assert_allclose(t, 1.0, atol=0.02)
    assert np.isinf(field.ray_march([(-4.0, 0.0, 0.0)], [(1.0, 0.0, 0.0)], max_distance=2.5)[0]).all()


def test_case_114_scaled_cube(device: str) -> None:
    """Distances in a scaled frame are those of the scaled mesh, not distances times the smallest scale."""
    vertices, triangles = box_mesh()
    field = ts.field_from_mesh(
        vertices * (1.0, 2.0, 4.0), triangles, parameters=ts.FieldParameters(resolution=64), device=device
    )
    points = [(0, 3, 0), (0, 0, 5), (2, 0, 0), (2, 3, 0), (0.5, 0, 0), (0, 1.5, 0), (2, 3, 6)]
    expected = [1.0, 1.0, 1.0, 1.4142136, -0.5, -0.5, 2.4494897]
    np.testing.assert_allclose(field.distance(points, mode="exact"), expected, atol=1e-4)
    np.testing.assert_allclose(field.distance(points), expected, atol=float(field.grid.layout.fine_cell[0]))


def test_case_116_anisotropic_voxels(device: str) -> None:
    shape, step, origin = (9, 7, 5), np.array([0.2, 0.3, 0.4]), np.array([-1.0, 2.0, 0.5])
    x = origin + np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), -1) * step
    values = 2 * x[..., 0] - 3 * x[..., 1] + 0.5 * x[..., 2] + 1
    field = ts.field_from_voxels(values, origin, step, device=device)
    upper = origin + step * (np.array(shape) - 1)
    q = np.random.default_rng(1).uniform(origin, upper, (200, 3))
    r = field.distance_and_gradient(q)
    np.testing.assert_allclose(r[:, 0], 2 * q[:, 0] - 3 * q[:, 1] + 0.5 * q[:, 2] + 1, atol=1e-5)
    np.testing.assert_allclose(r[:, 1:], np.tile((2.0, -3.0, 0.5), (200, 1)), atol=1e-4)
    # beyond the grid: the value at its nearest point plus the way to it
    outside = field.distance([upper + (0.3, 0.0, 0.0), upper + (0.3, 0.4, 0.0)])
    at = 2 * upper[0] - 3 * upper[1] + 0.5 * upper[2] + 1
    np.testing.assert_allclose(outside, [at + 0.3, at + 0.5], atol=1e-5)
    with pytest.raises(ts.NoSurfaceError):
        field.closest_point(q)
    with pytest.raises(ts.NoSurfaceError):
        field.distance(q, mode="exact")


def test_voxels_with_an_extracted_surface(device: str) -> None:
    axis = np.linspace(-1.5, 1.5, 49)
    x = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), -1)
    values = np.linalg.norm(x, axis=-1) - 1.0
    field = ts.field_from_voxels(
        values, (-1.5, -1.5, -1.5), axis[1] - axis[0], outside="surface", device=device
    )
    q = np.random.default_rng(2).uniform(-6, 6, (2000, 3))
    np.testing.assert_allclose(field.distance(q), np.linalg.norm(q, axis=1) - 1.0, atol=0.02)
    np.testing.assert_allclose(np.linalg.norm(field.closest_point(q), axis=1), 1.0, atol=0.005)
    with pytest.warns(ts.NoInsideWarning, match="never change their sign"):
        ts.field_from_voxels(values + 9.0, outside="surface", device=device)


def test_functions_of_numpy_arrays(device: str) -> None:
    low, high = (-1.0, -0.6, -0.6), (1.0, 0.6, 0.6)
    small = ts.FieldParameters(resolution=24)

    def two_balls(p: np.ndarray) -> np.ndarray:
        return np.minimum(*(np.linalg.norm(p - (x, 0.0, 0.0), axis=1) - 0.4 for x in (-0.5, 0.5)))

    field = ts.field_from_function(two_balls, low, high, parameters=small, device=device)
    q = np.random.default_rng(0).uniform(-3, 3, (2000, 3))
    np.testing.assert_allclose(field.distance(q), two_balls(q), atol=0.08)
    with pytest.raises(ts.ParameterError, match="distances, got 1"):
        ts.field_from_function(lambda p: 0.0, low, high, parameters=small, device=device)
    with pytest.raises(ts.ParameterError, match="bounds"):
        ts.field_from_function(two_balls, high, low, parameters=small, device=device)
    with pytest.warns(ts.NoInsideWarning):
        nothing = ts.field_from_function(
            lambda p: two_balls(p) + 5.0, low, high, parameters=small, device=device
        )
    assert nothing.surface is None
    assert (nothing.distance(q) > 4.0).all()


def test_points_that_are_not_finite_give_nothing_finite(cube: ts.SignedDistanceField) -> None:
    d = cube.distance([(np.nan, 0.0, 0.0), (0.5, 0.0, 0.0), (np.inf, 0.0, 0.0)])
    assert not np.isfinite(d[0]) and not np.isfinite(d[2]) and d[1] == pytest.approx(-0.5, abs=0.02)


def test_errors_name_what_was_given(cube: ts.SignedDistanceField, device: str) -> None:
    with pytest.raises(ts.ArrayError, match=r"expected shape \(\.\.\., 3\), got \(4, 2\)"):
        cube.distance(np.zeros((4, 2)))
    with pytest.raises(ts.ArrayError, match="expected 1 or 2 transforms"):
        cube.distance(np.zeros((2, 3)), pose=np.zeros((3, 7)))
    with pytest.raises(ts.ArrayError, match="vec3"):
        cube.distance(wp.zeros(3, dtype=wp.float32, device=device))
    with pytest.raises(ts.ArrayError, match="out: expected"):
        cube.distance(np.zeros((2, 3)), out=wp.zeros(3, dtype=wp.float32, device=device))
    for query in (cube.distance, cube.distance_and_gradient, cube.inside, cube.normal):
        with pytest.raises(ts.ParameterError, match="mode: expected 'sampled' or 'exact', got 'fast'"):
            query(np.zeros((2, 3)), mode="fast")
    with pytest.raises(ts.ParameterError, match="got 1"):
        ts.FieldParameters(resolution=1)
    with pytest.raises(ts.ParameterError, match="got 12"):
        ts.FieldParameters(bits_per_subgrid_pixel=12)
    with pytest.raises(ts.ParameterError, match="sign"):
        ts.field_from_mesh(*box_mesh(), sign="parity", device=device)


def test_a_set_of_fields_with_different_resolutions(device: str) -> None:
    meshes = [box_mesh(), torus_mesh(around=16, along=32), sphere_mesh(cuts=6)]
    parameters = [
        ts.FieldParameters(resolution=24),
        ts.FieldParameters(resolution=40, bits_per_subgrid_pixel=8),
        ts.FieldParameters(resolution=16, subgrid_resolution=0),
    ]
    fields = [
        ts.field_from_mesh(*m, parameters=p, device=device) for m, p in zip(meshes, parameters, strict=True)
    ]
    rows = [2, 0, 1, 0]
    several = ts.FieldSet(fields, rows)
    p = np.random.default_rng(0).uniform(-2.5, 2.5, (4, 300, 3)).astype(np.float32)
    r = several.distance_and_gradient(p)
    for k, f in enumerate(rows):
        # another kernel of the same formula: the same bits on the CPU, while a GPU may fuse its products otherwise
        np.testing.assert_allclose(
            r[k], fields[f].distance_and_gradient(p[k]), rtol=0, atol=0 if device == "cpu" else 1e-6
        )
    unit = several.distance_and_gradient(p, unit=True)
    np.testing.assert_array_equal(unit[..., 0], r[..., 0])
    np.testing.assert_allclose(np.linalg.norm(unit[..., 1:], axis=-1), 1.0, atol=1e-5)
    turned = several.distance_and_gradient(p, unit=True, gradient_first=True)
    np.testing.assert_array_equal(turned, np.roll(unit, -1, axis=-1))
    with pytest.raises(ts.ArrayError, match=r"\(4, point_count, 3\)"):
        several.distance_and_gradient(p[0])
    with pytest.raises(ts.ParameterError, match="field_of_row"):
        ts.FieldSet(fields, [3])


def test_a_query_reads_nothing_back(
    cube: ts.SignedDistanceField, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    points = wp.array(np.random.default_rng(0).uniform(-3, 3, (100, 3)), dtype=wp.vec3, device=device)

    def refuse(self: wp.array) -> None:
        raise AssertionError("a query read a device array")

    monkeypatch.setattr(wp.array, "numpy", refuse)
    cube.distance_and_gradient(points)
    cube.distance(points, conservative=True)
    cube.normal(points)


@pytest.mark.cuda
def test_a_query_is_captured_and_replayed() -> None:
    field = ts.field_from_mesh(*box_mesh(), parameters=ts.FieldParameters(resolution=32), device="cuda:0")
    p = np.random.default_rng(0).uniform(-4, 4, (2, 1000, 3)).astype(np.float32)
    points = wp.array(p[0], dtype=wp.vec3, device="cuda:0")
    out = wp.empty(1000, dtype=wp.vec4, device="cuda:0")
    field.distance_and_gradient(points, out=out)
    with wp.ScopedCapture(device="cuda:0") as capture:
        field.distance_and_gradient(points, out=out)
    wp.copy(points, wp.array(p[1], dtype=wp.vec3, device="cuda:0"))
    wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(out.numpy(), field.distance_and_gradient(p[1]))
