"""Matrices and forces of real robots against the float64 twin, which `packages/dynamics/tests` holds against Pinocchio."""

import os
import pathlib
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp

import tensorphys
from tensorphys_dynamics import Quantities
from tensorphys_dynamics import _reference as twin

ROOT = pathlib.Path(__file__).resolve().parents[1]
STATES = 3


def stages() -> dict[str, pathlib.Path]:
    models = ROOT / "integration_tests" / "data" / "robot_models"
    found = {path.stem: path for path in sorted(models.glob("*.usdc"))}
    if "TENSORPHYS_ROBOTS" in os.environ:
        # converted robots, one a folder; a folder with layers beside its stage has a twin in one file
        folders = sorted(pathlib.Path(os.environ["TENSORPHYS_ROBOTS"]).glob("*/"))
        found |= {f.name: p for f in folders for p in f.glob("*.usdc") if not f.name.endswith("_layered")}
    return found | {"panda": ROOT / "examples" / "panda" / "panda.usdc"}


def tree_of(model, articulation: int) -> twin.Tree:
    """An articulation of the simulation in float64."""
    links = slice(*model.articulation_link_start.numpy()[articulation : articulation + 2])
    dofs = slice(*model.articulation_dof_start.numpy()[articulation : articulation + 2])
    kind = model.types[int(model.articulation_type.numpy()[articulation])]

    def column(name: str, rows: slice) -> np.ndarray:
        return getattr(model, name).numpy()[rows].astype(np.float64)

    rest = column("link_rest_pose", links)
    rest[:, 3:] /= np.linalg.norm(rest[:, 3:], axis=1, keepdims=True)
    return twin.Tree(
        fixed_base=kind.fixed_base,
        parent=kind.parent,
        rest_pose=rest,
        dof_link=kind.dof_link,
        dof_rotational=kind.dof_rotational,
        dof_axis=column("dof_axis", dofs),
        dof_anchor=column("dof_anchor", dofs),
        armature=column("dof_armature", dofs),
        mass=column("link_mass", links),
        com=column("link_com", links),
        inertia=column("link_inertia", links),
    )


