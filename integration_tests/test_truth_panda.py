"""Mass matrix and Jacobian of the Panda against Pinocchio, which read them from the URDF (`tools/record_pinocchio.py`)."""

import pathlib

import numpy as np

import tensorphys
from tensorphys_dynamics import Quantities

PANDA = pathlib.Path(__file__).resolve().parents[1] / "examples" / "panda" / "panda.usdc"


def relative(found, expected):
    """Largest normwise difference over all matrices."""
    shape = (*expected.shape[:-2], -1)
    difference = np.linalg.norm((found - expected).reshape(shape), axis=-1)
    return (difference / np.maximum(np.linalg.norm(expected.reshape(shape), axis=-1), 1e-12)).max()


def test_panda_against_pinocchio(data, host, measure, device, recwarn):
    with np.load(data / "panda_pinocchio.npz") as file:
        reference = dict(file)
    count = len(reference["positions"])
    # One environment for each state: all are evaluated by the same launch.
    view = tensorphys.create_simulation_view(
        "numpy" if device == "cpu" else "warp", stage=PANDA, replicate=count, device=device
    )
    articulations = view.create_articulation_view("/World/envs/env_*/panda/Geometry/panda_link0")
    names = [path.rpartition("/")[2] for path in articulations.dof_paths[0]]
    links = [path.rpartition("/")[2] for path in articulations.link_paths[0]]
    assert names == reference["joints"].tolist()
    assert links[1:] == [name for name in reference["links"].tolist() if name != "panda_link0"]
    positions = reference["positions"].astype(np.float32)
    if device != "cpu":
        import warp as wp

        positions = wp.array(positions, device=device)
    articulations.set_dof_positions(positions, None)
    quantities = Quantities(view.simulation.model, view.simulation.state)
    masses = host(quantities.mass_matrix())
    assert masses.shape == (count, 9, 9)
    measure("mass matrix of the Panda, normwise", relative(masses, reference["mass_matrices"]), 1e-4)
    jacobians = host(quantities.jacobian())[:, 1:]
    order = [reference["links"].tolist().index(name) for name in links[1:]]
    expected = reference["jacobians"][:, order]
    measure("Jacobians of its links, normwise", relative(jacobians, expected), 1e-4)
