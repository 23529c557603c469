"""`tensorphys simulate`: what it says and what it writes."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from pxr import Gf, Usd, UsdGeom, UsdPhysics

from tensorphys.cli import main

PANDA = pathlib.Path(__file__).resolve().parents[3] / "examples" / "panda" / "panda.usdc"
PANDA_OPTIONS = ["--seconds", "0.5", "--perturb", "0.1", "--seed", "3", "--ground"]


def tensorphys(*words: object, cwd: pathlib.Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tensorphys", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )


def box_stage(path: pathlib.Path, *, up: str = "Z", floor: bool = True, unit: float = 1.0) -> pathlib.Path:
    """A box of edge 0.4 m that begins 1 m above the origin, and a floor."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.SetStageMetersPerUnit(stage, unit)
    UsdPhysics.Scene.Define(stage, "/scene")
    UsdGeom.Xform.Define(stage, "/World")
    box = UsdGeom.Cube.Define(stage, "/World/box")
    box.CreateSizeAttr(0.4 / unit)
    box.AddTranslateOp().Set(Gf.Vec3d(0, 0, 1.0 / unit) if up == "Z" else Gf.Vec3d(0, 1.0 / unit, 0))
    UsdPhysics.RigidBodyAPI.Apply(box.GetPrim())
    UsdPhysics.CollisionAPI.Apply(box.GetPrim())
    UsdPhysics.MassAPI.Apply(box.GetPrim()).CreateMassAttr(2.0)
    if floor:
        plane = UsdGeom.Plane.Define(stage, "/World/floor")
        plane.CreateAxisAttr(up)
        UsdPhysics.CollisionAPI.Apply(plane.GetPrim())
    stage.Save()
    return path


@pytest.fixture(scope="module")
def panda(tmp_path_factory: pytest.TempPathFactory) -> tuple[pathlib.Path, subprocess.CompletedProcess[str]]:
    """Folder and result of a run of four Pandas with every output."""
    folder = tmp_path_factory.mktemp("panda")
    outputs = ["--record", "out.usda", "--npz", "out.npz", "--plot", "out.png"]
    return folder, tensorphys("simulate", PANDA, "--envs", 4, *PANDA_OPTIONS, *outputs, cwd=folder)


def test_panda_runs_and_says_what_it_found(panda) -> None:
    _, run = panda
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    for text in (
        "11 links",
        "9 degrees of freedom",
        "8 boxes, 9 convex hulls",
        "panda_finger_joint2",
        "-2.897",
    ):
        assert text in run.stdout
    # An attribute that is read by nobody; the mimic joint of the fingers is simulated.
    assert "urdf:safety_controller:k_position is not supported" in run.stdout
    assert "mimic" not in run.stdout
    assert "ground plane is added at height " in run.stdout
    assert "steps/s" in run.stdout and "x real time" in run.stdout
    # The bar goes where it does not disturb the report.
    assert "100%" in run.stderr and "real time" in run.stderr


def test_panda_states_have_the_documented_shapes(panda) -> None:
    folder, _ = panda
    with np.load(folder / "out.npz", allow_pickle=False) as data:
        frames, environments, links, dofs = len(data["time"]), 4, 11, 9
        assert data["link_pose"].shape == (frames, environments, links, 7)
        assert data["link_velocity"].shape == (frames, environments, links, 6)
        assert data["contact_force"].shape == (frames, environments, links, 3)
        assert data["dof_position"].shape == data["dof_velocity"].shape == (frames, environments, dofs)
        for name in ("penetration", "contact_count", "kinetic_energy", "potential_energy"):
            assert data[name].shape == (frames, environments)
        assert data["link_path"].shape == data["link_mass"].shape == (1, links)
        assert data["dof_name"][0].tolist()[:2] == ["panda_joint1", "panda_joint2"]
        assert data["environment_path"][3] == "/World/envs/env_3"
        assert data["time"][0] == 0.0
        np.testing.assert_allclose(data["time"], data["step"] * data["dt"], atol=1e-9)
        assert data["time"][-1] == pytest.approx(0.5)
        for name in data.files:
            if data[name].dtype.kind == "f":
                assert np.isfinite(data[name]).all(), name
        start = data["dof_position"][0]
        assert (np.abs(start) <= 0.1 + 1e-6).all()
        assert all(np.abs(start[0] - start[e]).max() > 1e-3 for e in range(1, 4))


