"""Measurements by name: `python tools/bench list`, `python tools/bench NAME [options] [--json FILE]`.

A name is `<package>/<script>` for `packages/<package>/bench/<script>.py`, or the script alone where that is enough. With
`--json` what the script printed is kept with the commit, the versions and the machine.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ("numpy", "warp-lang", "pin", "mujoco", "newton", "coal", "torch")


def scripts() -> dict[str, pathlib.Path]:
    """All measurements by name."""
    found = sorted(ROOT.glob("packages/*/bench/*.py"))
    return {f"{path.parts[-3]}/{path.stem}": path for path in found if "__main__" in path.read_text("utf-8")}


def choose(name: str) -> pathlib.Path:
    """The script of a name.

    Raises:
        SystemExit: If none or several have that name.
    """
    known = scripts()
    matches = [key for key in known if name in (key, key.partition("/")[2])]
    if len(matches) != 1:
        raise SystemExit(f"{name!r}: expected one of {', '.join(matches or known)}")
    return known[matches[0]]


def processor() -> str:
    """Name of the processor."""
    file = pathlib.Path("/proc/cpuinfo")
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def circumstances() -> dict[str, object]:
    """What a measurement depends on beside its options."""
    versions = {}
    for name in PEERS:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    commit = subprocess.run(
        ("git", "-C", str(ROOT), "rev-parse", "HEAD"), capture_output=True, text=True, check=False
    )
    return {
        "commit": commit.stdout.strip(),
        "versions": {"python": platform.python_version(), **versions},
        "hardware": {"processor": processor(), "cores": os.cpu_count()},
    }


def without_places(options: list[str]) -> list[str]:
    """Options of which absolute paths keep their last part: a record is read on other machines."""
    return [re.sub(r"(^|=)/\S*/", r"\1", option) for option in options]


def first_line(path: pathlib.Path) -> str:
    """The first line of a script's docstring."""
    return path.read_text("utf-8").partition('"""')[2].partition("\n")[0]


def main(arguments: list[str]) -> int:
    """List, or run one script; returns its exit status."""
    parser = argparse.ArgumentParser(prog="tools/bench", description=__doc__.partition("\n")[0])
    parser.add_argument("name", help="`list`, or a measurement")
    parser.add_argument("--json", type=pathlib.Path, help="file for what was measured and where")
    options, rest = parser.parse_known_args(arguments)
    if options.name == "list":
        for name, path in scripts().items():
            sys.stdout.write(f"{name:24s} {first_line(path)}\n")
        return 0
    script = choose(options.name)
    environment = dict(os.environ)
    if options.json is not None:
        environment["TENSORPHYS_BENCH_JSON"] = str(options.json.resolve())
        options.json.unlink(missing_ok=True)
    command = [sys.executable, str(script), *rest]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    sys.stdout.write(done.stdout)
    if options.json is not None:
        # scripts that keep numbers write them themselves; of the others the text is kept
        own = json.loads(options.json.read_text("utf-8")) if options.json.exists() else None
        name = f"{script.parts[-3]}/{script.stem}"
        record = {"name": name, "options": without_places(rest), **circumstances()}
        record |= {"measured": own} if own is not None else {"text": done.stdout.splitlines()}
        options.json.write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
