"""Compliant contact materials through the views, as the known suite has them [behaviours 67 and 68]."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Sdf, UsdPhysics, UsdShade

import tensorphys

G = 9.81
RADIUS = 0.08


def springs(view: Any, arrays: Any, stiffness: float, damping: float) -> tuple[np.ndarray, np.ndarray]:
    """Give all shapes of a view springs, and return what was given."""
    shape = arrays.host(view.get_compliant_material_properties()[0]).shape[:2]
    data = np.broadcast_to(np.float32([0.5, 0.4, stiffness, damping]), (*shape, 4)).copy()
    modes = np.broadcast_to(np.uint8([0, 2, 3]), (*shape, 3)).copy()
    view.set_compliant_material_properties(arrays.make(data), arrays.make(modes, np.uint8), None)
    return data, modes


def test_a_body_of_a_ball_and_a_box(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviour 67: what was set is read again; the body rests m g / (4 k) lower."""
    stage = stages.Author.new()
    stage.ground()

    def fill(path: str, _: int) -> None:
        stage.body(path, (0, 0, 0.25), mass=10.0, inertia=(0.4, 0.4, 0.4))
        stage.collider(f"{path}/box", "cube", 0.5)
        stage.collider(f"{path}/ball", "sphere", 0.1, (0, 0, 0.3))

    stage.environments(3, lambda path, number: fill(f"{path}/body", number), spacing=4.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view, cpu, host = sim.create_rigid_body_view("/envs/*/body"), arrays.cpu, arrays.host
    found, modes = (host(array) for array in view.get_compliant_material_properties())
    assert found.shape == modes.shape == (3, 2, 2) and modes.dtype == np.uint8
    assert np.isinf(found[..., 0]).all() and not modes.any()
    for stiffness, damping, steps in ((1e5, 2e3, 100), (1e6, 6e3, 199)):
        data, given = springs(view, cpu, stiffness, damping)
        found, modes = (host(array) for array in view.get_compliant_material_properties())
        np.testing.assert_array_equal(found, data[..., 2:])
        np.testing.assert_array_equal(modes, given[..., 1:])
        materials = host(view.get_material_properties())
        np.testing.assert_array_equal(materials, np.broadcast_to(np.float32([0.5, 0.4, 0.0]), (3, 2, 3)))
        for _ in range(steps):
            sim.step(stages.DT)
        sunk = 0.25 - host(view.get_transforms())[:, 2]
        np.testing.assert_allclose(sunk, 10.0 * G / (4.0 * stiffness), rtol=1e-2, atol=5e-8)


def test_springs_of_some_rows_and_rigid_again(stages: SimpleNamespace, arrays: Any) -> None:
    """Rows that are not named stay rigid; an infinite stiffness, or a rigid material, is rigid again."""
    stage = stages.Author.new()
    stage.ground()
    for i in range(3):
        stage.body(f"/World/ball{i}", (3.0 * i, 0, 0.2), radius=0.2)
    sim = stages.view(arrays, stage)
    view, cpu, host = sim.create_rigid_body_view("/World/ball*"), arrays.cpu, arrays.host
    data = np.tile(np.float32([0.5, 0.5, 500.0, 40.0]), (3, 1, 1))
    modes = np.zeros((3, 1, 3), np.uint8)
    view.set_compliant_material_properties(cpu.make(data), cpu.make(modes, np.uint8), cpu.rows([2, 0]))

    def heights() -> np.ndarray:
        for _ in range(90):
            sim.step(stages.DT)
        return 0.2 - host(view.get_transforms())[:, 2]

    np.testing.assert_allclose(heights(), [G / 500.0, 0.0, G / 500.0], rtol=1e-3, atol=2e-4)
    data[0, 0, 2] = np.inf
    view.set_compliant_material_properties(cpu.make(data), cpu.make(modes, np.uint8), cpu.rows([0]))
    view.set_material_properties(cpu.make(np.full((3, 1, 3), 0.5)), cpu.rows([2]))
    assert np.isinf(host(view.get_compliant_material_properties()[0])[..., 0]).all()
    np.testing.assert_allclose(heights(), 0.0, atol=2e-4)
    for column, bad in ((2, -1.0), (3, np.nan), (0, -0.5)):
        wrong = data.copy()
        wrong[1, 0, column] = bad
        with pytest.raises(tensorphys.DataError, match="not negative"):
            view.set_compliant_material_properties(cpu.make(wrong), cpu.make(modes, np.uint8), None)
    with pytest.raises(tensorphys.DataError, match="combine modes"):
        view.set_compliant_material_properties(cpu.make(data), cpu.make(modes + 7, np.uint8), None)
    assert np.isinf(host(view.get_compliant_material_properties()[0])[..., 0]).all()


def test_an_ant_on_springs(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviour 68: on its four feet an ant rests M g / (4 k) lower than on rigid ground."""
    stage = stages.Author.new()
    stage.ground()

    def fill(path: str, _: int) -> None:
        stage.ant(path, (0, 0, RADIUS))
        for leg in ("front_left", "front_right", "left_back", "right_back"):
            stage.collider(f"{path}/{leg}_foot/shape", "sphere", RADIUS)
            for joint in ("hip", "ankle"):
                prim = stage.stage.GetPrimAtPath(f"{path}/joints/{leg}_{joint}")
                drive = UsdPhysics.DriveAPI.Apply(prim, "angular")
                drive.CreateStiffnessAttr(40.0)
                drive.CreateDampingAttr(2.0)

    stage.environments(2, lambda path, number: fill(f"{path}/ant", number), spacing=8.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view, cpu, host = sim.create_articulation_view("/envs/*/ant/torso"), arrays.cpu, arrays.host
    assert view.max_shapes == 4
    mass = float(host(view.get_masses())[0].sum())

    def height(steps: int) -> np.ndarray:
        for _ in range(steps):
            sim.step(stages.DT)
        return host(view.get_root_transforms())[:, 2].astype(float)

    rigid, soft = height(50), []
    for stiffness, damping, steps in ((1e5, 1e3, 50), (1e6, 3e3, 100)):
        data, given = springs(view, cpu, stiffness, damping)
        found, modes = (host(array) for array in view.get_compliant_material_properties())
        np.testing.assert_array_equal(found, data[..., 2:])
        np.testing.assert_array_equal(modes, given[..., 1:])
        soft.append(height(steps))
        # rigid contacts of the swept path give way by about g h², h being a substep
        give = 2.0 * G * (stages.DT / 4) ** 2
        np.testing.assert_allclose(rigid - soft[-1], mass * G / (4.0 * stiffness), atol=give)
    # feet that stick keep some of their load sideways
    np.testing.assert_allclose(soft[1] - soft[0], mass * G / 4.0 * (1e-5 - 1e-6), rtol=5e-2)


def test_a_stage_that_authors_springs(stages: SimpleNamespace, arrays: Any) -> None:
    """physxMaterial attributes reach the contacts: one ball on a spring, one on a spring per mass."""
    stage = stages.Author.new()
    stage.ground()
    for i, per_mass in enumerate((False, True)):
        stage.body(f"/World/ball{i}", (3.0 * i, 0, 0.2), mass=4.0, inertia=(0.1, 0.1, 0.1), radius=0.2)
        material = UsdShade.Material.Define(stage.stage, f"/World/material{i}")
        prim = material.GetPrim()
        UsdPhysics.MaterialAPI.Apply(prim)
        prim.AddAppliedSchema("PhysxMaterialAPI")
        for name, kind, value in (
            ("Stiffness", Sdf.ValueTypeNames.Float, 900.0),
            ("Damping", Sdf.ValueTypeNames.Float, 30.0),
            ("AccelerationSpring", Sdf.ValueTypeNames.Bool, per_mass),
        ):
            prim.CreateAttribute(f"physxMaterial:compliantContact{name}", kind).Set(value)
        collider = stage.stage.GetPrimAtPath(f"/World/ball{i}/collider")
        UsdShade.MaterialBindingAPI.Apply(collider).Bind(material, materialPurpose="physics")
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view("/World/ball*")
    found = arrays.host(view.get_compliant_material_properties()[0])
    np.testing.assert_array_equal(found[:, 0], np.float32([[900.0, 30.0]] * 2))
    for _ in range(120):
        sim.step(stages.DT)
    sunk = 0.2 - arrays.host(view.get_transforms())[:, 2]
    np.testing.assert_allclose(sunk, [4.0 * G / 900.0, G / 900.0], rtol=5e-3)
