"""Runs Isaac Lab's interface suites against the classes of this package.

python packages/assets/tests/lab/suites.py [pytest arguments]

The suites are those of an installed ``isaaclab``. Each group is copied beside a ``conftest.py`` of this folder that adds one
more backend, whose assets live in real scenes on the CPU, or that puts parts of this package in the place of theirs.
"""

from __future__ import annotations

import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# Suites below the folder of tests of Isaac Lab, and what stands beside them as conftest.
GROUPS = {
    "with_parts.py": ("utils/warp/test_proxy_array.py", "utils/test_wrench_composer.py"),
    "with_actuators.py": (
        "actuators/test_dc_motor.py",
        "actuators/test_ideal_pd_actuator.py",
        "actuators/test_implicit_actuator.py",
    ),
    "with_selectors.py": ("assets/test_asset_selector_cache.py",),
    "with_ordering.py": ("assets/test_articulation_ordering.py",),
    "with_backend.py": (
        "assets/test_articulation_iface.py",
        "assets/test_rigid_object_iface.py",
        "assets/test_rigid_object_collection_iface.py",
        "assets/test_articulation_ordering_iface.py",
    ),
}


def run(files: list[pathlib.Path], conftest: str, arguments: list[str]) -> int:
    """Copy suites and what stands beside them, add a conftest, run pytest."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in files:
            for other in {file, *file.parent.glob("_*.py")}:
                shutil.copy(other, folder / other.name)
        shutil.copy(HERE / conftest, folder / "conftest.py")
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        names = [file.name for file in files]
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, *names]
        return subprocess.call(command, cwd=folder)


def main(arguments: list[str]) -> int:
    """Run all groups; exit code of the worst one."""
    found = importlib.util.find_spec("isaaclab")
    if found is None or found.origin is None:
        print("isaaclab is not installed; nothing was run", file=sys.stderr)
        return 1
    source = pathlib.Path(found.origin).parent / "source" / "isaaclab" / "test"
    codes = []
    for conftest, names in GROUPS.items():
        print(f"-- {conftest}: {', '.join(names)}", flush=True)
        codes.append(run([source / name for name in names], conftest, arguments))
    return max(codes)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
