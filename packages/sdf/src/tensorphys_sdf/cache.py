"""Fields of equal content are made once."""

from __future__ import annotations

import collections
import os
import pathlib
import tempfile
from typing import TYPE_CHECKING, Any

import warp as wp

if TYPE_CHECKING:
    from tensorphys_sdf.field import SignedDistanceField


class FieldCache:
    """Keeps fields by the hash of what they were made of, in memory and, when asked, in files.

    A field is found again only for the same vertices, triangles, parameters and rules, bit for bit.

    Attributes:
        folder: Where files ``<key>.npz`` lie, or None.
        capacity: Fields kept in memory; the one unused for longest leaves first.
    """

    def __init__(self, folder: Any = None, *, capacity: int = 256) -> None:
        self.folder = pathlib.Path(folder) if folder is not None else None
        self.capacity = capacity
        self._fields: collections.OrderedDict[tuple[str, str], SignedDistanceField] = (
            collections.OrderedDict()
        )

    def __len__(self) -> int:
        """Fields in memory."""
        return len(self._fields)

    def get(self, key: str, device: Any = None) -> SignedDistanceField | None:
        """The field of a key on a device, or None."""
        from tensorphys_sdf.storage import load_field

        place = (key, str(wp.get_device(device)))
        found = self._fields.get(place)
        if found is not None:
            self._fields.move_to_end(place)
            return found
        if self.folder is None or not (self.folder / f"{key}.npz").is_file():
            return None
        field = load_field(self.folder / f"{key}.npz", device=device)
        self._keep(place, field)
        return field

    def put(self, field: SignedDistanceField) -> None:
        """Keep a field that has a key."""
        self._keep((field.key, str(field.device)), field)
        if self.folder is None or (self.folder / f"{field.key}.npz").is_file():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        # Written aside and moved, so that another process never reads half a file.
        handle, name = tempfile.mkstemp(suffix=".npz", dir=self.folder)
        os.close(handle)
        field.save(name)
        pathlib.Path(name).replace(self.folder / f"{field.key}.npz")

    def _keep(self, place: tuple[str, str], field: SignedDistanceField) -> None:
        self._fields[place] = field
        self._fields.move_to_end(place)
        while len(self._fields) > self.capacity:
            self._fields.popitem(last=False)
