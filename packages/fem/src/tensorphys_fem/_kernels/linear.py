"""The matrix of a Newton step by rows of 3×3 blocks, and its products, in float32."""

import warp as wp

from tensorphys_fem._kernels.contacts import contact_tangent
from tensorphys_fem._kernels.nodes import inertia_factors, spring_stiffness
from tensorphys_fem._kernels.patches import patch_row
from tensorphys_fem._kernels.structs import TET, Materials, Mesh, Work

wp.set_module_options({"enable_backward": False})


@wp.func
def write_block(mesh: Mesh, work_inout: Work, patches: int, k: int):
    """Sum of the blocks of elements that meet in one block of the matrix.

    With patches, tetrahedra enter products by `patches.patch_row` instead: their means reach two rings of nodes.
    """
    total = wp.mat33()
    for s in range(mesh.source_start[k], mesh.source_start[k + 1]):
        slot = mesh.source[s] / 2
        e = slot / 10
        if patches == 0 or mesh.element_kind[e] != TET:
            block = work_inout.element_block[e, slot % 10]
            if mesh.source[s] % 2 == 1:
                block = wp.transpose(block)
            total += block
    work_inout.block[k] = total


@wp.func
def _patch_diagonal(mesh: Mesh, work: Work, node: int) -> wp.mat33:
    """What tetrahedra that are averaged add to the diagonal, as if they were not."""
    total = wp.mat33()
    for c in range(mesh.corner_start[node], mesh.corner_start[node + 1]):
        slot = mesh.corner[c]
        e = slot / 4
        i = slot % 4
        if mesh.element_kind[e] == TET:
            # Blocks (0, 0), (1, 1), (2, 2), (3, 3) of the upper triangle.
            total += work.element_block[e, i * 4 - (i * (i - 1)) / 2]
            g = work.dilatation_gradient[e, i]
            total += (work.patch_stiffness[e] / float(mesh.element_measure[e])) * wp.outer(g, g)
    return total


@wp.func
def write_row(mesh: Mesh, materials: Materials, work_inout: Work, patches: int, node: int):
    """The blocks of a row."""
    for k in range(mesh.row_start[node], mesh.row_start[node + 1]):
        write_block(mesh, work_inout, patches, k)
    finish_diagonal(mesh, materials, work_inout, patches, node)


@wp.func
def finish_diagonal(mesh: Mesh, materials: Materials, work_inout: Work, patches: int, node: int):
    """Inertia and springs on the diagonal of a row, and the inverse of the diagonal block.

    Driven nodes have an inverse of zero, which keeps them out of every direction of search.
    """
    first = mesh.row_start[node]
    body = mesh.node_body[node]
    factors = inertia_factors(materials, work_inout, body)
    value = mesh.node_mass[node] * (factors[0] + factors[1])
    value += spring_stiffness(work_inout, body, node)
    lumped = float(value)
    diagonal = work_inout.block[first] + wp.diag(wp.vec3(lumped, lumped, lumped))
    diagonal += contact_tangent(work_inout, node)
    work_inout.block[first] = diagonal
    if patches != 0:
        diagonal += _patch_diagonal(mesh, work_inout, node)
    inverse = wp.mat33()
    if work_inout.driven[node] == 0:
        # A node that nothing holds (static, collapsed elements) must not give an infinite step.
        floor = 1e-7 * wp.trace(diagonal) + 1e-30
        inverse = wp.inverse(diagonal + wp.diag(wp.vec3(floor, floor, floor)))
    work_inout.inverse_diagonal[node] = inverse
    work_inout.stiffness[node] = wp.trace(diagonal)


@wp.func
def row_product_ahead(
    mesh: Mesh, work: Work, before: wp.array[wp.vec3], beta: float, node: int, part: int, parts: int
) -> wp.vec3:
    """One row of the matrix, every `parts`-th block from `part` on, times z + β p before that is written."""
    total = wp.vec3()
    for k in range(mesh.row_start[node] + part, mesh.row_start[node + 1], parts):
        j = mesh.column[k]
        total += work.block[k] * (work.z[j] + beta * before[j])
    return total


@wp.func
def row_product(
    mesh: Mesh, materials: Materials, work: Work, vector: wp.array[wp.vec3], patches: int, node: int
) -> wp.vec3:
    """One row of the matrix times a vector."""
    total = wp.vec3()
    for k in range(mesh.row_start[node], mesh.row_start[node + 1]):
        total += work.block[k] * vector[mesh.column[k]]
    if patches != 0:
        total += patch_row(mesh, materials, work, node)
    return total
