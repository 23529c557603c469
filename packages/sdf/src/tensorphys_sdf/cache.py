"""Fields of equal content are made once."""

from __future__ import annotations

import collections
import contextlib
import logging
import os
import pathlib
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import warp as wp

from tensorphys_sdf.errors import FieldFileError

if TYPE_CHECKING:
    from tensorphys_sdf.field import SignedDistanceField

_LOG = logging.getLogger(__name__)
_VARIABLE = "TENSORPHYS_SDF_CACHE"
_OFF = ("", "0", "off", "none")
_LIMIT = 4 << 30


def default_cache_folder() -> pathlib.Path | None:
    """Where fields are kept between runs.

    The environment variable ``TENSORPHYS_SDF_CACHE`` names a folder, or turns the cache off when it is empty, ``0``,
    ``off`` or ``none``. Without it: ``$XDG_CACHE_HOME/tensorphys/sdf`` or ``~/.cache/tensorphys/sdf``, on macOS
    ``~/Library/Caches/tensorphys/sdf``, on Windows ``%LOCALAPPDATA%\\tensorphys\\sdf``.

    Returns:
        The folder, which need not exist, or None when the cache is off or there is no home.
    """
    given = os.environ.get(_VARIABLE)
    if given is not None:
        return None if given.strip().lower() in _OFF else pathlib.Path(given).expanduser()
    try:
        home = pathlib.Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        base = home / "Library" / "Caches"
    elif sys.platform == "win32":
        base = pathlib.Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        base = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "tensorphys" / "sdf"


class FieldCache:
    """Keeps fields by the hash of what they were made of, in memory and, when asked, in files.

    A field is found again only for the same vertices, triangles, parameters and rules, bit for bit. Several processes
    may share a folder: files are written aside and moved into place. What cannot be read or written is made anew, and
    logged; it is no error.

    Attributes:
        folder: Where files ``<key>.npz`` lie, or None.
        capacity: Fields kept in memory; the one unused for longest leaves first.
        limit: Size of all files [bytes]; those unused for longest leave first.
    """

    def __init__(self, folder: Any = None, *, capacity: int = 256, limit: int = _LIMIT) -> None:
        self.folder = pathlib.Path(folder) if folder is not None else None
        self.capacity, self.limit = capacity, limit
        self._fields: collections.OrderedDict[tuple[str, str], SignedDistanceField] = (
            collections.OrderedDict()
        )

    def __len__(self) -> int:
        """Fields in memory."""
        return len(self._fields)

    def holds(self, key: str, device: Any = None) -> bool:
        """Whether the field of a key is in memory."""
        return (key, str(wp.get_device(device))) in self._fields

    def get(self, key: str, device: Any = None) -> SignedDistanceField | None:
        """The field of a key on a device, or None."""
        place = (key, str(wp.get_device(device)))
        found = self._fields.get(place)
        if found is not None:
            self._fields.move_to_end(place)
            return found
        field = self._read(key, device)
        if field is not None:
            self._keep(place, field)
        return field

    def put(self, field: SignedDistanceField) -> None:
        """Keep a field that has a key."""
        self._keep((field.key, str(field.device)), field)
        if self.folder is None:
            return
        path = self.folder / f"{field.key}.npz"
        try:
            self._write(field, path)
            self._shrink(path)
        except OSError as error:
            _LOG.warning("%s: the field is not kept in a file: %s", path, error)

    def _read(self, key: str, device: Any) -> SignedDistanceField | None:
        from tensorphys_sdf.storage import load_field

        if self.folder is None:
            return None
        path = self.folder / f"{key}.npz"
        try:
            if not path.is_file():
                return None
            field = load_field(path, device=device)
            if field.key != key:
                raise FieldFileError(f"holds the field of {field.key}")
            with contextlib.suppress(OSError):
                os.utime(path)  # files unused for longest leave first
            return field
        except (OSError, FieldFileError) as error:
            _LOG.warning("%s: cannot be read, the field is made anew: %s", path, error)
            return None

    @staticmethod
    def _write(field: SignedDistanceField, path: pathlib.Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Written aside and moved, so that another process never reads half a file.
        handle, name = tempfile.mkstemp(prefix=".part-", suffix=".npz", dir=path.parent)
        os.close(handle)
        try:
            field.save(name)
            pathlib.Path(name).replace(path)
        except BaseException:
            pathlib.Path(name).unlink(missing_ok=True)
            raise

    def _shrink(self, written: pathlib.Path) -> None:
        files = []
        for path in written.parent.glob("*.npz"):
            with contextlib.suppress(OSError):  # another process may have removed it
                state = path.stat()
                files.append((state.st_mtime, state.st_size, path))
        total = sum(size for _, size, _ in files)
        for _, size, path in sorted(files):
            if total <= self.limit:
                break
            if path != written:
                path.unlink(missing_ok=True)
                total -= size

    def _keep(self, place: tuple[str, str], field: SignedDistanceField) -> None:
        self._fields[place] = field
        self._fields.move_to_end(place)
        while len(self._fields) > self.capacity:
            self._fields.popitem(last=False)