def test_recorded_stage_plays_the_saved_states(panda) -> None:
    folder, _ = panda
    stage = Usd.Stage.Open(str(folder / "out.usda"))
    with np.load(folder / "out.npz") as data:
        poses, origins = data["link_pose"].astype(np.float64), data["environment_origin"]
        roots, paths = data["environment_path"], data["link_path"][0]
        last = len(data["time"]) - 1
        assert stage.GetEndTimeCode() == pytest.approx(data["time"][-1] * stage.GetTimeCodesPerSecond())
        codes = data["time"] * stage.GetTimeCodesPerSecond()
    for frame in (0, last // 2, last):
        cache = UsdGeom.XformCache(Usd.TimeCode(codes[frame]))
        for e, root in enumerate(roots):
            for link, path in enumerate(paths):
                matrix = cache.GetLocalToWorldTransform(stage.GetPrimAtPath(root + path))
                np.testing.assert_allclose(
                    matrix.ExtractTranslation(), poses[frame, e, link, :3] + origins[e], atol=2e-6
                )
                turn = matrix.ExtractRotationQuat()
                found = np.array([*turn.GetImaginary(), turn.GetReal()])
                assert abs(found @ poses[frame, e, link, 3:]) == pytest.approx(1.0, abs=1e-5)


def test_recording_keeps_the_meshes_of_the_input(panda) -> None:
    folder, _ = panda
    stage = Usd.Stage.Open(str(folder / "out.usda"))
    source = Usd.Stage.Open(str(PANDA))
    meshes = sum(prim.IsA(UsdGeom.Mesh) for prim in source.Traverse(Usd.TraverseInstanceProxies()))
    assert meshes > 0
    assert sum(prim.IsA(UsdGeom.Mesh) for prim in stage.Traverse(Usd.TraverseInstanceProxies())) == 4 * meshes


def test_plot_is_a_picture_with_curves(panda) -> None:
    from matplotlib import image

    folder, _ = panda
    pixels = image.imread(folder / "out.png")
    assert min(pixels.shape[:2]) > 500
    # Curves and legends have the colours of the cycle; a blank picture is grey.
    assert (np.ptp(pixels[..., :3], axis=-1) > 0.3).sum() > 1000


def test_first_of_four_equals_a_single_one(panda, tmp_path: pathlib.Path) -> None:
    folder, _ = panda
    single = tmp_path / "single.npz"
    assert main(["simulate", str(PANDA), *PANDA_OPTIONS, "--npz", str(single), "-q"]) == 0
    with np.load(folder / "out.npz") as four, np.load(single) as one:
        for name in ("link_pose", "link_velocity", "dof_position", "dof_velocity"):
            np.testing.assert_array_equal(four[name][:, :1], one[name])


@pytest.mark.parametrize(("up", "unit"), [("Z", 1.0), ("Y", 0.01)])
def test_box_falls_as_the_closed_form_says_and_rests(tmp_path: pathlib.Path, up: str, unit: float) -> None:
    stage = box_stage(tmp_path / "box.usda", up=up, unit=unit)
    out = tmp_path / "box.npz"
    assert (
        main(["simulate", str(stage), "--seconds", "2", "--dt", "0.0041666667", "--npz", str(out), "-q"]) == 0
    )
    axis = 2 if up == "Z" else 1
    with np.load(out) as data:
        height = data["link_pose"][:, 0, 0, axis] * unit
        time, force = data["time"], data["contact_force"][-1, 0, 0] * unit
        energy = (data["kinetic_energy"] + data["potential_energy"])[:, 0] * unit**2
        penetration = data["penetration"][-1, 0] * unit
    falling = time < 0.39  # the box touches the floor after 0.404 s
    np.testing.assert_allclose(height[falling], 1.0 - 0.5 * 9.81 * time[falling] ** 2, atol=1e-4)
    np.testing.assert_allclose(energy[falling], 2.0 * 9.81, rtol=1e-3)
    assert height[-1] == pytest.approx(0.2, abs=2e-3)
    assert 0.0 <= penetration < 2e-3
    assert force[axis] == pytest.approx(2.0 * 9.81, rel=0.02)
    assert energy.max() <= energy[0] * 1.001


@pytest.mark.parametrize(
    ("words", "rest"), [([], None), (["--ground"], 0.2), (["--ground=-1"], -0.8), (["--ground", "0.5"], 0.7)]
)
def test_ground_stops_the_fall_where_asked(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], words: list[str], rest: float | None
) -> None:
    stage = box_stage(tmp_path / "box.usda", floor=False)
    out = tmp_path / "box.npz"
    assert main(["simulate", str(stage), "--seconds", "2", "--npz", str(out), *words]) == 0
    with np.load(out) as data:
        height = float(data["link_pose"][-1, 0, 0, 2])
    if rest is None:
        assert height < -10.0
        assert "--ground adds a plane" in capsys.readouterr().out
    else:
        assert height == pytest.approx(rest, abs=2e-3)


