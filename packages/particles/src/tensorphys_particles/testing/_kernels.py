"""Kernels of the obstacles of tests."""

import warp as wp

wp.set_module_options({"enable_backward": False})

PLANE = wp.constant(0)


@wp.func
def surface(kind: int, center: wp.vec3, shape: wp.vec4, x: wp.vec3):
    """Normal and signed distance of the nearest point of a surface: vec4 (normal, distance)."""
    if kind == PLANE:
        n = wp.vec3(shape[0], shape[1], shape[2])
        return wp.vec4(n[0], n[1], n[2], wp.dot(n, x - center))
    d = x - center
    r = wp.length(d)
    n = wp.vec3(0.0, 0.0, 1.0)
    if r > 0.0:
        n = d / r
    return wp.vec4(n[0], n[1], n[2], r - shape[3])


@wp.kernel
def collide(
    kind: wp.array[wp.int32],
    shape: wp.array[wp.vec4],
    environment: wp.array[wp.int32],
    body_friction: wp.array[wp.float32],
    inverse_mass: wp.array[wp.float32],
    center: wp.array[wp.vec3],
    body_velocity: wp.array[wp.vec3],
    particle_environment: wp.array[wp.int32],
    position: wp.array[wp.vec3],
    margin: wp.array[wp.float32],
    # outputs
    count_out: wp.array[wp.int32],
    body_out: wp.array2d[wp.int32],
    normal_out: wp.array2d[wp.vec3],
    point_out: wp.array2d[wp.vec3],
    velocity_out: wp.array2d[wp.vec3],
    friction_out: wp.array2d[wp.float32],
    response_out: wp.array2d[wp.float32],
    touching_inout: wp.array[wp.int32],
    needed_inout: wp.array[wp.int32],
):
    i = wp.tid()
    n = int(0)
    for b in range(kind.shape[0]):
        if environment[b] < 0 or environment[b] == particle_environment[i]:
            near = surface(kind[b], center[b], shape[b], position[i])
            if near[3] <= margin[i]:
                if n < body_out.shape[1]:
                    normal = wp.vec3(near[0], near[1], near[2])
                    body_out[i, n] = b
                    normal_out[i, n] = normal
                    point_out[i, n] = position[i] - near[3] * normal
                    velocity_out[i, n] = body_velocity[b]
                    friction_out[i, n] = body_friction[b]
                    response_out[i, n] = inverse_mass[b]
                    if inverse_mass[b] > 0.0:
                        wp.atomic_add(touching_inout, b, 1)
                n += 1
    if n > body_out.shape[1]:
        wp.atomic_max(needed_inout, 0, n)
    count_out[i] = wp.min(n, body_out.shape[1])


@wp.kernel
def share_masses(
    count: wp.array[wp.int32],
    body: wp.array2d[wp.int32],
    touching: wp.array[wp.int32],
    # outputs
    response_inout: wp.array2d[wp.float32],
):
    i = wp.tid()
    for c in range(count[i]):
        response_inout[i, c] = response_inout[i, c] * float(touching[body[i, c]])


@wp.kernel
def advance(
    count: wp.array[wp.int32],
    body: wp.array2d[wp.int32],
    impulse: wp.array2d[wp.vec3],
    inverse_mass: wp.array[wp.float32],
    gravity: wp.array[wp.vec3],
    time: wp.array[wp.float32],
    # outputs
    center_inout: wp.array[wp.vec3],
    velocity_inout: wp.array[wp.vec3],
    body_impulse_inout: wp.array[wp.vec3],
):
    b = wp.tid()
    total = wp.vec3(0.0)
    for i in range(count.shape[0]):
        for c in range(count[i]):
            if body[i, c] == b:
                total += impulse[i, c]
    body_impulse_inout[b] = body_impulse_inout[b] + total
    v = velocity_inout[b] + inverse_mass[b] * total
    if inverse_mass[b] > 0.0:
        v += time[0] * gravity[b]
    velocity_inout[b] = v
    center_inout[b] = center_inout[b] + time[0] * v
