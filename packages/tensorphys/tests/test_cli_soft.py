"""`tensorphys simulate` with cloth: what moves is recorded point by point."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest
from pxr import Usd, UsdGeom

import tensorphys
from tensorphys.cli import main

STAGE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "cloth" / "cloth_over_sphere.usda"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Usd.Stage:
    out = tmp_path_factory.mktemp("cloth") / "played.usda"
    words = ["simulate", str(STAGE), "--seconds", "0.1", "--dt", str(1.0 / 60.0), "--record", str(out)]
    assert main(words) == 0
    return Usd.Stage.Open(str(out))


def test_recorded_cloth_is_the_simulated_one(recorded: Usd.Stage) -> None:
    sim = tensorphys.create_simulation_view("numpy", stage=str(STAGE), device="cpu")
    cloth = sim.create_particle_cloth_view("/World/Cloth")
    for _ in range(6):
        sim.step(1.0 / 60.0)
    attribute = UsdGeom.Mesh(recorded.GetPrimAtPath("/World/Cloth")).GetPointsAttr()
    times = attribute.GetTimeSamples()
    assert len(times) >= 2
    last = np.array(attribute.Get(times[-1]))
    place = np.array([0.0, 0.0, 0.85])
    np.testing.assert_allclose(last + place, cloth.get_positions().reshape(-1, 3), atol=2e-6)
