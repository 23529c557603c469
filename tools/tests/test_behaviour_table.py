"""docs/behaviours.md names tests that exist, and leaves none of the behaviours out."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "behaviours.md").read_text(encoding="utf-8")
NAMES = re.findall(r"`([\w/]+\.py)::(\w+)`", PAGE)


@pytest.mark.parametrize(("file", "name"), sorted(set(NAMES)))
def test_each_test_exists(file: str, name: str) -> None:
    folder = ROOT if "/" in file else ROOT / "packages" / "tensorphys" / "tests"
    assert re.search(rf"^def {name}\(", (folder / file).read_text(encoding="utf-8"), re.MULTILINE)


def test_each_behaviour_has_a_test() -> None:
    table = PAGE.partition("## Real-world cases")[0]
    found: set[int] = set()
    for cell in re.findall(r"^\| (\d[\d, –]*) ", table, re.MULTILINE):
        for part in cell.replace(" ", "").strip(",").split(","):
            first, _, last = part.strip("–").partition("–")
            found |= set(range(int(first), int(last or first) + 1))
    assert found == set(range(1, 116))
