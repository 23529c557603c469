"""The conformance battery on this engine."""

from __future__ import annotations

from typing import Any

import pytest

from tensorphys_backend import TensorPhysBackend
from tensorphys_backend.testing import CHECKS, run_battery


def make(stage: Any) -> TensorPhysBackend:
    return TensorPhysBackend(stage=stage, frontend="numpy")


@pytest.mark.parametrize("name", CHECKS)
def test_battery_holds(name: str) -> None:
    assert run_battery(make, "cpu", (name,)) == [name]
