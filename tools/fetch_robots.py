"""Fetch robots that others made and convert them to USD.

    python3 tools/fetch_robots.py robots                      all of them
    python3 tools/fetch_robots.py robots erd_panda gym_ant    some of them

The models come from the Python packages that ship them, the converters from their makers; all of that lives in an
environment of its own (`.robots/`), as the converters bring their own `pxr` and need Python < 3.13. Nothing of ours
imports them. Each robot gets a folder; `SOURCES.md` says where each one comes from and under which license.
"""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Sequence

import environments

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Versions are pinned, so that a robot is the same one tomorrow.
CONVERTERS = ("urdf-usd-converter==0.3.4", "mujoco-usd-converter==0.8.0")
# Installed without their dependencies: only their data is read.
MODELS = ("example-robot-data==6.0.0", "gymnasium==1.4.0", "newton==1.8.0", "mujoco-warp==3.17.0")

_DATA = "cmeel.prefix/share/example-robot-data"
_NEWTON = "newton/examples/assets"
_GYMNASIUM = (
    "ant",
    "half_cheetah",
    "hopper",
    "humanoid",
    "inverted_pendulum",
    "inverted_double_pendulum",
    "walker2d_v5",
    "swimmer",
    "reacher",
    "pusher_v5",
)


@dataclasses.dataclass(frozen=True)
class Robot:
    """A model file of a package, and how it becomes a USD stage."""

    file: str
    """Path below the environment's site-packages."""
    converter: str
    """`urdf`, `mjcf`, or `copy` for what is USD already."""
    source: str
    license: str


def _erd(file: str, upstream: str, terms: str) -> Robot:
    return Robot(f"{_DATA}/robots/{file}", "urdf", f"example-robot-data 6.0.0, from {upstream}", terms)


def _newton(file: str, converter: str = "copy") -> Robot:
    return Robot(f"{_NEWTON}/{file}", converter, "newton 1.8.0", "Apache-2.0 (of the package)")


def _gymnasium(file: str) -> Robot:
    return Robot(f"gymnasium/envs/mujoco/assets/{file}", "mjcf", "gymnasium 1.4.0", "MIT")


ROBOTS: dict[str, Robot] = {
    "erd_panda": _erd("panda_description/urdf/panda.urdf", "franka_ros", "Apache-2.0"),
    "erd_ur5": _erd("ur_description/urdf/ur5_robot.urdf", "ros-industrial", "BSD"),
    "erd_anymal_c": _erd("anymal_c_simple_description/urdf/anymal.urdf", "anymal_c_simple", "BSD-3-Clause"),
    "erd_g1": _erd("g1_description/urdf/g1_29dof_rev_1_0.urdf", "unitree_ros", "BSD-3-Clause"),
    "erd_talos_reduced": _erd(
        "talos_data/robots/talos_reduced.urdf", "PAL Robotics talos_robot", "Apache-2.0"
    ),
    "erd_xarm7": _erd("xarm_description/urdf/xarm7.urdf", "xarm_ros2", "BSD-3-Clause"),
    "erd_allegro_right": _erd(
        "allegro_hand_description/urdf/allegro_right_hand.urdf", "allegro_hand_linux_v4", "BSD"
    ),
    "erd_simple_humanoid": _erd(
        "simple_humanoid_description/urdf/simple_humanoid.urdf", "LAAS", "BSD-2-Clause"
    ),
    "erd_double_pendulum": _erd(
        "double_pendulum_description/urdf/double_pendulum.urdf", "its own", "BSD (of the package)"
    ),
    **{f"gym_{name}": _gymnasium(f"{name}.xml") for name in _GYMNASIUM},
    "mjwarp_humanoid": Robot(
        "mujoco_warp/test_data/humanoid/humanoid.xml", "mjcf", "mujoco-warp 3.17.0", "Apache-2.0"
    ),
    "newton_nv_ant": _newton("nv_ant.xml", "mjcf"),
    "newton_nv_humanoid": _newton("nv_humanoid.xml", "mjcf"),
    "newton_quadruped": _newton("quadruped.urdf", "urdf"),
    "newton_cartpole_urdf": _newton("cartpole.urdf", "urdf"),
    "newton_ant": _newton("ant.usda"),
    "newton_humanoid": _newton("humanoid.usda"),
    "newton_cartpole": _newton("cartpole.usda"),
    "newton_cartpole_single_pendulum": _newton("cartpole_single_pendulum.usda"),
    "newton_boxes_fourbar": _newton("boxes_fourbar.usda"),
}