def test_ground_goes_below_what_reaches_below_zero(tmp_path: pathlib.Path) -> None:
    stage = Usd.Stage.CreateNew(str(tmp_path / "low.usda"))
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/scene")
    for name, shape in (("ball", UsdGeom.Sphere), ("pill", UsdGeom.Capsule), ("crate", UsdGeom.Cube)):
        prim = shape.Define(stage, f"/{name}")
        prim.AddTranslateOp().Set(Gf.Vec3d(4.0 * ["ball", "pill", "crate"].index(name), 0.0, -1.0))
        if name == "crate":  # on an edge: it reaches below its centre by half a diagonal
            prim.AddRotateXOp().Set(45.0)
            prim.CreateSizeAttr(2.0)
        UsdPhysics.RigidBodyAPI.Apply(prim.GetPrim())
        UsdPhysics.CollisionAPI.Apply(prim.GetPrim())
    stage.Save()
    from tensorphys.cli.ground import add_ground, lowest_point
    from tensorphys_usd import parse_stage

    scene = parse_stage(stage)
    # Radius 1 of the ball; 0.5 + 1/2 of the pill along Z; √2 of the crate.
    assert lowest_point(scene) == pytest.approx(-1.0 - np.sqrt(2.0), abs=1e-6)
    grounded, height = add_ground(scene, float("nan"))
    assert height == pytest.approx(-1.0 - np.sqrt(2.0), abs=1e-6)
    assert grounded.shared.shapes.pose[0, 2] == height


def test_without_leaves_a_prim_out(tmp_path: pathlib.Path) -> None:
    stage = box_stage(tmp_path / "box.usda")
    out = tmp_path / "box.npz"
    before = stage.read_bytes()
    words = ["simulate", str(stage), "--seconds", "2", "--npz", str(out), "-q", "--without", "/World/floor"]
    assert main(words) == 0
    with np.load(out) as data:
        assert data["link_pose"][-1, 0, 0, 2] < -10.0
    assert stage.read_bytes() == before


def test_free_base_falls(tmp_path: pathlib.Path) -> None:
    out = tmp_path / "free.npz"
    words = ["simulate", str(PANDA), "--seconds", "0.25", "--npz", str(out), "-q", "--free-base", "*"]
    assert main(words) == 0
    with np.load(out) as data:
        mass, speed = data["link_mass"][0], data["link_velocity"][:, 0, :, 2]
        base, time = data["link_pose"][:, 0, 0, 2], data["time"]
    assert base[-1] < base[0] - 0.1
    fall = (speed * mass).sum(axis=1) / mass.sum()
    # Whatever the joints do, all of it gains the momentum of its weight; half a substep while a limit bears load.
    np.testing.assert_allclose(fall, -9.81 * time, atol=9.81 / 60.0 / 8.0 + 2e-3)


def test_seed_decides_the_start(tmp_path: pathlib.Path) -> None:
    def start(*words: str) -> np.ndarray:
        out = tmp_path / "start.npz"
        assert main(["simulate", str(PANDA), "--steps", "1", "--npz", str(out), "-q", *words]) == 0
        with np.load(out) as data:
            return data["dof_position"][0, 0]

    first, again, other = (start("--perturb", "0.2", "--seed", seed) for seed in ("1", "1", "2"))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first - other).max() > 1e-3
    assert not start("--seed", "1").any()  # no perturbation unless asked for


def test_steps_and_dt_are_what_was_asked(tmp_path: pathlib.Path) -> None:
    stage, out = box_stage(tmp_path / "box.usda"), tmp_path / "box.npz"
    words = ["simulate", str(stage), "--steps", "7", "--dt", "0.01", "--fps", "50", "--npz", str(out), "-q"]
    assert main(words) == 0
    with np.load(out) as data:
        assert data["step"].tolist() == [0, 2, 4, 6, 7]
        assert data["dt"] == pytest.approx(0.01)


