"""Setters of state take a Warp mask of rows instead of indices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp
from pxr import UsdGeom, UsdPhysics

import tensorphys
from tensorphys_arrays import RowSelection


@pytest.fixture
def bodies(device: str) -> tensorphys.RigidBodyView:
    from pxr import Usd

    stage = Usd.Stage.CreateInMemory()
    UsdPhysics.Scene.Define(stage, "/physicsScene")
    for number in range(4):
        prim = UsdGeom.Xform.Define(stage, f"/World/body_{number}").GetPrim()
        UsdPhysics.RigidBodyAPI.Apply(prim)
        UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(1.0)
    view: tensorphys.RigidBodyView = tensorphys.create_simulation_view(
        "warp", stage=stage, device=device
    ).create_rigid_body_view("/World/*")
    return view


def mask_of(values: Any, device: str) -> wp.array:
    return wp.array(np.asarray(values, dtype=np.bool_), dtype=wp.bool, device=device)


@pytest.mark.parametrize("chosen", [[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]])
def test_masked_rows_are_written(bodies: tensorphys.RigidBodyView, device: str, chosen: list[int]) -> None:
    values = np.arange(1, 25, dtype=np.float32).reshape(4, 6)
    data = wp.array(values, dtype=wp.float32, device=device)
    bodies.set_velocities(data, mask_of(chosen, device))
    expected = values * np.asarray(chosen, np.float32)[:, None]
    np.testing.assert_array_equal(bodies.get_velocities().numpy(), expected)


def test_masks_that_do_not_fit_are_refused(bodies: tensorphys.RigidBodyView, device: str) -> None:
    data = wp.zeros((4, 6), dtype=wp.float32, device=device)
    with pytest.raises(tensorphys.ViewError, match="mask of 4 rows"):
        bodies.set_velocities(data, mask_of([1, 0], device))


def test_a_selection_by_a_mask_names_rows_by_themselves(device: str) -> None:
    selection = RowSelection(3, device)
    np.testing.assert_array_equal(selection.select_mask(mask_of([1, 0, 1], device)).numpy(), [0, -1, 2])
