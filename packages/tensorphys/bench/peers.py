"""Ours beside Newton (MuJoCo Warp and XPBD solvers), MuJoCo and MuJoCo Warp: same robots, step, contacts, drives; one command.

python tools/bench peers [--device cpu] [--robots cartpole,ant,quadruped,humanoid,panda] [--engines ours,...] [--counts 256]
    [--python newton=PYTHON] [--site newton=FOLDER] [--environments FOLDER] [--models FOLDER] [--write-models]
    [--parallel 1] [--deadline 3600] [--threads 1] [--start] [--kernels] [--json FILE]

Every engine runs in a process and an environment of its own, one after the other: Python executables given by `--python`,
packages in folders given by `--site`, else virtual environments that are made in `--environments` by pip at first use. Models
are written from our scenes (`peer_mjcf.py`), so that masses, joints, limits, gains and shapes are the same numbers. A row
counts only if its end is valid (`peer_checks.py`). `ours` has its default of 4 substeps; `ours_2` and `ours_1` have 2 and 1,
as a stage may author, to set beside peers that evaluate the dynamics once a step. With `--parallel` processes compile and build side by side; whatever is
timed holds a lock. MuJoCo's C library always runs on the CPU, one thread, 256 environments.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ENGINES = ("ours", "ours_2", "ours_1", "newton_mujoco", "newton_xpbd", "mujoco_warp", "mujoco")
ENVIRONMENT = {
    "newton_mujoco": "newton",
    "newton_xpbd": "newton",
    "mujoco_warp": "mujoco",
    "mujoco": "mujoco",
}
REQUIREMENTS = {
    "newton": ("newton[sim]==1.8.0", "warp-lang==1.19.0"),
    "mujoco": ("mujoco==4.0.0", "mujoco-warp==4.0.0", "warp-lang==1.19.0"),
}
COMPILES_LONGEST = ("newton_mujoco", "mujoco_warp", "newton_xpbd", "ours", "ours_2", "ours_1", "mujoco")
# Pairs that the comparison leaves out, and why.
LEFT_OUT = {
    ("newton_mujoco", "panda"): "hulls and the mimic joint come from the model file of MuJoCo",
    ("newton_xpbd", "panda"): "has no mimic joint",
}
# Million environment-steps a second that are asked of ours on one H200.
GOALS = {
    ("cartpole", 4096): 150, ("cartpole", 16384): 500, ("ant", 4096): 60, ("ant", 16384): 110,
    ("quadruped", 4096): 40, ("quadruped", 16384): 70, ("humanoid", 4096): 30, ("humanoid", 16384): 40,
    ("panda", 8192): 150, ("panda", 32768): 300,
}  # fmt: skip


class Comparison:
    """Runs the processes and keeps what they find."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.rows: list[dict[str, Any]] = []
        self.begin = time.monotonic()
        self.lock = Path(tempfile.mkdtemp(prefix="peers")) / "lock"
        self.pythons = dict(pair.split("=", 1) for pair in options.python)
        self.sites = dict(pair.split("=", 1) for pair in options.site)

    def python(self, engine: str) -> str:
        """Executable for an engine, in an environment that is made if there is none."""
        name = ENVIRONMENT.get(engine)
        if name is None or name in self.sites:
            return sys.executable
        if name in self.pythons:
            return self.pythons[name]
        folder = self.options.environments / name
        executable = folder / "bin" / "python"
        if not executable.exists():
            venv.create(folder, with_pip=True)
            subprocess.run((executable, "-m", "pip", "install", "-q", *REQUIREMENTS[name]), check=True)
        return str(executable)

    def surroundings(self, engine: str, cache: str | None = None) -> dict[str, str]:
        """Environment variables of a process."""
        found = dict(os.environ)
        site = self.sites.get(ENVIRONMENT.get(engine, ""))
        if site is not None:
            found["PYTHONPATH"] = os.pathsep.join((site, found.get("PYTHONPATH", "")))
        if cache is not None:
            found["WARP_CACHE_PATH"] = cache
        found["PYTHONWARNINGS"] = "ignore"
        return found

    def left(self) -> float:
        """Seconds until the deadline."""
        return float(self.options.deadline - (time.monotonic() - self.begin))

    def run(
        self, engine: str, robot: str, counts: str, *more: str, cache: str | None = None
    ) -> list[dict[str, Any]]:
        """Rows of one process; what did not end by the deadline is a row that says so."""
        device = "cpu" if engine == "mujoco" else self.options.device
        command = [self.python(engine), str(HERE / "peer_worker.py"), engine, robot, counts]
        command += [str(self.options.models), "--device", device, "--lock", str(self.lock)]
        command += ["--repeats", str(self.options.repeats), "--budget", str(self.options.budget), *more]
        failed = {"engine": engine, "robot": robot, "environments": counts, "device": device, "valid": False}
        if self.left() < 1:
            return [failed | {"why": "no time left"}]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env=self.surroundings(engine, cache),
        )  # fmt: skip
        why = ""
        try:
            text, errors = process.communicate(timeout=self.left())
        except subprocess.TimeoutExpired:
            process.kill()
            text, errors = process.communicate()
            why = "did not end by the deadline"
        rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        if process.returncode and not rows:
            why = (
                why or errors.strip().splitlines()[-1:][0] if errors.strip() else f"exit {process.returncode}"
            )
        return rows + ([failed | {"why": why}] if why else [])

    def keep(self, rows: list[dict[str, Any]]) -> None:
        """Keep rows, in the file at once."""
        self.rows += rows
        for row in rows:
            sys.stdout.write(line(row) + "\n")
        sys.stdout.flush()
        kept = os.environ.get("TENSORPHYS_BENCH_JSON")
        if kept:
            Path(kept).write_text(json.dumps(self.rows, indent=1) + "\n", "utf-8")

    def compare(self) -> None:
        """All engines on all robots."""
        options = self.options
        self.keep(self.run("floors", "-", "0"))
        jobs = []
        for robot in options.robots.split(","):
            for engine in options.engines.split(","):
                if (engine, robot) in LEFT_OUT:
                    continue
                counts = counts_of(robot, options) if engine != "mujoco" else "256"
                is_ours = engine.startswith("ours")
                more = ["--threads", str(options.threads)] if is_ours else []
                more += ["--kernels"] if options.kernels and is_ours else []
                jobs.append((engine, robot, counts, *more))
                if engine == "ours" and options.device == "cpu" and options.threads == 1:
                    jobs.append((engine, robot, "1"))
        for job in jobs:
            self.python(job[0])
        if options.parallel > 1:
            # those whose kernels take longest to compile begin first
            jobs.sort(key=lambda job: COMPILES_LONGEST.index(job[0]))
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            for found in concurrent.futures.as_completed(pool.submit(self.run, *job) for job in jobs):
                self.keep(found.result())

    def compare_start(self) -> None:
        """Import, build and first step of every engine with an empty and with a full kernel cache."""
        for engine in self.options.engines.split(","):
            with tempfile.TemporaryDirectory() as cache:
                for state in ("cold", "warm"):
                    rows = self.run(engine, "ant", "64", "--start", cache=cache)
                    self.keep([row | {"start": state} for row in rows])


