"""Recorded runs of another engine with contacts: inclines, a bounce, stacks, a pusher, compounds, meshes, friction.

Positions agree within max(1e-2, twice the difference of the recorded engine's own runs at 1/60 s and 1/240 s) inside the
horizon. Of the forces, what is physics agrees: impulses from the start on, to within the step in which an impact falls, and forces at
rest. Forces within single steps of an impact are shared between steps as each engine likes.
"""

import functools
import json
import pathlib

import numpy as np
import pytest

DATA = pathlib.Path(__file__).parent / "data"
RUNS = json.loads((DATA / "recorded_contacts" / "runs.json").read_text(encoding="utf-8"))
GRAVITY = 9.81
# Impulses from the start on, of the largest of the run.
IMPULSE = 0.025
AT_REST = 0.01


@functools.cache
def archive():
    with np.load(DATA / "recorded_contacts" / "runs.npz") as file:
        return dict(file)


def drive(run, bodies, step):
    """What acts on the bodies during the step of a number, from the words of the recording."""
    facts = RUNS[run]
    dt = 1.0 / facts["time_step_inverse"]
    control = facts["control"]
    if control is None:
        return
    first = np.array([0])
    if control.startswith("kinematic target"):
        target = bodies.get_transforms().copy()
        target[0, 0] = -0.5 + 0.5 * min((step + 1) * dt, 2.0)
        bodies.set_kinematic_targets(target, first)
    else:
        assert control.startswith("force along X")
        force = np.zeros((bodies.count, 3), np.float32)
        time = step * dt + 1e-9
        force[0, 0] = 0.0 if time < 1.0 else 5.0 if time < 2.0 else 15.0
        at = bodies.get_transforms()[:, :3].copy()
        bodies.apply_forces_and_torques_at_position(force, None, at, first, True)


def statics(stage):
    """Paths of colliders that belong to no body."""
    from pxr import UsdPhysics

    result = []
    for prim in stage.Traverse():
        if prim.HasAPI(UsdPhysics.CollisionAPI):
            above = prim
            while above and not above.HasAPI(UsdPhysics.RigidBodyAPI):
                above = above.GetParent()
            if not above:
                result.append(str(prim.GetPath()))
    return result


@functools.cache
def simulated(run):
    """Positions, normal and friction forces of this engine, in the form of the recording, and its own account of both."""
    from pxr import Usd

    import tensorphys

    facts = RUNS[run]
    stage = Usd.Stage.Open(str(DATA / facts["scene"]))
    view = tensorphys.create_simulation_view("numpy", stage=stage, device="cpu")
    paths = facts["bodies"]
    bodies = view.create_rigid_body_view(paths)
    # each body against everything else, by lists of filters
    others = [statics(stage) + [path for path in paths if path != own] for own in paths]
    contacts = view.create_rigid_contact_view(paths, others, 1024)
    dt = 1.0 / facts["time_step_inverse"]
    position, normal, friction, law = [bodies.get_transforms()[:, :3].copy()], [], [], 0.0
    stride = facts["steps_per_sample"]
    for step in range((len(archive()[f"{run}/position"]) - 1) * stride):
        drive(run, bodies, step)
        view.step(dt)
        if (step + 1) % stride:
            continue
        position.append(bodies.get_transforms()[:, :3].copy())
        normal.append(contacts.get_net_contact_forces(dt).copy())
        matrix = contacts.get_contact_force_matrix(dt)
        scale = max(np.abs(normal[-1]).max(), 1.0)
        law = max(law, np.abs(matrix.sum(axis=1) - normal[-1]).max() / scale)
        force, _, count, start = contacts.get_friction_data(dt)
        total = np.zeros_like(normal[-1])
        for sensor in range(len(paths)):
            for column in range(contacts.filter_count):
                first = int(start[sensor, column])
                total[sensor] += force[first : first + int(count[sensor, column])].sum(axis=0)
        friction.append(total)
    return np.array(position), np.array(normal), np.array(friction), law


def samples(run):
    """Samples inside the horizon, at 60 a second."""
    return round(RUNS[run]["horizon"] * 60) + 1


def bound(run):
    """Bound of the distance at each sample."""
    name, _, rate = run.rpartition("__")
    other = f"{name}__{'dt240' if rate == 'dt60' else 'dt60'}"
    own = np.abs(archive()[f"{run}/position"] - archive()[f"{other}/position"]).max(axis=(1, 2))
    return np.maximum(1e-2, 2.0 * np.maximum.accumulate(own))


INCLINES = [run for run in RUNS if run.startswith("b_")]  # their positions are in `test_oracle_recorded.py`
POSITIONS = [run for run in RUNS if run not in INCLINES]


@pytest.mark.parametrize("run", POSITIONS)
def test_positions_agree_with_the_recorded_run(run, measure):
    count = samples(run)
    difference = np.abs(simulated(run)[0] - archive()[f"{run}/position"]).max(axis=(1, 2))
    ratio = (difference / bound(run))[:count].max()
    measure(f"recorded contacts {run[0]}: difference over its bound", ratio, 1.0)


@pytest.mark.parametrize("run", list(RUNS))
def test_rows_of_the_force_matrix_add_up_to_the_net_force(run):
    assert simulated(run)[3] < 1e-5


# Those where each sample is a step, so that impulses add up, and something touches inside the horizon.
STEPWISE = [
    run
    for run in RUNS
    if RUNS[run]["steps_per_sample"] == 1 and archive()[f"{run}/normal"][: samples(run) - 1].any()
]


def beyond(found, wanted):
    """How far impulses from the start on are outside of what the others are a step before, then, and a step after."""
    ours, theirs = (np.pad(f.cumsum(axis=0) / 60.0, ((1, 0), (0, 0), (0, 0))) for f in (found, wanted))
    near = np.stack((theirs[:-2], theirs[1:-1], theirs[2:]))
    inside = np.clip(ours[1:-1], near.min(axis=0), near.max(axis=0))
    return np.abs(ours[1:-1] - inside)


@pytest.mark.parametrize("run", STEPWISE)
def test_impulses_agree_with_the_recorded_run(run, measure):
    count = samples(run) - 1
    _, normal, friction, _ = simulated(run)
    theirs = archive()[f"{run}/normal"][: count + 1].cumsum(axis=0) / 60.0
    scale = max(np.abs(theirs).max(), GRAVITY * max(RUNS[run]["masses"]) * 0.1)
    for name, found, want in (
        ("normal", normal, f"{run}/normal"),
        ("friction", friction, f"{run}/friction"),
    ):
        off = beyond(found[: count + 1], archive()[want][: count + 1]).max()
        measure(f"recorded contacts {run[0]}: {name} impulse, of the largest", off / scale, IMPULSE)


# Bodies on the waves of `l` roll on, and the recorded ball with restitution under PGS bounces on for ever.
RESTING = [run for run in RUNS if run[0] != "l" and not run.startswith("c_bounce_PGS")]


@pytest.mark.parametrize("run", RESTING)
def test_forces_at_the_end_agree_with_the_recorded_run(run, measure):
    """The mean of the last half second: bodies lie still, or slide at a constant force."""
    _, normal, friction, _ = simulated(run)
    weight = GRAVITY * max(RUNS[run]["masses"])
    for name, found, want in (
        ("normal", normal, f"{run}/normal"),
        ("friction", friction, f"{run}/friction"),
    ):
        off = np.abs(found[-30:].mean(axis=0) - archive()[want][-30:].mean(axis=0)).max()
        measure(f"recorded contacts {run[0]}: {name} force at the end, of a weight", off / weight, AT_REST)
