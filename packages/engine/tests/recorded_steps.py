"""Steps of the CPU that a CUDA machine compares with, since it need not be able to compile for its CPU.

python packages/engine/tests/recorded_steps.py    writes tests/data/cpu_steps.npz
"""

from __future__ import annotations

import pathlib

import numpy as np
import warp as wp

from tensorphys_engine import Simulation
from tensorphys_engine.testing import walker_scene

RESULTS = pathlib.Path(__file__).parent / "data" / "cpu_steps.npz"
COUNT = 1000
DT = 1.0 / 240.0
SAMPLES = 24
"""Steps from states that differ by roundings, by which the record knows states that no arithmetic decides."""
ROUNDINGS = 4
# name: (whether a crate and a platform stand beside the walker, whether things touch)
CASES = {
    "alone": (True, False),
    "alone, touching": (True, True),
    "beside others": (False, False),
    "beside others, touching": (False, True),
}


def random_state(simulation: Simulation, *, touching: bool, seed: int = 0) -> None:
    """Give every environment a state of its own."""
    rng = np.random.default_rng(seed)
    state, device = simulation.state, simulation.device
    pose = state.root_pose.numpy().reshape(COUNT, -1, 7)
    roots = pose.shape[1]
    pose[:, 0, :3] += rng.uniform(-0.05, 0.05, (COUNT, 3))
    turn = np.concatenate([rng.normal(0.0, 0.2, (COUNT, 3)), np.ones((COUNT, 1))], axis=1)
    pose[:, 0, 3:] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    if not touching:
        pose[:, :, 2] += 2.0 + 2.0 * np.arange(roots)
    velocity = rng.normal(0.0, 1.0, state.velocity.shape[0]).astype(np.float32)
    position = rng.uniform(-0.9, 0.1, state.dof_position.shape[0]).astype(np.float32)
    for array, values in (
        (state.root_pose, pose.reshape(-1, 7)),
        (state.velocity, velocity),
        (state.dof_position, position),
        (state.fresh, np.ones(state.fresh.shape[0], np.int32)),
    ):
        array.assign(wp.array(values.astype(array.numpy().dtype), dtype=array.dtype, device=device))
    simulation.refresh()


def disturb(simulation: Simulation, sample: int) -> None:
    """Move every number of the state by up to ROUNDINGS spacings of float32."""
    rng = np.random.default_rng(sample)
    state = simulation.state
    for array in (state.root_pose, state.velocity, state.dof_position):
        values = array.numpy()
        shift = rng.integers(-ROUNDINGS, ROUNDINGS + 1, values.shape) * np.spacing(np.abs(values))
        array.assign(wp.array(values + shift.astype(np.float32), dtype=array.dtype, device=simulation.device))
    state.fresh.fill_(1)
    simulation.refresh()


def own_difference(case: str, before: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By how much the CPU differs from itself, of the largest value, where states differ by roundings.

    Coulomb friction has states of more than one solution, and a step goes to one or another of them.
    """
    names = [name for name, values in before.items() if np.issubdtype(values.dtype, np.floating)]
    worst = {name: np.zeros(COUNT, np.float32) for name in names}
    for sample in range(SAMPLES):
        after = one_step(case, "cpu", sample + 1)
        for name in names:
            error = np.abs(after[name] - before[name]).max(axis=1) / np.abs(before[name]).max()
            worst[name] = np.maximum(worst[name], error)
    return {f"{name}, own difference": values for name, values in worst.items()}


def one_step(case: str, device: str, sample: int = 0) -> dict[str, np.ndarray]:
    """State of all environments after one step, and the contacts of the step; from a disturbed state if there is a sample."""
    alone, touching = CASES[case]
    simulation = Simulation(walker_scene(COUNT, alone=alone), device=device)
    random_state(simulation, touching=touching)
    if sample:
        disturb(simulation, sample)
    simulation.step(DT)
    contacts = simulation.contacts
    count = contacts.count.numpy()
    start = contacts.slot_start.numpy()[:COUNT]
    used = np.concatenate([np.arange(s, s + c) for s, c in zip(start, count, strict=True)]).astype(np.int64)
    state = simulation.state
    return {
        "link pose": state.link_pose.numpy().reshape(COUNT, -1),
        "link velocity": state.link_velocity.numpy().reshape(COUNT, -1),
        "joint position": state.dof_position.numpy().reshape(COUNT, -1),
        "contact count": count,
        "contact key": contacts.key.numpy()[used],
    }


def main() -> None:
    """Write the record."""
    record = {}
    for case, (_, touching) in CASES.items():
        values = one_step(case, "cpu")
        if touching:
            values |= own_difference(case, values)
        record |= {f"{case}: {name}": array for name, array in values.items()}
    RESULTS.parent.mkdir(exist_ok=True)
    np.savez_compressed(RESULTS, **record)


if __name__ == "__main__":
    main()
