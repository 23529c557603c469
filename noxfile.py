"""The one interface of CI and contributors: `nox -l` lists the sessions.

Default sessions, in this order: lint, types, tests (one for each package), integration, peers, docs, and tests_torch
where the machine has the pinned CPU wheel at hand. Each session that runs pytest leaves a JUnit report in `.nox/reports`,
from which `tools/test.py` takes the counts.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import sys
import tempfile

import nox

ROOT = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))

import environments  # noqa: E402
import workspace  # noqa: E402
from checks import versions  # noqa: E402

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.reuse_venv = "yes"
nox.options.error_on_missing_interpreters = True

PACKAGES = list(workspace.packages(ROOT))
REPORTS = ROOT / ".nox" / "reports"
TEST_TOOLS = ("pytest>=8", "hypothesis>=6.100")
# Pinned exactly: a range makes the resolver take a CUDA build of several GB.
TORCH = "torch==2.13.0"
LAB = "isaaclab==3.0.0"
LAB_NEEDS = ("lazy_loader", "prettytable", "flaky", "gymnasium", "psutil", "packaging", "tqdm", "pyyaml")
LINKS = os.environ.get("UV_FIND_LINKS") or os.environ.get("PIP_FIND_LINKS") or ""

nox.options.sessions = ["lint", "types", "tests", "integration", "peers", "docs"]
if environments.offers_wheel(LINKS, TORCH):
    nox.options.sessions.append("tests_torch")


def _install(session: nox.Session, *arguments: str) -> None:
    """Install; wheels that the machine offers to pip are offered to uv as well."""
    session.install(*arguments, env={"UV_FIND_LINKS": LINKS} if LINKS else {})


def _install_editable(session: nox.Session, folders: list[str], *others: str, extra: str = "") -> None:
    """Install packages from the working tree with what they declare, and nothing else of ours.

    The extra is that of the named packages; the siblings that they need come without it.
    """
    chosen = {
        package.folder: package for folder in folders for package in workspace.with_siblings(folder, ROOT)
    }
    paths = []
    for folder, package in chosen.items():
        paths += ["-e", f"{package.path}[{extra}]" if extra and folder in folders else str(package.path)]
    _install(session, *paths, *others)


def _pytest(session: nox.Session, *arguments: str, none_is_fine: bool = False) -> None:
    """Run pytest from the root, with a JUnit report that is named after the session."""
    REPORTS.mkdir(parents=True, exist_ok=True)
    name = session.name.replace("(", "-").replace(")", "").replace("'", "").replace("/", "-")
    session.run(
        "pytest",
        f"--junitxml={REPORTS / name}.xml",
        *arguments,
        *session.posargs,
        # Exit code 5: nothing was collected.
        success_codes=[0, 5] if none_is_fine else [0],
    )


@nox.session
@nox.parametrize("package", PACKAGES, ids=PACKAGES)
def tests(session: nox.Session, package: str) -> None:
    """Tests of one package with only what that package declares installed, its extra `testing` included."""
    _install_editable(session, [package], *TEST_TOOLS, extra="testing")
    _pytest(session, "-m", "not slow", f"packages/{package}/tests")


@nox.session
def slow(session: nox.Session) -> None:
    """Tests marked slow, of all packages."""
    _install_editable(session, PACKAGES, *TEST_TOOLS, extra="testing")
    _pytest(session, "-m", "slow", "packages", "integration_tests", none_is_fine=True)


@nox.session(reuse_venv=False)
def integration(session: nox.Session) -> None:
    """Whole scenes, against wheels as they would be published."""
    _install(session, "build", "hatchling", *TEST_TOOLS)
    with tempfile.TemporaryDirectory() as folder:
        wheels = [
            _build_wheel(session, ROOT / "packages" / package, pathlib.Path(folder)) for package in PACKAGES
        ]
        _install(session, *map(str, wheels))
    _pytest(session, "-m", "not slow and not robots", "integration_tests")


def _build_wheel(session: nox.Session, source: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Build one wheel with the hatchling of the session's environment."""
    with tempfile.TemporaryDirectory(dir=folder) as out:
        session.run(
            "python", "-m", "build", "--wheel", "--no-isolation", "--outdir", out, str(source), silent=True
        )
        (wheel,) = pathlib.Path(out).glob("*.whl")
        return pathlib.Path(shutil.move(str(wheel), folder))


