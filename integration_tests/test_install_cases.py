"""Imports on machines that lack optional libraries, and USD libraries of different age."""

import json
import pathlib
import subprocess
import sys
import textwrap

import pytest

PANDA = pathlib.Path(__file__).resolve().parents[1] / "examples" / "panda" / "panda.usdc"

# What a machine may lack. A library that is hidden fails to import exactly as one that is not installed.
HIDE = """
import importlib.abc, sys

class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def run_hidden(program: str, *hidden: str) -> object:
    """Run a program without some libraries, every warning an error; returns the JSON that it prints last."""
    text = HIDE.format(hidden=set(hidden)) + textwrap.dedent(program)
    # Warp 1.19 announces that a later version will not support Python 3.10.
    warnings = ["-W", "error", "-W", "ignore:Support for Python 3.10 is deprecated:FutureWarning"]
    run = subprocess.run([sys.executable, *warnings, "-c", text], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    "hidden",
    [
        pytest.param(("warp", "pxr", "torch", "matplotlib", "tqdm"), id="numpy-only"),
        pytest.param(("warp", "torch", "matplotlib", "tqdm"), id="numpy-and-usd"),
        pytest.param(("pxr", "torch", "matplotlib", "tqdm"), id="numpy-and-warp"),
    ],
)
@pytest.mark.parametrize("module", ["tensorphys", "tensorphys_patterns", "tensorphys_scene"])
def test_import_without_optional_libraries(module: str, hidden: tuple[str, ...]) -> None:
    program = f"import json, {module}\nprint(json.dumps({module}.__name__))"
    assert run_hidden(program, *hidden) == module


def test_torch_frontend_without_torch_says_how_to_install_it() -> None:
    program = """
        import json
        from tensorphys_arrays import get_frontend
        try:
            get_frontend("torch")
        except ImportError as error:
            print(json.dumps(str(error)))
    """
    assert "pip install" in str(run_hidden(program, "torch"))


PARSE = f"""
    import json
    from tensorphys_usd import open_stage, parse_stage
    parsed = parse_stage(open_stage({str(PANDA)!r}))
    print(json.dumps("parsed"))
"""


def test_stage_is_parsed_without_a_warning() -> None:
    assert run_hidden(PARSE) == "parsed"


def test_stage_is_parsed_through_the_older_name_of_the_loader() -> None:
    older = """
    from pxr import UsdPhysics
    new = getattr(UsdPhysics, "UsdPhysicsLoadStageFromPrimRange", None)
    if new is not None:
        del UsdPhysics.UsdPhysicsLoadStageFromPrimRange
        UsdPhysics.LoadUsdPhysicsFromRange = new
    """
    assert run_hidden(older + PARSE) == "parsed"
