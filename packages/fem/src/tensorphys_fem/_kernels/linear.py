"""The matrix of a Newton step by rows of 3×3 blocks, and its products, in float32."""

import warp as wp

from tensorphys_fem._kernels.nodes import inertia_factors, spring_stiffness
from tensorphys_fem._kernels.structs import TET, Materials, Mesh, Work

wp.set_module_options({"enable_backward": False})


@wp.func
def write_block(mesh: Mesh, work_inout: Work, k: int):
    """Sum of the blocks of elements that meet in one block of the matrix."""
    total = wp.mat33()
    for s in range(mesh.source_start[k], mesh.source_start[k + 1]):
        slot = mesh.source[s] / 2
        block = work_inout.element_block[slot / 10, slot % 10]
        if mesh.source[s] % 2 == 1:
            block = wp.transpose(block)
        total += block
    work_inout.block[k] = total


@wp.func
def write_row(mesh: Mesh, materials: Materials, work_inout: Work, node: int):
    """The blocks of a row, inertia and springs on its diagonal, and the inverse of the diagonal block.

    Driven nodes have an inverse of zero, which keeps them out of every direction of search.
    """
    first = mesh.row_start[node]
    for k in range(first, mesh.row_start[node + 1]):
        write_block(mesh, work_inout, k)
    body = mesh.node_body[node]
    factors = inertia_factors(materials, work_inout, body)
    value = mesh.node_mass[node] * (factors[0] + factors[1])
    value += spring_stiffness(work_inout, body, node)
    lumped = float(value)
    diagonal = work_inout.block[first] + wp.diag(wp.vec3(lumped, lumped, lumped))
    work_inout.block[first] = diagonal
    for c in range(mesh.corner_start[node], mesh.corner_start[node + 1]):
        slot = mesh.corner[c]
        e = slot / 4
        if mesh.element_kind[e] == TET:
            g = work_inout.dilatation_gradient[e, slot % 4]
            diagonal += (work_inout.patch_stiffness[e] / float(mesh.element_measure[e])) * wp.outer(g, g)
    inverse = wp.mat33()
    if work_inout.driven[node] == 0:
        # A node that nothing holds (static, collapsed elements) must not give an infinite step.
        floor = 1e-7 * wp.trace(diagonal) + 1e-30
        inverse = wp.inverse(diagonal + wp.diag(wp.vec3(floor, floor, floor)))
    work_inout.inverse_diagonal[node] = inverse


@wp.func
def patch_product(mesh: Mesh, work: Work, vector: wp.array[wp.vec3], node: int) -> float:
    """Change of the mean dilatation around a node for a change of positions."""
    total = float(0.0)
    for c in range(mesh.corner_start[node], mesh.corner_start[node + 1]):
        e = mesh.corner[c] / 4
        if mesh.element_kind[e] == TET:
            n = mesh.element_nodes[e]
            for i in range(4):
                total += wp.dot(work.dilatation_gradient[e, i], vector[n[i]])
    return 0.25 * total / wp.max(float(mesh.patch_volume[node]), 1e-30)


@wp.func
def row_product(mesh: Mesh, work: Work, vector: wp.array[wp.vec3], patches: int, node: int) -> wp.vec3:
    """One row of the matrix times a vector."""
    total = wp.vec3()
    for k in range(mesh.row_start[node], mesh.row_start[node + 1]):
        total += work.block[k] * vector[mesh.column[k]]
    if patches != 0:
        for c in range(mesh.corner_start[node], mesh.corner_start[node + 1]):
            slot = mesh.corner[c]
            e = slot / 4
            if mesh.element_kind[e] == TET:
                n = mesh.element_nodes[e]
                mean = work.patch_value[n[0]] + work.patch_value[n[1]]
                mean += work.patch_value[n[2]] + work.patch_value[n[3]]
                total += 0.25 * mean * work.patch_stiffness[e] * work.dilatation_gradient[e, slot % 4]
    return total
