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
    body, distance = capsys.readouterr().out.split()[-2:]
    # Two steps of free fall from a height of 1 m; half of the box is 0.1 m.
    assert body == "/World/scene_0/box/base_link"
    assert float(distance) == pytest.approx(3.9 + 0.5 * 9.81 / 60**2, abs=1e-4)
