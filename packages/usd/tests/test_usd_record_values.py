"""Joint states and points of recorded stages, frames of environments, both file formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, Usd, UsdGeom

from tensorphys_scene import Scene, replicate
from tensorphys_spatial import quaternion_rotate
from tensorphys_usd import Recorder, StageError, parse_stage, samples

_JOINTS = """
    def Xform "W" {
        def Cube "a" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsArticulationRootAPI"]) {}
        def Cube "b" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}
        def Cube "c" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}
        def Cube "d" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {}
        def PhysicsRevoluteJoint "ab" {
            rel physics:body0 = </W/a>
            rel physics:body1 = </W/b>
        }
        def PhysicsPrismaticJoint "bc" (prepend apiSchemas = ["PhysicsJointStateAPI:transX"]) {
            rel physics:body0 = </W/b>
            rel physics:body1 = </W/c>
            float state:transX:physics:position = 0
        }
        def PhysicsJoint "cd" (prepend apiSchemas = [
            "PhysicsLimitAPI:transX", "PhysicsLimitAPI:transY", "PhysicsLimitAPI:transZ", "PhysicsLimitAPI:rotZ"])
        {
            rel physics:body0 = </W/c>
            rel physics:body1 = </W/d>
            float limit:transX:physics:low = 1
            float limit:transX:physics:high = 0
            float limit:transY:physics:low = 1
            float limit:transY:physics:high = 0
            float limit:transZ:physics:low = 1
            float limit:transZ:physics:high = 0
            float limit:rotZ:physics:low = 1
            float limit:rotZ:physics:high = 0
        }
    }"""
_POINTS = """
    def Xform "W" {
        double3 xformOp:translate = (1, 2, 3)
        float3 xformOp:scale = (2, 1, 0.5)
        float xformOp:rotateX = 30
        uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateX", "xformOp:scale"]
        def Xform "hand" (prepend apiSchemas = ["PhysicsRigidBodyAPI"]) {
            float xformOp:rotateZ = 40
            uniform token[] xformOpOrder = ["!resetXformStack!", "xformOp:rotateZ"]
            def Mesh "skin" {
                point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
                int[] faceVertexCounts = [3]
                int[] faceVertexIndices = [0, 1, 2]
                double3 xformOp:translate = (0, 0, 1)
                float3 xformOp:scale = (3, 3, 3)
                uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:scale"]
            }
        }
        def Mesh "cloth" {
            point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0)]
            int[] faceVertexCounts = [3]
            int[] faceVertexIndices = [0, 1, 2]
        }
        def TetMesh "jelly" {
            point3f[] points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
            int4[] tetVertexIndices = [(0, 1, 2, 3)]
            uniform token[] xformOpOrder = ["!resetXformStack!"]
        }
        def Points "drops" {}
        def PointInstancer "grains" {}
    }"""


@pytest.fixture
def written(stage_of: Callable[[str], Usd.Stage], tmp_path: Path) -> Callable[[str], tuple[Path, Scene]]:
    """A file of usda text, and its scene."""

    def build(text: str) -> tuple[Path, Scene]:
        path = tmp_path / f"source{len(list(tmp_path.iterdir()))}.usda"
        stage_of('def PhysicsScene "S" {}\n' + text).Export(str(path))
        return path, parse_stage(path)

    return build


def random_poses(random: np.random.Generator, *shape: int) -> np.ndarray:
    poses = random.normal(size=(*shape, 7))
    poses[..., 3:] /= np.linalg.norm(poses[..., 3:], axis=-1, keepdims=True)
    return poses


def world_points(stage: Usd.Stage, path: str, code: float, name: str = "points") -> np.ndarray:
    """Points of a prim in the world, as OpenUSD composes them."""
    prim = stage.GetPrimAtPath(path)
    points = np.array(prim.GetAttribute(name).Get(code), np.float64)
    matrix = np.array(UsdGeom.XformCache(code).GetLocalToWorldTransform(prim))
    return points @ matrix[:3, :3] + (0.0 if name == "velocities" else matrix[3, :3])


@pytest.mark.parametrize("suffix", ["usda", "usdc"])
def test_joint_states_are_in_degrees(
    written: Callable[[str], tuple[Path, Scene]], tmp_path: Path, suffix: str
) -> None:
    source, scene = written(_JOINTS)
    axes = scene.templates[0].axes
    assert axes.path == ("/W/ab", "/W/bc", "/W/cd", "/W/cd")
    out = tmp_path / f"out.{suffix}"
    with Recorder(out, source, scene) as recorder:
        recorder.record(0.0, joint_positions=np.zeros(4))
        recorder.record(0.5, joint_positions=[np.pi, 2.0, 0.5, -0.25], joint_velocities=[1.0, 3.0, -1.0, 0.5])
    stage = Usd.Stage.Open(str(out))
    expected = {
        "ab.state:angular:physics:position": 180.0,
        "bc.state:transX:physics:position": 2.0,
        "cd.state:rotX:physics:position": np.degrees(0.5),
        "cd.state:rotY:physics:position": np.degrees(-0.25),
        "ab.state:angular:physics:velocity": np.degrees(1.0),
        "bc.state:transX:physics:velocity": 3.0,
        "cd.state:rotX:physics:velocity": np.degrees(-1.0),
        "cd.state:rotY:physics:velocity": np.degrees(0.5),
    }
    for name, value in expected.items():
        assert stage.GetAttributeAtPath(f"/W/{name}").Get(30.0) == pytest.approx(value, rel=1e-6), name
    assert stage.GetAttributeAtPath("/W/ab.state:angular:physics:position").Get(15.0) == pytest.approx(90.0)
    schemas = stage.GetPrimAtPath("/W/cd").GetPrimTypeInfo().GetAppliedAPISchemas()
    assert {"PhysicsJointStateAPI:rotX", "PhysicsJointStateAPI:rotY", "PhysicsLimitAPI:rotZ"} <= set(schemas)


@pytest.mark.parametrize("suffix", ["usda", "usdc"])
@given(seed=st.integers(0, 1000))
def test_points_stand_where_they_were_given(
    stage_of: Callable[[str], Usd.Stage], tmp_path_factory: pytest.TempPathFactory, suffix: str, seed: int
) -> None:
    folder = tmp_path_factory.mktemp("points")
    stage_of('def PhysicsScene "S" {}\n' + _POINTS).Export(str(folder / "source.usda"))
    scene = parse_stage(folder / "source.usda")
    random = np.random.default_rng(seed)
    names = {"/W/cloth": 3, "/W/jelly": 4, "/W/drops": 5, "/W/grains": 2, "/W/hand/skin": 3}
    frames = [
        (random_poses(random, 1), {name: random.normal(size=(count, 3)) for name, count in names.items()})
        for _ in range(2)
    ]
    speeds = {"/W/drops": random.normal(size=(5, 3))}
    with Recorder(folder / f"out.{suffix}", folder / "source.usda", scene) as recorder:
        for index, (poses, points) in enumerate(frames):
            recorder.record(index / 60.0, poses, points=points, point_velocities=speeds)
    stage = Usd.Stage.Open(str(folder / f"out.{suffix}"))
    for index, (_, points) in enumerate(frames):
        for name, given_points in points.items():
            attribute = "positions" if name == "/W/grains" else "points"
            read = world_points(stage, name, float(index), attribute)
            np.testing.assert_allclose(read, given_points, atol=2e-6)
        read = world_points(stage, "/W/drops", float(index), "velocities")
        np.testing.assert_allclose(read, speeds["/W/drops"], atol=2e-6)


def test_points_on_a_body_at_rest_use_the_pose_of_the_stage(
    written: Callable[[str], tuple[Path, Scene]], tmp_path: Path
) -> None:
    source, scene = written(_POINTS)
    points = np.arange(9.0).reshape(3, 3)
    with Recorder(tmp_path / "out.usda", source, scene) as recorder:
        recorder.record(0.0, points={"/W/hand/skin": points})
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    written_points = stage.GetAttributeAtPath("/W/hand/skin.points").Get(0.0)
    original = Usd.Stage.Open(str(source))
    matrix = np.array(UsdGeom.XformCache().GetLocalToWorldTransform(original.GetPrimAtPath("/W/hand/skin")))
    assert not stage.GetPrimAtPath("/W/hand").HasAttribute("xformOp:translate:tensorphys")
    np.testing.assert_allclose(np.array(written_points) @ matrix[:3, :3] + matrix[3, :3], points, atol=1e-5)


@pytest.mark.parametrize("authored", [False, True])
def test_values_in_frames_of_environments(
    stage_of: Callable[[str], Usd.Stage], tmp_path: Path, authored: bool
) -> None:
    robot = """
        def Xform "ROOT" {
            double3 xformOp:translate = PLACE
            uniform token[] xformOpOrder = ["xformOp:translate"]
            def Xform "robot" {
                float3 xformOp:scale = (2, 2, 2)
                uniform token[] xformOpOrder = ["xformOp:scale"]
                def Cube "body" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {}
                def Points "drops" {}
            }
        }"""
    if authored:
        roots = [f"env_{index}" for index in range(3)]
        places = [f"({5 * index}, {-index}, 0.5)" for index in range(3)]
        inside = "".join(
            robot.replace("ROOT", root).replace("PLACE", place)
            for root, place in zip(roots, places, strict=True)
        )
        text = f'def Xform "World" {{ def Xform "envs" {{ {inside} }} }}'.replace("{ def", "{\ndef")
        text = text.replace("} }", "}\n}").replace("} }", "}\n}")
    else:
        text = robot.replace("ROOT", "env").replace("PLACE", "(0, 0, 0)")
    stage_of('def PhysicsScene "S" {}\n' + text).Export(str(tmp_path / "source.usda"))
    if authored:
        scene = parse_stage(tmp_path / "source.usda", environments="/World/envs/*")
    else:
        scene = replicate(parse_stage(tmp_path / "source.usda"), "/env", 3, spacing=7.0)
    random = np.random.default_rng(4)
    poses, points = random_poses(random, 3, 1), random.normal(size=(3, 4, 3))
    root = "" if authored else "/env"
    with Recorder(tmp_path / "out.usda", tmp_path / "source.usda", scene, root=root) as recorder:
        recorder.record(0.0, poses, points={"/robot/drops": points}, frame="environment")
        worlds = poses.copy()
        worlds[..., :3] += scene.environments.origin[:, None]
        recorder.record(1.0, worlds, points={"/robot/drops": points + scene.environments.origin[:, None]})
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    for code in (0.0, 60.0):
        cache = UsdGeom.XformCache(code)
        for row, root in enumerate(scene.environments.path):
            origin = scene.environments.origin[row]
            read = world_points(stage, f"{root}/robot/drops", code)
            np.testing.assert_allclose(read, points[row] + origin, atol=1e-5)
            world = np.array(cache.GetLocalToWorldTransform(stage.GetPrimAtPath(f"{root}/robot/body")))
            np.testing.assert_allclose(world[3, :3], poses[row, 0, :3] + origin, atol=1e-9)
            np.testing.assert_allclose(
                world[0, :3], 2.0 * quaternion_rotate(poses[row, 0, 3:], np.array([1.0, 0, 0])), atol=1e-9
            )


def test_turned_copies_stand_turned(written: Callable[[str], tuple[Path, Scene]], tmp_path: Path) -> None:
    source, whole = written(
        """
        def Xform "lab" {
            double3 xformOp:translate = (1, 0, 0)
            uniform token[] xformOpOrder = ["xformOp:translate"]
            def Xform "env" {
                double3 xformOp:translate = (0, 1, 0)
                uniform token[] xformOpOrder = ["xformOp:translate"]
                def Cube "ramp" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
                    float xformOp:rotateX = 25
                    uniform token[] xformOpOrder = ["xformOp:rotateX"]
                }
                def Cube "body" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {
                    double3 xformOp:translate = (0, 0, 3)
                    uniform token[] xformOpOrder = ["xformOp:translate"]
                    def Cube "free" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {
                        double3 xformOp:translate = (5, 0, 3)
                        uniform token[] xformOpOrder = ["!resetXformStack!", "xformOp:translate"]
                    }
                    def Points "drops" {}
                }
            }
        }"""
    )
    turn = np.sqrt(0.5)
    transforms = np.array([[0, 0, 0, 0, 0, 0, 1], [4, 5, 6, 0, 0, turn, turn], [9, 0, 0, 0.5, 0.5, 0.5, 0.5]])
    scene = replicate(whole, "/lab/env", transforms=transforms, path="/copies/c{}")
    rest = scene.overrides[0, "bodies.pose"]
    given = rest + scene.environments.origin[:, None].repeat(2, axis=1) @ np.eye(3, 7)
    drops = np.arange(6.0).reshape(3, 1, 2).repeat(3, axis=2)[..., :3]
    with Recorder(tmp_path / "out.usda", source, scene, root="/lab/env") as recorder:
        recorder.record(0.0, given, points={"/body/drops": drops})
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    cache = UsdGeom.XformCache(0.0)
    for row, path in enumerate(scene.environments.path):
        ramp = scene.overrides[0, "shapes.pose"][row, 0]
        ramp[:3] += scene.environments.origin[row]
        for name, pose in (("/ramp", ramp), ("/body", given[row, 0]), ("/body/free", given[row, 1])):
            world = np.array(cache.GetLocalToWorldTransform(stage.GetPrimAtPath(path + name)))
            np.testing.assert_allclose(world[3, :3], pose[:3], atol=1e-9)
            np.testing.assert_allclose(world[:3, :3], quaternion_rotate(pose[3:], np.eye(3)), atol=1e-9)
        np.testing.assert_allclose(world_points(stage, f"{path}/body/drops", 0.0), drops[row], atol=1e-5)


@pytest.mark.parametrize("turned", [False, True])
def test_copies_of_an_environment_that_does_not_stand_at_the_origin(
    written: Callable[[str], tuple[Path, Scene]], tmp_path: Path, turned: bool
) -> None:
    source, _ = written(
        """
        def Xform "World" {
            double3 xformOp:translate = (0, 0, 2)
            uniform token[] xformOpOrder = ["xformOp:translate"]
            def Xform "env_0" {
                double3 xformOp:translate = (3, -4, 0)
                float xformOp:rotateZ = 30
                uniform token[] xformOpOrder = ["xformOp:translate", "xformOp:rotateZ"]
                def Cube "ramp" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {
                    double3 xformOp:translate = (1, 0, 0)
                    uniform token[] xformOpOrder = ["xformOp:translate"]
                }
                def Cube "body" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"]) {
                    double3 xformOp:translate = (0, 2, 3)
                    uniform token[] xformOpOrder = ["xformOp:translate"]
                    def Points "drops" {}
                }
            }
        }"""
    )
    one = parse_stage(source, environments="/World/env_*")
    np.testing.assert_allclose(one.environments.origin, [[3.0, -4.0, 2.0]])
    turn = np.sqrt(0.5) if turned else 0.0
    transforms = np.array([[0, 0, 0, 0, 0, 0, 1], [10, 0, 1, 0, 0, turn, np.sqrt(1.0 - turn**2)]])
    scene = replicate(one, transforms=transforms, path="/copies/c{}")
    random = np.random.default_rng(3)
    poses, drops = random_poses(random, 2, 1), random.normal(size=(2, 4, 3))
    with Recorder(tmp_path / "out.usda", source, scene, root="/World/env_0") as recorder:
        recorder.record(0.0, poses, points={"/body/drops": drops}, frame="environment")
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    cache = UsdGeom.XformCache(0.0)
    shapes = scene.overrides.get((0, "shapes.pose"), np.repeat(one.templates[0].shapes.pose[None], 2, axis=0))
    for row, path in enumerate(scene.environments.path):
        origin = scene.environments.origin[row]
        for name, pose in (("/ramp", shapes[row, 0]), ("/body", poses[row, 0])):
            world = np.array(cache.GetLocalToWorldTransform(stage.GetPrimAtPath(path + name)))
            np.testing.assert_allclose(world[3, :3], pose[:3] + origin, atol=1e-9)
            np.testing.assert_allclose(world[:3, :3], quaternion_rotate(pose[3:], np.eye(3)), atol=1e-7)
        np.testing.assert_allclose(
            world_points(stage, f"{path}/body/drops", 0.0), drops[row] + origin, atol=1e-5
        )


def test_many_frames_become_text_in_pieces(
    case: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = parse_stage(case("014"))
    random = np.random.default_rng(0)
    frames = random_poses(random, 9, 3)
    codes = [0, 1, 2, 3, 2, 4, 5, 6, 1]  # a time that comes again replaces what was recorded

    def recorded(name: str) -> list[np.ndarray]:
        with Recorder(tmp_path / name, case("014"), scene) as recorder:
            for code, frame in zip(codes, frames, strict=True):
                recorder.record(code / 60.0, frame)
        stage = Usd.Stage.Open(str(tmp_path / name))
        prims = [stage.GetPrimAtPath(path) for path in scene.templates[0].bodies.path]
        return [
            np.array([UsdGeom.XformCache(code).GetLocalToWorldTransform(prim) for prim in prims])
            for code in range(7)
        ]

    whole = recorded("whole.usda")
    monkeypatch.setattr(samples, "_CHUNK", 500)
    np.testing.assert_array_equal(recorded("pieces.usda"), whole)
    np.testing.assert_allclose(whole[1][:, 3, :3], frames[8, :, :3], atol=1e-9)
    np.testing.assert_allclose(whole[2][:, 3, :3], frames[4, :, :3], atol=1e-9)


def test_an_instance_with_recorded_points_is_split(
    written: Callable[[str], tuple[Path, Scene]], tmp_path: Path
) -> None:
    source, scene = written(
        """
        def Xform "proto" {
            def Points "drops" {
                point3f[] points = [(0, 0, 0)]
            }
        }
        def Xform "first" (
            instanceable = true
            references = </proto>
        ) {}
        def Xform "second" (
            instanceable = true
            references = </proto>
        ) {
            double3 xformOp:translate = (0, 0, 9)
            uniform token[] xformOpOrder = ["xformOp:translate"]
        }"""
    )
    with Recorder(tmp_path / "out.usda", source, scene) as recorder:
        recorder.record(0.0, points={"/second/drops": [[1.0, 2.0, 3.0]]})
    stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
    np.testing.assert_allclose(world_points(stage, "/second/drops", 0.0), [[1, 2, 3]])
    np.testing.assert_allclose(world_points(stage, "/first/drops", 0.0), [[0, 0, 0]])


def test_wrong_values_are_refused_by_name(
    written: Callable[[str], tuple[Path, Scene]], tmp_path: Path
) -> None:
    source, scene = written(_POINTS)
    recorder = Recorder(tmp_path / "out.usda", source, scene)
    triangle = np.zeros((3, 3))
    for name, values, message in (
        ("/W/nothing", triangle, "/W/nothing: a prim with points that the source stage does not have"),
        ("no path", triangle, "no path: a prim with points that the source stage does not have"),
        ("/W/hand", triangle, "/W/hand: a Xform has no points"),
        ("/W/cloth", np.zeros((4, 3)), "/W/cloth: has 3 points, given 4"),
        ("/W/cloth", np.zeros(3), r"/W/cloth: expected points of shape \(1, points, 3\), given \(3,\)"),
        ("/W/cloth", np.full((3, 3), np.nan), "/W/cloth: points 0 is not finite"),
    ):
        with pytest.raises(StageError, match=message):
            recorder.record(0.0, points={name: values})
    recorder.record(0.0, points={"/W/drops": np.zeros((5, 3))})
    with pytest.raises(StageError, match="/W/drops: expected 5 points, given 6"):
        recorder.record(0.1, points={"/W/drops": np.zeros((6, 3))})
    with pytest.raises(StageError, match=r"expected joint states of shape \(1, 0\), given \(2,\)"):
        recorder.record(0.0, joint_positions=[0.0, 1.0])
    with pytest.raises(StageError, match="frame must be 'world' or 'environment', given 'body'"):
        recorder.record(0.0, frame="body")  # type: ignore[arg-type]
    recorder.close()
    with pytest.raises(StageError, match="is written already"):
        recorder.record(0.0)
    source, scene = written(_JOINTS)
    recorder = Recorder(tmp_path / "joints.usda", source, scene)
    with pytest.raises(StageError, match="position of /W/bc is not finite"):
        recorder.record(0.0, joint_positions=[0.0, np.inf, 0.0, 0.0])


def test_an_open_stage_of_an_earlier_recording_sees_the_new_one(
    written: Callable[[str], tuple[Path, Scene]], tmp_path: Path
) -> None:
    source, scene = written(_POINTS)
    for value in (1.0, 2.0):
        with Recorder(tmp_path / "out.usda", source, scene) as recorder:
            recorder.record(0.0, points={"/W/jelly": np.full((4, 3), value)})
        stage = Usd.Stage.Open(str(tmp_path / "out.usda"))
        assert stage.GetAttributeAtPath("/W/jelly.points").Get(0.0)[0] == Gf.Vec3f(value)
