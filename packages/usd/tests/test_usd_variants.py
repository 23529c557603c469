"""Environments that differ in masses and sizes alone give what a parse of each one by itself gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from tensorphys_scene import Scene
from tensorphys_usd import StageError, parse_stage
from tensorphys_usd.roots import find_roots

_PATTERN = "/World/envs/env_*"
_POSITIVE = st.floats(0.125, 8.0, width=32)
_UNIT = st.floats(-1.0, 1.0, width=32)
_NUMBERS = st.fixed_dictionaries(
    {
        "mass": st.sampled_from([0.0, 1.0, 2.5]),
        "density": st.sampled_from([0.0, 100.0, 700.0]),
        "com": st.tuples(_UNIT, _UNIT, _UNIT),
        "diagonal": st.tuples(_POSITIVE, _POSITIVE, _POSITIVE),
        "turn": _UNIT,
        "part_density": st.sampled_from([0.0, 300.0]),
        "size": _POSITIVE,
        "radius": _POSITIVE,
        "height": _POSITIVE,
    }
)


def author(stage: Usd.Stage, index: int, numbers: dict[str, Any]) -> None:
    """A body of a turned box and a capsule, a fully described body and a static ball."""
    root = f"/World/envs/env_{index}"
    UsdGeom.Xform.Define(stage, root).AddTranslateOp().Set(Gf.Vec3d(4.0 * index, -1.0, 0.5))
    body = UsdGeom.Xform.Define(stage, f"{root}/body")
    body.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 2.0))
    body.AddScaleOp().Set(Gf.Vec3f(1.0, 2.0, 0.5))
    UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
    mass = UsdPhysics.MassAPI.Apply(body.GetPrim())
    mass.CreateMassAttr(numbers["mass"])
    mass.CreateDensityAttr(numbers["density"])
    box = UsdGeom.Cube.Define(stage, f"{root}/body/box")
    box.AddTranslateOp().Set(Gf.Vec3d(1.0, 0.0, 0.0))
    box.AddRotateXOp().Set(90.0)
    box.CreateSizeAttr(numbers["size"])
    UsdPhysics.CollisionAPI.Apply(box.GetPrim())
    UsdPhysics.MassAPI.Apply(box.GetPrim()).CreateDensityAttr(numbers["part_density"])
    capsule = UsdGeom.Capsule.Define(stage, f"{root}/body/capsule")
    capsule.CreateAxisAttr("Y")
    capsule.CreateRadiusAttr(numbers["radius"])
    capsule.CreateHeightAttr(numbers["height"])
    UsdPhysics.CollisionAPI.Apply(capsule.GetPrim())
    other = UsdGeom.Xform.Define(stage, f"{root}/other").GetPrim()
    UsdPhysics.RigidBodyAPI.Apply(other)
    described = UsdPhysics.MassAPI.Apply(other)
    described.CreateMassAttr(1.0 + numbers["mass"])
    described.CreateCenterOfMassAttr(numbers["com"])
    described.CreateDiagonalInertiaAttr(numbers["diagonal"])
    described.CreatePrincipalAxesAttr(Gf.Quatf(2.0, numbers["turn"], 0.0, 0.0).GetNormalized())
    ball = UsdGeom.Sphere.Define(stage, f"{root}/ball")
    ball.CreateRadiusAttr(numbers["radius"])
    UsdPhysics.CollisionAPI.Apply(ball.GetPrim())


def stage_of(numbers: list[dict[str, Any]], first: int = 0) -> Usd.Stage:
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdPhysics.Scene.Define(stage, "/scene")
    for index, values in enumerate(numbers):
        author(stage, first + index, values)
    return stage


def column(scene: Scene, environment: int, name: str) -> np.ndarray:
    table, _, values = name.partition(".")
    override = scene.overrides.get((0, name))
    return getattr(getattr(scene.templates[0], table), values) if override is None else override[environment]


@given(numbers=st.lists(_NUMBERS, min_size=2, max_size=4))
def test_each_environment_has_its_own_masses_and_sizes(numbers: list[dict[str, Any]]) -> None:
    stage = stage_of(numbers)
    found = find_roots(stage, _PATTERN)
    assert not found.source.any()
    # as texts, which tell 0 from -0
    texts = [repr(values) for values in numbers]
    assert found.numbers.tolist() == [texts.index(text) for text in texts]
    scene = parse_stage(stage, environments=_PATTERN)
    assert len(scene.templates) == 1
    for index, values in enumerate(numbers):
        alone = parse_stage(stage_of([values], index), environments=_PATTERN).templates[0]
        for name in ("mass", "com", "inertia", "principal_rotation", "pose", "linear_damping"):
            np.testing.assert_allclose(
                column(scene, index, f"bodies.{name}"), getattr(alone.bodies, name), rtol=1e-9, atol=1e-9
            )
        for name in ("size", "pose"):
            np.testing.assert_allclose(
                column(scene, index, f"shapes.{name}"), getattr(alone.shapes, name), rtol=1e-9, atol=1e-9
            )


def _one() -> dict[str, Any]:
    return {
        "mass": 1.0,
        "density": 0.0,
        "com": (0.0, 0.0, 0.0),
        "diagonal": (1.0, 1.0, 1.0),
        "turn": 0.0,
        "part_density": 0.0,
        "size": 1.0,
        "radius": 1.0,
        "height": 1.0,
    }


def _material(stage: Usd.Stage, index: int) -> None:
    for row in range(3):
        material = UsdShade.Material.Define(stage, f"/World/envs/env_{row}/material")
        density = 500.0 if row == index else 100.0
        UsdPhysics.MaterialAPI.Apply(material.GetPrim()).CreateDensityAttr(density)
        prim = stage.GetPrimAtPath(f"/World/envs/env_{row}/body/box")
        UsdShade.MaterialBindingAPI.Apply(prim).Bind(material)


def _damping(stage: Usd.Stage, index: int) -> None:
    for row in range(3):
        prim = stage.GetPrimAtPath(f"/World/envs/env_{row}/body")
        prim.AddAppliedSchema("PhysxRigidBodyAPI")
        damping = prim.CreateAttribute("physxRigidBody:linearDamping", Sdf.ValueTypeNames.Float)
        damping.Set(2.0 if row == index else 1.0)


def _place(stage: Usd.Stage, index: int) -> None:
    UsdGeom.Xformable(stage.GetPrimAtPath(f"/World/envs/env_{index}/body")).GetOrderedXformOps()[0].Set(
        (1.0, 0.0, 0.0)
    )


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        (_material, {"materials.density", "bodies.inertia"}),
        (_damping, {"bodies.linear_damping"}),
        (_place, {"bodies.pose"}),
    ],
)
def test_other_differences_are_read_by_the_whole_parser(
    change: Callable[[Usd.Stage, int], None], differs: set[str]
) -> None:
    stage = stage_of([_one()] * 3)
    change(stage, 1)
    assert find_roots(stage, _PATTERN).source.tolist() == [0, 1, 0]
    scene = parse_stage(stage, environments=_PATTERN)
    assert scene.environments.template.tolist() == [0, 0, 0]
    assert {name for _, name in scene.overrides} >= differs


def test_sheared_boxes_are_meshes_of_their_own() -> None:
    numbers = [{**_one(), "size": size} for size in (1.0, 2.0)]
    stage = stage_of(numbers)
    for index in range(2):
        UsdGeom.Xformable(stage.GetPrimAtPath(f"/World/envs/env_{index}/body/box")).AddRotateYOp().Set(30.0)
    assert find_roots(stage, _PATTERN).source.tolist() == [0, 1]
    scene = parse_stage(stage, environments=_PATTERN)
    assert len(scene.templates) == 2


def test_variants_of_two_parsed_environments() -> None:
    stage = stage_of([{**_one(), "mass": 1.0 + index} for index in range(6)])
    for index in (1, 3, 4):
        UsdPhysics.CollisionAPI(
            stage.GetPrimAtPath(f"/World/envs/env_{index}/ball")
        ).CreateCollisionEnabledAttr(False)
        _place(stage, index)
    assert find_roots(stage, _PATTERN).source.tolist() == [0, 1, 0, 1, 1, 0]
    scene = parse_stage(stage, environments=_PATTERN)
    assert scene.environments.template.tolist() == [0, 1, 0, 1, 1, 0]
    np.testing.assert_allclose(scene.overrides[0, "bodies.mass"][:, 0], (1.0, 3.0, 6.0))
    np.testing.assert_allclose(scene.overrides[1, "bodies.mass"][:, 0], (2.0, 4.0, 5.0))


def test_errors_and_findings_name_the_prim_of_the_variant() -> None:
    stage = stage_of([_one(), _one()])
    UsdGeom.Capsule(stage.GetPrimAtPath("/World/envs/env_1/body/capsule")).GetRadiusAttr().Set(-1.0)
    with pytest.raises(StageError, match=r"/World/envs/env_1/body/capsule: radius is -1\.0"):
        parse_stage(stage, environments=_PATTERN)
    stage = stage_of([_one(), {**_one(), "mass": -2.0}])
    scene = parse_stage(stage, environments=_PATTERN)
    assert ("/World/envs/env_1/body", "physics:mass -2.0 is negative: ignored") in scene.findings
