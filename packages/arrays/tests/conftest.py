"""Fixtures of the frontends; torch tests are skipped without torch unless it is required."""

from __future__ import annotations

import importlib.util
import os

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "torch: needs PyTorch; skipped without it unless TENSORPHYS_REQUIRE_TORCH=1"
    )


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("torch") and importlib.util.find_spec("torch") is None:
        if os.environ.get("TENSORPHYS_REQUIRE_TORCH") == "1":
            pytest.fail("TENSORPHYS_REQUIRE_TORCH=1, but PyTorch is not installed", pytrace=False)
        pytest.skip("PyTorch is not installed")