@nox.session
def lint(session: nox.Session) -> None:
    """Ruff, the import contracts, the checks in tools/ and the tests of those checks."""
    _install(
        session,
        "ruff",
        "import-linter>=2.1",
        "build",
        "hatchling",
        "tomli; python_version < '3.11'",
        *TEST_TOOLS,
    )
    # All of them run, so that one round shows everything there is to mend.
    commands = {
        "ruff check": ("ruff", "check", "."),
        "ruff format": ("ruff", "format", "--check", "."),
        "tools/check.py": ("python", "tools/check.py"),
    }
    failed = []
    for name, command in commands.items():
        try:
            session.run(*command)
        except nox.command.CommandFailed:
            failed.append(name)
    _pytest(session, "tools/tests")
    if failed:
        session.error(f"failed: {', '.join(failed)}")


@nox.session
def types(session: nox.Session) -> None:
    """Mypy in strict mode over host code; kernel modules are exempt."""
    if sys.version_info.minor < 11:
        session.skip("needs Python >= 3.11, as the NumPy does whose types the sources are checked against")
    _install(session, "mypy>=1.14", "numpy", "nox", "tomli", *TEST_TOOLS)
    sources = [str(package.path / "src") for package in workspace.packages(ROOT).values()]
    session.run("mypy", *sources, "tools", "noxfile.py", env={"MYPYPATH": os.pathsep.join(sources)})


@nox.session
def tests_torch(session: nox.Session) -> None:
    """Tests that use PyTorch: the array frontends and the tensor API through them."""
    _install_editable(session, PACKAGES, TORCH, *TEST_TOOLS, extra="testing")
    folders = [f"packages/{package}/tests" for package in ("arrays", "tensorphys", "assets", "backend")]
    _pytest(session, "-m", "not slow", *folders)


