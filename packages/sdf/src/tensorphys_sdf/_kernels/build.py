"""Kernels that fill a grid: positions of its nodes, choice of the blocks to refine, storage."""

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


@wp.kernel
def load_coarse(
    blocks: wp.vec3i,
    coarse: wp.array[wp.float32],
    values_out: wp.array3d[wp.float32],
):
    x, y, z = wp.tid()
    values_out[x, y, z] = coarse[coarse_index(blocks, x, y, z)]


@wp.func
def stitched_value(grid: SdfGrid, i: wp.vec3i, node: wp.vec3i, value: float) -> float:
    """The value of a brick's node; on a face that a block without brick shares, what that block gives there.

    Trilinear data restricted to a face are bilinear, and finer bilinear cells reproduce them, so that the field
    is continuous across.
    """
    s = grid.subgrid
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
            if grid.brick[block_index(grid, j)] < 0:
                f = wp.vec3(float(node[0]), float(node[1]), float(node[2])) / float(s)
                # the corner data of the brick's own block are the same as the neighbour's on the shared face
                result = sample_coarse(grid, i, f)[0]
    return result


@wp.kernel
def stitch_bricks(
    grid: SdfGrid,
    block_ids: wp.array[wp.int32],
    value_inout: wp.array[wp.float32],
    slack_inout: wp.array[wp.float32],
):
    tid = wp.tid()
    n = grid.subgrid + 1
    block = block_ids[tid // (n * n * n)]
    i = wp.vec3i(
        block // (grid.blocks[2] * grid.blocks[1]),
        (block // grid.blocks[2]) % grid.blocks[1],
        block % grid.blocks[2],
    )
    node = wp.vec3i((tid // (n * n)) % n, (tid // n) % n, tid % n)
    if (node[0] % grid.subgrid) * (node[1] % grid.subgrid) * (node[2] % grid.subgrid) == 0:
        value = stitched_value(grid, i, node, value_inout[tid])
        wp.atomic_max(slack_inout, block, wp.abs(value - value_inout[tid]))
        value_inout[tid] = value


@wp.func
def quantised(value: float, offset: float, scale: float, top: float) -> wp.uint32:
    return wp.uint32(wp.clamp(wp.round((value - offset) / scale), 0.0, top))


@wp.kernel
def pack_16(
    values: wp.array[wp.float32],
    subgrid: int,
    offset: float,
    scale: float,
    word_out: wp.array[wp.uint32],
):
    tid = wp.tid()
    node = (tid // subgrid) * (subgrid + 1) + tid % subgrid
    low = quantised(values[node], offset, scale, 65535.0)
    high = quantised(values[node + 1], offset, scale, 65535.0)
    word_out[tid] = low | (high << wp.uint32(16))


@wp.kernel
def pack_8(
    values: wp.array[wp.float32],
    offset: float,
    scale: float,
    byte_out: wp.array[wp.uint8],
):
    tid = wp.tid()
    byte_out[tid] = wp.uint8(quantised(values[tid], offset, scale, 255.0))
