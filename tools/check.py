"""Run the repository's own checks and print each finding on a line.

python tools/check.py             all of them
python tools/check.py kernels     one
"""

from __future__ import annotations

import argparse
import pathlib
import sys
from collections.abc import Callable, Iterable, Sequence

import workspace
from checks import Finding, contracts, files, imports, kernels, structs, versions

CHECKS: dict[str, Callable[[pathlib.Path], Iterable[Finding]]] = {
    "kernels": kernels.check,
    "structs": structs.check,
    "files": files.check,
    "imports": imports.check,
    "siblings": imports.check_layers,
    "contracts": contracts.check,
    "versions": versions.check,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; exit code 1 when there are findings."""
    parser = argparse.ArgumentParser(description="Check the repository's own rules.")
    parser.add_argument(
        "checks", nargs="*", metavar="CHECK", help=f"any of {', '.join(CHECKS)}; all when left out"
    )
    parser.add_argument("--root", type=pathlib.Path, default=workspace.ROOT)
    options = parser.parse_args(arguments)
    unknown = set(options.checks) - set(CHECKS)
    if unknown:
        parser.error(f"no check {', '.join(sorted(unknown))}")
    findings = [finding for name in options.checks or CHECKS for finding in CHECKS[name](options.root)]
    for finding in findings:
        print(finding.render(options.root))
    print(f"{len(findings)} finding(s)", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    raise SystemExit(main())
