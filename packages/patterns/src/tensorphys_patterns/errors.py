"""Errors of the pattern language."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["NoMatchError", "PairingError", "PathPatternError", "PatternError"]


class PathPatternError(Exception):
    """Base of every error of this package."""


class PatternError(PathPatternError, ValueError):
    """A text is not a pattern: empty, relative, or with a segment that is no valid expression.

    Attributes:
        pattern: The text as given.
    """

    def __init__(self, pattern: str, reason: str) -> None:
        super().__init__(f"invalid pattern {pattern!r}: {reason}")
        self.pattern = pattern


class NoMatchError(PathPatternError, LookupError):
    """A pattern matches nothing in a tree.

    Attributes:
        pattern: The pattern text.
        nearest_parent: Deepest existing path that the leading segments match (``"/"`` if none).
        near_names: Names below that parent which resemble the segment that failed, closest first.
        hint: What to write instead when the text looks like another dialect, else ``""``.
    """

    def __init__(
        self,
        pattern: str,
        *,
        nearest_parent: str,
        segment: str,
        near_names: Sequence[str],
        hint: str = "",
    ) -> None:
        text = (
            f"pattern {pattern!r} matches nothing: nothing is named {segment!r} below the nearest "
            f"existing parent {nearest_parent!r}"
        )
        text += f" (names there: {', '.join(near_names)})" if near_names else " (it has no children)"
        if hint:
            text += f"; {hint}"
        super().__init__(text)
        self.pattern = pattern
        self.nearest_parent = nearest_parent
        self.segment = segment
        self.near_names = tuple(near_names)
        self.hint = hint


class PairingError(PathPatternError, ValueError):
    """Sensor and filter arguments have shapes that cannot be paired."""
