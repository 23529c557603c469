"""Bad input ends with one line and exit code 2; an interrupt keeps what was simulated."""

from __future__ import annotations

import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics

from tensorphys.cli import main
from tensorphys_engine import Simulation, template_plan
from tensorphys_scene import JointType


def new_stage(path: pathlib.Path, *, scene: bool = True) -> Usd.Stage:
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    if scene:
        UsdPhysics.Scene.Define(stage, "/scene")
    return stage


def ball(stage: Usd.Stage, path: str = "/ball", height: float = 1.0) -> Usd.Prim:
    sphere = UsdGeom.Sphere.Define(stage, path)
    sphere.CreateRadiusAttr(0.1)
    sphere.AddTranslateOp().Set(Gf.Vec3d(0, 0, height))
    UsdPhysics.RigidBodyAPI.Apply(sphere.GetPrim())
    UsdPhysics.CollisionAPI.Apply(sphere.GetPrim())
    return sphere.GetPrim()


def no_scene(path: pathlib.Path) -> None:
    stage = new_stage(path, scene=False)
    ball(stage)
    stage.Save()


def nan_transform(path: pathlib.Path) -> None:
    stage = new_stage(path)
    ball(stage, height=float("nan"))
    stage.Save()


def joint_to_nothing(path: pathlib.Path) -> None:
    stage = new_stage(path)
    ball(stage)
    joint = UsdPhysics.RevoluteJoint.Define(stage, "/hinge")
    joint.CreateBody0Rel().SetTargets([Sdf.Path("/ball")])
    joint.CreateBody1Rel().SetTargets([Sdf.Path("/not_there")])
    stage.Save()


def no_body(path: pathlib.Path) -> None:
    new_stage(path).Save()


def text_file(path: pathlib.Path) -> None:
    path.write_text("this is no stage\n")


def one_ball(path: pathlib.Path) -> None:
    stage = new_stage(path)
    ball(stage)
    stage.Save()


def ball_joint(path: pathlib.Path) -> None:
    """Two links with a spherical joint."""
    stage = new_stage(path)
    UsdGeom.Xform.Define(stage, "/robot")
    UsdPhysics.ArticulationRootAPI.Apply(stage.GetPrimAtPath("/robot"))
    ball(stage, "/robot/first", 1.0)
    ball(stage, "/robot/second", 1.5)
    joint = UsdPhysics.SphericalJoint.Define(stage, "/robot/socket")
    joint.CreateBody0Rel().SetTargets([Sdf.Path("/robot/first")])
    joint.CreateBody1Rel().SetTargets([Sdf.Path("/robot/second")])
    joint.CreateLocalPos0Attr(Gf.Vec3f(0, 0, 0.5))
    stage.Save()


def one_error_line(capfd: pytest.CaptureFixture[str]) -> str:
    lines = capfd.readouterr().err.splitlines()
    errors = [line for line in lines if line.startswith("tensorphys: error: ")]
    assert len(errors) == 1, lines
    assert "Traceback" not in "\n".join(lines)
    return errors[0]


