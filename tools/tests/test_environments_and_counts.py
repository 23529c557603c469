import importlib.util
import json
import pathlib
import subprocess
import sys
from types import ModuleType

import pytest

import environments

TOOLS = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def counting() -> ModuleType:
    """tools/test.py, loaded under a name that is not the standard library's `test`."""
    spec = importlib.util.spec_from_file_location("run_tests", TOOLS / "test.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["run_tests"] = module
    spec.loader.exec_module(module)
    return module


def test_report_of_a_real_run_is_counted(counting: ModuleType, pytester_run: pathlib.Path) -> None:
    assert counting.read_report(pytester_run) == counting.Counts(passed=2, failed=2, skipped=1)


@pytest.fixture
def pytester_run(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "test_sample.py").write_text(
        "import pytest\n\n"
        "@pytest.mark.parametrize('x', [1, 2])\ndef test_pass(x): pass\n"
        "def test_fail(): assert 1 == 2\n"
        "@pytest.fixture\ndef broken(): raise ValueError\n"
        "def test_error(broken): pass\n"
        "@pytest.mark.skip\ndef test_skip(): pass\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    run = subprocess.run(
        [*command, f"--junitxml={tmp_path}/report.xml", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert run.returncode == 1
    return tmp_path / "report.xml"


def test_sum_over_sessions(counting: ModuleType) -> None:
    reports = {"tests-scene": counting.Counts(5, 0, 1), "integration": counting.Counts(3, 1, 0)}
    sessions = {"tests(scene)": True, "integration": False, "lint": True}
    total, broken = counting.summarise(reports, sessions)
    assert total.render() == "8 passed, 1 failed, 1 skipped"
    assert broken == []


def test_session_that_breaks_without_a_failing_test_counts(counting: ModuleType) -> None:
    total, broken = counting.summarise(
        {"tests-scene": counting.Counts(5)}, {"tests(scene)": False, "types": False}
    )
    assert total.render() == "5 passed, 2 failed, 0 skipped"
    assert broken == ["tests(scene)", "types"]


@pytest.mark.parametrize(
    ("result", "code", "succeeded"),
    [("success", 1, True), ("skipped", 2, True), ("failed", 0, False), ("aborted", -1, False)],
)
def test_only_success_and_skip_are_no_failure(
    counting: ModuleType, tmp_path: pathlib.Path, result: str, code: int, succeeded: bool
) -> None:
    entry = {"name": "tests", "signatures": ["tests(scene)"], "result": result, "result_code": code}
    (tmp_path / "sessions.json").write_text(
        json.dumps({"sessions": [entry, {**entry, "name": "lint", "signatures": []}]})
    )
    expected = {"tests(scene)": succeeded, "lint": succeeded}
    assert counting.read_sessions(tmp_path / "sessions.json") == expected


def test_uv_looks_where_pip_looks() -> None:
    settings = {
        "global.index-url": "https://example.org/simple",
        ":env:.find-links": "/wheels",
        "global.cert": "/ca.pem",
    }
    environment = environments.uv_environment(settings, {"PATH": "/bin"})
    assert environment == {
        "PATH": "/bin",
        "UV_DEFAULT_INDEX": "https://example.org/simple",
        "UV_FIND_LINKS": "/wheels",
        "SSL_CERT_FILE": "/ca.pem",
    }


def test_what_is_said_to_uv_wins() -> None:
    settings = {"global.index-url": "https://example.org/simple"}
    base = {"UV_DEFAULT_INDEX": "https://example.com/other"}
    assert environments.uv_environment(settings, base) == base


def test_local_wheel_must_fit_version_and_interpreter(tmp_path: pathlib.Path) -> None:
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    assert not environments.offers_wheel(str(tmp_path), "torch==2.13.0")
    (tmp_path / "torch-2.13.0+cpu-cp27-cp27-linux_x86_64.whl").touch()
    (tmp_path / f"torch-2.12.0+cpu-{tag}-{tag}-linux_x86_64.whl").touch()
    assert not environments.offers_wheel(f"/nowhere {tmp_path}", "torch==2.13.0")
    (tmp_path / f"torch-2.13.0+cpu-{tag}-{tag}-linux_x86_64.whl").touch()
    assert environments.offers_wheel(f"/nowhere {tmp_path}", "torch==2.13.0")


def test_environment_is_made_and_reused(tmp_path: pathlib.Path) -> None:
    installer = environments.Installer(tmp_path / "uv")
    python = installer.make(tmp_path / "venv")
    assert python.exists()
    stamp = python.lstat().st_mtime_ns
    assert installer.make(tmp_path / "venv") == python
    assert python.lstat().st_mtime_ns == stamp


def test_failing_command_is_named() -> None:
    with pytest.raises(environments.CommandError, match="exit code 3 from: "):
        environments.run([sys.executable, "-c", "raise SystemExit(3)"])
