"""Time samples of many attributes, kept as arrays while they are recorded and written as text at the end.

Setting one sample through OpenUSD takes microseconds; NumPy and string formatting write it in a fraction of one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# Bytes of recorded numbers after which they become text.
_CHUNK = 2**25
# An attribute of the layer whose default is a number that stands for its samples.
_PLACE = re.compile(
    r"^( *\w+(?:\[\])? (?:xformOp:(?:translate|orient|transform):tensorphys|state:[\w:]+|points|positions|velocities))"
    r" = \W*(\d+).*$",
    re.MULTILINE,
)


class Samples:
    """Samples of one kind of attribute for many prims.

    Args:
        count: Number of prims.
        pattern: Text of one value with a %-format for each number.
        width: Numbers of one value, where it is not fixed.
        keep: Whether all frames stay numbers.

    Attributes:
        frames: Time codes and values that are not text yet, values of shape [count, numbers].
    """

    def __init__(self, count: int, pattern: str, *, width: int = 0, keep: bool = False) -> None:
        self.width = width
        self._keep = keep
        self._count = count
        self._pattern = pattern
        self.frames: dict[float, Array] = {}
        self._written: list[list[str]] = []
        self._bytes = 0

    def add(self, code: float, values: Array) -> None:
        """Add the values of all prims at a time code; the last ones given for it count."""
        self.frames[code] = values
        self._bytes += values.nbytes
        if self._bytes > _CHUNK and not self._keep:
            self._flush()

    def _flush(self) -> None:
        codes = sorted(self.frames)
        rows = np.stack([self.frames[code] for code in codes], axis=1).reshape(self._count, -1).tolist()
        pattern = ", ".join([f"{code:.12g}: {self._pattern}" for code in codes])
        self._written.append([pattern % tuple(row) for row in rows])
        self.frames = {}
        self._bytes = 0

    @property
    def empty(self) -> bool:
        """Whether there is no sample."""
        return not self.frames and not self._written

    def texts(self) -> list[str]:
        """Samples of each prim as text; of two with one time code OpenUSD takes the last."""
        if self.frames:
            self._flush()
        if len(self._written) == 1:
            return self._written[0]
        return [", ".join(parts) for parts in zip(*self._written, strict=True)]


def filled(text: str, samples: Sequence[Samples], rows: Sequence[tuple[int, int]]) -> str:
    """Text of a layer with samples in the place of numbers.

    Args:
        text: Text in which the default of attribute k is made of the number k.
        samples: Samples.
        rows: Which samples, and which prim among them, attribute k has.
    """
    texts = [item.texts() if not item.empty else None for item in samples]

    def sampled(match: re.Match[str]) -> str:
        index, row = rows[int(match[2])]
        values = texts[index]
        return match[1] if values is None else f"{match[1]}.timeSamples = {{ {values[row]} }}"

    return _PLACE.sub(sampled, text)
