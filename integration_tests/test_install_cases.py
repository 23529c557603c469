"""Imports on machines that lack optional libraries, and USD libraries of different age."""

import json
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
PANDA = ROOT / "examples" / "panda" / "panda.usdc"

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


def test_numpy_and_warp_alone_simulate() -> None:
    """Case 132, environment C: no USD library, no SciPy, no PyTorch, no GPU needed."""
    program = """
    import json
    import tensorphys
    from tensorphys_engine.testing import ball_scene

    view = tensorphys.create_simulation_view("numpy", scene=ball_scene(2, spacing=3.0), device="cpu")
    bodies = view.create_rigid_body_view("/World/envs/env_*/ball")
    for _ in range(24):
        view.step(1.0 / 240.0)
    print(json.dumps(bodies.get_velocities()[:, 2].tolist()))
    """
    found = run_hidden(program, "pxr", "scipy", "torch", "matplotlib", "tqdm")
    assert found == pytest.approx([-0.981, -0.981], rel=1e-4)


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


def without_usd() -> list[str]:
    """Import names of the packages that declare neither a USD library nor a package that does."""
    declared = {}
    for folder in sorted((ROOT / "packages").iterdir()):
        text = (folder / "pyproject.toml").read_text(encoding="utf-8")
        name = re.search(r'^name = "(.*)"', text, re.M)
        block = re.search(r"^dependencies = \[(.*?)^\]", text, re.M | re.S)
        assert name is not None
        found = re.findall(r'"([A-Za-z0-9-]+)', block.group(1)) if block else []
        declared[name.group(1)] = set(found)
    needs = {"usd-core", "usd-exchange"}
    while more := {name for name, found in declared.items() if found & needs} - needs:
        needs |= more
    return [name.replace("-", "_") for name in declared if name not in needs]


def test_only_the_usd_package_and_what_stands_on_it_need_a_usd_library() -> None:
    found = set(without_usd())
    assert {"tensorphys_patterns", "tensorphys_contact", "tensorphys_dynamics", "tensorphys_engine"} <= found
    assert "tensorphys_usd" not in found


@pytest.mark.parametrize("module", without_usd())
def test_packages_that_declare_no_usd_library_import_without_one(module: str) -> None:
    program = f"import json, {module}\nprint(json.dumps({module}.__name__))"
    assert run_hidden(program, "pxr") == module


def test_on_aarch64_another_wheel_brings_the_usd_library() -> None:
    """usd-core has no wheel for Linux on aarch64; a marker chooses usd-exchange there, and never both."""
    markers = pytest.importorskip("packaging.markers", reason="packaging evaluates the markers")
    text = (ROOT / "packages" / "usd" / "pyproject.toml").read_text(encoding="utf-8")
    chosen = dict(re.findall(r'"(usd-(?:core|exchange))[^;"]*; ([^"]*)"', text))
    assert set(chosen) == {"usd-core", "usd-exchange"}
    for system, machine, expected in (
        ("linux", "aarch64", "usd-exchange"),
        ("linux", "x86_64", "usd-core"),
        ("darwin", "arm64", "usd-core"),
        ("win32", "AMD64", "usd-core"),
    ):
        environment = {"sys_platform": system, "platform_machine": machine}
        taken = [name for name, marker in chosen.items() if markers.Marker(marker).evaluate(environment)]
        assert taken == [expected], (system, machine)


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
