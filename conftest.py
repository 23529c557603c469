"""Test configuration of the whole repository: Hypothesis profiles, the device fixture, CUDA policy.

A package's tests run with nothing but that package's dependencies installed, so Warp is optional here.
"""

from __future__ import annotations

import functools
import importlib.util
import os

import pytest
from hypothesis import HealthCheck, settings

# The first example of a test may compile a Warp module, which no deadline survives.
_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("dev", max_examples=25, deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.register_profile(
    "ci",
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=_SLOW_IS_FINE,
)
settings.register_profile("nightly", max_examples=2000, deadline=None, suppress_health_check=_SLOW_IS_FINE)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))


@functools.cache
def _warp_installed() -> bool:
    return importlib.util.find_spec("warp") is not None


@functools.cache
def _cuda_devices() -> tuple[str, ...]:
    """Alias of the first CUDA device, or nothing."""
    if not _warp_installed():
        return ()
    import warp as wp

    return ("cuda:0",) if wp.get_cuda_device_count() > 0 else ()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--cuda``."""
    parser.addoption(
        "--cuda",
        choices=("auto", "require", "off"),
        default="auto",
        help="auto: use CUDA when there is a device; require: fail without one; off: CPU only",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Silence Warp's start-up banner before any test module initialises it."""
    if _warp_installed():
        import warp as wp

        wp.config.log_level = wp.LOG_WARNING
    if config.getoption("--cuda") == "require" and not _cuda_devices():
        raise pytest.UsageError("--cuda=require: Warp finds no CUDA device on this machine")


def _devices(config: pytest.Config) -> list[str]:
    return ["cpu"] if config.getoption("--cuda") == "off" else ["cpu", *_cuda_devices()]


def pytest_report_header(config: pytest.Config) -> str:
    """Say which devices the tests run on, so that a missing GPU is never silent."""
    if not _warp_installed():
        return "devices: none (Warp is not installed in this environment)"
    return f"devices: {', '.join(_devices(config))} (--cuda={config.getoption('--cuda')})"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that takes ``device`` on the CPU, and on CUDA when there is one."""
    if "device" in metafunc.fixturenames:
        marks = {"cpu": [], "cuda:0": [pytest.mark.cuda]}
        params = [pytest.param(name, marks=marks[name]) for name in _devices(metafunc.config)]
        metafunc.parametrize("device", params, indirect=True, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip tests marked ``cuda`` where no CUDA device is used."""
    if len(_devices(config)) > 1:
        return
    skip = pytest.mark.skip(reason="needs a CUDA device")
    for item in items:
        if item.get_closest_marker("cuda"):
            item.add_marker(skip)


@pytest.fixture(scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """Warp device alias of this run of the test: ``cpu`` or ``cuda:0``."""
    name: str = request.param
    return name
