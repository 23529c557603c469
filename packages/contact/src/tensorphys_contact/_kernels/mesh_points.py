"""Gathering the contact points of many triangles and keeping a few that span them."""

import warp as wp

from .faces import choose_points, xyz

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

BUFFER = wp.constant(64)
# Cosine above which two normals belong to one group of points.
ALIKE = wp.constant(0.995)


@wp.func(inline=False)
def reduce_points(
    count: int,
    most: int,
    band: float,
    point_out: wp.array[wp.vec4],
    normal_out: wp.array[wp.vec3],
    name_out: wp.array[wp.int32],
) -> int:
    """Keep up to ``most`` points at the front of the buffer; their number.

    Groups of like normals, the deepest first, each give up to four points that span it.
    """
    group_point = wp.zeros(shape=(64,), dtype=wp.vec4)
    group_index = wp.zeros(shape=(64,), dtype=wp.int32)
    taken = wp.zeros(shape=(64,), dtype=wp.int32)
    kept = wp.zeros(shape=(8,), dtype=wp.int32)
    total = int(0)
    seed = int(0)
    while seed >= 0 and total < most:
        seed = int(-1)
        for k in range(count):
            if taken[k] == 0:
                if seed < 0:
                    seed = k
                elif point_out[k][3] < point_out[seed][3] - band:
                    seed = k
        if seed >= 0:
            n = normal_out[seed]
            size = int(0)
            for k in range(count):
                if taken[k] == 0 and wp.dot(normal_out[k], n) > ALIKE:
                    taken[k] = 1
                    group_point[size] = point_out[k]
                    group_index[size] = k
                    size += 1
            chosen = choose_points(n, size, band, group_point, wp.min(4, most - total))
            for k in range(4):
                if chosen[k] >= 0 and total < most:
                    kept[total] = group_index[chosen[k]]
                    total += 1
    for k in range(total):
        # Ascending places, so that nothing is overwritten before it is moved.
        least = int(k)
        for m in range(k + 1, total):
            if kept[m] < kept[least]:
                least = m
        swap = kept[k]
        kept[k] = kept[least]
        kept[least] = swap
        point_out[k] = point_out[kept[k]]
        normal_out[k] = normal_out[kept[k]]
        name_out[k] = name_out[kept[k]]
    return total


@wp.func
def sort_by_name(
    count: int,
    point_out: wp.array[wp.vec4],
    normal_out: wp.array[wp.vec3],
    name_out: wp.array[wp.int32],
):
    """Ascending names."""
    for k in range(count):
        least = int(k)
        for m in range(k + 1, count):
            if name_out[m] < name_out[least]:
                least = m
        p = point_out[k]
        n = normal_out[k]
        name = name_out[k]
        point_out[k] = point_out[least]
        normal_out[k] = normal_out[least]
        name_out[k] = name_out[least]
        point_out[least] = p
        normal_out[least] = n
        name_out[least] = name


@wp.func(inline=False)
def keep_point(
    count: int,
    point: wp.vec4,
    normal: wp.vec3,
    name: int,
    most: int,
    band: float,
    point_out: wp.array[wp.vec4],
    normal_out: wp.array[wp.vec3],
    name_out: wp.array[wp.int32],
) -> int:
    """Append a point unless one like it is there; the new number of points."""
    for k in range(count):
        same = wp.length_sq(xyz(point_out[k]) - xyz(point)) < band * band
        if same and wp.dot(normal_out[k], normal) > ALIKE:
            # Of equals the lower name, in whichever order triangles are met.
            deeper = point_out[k][3] - point[3]
            if deeper > band or (deeper > -band and name < name_out[k]):
                point_out[k] = point
                normal_out[k] = normal
                name_out[k] = name
            return count
    total = count
    if total == BUFFER:
        total = reduce_points(total, most, band, point_out, normal_out, name_out)
    point_out[total] = point
    normal_out[total] = normal
    name_out[total] = name
    return total + 1
