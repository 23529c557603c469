"""A room of 100 boxes and three robots, played, edited, stopped and played again: time and memory by cycle.

python tools/bench backend/room --cycles 1000
"""

from __future__ import annotations

import argparse
import pathlib
import resource
import time

import numpy as np

from tensorphys_backend import TensorPhysBackend
from tensorphys_backend.testing import add_arm, add_box, empty_stage


def resident() -> float:
    """Memory of the process [MB]; the most so far where the system does not tell more."""
    file = pathlib.Path("/proc/self/statm")
    if file.exists():
        return int(file.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=100)
    options = parser.parse_args()
    stage = empty_stage()
    for i in range(100):
        add_box(stage, f"/World/scene_0/box_{i}/base_link", (0.5 * (i % 10), 0.5 * (i // 10), 0.1))
    for joints in (1, 2, 3):
        add_arm(stage, f"/World/scene_0/arm_{joints}", (0.5 * joints, 6.0, 2.0), joints)
    backend = TensorPhysBackend(stage=stage, frontend="numpy")
    backend.create_physics_context(1 / 120, 1 / 120, "cpu")
    backend.add_ground_plane("/World/ground_plane")
    backend.play()
    start = time.process_time()
    for cycle in range(options.cycles):
        arms = backend.physics_sim_view.create_articulation_view("/World/scene_0/arm_*")
        backend.set_dof_position_targets(arms, np.full((3, 3), 0.1), np.arange(3), cast=True)
        backend.step(render=False)
        add_box(stage, "/World/scene_0/late/base_link", (3.0, 3.0, 1.0))
        backend.step(render=False)
        if arms.check():
            raise SystemExit(f"cycle {cycle}: a view outlived its simulation")
        stage.RemovePrim("/World/scene_0/late")
        backend.step(render=False)
        backend.stop()
        backend.play()
        if cycle in (10, 50, 100) or cycle % 200 == 199 or cycle == options.cycles - 1:
            used = (time.process_time() - start) / (cycle + 1)
            print(f"cycle {cycle + 1}: {resident():.1f} MB, {used * 1e3:.0f} ms a cycle", flush=True)


if __name__ == "__main__":
    main()
