"""The Warp functions against their NumPy float64 twins."""

from __future__ import annotations

import numpy as np
import warp as wp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import tensorphys_spatial as sp
from tensorphys_spatial import device as dev

wp.set_module_options({"enable_backward": False})

COUNT = 8
float21 = dev.vec21


@wp.kernel
def rotations(
    a: wp.array[wp.quat],
    b: wp.array[wp.quat],
    v: wp.array[wp.vec3],
    u: wp.array[wp.vec3],
    inertia: wp.array[wp.mat33],
    quat_out: wp.array2d[wp.quat],
    vec_out: wp.array2d[wp.vec3],
    mat_out: wp.array2d[wp.mat33],
):
    i = wp.tid()
    quat_out[0, i] = dev.quaternion_exponential(v[i])
    quat_out[1, i] = dev.quaternion_integrate(a[i], v[i])
    quat_out[2, i] = dev.quaternion_integrate_body(a[i], v[i])
    quat_out[3, i] = dev.quaternion_relative(a[i], b[i])
    quat_out[4, i] = dev.quaternion_between_vectors(v[i], u[i])
    quat_out[5, i] = dev.quaternion_between_vectors(v[i], -2.0 * v[i])
    vec_out[0, i] = dev.quaternion_log(a[i])
    vec_out[1, i] = dev.quaternion_difference(a[i], b[i])
    first, second = dev.orthonormal_basis(wp.normalize(v[i]))
    vec_out[2, i] = first
    vec_out[3, i] = second
    vec_out[4, i] = dev.symmetric_solve(inertia[i], u[i])
    mat_out[0, i] = dev.skew(v[i])
    mat_out[1, i] = dev.inertia_rotate(inertia[i], a[i])
    mat_out[2, i] = dev.inertia_from_principal(a[i], u[i])
    mat_out[3, i] = dev.inertia_translate(inertia[i], 1.5, u[i])
    mat_out[4, i] = dev.symmetric_inverse(inertia[i])


@wp.kernel
def spatial(
    pose: wp.array[wp.transform],
    v: wp.array[wp.spatial_vector],
    m: wp.array[wp.spatial_vector],
    packed: wp.array[float21],
    inertia: wp.array[wp.mat33],
    spatial_out: wp.array2d[wp.spatial_vector],
    factor_out: wp.array[float21],
):
    i = wp.tid()
    offset = wp.transform_get_translation(pose[i])
    spatial_out[0, i] = dev.motion_cross(v[i], m[i])
    spatial_out[1, i] = dev.force_cross(v[i], m[i])
    spatial_out[2, i] = dev.motion_shift(v[i], offset)
    spatial_out[3, i] = dev.force_shift(v[i], offset)
    spatial_out[4, i] = dev.motion_transform(pose[i], v[i])
    spatial_out[5, i] = dev.motion_transform_inverse(pose[i], v[i])
    spatial_out[6, i] = dev.force_transform(pose[i], v[i])
    spatial_out[7, i] = dev.spatial_inertia_multiply(1.5, offset, inertia[i], v[i])
    factor = dev.symmetric_factor6(packed[i])
    factor_out[i] = factor
    spatial_out[8, i] = dev.symmetric_solve6(factor, v[i])


def reals(*shape: int, bound: float = 4.0):
    return arrays(np.float32, (COUNT, *shape), elements=st.floats(-bound, bound, width=32))


unit_quaternions = reals(4).map(lambda q: sp.quaternion_normalize(q).astype(np.float32))
inertias = st.builds(
    lambda q, d: sp.inertia_from_principal(q, d).astype(np.float32),
    unit_quaternions,
    arrays(np.float32, (COUNT, 3), elements=st.floats(0.125, 4.0, width=32)),
)


def up_to_sign(found, expected, atol):
    """Quaternions as rotations."""
    np.testing.assert_allclose(
        sp.quaternion_to_matrix(found), sp.quaternion_to_matrix(expected), rtol=0, atol=atol
    )


