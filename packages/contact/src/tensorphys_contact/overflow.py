"""What happens where pairs or contacts did not fit: larger arrays, an error or a warning."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from .contacts import Contacts, create_contacts
from .errors import CapacityError, CapacityWarning, PairError
from .model import Model
from .pair_search import grow_search

OnOverflow = Literal["grow", "raise", "warn"]

HEADROOM = 1.5
"""Room beyond what was needed, so that the next contact does not make everything grow again."""


@dataclasses.dataclass(frozen=True)
class Shortage:
    """One buffer that was too small.

    Attributes:
        buffer: ``"pair search"``, ``"sampled pairs of the search"`` or ``"contacts"``.
        environment: Environment.
        required: Largest number that a step wanted.
        capacity: Number that fits.
    """

    buffer: str
    environment: int
    required: int
    capacity: int


def find_shortages(model: Model, contacts: Contacts) -> list[Shortage]:
    """Read the sticky flags; waits for the device.

    Returns:
        One entry for each buffer and environment, empty where all fitted.
    """
    found = []
    if model.search is not None:
        flags, required = model.search.overflow.numpy(), model.search.required.numpy()
        names = ("pair search", "sampled pairs of the search")
        rooms = (model.pair_count, model.search.sampled_capacity)
        for name, flag, wanted, room in zip(names, flags, required, rooms, strict=True):
            if flag:
                found.append(Shortage(name, 0, int(wanted), room))
    required, room = contacts.required.numpy(), np.diff(contacts.slot_start.numpy())
    for e in np.flatnonzero(required > room):
        found.append(Shortage("contacts", int(e), int(required[e]), int(room[e])))
    return found


def settle_overflow(
    model: Model,
    contacts: Contacts,
    *,
    on_overflow: OnOverflow = "grow",
    environment_path: Sequence[str] | None = None,
) -> Contacts:
    """Act where a step since the last call dropped pairs or contacts. To be called when the host looks anyway.

    Growing puts larger arrays into the model and returns new contacts; arrays that were handed out before stay as
    they are, and a recorded graph has to be recorded anew. The contacts of the step itself are not made up for: run
    :func:`collide` again from the same poses.

    Args:
        model: Shapes and pairs.
        contacts: Contacts that :func:`collide` has written.
        on_overflow: ``"grow"``, ``"raise"`` (the flags stay), or ``"warn"`` (once: the flags are cleared).
        environment_path: Names of the environments for messages.

    Returns:
        The given contacts where all fitted or nothing was to grow, else larger ones with zero counts.

    Raises:
        CapacityError: something did not fit, and ``on_overflow`` is ``"raise"``.
        ValueError: an unknown policy.
    """
    if on_overflow not in ("grow", "raise", "warn"):
        raise ValueError(f"on_overflow: expected 'grow', 'raise' or 'warn', given {on_overflow!r}")
    found = find_shortages(model, contacts)
    if not found:
        return contacts
    text = "; ".join(_text(shortage, environment_path) for shortage in found[:4])
    if len(found) > 4:
        text += f"; and {len(found) - 4} more"
    if on_overflow == "raise":
        raise CapacityError(f"{text}; what did not fit was dropped, of contacts the shallowest")
    if on_overflow == "warn":
        warnings.warn(text, CapacityWarning, stacklevel=2)
        _clear(model, contacts)
        return contacts
    return _grown(model, contacts, found)


def _text(shortage: Shortage, names: Sequence[str] | None) -> str:
    where = f"environment {shortage.environment}" if names is None else names[shortage.environment] or "/"
    return f"{shortage.buffer}: {where} needs {shortage.required}, {shortage.capacity} fit"


def _clear(model: Model, contacts: Contacts) -> None:
    for array in (contacts.overflow, contacts.required):
        array.zero_()
    if model.search is not None:
        model.search.overflow.zero_()
        model.search.required.zero_()


def _grown(model: Model, contacts: Contacts, found: list[Shortage]) -> Contacts:
    present = np.diff(contacts.slot_start.numpy()).astype(np.int64)
    whole = (present >= model.environment_capacity).all()
    pairs = {shortage.buffer: shortage.required for shortage in found if shortage.buffer != "contacts"}
    if pairs:
        search = model.search
        if search is None:
            raise PairError("a model without a search has no pairs to grow")
        grow_search(
            model,
            capacity=_more(pairs.get("pair search", 0), model.pair_count),
            sampled_capacity=_more(pairs.get("sampled pairs of the search", 0), search.sampled_capacity),
        )
    wanted: npt.NDArray[np.int64] = present.copy()
    for shortage in found:
        if shortage.buffer == "contacts":
            wanted[shortage.environment] = _more(shortage.required, shortage.capacity)
    if whole:
        # Contacts that had room for all that the pairs could make keep having it.
        return create_contacts(model)
    return create_contacts(model, capacity=np.minimum(wanted, model.environment_capacity))


def _more(required: int, present: int) -> int:
    return present if required <= present else int(np.ceil(HEADROOM * required))
