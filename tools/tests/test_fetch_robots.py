import pathlib

import pytest

import fetch_robots


@pytest.fixture
def site(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder of installed packages with one USD model in it."""
    model = tmp_path / "site" / "maker" / "robot.usda"
    model.parent.mkdir(parents=True)
    model.write_text("#usda 1.0\n")
    return tmp_path / "site"


ROBOT = fetch_robots.Robot("maker/robot.usda", "copy", "maker 1.0", "MIT")


def test_what_is_usd_already_is_copied(site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    stage = fetch_robots.convert(ROBOT, site, tmp_path, tmp_path / "out" / "robot")
    assert stage == tmp_path / "out" / "robot" / "robot.usda"
    assert stage.read_text() == "#usda 1.0\n"


def test_what_an_earlier_call_left_is_replaced(site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    old = tmp_path / "out" / "robot" / "old.usda"
    old.parent.mkdir(parents=True)
    old.touch()
    fetch_robots.convert(ROBOT, site, tmp_path, old.parent)
    assert [file.name for file in old.parent.iterdir()] == ["robot.usda"]


def test_missing_model_is_named(site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    robot = fetch_robots.Robot("maker/other.urdf", "urdf", "maker 1.0", "MIT")
    with pytest.raises(fetch_robots.RobotError, match=r"maker 1\.0 has no maker/other\.urdf"):
        fetch_robots.convert(robot, site, tmp_path, tmp_path / "out")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo broken mesh >&2; exit 3", "broken mesh"),
        ("exit 0", "urdf_usd_converter on robot.usda"),
        ('touch "$2/a.usda" "$2/b.usda"', "urdf_usd_converter on robot.usda"),
    ],
)
def test_converter_that_fails_or_writes_no_single_stage(
    site: pathlib.Path, tmp_path: pathlib.Path, script: str, message: str
) -> None:
    program = tmp_path / "urdf_usd_converter"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    robot = fetch_robots.Robot(ROBOT.file, "urdf", "maker 1.0", "MIT")
    with pytest.raises(fetch_robots.RobotError, match=message):
        fetch_robots.convert(robot, site, tmp_path, tmp_path / "out")


def test_converter_gets_the_model_the_folder_and_the_package(
    site: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    program = tmp_path / "urdf_usd_converter"
    program.write_text('#!/bin/sh\necho "$@" > "$2/robot.usdc"\n')
    program.chmod(0o755)
    robot = fetch_robots.Robot(ROBOT.file, "urdf", "maker 1.0", "MIT")
    stage = fetch_robots.convert(robot, site, tmp_path, tmp_path / "out")
    model, target, *options = stage.read_text().split()
    assert (model, target) == (str(site / ROBOT.file), str(tmp_path / "out"))
    assert options[:2] == ["--no-layer-structure", "--package"]
    assert options[2].startswith("example-robot-data=")


def test_sources_list_what_was_fetched_with_its_license(tmp_path: pathlib.Path) -> None:
    (tmp_path / "erd_panda").mkdir()
    fetch_robots.write_sources(tmp_path)
    text = (tmp_path / "SOURCES.md").read_text()
    assert "| erd_panda | example-robot-data 6.0.0, from franka_ros, `panda.urdf` | Apache-2.0 |" in text
    assert "talos" not in text


def test_unknown_robot_ends_before_anything_is_installed(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        fetch_robots.main([str(tmp_path), "teapot"])
    assert ended.value.code == 2
    assert "no robot teapot" in capsys.readouterr().err
