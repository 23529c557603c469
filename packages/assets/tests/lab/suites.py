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
from xml.etree import ElementTree as ET

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


# Tests that fail, by how they begin, and why; docs/compatibility.md says more.
KNOWN = {
    "test_body_writer_index[set_inertias": "writes singular matrices, which are refused",
    "test_body_writer_mask[set_inertias": "writes singular matrices, which are refused",
    "test_write_tendon_properties_to_sim_selects_envs": "looks into the bindings of another implementation",
    "test_describe_newton_usd_builder_unavailability_reports_missing": "needs newton",
}


def run(files: list[pathlib.Path], conftest: str, arguments: list[str]) -> list[str]:
    """Copy suites and what stands beside them, add a conftest, run pytest; what failed though it is not known to."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for file in files:
            for other in {file, *file.parent.glob("_*.py")}:
                shutil.copy(other, folder / other.name)
        shutil.copy(HERE / conftest, folder / "conftest.py")
        (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
        names = [file.name for file in files]
        report = folder / "report.xml"
        options = ("-q", "-p", "no:cacheprovider", f"--junitxml={report}")
        command = [sys.executable, "-m", "pytest", *options, *arguments, *names]
        subprocess.call(command, cwd=folder)
        if not report.exists():
            return [f"{conftest}: no report"]
        cases = list(ET.parse(report).iter("testcase"))
        # An element without children is false.
        bad = [case for case in cases if any(case.find(kind) is not None for kind in ("failure", "error"))]
        failed = [case.get("name", "") for case in bad]
        return [name for name in failed if not name.startswith(tuple(KNOWN))]


def main(arguments: list[str]) -> int:
    """Run all groups; 1 where something failed that is not known to."""
    found = importlib.util.find_spec("isaaclab")
    if found is None or found.origin is None:
        print("isaaclab is not installed; nothing was run", file=sys.stderr)
        return 1
    source = pathlib.Path(found.origin).parent / "source" / "isaaclab" / "test"
    unknown: list[str] = []
    for conftest, names in GROUPS.items():
        print(f"-- {conftest}: {', '.join(names)}", flush=True)
        unknown += run([source / name for name in names], conftest, arguments)
    print(f"failures that are not known: {', '.join(unknown) or 'none'}")
    return int(bool(unknown))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
