"""Recorded stages whose bodies are instances of point instancers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pxr import Usd, UsdGeom

from tensorphys_scene import Scene, replicate
from tensorphys_spatial import quaternion_to_matrix
from tensorphys_usd import Recorder, StageError, parse_stage

_BODY = 'prepend apiSchemas = ["PhysicsRigidBodyAPI"]'
_PAIR = f"""
    over "Protos" {{
        def Xform "Pair" {{
            def Cube "One" ({_BODY}) {{}}
            def Cube "Two" ({_BODY}) {{
                double3 xformOp:translate = (0, 4, 0)
                uniform token[] xformOpOrder = ["xformOp:translate"]
        }}
        }}
    }}"""
_WORLD = f"""#usda 1.0
( upAxis = "Z" )
def PhysicsScene "Scene" {{}}
def Xform "World" {{
    double3 xformOp:translate = (0, 0, 5)
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Cube "Own" ({_BODY}) {{}}
    def PointInstancer "Inside" (inactiveIds = [1]) {{
        int[] protoIndices = [0, 0, 0]
        point3f[] positions = [(1, 0, 0), (2, 0, 0), (3, 0, 0)]
        float3[] scales = [(1, 1, 1), (1, 1, 1), (2, 2, 2)]
        rel prototypes = [</World/Inside/Box>]
        def Cube "Box" ({_BODY}) {{
            double3 xformOp:translate = (0, 0.5, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
        }}
    }}
    def PointInstancer "Outside" {{
        int[] protoIndices = [0, 0]
        point3f[] positions = [(1, 9, 0), (2, 9, 0)]
        rel prototypes = [</Protos/Pair>]
    }}
    def PointInstancer "Outer" {{
        int[] protoIndices = [0, 0]
        point3f[] positions = [(0, -9, 0), (9, -9, 0)]
        rel prototypes = </World/Outer/Inner>
        def PointInstancer "Inner" {{
            int[] protoIndices = [0, 0]
            point3f[] positions = [(1, 0, 0), (2, 0, 0)]
            rel prototypes = </World/Outer/Inner/Ball>
            def Sphere "Ball" ({_BODY}) {{}}
        }}
    }}
}}
{_PAIR}
"""
_NAMES = {
    "/Own",
    "/Inside/Box_0",
    "/Inside/Box_2",
    "/Outside/Pair_0/One",
    "/Outside/Pair_0/Two",
    "/Outside/Pair_1/One",
    "/Outside/Pair_1/Two",
    "/Outer/Inner_0/Ball_0",
    "/Outer/Inner_0/Ball_1",
    "/Outer/Inner_1/Ball_0",
    "/Outer/Inner_1/Ball_1",
}


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    """File of instancers whose prototypes are inside, outside and instancers themselves."""
    path = tmp_path / "crowd.usda"
    path.write_text(_WORLD)
    return path


def random_poses(*shape: int) -> np.ndarray:
    poses = np.random.default_rng(0).normal(size=(*shape, 7))
    poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
    return poses


def assert_recorded(file: Path, names: list[str], poses: np.ndarray, code: float) -> None:
    """Compare world transforms of prims, scale taken off, with poses; each prim still has its geometry."""
    stage = Usd.Stage.Open(str(file))
    cache = UsdGeom.XformCache(code)
    for name, pose in zip(names, poses, strict=True):
        prim = stage.GetPrimAtPath(name)
        assert prim.IsA(UsdGeom.Gprim), name
        assert prim.IsActive() and prim.IsDefined()
        world = np.array(cache.GetLocalToWorldTransform(prim))
        linear = world[:3, :3].T / np.linalg.norm(world[:3, :3], axis=1)
        np.testing.assert_allclose(world[3, :3], pose[:3], atol=1e-9, err_msg=name)
        np.testing.assert_allclose(linear, quaternion_to_matrix(pose[3:]), atol=1e-6, err_msg=name)
    assert not [prim for prim in stage.Traverse() if prim.GetTypeName() == "PointInstancer"]


@pytest.mark.parametrize("in_memory", [False, True])
def test_instances_are_recorded_as_prims(crowd: Path, tmp_path: Path, in_memory: bool) -> None:
    source: Usd.Stage | Path = crowd
    if in_memory:
        source = Usd.Stage.CreateInMemory()
        source.GetRootLayer().ImportFromString(_WORLD)
    scene = parse_stage(source)
    names = list(scene.templates[0].bodies.path)
    assert set(names) == {f"/World{name}" for name in _NAMES}
    poses = random_poses(2, len(names))
    with Recorder(tmp_path / "out.usda", source, scene) as recorder:
        for code, frame in enumerate(poses):
            recorder.record(code / 60.0, frame)
    for code, frame in enumerate(poses):
        assert_recorded(tmp_path / "out.usda", names, frame, float(code))
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    big = UsdGeom.XformCache(0.0).GetLocalToWorldTransform(stage.GetPrimAtPath("/World/Inside/Box_2"))
    assert np.linalg.norm(np.array(big)[0, :3]) == pytest.approx(2.0)
    assert crowd.read_text() == _WORLD


@pytest.mark.parametrize("root", ["", "/World"])
def test_instances_of_copies_are_recorded(crowd: Path, tmp_path: Path, root: str) -> None:
    scene: Scene = replicate(parse_stage(crowd), root, 3, spacing=20.0)
    template = scene.templates[0]
    names = [environment + name for environment in scene.environments.path for name in template.bodies.path]
    poses = random_poses(3, template.bodies.count)
    with Recorder(tmp_path / "out.usda", crowd, scene, root=root) as recorder:
        recorder.record(0.0, poses)
    assert_recorded(tmp_path / "out.usda", names, poses.reshape(-1, 7), 0.0)


def test_authored_environments_of_instancers_are_recorded(tmp_path: Path) -> None:
    def environment(row: int) -> str:
        body = _WORLD[_WORLD.index("def PointInstancer") : _WORLD.index("over")].strip()[:-1]
        return (
            f'def Xform "env_{row}" {{ double3 xformOp:translate = ({40 * row}, 0, 0)\n'
            f'uniform token[] xformOpOrder = ["xformOp:translate"]\n{body}\n}}'
        ).replace("</World/", f"</envs/env_{row}/")

    path = tmp_path / "stage.usda"
    path.write_text(
        '#usda 1.0\n( upAxis = "Z" )\ndef PhysicsScene "Scene" {}\n'
        f'def Scope "envs" {{\n{environment(0)}\n{environment(1)}\n}}\n{_PAIR}'
    )
    scene = parse_stage(path, environments="/envs/env_*")
    names = scene.templates[0].bodies.path
    assert set(names) == _NAMES - {"/Own"}
    poses = random_poses(2, len(names))
    with Recorder(tmp_path / "out.usda", path, scene) as recorder:
        recorder.record(0.0, poses, frame="environment")
    expected = poses.copy()
    expected[1, :, 0] += 40.0
    full = [root + name for root in scene.environments.path for name in names]
    assert_recorded(tmp_path / "out.usda", full, expected.reshape(-1, 7), 0.0)


def test_a_copied_instance_is_named_in_an_error(tmp_path: Path) -> None:
    path = tmp_path / "stage.usda"
    path.write_text(
        f"""#usda 1.0
( upAxis = "Z" )
def PhysicsScene "Scene" {{}}
def PointInstancer "I" {{
    int[] protoIndices = [0]
    point3f[] positions = [(1, 0, 0)]
    rel prototypes = </Protos/Pair>
}}
{_PAIR}
"""
    )
    scene = replicate(parse_stage(path), "/I/Pair_0", 2, spacing=20.0)
    with pytest.raises(StageError, match=r"^/I/Pair_0: the copied prim that the source stage does not have$"):
        Recorder(tmp_path / "out.usda", path, scene, root="/I/Pair_0")
