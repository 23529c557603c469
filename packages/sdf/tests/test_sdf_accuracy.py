"""Distances and gradients against closed forms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import warp as wp

import tensorphys_sdf as ts
from tensorphys_sdf import device as shapes
from tensorphys_sdf._reference import signed_distances
from tensorphys_sdf.grid import shape_room
from tensorphys_sdf.testing import box_mesh, knot_mesh, slotted_mesh, sphere_mesh, torus_mesh

BAND = 0.01  # default narrow band, fraction of the diagonal


@wp.func
def sphere(p: wp.vec3) -> float:
    return shapes.distance_sphere(p, 0.5)


@wp.func
def box(p: wp.vec3) -> float:
    return shapes.distance_box(p, wp.vec3(0.5, 0.35, 0.25))


@wp.func
def torus(p: wp.vec3) -> float:
    return shapes.distance_torus(p, 0.5, 0.15)


@wp.func
def capsule(p: wp.vec3) -> float:
    return shapes.distance_capsule(p, 0.2, 0.4)


def true_sphere(p: np.ndarray) -> np.ndarray:
    return np.linalg.norm(p, axis=1) - 0.5


def true_box(p: np.ndarray) -> np.ndarray:
    q = np.abs(p) - (0.5, 0.35, 0.25)
    return np.linalg.norm(np.maximum(q, 0.0), axis=1) + np.minimum(q.max(axis=1), 0.0)


def true_torus(p: np.ndarray) -> np.ndarray:
    return np.hypot(np.hypot(p[:, 0], p[:, 1]) - 0.5, p[:, 2]) - 0.15


def true_capsule(p: np.ndarray) -> np.ndarray:
    z = p[:, 2] - np.clip(p[:, 2], -0.4, 0.4)
    return np.sqrt(p[:, 0] ** 2 + p[:, 1] ** 2 + z**2) - 0.2


SHAPES: list[tuple[wp.Function, Callable[[np.ndarray], np.ndarray], tuple[float, float, float]]] = [
    (sphere, true_sphere, (0.5, 0.5, 0.5)),
    (box, true_box, (0.5, 0.35, 0.25)),
    (torus, true_torus, (0.65, 0.65, 0.15)),
    (capsule, true_capsule, (0.2, 0.2, 0.6)),
]


def band_points(distance: Callable[[np.ndarray], np.ndarray], half: np.ndarray, width: float) -> np.ndarray:
    p = np.random.default_rng(7).uniform(-half - 2 * width, half + 2 * width, (400_000, 3))
    return p[np.abs(distance(p)) < width].astype(np.float32)


@pytest.mark.parametrize(("function", "truth", "half"), SHAPES, ids=["sphere", "box", "torus", "capsule"])
def test_closed_forms_at_256(
    device: str,
    function: wp.Function,
    truth: Callable[[np.ndarray], np.ndarray],
    half: tuple[float, float, float],
) -> None:
    h = np.array(half)
    field = ts.field_from_function(function, -h, h, device=device)
    cell = float(field.grid.layout.fine_cell[0])
    assert cell == pytest.approx(2.0 * h.max() / 256)
    p = band_points(truth, h, BAND * 2.0 * float(np.linalg.norm(h)))
    assert len(p) > 5000
    r = field.distance_and_gradient(p)
    error = np.abs(r[:, 0] - truth(p.astype(np.float64))) / cell
    assert error.mean() < 0.1 and error.max() < 1.0
    length = np.linalg.norm(r[:, 1:], axis=1)
    assert np.mean(np.abs(length - 1.0) < 1e-2) > 0.96

    q = np.random.default_rng(8).uniform(-4.0 * h.max(), 4.0 * h.max(), (20_000, 3)).astype(np.float32)
    beyond = np.any(np.abs(q) > h + np.maximum(0.01 * 2.0 * np.linalg.norm(h), 3.0 * cell), axis=1)
    exact = truth(q.astype(np.float64))
    relative = np.abs(field.distance(q) - exact) / np.abs(exact)
    assert relative[beyond].max() < 0.05
    assert (field.distance(q, conservative=True) <= exact + 1e-6).all()


MESHES = {
    "sphere": lambda: sphere_mesh(cuts=12),
    "box": lambda: box_mesh((1.0, 0.6, 0.3)),
    "torus": lambda: torus_mesh(around=20, along=40, bumps=0.1),
    "knot": lambda: knot_mesh(around=12, along=96),
}


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("subgrid", [6, 0])
def test_meshes_against_all_triangles(device: str, name: str, subgrid: int) -> None:
    vertices, triangles = MESHES[name]()
    parameters = ts.FieldParameters(resolution=48, subgrid_resolution=subgrid)
    field = ts.field_from_mesh(vertices, triangles, parameters=parameters, device=device)
    corners = vertices[triangles]
    rng = np.random.default_rng(3)
    pick, weight = rng.integers(len(corners), size=400), rng.dirichlet((1, 1, 1), 400)
    width = BAND * float(np.linalg.norm(np.ptp(vertices, axis=0)))
    on = np.einsum("ij,ijk->ik", weight, corners[pick])
    p = (on + rng.uniform(-width / 2, width / 2, (400, 3))).astype(np.float32)
    truth = signed_distances(p, corners)
    cell = float(field.grid.layout.fine_cell[0])
    error = np.abs(field.distance(p) - truth) / cell
    assert error.mean() < 0.1 and error.max() < 1.0
    exact = field.distance_and_gradient(p, mode="exact")
    np.testing.assert_allclose(exact[:, 0], truth, atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(exact[:, 1:], axis=1), 1.0, atol=1e-4)


@pytest.mark.parametrize("name", ["box", "torus"])
def test_far_points_and_lower_bound(device: str, name: str) -> None:
    vertices, triangles = MESHES[name]()
    field = ts.field_from_mesh(
        vertices, triangles, parameters=ts.FieldParameters(resolution=96), device=device
    )
    layout = field.grid.layout
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    size = float((high - low).max())
    p = np.random.default_rng(4).uniform(low - size, high + size, (20_000, 3)).astype(np.float32)
    exact = field.distance(p, mode="exact")
    room = max(0.01 * float(np.linalg.norm(high - low)), 3.0 * float(layout.fine_cell[0]))
    beyond = np.any((p < low - room) | (p > high + room), axis=1)
    error = np.abs(field.distance(p) - exact)
    assert (error[beyond] / exact[beyond]).max() < 0.05
    inside_grid = np.all((p > layout.lower) & (p < layout.upper), axis=1)
    assert error[inside_grid].max() < field.error_bound
    bound = field.distance(p, conservative=True)
    assert (bound <= exact + 1e-6).all()
    assert np.mean(exact - bound) < 1.2 * float(layout.cell[0])


@pytest.mark.parametrize("slot", [0.1, 0.3, 0.8])
@pytest.mark.parametrize("resolution", [8, 16, 24, 48, 96])
def test_relative_error_beyond_a_shape_with_a_slot(device: str, slot: float, resolution: int) -> None:
    """At the mouth of a slot, ridges of the distance are finer than any cell."""
    vertices, triangles = slotted_mesh(slot)
    parameters = ts.FieldParameters(resolution=resolution)
    field = ts.field_from_mesh(vertices, triangles, parameters=parameters, device=device)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    room = shape_room(low, high, parameters)
    assert room == pytest.approx(
        max(0.01 * np.linalg.norm(high - low), 3.0 * float(field.grid.layout.fine_cell[0]))
    )
    rng = np.random.default_rng(resolution)
    size = float((high - low).max())
    p = np.concatenate(
        [rng.uniform(low - w, high + w, (20_000, 3)) for w in (2.0 * room, 0.6 * size)]
    ).astype(np.float32)
    p = p[np.any((p < low - room) | (p > high + room), axis=1)]
    exact = field.distance(p, mode="exact")
    assert (np.abs(field.distance(p) - exact) / exact).max() < 0.05
    assert (field.distance(p, conservative=True) <= exact + 1e-6).all()


@pytest.mark.parametrize("name", ["torus", "slot"])
def test_distance_is_continuous_across_blocks_and_the_rim(device: str, name: str) -> None:
    vertices, triangles = slotted_mesh(0.8) if name == "slot" else torus_mesh(around=20, along=40, bumps=0.1)
    resolution = 64 if name == "slot" else 48
    field = ts.field_from_mesh(
        vertices, triangles, parameters=ts.FieldParameters(resolution=resolution), device=device
    )
    asked = field.grid.bricks()[1]
    assert asked.any() or name == "torus"
    layout = field.grid.layout
    rng = np.random.default_rng(5)
    ends = rng.uniform(layout.lower - 0.3, layout.upper + 0.3, (2, 40, 3))
    steps = np.linspace(0.0, 1.0, 4001)[:, None, None]
    line = (ends[0] * (1.0 - steps) + ends[1] * steps).astype(np.float32)
    d = field.distance(line).astype(np.float64)
    way = np.linalg.norm(np.diff(line.astype(np.float64), axis=0), axis=2)
    # gradients of trilinear data stay below sqrt(3); one stored unit is the only jump
    jump = np.abs(np.diff(d, axis=0)) - 1.75 * way
    assert jump.max() < 2.0 * field.grid.fine_scale + 2e-6


def test_gradient_is_the_derivative_of_the_distance(device: str) -> None:
    vertices, triangles = knot_mesh(around=12, along=96)
    field = ts.field_from_mesh(
        vertices, triangles, parameters=ts.FieldParameters(resolution=48), device=device
    )
    layout = field.grid.layout
    p = np.random.default_rng(6).uniform(layout.lower - 0.2, layout.upper + 0.2, (4000, 3))
    step = 1e-3 * float(layout.fine_cell[0])
    r = field.distance_and_gradient(p)
    numeric = np.stack(
        [
            (field.distance(p + step * e).astype(np.float64) - field.distance(p - step * e)) / (2.0 * step)
            for e in np.eye(3)
        ],
        axis=1,
    )
    # a step of a thousandth of a cell crosses the border of a cell, where the derivative jumps, at few points;
    # the rest differ by the rounding of float32 distances
    wrong = np.abs(numeric - r[:, 1:]).max(axis=1) > 0.02
    assert wrong.mean() < 0.02


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_bits_of_a_fine_value(device: str, bits: int) -> None:
    h = np.array([0.5, 0.5, 0.5])
    parameters = ts.FieldParameters(resolution=64, bits_per_subgrid_pixel=bits)
    field = ts.field_from_function(sphere, -h, h, parameters=parameters, device=device)
    p = band_points(true_sphere, h, 0.015)
    error = np.abs(field.distance(p) - true_sphere(p.astype(np.float64)))
    full = ts.field_from_function(
        sphere, -h, h, parameters=ts.FieldParameters(resolution=64, bits_per_subgrid_pixel=32), device=device
    )
    assert (
        np.abs(field.distance(p) - full.distance(p)).max()
        <= 0.51 * field.grid.fine_scale * (bits < 32) + 1e-6
    )
    assert error.max() < 1.0 / 64
    assert field.byte_count < full.byte_count or bits == 32


def test_the_number_of_threads_changes_no_bit() -> None:
    from tensorphys_sdf.build import _guard
    from tensorphys_sdf.filling import build_grid
    from tensorphys_sdf.grid import plan_layout
    from tensorphys_sdf.sources import evaluate_surface, fill_by_surface

    surface = ts.Surface(*torus_mesh(around=12, along=24), device="cpu")
    parameters = ts.FieldParameters(resolution=64)
    layout = plan_layout(surface.lower, surface.upper, parameters, blend=1)
    one, four = (
        build_grid(
            evaluate_surface(surface),
            layout,
            parameters,
            _guard(surface.lower, surface.upper, parameters),
            diagonal=2.8,
            device="cpu",
            threads=n,
            fill=fill_by_surface(surface),
        )
        for n in (1, 4)
    )
    assert one.brick_count * 7**3 > 3 * 65536
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(array.numpy(), four.arrays[name].numpy())