@given(a=unit_quaternions, b=unit_quaternions, v=reals(3), u=reals(3), inertia=inertias)
def test_rotations_agree_with_the_twins(device, a, b, v, u, inertia):
    v = np.where(np.linalg.norm(v, axis=-1, keepdims=True) < 0.0625, np.float32([0.0, 0.5, 0.0]), v)
    u = np.where(np.linalg.norm(u, axis=-1, keepdims=True) < 0.0625, np.float32([0.0, 0.0, -0.5]), u)
    inputs = [
        wp.array(data, dtype=kind, device=device)
        for data, kind in [(a, wp.quat), (b, wp.quat), (v, wp.vec3), (u, wp.vec3), (inertia, wp.mat33)]
    ]
    quat_out = wp.zeros((6, COUNT), dtype=wp.quat, device=device)
    vec_out = wp.zeros((5, COUNT), dtype=wp.vec3, device=device)
    mat_out = wp.zeros((5, COUNT), dtype=wp.mat33, device=device)
    wp.launch(rotations, dim=COUNT, inputs=inputs, outputs=[quat_out, vec_out, mat_out], device=device)
    quat, vec, mat = quat_out.numpy(), vec_out.numpy(), mat_out.numpy()
    np.testing.assert_allclose(quat[0], sp.quaternion_exponential(v), rtol=0, atol=1e-6)
    up_to_sign(quat[1], sp.quaternion_integrate(a, v), 4e-6)
    up_to_sign(quat[2], sp.quaternion_integrate_body(a, v), 4e-6)
    up_to_sign(quat[3], sp.quaternion_relative(a, b), 4e-6)
    unit = [x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (v.astype(float), u.astype(float))]
    # Near opposite vectors the axis is undetermined in float32; the image is not.
    np.testing.assert_allclose(sp.quaternion_rotate(quat[4], unit[0]), unit[1], rtol=0, atol=1e-3)
    well = np.linalg.norm(unit[0] + unit[1], axis=-1) > 0.1
    up_to_sign(quat[4][well], sp.quaternion_between_vectors(v, u)[well], 1e-5)
    np.testing.assert_allclose(sp.quaternion_rotate(quat[5], unit[0]), -unit[0], rtol=0, atol=1e-5)
    # At a half turn the two rotation vectors of opposite sign are one rotation: compared as rotations.
    up_to_sign(sp.quaternion_exponential(vec[0]), a, 4e-6)
    assert np.all(np.linalg.norm(vec[:2], axis=-1) <= np.pi + 1e-5)
    up_to_sign(sp.quaternion_integrate(a, vec[1]), b, 8e-6)
    first, second = sp.orthonormal_basis(unit[0])
    # Of a normal with z = 0 up to rounding the twins may take different, equally good branches.
    clear = np.abs(unit[0][:, 2]) > 1e-5
    np.testing.assert_allclose(vec[2][clear], first[clear], rtol=0, atol=2e-6)
    np.testing.assert_allclose(vec[3][clear], second[clear], rtol=0, atol=2e-6)
    np.testing.assert_allclose(np.cross(vec[2], vec[3]), unit[0], rtol=0, atol=2e-6)
    np.testing.assert_allclose(vec[4], sp.symmetric_solve(inertia, u), rtol=0, atol=1e-3)
    np.testing.assert_array_equal(mat[0], sp.skew(v))
    np.testing.assert_allclose(mat[1], sp.inertia_rotate(inertia, a), rtol=0, atol=1e-5)
    np.testing.assert_allclose(mat[2], sp.inertia_from_principal(a, u), rtol=0, atol=1e-5)
    np.testing.assert_allclose(mat[3], sp.inertia_translate(inertia, 1.5, u), rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(mat[4], sp.symmetric_inverse(inertia), rtol=0, atol=2e-4)


@given(
    position=reals(3),
    q=unit_quaternions,
    v=reals(6),
    m=reals(6),
    root=reals(6, 6, bound=1.0),
    inertia=inertias,
)
def test_spatial_vectors_agree_with_the_twins(device, position, q, v, m, root, inertia):
    pose = sp.transform(position, q).astype(np.float32)
    matrix = root.astype(float) @ np.swapaxes(root, -1, -2).astype(float) + 0.5 * np.eye(6)
    packed = sp.symmetric_pack(matrix).astype(np.float32)
    inputs = [
        wp.array(data, dtype=kind, device=device)
        for data, kind in [
            (pose, wp.transform),
            (v, wp.spatial_vector),
            (m, wp.spatial_vector),
            (packed, float21),
            (inertia, wp.mat33),
        ]
    ]
    spatial_out = wp.zeros((9, COUNT), dtype=wp.spatial_vector, device=device)
    factor_out = wp.zeros(COUNT, dtype=float21, device=device)
    wp.launch(spatial, dim=COUNT, inputs=inputs, outputs=[spatial_out, factor_out], device=device)
    found, factor = spatial_out.numpy(), factor_out.numpy()
    offset = pose[:, :3]
    momentum = (sp.spatial_inertia(np.full(COUNT, 1.5), offset, inertia) @ v[..., None].astype(float))[..., 0]
    expected = [
        sp.motion_cross(v, m),
        sp.force_cross(v, m),
        sp.motion_shift(v, offset),
        sp.force_shift(v, offset),
        sp.motion_transform(pose, v),
        sp.motion_transform_inverse(pose, v),
        sp.force_transform(pose, v),
        momentum,
    ]
    for row, twin in enumerate(expected):
        np.testing.assert_allclose(found[row], twin, rtol=1e-5, atol=3e-4, err_msg=f"row {row}")
    lower = np.tril(sp.symmetric_unpack(factor), -1) + np.eye(6)
    pivots = factor[:, [i * (i + 1) // 2 + i for i in range(6)]].astype(float)
    rebuilt = (lower * pivots[:, None, :]) @ np.swapaxes(lower, -1, -2)
    np.testing.assert_allclose(rebuilt, matrix, rtol=0, atol=1e-5)
    np.testing.assert_allclose(
        found[8], sp.symmetric_solve(sp.symmetric_unpack(packed), v), rtol=0, atol=1e-3
    )


def run_exponential(device, vectors):
    count = len(vectors)
    empty_quat = wp.array(np.tile(np.float32([0, 0, 0, 1]), (count, 1)), dtype=wp.quat, device=device)
    v = wp.array(np.float32(vectors), dtype=wp.vec3, device=device)
    inertia = wp.array(np.tile(np.eye(3, dtype=np.float32), (count, 1, 1)), dtype=wp.mat33, device=device)
    quat_out = wp.zeros((6, count), dtype=wp.quat, device=device)
    vec_out = wp.zeros((5, count), dtype=wp.vec3, device=device)
    mat_out = wp.zeros((5, count), dtype=wp.mat33, device=device)
    wp.launch(
        rotations,
        dim=count,
        inputs=[empty_quat, empty_quat, v, v, inertia],
        outputs=[quat_out, vec_out, mat_out],
        device=device,
    )
    return quat_out.numpy(), vec_out.numpy()


def test_exponential_through_zero_and_the_series_limit(device):
    axis = np.array([0.6, -0.48, 0.64])
    sizes = np.concatenate([[0.0, 1e-30, 1e-12, 1e-6, 1e-3], np.linspace(0.45, 0.55, 41), [np.pi, 20.0]])
    quat, _ = run_exponential(device, sizes[:, None] * axis)
    expected = sp.quaternion_exponential(np.float32(sizes[:, None] * axis))
    np.testing.assert_allclose(quat[0], expected, rtol=0, atol=2e-6)
    # Relative accuracy of the vector part: a slow turn must not lose its digits.
    slow = sizes < 1.0
    np.testing.assert_allclose(quat[0][slow, :3], expected[slow, :3], rtol=3e-7, atol=0)


def test_no_orientation_drift_under_many_small_turns(device):
    steps, omega = 2000, np.float32([[0.0, 0.0, np.pi / 2000]])
    q = wp.array(np.float32([[0, 0, 0, 1]]), dtype=wp.quat, device=device)
    v = wp.array(omega, dtype=wp.vec3, device=device)
    wp.launch(turn_repeatedly, dim=1, inputs=[v, steps], outputs=[q], device=device)
    np.testing.assert_allclose(np.linalg.norm(q.numpy()), 1.0, rtol=1e-6)
    up_to_sign(q.numpy(), sp.quaternion_exponential(omega * steps), 1e-4)


@wp.kernel
def turn_repeatedly(v: wp.array[wp.vec3], steps: int, q_out: wp.array[wp.quat]):
    i = wp.tid()
    q = q_out[i]
    for _ in range(steps):
        q = dev.quaternion_integrate(q, v[i])
    q_out[i] = q
