"""Recorded stages: world transforms are those given, the input stays as it is."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Usd, UsdGeom

from tensorphys_scene import Scene, replicate
from tensorphys_spatial import quaternion_to_matrix
from tensorphys_usd import Recorder, StageError, parse_stage

Case = Callable[[str], Path]


def random_poses(seed: int, *shape: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    poses = random.normal(size=(*shape, 7))
    poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
    return poses


def assert_recorded(path: Path, scene: Scene, environment: int, poses: np.ndarray, code: float) -> None:
    """Compare world transforms, scale taken off, with poses of the scene's bodies."""
    stage = Usd.Stage.Open(str(path))
    cache = UsdGeom.XformCache(code)
    template = scene.templates[scene.environments.template[environment]]
    for name, pose in zip(template.bodies.path, poses, strict=True):
        world = np.array(
            cache.GetLocalToWorldTransform(stage.GetPrimAtPath(scene.environments.path[environment] + name))
        )
        linear = world[:3, :3].T / np.linalg.norm(world[:3, :3], axis=1)
        np.testing.assert_allclose(world[3, :3], pose[:3], atol=1e-9)
        np.testing.assert_allclose(
            linear * np.sign(np.linalg.det(linear)), quaternion_to_matrix(pose[3:]), atol=1e-6
        )


@pytest.mark.parametrize("number", ["001", "004", "010", "014", "046"])
def test_world_transforms_are_those_given(case: Case, tmp_path: Path, number: str) -> None:
    source = case(number)
    before = source.read_bytes()
    scene = parse_stage(source)
    count = scene.templates[0].bodies.count
    frames = random_poses(0, 3, count)
    with Recorder(tmp_path / "out.usda", source, scene) as recorder:
        for index, frame in enumerate(frames):
            recorder.record(index / 60.0, frame)
    for index, frame in enumerate(frames):
        assert_recorded(tmp_path / "out.usda", scene, 0, frame, float(index))
    assert source.read_bytes() == before
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode(), stage.GetTimeCodesPerSecond()) == (
        0.0,
        2.0,
        60.0,
    )
    assert stage.GetPrimAtPath("/World").IsValid()


def test_014_a_nested_body_that_falls_with_its_parent_keeps_its_local_transform(
    case: Case, tmp_path: Path
) -> None:
    scene = parse_stage(case("014"))
    fallen = scene.templates[0].bodies.pose.copy()
    fallen[:, 2] -= 1.22625
    with Recorder(tmp_path / "out.usda", case("014"), scene) as recorder:
        recorder.record(0.5, fallen)
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    inner = UsdGeom.Xformable(stage.GetPrimAtPath("/World/Outer/Inner"))
    original = Usd.Stage.Open(str(case("014")))
    authored = UsdGeom.Xformable(original.GetPrimAtPath("/World/Outer/Inner"))
    np.testing.assert_allclose(
        inner.GetLocalTransformation(30.0), authored.GetLocalTransformation(), atol=1e-6
    )
    assert UsdGeom.Xformable(stage.GetPrimAtPath("/World/Outer/Reset")).GetResetXformStack()
    assert_recorded(tmp_path / "out.usda", scene, 0, fallen, 30.0)


@given(seed=st.integers(0, 1000), count=st.integers(1, 3))
def test_replicated_environments(
    stage_of: Callable[[str], Usd.Stage], tmp_path_factory: pytest.TempPathFactory, seed: int, count: int
) -> None:
    stage = stage_of(
        """
        def PhysicsScene "S" {}
        def Xform "R" {
            double3 xformOp:translate = (1, 2, 3)
            float3 xformOp:scale = (2, 2, 2)
            uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
            def Cube "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {
                def Xform "Hand" {
                    double xformOp:rotateZ = 90
                    uniform token[] xformOpOrder = ["xformOp:rotateZ"]
                    def Cube "B" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {}
                }
            }
        }"""
    )
    folder = tmp_path_factory.mktemp("replicated")
    source = folder / "source.usda"
    stage.Export(str(source))
    scene = replicate(parse_stage(source), 4, spacing=3.0)
    chosen = [3, 1, 0][:count]
    poses = random_poses(seed, count, 2)
    with Recorder(folder / "out.usda", source, scene, environments=chosen) as recorder:
        recorder.record(0.25, poses)
    for row, environment in enumerate(chosen):
        assert_recorded(folder / "out.usda", scene, environment, poses[row], 15.0)
    assert not Usd.Stage.Open(str(folder / "out.usda")).GetPrimAtPath("/World/envs/env_2")


def test_an_interrupt_keeps_what_was_recorded(case: Case, tmp_path: Path) -> None:
    scene = parse_stage(case("014"))
    frame = random_poses(0, 3)

    def simulate() -> None:
        with Recorder(tmp_path / "out.usda", case("014"), scene) as recorder:
            recorder.record(0.0, frame)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate()
    assert_recorded(tmp_path / "out.usda", scene, 0, frame, 0.0)


def test_a_stage_in_memory_is_written_beside_the_output(
    stage_of: Callable[[str], Usd.Stage], tmp_path: Path
) -> None:
    stage = stage_of(
        'def PhysicsScene "S" {}\ndef Cube "A" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {}'
    )
    scene = parse_stage(stage)
    frame = random_poses(1, 1)
    with Recorder(tmp_path / "out.usda", stage, scene) as recorder:
        recorder.record(0.0, frame)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.input.usda", "out.usda"]
    assert_recorded(tmp_path / "out.usda", scene, 0, frame, 0.0)


def test_wrong_input_is_refused(case: Case, tmp_path: Path) -> None:
    scene = parse_stage(case("014"))
    with pytest.raises(StageError, match="is the input"):
        Recorder(case("014"), case("014"), scene)
    with pytest.raises(StageError, match="a body of the scene that the source stage does not have"):
        Recorder(tmp_path / "out.usda", case("046"), scene)
    recorder = Recorder(tmp_path / "out.usda", case("014"), scene)
    with pytest.raises(StageError, match=r"expected poses of shape \(1, 3, 7\), given \(2, 7\)"):
        recorder.record(0.0, np.zeros((2, 7)))
    frame = random_poses(0, 3)
    frame[1, 2] = np.nan
    with pytest.raises(StageError, match="pose of /World/Outer/Inner is not finite"):
        recorder.record(0.0, frame)


def test_fast_enough_for_60_hertz(case: Case, tmp_path: Path) -> None:
    scene = parse_stage(case("046"))
    recorder = Recorder(tmp_path / "out.usda", case("046"), scene)
    frames = random_poses(0, 60, scene.templates[0].bodies.count)
    start = time.perf_counter()
    for index, frame in enumerate(frames):
        recorder.record(index / 60.0, frame)
    assert time.perf_counter() - start < 0.5  # half of real time; measured 0.05 s
