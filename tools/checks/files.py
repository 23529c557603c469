"""Sizes and names of files."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

from checks import Finding

LINE_LIMIT = 600
FORBIDDEN_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "misc"})
_PLACES = (
    "packages/*/src/**/*.py",
    "packages/*/tests/**/*.py",
    "packages/*/bench/**/*.py",
    "packages/*/examples/**/*.py",
)
_ROOT_PLACES = ("tools/**/*.py", "integration_tests/**/*.py", "bench/**/*.py", "examples/**/*.py", "*.py")


def check(root: pathlib.Path) -> Iterator[Finding]:
    """Files that are too long, and modules with a name that explains nothing."""
    for pattern in (*_PLACES, *_ROOT_PLACES):
        for path in sorted(root.glob(pattern)):
            count = len(path.read_text(encoding="utf-8").splitlines())
            if count > LINE_LIMIT:
                yield Finding(
                    path, LINE_LIMIT, "file-size", f"{count} lines, at most {LINE_LIMIT}; it hides two ideas"
                )
            names = {part.removesuffix(".py").strip("_") for part in path.relative_to(root).parts}
            for name in sorted(names & FORBIDDEN_NAMES):
                yield Finding(path, 1, "module-name", f"{name!r} explains nothing; name the idea")
