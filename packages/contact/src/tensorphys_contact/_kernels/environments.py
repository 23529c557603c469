"""All pairs of an environment by one thread, from poses to contacts: for CPUs.

Where a kernel a family leaves its points in memory and another one gathers them from there, both wait for memory most of
the time. Here the points of a pair of simple shapes pass through slots that stay in the caches, and are written once,
where contacts are kept; those of other pairs come from the slots that their kernels filled.
"""

import functools
from typing import Any

import warp as wp

from .compaction import Pairs, Slots, Surfaces, put_pair, select_deepest
from .gather import Points, World, plane_apart, shape_bound, spheres_apart
from .plane import plane_manifold
from .rounded import rounded_manifold
from .rounded_box import rounded_box_manifold

wp.set_module_options({"enable_backward": False})

# Codes of ``PairFamily``; those above the last have kernels of their own.
PLANE = wp.constant(0)
ROUND = wp.constant(1)
ROUND_BOX = wp.constant(2)


@wp.func(inline=False)
def bound_rows(
    first: int,
    end: int,
    margin: float,
    rows: wp.array[wp.int32],
    world: World,
    bound_out: wp.array[wp.vec4],
):
    """Bound the shapes of an environment, as ``bound_shapes`` does those of all."""
    for k in range(first, end):
        row = rows[k]
        shape = world.row_shape[row]
        x = world.local_pose[row]
        if world.shape_body[shape] >= 0:
            x = world.body_pose[world.shape_body[shape]] * x
        reach = world.contact_offset[shape] + 0.5 * margin
        bound_out[row] = shape_bound(
            x, world.shape_type[shape], world.shape_center[shape], world.shape_radius[shape], reach
        )


@wp.func(inline=False)
def list_near(
    first: int,
    last: int,
    pair_family: wp.array[wp.uint8],
    pair_item: wp.array[wp.vec4i],
    bound: wp.array[wp.vec4],
    manifold_count: wp.array[wp.int32],
    near_out: wp.array[wp.int32],
    at: int,
) -> int:
    """List the pairs that may have contacts, from an entry on, and return their number."""
    near = int(0)
    for pair in range(first, last):
        family = int(pair_family[pair])
        apart = bool(False)
        if family > ROUND_BOX:
            apart = manifold_count[pair] == 0
        else:
            item = pair_item[pair]
            if family == PLANE:
                apart = plane_apart(bound[item[2]], bound[item[3]])
            else:
                apart = spheres_apart(bound[item[2]], bound[item[3]])
        if not apart:
            near_out[at + near] = pair
            near += 1
    return near


@wp.func
def first_slot(pair: int, spare: int, own: bool, slot_start: wp.array[wp.int32]) -> int:
    """First slot of a pair where it takes its own or there are no spare ones."""
    slot = int(spare)
    if own or slot < 0:
        slot = slot_start[pair]
    return slot


@wp.func
def settle(
    environment: int,
    total: int,
    capacity: int,
    count_out: wp.array[wp.int32],
    required_out: wp.array[wp.int32],
    overflow_out: wp.array[wp.int32],
) -> int:
    """Write down how many contacts there are and are kept; returns the turn that follows, 3 for none."""
    required_out[environment] = wp.max(required_out[environment], total)
    count_out[environment] = wp.min(total, capacity)
    if total <= capacity:
        return 3
    overflow_out[environment] = 1
    return 1


@wp.func
def forget_simple(
    first: int, last: int, pair_family: wp.array[wp.uint8], manifold_count_out: wp.array[wp.int32]
):
    """Clear the counts of pairs of simple shapes, of which those of an earlier step may be left."""
    for pair in range(first, last):
        if int(pair_family[pair]) <= ROUND_BOX:
            manifold_count_out[pair] = 0


