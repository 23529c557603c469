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
    lines = capsys.readouterr().out.splitlines()
    assert lines[-3:] == ["[-0.1    0.289  2.   ]", "[ True False False]", "[ 0.  0. -1.]"]
