"""The arguments of the commands."""

from __future__ import annotations

import argparse
import importlib.metadata
import math
import pathlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

_DESCRIPTION = "Simulate the physics of OpenUSD stages, on a CPU or a CUDA GPU."

_NPZ_KEYS = """\
arrays in the file of --npz, in stage units, radians and seconds; F frames, E environments, T templates
(groups of equal environments), L links and D degrees of freedom of the largest template (the others are
padded: numbers with nan, names with ""):
  time [F], step [F]               simulated time and number of steps of each frame; dt: length of a step
  link_pose [F,E,L,7]              x y z qx qy qz qw in the environment's frame (world: + environment_origin)
  link_velocity [F,E,L,6]          linear velocity of the centre of mass, angular velocity, world axes
  dof_position, dof_velocity [F,E,D]
  contact_force [F,E,L,3]          net contact force on each link during the step before the frame, world axes
  contact_count [F,E]              contacts found in that step
  penetration [F,E]                deepest penetration of that step, as found at its start; 0 without any
  kinetic_energy [F,E]             of links and armatures
  potential_energy [F,E]           of gravity (0 at the environment's origin), drives and joint springs
  environment_path [E], environment_origin [E,3], environment_template [E]
  link_path, link_mass [T,L]; dof_name, dof_path, dof_rotational [T,D]   paths relative to the environment
  gravity [3], meters_per_unit, kilograms_per_unit
Rigid bodies outside of articulations are links, too.
"""

_SIMULATE_EXAMPLES = """\
examples:
  tensorphys simulate panda.usdc --seconds 4 --plot panda.png
  tensorphys simulate g1.usdc --free-base '*' --ground --record g1_falls.usda
  tensorphys simulate ant.usda --envs 1024 --spacing 3 --perturb 0.1 --seed 7 --npz states.npz

"""


@dataclass(frozen=True)
class Arguments:
    """What was asked for; see ``--help`` for the meaning of each field."""

    command: str
    stage: str
    environments: str | None
    free_base: tuple[str, ...]
    without: tuple[str, ...]
    default_gravity: bool
    json: bool = False
    envs: int | None = None
    spacing: float | None = None
    device: str = "cpu"
    dt: float | None = None
    steps: int | None = None
    seconds: float | None = None
    ground: float | None = None
    perturb: float | None = None
    seed: int = 0
    ignore_unsupported: bool = False
    record: pathlib.Path | None = None
    record_envs: int | None = None
    npz: pathlib.Path | None = None
    plot: pathlib.Path | None = None
    plot_env: int = 0
    fps: float = 60.0
    quiet: bool = False


def _number(
    kind: type[int] | type[float], least: float, *, exclusive: bool = False
) -> Callable[[str], float]:
    """A converter that accepts finite numbers from a bound on."""
    sign = ">" if exclusive else "≥"
    name = "a whole number" if kind is int else "a number"

    def convert(text: str) -> float:
        try:
            value = kind(text)
        except ValueError:
            value = kind(least) - 1
        if not math.isfinite(value) or value < least or (exclusive and value == least):
            raise argparse.ArgumentTypeError(f"expected {name} {sign} {least:g}, given {text!r}")
        return value

    return convert


