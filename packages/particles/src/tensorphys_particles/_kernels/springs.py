"""Springs, and the volume inside a closed cloth.

A spring of stiffness k, damping c and length error C moves its ends along their line by ±w Δλ with
Δλ = -(k h² C + λ + c h Ċ h) / ((k h² + c h) (w₁ + w₂) + 1), which is implicit in C and its rate
[Macklin, Müller & Chentanez 2016, eq. 26, multiplied through by k h² so that k = 0 is no exception].
Springs of one colour share no particle. On the CPU one launch runs them all in the order of colours, since a launch
runs there on one thread from the first index to the last; on CUDA a launch does one colour.
"""

import warp as wp

from tensorphys_particles._kernels.structs import Slots

wp.set_module_options({"enable_backward": False})

# Stiffer than any float32 mass over a squared time step can tell from rigid.
RIGID = wp.constant(1.0e20)


@wp.kernel
def solve_springs(
    first: wp.int32,
    order: wp.array[wp.int32],
    ends: wp.array[wp.vec2i],
    rest_length: wp.array[wp.float32],
    stiffness: wp.array[wp.float32],
    damping: wp.array[wp.float32],
    slot: wp.array[wp.int32],
    slots: Slots,
    time: wp.array[wp.float32],
    # outputs
    multiplier_inout: wp.array[wp.float32],
    move_inout: wp.array[wp.vec3],
    place_inout: wp.array[wp.vec3],
):
    spring = order[first + wp.tid()]
    a = slot[ends[spring][0]]
    b = slot[ends[spring][1]]
    w = slots.inverse_mass[a] + slots.inverse_mass[b]
    d = place_inout[a] - place_inout[b]
    length = wp.length(d)
    # Coincident ends have no line to move along; they part as soon as anything else moves them.
    if w <= 0.0 or not (length > 0.0):
        return
    h = time[0]
    n = d / length
    k = wp.min(stiffness[spring], RIGID) * h * h
    c = damping[spring] * h
    stretch = length - rest_length[spring]
    rate = wp.dot(n, move_inout[a] - move_inout[b])
    change = -(k * stretch + multiplier_inout[spring] + c * rate) / ((k + c) * w + 1.0)
    multiplier_inout[spring] = multiplier_inout[spring] + change
    move_a = move_inout[a] + n * (slots.inverse_mass[a] * change)
    move_b = move_inout[b] - n * (slots.inverse_mass[b] * change)
    move_inout[a] = move_a
    move_inout[b] = move_b
    place_inout[a] = slots.start[a] + move_a
    place_inout[b] = slots.start[b] + move_b


@wp.kernel
def volume_gradients(
    first: wp.int32,
    triangle_start: wp.array[wp.int32],
    triangle_at: wp.array[wp.int32],
    triangles: wp.array[wp.vec3i],
    slot: wp.array[wp.int32],
    place: wp.array[wp.vec3],
    # outputs
    gradient_out: wp.array[wp.vec3],
):
    """Gradient of the volume by each particle; on a closed mesh the origin drops out of the sum."""
    i = first + wp.tid()
    x = place[slot[i]]
    total = wp.vec3(0.0)
    for k in range(triangle_start[i], triangle_start[i + 1]):
        corners = triangles[triangle_at[k]]
        p = place[slot[corners[0]]] - x
        q = place[slot[corners[1]]] - x
        r = place[slot[corners[2]]] - x
        # One of the three is zero; the other two are taken in turn.
        total += wp.cross(p, q) + wp.cross(q, r) + wp.cross(r, p)
    gradient_out[i] = total / 6.0


@wp.kernel
def volume_multipliers(
    cloth_first: wp.array[wp.int32],
    cloth_count: wp.array[wp.int32],
    pressure: wp.array[wp.float32],
    rest_volume: wp.array[wp.float32],
    slot: wp.array[wp.int32],
    slots: Slots,
    gradient: wp.array[wp.vec3],
    place: wp.array[wp.vec3],
    # outputs
    multiplier_out: wp.array[wp.float32],
    volume_out: wp.array[wp.float32],
):
    cloth = wp.tid()
    multiplier_out[cloth] = 0.0
    if pressure[cloth] <= 0.0:
        return
    first = cloth_first[cloth]
    origin = place[slot[first]]
    volume = float(0.0)
    response = float(0.0)
    for i in range(first, first + cloth_count[cloth]):
        g = gradient[i]
        volume += wp.dot(g, place[slot[i]] - origin)
        response += slots.inverse_mass[slot[i]] * wp.dot(g, g)
    volume_out[cloth] = volume / 3.0
    if response > 0.0:
        multiplier_out[cloth] = (pressure[cloth] * rest_volume[cloth] - volume / 3.0) / response


@wp.kernel
def apply_volume(
    first: wp.int32,
    cloth: wp.array[wp.int32],
    multiplier: wp.array[wp.float32],
    gradient: wp.array[wp.vec3],
    slot: wp.array[wp.int32],
    slots: Slots,
    # outputs
    move_inout: wp.array[wp.vec3],
    place_inout: wp.array[wp.vec3],
):
    i = first + wp.tid()
    if cloth[i] < 0:
        return
    s = slot[i]
    move = move_inout[s] + gradient[i] * (slots.inverse_mass[s] * multiplier[cloth[i]])
    move_inout[s] = move
    place_inout[s] = slots.start[s] + move
