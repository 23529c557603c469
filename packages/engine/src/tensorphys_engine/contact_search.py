"""Launches that find the contacts of a step."""

from __future__ import annotations

import warp as wp

from tensorphys_contact import Contacts, Model, collide, collide_launch_count
from tensorphys_engine.continuous import ContinuousCollision
from tensorphys_engine.margins import MotionMargins


def may_touch(model: Model) -> bool:
    """Whether there are pairs of shapes; without any no contact is looked for."""
    return model.pair_count > 0 or model.search is not None


def launch_contacts(
    model: Model,
    link_pose: wp.array,
    contacts: Contacts,
    margins: MotionMargins,
    continuous: ContinuousCollision | None,
    time_step: wp.array,
) -> int:
    """Find the contacts of a step.

    Args:
        model: Shapes and pairs.
        link_pose: Poses of the links.
        contacts: Overwritten.
        margins: Work out what bodies can cover in the step.
        continuous: Pairs with continuous collision detection; None for none.
        time_step: Length of the step [s], one value on the device.

    Returns:
        Kernel launches.
    """
    margins.launch(time_step, 0, model.environment_count)
    if margins.has_large:
        margins.reach(time_step)
    if continuous is not None:
        continuous.expect()
    collide(
        model,
        link_pose,
        contacts,
        margin=margins.margin,
        motion=margins.motion if continuous is None else None,
        swept=None if continuous is None else continuous.swept,
    )
    count = 1 + collide_launch_count(model, swept=continuous is not None) + int(margins.has_large)
    # A search bounds, counts, clears, writes and assigns, the latter once more a family; its sort and scans come on top.
    if model.search is not None:
        count += 5 + len(model.family_pairs)
    return count if continuous is None else count + continuous.launch_count
