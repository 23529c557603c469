"""Stages for the tests of this package."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pxr import Usd

from tensorphys_scene import Scene
from tensorphys_usd import parse_stage

_DATA = Path(__file__).parent / "data"
_HEADER = '#usda 1.0\n(\n    upAxis = "Z"\n    metersPerUnit = 1\n)\n'


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of the test data."""
    return _DATA


@pytest.fixture(scope="session")
def case() -> Callable[[str], Path]:
    """File of a real-world case by its number."""

    def find(number: str) -> Path:
        (path,) = (_DATA / "cases").glob(f"{number}_*.usda")
        return path

    return find


@pytest.fixture(scope="session")
def stage_of() -> Callable[[str], Usd.Stage]:
    """Stage in memory of usda text without its header; metres, Z up."""

    def build(text: str) -> Usd.Stage:
        stage = Usd.Stage.CreateInMemory()
        assert stage.GetRootLayer().ImportFromString(_HEADER + text)
        return stage

    return build


@pytest.fixture(scope="session")
def scene_of(stage_of: Callable[[str], Usd.Stage]) -> Callable[..., Scene]:
    """Scene of usda text, a physics scene added."""

    def build(text: str, **arguments: object) -> Scene:
        return parse_stage(stage_of('def PhysicsScene "PhysicsScene" {}\n' + text), **arguments)  # type: ignore[arg-type]

    return build
