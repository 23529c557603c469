"""Write the measured numbers of the integration tests into docs/verification.md.

    python3 -m pytest integration_tests --junitxml=report.xml
    python3 tools/verification_table.py report.xml

The tests leave each number with its bound in the JUnit report (`measure` in `integration_tests/conftest.py`). Equal texts
of one file become one row with the number that comes closest to its bound.
"""

from __future__ import annotations

import argparse
import pathlib
import xml.etree.ElementTree as ET

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "verification.md"
START, END = "<!-- measured: start -->", "<!-- measured: end -->"


def rows(report: pathlib.Path) -> dict[tuple[str, str], tuple[str, str, str, int]]:
    """Measured number, bound, unit and count by file and text, in the order of the report."""
    found: dict[tuple[str, str], tuple[str, str, str, int]] = {}
    for case in ET.parse(report).getroot().iter("testcase"):
        file = case.get("classname", "").rpartition(".")[2]
        for entry in case.iter("property"):
            if entry.get("name") != "measured":
                continue
            # Texts hold |L|: the last three parts are the numbers and the unit.
            text, value, bound, unit = entry.get("value", "").rsplit("|", 3)
            before = found.get((file, text))
            if before is None:
                found[file, text] = (value, bound, unit, 1)
                continue
            worse = float(value) - float(bound) > float(before[0]) - float(before[1])
            kept = (value, bound) if worse else before[:2]
            found[file, text] = (*kept, unit, before[3] + 1)
    return found


def table(report: pathlib.Path) -> str:
    """The rows as Markdown, one table a file."""
    lines: list[str] = []
    current = ""
    for (file, text), (value, bound, unit, count) in rows(report).items():
        if file != current:
            current = file
            lines += [
                "",
                f"### `integration_tests/{file}.py`",
                "",
                "| what | measured | at most |",
                "|---|---|---|",
            ]
        what = text.replace("|", "\\|") + (f" (worst of {count})" if count > 1 else "")
        unit = f" {unit}" if unit else ""
        lines.append(f"| {what} | {value}{unit} | {bound}{unit} |")
    return "\n".join([*lines, ""])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("report", type=pathlib.Path)
    arguments = parser.parse_args()
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    if not rest or not after:
        raise SystemExit(f"{PAGE} has no lines {START} and {END}")
    PAGE.write_text(f"{before}{START}\n{table(arguments.report)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
