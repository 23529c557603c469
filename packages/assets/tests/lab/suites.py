"""Runs Isaac Lab's interface suites against the asset classes of this package.

python packages/assets/tests/lab/suites.py [pytest arguments]

The suites are those of an installed ``isaaclab``; they are copied beside a ``conftest.py`` that adds one more backend,
whose assets live in real scenes on the CPU.
"""

from __future__ import annotations

import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SUITES = ("test_articulation_iface.py", "test_rigid_object_iface.py", "test_rigid_object_collection_iface.py")


def main(arguments: list[str]) -> int:
    """Copy the suites, add the backend, run pytest."""
    found = importlib.util.find_spec("isaaclab")
    if found is None or found.origin is None:
        print("isaaclab is not installed; nothing was run", file=sys.stderr)
        return 1
    source = pathlib.Path(found.origin).parent / "source" / "isaaclab" / "test" / "assets"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in source.glob("*.py"):
            shutil.copy(file, folder / file.name)
        shutil.copy(HERE / "backend.py", folder / "conftest.py")
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, *SUITES]
        return subprocess.call(command, cwd=folder)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
