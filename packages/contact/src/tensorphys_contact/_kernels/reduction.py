"""Cells that the contacts of a pair fall into, by place and by normal; of each cell the deepest contact is kept.

Places are cells of a grid over the smaller shape, in its frame, and normals are told apart by 26 directions, so that a
contact stays in its cell while the shapes move little: the cell is its name. The greatest of the codes of a cell does
not depend on the order in which contacts are found.
"""

import warp as wp

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

DIRECTIONS = wp.constant(27)
# Share of the distance from the middle that counts as depth: of equally deep contacts the outer ones support best.
OUTWARD = wp.constant(1.0e-3)
EMPTY = wp.constant(wp.int64(0))


@wp.func
def direction_of(n: wp.vec3) -> int:
    """Nearest of the 26 directions to the neighbours of a cell; axes and diagonals are in the midst of theirs."""
    most = wp.max(wp.abs(n[0]), wp.max(wp.abs(n[1]), wp.abs(n[2])))
    code = int(0)
    for k in range(3):
        part = int(1)
        if n[k] > 0.4142 * most:
            part = 2
        elif n[k] < -0.4142 * most:
            part = 0
        code = code * 3 + part
    return code


@wp.func
def direction_vector(code: int) -> wp.vec3:
    """Unit vector of a direction."""
    return wp.normalize(wp.vec3(float(code // 9 - 1), float(code // 3 % 3 - 1), float(code % 3 - 1)))


@wp.func
def cell_of(p: wp.vec3, center: wp.vec3, half: wp.vec3, n: wp.vec3, cells: int) -> int:
    """Cell of a contact at a point with a normal, both in the frame of the grid."""
    code = int(0)
    for k in range(3):
        at = (p[k] - center[k] + half[k]) / wp.max(2.0 * half[k], 1.0e-20)
        code = code * cells + wp.clamp(int(at * float(cells)), 0, cells - 1)
    return code * DIRECTIONS + direction_of(n)


@wp.func
def cell_gap(a: int, b: int, cells: int) -> float:
    """How different two cells are: squared steps between their places, and the turn of their normals."""
    pa = a // DIRECTIONS
    pb = b // DIRECTIONS
    x = float(pa // (cells * cells) - pb // (cells * cells))
    y = float(pa // cells % cells - pb // cells % cells)
    z = float(pa % cells - pb % cells)
    turn = 1.0 - wp.dot(direction_vector(a % DIRECTIONS), direction_vector(b % DIRECTIONS))
    return x * x + y * y + z * z + 2.0 * turn


@wp.func
def depth_code(depth: float, name: int) -> wp.int64:
    """Number that grows with the depth, of equals with the lower name; never zero."""
    bits = wp.int64(wp.cast(depth, wp.int32))
    rank = wp.where(bits < wp.int64(0), -bits - wp.int64(1), bits + wp.int64(2147483648))
    return ((rank >> wp.int64(1)) << wp.int64(32)) | (wp.int64(4294967295) - wp.int64(name))


@wp.func
def code_name(code: wp.int64) -> int:
    """The name in a code."""
    return int(wp.int64(4294967295) - (code & wp.int64(4294967295)))


@wp.func
def code_depth(code: wp.int64) -> float:
    """The depth in a code, to its last bit."""
    rank = (code >> wp.int64(32)) << wp.int64(1)
    bits = wp.where(rank < wp.int64(2147483648), -rank - wp.int64(1), rank - wp.int64(2147483648))
    return wp.cast(wp.int32(bits), wp.float32)
