from __future__ import annotations

import pathlib
import re


def test_the_example_of_the_readme_runs() -> None:
    text = (pathlib.Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict[str, object] = {}
    exec(code, names)  # the documentation itself is under test
    simulation = names["simulation"]
    assert simulation.step_count == 0  # type: ignore[attr-defined]
    assert abs(names["world"][2]) < 2.0  # type: ignore[index]
