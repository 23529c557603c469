"""Kernels are loaded when a scene launches them: what a scene does not need costs no time at its start."""

import subprocess
import sys
import textwrap

PACKAGES = ("contact", "dynamics", "engine", "fem", "particles", "sdf")


def _run(code: str) -> str:
    """Output of a fresh interpreter."""
    begin = """
        import sys, types
        import warp as wp
        wp.config.quiet = True

        def loaded():
            names = [n for n, m in sys.modules.items() if "._kernels." in n and type(m) is types.ModuleType]
            return {n.replace("tensorphys_", "").replace("._kernels", "") for n in names}
        """
    program = textwrap.dedent(begin) + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_import_loads_no_kernel_but_the_texts_of_the_fused_one() -> None:
    out = _run(
        """
        import tensorphys_engine
        constants = {"dynamics.arrays", "dynamics.joint_arrays", "dynamics.terms", "dynamics.thresholds"}
        print(sorted(n for n in loaded() - constants if not n.startswith("dynamics.fused")))
        """
    )
    assert out.strip() == "[]"


def test_a_falling_ball_loads_what_it_launches() -> None:
    out = _run(
        """
        import numpy as np
        from tensorphys_engine import Simulation
        from tensorphys_scene import Bodies, Scene, Template
        bodies = Bodies(
            path=("/ball",), pose=[[0, 0, 3, 0, 0, 0, 1]], mass=[1.0], inertia=[0.1 * np.eye(3)]
        )
        simulation = Simulation(Scene(templates=(Template(prims=("", "/ball"), bodies=bodies),)))
        simulation.step(0.01)
        assert simulation.solver.path == "fused"
        print(*sorted(loaded()))
        """
    )
    found = set(out.split())
    assert {"dynamics.kinematics", "dynamics.step_start", "engine.margins"} <= found
    unused = ("smooth", "sweep", "rows", "newton", "quantities", "joint_rows", "sleeping")
    assert not found & {f"dynamics.{name}" for name in unused}
    assert not [name for name in found if name.startswith(("fem.", "particles.", "sdf."))]
    assert not found & {
        "contact.rays",
        "contact.volumes",
        "contact.sampled",
        "contact.convex",
        "contact.mesh",
    }


def test_every_kernel_module_loads_by_name() -> None:
    """A module that is put in place for later is the one that an import by name gives."""
    out = _run(
        f"""
        import importlib, pkgutil
        for package in {PACKAGES!r}:
            kernels = importlib.import_module(f"tensorphys_{{package}}._kernels")
            for found in pkgutil.iter_modules(kernels.__path__):
                module = importlib.import_module(f"{{kernels.__name__}}.{{found.name}}")
                assert module is getattr(kernels, found.name)
                assert module.__doc__ and type(module) is types.ModuleType, module
        print("all")
        """
    )
    assert out.strip() == "all"
