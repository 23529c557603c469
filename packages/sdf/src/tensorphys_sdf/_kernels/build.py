"""Kernels that fill a grid: positions of its nodes, storage of coarse values, borders of bricks."""

import warp as wp

from tensorphys_sdf._kernels.grid import block_index, coarse_index, sample_coarse
from tensorphys_sdf.structs import SdfGrid

wp.set_module_options({"enable_backward": False})


@wp.kernel
def coarse_points(
    origin: wp.vec3,
    cell: wp.vec3,
    blocks: wp.vec3i,
    first: int,
    point_out: wp.array[wp.vec3],
):
    tid = wp.tid()
    node = first + tid
    nz = blocks[2] + 1
    ny = blocks[1] + 1
    at = wp.vec3(float(node // (nz * ny)), float((node // nz) % ny), float(node % nz))
    point_out[tid] = origin + wp.cw_mul(at, cell)


@wp.kernel
def fine_points(
    origin: wp.vec3,
    cell: wp.vec3,
    blocks: wp.vec3i,
    subgrid: int,
    block_ids: wp.array[wp.int32],
    first: int,
    point_out: wp.array[wp.vec3],
):
    """Nodes of the bricks; ``subgrid`` 0 gives the centres of the blocks instead."""
    tid = wp.tid()
    n = subgrid + 1
    node = first + tid
    block = block_ids[node // (n * n * n)]
    corner = wp.vec3(
        float(block // (blocks[2] * blocks[1])),
        float((block // blocks[2]) % blocks[1]),
        float(block % blocks[2]),
    )
    at = wp.vec3(0.5, 0.5, 0.5)
    if subgrid > 0:
        at = wp.vec3(float((node // (n * n)) % n), float((node // n) % n), float(node % n)) / float(subgrid)
    point_out[tid] = origin + wp.cw_mul(corner + at, cell)


@wp.kernel
def store_coarse(
    blocks: wp.vec3i,
    values: wp.array3d[wp.float32],
    coarse_out: wp.array[wp.float32],
):
    x, y, z = wp.tid()
    coarse_out[coarse_index(blocks, x, y, z)] = values[x, y, z]


@wp.func
def stitched_value(
    grid: SdfGrid, bricks: wp.array[wp.int32], subgrid: int, i: wp.vec3i, node: wp.vec3i, value: float
) -> float:
    """The value of a brick's node; on a face that a block without brick shares, what that block gives there.

    Trilinear data restricted to a face are bilinear, and finer bilinear cells reproduce them, so that the field
    is continuous across.
    """
    s = subgrid
    result = value
    for k in range(8):
        j = wp.vec3i(i[0], i[1], i[2])
        touches = bool(k > 0)
        for axis in range(3):
            if ((k >> axis) & 1) == 1:
                if node[axis] == 0:
                    j[axis] = j[axis] - 1
                elif node[axis] == s:
                    j[axis] = j[axis] + 1
                else:
                    touches = False
                if j[axis] < 0 or j[axis] >= grid.blocks[axis]:
                    touches = False
        if touches:
            if bricks[block_index(grid, j)] < 0:
                f = wp.vec3(float(node[0]), float(node[1]), float(node[2])) / float(s)
                # the corner data of the brick's own block are the same as the neighbour's on the shared face
                result = sample_coarse(grid, i, f)[0]
    return result


@wp.kernel
def stitch_bricks(
    grid: SdfGrid,
    bricks: wp.array[wp.int32],
    subgrid: int,
    block_ids: wp.array[wp.int32],
    value_inout: wp.array[wp.float32],
    slack_inout: wp.array[wp.float32],
):
    """Make bricks go over into the blocks around them; ``grid`` is the dense one of the coarse nodes."""
    tid = wp.tid()
    n = subgrid + 1
    block = block_ids[tid // (n * n * n)]
    i = wp.vec3i(
        block // (grid.blocks[2] * grid.blocks[1]),
        (block // grid.blocks[2]) % grid.blocks[1],
        block % grid.blocks[2],
    )
    node = wp.vec3i((tid // (n * n)) % n, (tid // n) % n, tid % n)
    if (node[0] % subgrid) * (node[1] % subgrid) * (node[2] % subgrid) == 0:
        value = stitched_value(grid, bricks, subgrid, i, node, value_inout[tid])
        wp.atomic_max(slack_inout, block, wp.abs(value - value_inout[tid]))
        value_inout[tid] = value