def counts_of(robot: str, options: argparse.Namespace) -> str:
    """Counts of environments: those asked for, or on CUDA those of the goals."""
    if options.counts:
        return str(options.counts)
    if options.device == "cpu":
        return "256"
    return ",".join(str(count) for name, count in GOALS if name == robot)


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    if row["engine"] == "floors":
        return (
            f"floors: copy {row['copy_bytes_per_s'] / 1e12:.3f} TB/s, {row['operations_per_s'] / 1e12:.3f} TFLOP/s, "
            f"node {row['node_us']:.2f} us ({row['device']})"
            if "device" in row and "node_us" in row
            else f"floors: {row.get('why')}"
        )
    name = f"{row['robot']:9s} | {row['environments']!s:>6s} | {row['engine']:13s}"
    if "start" in row:
        parts = [
            f"{part} {row[part]['wall_s']:.2f} ({row[part]['cpu_s']:.2f} of processor) s"
            for part in ("import", "build", "first_step")
            if part in row
        ]
        return f"{name} | {row['start']} | {', '.join(parts)} {row.get('why', '')}"
    if "rate" not in row:
        return f"{name} | not valid: {row.get('why')}"
    core = row.get("rate_per_cpu_second")
    rate = f"{row['rate'] / 1e6:9.4f} M/s" if core is None else f"{core / 1e3:9.1f} k per processor second"
    goal = GOALS.get((row["robot"], row["environments"]))
    return (
        f"{name} | {rate} | spread {row['spread' if core is None else 'cpu_spread']:.1%} | {row['us_per_step']:.1f} us | "
        f"{row['launches']} launches | {row['memory_per_environment_KiB']:.1f} KiB | {row['contacts']:.1f} contacts | "
        f"depth {1e3 * row.get('depth', 0.0):.1f}, mean {1e3 * row.get('mean_depth', 0.0):.1f}, "
        f"joints {1e3 * row.get('joint_drift', 0.0):.2f} mm | "
        f"{'valid' if row['valid'] else 'NOT VALID: ' + row['why']}"
        + (f" | goal {goal}" if goal and row["engine"].startswith("ours") else "")
    )