def moving(path: pathlib.Path, device: str) -> SimpleNamespace:
    """The first articulation of a stage in several random states, one an environment."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim = tensorphys.create_simulation_view("warp", stage=path, replicate=STATES, device=device)
    model, state = sim.simulation.model, sim.simulation.state
    starts = model.articulation_environment.numpy().searchsorted(np.arange(STATES))
    rng = np.random.default_rng(7)
    root = state.root_pose.numpy()
    turn = rng.normal(size=(len(root), 4))
    root[:, 3:] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    q = rng.uniform(-1.0, 1.0, model.dof_count)
    v = rng.normal(size=model.velocity_count)
    state.set_initial(root_pose=root, velocity=v, dof_position=q)
    sim.simulation.refresh()
    gravity = (0.3, -0.2, -9.81)
    sim.set_gravity(gravity)
    paths = [sim.simulation.articulation_info(int(a)).path for a in starts]
    view = sim.create_articulation_view(paths)
    return SimpleNamespace(
        sim=sim, view=view, model=model, state=state, starts=starts, gravity=np.array(gravity)
    )


def normwise(found, expected) -> float:
    return float(np.abs(found - expected).max(initial=0.0) / max(np.abs(expected).max(initial=0.0), 1e-9))


@pytest.mark.parametrize("name", list(stages()))
def test_quantities_of_a_robot(name, host, measure, device):
    w = moving(stages()[name], device)
    view, model = w.view, w.model
    tree = tree_of(model, int(w.starts[0]))
    floating = not tree.fixed_base
    found = {
        "Jacobians": view.get_jacobians(),
        "mass matrix": view.get_generalized_mass_matrices(),
        "gravity": view.get_gravity_compensation_forces(),
        "Coriolis and centrifugal": view.get_coriolis_and_centrifugal_compensation_forces(),
        "mass centre": view.get_articulation_mass_center(True),
    }
    if floating:
        found["centroidal momentum"] = view.get_articulation_centroidal_momentum()
    found = {key: host(values).astype(np.float64) for key, values in found.items()}
    pose, velocity, position = (
        getattr(w.state, key).numpy().astype(np.float64) for key in ("root_pose", "velocity", "dof_position")
    )
    rng = np.random.default_rng(3)
    wanted = rng.normal(size=model.velocity_count)
    quantities = Quantities(model, w.state, w.starts)
    vector = wp.array(wanted.astype(np.float32), dtype=wp.float32, device=device)
    needed = host(quantities.inverse_dynamics(vector)).astype(np.float64)
    given = host(quantities.forward_dynamics(vector)).astype(np.float64)
    forward, inverse = "forward dynamics (residual)", "inverse dynamics"
    worst = dict.fromkeys([*found, inverse, forward], 0.0)
    for row, a in enumerate(w.starts):
        dofs = slice(*model.articulation_dof_start.numpy()[a : a + 2])
        speeds = slice(*model.articulation_velocity_start.numpy()[a : a + 2])
        root = pose[a]
        root[3:] /= np.linalg.norm(root[3:])
        truth = twin.dynamics(tree, root, position[dofs], velocity[speeds], w.gravity)
        local = twin.rotation(root[3:]).T @ (twin.mass_centre(tree, truth) - root[:3])
        expected = {
            "Jacobians": truth.jacobian if floating else truth.jacobian[1:],
            "mass matrix": truth.mass_matrix,
            "gravity": -truth.gravity_force,
            "Coriolis and centrifugal": truth.bias + truth.gravity_force,
            "mass centre": local,
        }
        if floating:
            matrix, rate = twin.centroidal_momentum(tree, truth)
            expected["centroidal momentum"] = np.column_stack((matrix, rate))
            last = found["centroidal momentum"][row, :, -1]
            worst["rate of momentum"] = max(worst.get("rate of momentum", 0.0), normwise(last, rate))
        m, bias, tau, rates = truth.mass_matrix, truth.bias, wanted[speeds], given[speeds]
        worst[inverse] = max(worst[inverse], normwise(needed[speeds], m @ tau + bias))
        scale = np.linalg.norm(m, 2) * np.linalg.norm(rates) + np.linalg.norm(bias) + np.linalg.norm(tau)
        worst[forward] = max(worst[forward], float(np.linalg.norm(m @ rates + bias - tau) / scale))
        for key, values in expected.items():
            worst[key] = max(worst[key], normwise(found[key][row], values))
    for key, value in worst.items():
        measure(f"{name}: {key}, normwise", value, 1e-4)


@pytest.mark.peers
@pytest.mark.parametrize("name", list(stages()))
def test_the_twin_of_a_robot_equals_pinocchio(name, measure):
    pin = pytest.importorskip("pinocchio")
    from tensorphys_dynamics.testing.in_pinocchio import in_pinocchio

    w = moving(stages()[name], "cpu")
    a = int(w.starts[0])
    tree = tree_of(w.model, a)
    # float32 leaves axes and inertias that Pinocchio makes unit and symmetric
    tree = replace(
        tree,
        dof_axis=tree.dof_axis / np.linalg.norm(tree.dof_axis, axis=1, keepdims=True),
        inertia=0.5 * (tree.inertia + tree.inertia.transpose(0, 2, 1)),
    )
    dofs = slice(*w.model.articulation_dof_start.numpy()[a : a + 2])
    speeds = slice(*w.model.articulation_velocity_start.numpy()[a : a + 2])
    root, q, v = (
        w.state.root_pose.numpy()[a].astype(float),
        w.state.dof_position.numpy()[dofs].astype(float),
        w.state.velocity.numpy()[speeds].astype(float),
    )
    root[3:] /= np.linalg.norm(root[3:])
    if tree.fixed_base:
        root = np.array([0.0, 0, 0, 0, 0, 0, 1])
    p = in_pinocchio(pin, tree, root, q, v, w.gravity)
    still = np.zeros(len(v))
    mass = np.triu(pin.crba(p.model, p.data, p.q))
    mass += np.triu(mass, 1).T
    weight = pin.rnea(p.model, p.data, p.q, still, still)
    columns = [pin.rnea(p.model, p.data, p.q, still, unit) - weight for unit in np.eye(len(v))]
    # its two algorithms first
    assert normwise(mass, np.array(columns).T) < 1e-9
    armature = np.zeros(len(v))
    armature[p.nr :] = tree.armature
    found = {
        "mass matrix": (p.ours.mass_matrix, p.change.T @ mass @ p.change + np.diag(armature)),
        "gravity": (-p.ours.gravity_force, p.change.T @ weight),
        "bias": (p.ours.bias, p.change.T @ pin.rnea(p.model, p.data, p.q, p.v, p.rate)),
    }
    pin.dccrba(p.model, p.data, p.q, p.v)
    matrix, rate = twin.centroidal_momentum(tree, p.ours)
    their_rate = p.data.dAg @ p.v + p.data.Ag @ p.rate
    # theirs is about a centre that leaves out what hangs on the world
    centre = pin.centerOfMass(p.model, p.data, p.q) - twin.mass_centre(tree, p.ours)
    for key, ours, theirs in (
        ("centroidal momentum", matrix, p.data.Ag @ p.change),
        ("rate of momentum", rate, their_rate),
    ):
        about = theirs.copy()
        about[3:] += twin.skew(centre) @ theirs[:3]
        found[key] = (ours, about)
    # their forward dynamics in our equations
    p.model.armature[p.nr :] = tree.armature[p.order]
    tau = np.random.default_rng(5).normal(size=len(v))
    rates = np.linalg.solve(
        p.change, pin.aba(p.model, p.data, p.q, p.v, np.linalg.solve(p.change.T, tau)) - p.rate
    )
    m, bias = p.ours.mass_matrix, p.ours.bias
    scale = np.linalg.norm(m, 2) * np.linalg.norm(rates) + np.linalg.norm(bias) + np.linalg.norm(tau)
    residual = float(np.linalg.norm(m @ rates + bias - tau) / scale)
    measure(f"{name}: forward dynamics of Pinocchio in the twin (residual)", residual, 1e-9)
    for key, (ours, theirs) in found.items():
        measure(f"{name}: {key}, twin to Pinocchio, normwise", normwise(ours, theirs), 1e-9)
