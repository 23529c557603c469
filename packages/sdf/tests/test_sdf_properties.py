"""Properties that hold for every field."""

from __future__ import annotations

import functools

import numpy as np
import warp as wp
from hypothesis import given
from hypothesis import strategies as st

import tensorphys_sdf as ts
from tensorphys_sdf import device as shapes
from tensorphys_sdf.testing import box_mesh, join_meshes, knot_mesh, slotted_mesh, torus_mesh

PARAMETERS = ts.FieldParameters(resolution=32)
seeds = st.integers(0, 2**31 - 1)


@functools.cache
def field(name: str, device: str) -> ts.SignedDistanceField:
    meshes = {
        "torus": torus_mesh(around=16, along=32, bumps=0.2),
        "knot": knot_mesh(around=8, along=64),
        "boxes": join_meshes(box_mesh((0.6, 0.3, 0.2)), (box_mesh((0.2, 0.2, 0.7))[0] + 0.25, box_mesh()[1])),
    }
    return ts.field_from_mesh(*meshes[name], parameters=PARAMETERS, device=device)


def random_points(seed: int, count: int = 400) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-2.5, 2.5, (count, 3)).astype(np.float32)


def random_pose(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    q = rng.normal(size=4)
    x, y, z, w = q / np.linalg.norm(q)
    matrix = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    return matrix, rng.uniform(-3, 3, 3)


@given(seed=seeds, name=st.sampled_from(["torus", "knot", "boxes"]))
def test_distances_change_no_faster_than_points_move(device: str, seed: int, name: str) -> None:
    f = field(name, device)
    p = random_points(seed)
    rng = np.random.default_rng(seed)
    q = (p + rng.normal(size=p.shape) * 10.0 ** rng.uniform(-3, 0.5, (len(p), 1))).astype(np.float32)
    way = np.linalg.norm(p.astype(np.float64) - q, axis=1)
    exact = np.abs(f.distance(p, mode="exact").astype(np.float64) - f.distance(q, mode="exact"))
    assert (exact <= way + 3e-6).all()
    sampled = np.abs(f.distance(p).astype(np.float64) - f.distance(q))
    assert (sampled <= way + 2.0 * f.error_bound).all()
    inside = np.all((p > f.grid.layout.lower) & (p < f.grid.layout.upper), axis=1)
    error = np.abs(f.distance(p) - f.distance(p, mode="exact"))
    assert (error[inside] <= f.error_bound).all()


KINDS = {
    "coarse": ts.FieldParameters(resolution=12),
    "dense": ts.FieldParameters(resolution=20, subgrid_resolution=0),
    "eight bits": ts.FieldParameters(resolution=32, bits_per_subgrid_pixel=8),
    "wide band": ts.FieldParameters(resolution=20, narrow_band_thickness=0.2, margin=0.1),
    "no background": ts.FieldParameters(resolution=20, background=0.0, tolerance=0.0),
}


@functools.cache
def field_of_kind(kind: str, shape: str, device: str) -> ts.SignedDistanceField:
    mesh = {"torus": torus_mesh(around=16, along=32, bumps=0.2), "slot": slotted_mesh(0.4)}[shape]
    return ts.field_from_mesh(*mesh, parameters=KINDS[kind], device=device)


@given(seed=seeds, kind=st.sampled_from(sorted(KINDS)), shape=st.sampled_from(["torus", "slot"]))
def test_lower_bound_never_exceeds_the_distance(device: str, seed: int, kind: str, shape: str) -> None:
    f = field_of_kind(kind, shape, device)
    p = random_points(seed)
    p[::2] = p[::2] * 0.4  # half of them near the shape
    exact, bound = f.distance(p, mode="exact"), f.distance(p, conservative=True)
    assert (bound <= exact + 1e-6).all()
    # and no lower than the stated bound of the error allows, twice, within the grid
    inside = np.all((p > f.grid.layout.lower) & (p < f.grid.layout.upper), axis=1)
    assert (exact - bound <= 2.0 * f.error_bound + 1e-6)[inside].all()


@wp.func
def two_spheres(p: wp.vec3) -> float:
    return wp.min(
        shapes.distance_sphere(p - wp.vec3(0.4, 0.0, 0.0), 0.3),
        shapes.distance_sphere(p + wp.vec3(0.4, 0.0, 0.0), 0.3),
    )


@functools.cache
def field_of_spheres(device: str) -> ts.SignedDistanceField:
    corner = np.array([0.7, 0.3, 0.3])
    return ts.field_from_function(two_spheres, -corner, corner, parameters=PARAMETERS, device=device)


@given(seed=seeds)
def test_lower_bound_of_functions_and_of_unsigned_fields(device: str, seed: int) -> None:
    p = random_points(seed)
    p[::2] = p[::2] * 0.4
    centers = np.array([(0.4, 0.0, 0.0), (-0.4, 0.0, 0.0)])
    truth = np.linalg.norm(p[:, None] - centers, axis=2).min(axis=1) - 0.3
    assert (field_of_spheres(device).distance(p, conservative=True) <= truth + 1e-6).all()
    sheet = unsigned_sheet(device)
    assert (sheet.distance(p, conservative=True) <= sheet.distance(p, mode="exact") + 1e-6).all()


@functools.cache
def unsigned_sheet(device: str) -> ts.SignedDistanceField:
    vertices, triangles = box_mesh((0.5, 0.4, 0.3))
    return ts.field_from_mesh(vertices, triangles[:7], sign="unsigned", parameters=PARAMETERS, device=device)


@given(seed=seeds, shape=st.sampled_from(["torus", "slot"]))
def test_rays_end_on_the_surface(device: str, seed: int, shape: str) -> None:
    f = field_of_kind("coarse", shape, device)
    rng = np.random.default_rng(seed)
    start = rng.normal(size=(100, 3))
    start *= 3.0 / np.linalg.norm(start, axis=1, keepdims=True)
    way = rng.uniform(-0.8, 0.8, (100, 3)) - start
    t, normal = f.ray_march(start, way)
    hit = np.isfinite(t)
    end = start[hit] + way[hit] / np.linalg.norm(way[hit], axis=1, keepdims=True) * t[hit, None]
    # where the sampled field changes its sign, which is within its error of the surface
    np.testing.assert_allclose(f.distance(end), 0.0, atol=2e-4)
    assert (np.abs(f.distance(end, mode="exact")) <= f.error_bound).all()
    np.testing.assert_allclose(np.linalg.norm(normal[hit], axis=1), 1.0, atol=1e-5)
    np.testing.assert_array_equal(normal[~hit], 0.0)


@given(seed=seeds, scale=st.sampled_from([0.001, 0.25, 40.0]))
def test_moving_and_scaling_the_mesh_moves_and_scales_the_field(device: str, seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    vertices, triangles = torus_mesh(around=10, along=16, bumps=0.2)
    matrix, shift = random_pose(rng)
    moved = ts.Surface(scale * (vertices @ matrix.T + shift), triangles, device=device)
    still = ts.Surface(vertices, triangles, device=device)
    p = random_points(seed, 200).astype(np.float64)
    a, b = (np.asarray(s.winding_number(x)) for s, x in ((still, p), (moved, scale * (p @ matrix.T + shift))))
    assert np.mean((a > 0.5) == (b > 0.5)) > 0.99
    f, g = (
        ts.field_from_mesh(
            s.vertices, s.triangles, parameters=ts.FieldParameters(resolution=8), device=device
        )
        for s in (still, moved)
    )
    d = f.distance(p, mode="exact")
    e = g.distance(scale * (p @ matrix.T + shift), mode="exact") / scale
    clear = np.abs(d) > 1e-4
    np.testing.assert_allclose(e[clear], d[clear], atol=2e-5)


@given(seed=seeds)
def test_union_of_meshes_is_the_least_distance_outside(device: str, seed: int) -> None:
    one, other = box_mesh((0.6, 0.3, 0.2)), (box_mesh((0.2, 0.2, 0.7))[0] + 0.25, box_mesh()[1])
    p = random_points(seed)
    small = ts.FieldParameters(resolution=8)
    a, b, both = (
        ts.field_from_mesh(*mesh, parameters=small, device=device).distance(p, mode="exact")
        for mesh in (one, other, join_meshes(one, other))
    )
    least = np.minimum(a, b)
    np.testing.assert_allclose(both[least > 1e-5], least[least > 1e-5], atol=2e-6)
    assert (both[least < -1e-5] < 0.0).all()


@wp.kernel(enable_backward=False)
def evaluate_shapes(points: wp.array[wp.vec3], pose: wp.transform, out: wp.array2d[wp.float32]):
    tid = wp.tid()
    p = points[tid]
    out[tid, 0] = shapes.distance_sphere(p, 0.5)
    out[tid, 1] = shapes.distance_box(p, wp.vec3(0.5, 0.3, 0.2))
    out[tid, 2] = shapes.distance_rounded_box(p, wp.vec3(0.5, 0.3, 0.2), 0.1)
    out[tid, 3] = shapes.distance_capsule(p, 0.2, 0.4)
    out[tid, 4] = shapes.distance_cylinder(p, 0.4, 0.3)
    out[tid, 5] = shapes.distance_cone(p, 0.4, 0.5)
    out[tid, 6] = shapes.distance_torus(p, 0.5, 0.2)
    out[tid, 7] = shapes.distance_plane(p, wp.vec3(0.0, 0.6, 0.8), 0.1)
    out[tid, 8] = shapes.distance_box(shapes.into_frame(p, pose), wp.vec3(0.5, 0.3, 0.2))
    out[tid, 9] = 2.0 * shapes.distance_sphere(shapes.into_scaled_frame(p, pose, 2.0), 0.5)
    out[tid, 10] = shapes.distance_ellipsoid_bound(p, wp.vec3(0.5, 0.3, 0.2))
    out[tid, 11] = shapes.distance_offset(out[tid, 1], 0.1)
    out[tid, 12] = shapes.distance_shell(out[tid, 0], 0.1)


def evaluate(device: str, p: np.ndarray, pose: np.ndarray) -> np.ndarray:
    out = wp.empty((len(p), 13), dtype=wp.float32, device=device)
    points = wp.array(p, dtype=wp.vec3, device=device)
    wp.launch(evaluate_shapes, dim=len(p), inputs=[points, wp.transform(*pose)], outputs=[out], device=device)
    return out.numpy()


POSE = np.array([0.3, -0.2, 0.1, 0.5, 0.5, 0.5, 0.5])  # axes x, y, z turn to y, z, x


@given(seed=seeds)
def test_primitive_distances_change_no_faster_than_points_move(device: str, seed: int) -> None:
    p, rng = random_points(seed), np.random.default_rng(seed)
    q = (p + rng.normal(size=p.shape) * 0.3).astype(np.float32)
    way = np.linalg.norm(p.astype(np.float64) - q, axis=1)[:, None]
    change = np.abs(evaluate(device, p, POSE).astype(np.float64) - evaluate(device, q, POSE))
    assert (change <= way + 3e-6).all()


def test_primitives_at_known_points(device: str) -> None:
    p = np.array([(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 1, 1)], dtype=np.float32)
    d = evaluate(device, p, POSE)
    r2, r3 = np.sqrt(2.0), np.sqrt(3.0)
    expected = {
        0: [-0.5, 0.5, 0.5, r3 - 0.5],
        1: [-0.2, 0.5, 0.8, np.linalg.norm((0.5, 0.7, 0.8))],
        2: [-0.2, 0.5, 0.8, np.linalg.norm((0.6, 0.8, 0.9)) - 0.1],
        3: [-0.2, 0.8, 0.4, np.linalg.norm((1, 1, 0.6)) - 0.2],
        4: [-0.3, 0.6, 0.7, np.hypot(r2 - 0.4, 0.7)],
        6: [0.3, 0.3, np.hypot(0.5, 1.0) - 0.2, np.hypot(r2 - 0.5, 1.0) - 0.2],
        7: [-0.1, -0.1, 0.7, 1.3],
        12: [0.45, 0.45, 0.45, r3 - 0.55],
    }
    for column, values in expected.items():
        np.testing.assert_allclose(d[:, column], values, atol=1e-6, err_msg=str(column))
    # cone: inside, the distance to its slanted side; above the tip, the way to the tip
    np.testing.assert_allclose(d[0, 5], -0.5 * 0.4 / np.hypot(0.4, 1.0), atol=1e-6)
    np.testing.assert_allclose(d[2, 5], 0.5, atol=1e-6)
    # moved: the point in the frame of the shape
    local = (p - POSE[:3])[:, [1, 2, 0]]
    np.testing.assert_allclose(d[:, 8], evaluate(device, local.astype(np.float32), POSE)[:, 1], atol=1e-6)
    np.testing.assert_allclose(d[:, 9], np.linalg.norm(p - POSE[:3], axis=1) - 1.0, atol=1e-6)
    np.testing.assert_allclose(d[:, 11], d[:, 1] - 0.1, atol=1e-6)


@given(seed=seeds)
def test_ellipsoid_bound_is_below_the_distance(device: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    radii = np.array([0.5, 0.3, 0.2])
    direction = rng.normal(size=(200, 3))
    on = radii * direction / np.linalg.norm(direction, axis=1, keepdims=True)
    p = random_points(seed, 200)
    d = evaluate(device, p, POSE)[:, 10]
    nearest = np.linalg.norm(p[:, None] - on[None], axis=2).min(axis=1)
    assert (np.abs(d) <= nearest + 1e-6).all()
    np.testing.assert_array_equal(d < 0.0, ((p / radii) ** 2).sum(1) < 1.0)


@wp.kernel(enable_backward=False)
def combine(pairs: wp.array[wp.vec2], out: wp.array2d[wp.float32]):
    tid = wp.tid()
    a = pairs[tid][0]
    b = pairs[tid][1]
    out[tid, 0] = shapes.distance_union(a, b)
    out[tid, 1] = shapes.distance_intersection(a, b)
    out[tid, 2] = shapes.distance_difference(a, b)
    out[tid, 3] = shapes.distance_smooth_union(a, b, 0.25)


@given(seed=seeds)
def test_operations(device: str, seed: int) -> None:
    pairs = np.random.default_rng(seed).uniform(-1, 1, (300, 2)).astype(np.float32)
    a, b = pairs.T
    out = wp.empty((300, 4), dtype=wp.float32, device=device)
    wp.launch(
        combine, dim=300, inputs=[wp.array(pairs, dtype=wp.vec2, device=device)], outputs=[out], device=device
    )
    r = out.numpy()
    np.testing.assert_array_equal(
        r[:, :3], np.stack([np.minimum(a, b), np.maximum(a, b), np.maximum(a, -b)], 1)
    )
    below = np.minimum(a, b) - r[:, 3]
    assert (below >= -1e-7).all() and (below <= 0.25 / 4 + 1e-6).all()
    np.testing.assert_allclose(below[np.abs(a - b) > 0.25], 0.0, atol=1e-7)
    assert below[np.abs(a - b) < 0.2].min() > 0.0
