"""Quaternions, transforms and spatial vectors: group laws, round trips, an independent library."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tensorphys_spatial as sp

TOLERANCE = {"rtol": 1e-12, "atol": 1e-12}


def reals(*shape: int, bound: float = 8.0):
    return arrays(np.float64, shape, elements=st.floats(-bound, bound))


def quaternions(*shape: int):
    return reals(*shape, 4).map(sp.quaternion_normalize)


def poses():
    return st.builds(sp.transform, reals(3), quaternions())


def same_rotation(a, b, **tolerance):
    np.testing.assert_allclose(
        sp.quaternion_to_matrix(a), sp.quaternion_to_matrix(b), **(tolerance or TOLERANCE)
    )


def test_convention_is_xyzw_and_rotates_components_outwards():
    quarter_z = sp.quaternion_from_axis_angle([0.0, 0.0, 1.0], np.pi / 2)
    np.testing.assert_allclose(quarter_z, [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)], **TOLERANCE)
    np.testing.assert_allclose(sp.quaternion_rotate(quarter_z, [1.0, 0.0, 0.0]), [0.0, 1.0, 0.0], **TOLERANCE)
    np.testing.assert_allclose(sp.quaternion_to_matrix(quarter_z)[:, 0], [0.0, 1.0, 0.0], **TOLERANCE)


@given(quaternions(3), quaternions(3), reals(3, 3))
def test_products_compose(a, b, v):
    product = sp.quaternion_multiply(a, b)
    np.testing.assert_allclose(np.linalg.norm(product, axis=-1), 1.0, **TOLERANCE)
    np.testing.assert_allclose(
        sp.quaternion_rotate(product, v),
        sp.quaternion_rotate(a, sp.quaternion_rotate(b, v)),
        rtol=0,
        atol=1e-11,
    )
    np.testing.assert_allclose(
        sp.quaternion_to_matrix(product), sp.quaternion_to_matrix(a) @ sp.quaternion_to_matrix(b), **TOLERANCE
    )
    np.testing.assert_allclose(
        sp.quaternion_rotate_inverse(a, sp.quaternion_rotate(a, v)), v, rtol=0, atol=1e-11
    )
    same_rotation(sp.quaternion_multiply(a, sp.quaternion_relative(a, b)), b)


@given(quaternions(4))
def test_matrix_round_trip(q):
    matrix = sp.quaternion_to_matrix(q)
    np.testing.assert_allclose(
        matrix @ np.swapaxes(matrix, -1, -2), np.broadcast_to(np.eye(3), (4, 3, 3)), **TOLERANCE
    )
    np.testing.assert_allclose(np.linalg.det(matrix), 1.0, **TOLERANCE)
    back = sp.quaternion_from_matrix(matrix)
    assert np.all(back[..., 3] >= 0.0)
    same_rotation(back, q)


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize("angle", [0.0, 1e-9, np.pi - 1e-9, np.pi])
def test_matrix_round_trip_at_half_turns(axis, angle):
    q = sp.quaternion_from_axis_angle(np.eye(3)[axis], angle)
    same_rotation(sp.quaternion_from_matrix(sp.quaternion_to_matrix(q)), q)


@given(reals(3, bound=3.0).filter(lambda r: np.linalg.norm(r) < 3.1))
def test_exponential_and_log_are_inverse(r):
    np.testing.assert_allclose(sp.quaternion_log(sp.quaternion_exponential(r)), r, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(sp.quaternion_log(-sp.quaternion_exponential(r)), r, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-160, 1e-20, 1e-9, 1e-4])
def test_exponential_near_zero(size):
    r = np.array([size, -2.0 * size, 0.5 * size])
    q = sp.quaternion_exponential(r)
    np.testing.assert_allclose(q[:3], 0.5 * r, rtol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(q), 1.0, rtol=1e-15)
    np.testing.assert_allclose(sp.quaternion_log(q), r, rtol=1e-12)


@given(quaternions(), reals(3), st.floats(0.0, 1.0))
def test_constant_velocity_is_integrated_exactly(q, omega, part):
    whole = sp.quaternion_integrate(q, omega)
    two = sp.quaternion_integrate(sp.quaternion_integrate(q, part * omega), (1.0 - part) * omega)
    same_rotation(two, whole)
    body = sp.quaternion_integrate_body(q, sp.quaternion_rotate_inverse(q, omega))
    same_rotation(body, whole)


@given(quaternions(), quaternions())
def test_difference_leads_from_one_to_the_other(a, b):
    r = sp.quaternion_difference(a, b)
    assert np.linalg.norm(r) <= np.pi + 1e-12
    same_rotation(sp.quaternion_integrate(a, r), b)


vectors = reals(3).filter(lambda v: np.linalg.norm(v) > 1e-3)


@given(vectors, vectors)
def test_between_vectors(a, b):
    q = sp.quaternion_between_vectors(a, b)
    turned = sp.quaternion_rotate(q, a / np.linalg.norm(a))
    np.testing.assert_allclose(turned, b / np.linalg.norm(b), rtol=0, atol=1e-9)
    angle = np.arctan2(np.linalg.norm(np.cross(a, b)), np.dot(a, b))
    np.testing.assert_allclose(np.linalg.norm(sp.quaternion_log(q)), angle, atol=1e-7)


@given(vectors)
def test_between_opposite_vectors_is_a_half_turn(a):
    q = sp.quaternion_between_vectors(a, -a)
    np.testing.assert_allclose(sp.quaternion_rotate(q, a), -a, rtol=0, atol=1e-12 * np.linalg.norm(a))
    assert abs(q[3]) < 1e-12


def test_normalize_survives_extremes():
    np.testing.assert_array_equal(sp.quaternion_normalize([0.0, 0.0, 0.0, 0.0]), [0.0, 0.0, 0.0, 1.0])
    np.testing.assert_allclose(sp.quaternion_normalize([0.0, 3e300, 0.0, 4e300]), [0.0, 0.6, 0.0, 0.8])
    np.testing.assert_allclose(
        sp.quaternion_normalize([0.0, 3e-320, 0.0, 4e-320]), [0.0, 0.6, 0.0, 0.8], rtol=1e-3
    )


@given(poses(), poses(), poses(), reals(3))
def test_transforms_form_a_group(a, b, c, point):
    left = sp.transform_multiply(sp.transform_multiply(a, b), c)
    right = sp.transform_multiply(a, sp.transform_multiply(b, c))
    np.testing.assert_allclose(
        sp.transform_to_matrix(left), sp.transform_to_matrix(right), rtol=0, atol=1e-11
    )
    identity = sp.transform_multiply(a, sp.transform_inverse(a))
    np.testing.assert_allclose(identity, sp.transform_identity(), rtol=0, atol=1e-11)
    np.testing.assert_allclose(sp.transform_multiply(a, sp.transform_relative(a, b)), b, rtol=0, atol=1e-11)
    there = sp.transform_point(a, point)
    homogeneous = sp.transform_to_matrix(a) @ np.append(point, 1.0)
    np.testing.assert_allclose(there, homogeneous[:3], rtol=0, atol=1e-11)
    np.testing.assert_allclose(sp.transform_point_inverse(a, there), point, rtol=0, atol=1e-11)
    np.testing.assert_allclose(
        sp.transform_vector(a, point), there - sp.transform_point(a, np.zeros(3)), rtol=0, atol=1e-11
    )
    back = sp.transform_from_matrix(sp.transform_to_matrix(a))
    np.testing.assert_allclose(sp.transform_to_matrix(back), sp.transform_to_matrix(a), rtol=0, atol=1e-11)


@given(reals(3), reals(3))
def test_skew_is_the_cross_product(a, b):
    np.testing.assert_allclose(sp.skew(a) @ b, np.cross(a, b), rtol=0, atol=1e-12)


@given(poses(), reals(6), reals(6), reals(6))
def test_spatial_algebra(pose, v, m, f):
    power = m @ f
    np.testing.assert_allclose(
        sp.motion_transform(pose, m) @ sp.force_transform(pose, f), power, rtol=1e-11, atol=1e-8
    )
    np.testing.assert_allclose(
        sp.motion_transform_inverse(pose, sp.motion_transform(pose, m)), m, rtol=0, atol=1e-9
    )
    # The force cross is minus the dual of the motion cross; both commute with a change of frame.
    np.testing.assert_allclose(sp.motion_cross(v, m) @ f, -m @ sp.force_cross(v, f), rtol=0, atol=1e-10)
    np.testing.assert_allclose(
        sp.motion_transform(pose, sp.motion_cross(v, m)),
        sp.motion_cross(sp.motion_transform(pose, v), sp.motion_transform(pose, m)),
        rtol=0,
        atol=1e-7,
    )
    np.testing.assert_allclose(
        sp.force_transform(pose, sp.force_cross(v, f)),
        sp.force_cross(sp.motion_transform(pose, v), sp.force_transform(pose, f)),
        rtol=0,
        atol=1e-7,
    )


def test_velocity_of_a_point_of_a_turning_body():
    spin = np.array([0.0, 0.0, 2.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(sp.motion_shift(spin, [0.0, 3.0, 0.0]), [0.0, 0.0, 2.0, -5.0, 0.0, 0.0])
    push = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(sp.force_shift(push, [0.0, -3.0, 0.0]), [0.0, 0.0, -3.0, 1.0, 0.0, 0.0])


def test_batches_broadcast():
    q = sp.quaternion_exponential(np.linspace(0, 1, 2 * 5 * 3).reshape(2, 5, 3))
    assert sp.quaternion_multiply(q, q[:, :1]).shape == (2, 5, 4)
    assert sp.quaternion_rotate(q[0], np.ones((2, 1, 3))).shape == (2, 5, 3)
    assert sp.quaternion_from_axis_angle(np.eye(3), np.array([0.1, 0.2, 0.3])).shape == (3, 4)
    assert sp.quaternion_between_vectors(np.eye(3), [0.0, 0.0, -1.0]).shape == (3, 4)
    assert sp.transform(np.zeros((4, 1, 3)), q[0]).shape == (4, 5, 7)
    assert sp.motion_transform(sp.transform_identity((4,)), np.ones(6)).shape == (4, 6)


@given(arrays(np.float64, (3,), elements=st.floats(-1, 1)).filter(lambda v: np.linalg.norm(v) > 1e-3))
def test_orthonormal_basis(v):
    n = v / np.linalg.norm(v)
    for normal in (n, np.array([n[0] * 1e-9, n[1] * 1e-9, -1.0])):
        normal = normal / np.linalg.norm(normal)
        basis = np.stack([*sp.orthonormal_basis(normal), normal])
        np.testing.assert_allclose(basis @ basis.T, np.eye(3), rtol=0, atol=1e-14)
        np.testing.assert_allclose(np.linalg.det(basis), 1.0, rtol=1e-13)


@given(reals(6, 6), reals(6))
def test_symmetric_packing_and_solving(root, right):
    matrix = root @ root.T + np.eye(6)
    packed = sp.symmetric_pack(matrix)
    assert packed.shape == (21,)
    assert packed[4 * 5 // 2 + 2] == matrix[4, 2]
    np.testing.assert_array_equal(sp.symmetric_unpack(packed), np.tril(matrix) + np.tril(matrix, -1).T)
    np.testing.assert_allclose(matrix @ sp.symmetric_solve(matrix, right), right, rtol=0, atol=1e-7)
    np.testing.assert_allclose(matrix @ sp.symmetric_inverse(matrix), np.eye(6), rtol=0, atol=1e-7)


def test_unpack_refuses_other_lengths():
    with pytest.raises(ValueError, match="given 5"):
        sp.symmetric_unpack(np.zeros(5))
