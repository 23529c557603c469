"""The example of the README runs and prints what is true."""

from __future__ import annotations

import pathlib
import re

import pytest


def test_readme_example(capsys: pytest.CaptureFixture[str]) -> None:
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert example is not None
    exec(compile(example.group(1), "README.md", "exec"), {})
    tip, support = capsys.readouterr().out.splitlines()[-2:]
    assert tip.startswith("tip [0.5")
    # 5 kg hang from the wall.
    assert support == "support 49.0 N"
