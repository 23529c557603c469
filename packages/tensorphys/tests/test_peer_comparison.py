"""The comparison with peers: the same robot for all, ends that do not count are told, goals beside the last measurement."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[1] / "bench"
sys.path.insert(0, str(BENCH))

import peer_checks  # noqa: E402
import peer_mjcf  # noqa: E402
import peer_robots  # noqa: E402

MEASURED = BENCH / "measured" / "peers_cpu.json"


@pytest.fixture(scope="module", params=list(peer_robots.ROBOTS))
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A robot, and the folder with its files."""
    folder = tmp_path_factory.mktemp("models")
    peer_mjcf.write(request.param, folder)
    return request.param, folder


def _rest(name: str) -> np.ndarray:
    """Poses of the bodies as authored, one environment."""
    return peer_robots.load(name).templates[0].bodies.pose[None]


def test_the_model_of_the_peers_has_our_numbers(written: tuple[str, Path]) -> None:
    name, folder = written
    root = ET.parse(folder / f"{name}.xml").getroot()
    template = peer_robots.load(name).templates[0]
    mass = [float(e.attrib["mass"]) for e in root.iter("inertial")]
    assert sum(mass) == pytest.approx(template.bodies.mass.sum(), rel=1e-6)
    joints = [e.attrib for e in root.iter("joint") if "armature" in e.attrib]
    assert sorted(j["name"] for j in joints) == sorted(template.axes.names)
    gains = {e.attrib["name"]: float(e.attrib["kp"]) for e in root.iter("position")}
    for row, axis in enumerate(template.axes.names):
        assert gains.get(axis, 0.0) == pytest.approx(template.axes.stiffness[row])
    shapes = [e for e in root.iter("geom") if e.attrib["name"] != "floor"]
    assert len(shapes) == int((template.shapes.enabled & (template.shapes.body >= 0)).sum())


def test_a_robot_as_authored_has_no_drift(written: tuple[str, Path]) -> None:
    name, folder = written
    robot = json.loads((folder / f"{name}.json").read_text("utf-8"))
    poses = _rest(name)
    assert peer_checks.joint_drift(robot, poses) < 1e-5
    assert peer_checks.judge(robot, poses, is_finite=True, overflow=0)["valid"]
    moved = poses.copy()
    moved[0, -1, 0] += 0.05
    assert peer_checks.joint_drift(robot, moved) == pytest.approx(0.05, rel=0.5)


def test_ends_that_do_not_count_are_told(tmp_path: Path) -> None:
    peer_mjcf.write("ant", tmp_path)
    robot = json.loads((tmp_path / "ant.json").read_text("utf-8"))
    poses = _rest("ant")
    lowest = min(peer_checks.lowest(s, poses[:, s["body"]]).min() for s in robot["shapes"])
    sunk = poses.copy()
    sunk[..., 2] -= lowest + 0.06
    found = peer_checks.judge(robot, sunk, is_finite=True, overflow=0)
    assert found["depth"] == pytest.approx(0.06, abs=1e-6)
    assert not found["valid"]
    assert "depth" in found["why"]
    for wrong in (
        {"is_finite": False, "overflow": 0},
        {"is_finite": True, "overflow": 3},
    ):
        assert not peer_checks.judge(robot, poses, **wrong)["valid"]
    broken = poses.copy()
    broken[0, 3, 1] = np.nan
    assert not peer_checks.judge(robot, broken, is_finite=True, overflow=0)["valid"]


@pytest.mark.parametrize(
    ("kind", "size"), [(1, [0.3, 0, 0]), (2, [0.1, 0.4, 0]), (3, [0.2, 0.3, 0.1]), (5, [0.2, 0.1, 0])]
)
def test_lowest_points_are_those_of_samples(kind: int, size: list[float]) -> None:
    rng = np.random.default_rng(kind)
    turn = rng.normal(size=(20, 4))
    poses = np.hstack((rng.normal(size=(20, 3)), turn / np.linalg.norm(turn, axis=1, keepdims=True)))
    shape = {"type": kind, "size": size, "pose": [0.1, 0.2, 0.3, 0, 0, 0, 1], "points": []}
    way = rng.normal(size=(200_000, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    if kind == 1:
        points = way * size[0]
    elif kind == 2:
        points = way * size[0] + np.sign(way[:, 2:]) * [0, 0, size[1]]
    elif kind == 3:
        points = np.sign(way) * size
    else:
        points = np.hstack(
            (
                way[:, :2] / np.linalg.norm(way[:, :2], axis=1, keepdims=True) * size[0],
                np.sign(way[:, 2:]) * size[1],
            )
        )
    points = points + shape["pose"][:3]
    heights = np.stack([(peer_checks.rotated(p[3:], points)[:, 2] + p[2]).min() for p in poses])
    np.testing.assert_allclose(peer_checks.lowest(shape, poses), heights, atol=2e-3)


def _rate(robot: str, count: int) -> float:
    rows = json.loads(MEASURED.read_text("utf-8"))["measured"]
    found = [
        r for r in rows if (r["engine"], r.get("robot"), r.get("environments")) == ("ours", robot, count)
    ]
    assert all(row["valid"] for row in found)
    return float(found[0]["rate_per_cpu_second"])


def _missed(*parameters: object, reason: str) -> object:
    return pytest.param(*parameters, marks=pytest.mark.xfail(strict=True, reason=reason))


@pytest.mark.parametrize(
    ("robot", "goal"),
    [
        _missed("cartpole", 800e3, reason="647,000 environment-steps of one core's second, of 800,000"),
        _missed("ant", 150e3, reason="79,000 environment-steps of one core's second, of 150,000"),
        _missed("humanoid", 60e3, reason="36,000 environment-steps of one core's second, of 60,000"),
    ],
)
def test_a_core_reaches_its_goal(robot: str, goal: float) -> None:
    assert _rate(robot, 256) >= goal


@pytest.mark.parametrize(
    ("robot", "share"),
    [
        _missed("cartpole", 0.3, reason="one environment makes 29 % of the rate of 256, of 30 %"),
        ("ant", 0.6),
        ("humanoid", 0.6),
    ],
)
def test_one_environment_reaches_its_share(robot: str, share: float) -> None:
    assert _rate(robot, 1) >= share * _rate(robot, 256)