@nox.session
def isaaclab(session: nox.Session) -> None:
    """Isaac Lab's interface suites against the assets, and the interface table against its base classes.

    It needs Python 3.12, where Isaac Lab is published, and a torch for it; where one of them is not to be had, the session
    says so and is skipped.
    """
    if f"{sys.version_info.major}.{sys.version_info.minor}" != "3.12":
        session.skip("isaaclab 3.0.0 is published for Python 3.12; run this session with that interpreter")
    try:
        _install_editable(session, PACKAGES, TORCH, *TEST_TOOLS)
        # Without its dependencies, most of which are renderers and trainers; these are what its base classes import.
        _install(session, "--no-deps", LAB)
        _install(session, *LAB_NEEDS)
    except nox.command.CommandFailed:
        session.skip(f"{LAB} or {TORCH} cannot be installed here")
    session.run("python", "packages/assets/tests/lab/table.py")
    # It fails where more fails than what docs/compatibility.md lists with its reason.
    session.run("python", "packages/assets/tests/lab/suites.py", "-W", "ignore", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The documentation; a warning is an error."""
    _install_editable(
        session, PACKAGES, "sphinx>=8", "myst-parser>=4", "furo", "tomli; python_version < '3.11'"
    )
    session.run("sphinx-build", "-W", "-n", "-E", "-q", "-b", "html", "docs", "docs/_build/html")


@nox.session
def build(session: nox.Session) -> None:
    """Source distributions and wheels of all packages, into dist/."""
    _install(session, "build", "hatchling")
    for package in PACKAGES:
        session.run("python", "-m", "build", "--no-isolation", "--outdir", "dist", f"packages/{package}")


@nox.session
def bench(session: nox.Session) -> None:
    """Each measurement, or one with its options: `nox -s bench -- quantities --counts 1 256`; `-- list` names them."""
    _install_editable(session, PACKAGES)
    if session.posargs:
        session.run("python", "tools/bench", *session.posargs)
        return
    names = session.run("python", "tools/bench", "list", silent=True)
    for line in str(names).splitlines():
        session.run("python", "tools/bench", line.split()[0])


@nox.session
def cuda(session: nox.Session) -> None:
    """All tests of CUDA devices; fails where there is none."""
    _install_editable(session, PACKAGES, *TEST_TOOLS, extra="testing")
    _pytest(session, "--cuda=require", "-m", "cuda", "packages", "integration_tests")


@nox.session
def peers(session: nox.Session) -> None:
    """Tests marked peers: against other engines, which no package depends on but in its extra `peers`."""
    _install_editable(session, PACKAGES, *TEST_TOOLS, extra="testing,peers")
    _pytest(session, "-m", "peers", "packages", "integration_tests")


@nox.session
def robots(session: nox.Session) -> None:
    """Fetch and convert real robots, and run the tests marked robots on them."""
    folder = ROOT / ".nox" / "fetched_robots"
    # In a process of its own: the converters get an environment that has nothing of this one.
    session.run(sys.executable, "tools/fetch_robots.py", str(folder), external=True)
    _install_editable(session, PACKAGES, *TEST_TOOLS, extra="testing")
    session.env["TENSORPHYS_ROBOTS"] = str(folder)
    _pytest(session, "packages/usd/tests/test_usd_robots.py", "integration_tests/test_real_robots.py")


@nox.session(reuse_venv=False)
def compat(session: nox.Session) -> None:
    """Each package at head against the oldest released sibling versions that it declares."""
    _install(session, "build", "hatchling")
    installer = environments.Installer(ROOT / ".nox" / "uv")
    REPORTS.mkdir(parents=True, exist_ok=True)
    tried = 0
    failed = []
    for package in workspace.packages(ROOT).values():
        oldest = versions.oldest_siblings(ROOT, package)
        if not oldest:
            session.log(f"{package.folder}: no sibling that it declares has a release tag")
            continue
        tried += 1
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            wheels = [_build_wheel(session, package.path, folder)]
            for needed in workspace.with_siblings(package.folder, ROOT)[:-1]:
                source = needed.path
                if needed.folder in oldest:
                    source = versions.export_tag(
                        ROOT, oldest[needed.folder], needed.folder, folder / "at_tag"
                    )
                wheels.append(_build_wheel(session, source, folder))
            python = installer.make(folder / "venv")
            # What its tests need comes with the extra; the wheels of the siblings are on the command line.
            head = f"{package.distribution}[testing] @ {wheels[0].as_uri()}"
            installer.install(python, head, *map(str, wheels[1:]), *TEST_TOOLS)
            report = f"--junitxml={REPORTS / f'compat-{package.folder}.xml'}"
            command = ("-m", "pytest", report, "-m", "not slow", f"packages/{package.folder}/tests")
            try:
                session.run(str(python), *command, external=True)
            except nox.command.CommandFailed:
                failed.append(package.folder)
    if tried == 0:
        session.skip("no package has a release tag yet")
    if failed:
        session.error(f"failed with its oldest siblings: {', '.join(failed)}")


@nox.session
def changelog(session: nox.Session) -> None:
    """Write the fragments of a package into its changelog: `nox -s changelog -- scene 0.1.1`."""
    if len(session.posargs) != 2 or session.posargs[0] not in PACKAGES:
        session.error(f"give a package ({', '.join(PACKAGES)}) and its new version")
    package, version = session.posargs
    _install(session, "towncrier>=24.8")
    # Towncrier looks for fragments beside its configuration unless told where the package is.
    session.run(
        *("towncrier", "build", "--yes", "--config", "pyproject.toml", "--dir", f"packages/{package}"),
        *("--name", workspace.distribution_name(package), "--version", version),
    )
