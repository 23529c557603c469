"""Inertias and mass properties against closed forms, laws of mechanics and sums over points."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tensorphys_spatial as sp


def reals(*shape: int, bound: float = 4.0):
    return arrays(np.float64, shape, elements=st.floats(-bound, bound))


def quaternions():
    return reals(4).map(sp.quaternion_normalize)


def point_inertia(points: np.ndarray, masses: np.ndarray, about: np.ndarray) -> np.ndarray:
    """Inertia of point masses, by its definition."""
    total = np.zeros((3, 3))
    for r, m in zip(points - about, masses, strict=True):
        total += m * (np.dot(r, r) * np.eye(3) - np.outer(r, r))
    return total


clouds = st.tuples(reals(6, 3), arrays(np.float64, 6, elements=st.floats(0.25, 4.0)))


@given(clouds, quaternions(), reals(3))
def test_rotation_and_translation_of_point_clouds(cloud, q, offset):
    points, masses = cloud
    com = masses @ points / masses.sum()
    inertia = point_inertia(points, masses, com)
    turned = sp.quaternion_rotate(q, points)
    np.testing.assert_allclose(
        sp.inertia_rotate(inertia, q), point_inertia(turned, masses, sp.quaternion_rotate(q, com)), atol=1e-9
    )
    np.testing.assert_allclose(
        sp.inertia_translate(inertia, masses.sum(), offset),
        point_inertia(points, masses, com + offset),
        atol=1e-9,
    )
    # Kinetic energy through the spatial inertia equals the sum over the points.
    velocity = np.array([0.3, -0.7, 0.2, 1.0, 0.5, -0.25])
    speeds = velocity[3:] + np.cross(velocity[:3], points)
    energy = 0.5 * np.sum(masses * np.sum(speeds * speeds, axis=-1))
    matrix = sp.spatial_inertia(masses.sum(), com, inertia)
    np.testing.assert_allclose(0.5 * velocity @ matrix @ velocity, energy, rtol=1e-9)


@given(clouds)
def test_principal_axes_rebuild_the_tensor(cloud):
    points, masses = cloud
    inertia = point_inertia(points, masses, masses @ points / masses.sum())
    q, diagonal = sp.principal_axes(inertia)
    np.testing.assert_allclose(np.linalg.norm(q), 1.0, rtol=1e-12)
    np.testing.assert_allclose(
        sp.inertia_from_principal(q, diagonal), inertia, rtol=0, atol=1e-9 * max(1.0, np.abs(inertia).max())
    )
    assert sp.inertia_is_physical(inertia) == (np.abs(inertia).max() > 0)
    # The nearest labeling: no axis turns by more than the largest angle of the cube group's cells.
    assert 2.0 * np.arccos(min(1.0, abs(q[3]))) <= np.deg2rad(62.8) + 1e-9


@pytest.mark.parametrize("order", list(itertools.permutations([1.0, 2.5, 3.0])))
def test_principal_axes_of_a_diagonal_tensor_keep_their_order(order):
    noise = np.array([[0.0, 1e-17, -1e-17], [1e-17, 0.0, 1e-17], [-1e-17, 1e-17, 0.0]])
    q, diagonal = sp.principal_axes(np.diag(order) + noise)
    np.testing.assert_array_equal(q, [0.0, 0.0, 0.0, 1.0])
    np.testing.assert_array_equal(diagonal, order)


def test_principal_axes_of_a_batch():
    q = sp.quaternion_exponential([[0.1, 0.2, 0.3], [0.0, 0.0, 0.0]])
    moments = np.array([[1.0, 2.0, 2.5], [3.0, 3.0, 3.0]])
    found, diagonal = sp.principal_axes(sp.inertia_from_principal(q, moments))
    np.testing.assert_allclose(diagonal, moments, rtol=1e-12)
    np.testing.assert_allclose(found, q, atol=1e-12)


@pytest.mark.parametrize(
    "bad", [np.diag([1.0, np.nan, 1.0]), np.array([[1.0, 0.5, 0], [0, 1.0, 0], [0, 0, 1.0]])]
)
def test_principal_axes_refuse_what_is_no_inertia(bad):
    with pytest.raises(sp.InertiaError):
        sp.principal_axes(bad)


def test_triangle_inequality():
    given_tensors = np.stack(
        [
            np.diag([1.0, 1.0, 2.0]),
            np.diag([1.0, 1.0, 2.1]),
            np.diag([-1.0, 1.0, 1.0]),
            np.diag([1.0, np.inf, 1.0]),
            np.zeros((3, 3)),
            np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        ]
    )
    np.testing.assert_array_equal(
        sp.inertia_is_physical(given_tensors), [True, False, False, False, False, False]
    )


CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
CUBE_TRIANGLES = np.array(
    [
        [0, 1, 3],
        [0, 3, 2],
        [4, 6, 7],
        [4, 7, 5],
        [0, 4, 5],
        [0, 5, 1],
        [2, 3, 7],
        [2, 7, 6],
        [0, 2, 6],
        [0, 6, 4],
    ]
    + [[1, 5, 7], [1, 7, 3]]
)


def prism(outline, half_height):
    """Closed mesh over a star-shaped outline (counter-clockwise, around the origin), z in ±half_height."""
    n = len(outline)
    low = np.column_stack([outline, np.full(n, -half_height)])
    high = np.column_stack([outline, np.full(n, half_height)])
    vertices = np.vstack([low, high, [[0, 0, -half_height], [0, 0, half_height]]])
    triangles = []
    for i in range(n):
        j = (i + 1) % n
        triangles += [[i, j, n + j], [i, n + j, n + i], [2 * n, j, i], [2 * n + 1, n + i, n + j]]
    return vertices, np.array(triangles)


def revolved(profile_z, profile_r, around):
    """Closed surface of revolution about +Z; the ends of the profile have radius 0."""
    angles = 2 * np.pi * np.arange(around) / around
    rings = [
        np.column_stack([r * np.cos(angles), r * np.sin(angles), np.full(around, z)])
        for z, r in zip(profile_z[1:-1], profile_r[1:-1], strict=True)
    ]
    vertices = np.vstack([[[0, 0, profile_z[0]]], *rings, [[0, 0, profile_z[-1]]]])
    triangles = []
    for i in range(around):
        j = (i + 1) % around
        triangles.append([0, 1 + j, 1 + i])
        for k in range(len(rings) - 1):
            a, b = 1 + k * around, 1 + (k + 1) * around
            triangles += [[a + i, a + j, b + j], [a + i, b + j, b + i]]
        last = 1 + (len(rings) - 1) * around
        triangles.append([last + i, last + j, len(vertices) - 1])
    return vertices, np.array(triangles)


def assert_same(found, expected, rtol=1e-9, atol=1e-9):
    np.testing.assert_allclose(found.mass, expected.mass, rtol=rtol)
    np.testing.assert_allclose(found.com, expected.com, rtol=rtol, atol=atol)
    np.testing.assert_allclose(
        found.inertia, expected.inertia, rtol=rtol, atol=atol * max(1.0, expected.mass)
    )


def test_unit_cube_mesh():
    assert sp.mesh_is_closed(CUBE_TRIANGLES)
    cube = sp.mass_properties_of_mesh(CUBE, CUBE_TRIANGLES, density=1000.0)
    np.testing.assert_allclose(cube.mass, 1000.0)
    np.testing.assert_allclose(cube.com, [0.5, 0.5, 0.5])
    np.testing.assert_allclose(cube.inertia, np.eye(3) * 166.66666666666666, atol=1e-9)
    inward = sp.mass_properties_of_mesh(CUBE, CUBE_TRIANGLES[:, ::-1], density=1000.0)
    assert_same(inward, cube)


def test_l_shaped_mesh_has_products_of_inertia():
    # Unit squares (0,0), (1,0), (0,1), extruded by one: the published case of a concave mesh.
    outline = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 1.0], [1.0, 2.0], [0.0, 2.0]]) - [0.5, 0.5]
    vertices, triangles = prism(outline, 0.5)
    body = sp.mass_properties_of_mesh(vertices + [0.5, 0.5, 0.5], triangles, density=1000.0)
    np.testing.assert_allclose(body.mass, 3000.0)
    np.testing.assert_allclose(body.com, [5 / 6, 5 / 6, 0.5])
    np.testing.assert_allclose(np.diag(body.inertia), [1166.6666667, 1166.6666667, 1833.3333333])
    np.testing.assert_allclose(body.inertia[0, 1], 333.33333333)


@given(reals(3), quaternions(), st.floats(-3.0, 3.0), st.floats(0.125, 8.0))
def test_mesh_properties_move_with_the_mesh(position, q, log_size, density):
    size = 10.0**log_size
    pose = sp.transform(position * 100.0, q)
    outline = np.array([[1.0, 0.0], [0.5, 2.0], [-1.0, 0.5], [-0.5, -1.0]]) * size
    vertices, triangles = prism(outline, 0.75 * size)
    body = sp.mass_properties_of_mesh(vertices, triangles, density=density)
    moved = sp.mass_properties_of_mesh(sp.transform_point(pose, vertices), triangles, density=density)
    expected = body.transformed(pose)
    # Positions of a mesh far away carry the rounding of their distance.
    digits = 1e-15 * max(1.0, np.abs(pose[:3]).max() / size)
    np.testing.assert_allclose(moved.mass, expected.mass, rtol=1e3 * digits)
    np.testing.assert_allclose(moved.com, expected.com, rtol=0, atol=1e3 * digits * size)
    np.testing.assert_allclose(
        moved.inertia, expected.inertia, rtol=0, atol=1e4 * digits * body.mass * size**2
    )


@pytest.mark.parametrize(
    ("vertices", "triangles", "reason"),
    [
        (CUBE, np.zeros((0, 3), int), "no triangles"),
        (CUBE, [[0, 1, 8]], "index 8 with 8 vertices"),
        (CUBE, [[0, 1, -1]], "index -1"),
        (CUBE * np.nan, CUBE_TRIANGLES, "not finite"),
        (CUBE * [1.0, 1.0, 0.0], CUBE_TRIANGLES, "encloses no volume"),
        (CUBE * 0.0, CUBE_TRIANGLES, "encloses no volume"),
    ],
)
def test_degenerate_meshes_are_refused(vertices, triangles, reason):
    with pytest.raises(sp.DegenerateMeshError, match=reason):
        sp.mass_properties_of_mesh(vertices, triangles)


def test_open_or_twisted_meshes_are_not_closed():
    assert not sp.mesh_is_closed(CUBE_TRIANGLES[1:])
    twisted = CUBE_TRIANGLES.copy()
    twisted[0] = twisted[0, ::-1]
    assert not sp.mesh_is_closed(twisted)
    assert not sp.mesh_is_closed(np.zeros((0, 3), int))
    assert not sp.mesh_is_closed(np.vstack([CUBE_TRIANGLES, CUBE_TRIANGLES]))


def test_box_equals_its_mesh():
    half = np.array([0.5, 1.0, 1.5])
    mesh = sp.mass_properties_of_mesh((2.0 * CUBE - 1.0) * half, CUBE_TRIANGLES, density=3.0)
    assert_same(sp.mass_properties_of_box(half, density=3.0), mesh)


@pytest.mark.parametrize("shape", ["sphere", "cylinder", "capsule", "cone"])
def test_round_solids_are_the_limit_of_fine_meshes(shape):
    r, h = 0.75, 1.25
    arc = np.linspace(-np.pi / 2, np.pi / 2, 161)
    if shape == "sphere":
        solid = sp.mass_properties_of_sphere(r, density=2.0)
        z, rho = r * np.sin(arc), r * np.cos(arc)
    elif shape == "cylinder":
        solid = sp.mass_properties_of_cylinder(r, h, density=2.0)
        z, rho = np.array([-h, -h, h, h]), np.array([0.0, r, r, 0.0])
    elif shape == "capsule":
        solid = sp.mass_properties_of_capsule(r, h, density=2.0)
        z = np.concatenate([r * np.sin(arc[:81]) - h, r * np.sin(arc[80:]) + h])
        rho = np.concatenate([r * np.cos(arc[:81]), r * np.cos(arc[80:])])
    else:
        solid = sp.mass_properties_of_cone(r, h, density=2.0)
        z, rho = np.array([-h, -h, h]), np.array([0.0, r, 0.0])
    vertices, triangles = revolved(z, rho, 192)
    assert sp.mesh_is_closed(triangles)
    mesh = sp.mass_properties_of_mesh(vertices, triangles, density=2.0)
    assert mesh.mass < solid.mass
    assert_same(mesh, solid, rtol=2e-3, atol=1e-6)


@given(st.floats(0.125, 2.0), st.floats(0.0, 4.0))
def test_solids_are_physical(radius, half_height):
    solids = [sp.mass_properties_of_sphere(radius), sp.mass_properties_of_capsule(radius, half_height)]
    if half_height > 0.01:
        solids += [
            sp.mass_properties_of_cone(radius, half_height),
            sp.mass_properties_of_cylinder(radius, half_height),
        ]
    for solid in solids:
        assert sp.inertia_is_physical(solid.inertia)
    np.testing.assert_allclose(
        sp.mass_properties_of_capsule(radius, 0.0).inertia, sp.mass_properties_of_sphere(radius).inertia
    )


@given(reals(3), quaternions(), st.floats(0.1, 0.9))
def test_parts_make_the_whole(position, q, cut):
    pose = sp.transform(position, q)
    whole = sp.mass_properties_of_box([1.0, 0.5, 0.25], density=4.0)
    left = sp.mass_properties_of_box([cut, 0.5, 0.25], density=4.0)
    right = sp.mass_properties_of_box([1.0 - cut, 0.5, 0.25], density=4.0)
    parts = [
        left.transformed(sp.transform_multiply(pose, sp.transform([cut - 1.0, 0.0, 0.0]))),
        right.transformed(sp.transform_multiply(pose, sp.transform([cut, 0.0, 0.0]))),
    ]
    assert_same(sp.combine_mass_properties(parts), whole.transformed(pose))


def test_scaling_to_a_mass():
    box = sp.mass_properties_of_box([0.1, 0.1, 0.1], density=1000.0)
    np.testing.assert_allclose(box.with_mass(3.0).inertia, np.eye(3) * 0.02)
    nothing = sp.combine_mass_properties([])
    assert nothing.mass == 0.0
    with pytest.raises(sp.InertiaError):
        nothing.with_mass(1.0)


@given(st.permutations(range(12)))
def test_order_of_triangles_does_not_matter(order):
    assume(list(order) != list(range(12)))
    shuffled = sp.mass_properties_of_mesh(CUBE, CUBE_TRIANGLES[order])
    assert_same(shuffled, sp.mass_properties_of_mesh(CUBE, CUBE_TRIANGLES), rtol=1e-13)
