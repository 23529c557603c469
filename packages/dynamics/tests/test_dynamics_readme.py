"""The program in the README runs and prints what it says."""

import pathlib
import re

import numpy as np


def test_readme(capsys):
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    (program,) = [block for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "Solver" in block]
    exec(program, {})
    first, second = re.findall(r"\[.*\]", capsys.readouterr().out)[-2:]
    np.testing.assert_allclose(np.fromstring(first[1:-1], sep=" "), [-9.81], rtol=1e-5)
    np.testing.assert_allclose(np.fromstring(second[1:-1], sep=" "), [0, 0, 19.62], atol=1e-3)