def _height(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise argparse.ArgumentTypeError(
            f"expected a height, given {text!r}; write --ground=HEIGHT, or --ground behind the stage"
        )
    return value


def _add_stage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("stage", metavar="STAGE", help="OpenUSD file: .usd, .usda, .usdc or .usdz")
    parser.add_argument(
        "--environments",
        metavar="PATTERN",
        help="prims that are environments, which never interact, e.g. '/World/envs/env_*'; without it the whole"
        " stage is one world",
    )
    parser.add_argument(
        "--free-base",
        action="append",
        default=[],
        metavar="PATH",
        help="articulation (root prim or root link, pattern, or '*' for all) whose joints to the world are switched"
        " off; may be given several times",
    )
    parser.add_argument(
        "--without",
        action="append",
        default=[],
        metavar="PATH",
        help="prim that is left out, with all below it, as if it were not on the stage; may be given several times",
    )
    parser.add_argument(
        "--default-gravity",
        action="store_true",
        help="take a stage without a PhysicsScene prim, with standard gravity",
    )


class _Parser(argparse.ArgumentParser):
    """Ends with one line where a word is wrong."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tensorphys: error: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="tensorphys", description=_DESCRIPTION)
    version = f"tensorphys {importlib.metadata.version('tensorphys')}"
    parser.add_argument("--version", action="version", version=version)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    look = commands.add_parser(
        "inspect",
        help="say what is on a stage",
        description="Say what physics a stage holds, and what of it is not supported, prim by prim.",
    )
    _add_stage(look)
    look.add_argument("--json", action="store_true", help="print JSON instead of text")
    run = commands.add_parser(
        "simulate",
        help="simulate a stage",
        description="Load a stage, say what it holds, simulate it and write what is asked for.",
        epilog=_SIMULATE_EXAMPLES + _NPZ_KEYS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_stage(run)
    _add_run(run)
    _add_outputs(run)
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
    count, positive = _number(int, 1), _number(float, 0.0, exclusive=True)
    run.add_argument(
        "--envs", type=count, metavar="N", help="number of copies of the whole stage (default: 1)"
    )
    run.add_argument(
        "--spacing",
        type=_number(float, 0.0),
        metavar="LENGTH",
        help="distance of neighbouring copies in stage lengths; they never touch each other (default: 2 m)",
    )
    run.add_argument("--device", default="cpu", metavar="NAME", help="cpu, cuda:0, ... (default: cpu)")
    run.add_argument(
        "--dt",
        type=positive,
        metavar="SECONDS",
        help="length of a step (default: as the stage says, else 1/60)",
    )
    length = run.add_mutually_exclusive_group()
    length.add_argument("--steps", type=count, metavar="N", help="number of steps")
    length.add_argument("--seconds", type=positive, metavar="S", help="simulated time (default: 4)")
    run.add_argument(
        "--ground",
        nargs="?",
        type=_height,
        const=math.nan,
        metavar="HEIGHT",
        help="add a plane at a height; without one at 0, or at the lowest collider where that is below 0",
    )
    run.add_argument(
        "--perturb",
        type=positive,
        metavar="X",
        help="move each joint at the start by a random amount up to X (rad or stage lengths), within its limits",
    )
    run.add_argument(
        "--seed", type=_number(int, 0), default=0, metavar="N", help="seed of --perturb (default: 0)"
    )
    run.add_argument(
        "--ignore-unsupported",
        action="store_true",
        help="leave out joints that are not supported instead of refusing the stage",
    )
    run.add_argument("-q", "--quiet", action="store_true", help="print errors and warnings only")


def _add_outputs(run: argparse.ArgumentParser) -> None:
    run.add_argument(
        "--record", type=pathlib.Path, metavar="OUT.usda", help="write poses as time samples over the input"
    )
    run.add_argument(
        "--record-envs",
        type=_number(int, 1),
        metavar="N",
        help="record the first N environments (default: all, at most 16)",
    )
    run.add_argument("--npz", type=pathlib.Path, metavar="OUT.npz", help="write all states; keys below")
    run.add_argument(
        "--plot",
        type=pathlib.Path,
        metavar="OUT.png",
        help="draw joint positions, base height and contact forces",
    )
    run.add_argument(
        "--plot-env",
        type=_number(int, 0),
        default=0,
        metavar="I",
        help="environment that is drawn (default: 0)",
    )
    run.add_argument(
        "--fps",
        type=_number(float, 0.0, exclusive=True),
        default=60.0,
        metavar="HZ",
        help="frames per simulated second in the outputs, at most one a step (default: 60)",
    )


def parse_arguments(words: Sequence[str]) -> Arguments:
    """Parse and check the words after ``tensorphys``.

    Raises:
        SystemExit: After ``--help``, ``--version`` or a wrong argument, with the exit code.
    """
    parser = _parser()
    values = vars(parser.parse_args(words))
    for name in ("free_base", "without"):
        values[name] = tuple(values[name])
    chosen = Arguments(**values)
    problem = _contradiction(chosen)
    if problem:
        parser.exit(2, f"tensorphys: error: {problem}\n")
    return chosen


def _contradiction(chosen: Arguments) -> str | None:
    """What does not go together, or cannot be written."""
    if chosen.envs is not None and chosen.environments is not None:
        return "--envs copies a whole stage; it does not go with --environments, which names those that are there"
    if chosen.spacing is not None and chosen.envs is None:
        return "--spacing is the distance of the copies of --envs"
    if chosen.record_envs is not None and chosen.record is None:
        return "--record-envs says how much --record writes"
    for option, path, suffixes in (
        ("--record", chosen.record, (".usda", ".usdc", ".usd")),
        ("--npz", chosen.npz, (".npz",)),
        ("--plot", chosen.plot, (".png", ".pdf", ".svg")),
    ):
        if path is None:
            continue
        if path.suffix not in suffixes:
            return f"{option} {path}: expected a name that ends in {' or '.join(suffixes)}"
        if path.is_dir() or not path.absolute().parent.is_dir():
            return f"{option} {path}: no folder {path.absolute().parent}"
    return None
