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
    (stretch,) = capsys.readouterr().out.splitlines()[-1:]
    value = re.fullmatch(r"stretch ([0-9.]+) %", stretch)
    assert value is not None
    assert 0.0 < float(value.group(1)) < 1.0
