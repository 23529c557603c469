"""The example of the README runs and prints what is true."""

from __future__ import annotations

import pathlib
import re

import numpy as np
import pytest


def test_readme_example(capsys: pytest.CaptureFixture[str]) -> None:
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert example is not None
    exec(compile(example.group(1), "README.md", "exec"), {})
    (line,) = capsys.readouterr().out.splitlines()[-1:]
    heights = [float(number) for number in line.strip("[]").split()]
    fall = 0.5 * 9.81 * 0.1**2
    np.testing.assert_allclose(heights, [1 - fall, 1 - fall, 1 + 0.3 - fall, 1 - fall], atol=2e-3)