def above_floor(rows: list[dict[str, Any]]) -> list[str]:
    """How far steps of ours are from what bytes, operations and launches allow."""
    floors = next((row for row in rows if row["engine"] == "floors" and "node_us" in row), None)
    found = []
    for row in rows:
        if floors is None or not row["engine"].startswith("ours") or "operations" not in row:
            continue
        count = row["environments"]
        moved = 1e6 * count * row["state_bytes"] / floors["copy_bytes_per_s"]
        worked = 1e6 * count * row["operations"] / floors["operations_per_s"]
        launched = row["launches"] * floors["node_us"]
        floor = max(moved, worked) + launched
        found.append(
            f"{row['robot']:9s} | {count:6d} | {row['engine']:6s} | {row['us_per_step']:10.1f} us | state {row['state_bytes'] / 1024:.1f} KiB: "
            f"{moved:.2f} us | {row['operations'] / 1e3:.0f} k operations: {worked:.2f} us | "
            f"{row['launches']} launches: {launched:.2f} us | {row['us_per_step'] / floor:.1f} times the floor"
        )
        found += [f"    {part['us']:9.1f} us  {part['kernel']}" for part in row.get("kernels", [])[:12]]
    return found


def main() -> None:
    """Compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--robots", default="cartpole,ant,quadruped,humanoid,panda")
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--counts", help="environments; default 256, on CUDA those of the goals")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of timing for a row")
    parser.add_argument("--threads", type=int, default=1, help="threads of ours on the CPU")
    parser.add_argument("--python", action="append", default=[], metavar="newton|mujoco=EXECUTABLE")
    parser.add_argument("--site", action="append", default=[], metavar="newton|mujoco=FOLDER")
    parser.add_argument("--environments", type=Path, default=Path(".bench"))
    parser.add_argument("--models", type=Path, default=Path(".bench") / "models")
    parser.add_argument("--keep-models", action="store_true", help="take models as they are there")
    parser.add_argument("--write-models", action="store_true", help="write models and end")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--deadline", type=float, default=3600.0, help="seconds after which all ends")
    parser.add_argument("--start", action="store_true", help="measure import, build and first step instead")
    parser.add_argument("--kernels", action="store_true", help="time of each kernel of ours, on CUDA")
    options = parser.parse_args()
    if not options.keep_models:
        from peer_mjcf import write

        for robot in options.robots.split(","):
            write(robot, options.models)
    if options.write_models:
        return
    comparison = Comparison(options)
    if options.start:
        comparison.compare_start()
        return
    comparison.compare()
    sys.stdout.write("\n" + "\n".join(above_floor(comparison.rows)) + "\n")


if __name__ == "__main__":
    main()
