"""What the parser ignored, corrected or does not support, as data and as text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

_SHOWN_PATHS = 3


@dataclass(frozen=True)
class Finding:
    """One remark about one prim.

    Attributes:
        path: Prim path.
        text: What was ignored, corrected or is not supported; one line.
    """

    path: str
    text: str


class Report:
    """Findings in the order in which they were made; equal ones are kept once."""

    def __init__(self) -> None:
        self._findings: dict[Finding, bool] = {}

    def add(self, path: object, text: str) -> None:
        """Add a finding about a prim: something that has no effect."""
        self._findings.setdefault(Finding(str(path), text), False)

    def correct(self, path: object, text: str) -> None:
        """Add a finding about a prim: something is used in place of what the stage says."""
        self._findings[Finding(str(path), text)] = True

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    def __len__(self) -> int:
        return len(self._findings)

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Findings as (path, text), the form that a scene carries."""
        return tuple((finding.path, finding.text) for finding in self._findings)

    def corrected(self) -> tuple[tuple[str, str], ...]:
        """Findings that say what was used instead, as (path, text)."""
        return tuple((finding.path, finding.text) for finding, used in self._findings.items() if used)

    def text(self) -> str:
        """All findings as lines; those that say the same of several prims share one line."""
        return report_text(self.pairs())


def report_text(findings: tuple[tuple[str, str], ...]) -> str:
    """Lines of a scene's findings; those that say the same of several prims share one line."""
    paths_of: dict[str, list[str]] = {}
    for path, text in findings:
        paths_of.setdefault(text, []).append(path)
    lines = []
    for text, paths in paths_of.items():
        shown = ", ".join(paths[:_SHOWN_PATHS])
        more = f" and {len(paths) - _SHOWN_PATHS} more" if len(paths) > _SHOWN_PATHS else ""
        lines.append(f"{text}: {shown}{more}")
    return "\n".join(lines)
