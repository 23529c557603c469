"""Stages that cannot be read: one line that names the prim and the value."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pxr import Usd, UsdUtils

from tensorphys_scene import Scene
from tensorphys_usd import StageError, UsdError, open_stage, parse_stage

_BODY = 'def Xform "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{\n{}\n}}\n'
_CUBE = 'def Cube "C" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{\n{}\n}}\n'


def test_files_that_are_no_stage(tmp_path: Path) -> None:
    with pytest.raises(StageError, match="no such file"):
        open_stage(tmp_path / "missing.usda")
    broken = tmp_path / "broken.usda"
    broken.write_text("not a stage")
    with pytest.raises(StageError, match=r"broken\.usda: OpenUSD cannot open it") as caught:
        parse_stage(broken)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, UsdError)
    assert isinstance(caught.value, ValueError)


def test_no_physics_scene(stage_of: Callable[[str], Usd.Stage]) -> None:
    stage = stage_of(_CUBE.format(""))
    with pytest.raises(StageError, match="no active PhysicsScene prim"):
        parse_stage(stage)
    scene = parse_stage(stage, require_scene=False)
    assert scene.settings.gravity == pytest.approx((0.0, 0.0, -9.81))
    assert scene.settings.path == ""


def test_exactly_one_source() -> None:
    with pytest.raises(StageError, match="one of the two"):
        parse_stage()
    with pytest.raises(StageError, match="no stage with id 123456"):
        parse_stage(stage_cache_id=123456)


def test_stage_cache(stage_of: Callable[[str], Usd.Stage]) -> None:
    stage = stage_of('def PhysicsScene "S" {}\n' + _CUBE.format(""))
    cache = UsdUtils.StageCache.Get()
    key = cache.Insert(stage)
    try:
        assert parse_stage(stage_cache_id=key.ToLongInt()).templates[0].shapes.path == ("/C",)
    finally:
        cache.Erase(key)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            _BODY.format(
                'double3 xformOp:translate = (0, nan, 0)\nuniform token[] xformOpOrder = ["xformOp:translate"]'
            ),
            r"^/B: xformOp:translate is \(0, nan, 0\), which is not finite$",
        ),
        (
            _BODY.format(
                'float3 xformOp:scale = (1, 0, 1)\nuniform token[] xformOpOrder = ["xformOp:scale"]'
            ),
            r"^/B: world transform is singular: scale \[1.0, 0.0, 1.0\]$",
        ),
        (_BODY.format("float physics:mass = nan"), r"^/B: physics:mass is nan$"),
        (
            _BODY.format("float3 physics:diagonalInertia = (1, inf, 1)"),
            r"^/B: physics:diagonalInertia is \[1.0, inf, 1.0\]$",
        ),
        (_BODY.format("vector3f physics:velocity = (nan, 0, 0)"), r"^/B: physics:velocity is"),
        (_CUBE.format("double size = -1"), r"^/C: size is -1.0, expected a finite positive number$"),
        (
            'def Material "M" (prepend apiSchemas = ["PhysicsMaterialAPI"]) { float physics:staticFriction = -1; }',
            r"^/M: static_friction is -1.0",
        ),
    ],
)
def test_values_that_cannot_be_simulated(scene_of: Callable[..., Scene], text: str, message: str) -> None:
    with pytest.raises(StageError, match=message):
        scene_of(text)


@pytest.mark.parametrize("value", ["nan", "inf"])
def test_gravity_must_be_finite(stage_of: Callable[[str], Usd.Stage], value: str) -> None:
    stage = stage_of(f'def PhysicsScene "S" {{ float physics:gravityMagnitude = {value}; }}')
    with pytest.raises(StageError, match=f"^/S: physics:gravityMagnitude is {value}$"):
        parse_stage(stage)


def test_settings(stage_of: Callable[[str], Usd.Stage]) -> None:
    stage = stage_of(
        """
        def PhysicsScene "S" {
            vector3f physics:gravityDirection = (0, 3, 4)
            float physics:gravityMagnitude = 5
            int physxScene:timeStepsPerSecond = 240
            float physxScene:bounceThreshold = 0.25
            token physxScene:solverType = "PGS"
            float physxScene:frictionOffsetThreshold = 0.5
            float physxScene:maxBiasCoefficient = 3.4e38
            uint physxScene:minPositionIterationCount = 3
            bool physxScene:enableStabilization = 1
            bool physxScene:disableSleeping = 1
            token physxScene:updateType = "Sometimes"
            uint physxScene:gpuMaxNumPartitions = 16
        }
        def PhysicsScene "T" {}"""
    )
    scene = parse_stage(stage)
    assert scene.settings.gravity == pytest.approx((0.0, 3.0, 4.0))
    assert (scene.settings.steps_per_second, scene.settings.bounce_threshold) == (240.0, 0.25)
    assert scene.settings.path == "/S"
    settings = scene.settings
    assert (settings.solver, settings.collision_system, settings.update) == ("PGS", "PCM", "Synchronous")
    assert (settings.friction_offset_threshold, settings.max_bias_coefficient) == (0.5, float("inf"))
    assert (settings.min_position_iterations, settings.max_position_iterations) == (3, 255)
    assert (settings.stabilization, settings.sleeping, settings.ccd) == (True, False, False)
    assert settings.gpu_capacities == {"gpuMaxNumPartitions": 16.0}
    assert dict(scene.findings).keys() == {"/S", "/T"}
    assert scene.corrected == (("/S", "physxScene:updateType 'Sometimes' is unknown: Synchronous is used"),)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('string physxScene:maxBiasCoefficient = "much"', "maxBiasCoefficient is much, expected a number"),
        ('string physxScene:enableCCD = "yes"', "enableCCD is yes, expected true or false"),
        ("float physxScene:minPositionIterationCount = 1.5", "Count is 1.5, expected a whole number"),
        ("int physxScene:solverType = 1", "solverType is 1, expected text"),
        ("float physxScene:frictionOffsetThreshold = nan", "frictionOffsetThreshold is nan"),
    ],
)
def test_settings_of_a_wrong_type_are_named(
    stage_of: Callable[[str], Usd.Stage], line: str, message: str
) -> None:
    with pytest.raises(StageError, match=f"^/S: physxScene:.*{message}$"):
        parse_stage(stage_of(f'def PhysicsScene "S" {{ {line}; }}'))


def test_gravity_can_be_switched_off(stage_of: Callable[[str], Usd.Stage]) -> None:
    stage = stage_of('def PhysicsScene "S" { bool newton:gravityEnabled = 0; }')
    assert parse_stage(stage).settings.gravity == (0.0, 0.0, 0.0)