class RobotError(RuntimeError):
    """A robot could not be fetched; the text says which and why."""


def interpreter() -> str:
    """A Python that the converters run on: the running one, or an older one on the path.

    Raises:
        RobotError: There is none.
    """
    if sys.version_info.minor < 13:
        return sys.executable
    for minor in (12, 11, 10):
        found = shutil.which(f"python3.{minor}")
        if found:
            return found
    raise RobotError("the converters need Python 3.10, 3.11 or 3.12, and none is on the path")


def convert(robot: Robot, site: pathlib.Path, scripts: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
    """Write one robot into a new folder; returns the stage.

    Raises:
        RobotError: The model file is not there, or the converter fails or writes no stage.
    """
    model = site / robot.file
    if not model.exists():
        raise RobotError(f"{robot.source} has no {robot.file}")
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(parents=True)
    if robot.converter == "copy":
        # None of these stages refers to another file.
        return pathlib.Path(shutil.copy(model, target))
    program = {"urdf": "urdf_usd_converter", "mjcf": "mujoco_usd_converter"}[robot.converter]
    command = [str(scripts / program), str(model), str(target), "--no-layer-structure"]
    if robot.converter == "urdf":
        command += ["--package", f"example-robot-data={site / _DATA}"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    stages = sorted(target.glob("*.usd*"))
    if run.returncode or len(stages) != 1:
        raise RobotError(f"{program} on {model.name}: {(run.stderr or run.stdout).strip()[-2000:]}")
    return stages[0]


def write_sources(target: pathlib.Path) -> None:
    """List where the robots of a folder come from."""
    lines = [
        "# Where these robots come from",
        "",
        "| folder | from | license of the model |",
        "|---|---|---|",
    ]
    lines += [
        f"| {name} | {robot.source}, `{pathlib.Path(robot.file).name}` | {robot.license} |"
        for name, robot in ROBOTS.items()
        if (target / name).is_dir()
    ]
    (target / "SOURCES.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point; exit code 1 when a robot could not be fetched, 2 for a wrong command line."""
    parser = argparse.ArgumentParser(description="Fetch robots that others made and convert them to USD.")
    parser.add_argument("target", type=pathlib.Path, help="folder to write into")
    parser.add_argument(
        "robots", nargs="*", metavar="ROBOT", help=f"any of {', '.join(ROBOTS)}; all when left out"
    )
    options = parser.parse_args(arguments)
    unknown = [name for name in options.robots if name not in ROBOTS]
    if unknown:
        parser.error(f"no robot {', '.join(unknown)}; there are {', '.join(ROBOTS)}")
    home = ROOT / ".robots"
    try:
        installer = environments.Installer(home / "uv")
        python = installer.make(home / "venv", interpreter())
        installer.install(python, *CONVERTERS)
        installer.install(python, "--no-deps", *MODELS)
        query = [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
        site = pathlib.Path(subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip())
    except (environments.CommandError, RobotError) as error:
        print(f"fetch_robots: {error}", file=sys.stderr)
        return 1
    failed = []
    for name in options.robots or ROBOTS:
        try:
            print(convert(ROBOTS[name], site, python.parent, options.target / name), flush=True)
        except RobotError as error:
            print(f"fetch_robots: {name}: {error}", file=sys.stderr)
            failed.append(name)
    write_sources(options.target)
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
