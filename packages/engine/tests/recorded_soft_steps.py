"""Steps of deformables beside bodies on the CPU, that a CUDA machine compares with.

python packages/engine/tests/recorded_soft_steps.py    writes tests/data/cpu_soft_steps.npz
"""

from __future__ import annotations

import pathlib

import numpy as np
import warp as wp

from tensorphys_engine import Simulation
from tensorphys_engine.testing.soft_scenes import RigidBox, SoftCube, soft_scene

RESULTS = pathlib.Path(__file__).parent / "data" / "cpu_soft_steps.npz"
COUNT = 1000
DT = 1.0 / 240.0
SAMPLES = 6
"""Steps from states that differ by roundings, by which the record knows states that no arithmetic decides."""
ROUNDINGS = 4
CASES = {"apart": False, "touching": True}
"""Whether a cube of 27 nodes lies on a box that lies on the ground, or all are in the air."""


def make_simulation(device: str, *, touching: bool) -> Simulation:
    """All environments, without a state of their own."""
    cube = SoftCube((0.0, 0.0, 0.065 if touching else 0.5), cells=2, damping=0.005)
    box = RigidBox((0.0, 0.0, 0.02), (0.03, 0.03, 0.02))
    scene = soft_scene([cube], [box], environment_count=COUNT, ground=touching)
    return Simulation(scene, device=device)


def random_state(simulation: Simulation, seed: int = 0) -> None:
    """Turn, move, throw and deform everything, every environment in its own way."""
    rng = np.random.default_rng(seed)
    soft, state = simulation.soft, simulation.state
    x = soft.state.position.numpy().reshape(COUNT, -1, 3)
    center = x.mean(axis=1, keepdims=True)
    spin = rng.normal(0.0, 0.02, (COUNT, 1, 3))
    x = x + np.cross(spin, x - center) + rng.uniform(-1e-3, 1e-3, (COUNT, 1, 3))
    x = x + rng.normal(0.0, 2e-4, x.shape)
    v = np.cross(rng.normal(0.0, 1.0, (COUNT, 1, 3)), x - center) + rng.normal(0.0, 0.3, (COUNT, 1, 3))
    v = v + rng.normal(0.0, 0.02, x.shape)
    soft.state.set_positions(_vectors(x, simulation))
    soft.state.set_velocities(_vectors(v, simulation))
    pose = state.root_pose.numpy()
    pose[:, :2] += rng.uniform(-5e-3, 5e-3, (COUNT, 2))
    velocity = rng.normal(0.0, 0.2, state.velocity.shape[0])
    _write(simulation, {"root_pose": pose, "velocity": velocity})


def _vectors(values: np.ndarray, simulation: Simulation) -> wp.array:
    return wp.array(values.reshape(-1, 3).astype(np.float32), dtype=wp.vec3, device=simulation.device)


def _write(simulation: Simulation, values: dict[str, np.ndarray]) -> None:
    state = simulation.state
    for name, given in values.items():
        array = getattr(state, name)
        host = given.astype(array.numpy().dtype)
        array.assign(wp.array(host, dtype=array.dtype, device=simulation.device))
    state.fresh.fill_(1)
    simulation.refresh()


def disturb(simulation: Simulation, sample: int) -> None:
    """Move every number of the state by up to ROUNDINGS spacings of float32."""
    rng = np.random.default_rng(sample)

    def moved(array: wp.array) -> np.ndarray:
        values = array.numpy().astype(np.float32)
        shift = rng.integers(-ROUNDINGS, ROUNDINGS + 1, values.shape) * np.spacing(np.abs(values))
        return np.asarray(values + shift.astype(np.float32))

    soft, state = simulation.soft.state, simulation.state
    soft.set_positions(_vectors(moved(soft.positions), simulation))
    soft.set_velocities(_vectors(moved(soft.velocities), simulation))
    _write(simulation, {name: moved(getattr(state, name)) for name in ("root_pose", "velocity")})


def take_step(simulation: Simulation) -> dict[str, np.ndarray]:
    """Velocities of all environments after one step, from which positions follow, and how many rows each node had in its last substep."""
    simulation.step(DT)
    soft = simulation.soft
    return {
        "node velocity": soft.state.velocities.numpy().reshape(COUNT, -1),
        "box velocity": simulation.state.link_velocity.numpy().reshape(COUNT, -1),
        "row count": soft.rows.count.numpy().astype(np.int8).reshape(COUNT, -1),
    }


def one_step(case: str, device: str, sample: int = 0) -> dict[str, np.ndarray]:
    """A step from the random states, disturbed if there is a sample."""
    simulation = make_simulation(device, touching=CASES[case])
    random_state(simulation)
    if sample:
        disturb(simulation, sample)
    return take_step(simulation)


def own_difference(case: str, before: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By how much the CPU differs from itself, of the largest value, where states differ by roundings."""
    names = [name for name, values in before.items() if values.dtype == np.float32]
    worst = {name: np.zeros(COUNT, np.float32) for name in names}
    for sample in range(SAMPLES):
        after = one_step(case, "cpu", sample + 1)
        for name in names:
            error = np.abs(after[name] - before[name]).max(axis=1) / np.abs(before[name]).max()
            worst[name] = np.maximum(worst[name], error)
    return {f"{name}, own difference": values for name, values in worst.items()}


def main() -> None:
    """Write the record."""
    record = {}
    for case, touching in CASES.items():
        values = one_step(case, "cpu")
        if touching:
            values |= own_difference(case, values)
        record |= {f"{case}: {name}": array for name, array in values.items()}
    np.savez_compressed(RESULTS, **record)


if __name__ == "__main__":
    main()
