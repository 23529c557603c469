"""The example of the README runs and prints what it says."""

from __future__ import annotations

import pathlib
import re

import pytest


def test_readme_example(capsys: pytest.CaptureFixture[str]) -> None:
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert example is not None
    assert len(example.group(1).splitlines()) < 20
    scope: dict[str, object] = {}
    exec(compile(example.group(1), "README.md", "exec"), scope)
    assert "[5 1]" in capsys.readouterr().out
