"""Whole steps of real robots on a ground plane: environment-steps a second, launches a step, validity.

python packages/tensorphys/bench/robot_steps.py [--device cpu] [--robots ant,panda] [--counts 1,64,1024]
    [--json out.json] [--scenes FOLDER]

Contacts on, dt 1/240 s, default solver settings. A run counts only if it is valid at its end: all finite, no link under
the ground by more than 5 mm, no speed above 20 m/s. Steps are timed without reading anything back; the figure is the
median of the repeats. Where there is no USD library, scenes come from files that `--save-scenes FOLDER` wrote elsewhere.
"""

from __future__ import annotations

import argparse
import json
import pickle
import platform
import statistics
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp

from tensorphys_engine import Simulation
from tensorphys_scene import Materials, Scene, Shapes, ShapeType, Template, replicate

ROOT = Path(__file__).resolve().parents[3]
MODELS = ROOT / "integration_tests" / "data" / "robot_models"
STAGES = {
    "ant": (MODELS / "nv_ant.usdc", (), ("/ant/Geometry/floor",)),
    "humanoid": (MODELS / "mjwarp_humanoid.usdc", (), ("/humanoid/Geometry/floor",)),
    "quadruped": (MODELS / "quadruped.usdc", ("*",), ()),
    "panda": (ROOT / "examples" / "panda" / "panda.usdc", (), ()),
}
HEIGHT = {"ant": 0.0, "humanoid": 0.0, "quadruped": 0.6, "panda": 0.0}


def load(name: str) -> Scene:
    """The robot alone, lifted to where it starts, on a plane."""
    from pxr import Usd

    import tensorphys_usd

    path, free_base, removed = STAGES[name]
    stage = Usd.Stage.Open(str(path))
    stage.SetEditTarget(stage.GetSessionLayer())
    for prim in removed:
        if stage.GetPrimAtPath(prim):
            stage.GetPrimAtPath(prim).SetActive(False)
    scene = tensorphys_usd.parse_stage(stage, free_base=free_base)
    template = scene.templates[0]
    pose = template.bodies.pose.copy()
    pose[:, 2] += HEIGHT[name]
    moved = template.replace(bodies=template.bodies.replace(pose=pose))
    return scene.replace(templates=(moved,), shared=ground())


def ground() -> Template:
    """One plane that belongs to all environments."""
    shapes = Shapes(path=("/ground",), body=[-1], type=[int(ShapeType.PLANE)], material=[0])
    return Template(shapes=shapes, materials=Materials(path=("/ground_material",)))


def measure(scene: Scene, count: int, device: str, seconds: float) -> dict[str, Any]:
    """Time the steps of many copies."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulation = Simulation(replicate(scene, count), device=device, ignore_unsupported=True)
    build = time.perf_counter() - start
    start = time.perf_counter()
    simulation.step(1.0 / 240.0)
    wp.synchronize_device(device)
    first = time.perf_counter() - start
    for _ in range(240):
        simulation.step()
    wp.synchronize_device(device)
    rates = []
    for _ in range(5):
        steps, start = 0, time.perf_counter()
        while time.perf_counter() - start < seconds / 5:
            for _ in range(10):
                simulation.step()
            wp.synchronize_device(device)
            steps += 10
        rates.append(steps * count / (time.perf_counter() - start))
    pose = simulation.state.link_pose.numpy()
    speed = np.abs(simulation.state.link_velocity.numpy()).max()
    contacts = simulation.contacts
    used = contacts.count.numpy()
    first_slot = contacts.slot_start.numpy()[:-1]
    separation = contacts.separation.numpy()
    deepest = min(
        (separation[s : s + n].min() for s, n in zip(first_slot, used, strict=True) if n), default=0.0
    )
    valid = bool(np.isfinite(pose).all() and speed < 20.0 and deepest > -5e-3)
    return {
        "environments": count,
        "device": device,
        "path": simulation.solver.path,
        "launches": simulation.launch_count,
        "rate": statistics.median(rates),
        "spread": (max(rates) - min(rates)) / statistics.median(rates),
        "build_s": build,
        "first_step_s": first,
        "contacts": float(used.mean()),
        "speed": float(speed),
        "deepest": float(deepest),
        "valid": valid,
    }


def main() -> None:
    """Measure and print one row for each robot and count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--robots", default="ant,panda")
    parser.add_argument("--counts", default="1,64,1024")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--scenes", type=Path, help="folder with scenes written by --save-scenes")
    parser.add_argument("--save-scenes", type=Path)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    names = options.robots.split(",")
    if options.save_scenes:
        options.save_scenes.mkdir(parents=True, exist_ok=True)
        for name in names:
            (options.save_scenes / f"{name}.pickle").write_bytes(pickle.dumps(load(name)))
        return
    rows = []
    print("robot | environments | path | launches | environment-steps/s | spread | contacts | valid")
    for name in names:
        scene = (
            pickle.loads((options.scenes / f"{name}.pickle").read_bytes()) if options.scenes else load(name)
        )
        for count in map(int, options.counts.split(",")):
            row = {"robot": name, **measure(scene, count, options.device, options.seconds)}
            rows.append(row)
            print(
                f"{name} | {count} | {row['path']} | {row['launches']} | {row['rate']:.0f} | {row['spread']:.1%} | "
                f"{row['contacts']:.1f} | {row['valid']}",
                flush=True,
            )
    if options.json:
        about = {"warp": wp.__version__, "python": platform.python_version(), "machine": platform.processor()}
        options.json.write_text(json.dumps({"about": about, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