@pytest.mark.parametrize("command", ["simulate", "inspect"])
@pytest.mark.parametrize(
    ("author", "expected"),
    [
        pytest.param(no_scene, ["PhysicsScene"], id="no-scene"),
        pytest.param(nan_transform, ["/ball", "nan"], id="nan-transform"),
        pytest.param(joint_to_nothing, ["/hinge", "/not_there"], id="joint-to-nothing"),
        pytest.param(text_file, ["stage.usda"], id="no-stage"),
        pytest.param(None, ["stage.usda", "no such file"], id="missing"),
    ],
)
def test_stage_that_cannot_be_read(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str], author, expected: list[str], command: str
) -> None:
    path = tmp_path / "stage.usda"
    if author is not None:
        author(path)
    assert main([command, str(path)]) == 2
    line = one_error_line(capfd)
    for text in expected:
        assert text in line


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--device", "cuda:77"], ["cuda:77", "cpu"]),
        (["--device", "abacus"], ["abacus"]),
        (["--dt", "0"], ["--dt", "> 0"]),
        (["--dt", "nan"], ["--dt"]),
        (["--steps", "1.5"], ["--steps", "whole number"]),
        (["--envs", "0"], ["--envs"]),
        (["--steps", "3", "--seconds", "1"], ["--seconds"]),
        (["--spacing", "1"], ["--spacing"]),
        (["--envs", "2", "--environments", "/*"], ["--environments"]),
        (["--environments", "/nothing/here_*"], ["/nothing/here_*"]),
        (["--free-base", "/nothing"], ["/nothing"]),
        (["--without", "/nothing"], ["/nothing"]),
        (["--without", "/ball"], ["no rigid body"]),
        (["--plot-env", "1"], ["--plot-env 1"]),
        (["--record", "out.usda", "--record-envs", "2"], ["--record-envs 2"]),
        (["--npz", "out.txt"], ["out.txt", ".npz"]),
        (["--plot", "no/folder/out.png"], ["no/folder"]),
        (["--plot", "out.xyz"], ["out.xyz"]),
    ],
)
def test_arguments_that_cannot_be_used(
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: list[str],
    expected: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    one_ball(tmp_path / "stage.usda")
    assert main(["simulate", "stage.usda", *words]) == 2
    line = one_error_line(capfd)
    for text in expected:
        assert text in line
    assert [file.name for file in tmp_path.iterdir()] == ["stage.usda"]


def test_stage_without_bodies(tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    no_body(tmp_path / "stage.usda")
    assert main(["simulate", str(tmp_path / "stage.usda")]) == 2
    assert "no rigid body" in one_error_line(capfd)


def test_recording_over_the_input_is_refused(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "stage.usda"
    one_ball(path)
    before = path.read_bytes()
    assert main(["simulate", str(path), "--steps", "2", "--record", str(path)]) == 2
    assert "input" in one_error_line(capfd)
    assert path.read_bytes() == before


def test_missing_scene_can_be_allowed(tmp_path: pathlib.Path) -> None:
    no_scene(tmp_path / "stage.usda")
    assert main(["simulate", str(tmp_path / "stage.usda"), "--steps", "2", "-q", "--default-gravity"]) == 0


def test_unsupported_joint_is_named_and_can_be_left_out(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "stage.usda"
    ball_joint(path)
    # No joint that a stage can ask for is left out; an engine without spherical ones stands in.
    known = template_plan._TREE_JOINTS
    monkeypatch.setattr(template_plan, "_TREE_JOINTS", known - {JointType.SPHERICAL})
    assert main(["simulate", str(path), "--steps", "2"]) == 2
    line = one_error_line(capfd)
    assert "/robot/socket" in line and "--ignore-unsupported" in line
    assert main(["simulate", str(path), "--steps", "2", "--ignore-unsupported"]) == 0
    _, err = capfd.readouterr()
    assert "tensorphys: warning:" in err and "/robot/socket" in err
    # The report does not need the flag.
    assert main(["inspect", str(path)]) == 0
    assert "/robot/socket" in capfd.readouterr().out


def test_state_that_is_not_finite_is_an_error_of_its_own(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "stage.usda"
    stage = new_stage(path)
    ball(stage)
    stage.Save()
    step, taken = Simulation.step, []

    def step_into_nothing(self: Simulation, *arguments: Any, **keywords: Any) -> None:
        """No stage is known that ends so; a state that does stands in for it."""
        step(self, *arguments, **keywords)
        taken.append(1)
        if len(taken) == 3:
            self.state.link_pose.assign(np.full((len(self.state.link_pose), 7), np.nan, np.float32))

    monkeypatch.setattr(Simulation, "step", step_into_nothing)
    outputs = ["--npz", str(tmp_path / "out.npz"), "--record", str(tmp_path / "out.usda")]
    assert main(["simulate", str(path), "--seconds", "10", "--dt", "1", *outputs]) == 1
    assert "not finite" in one_error_line(capfd)
    with np.load(tmp_path / "out.npz") as data:
        assert np.isfinite(data["link_pose"][0]).all()
        assert not np.isfinite(data["link_pose"][-1]).all()
        assert len(data["time"]) < 11
    assert Usd.Stage.Open(str(tmp_path / "out.usda")).GetPrimAtPath("/ball")


def test_process_ends_with_the_exit_code_and_no_traceback(tmp_path: pathlib.Path) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "tensorphys", "simulate", str(tmp_path / "nothing.usda")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 2
    assert run.stdout == ""
    assert run.stderr.splitlines() == [f"tensorphys: error: {tmp_path / 'nothing.usda'}: no such file"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for another process")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_writes_what_was_simulated(tmp_path: pathlib.Path, number: signal.Signals) -> None:
    one_ball(tmp_path / "stage.usda")
    outputs = ["--npz", "out.npz", "--record", "out.usda", "--plot", "out.png"]
    with subprocess.Popen(
        [sys.executable, "-m", "tensorphys", "simulate", "stage.usda", "--seconds", "1e6", *outputs],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        for line in process.stdout:
            if "kernels are ready" in line:
                break
        time.sleep(1.0)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number, err
    assert "Traceback" not in err
    assert "interrupted after" in out
    with np.load(tmp_path / "out.npz") as data:
        steps = int(data["step"][-1])
        assert 10 < steps < 6e7
        assert f"interrupted after {steps} of" in out
    played = Usd.Stage.Open(str(tmp_path / "out.usda"))
    assert played.GetEndTimeCode() == pytest.approx(steps, abs=1.0)  # 60 frames and 60 steps a second
    assert (tmp_path / "out.png").stat().st_size > 10_000
