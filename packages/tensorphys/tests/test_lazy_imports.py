"""Importing the package needs nothing that is optional, and what is missing is named when it is asked for."""

import subprocess
import sys
import textwrap

import pytest

HIDE = """
import sys

class Hidden:
    def __init__(self, names):
        self.names = names

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden(HIDDEN))
"""


def _run(hidden: set[str], code: str) -> str:
    """Output of a fresh interpreter in which some modules cannot be imported."""
    program = HIDE.replace("HIDDEN", repr(hidden)) + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


ASK = """
import importlib.util, time
start = time.perf_counter()
import tensorphys
took = time.perf_counter() - start
loaded = {"numpy", "warp", "pxr", "torch", "scipy", "numba"} & set(sys.modules)
assert took < 0.5, took
assert not loaded, loaded
assert tensorphys.DofType.Rotation == 0
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "torch" else find(name, *rest)
"""


@pytest.mark.parametrize(
    ("hidden", "package"),
    [
        ({"warp", "pxr", "torch"}, "warp-lang"),
        ({"warp", "torch"}, "warp-lang"),
        ({"pxr", "torch"}, "usd-core"),
    ],
    ids=["numpy-alone", "numpy-and-usd", "numpy-and-warp"],
)
def test_import_without_optional_packages(hidden: set[str], package: str) -> None:
    code = (
        ASK
        + f"""
try:
    tensorphys.create_simulation_view("torch", stage="x.usda")
except ImportError as error:
    assert "pip install torch" in str(error), error
else:
    raise SystemExit("no error")
try:
    tensorphys.create_simulation_view("numpy", stage="x.usda")
except tensorphys.MissingPackageError as error:
    assert error.package == {package!r}, error.package
    print(error)
"""
    )
    assert "pip install" in _run(hidden, code)


def test_warp_without_usd_simulates_a_scene_from_end_to_end() -> None:
    """A scene built by hand on the CPU, with pxr and torch out of reach."""
    out = _run(
        {"pxr", "torch"},
        """
        import numpy as np
        import warp as wp
        wp.config.quiet = True
        import tensorphys
        from tensorphys_scene import Bodies, Scene, Template
        bodies = Bodies(
            path=("/ball",), pose=[[0, 0, 3, 0, 0, 0, 1]], mass=[1.0], inertia=[0.1 * np.eye(3)]
        )
        scene = Scene(templates=(Template(prims=("", "/ball"), bodies=bodies),))
        sim = tensorphys.create_simulation_view("numpy", scene=scene, device="cpu")
        view = sim.create_rigid_body_view("/ball")
        for _ in range(10):
            sim.step(0.01)
        print(f"{view.get_velocities()[0, 2]:.4f}")
        """,
    )
    assert out.split()[-1] == "-0.9810"