def test_quiet_prints_nothing(tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", str(box_stage(tmp_path / "box.usda")), "--steps", "3", "-q"]) == 0
    assert capfd.readouterr() == ("", "")


def test_authored_environments(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    stage = box_stage(tmp_path / "box.usda")
    top = Usd.Stage.CreateNew(str(tmp_path / "many.usda"))
    UsdGeom.SetStageUpAxis(top, "Z")
    UsdGeom.SetStageMetersPerUnit(top, 1.0)
    UsdPhysics.Scene.Define(top, "/scene")
    for i in range(3):
        env = UsdGeom.Xform.Define(top, f"/envs/env_{i}")
        env.AddTranslateOp().Set(Gf.Vec3d(5.0 * i, 0, 0))
        env.GetPrim().GetReferences().AddReference(str(stage), "/World")
    top.Save()
    out = tmp_path / "many.npz"
    record = tmp_path / "played.usda"
    words = ["simulate", str(tmp_path / "many.usda"), "--environments", "/envs/env_*", "--seconds", "1"]
    assert main([*words, "--npz", str(out), "--record", str(record)]) == 0
    assert "environments: 3" in capsys.readouterr().out
    with np.load(out) as data:
        assert data["link_pose"].shape[1:] == (3, 1, 7)
        np.testing.assert_array_equal(data["link_pose"][:, 0], data["link_pose"][:, 2])
    played = Usd.Stage.Open(str(record))
    cache = UsdGeom.XformCache(Usd.TimeCode(played.GetEndTimeCode()))
    position = cache.GetLocalToWorldTransform(played.GetPrimAtPath("/envs/env_2/box")).ExtractTranslation()
    with np.load(out) as data:
        expected = data["link_pose"][-1, 2, 0, :3] + data["environment_origin"][2]
    np.testing.assert_allclose(position, expected, atol=2e-6)
    assert position[2] == pytest.approx(0.2, abs=2e-3)


def test_inspect_lists_everything_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(PANDA), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    (template,) = data["templates"]
    (arm,) = template["articulations"]
    assert (len(template["bodies"]), len(arm["links"]), len(arm["dofs"])) == (11, 11, 9)
    assert arm["fixed_base"] is True
    assert arm["dofs"][3]["upper"] == pytest.approx(-0.0698, abs=1e-6)
    assert {dof["motion"] for dof in arm["dofs"]} == {"rotation", "translation"}
    texts = {finding["text"] for finding in data["findings"]}
    assert "urdf:safety_controller:k_position is not supported: ignored" in texts
    assert not any("mimic" in text for text in texts)
    kinds = {finding["text"]: finding["kind"] for finding in data["findings"]}
    assert kinds["urdf:safety_controller:k_position is not supported: ignored"] == "ignored"
    read = {row["path"]: row["properties"] for row in data["read"]}
    (joint,) = [path for path in read if path.endswith("/panda_finger_joint2")]
    assert {"newton:damping", "newton:mimicJoint", "physics:axis"} <= set(read[joint])


def test_inspect_text_names_prims_in_full(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    assert main(["inspect", str(box_stage(tmp_path / "box.usda"))]) == 0
    out = capsys.readouterr().out
    assert "/World/box" in out and "/World/floor" in out
    assert "everything on the stage is supported" in out
    assert "  - physics:mass" in out and "read: " in out


def test_what_was_read_corrected_and_ignored_stands_apart() -> None:
    from tensorphys.cli.report import scene_lines
    from tensorphys.cli.stage_data import scene_data
    from tensorphys_scene import Scene

    moved, odd = (
        ("/World/mesh", "its convex hull is used"),
        ("/World/box", "physx:odd is not supported: ignored"),
    )
    read = (("/World/box", ("physics:mass",)), ("/World/mesh", ("physics:approximation",)))
    scene = Scene(findings=(moved, odd), corrected=(moved,), read=read)
    lines = scene_lines(scene_data(scene, scene.findings), "stage.usda", details=True)
    heads = [line for line in lines if line.startswith(("read", "corrected", "ignored"))]
    assert heads == [
        "read: 2 properties of 2 prims",
        "corrected: 1 remarks",
        "ignored or not supported: 1 remarks",
    ]
    assert lines[lines.index(heads[1]) + 1] == "  - its convex hull is used"


def test_short_paths_are_never_ambiguous() -> None:
    from tensorphys.cli.report import Shortener

    paths = ["/a/left/box", "/a/right/box", "/a/right/hand", "/b"]
    short = Shortener(paths, full=False)
    shown = [short(path) for path in paths]
    assert shown == ["…/left/box", "…/right/box", "…/hand", "/b"]
    assert [Shortener(paths, full=True)(path) for path in paths] == paths


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    from importlib.metadata import version

    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == f"tensorphys {version('tensorphys')}"
