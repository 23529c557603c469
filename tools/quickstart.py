"""Install the packages into an environment of their own and run `tensorphys` there.

    python3 tools/quickstart.py simulate examples/panda/panda.usdc --plot panda.png

Everything after the script's name is handed to `tensorphys`. The environment is `.quickstart/` and is reused.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys
from collections.abc import Sequence

import environments

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main(arguments: Sequence[str]) -> int:
    """Entry point; returns the exit code of `tensorphys`."""
    if sys.version_info < (3, 10):  # noqa: UP036 - the point is to say so on an older interpreter
        print(
            f"quickstart: Python 3.10 or newer is needed, this is {sys.version.split()[0]}", file=sys.stderr
        )
        return 2
    home = ROOT / ".quickstart"
    try:
        installer = environments.Installer(home / "uv")
        python = installer.make(home / "venv")
        print("quickstart: installing the packages into .quickstart/venv", file=sys.stderr, flush=True)
        paths = sorted(str(file.parent) for file in (ROOT / "packages").glob("*/pyproject.toml"))
        editable = [argument for path in paths for argument in ("-e", path)]
        installer.install(python, *editable)
    except environments.CommandError as error:
        print(f"quickstart: {error}", file=sys.stderr)
        return 1
    return subprocess.run([str(python), "-m", "tensorphys", *arguments], check=False).returncode


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
