"""What kernels take: a stored grid, and a surface."""

import warp as wp


@wp.struct
class SdfGrid:
    """Signed distances on a grid. All positions are in the frame of the shape."""

    origin: wp.vec3  # position of coarse node (0, 0, 0)
    cell: wp.vec3  # edge lengths of a coarse cell
    inv_cell: wp.vec3
    blocks: wp.vec3i  # coarse cells per axis
    stride_x: int  # from a tile of coarse nodes to the next along x
    stride_y: int
    subgrid: int  # fine cells per block and axis; 0 without bricks
    bits: int  # bits of a stored fine value: 8, 16 or 32
    blend: int  # layers of coarse cells over which the exact distance takes over at the rim
    fine_offset: float  # value of a stored 0
    fine_scale: float  # value of one stored unit
    coarse: wp.array[wp.float32]  # tiles of 4 x 4 x 4 nodes of a dense grid
    record: wp.array[wp.int32]  # eight words a block of a sparse grid, see _kernels/records.py
    fine: wp.array[wp.uint32]  # quads of bricks
    exact: wp.array[wp.uint8]  # tiles of coarse nodes, 1 where the distance is that of the surface
    slack: wp.array[wp.float32]  # largest error of the node values of each block


@wp.struct
class SdfSurface:
    """A triangle surface for exact queries, stored relative to ``center``."""

    mesh: wp.uint64  # wp.Mesh; 0 without a surface
    center: wp.vec3  # in the frame of the shape
    lower: wp.vec3  # bounds of the surface, in the frame of the shape
    upper: wp.vec3
    sign: int  # SIGN_WINDING, SIGN_NORMAL or SIGN_NONE
    closed: int  # 1: the winding number is constant away from the surface
    accuracy: float  # a node counts as a dipole beyond this many of its radii
    leaves: int  # leaves of the tree, a power of two
    node_sphere: wp.array[wp.vec4]  # centre and radius of each node
    node_dipole: wp.array[wp.vec3]  # sum of area vectors of each node
    corner: wp.array[wp.vec3]  # corners of the triangles in tree order, LEAF * 3 a leaf
    pseudonormal: wp.array[wp.vec3]  # 7 a face: of the face, its edges 01, 12, 20, its vertices 0, 1, 2
