"""What the built wheels are, before any scene is run: complete, typed, and no more than they declare."""

import importlib.metadata
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import workspace  # noqa: E402

PACKAGES = workspace.packages(ROOT)

# Modules that importing a package must not bring in; `tensorphys` opens a stage only when it is given one.
OPTIONAL = ("torch", "jax", "tensorflow", "pxr", "matplotlib", "tqdm")


@pytest.fixture(scope="module", params=list(PACKAGES))
def package(request: pytest.FixtureRequest) -> workspace.Package:
    return PACKAGES[request.param]


@pytest.fixture
def shipped(package: workspace.Package) -> set[str]:
    """Files that the installed wheel brought."""
    distribution = importlib.metadata.distribution(package.distribution)
    if '"editable":true' in (distribution.read_text("direct_url.json") or "").replace(" ", ""):
        pytest.skip("installed from the working tree, not from a wheel")
    return {str(file) for file in distribution.files or []}


def test_version_is_the_declared_one(package: workspace.Package) -> None:
    assert importlib.metadata.version(package.distribution) == package.version


def test_wheel_carries_types_license_and_every_module(package: workspace.Package, shipped: set[str]) -> None:
    assert f"{package.module}/py.typed" in shipped
    assert any(name.endswith("licenses/LICENSE") for name in shipped)
    sources = {
        file.relative_to(package.source.parent).as_posix()
        for file in package.source.rglob("*")
        if file.is_file()
    }
    missing = {name for name in sources if "__pycache__" not in name} - shipped
    assert missing == set()


def test_wheel_ships_nothing_but_its_package(package: workspace.Package, shipped: set[str]) -> None:
    # Scripts of the command line lie outside of site-packages.
    tops = {name.split("/")[0] for name in shipped} - {".."}
    assert tops == {package.module, f"{package.module}-{package.version}.dist-info"}


def test_import_brings_no_optional_library(package: workspace.Package) -> None:
    # These two work on stages and nothing else.
    on_stages = package.folder in ("usd", "backend")
    forbidden = [name for name in OPTIONAL if not (name == "pxr" and on_stages)]
    program = (
        f"import json, sys, {package.module}; "
        f"print(json.dumps([name for name in {forbidden!r} if name in sys.modules]))"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1]) == []


def test_only_the_usd_packages_need_a_usd_library() -> None:
    def needs(folder: str) -> set[str]:
        names = " ".join(" ".join(other.dependencies) for other in workspace.with_siblings(folder, ROOT))
        return {name for name in ("usd-core", "usd-exchange") if name in names}

    above = {"usd", "tensorphys", "assets", "backend"}
    assert {folder for folder in PACKAGES if needs(folder)} == above


@pytest.mark.parametrize(
    ("system", "machine", "expected"),
    [
        ("linux", "x86_64", {"usd-core"}),
        ("linux", "aarch64", {"usd-exchange"}),
        ("darwin", "arm64", {"usd-core"}),
        ("win32", "AMD64", {"usd-core"}),
    ],
)
def test_exactly_one_usd_library_on_each_platform(system: str, machine: str, expected: set[str]) -> None:
    requirements = pytest.importorskip("packaging.requirements")
    environment = {"sys_platform": system, "platform_machine": machine}
    declared = map(requirements.Requirement, importlib.metadata.requires("tensorphys-usd") or [])
    chosen = {
        requirement.name
        for requirement in declared
        if requirement.name.startswith("usd-")
        and (requirement.marker is None or requirement.marker.evaluate(environment))
    }
    assert chosen == expected
