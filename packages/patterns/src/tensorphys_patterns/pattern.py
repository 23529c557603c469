"""Pattern text to compiled segments."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from .errors import PatternError

__all__ = ["Pattern", "Segment", "compile_pattern", "is_plain"]

# What makes a segment more than a plain name. A dot is always taken literally, so it is not here.
_SPECIAL = re.compile(r"[*?\[\](){}|+^$\\]")
# POSIX bracket classes, which Python's expressions lack (C locale).
_POSIX_CLASSES = {
    "[:alnum:]": "0-9A-Za-z",
    "[:alpha:]": "A-Za-z",
    "[:digit:]": "0-9",
    "[:lower:]": "a-z",
    "[:upper:]": "A-Z",
    "[:xdigit:]": "0-9A-Fa-f",
}


@dataclass(frozen=True)
class Segment:
    """One level of a pattern.

    Attributes:
        text: The segment as written.
        literal: True when the text is a plain name.
        accept: Says whether a name matches; ``None`` when every name does.
    """

    text: str
    literal: bool
    accept: Callable[[str], object] | None


@dataclass(frozen=True)
class Pattern:
    """A compiled pattern; make it with :func:`compile_pattern`.

    Attributes:
        text: The pattern as given.
        path: The pattern without trailing slashes.
        segments: One entry for each level below the root.
        literal: True when no segment has pattern characters, so that ``path`` is one plain path.
        hint: What to write instead if the text looks like another dialect, else ``""``.
    """

    text: str
    path: str
    segments: tuple[Segment, ...]
    literal: bool
    hint: str


def is_plain(text: str) -> bool:
    """Whether a text is an absolute path without pattern characters and without trailing slash."""
    return text[:1] == "/" and text[-1] != "/" and _SPECIAL.search(text) is None


def _translate(segment: str) -> str:
    for name, characters in _POSIX_CLASSES.items():
        segment = segment.replace(name, characters)
    return segment.replace(".", r"\.").replace("*", ".*").replace("?", ".")


def _compile_segment(text: str, segment: str) -> Segment:
    if not _SPECIAL.search(segment):
        return Segment(segment, True, segment.__eq__)
    if not segment.strip("*"):
        return Segment(segment, False, None)
    if segment.endswith("*") and not _SPECIAL.search(segment[:-1]):
        prefix = segment[:-1]
        return Segment(segment, False, lambda name: name.startswith(prefix))
    # The alternation of `a|b|c` is deliberately not grouped: that is how the tensor API reads it.
    expression = f"^{_translate(segment)}\\Z"
    try:
        with warnings.catch_warnings():
            # Set operations that a later Python may give a meaning; here they are plain characters.
            warnings.simplefilter("ignore", FutureWarning)
            compiled = re.compile(expression, re.DOTALL)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(
            text,
            f"segment {segment!r} is no valid expression ({error}); '/' always separates segments, "
            "'[...]', '(a|b)', '+' and '{n}' are read as in regular expressions, '*' and '?' as in globs",
        ) from error
    return Segment(segment, False, compiled.search)


def _dialect_hint(path: str) -> str:
    if ".*" in path or ".+" in path:
        written = ".*" if ".*" in path else ".+"
        return (
            f"{written!r} is not a glob, a dot is taken literally here: write '*', as in "
            f"{path.replace('.*', '*').replace('.+', '*')!r}"
        )
    if "**" in path:
        return "'**' matches one level like '*', a pattern has one segment for each level"
    if re.search(r"\{[^}]*,[^}]*[^\d,}][^}]*\}|\{[^\d,}][^}]*,[^}]*\}", path):
        return "'{a,b}' is no alternation here: write '(a|b)'"
    return ""


@lru_cache(maxsize=4096)
def compile_pattern(text: str) -> Pattern:
    """Compile a pattern; results are cached by text.

    Each segment is one level. In a segment ``*`` stands for any characters, ``?`` for one, a dot for
    itself, and everything else is a regular expression that must match the whole name: ``[0-9]``,
    ``(a|b)``, ``x+``. An alternation without parentheses keeps the reading of the tensor API: the
    first part is a prefix, the last a suffix, those between may stand anywhere.

    Args:
        text: Absolute pattern such as ``/World/envs/env_*/Robot``; trailing slashes are dropped.

    Returns:
        The compiled pattern.

    Raises:
        PatternError: The text is empty, relative, has an empty segment, or a segment is no valid
            expression.
    """
    if not isinstance(text, str):
        raise PatternError(repr(text), f"expected a str, given {type(text).__name__}")
    if not text:
        raise PatternError(text, "it is empty; a pattern starts with '/'")
    if not text.startswith("/"):
        raise PatternError(text, f"it is relative; a pattern starts with '/', as in {'/' + text!r}")
    path = text.rstrip("/")
    names = path[1:].split("/") if path else []
    if not all(names):
        raise PatternError(text, "it has an empty segment ('//')")
    segments = tuple(_compile_segment(text, name) for name in names)
    literal = all(segment.literal for segment in segments)
    return Pattern(text, path or "/", segments, literal, _dialect_hint(path))
