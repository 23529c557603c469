"""Patterns against the prims of a simulation, with errors of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import tensorphys_patterns
from tensorphys.errors import TensorApiError
from tensorphys_engine import SceneTree
from tensorphys_patterns import Matches

__all__ = ["NoMatchError", "NotSuitableError", "PairingError", "PatternError", "match_prims", "shorten"]

_SHOWN = 5


class PatternError(TensorApiError, tensorphys_patterns.PatternError):
    """A text is not a pattern: empty, relative, or with a segment that is no valid expression.

    Attributes:
        pattern: The text as given.
    """

    def __init__(self, error: tensorphys_patterns.PatternError) -> None:
        Exception.__init__(self, str(error))
        self.pattern = error.pattern


class NoMatchError(TensorApiError, tensorphys_patterns.NoMatchError):
    """A pattern matches nothing in the simulation.

    Attributes:
        pattern: The pattern text.
        nearest_parent: Deepest existing path that the leading segments match (``"/"`` if none).
        near_names: Names below that parent which resemble the segment that failed, closest first.
        hint: What to write instead when the text looks like another dialect, else ``""``.
    """

    def __init__(self, error: tensorphys_patterns.NoMatchError) -> None:
        Exception.__init__(self, str(error))
        self.pattern = error.pattern
        self.nearest_parent = error.nearest_parent
        self.segment = error.segment
        self.near_names = error.near_names
        self.hint = error.hint


class PairingError(TensorApiError, tensorphys_patterns.PairingError):
    """Sensor and filter patterns of a contact view that cannot be paired."""


class NotSuitableError(NoMatchError):
    """The prims that a pattern matches are not what the view is made of.

    Attributes:
        paths: Paths that the patterns match.
    """

    def __init__(self, pattern: str, kind: str, paths: Sequence[str], hint: str) -> None:
        Exception.__init__(
            self, f"pattern {pattern} matches {len(paths)} prims, but none is {kind}: {shorten(paths)}{hint}"
        )
        self.pattern = pattern
        self.paths = tuple(paths)
        self.nearest_parent = paths[0] if paths else "/"
        self.segment = ""
        self.near_names = ()
        self.hint = hint


def shorten(paths: Sequence[str]) -> str:
    """The first few paths as text."""
    return ", ".join(paths[:_SHOWN]) + (", ..." if len(paths) > _SHOWN else "")


def match_prims(
    patterns: str | Sequence[str], tree: SceneTree, on_no_match: Literal["raise", "skip"] = "raise"
) -> Matches:
    """Prims that one pattern or a list matches, in list order, then in that of the stage.

    Args:
        patterns: Patterns.
        tree: All prims of the simulation.
        on_no_match: ``"raise"``, or ``"skip"`` to log a pattern without hits as an error and go on.

    Raises:
        PatternError: A text is no pattern.
        NoMatchError: A pattern matches nothing and ``on_no_match`` is ``"raise"``.
    """
    try:
        return tensorphys_patterns.resolve(patterns, tree, on_no_match=on_no_match)
    except tensorphys_patterns.NoMatchError as error:
        raise NoMatchError(error) from None
    except tensorphys_patterns.PatternError as error:
        raise PatternError(error) from None
