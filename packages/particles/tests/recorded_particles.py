"""Steps of the CPU that a CUDA machine compares with, since it need not be able to compile for its CPU.

python packages/particles/tests/recorded_particles.py    writes tests/data/particle_steps.npz
"""

from __future__ import annotations

import pathlib

import numpy as np
import warp as wp

import tensorphys_particles as tp
from tensorphys_particles.testing import Plane, SolidObstacles

STEPS = pathlib.Path(__file__).parent / "data" / "particle_steps.npz"
COUNT = 1000
LEVELS = 30000  # whole numbers of 16 bits to the largest value


def system() -> tp.ParticleSystem:
    """Fluid, grains and a cloth on top of each other."""
    rng = np.random.default_rng(5)
    mesh = tp.ClothMesh.grid((5, 5), (0.4, 0.4), stretch_stiffness=100.0, damping=0.1)
    fluid = tp.ParticleSet(rng.uniform(-0.2, 0.2, (20, 3)), material=tp.ParticleMaterial(viscosity=0.01))
    grains = tp.ParticleSet(rng.uniform(-0.2, 0.2, (10, 3)) + [0, 0, 0.4], fluid=False, masses=0.1)
    cloth = tp.ParticleCloth(mesh, masses=0.02, positions=mesh.points + [0, 0, 0.2])
    return tp.ParticleSystem(sets=[fluid, grains], cloths=[cloth])


def compute(device: str) -> dict[str, np.ndarray]:
    """Positions, velocities and needed neighbours after one step from each of the random states."""
    model = tp.ParticleModel([system()], device=device)
    obstacles = SolidObstacles(model, [Plane(point=(0.0, 0.0, -0.3), environment=-1)], capacity=4)
    solver = tp.ParticleSolver(model, tp.SolverSettings(substeps=1), obstacles=obstacles)
    state = tp.ParticleState(model)
    rng = np.random.default_rng(11)
    positions, velocities, needed = [], [], []
    for _ in range(COUNT):
        shape = (model.particle_count, 3)
        moved = (model.initial_positions.numpy() + rng.uniform(-0.02, 0.02, shape)).astype(np.float32)
        speeds = rng.normal(size=shape).astype(np.float32)
        state.set_positions(wp.array(moved, dtype=wp.vec3, device=model.device))
        state.set_velocities(wp.array(speeds, dtype=wp.vec3, device=model.device))
        solver.step(state, 1 / 960)
        positions.append(state.positions.numpy().copy())
        velocities.append(state.velocities.numpy().copy())
        needed.append(solver.neighbors_needed.numpy().copy())
    return {
        "positions": np.asarray(positions),
        "velocities": np.asarray(velocities),
        "neighbors_needed": np.asarray(needed),
    }


def load() -> dict[str, np.ndarray]:
    """The recorded results; values rounded to a thirty-thousandth of the largest."""
    with np.load(STEPS) as file:
        levels = {name: file[name] for name in ("positions", "velocities")}
        values = {name: level.astype(float) * file[f"{name}_unit"] for name, level in levels.items()}
        return {**values, "neighbors_needed": file["neighbors_needed"]}


def main() -> None:
    """Write the file."""
    results = compute("cpu")
    arrays = {"neighbors_needed": results["neighbors_needed"]}
    for name in ("positions", "velocities"):
        unit = np.abs(results[name]).max() / LEVELS
        arrays[name] = np.rint(results[name] / unit).astype(np.int16)
        arrays[f"{name}_unit"] = unit
    STEPS.parent.mkdir(exist_ok=True)
    np.savez_compressed(STEPS, **arrays)


if __name__ == "__main__":
    main()
