"""The conformance battery on this engine, in each array library that is installed."""

from __future__ import annotations

import importlib.util
from typing import Any, Literal

import pytest

from tensorphys_backend import TensorPhysBackend
from tensorphys_backend.testing import CHECKS, run_battery


def run(frontend: Literal["numpy", "torch"], device: str, name: str) -> None:
    def make(stage: Any) -> TensorPhysBackend:
        return TensorPhysBackend(stage=stage, frontend=frontend)

    assert run_battery(make, device, (name,)) == [name]


@pytest.mark.parametrize("name", CHECKS)
def test_battery_holds_with_numpy(name: str) -> None:
    run("numpy", "cpu", name)


if importlib.util.find_spec("torch") is not None:
    # NumPy has no arrays on CUDA devices.
    @pytest.mark.parametrize("name", CHECKS)
    def test_battery_holds_with_torch(name: str, device: str) -> None:
        run("torch", device, name)
