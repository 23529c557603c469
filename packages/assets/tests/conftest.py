"""Where the tests find what they share."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import asset_stages

# Tests of views of torch are for environments that have it (nox -s tests_torch).
_WITH_TORCH = ["test_assets_torch.py", "test_assets_torch_environments.py"]
collect_ignore = ["lab", *([] if asset_stages.HAS_TORCH else _WITH_TORCH)]


@pytest.fixture(params=asset_stages.LIBRARIES)
def library(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def everywhere(device: str) -> Iterator[None]:
    """Run a test on every device, with scenes and arrays there."""
    asset_stages._DEVICE.append(device)
    yield
    asset_stages._DEVICE.pop()
