"""Room for contacts: how much, and what happens to the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_contact import Contacts, Model, create_contacts, find_shortages, settle_overflow
from tensorphys_contact.contacts import SLOT_BYTES

# Solver rows of a contact: two ends with one vector for each velocity of a chain, and some 40 numbers.
_ROW_BYTES = 160
_CHAIN_BYTES = 24
# Growth beyond what was needed, so that the next contact does not grow the buffers again.
_HEADROOM = 1.5


def allocate_contacts(model: Model, max_chain: int, budget: int | None) -> Contacts:
    """Contacts with room for all that the candidate pairs can make, or for as many as a budget allows.

    Args:
        model: Shapes and candidate pairs.
        max_chain: Largest number of velocities that move one link.
        budget: Bytes of contacts and their solver rows; None for no bound.
    """
    if budget is None:
        return create_contacts(model)
    slots = budget // (SLOT_BYTES + _ROW_BYTES + _CHAIN_BYTES * max_chain)
    return create_contacts(model, byte_budget=slots * SLOT_BYTES)


def holds_all(model: Model, contacts: Contacts) -> bool:
    """Whether the contacts have room for all that the candidate pairs can make; never where pairs are searched."""
    return model.search is None and int(contacts.capacity) >= int(model.environment_capacity.sum())


def overflow_text(model: Model, contacts: Contacts, environment_path: tuple[str, ...]) -> str:
    """What overflowed, for people: environments, needed and present sizes."""
    short = [entry for entry in find_shortages(model, contacts) if entry.buffer != "contacts"]
    if short:
        return "; ".join(
            f"{entry.buffer}: {environment_path[entry.environment] or '/'} has {entry.required} near pairs where "
            f"{entry.capacity} fit; the others were left out"
            for entry in short
        )
    flags = np.flatnonzero(contacts.overflow.numpy())
    needed = contacts.required.numpy()
    present = np.diff(contacts.slot_start.numpy())
    worst = int(flags[np.argmax(needed[flags] - present[flags])])
    return (
        f"contact buffer: {len(flags)} environments need more room, "
        f"{environment_path[worst] or '/'} {needed[worst]} contacts where {present[worst]} fit; "
        "the deepest were kept; raise contact_budget"
    )


def grown_contacts(model: Model, contacts: Contacts) -> Contacts:
    """Larger contacts, with room for what the last steps wanted in each environment.

    Where near pairs are searched, the room for pairs grows with them.
    """
    if model.search is not None:
        return settle_overflow(model, contacts)
    wanted = np.maximum(model.environment_capacity, 1)
    needed = float(((contacts.required.numpy() + 1) / wanted).max())
    present = contacts.capacity / max(int(wanted.sum()), 1)
    share = _HEADROOM * max(needed, present)
    if share >= 1.0:
        return create_contacts(model)
    slots = int(np.ceil(share * int(model.environment_capacity.sum())))
    return create_contacts(model, byte_budget=slots * SLOT_BYTES)


def move_warm_start(
    source: Mapping[str, Any], source_start: Any, target: Mapping[str, Any], target_start: Any
) -> None:
    """Copy the impulses of the last step between buffers of different sizes, on the host.

    Args:
        source, target: Arrays ``previous_count`` [environments] and others with one value a slot.
        source_start, target_start: First slot of each environment, one more at the end.
    """
    first, other = source_start.numpy().astype(np.int64), target_start.numpy().astype(np.int64)
    count = np.minimum(source["previous_count"].numpy(), np.diff(other))
    rank = _ranks(count)
    rows, places = np.repeat(first[:-1], count) + rank, np.repeat(other[:-1], count) + rank
    for name, array in target.items():
        if name == "previous_count":
            array.assign(count.astype(np.int32))
            continue
        values = np.zeros((array.shape[0], *source[name].numpy().shape[1:]), source[name].numpy().dtype)
        values[places] = source[name].numpy()[rows]
        array.assign(values)


def _ranks(count: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """0, 1, … within each environment."""
    ends = np.cumsum(count)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - count, count)
