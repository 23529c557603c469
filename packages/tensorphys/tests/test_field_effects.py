"""Every setter changes what the simulation does, in the rows that it names, and refuses what is no data for it."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Sdf

from tensorphys.fields import ARTICULATION_FIELDS, RIGID_BODY_FIELDS, Field

COUNT, STEPS = 3, 12
ROW = 1  # the row that is set


@pytest.fixture
def build(stages: SimpleNamespace, arrays: Any) -> Any:
    """Makes the same world again and again: cart-poles, sleds of two links, balls and a kinematic ball on a ground."""

    def fill(path: str, number: int) -> None:
        drive = {"stiffness": 40.0, "damping": 3.0, "targetPosition": 0.3, "maxForce": 500.0}
        stage.cart_pole(
            f"{path}/cartpole",
            (0, 8, 0),
            cart={"drive": {"type": "force", **drive}, "state": (0.1, 0.5)},
            pole={
                "drive": {
                    "type": "force",
                    **drive,
                    "stiffness": 0.5,
                    "damping": 0.05,
                    "targetPosition": 30.0,
                },
                "limits": (-120, 150),
                "state": (10.0, 40.0),
            },
        )
        for joint, instance in (("cartJoint", "linear"), ("poleJoint", "angular")):
            prim = stage.stage.GetPrimAtPath(f"{path}/cartpole/{joint}")
            prim.AddAppliedSchema(f"PhysxDrivePerformanceEnvelopeAPI:{instance}")
            name = f"physxDrivePerformanceEnvelope:{instance}:maxActuatorVelocity"
            prim.CreateAttribute(name, Sdf.ValueTypeNames.Float).Set(1e5)
        sled = f"{path}/sled"
        stage.xform(sled)
        stage.body(f"{sled}/base", (0, 0, 0.2), mass=2.0, inertia=(0.1, 0.1, 0.1), radius=0.2)
        stage.body(f"{sled}/arm", (0.3, 0, 0.2), mass=0.5, inertia=(0.01, 0.02, 0.02))
        stage.joint(f"{sled}/hinge", "revolute", f"{sled}/base", f"{sled}/arm", axis="Y", at1=(-0.3, 0, 0))
        stage.articulation(f"{sled}/base")
        stage.body(f"{path}/ball", (0, 3, 0.2), mass=1.5, inertia=(0.02, 0.03, 0.04), radius=0.2)
        stage.body(f"{path}/pusher", (0, 5, 1), radius=0.2, kinematic=True)

    stage = stages.Author.new()
    stage.environments(COUNT, fill, spacing=20.0)
    stage.ground()

    def make() -> SimpleNamespace:
        sim = stages.view(arrays, stage, environments="/envs/*")
        world = SimpleNamespace(
            sim=sim,
            arrays=arrays,
            cartpole=sim.create_articulation_view("/envs/*/cartpole"),
            sled=sim.create_articulation_view("/envs/*/sled/base"),
            ball=sim.create_rigid_body_view("/envs/*/ball"),
            pusher=sim.create_rigid_body_view("/envs/*/pusher"),
        )
        velocities = np.zeros((COUNT, 6), np.float32)
        velocities[:, 0] = 1.0
        world.ball.set_velocities(arrays.make(velocities), None)
        velocities[:, 5] = 0.4
        world.sled.set_root_velocities(arrays.make(velocities), None)
        return world

    return make


# What is set, by field: the new numbers of an item, or a function of the old array. Fields of links and shapes are set
# on the sled where they are those of an articulation.
DOF: dict[str, Any] = {
    "dof_positions": 0.25,
    "dof_velocities": -0.7,
    "dof_position_targets": -0.4,
    "dof_velocity_targets": 2.0,
    "dof_actuation_forces": 3.0,
    "dof_limits": [-0.12, 0.12],
    "dof_stiffnesses": 5.0,
    "dof_dampings": 0.4,
    "dof_max_forces": 0.2,
    "dof_max_velocities": 0.05,
    "dof_armatures": 0.6,
    "dof_friction_coefficients": 0.5,
    "dof_friction_properties": [0.6, 0.4, 0.2],
    "dof_drive_model_properties": [0.3, 0.4, 0.1],
}
BODY: dict[str, Any] = {
    "masses": lambda old: 2.5 * old,
    "coms": lambda old: old + np.array([0.02, 0.03, -0.01, 0, 0, 0, 0], np.float32),
    "inertias": lambda old: 1.7 * old,
    "disable_gravities": 1,
    "material_properties": [0.05, 0.02, 0.0],
    "contact_offsets": 1.5,
    "rest_offsets": -0.02,
}
ARTICULATION = (
    DOF
    | BODY
    | {
        "root_transforms": lambda old: old + np.array([0.1, 0.2, 0.3, 0, 0, 0, 0], np.float32),
        "root_velocities": lambda old: old + np.float32(0.3),
    }
)
RIGID = BODY | {
    "transforms": lambda old: old + np.array([0.1, 0.2, 0.3, 0, 0, 0, 0], np.float32),
    "velocities": lambda old: old + np.float32(0.3),
    "kinematic_targets": [0.5, 5.0, 1.5, 0.0, 0.6, 0.0, 0.8],
    "disable_simulations": 1,
}
# Inertias of a ball count when it turns, and it lies still before it rolls.
TABLES = {"articulation": (ARTICULATION_FIELDS, ARTICULATION), "body": (RIGID_BODY_FIELDS, RIGID)}


def _cases() -> list[Any]:
    return [
        pytest.param(kind, field, id=f"{kind}-{field.name}")
        for kind, (table, _) in TABLES.items()
        for field in table.values()
        if field.writable and field.items != "tendon"
    ]


def _view(world: SimpleNamespace, kind: str, name: str) -> Any:
    if kind == "articulation":
        return world.cartpole if name in DOF else world.sled
    return world.pusher if name == "kinematic_targets" else world.ball


def _wanted(world: SimpleNamespace, kind: str, field: Field) -> np.ndarray:
    """Data for all rows: those of the view, and in the row to be set the new ones."""
    view, new = _view(world, kind, field.name), TABLES[kind][1][field.name]
    if not field.readable:
        values = world.arrays.host(view.get_transforms()).copy()
    else:
        values = world.arrays.host(getattr(view, f"get_{field.name}")()).copy()
    values[ROW] = new(values)[ROW] if callable(new) else new
    return values


def _prepared(world: SimpleNamespace, field: Field) -> SimpleNamespace:
    """A world in which the field can count: contact offsets do above the ground, where there is no contact yet."""
    if field.name == "contact_offsets":
        for view, name in ((world.sled, "root_transforms"), (world.ball, "transforms")):
            lifted = world.arrays.host(getattr(view, f"get_{name}")())
            lifted[:, 2] += 0.8
            getattr(view, f"set_{name}")(world.arrays.make(lifted), None)
    return world


def _run(world: SimpleNamespace) -> list[np.ndarray]:
    """What the simulation did, by row."""
    counts = []
    for _ in range(STEPS):
        world.sim.step(1 / 60)
        counts.append(world.sim.simulation.contacts.count.numpy().copy())
    host = world.arrays.host
    parts = [
        host(world.cartpole.get_link_transforms()).reshape(COUNT, -1),
        host(world.sled.get_link_transforms()).reshape(COUNT, -1),
        host(world.ball.get_transforms()),
        host(world.pusher.get_transforms()),
        np.array(counts).T,
    ]
    return [np.concatenate([part[row].ravel() for part in parts]) for row in range(COUNT)]


@pytest.mark.parametrize(("kind", "field"), _cases())
def test_a_setter_changes_its_row_and_no_other(build: Any, kind: str, field: Field) -> None:
    plain = _run(_prepared(build(), field))
    world = _prepared(build(), field)
    arrays = world.arrays.cpu if field.group == "property" else world.arrays
    view = _view(world, kind, field.name)
    wanted = _wanted(world, kind, field)
    getattr(view, f"set_{field.name}")(arrays.make(wanted, field.dtype), arrays.rows([ROW]))
    found = _run(world)
    assert np.isfinite(np.array(found)).all()
    assert np.abs(found[ROW] - plain[ROW]).max() > 1e-4
    for row in range(COUNT):
        if row != ROW:
            np.testing.assert_array_equal(found[row], plain[row])


@pytest.mark.parametrize(("kind", "field"), _cases())
def test_a_setter_refuses_what_is_no_data_for_it(
    build: Any, stages: SimpleNamespace, kind: str, field: Field
) -> None:
    world = build()
    arrays = world.arrays.cpu if field.group == "property" else world.arrays
    view = _view(world, kind, field.name)
    wanted = _wanted(world, kind, field)
    setter, name = getattr(view, f"set_{field.name}"), rf"set_{field.name}\(data\)"
    with pytest.raises(ValueError, match=rf"{name}: expected {wanted.size} elements"):
        setter(arrays.make(wanted[:-1], field.dtype), arrays.rows([0]))
    with pytest.raises(IndexError):
        stages.set_and_look(view, field.name, arrays.make(wanted, field.dtype), arrays.rows([COUNT]))
    with pytest.raises(TypeError, match=rf"set_{field.name}\(indices\)"):
        setter(arrays.make(wanted, field.dtype), arrays.make([0.0], np.float32))
    with pytest.raises(TypeError):
        setter("rows", arrays.rows([0]))
    if arrays.name == "warp":
        with pytest.raises(TypeError, match="not cast"):
            setter(arrays.make(wanted, np.float64), arrays.rows([0]))
    if arrays.device != "cpu":
        elsewhere = f"expected an array on {arrays.device}, given one on cpu"
        with pytest.raises(ValueError, match=f"{name}: {elsewhere}"):
            setter(arrays.cpu.make(wanted, field.dtype), arrays.rows([0]))
        with pytest.raises(ValueError, match=rf"set_{field.name}\(indices\): {elsewhere}"):
            setter(arrays.make(wanted, field.dtype), arrays.cpu.rows([0]))
