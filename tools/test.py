"""Run the default test sessions on a fresh machine and end with the counts.

    python3 tools/test.py                          all default sessions
    python3 tools/test.py "tests(scene)" lint      some of them

Makes `.nox/runner` with nox in it, runs the sessions, and adds up the JUnit reports of every pytest run. The last
line is `N passed, M failed, K skipped`. A session that fails without a failing test (lint, types, docs, or a crash)
counts as one failure and is named.
"""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence

import environments

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass(frozen=True)
class Counts:
    """Outcome of tests."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def render(self) -> str:
        """The closing line."""
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def read_report(path: pathlib.Path) -> Counts:
    """Counts of one JUnit report; an error counts as a failure."""
    total = Counts()
    for suite in ET.parse(path).getroot().iter("testsuite"):
        number = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
        failed = number["failures"] + number["errors"]
        # An error in a teardown is reported beside the pass of the same test.
        passed = max(0, number["tests"] - failed - number["skipped"])
        total += Counts(passed, failed, number["skipped"])
    return total


def summarise(reports: Mapping[str, Counts], sessions: Mapping[str, bool]) -> tuple[Counts, list[str]]:
    """Total counts, and the sessions that failed without a failing test.

    Args:
        reports: Counts by the name of the report's file, without suffix.
        sessions: Whether each nox session succeeded, by its name.
    """
    total = sum(reports.values(), Counts())
    broken = []
    for session, succeeded in sessions.items():
        name = session.replace("(", "-").replace(")", "").replace("'", "").replace("/", "-")
        if not succeeded and reports.get(name, Counts()).failed == 0:
            broken.append(session)
            total += Counts(failed=1)
    return total, broken


def read_sessions(path: pathlib.Path) -> dict[str, bool]:
    """Whether each session of a nox report succeeded; a session that skips itself did."""
    entries = json.loads(path.read_text(encoding="utf-8"))["sessions"]
    return {
        (entry["signatures"] or [entry["name"]])[0]: entry["result"] in ("success", "skipped")
        for entry in entries
    }


def main(arguments: Sequence[str]) -> int:
    """Entry point; exit code 1 when anything failed."""
    home = ROOT / ".nox"
    reports = home / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    for old in reports.iterdir():
        old.unlink()
    try:
        installer = environments.Installer(home / "uv")
        python = installer.make(home / "runner")
        installer.install(python, "nox>=2024.10.9", "uv" if installer.uv else "virtualenv")
    except environments.CommandError as error:
        print(f"test: {error}", file=sys.stderr)
        print(Counts(failed=1).render())
        return 1
    environment = dict(installer.environment)
    environment["PATH"] = os.pathsep.join([str(python.parent), environment.get("PATH", "")])
    outcome = home / "reports" / "sessions.json"
    command = [str(python), "-m", "nox", "--report", str(outcome), *(["-s", *arguments] if arguments else [])]
    result = subprocess.run(command, cwd=ROOT, env=environment, check=False)
    ended = read_sessions(outcome) if outcome.exists() else {}
    total, broken = summarise({file.stem: read_report(file) for file in reports.glob("*.xml")}, ended)
    if result.returncode and total.failed == 0:
        total += Counts(failed=1)
        broken.append("nox itself")
    for session in broken:
        print(f"failed without a failing test: {session}")
    print(total.render(), flush=True)
    return 1 if total.failed else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