@functools.cache
def environment_kernel(*, planes_alone: bool) -> Any:
    """The kernel of all environments.

    Args:
        planes_alone: Whether all simple pairs have a plane: the kernel then compiles in half of the time.
    """

    @wp.func(inline=True)
    def simple_manifold(
        family: int, item: wp.vec4i, margin: float, slot: int, world: World, points_out: Points
    ) -> int:
        """Points of a pair of simple shapes, from a slot on, and their number."""
        count = int(0)
        if wp.static(planes_alone):
            count = plane_manifold(item, margin, slot, world, points_out)
        elif family == PLANE:
            count = plane_manifold(item, margin, slot, world, points_out)
        elif family == ROUND:
            count = rounded_manifold(item, margin, slot, world, points_out)
        else:
            count = rounded_box_manifold(item, margin, slot, world, points_out)
        return count

    @wp.kernel(module="unique", enable_backward=False)
    def collide_environments(
        first_environment: int,
        spare_slot: int,
        spare_place: int,
        row_start: wp.array[wp.int32],
        rows: wp.array[wp.int32],
        pair_start: wp.array[wp.int32],
        contact_start: wp.array[wp.int32],
        pair_family: wp.array[wp.uint8],
        world: World,
        pairs: Pairs,
        surfaces: Surfaces,
        # outputs
        bound_inout: wp.array[wp.vec4],
        points_inout: Points,
        slots_out: Slots,
        count_out: wp.array[wp.int32],
        required_out: wp.array[wp.int32],
        overflow_out: wp.array[wp.int32],
    ):
        """One thread an environment.

        Without ``rows`` the bounds are there already, since other kernels needed them. Threads that run one after another
        share the slots of a pair for the points of each, and a place for a list of near pairs; both are −1 where threads
        run side by side, which take what their own pairs have. A list of near pairs stays behind no longer than the slots
        whose targets it occupies need them.
        """
        e = wp.tid()
        margin = world.margin[first_environment + e]
        if rows.shape[0] > 0:
            bound_rows(row_start[e], row_start[e + 1], margin, rows, world, bound_inout)
        first = pair_start[e]
        last = pair_start[e + 1]
        base = contact_start[e]
        capacity = contact_start[e + 1] - base
        at = first_slot(first, spare_place, False, pairs.slot_start)
        near = list_near(
            first,
            last,
            pair_family,
            world.pair_item,
            bound_inout,
            points_inout.count,
            points_inout.target,
            at,
        )
        total = int(0)
        turn = int(0)
        while turn < 3:
            # Where the slots do not suffice, all points are kept in the second turn and the deepest are written in the third.
            total = int(0)
            for k in range(near):
                pair = points_inout.target[at + k]
                if turn == 2:
                    pair = first + k
                # What pairs have in other columns is not read here: each costs a line of memory.
                item = world.pair_item[pair]
                family = int(pair_family[pair])
                slot = first_slot(pair, spare_slot, turn > 0 or family > ROUND_BOX, pairs.slot_start)
                count = int(0)
                if family <= ROUND_BOX and turn < 2:
                    count = simple_manifold(family, item, margin, slot, world, points_inout)
                else:
                    count = points_inout.count[pair]
                if turn == 1:
                    points_inout.count[pair] = count
                elif count > 0 and (turn == 2 or total + count <= capacity):
                    put_pair(
                        wp.min(item[0], item[1]),
                        wp.max(item[0], item[1]),
                        pair - first,
                        count,
                        slot,
                        wp.where(turn == 2, -1, base + total),
                        pairs,
                        points_inout,
                        surfaces,
                        slots_out,
                    )
                total += count
            if turn == 0:
                turn = settle(e, total, capacity, count_out, required_out, overflow_out)
                if turn == 1:
                    forget_simple(first, last, pair_family, points_inout.count)
            elif turn == 1:
                select_deepest(
                    first,
                    last,
                    capacity,
                    pairs.slot_start,
                    points_inout.count,
                    points_inout.separation,
                    points_inout.target,
                    base,
                )
                near = last - first
                turn = 2
            else:
                turn = 3

    return collide_environments
