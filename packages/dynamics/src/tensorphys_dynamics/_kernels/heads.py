"""What passes over large environments of bodies without joints read of a manifold: its head, in the order of colours."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ContactData, Scratch, Tables
from tensorphys_dynamics._kernels.coloring import Manifolds
from tensorphys_dynamics._kernels.rows import moving_end

wp.set_module_options({"enable_backward": False})


@wp.struct
class Heads:
    """What a pass reads of manifolds, sorted by colour, and of contacts."""

    slots: wp.array[
        wp.vec4i
    ]  # by place in the order of colours: first slot, slot behind the last, nodes of the ends
    end0: wp.array[wp.vec4i]  # see `rows.moving_end`, the environment instead of the articulation
    end1: wp.array[wp.vec4i]
    turns: wp.array[
        wp.vec4i
    ]  # manifolds that come before at each end, velocities of each end in bytes, the environment
    packed: wp.array[wp.vec4]  # four a slot, see `sweep_grid.pack_contacts`


@wp.func
def write_head(
    t: Tables,
    k: ContactData,
    w: Scratch,
    f: Manifolds,
    i: int,
    place: int,
    rank0: int,
    rank1: int,
    heads: Heads,
):
    """Write the head of a manifold to its place."""
    slot = f.first[i]
    heads.slots[place] = wp.vec4i(slot, f.last[i], f.end0[i], f.end1[i])
    end0 = moving_end(t, w, k.body0[slot])
    end1 = moving_end(t, w, k.body1[slot])
    environment = k.environment[slot]
    heads.turns[place] = wp.vec4i(rank0, rank1, end0[2] + 256 * end1[2], environment)
    end0[3] = environment
    heads.end0[place] = end0
    heads.end1[place] = end1
