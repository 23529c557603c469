"""Every field of the tables through every frontend: shape, type, pointer, round trip, rows that stay."""

import inspect
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Sdf

from tensorphys import ArticulationView, RigidBodyView
from tensorphys.fields import ARTICULATION_FIELDS, ARTICULATION_QUANTITIES, RIGID_BODY_FIELDS, Field

COUNT = 4


@pytest.fixture
def world(stages: SimpleNamespace, arrays: Any) -> SimpleNamespace:
    def fill(path: str, number: int) -> None:
        options = {"mass": 2.0, "inertia": (0.1, 0.2, 0.3), "axes": (0.5, 0.5, 0.5, 0.5)}
        stage.body(f"{path}/ball", (0, 0, 9), radius=0.2, **options)
        stage.cart_pole(
            f"{path}/cartpole",
            cart={"drive": {"type": "force", "stiffness": 10.0, "damping": 2.0}},
            radius=0.1,
            pole={"limits": (-120, 150), "drive": {"type": "acceleration", "maxForce": 5.0}},
        )
        for joint, instance in (("cartJoint", "linear"), ("poleJoint", "angular")):
            prim = stage.stage.GetPrimAtPath(f"{path}/cartpole/{joint}")
            prim.AddAppliedSchema(f"PhysxDrivePerformanceEnvelopeAPI:{instance}")
            name = f"physxDrivePerformanceEnvelope:{instance}:maxActuatorVelocity"
            prim.CreateAttribute(name, Sdf.ValueTypeNames.Float).Set(1e5)

        raft = f"{path}/raft"
        stage.xform(raft)
        stage.body(f"{raft}/base", (0, 5, 3), mass=2.0)
        stage.body(f"{raft}/arm", (0.5, 5, 3), mass=0.5, com=(0.2, 0, 0))
        stage.joint(f"{raft}/hinge", "revolute", f"{raft}/base", f"{raft}/arm", axis="Y", at0=(0.5, 0, 0))
        stage.articulation(f"{raft}/base")

    stage = stages.Author.new()
    stage.environments(COUNT, fill)
    sim = stages.view(arrays, stage, environments="/envs/*")
    return SimpleNamespace(
        articulation=sim.create_articulation_view("/envs/*/cartpole"),
        raft=sim.create_articulation_view("/envs/*/raft/base"),
        body=sim.create_rigid_body_view("/envs/*/ball"),
        arrays=arrays,
    )


def _cases() -> list[Any]:
    tables = (("articulation", ARTICULATION_FIELDS), ("body", RIGID_BODY_FIELDS))
    return [
        pytest.param(kind, field, id=f"{kind}-{field.name}")
        for kind, table in tables
        for field in table.values()
    ]


def _changed(field: Field, values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Other values that the field can take."""
    factor = rng.uniform(0.5, 0.9, values.shape[:1]).astype(np.float32).reshape(-1, *[1] * (values.ndim - 1))
    if field.conversion in ("flag", "disabled"):
        return 1 - values
    if field.conversion in ("pose", "com"):
        result = values.copy()
        result[..., :3] += factor
        return result
    if field.name == "rest_offsets":
        return values - factor
    if field.conversion == "limits":
        return np.where(np.abs(values) > 1e30, values, values * factor)
    if field.conversion == "envelope":
        return values + 5.0 * factor
    return np.where(values == 0.0, factor, values * factor) if field.name != "inertias" else values * factor


@pytest.mark.parametrize(("kind", "field"), _cases())
def test_field(world: SimpleNamespace, kind: str, field: Field) -> None:
    view = getattr(world, kind)
    if not field.readable:
        assert not hasattr(view, f"get_{field.name}")
        return
    arrays = world.arrays.cpu if field.group == "property" else world.arrays
    get = getattr(view, f"get_{field.name}")
    shapes = {"articulation": 2, "body": 1}[kind]
    items = {"row": 1, "link": 3, "dof": 2, "shape": shapes, "tendon": 0}[field.items]
    first = get()
    assert tuple(first.shape) == field.shape(COUNT, items)
    assert arrays.host(first).dtype == np.dtype(field.dtype)
    assert arrays.device_of(first) == arrays.device
    pointer = arrays.data_pointer(first)
    again = get()
    assert again is first
    assert arrays.data_pointer(again) == pointer
    before = arrays.host(first)
    assert np.isfinite(before).all()
    setter = getattr(view, f"set_{field.name}", None) if field.writable else None
    if not field.writable:
        assert not hasattr(view, f"set_{field.name}")
        return
    assert setter is not None
    setter(first, None)
    np.testing.assert_array_equal(arrays.host(get()), before)
    if field.name == "root_velocities":  # the base of a cart-pole is fixed: nothing is to be set
        return
    wanted = _changed(field, before, np.random.default_rng(5))
    assert (wanted != before).any()
    setter(arrays.make(wanted, field.dtype), arrays.rows([3, 1]))
    expected = before.copy()
    expected[[1, 3]] = wanted[[1, 3]]
    np.testing.assert_allclose(arrays.host(get()), expected, rtol=2e-6, atol=1e-7)
    # A buffer that was handed out is the user's: writing into it changes nothing until it is set.
    arrays.clear(get())
    np.testing.assert_allclose(arrays.host(get()), expected, rtol=2e-6, atol=1e-7)


QUANTITY_SHAPES = {
    "jacobians": {"cartpole": (2, 6, 2), "raft": (2, 6, 7)},
    "generalized_mass_matrices": {"cartpole": (2, 2), "raft": (7, 7)},
    "mass_matrices": {"cartpole": (2, 2), "raft": (1, 1)},
    "gravity_compensation_forces": {"cartpole": (2,), "raft": (7,)},
    "coriolis_and_centrifugal_compensation_forces": {"cartpole": (2,), "raft": (7,)},
    "generalized_gravity_forces": {"cartpole": (2,), "raft": (1,)},
    "coriolis_and_centrifugal_forces": {"cartpole": (2,), "raft": (1,)},
    "articulation_mass_center": {"cartpole": (3,), "raft": (3,)},
    "articulation_centroidal_momentum": {"raft": (6, 8)},
}


def test_the_table_of_quantities_is_whole() -> None:
    assert set(QUANTITY_SHAPES) == set(ARTICULATION_QUANTITIES)


@pytest.mark.parametrize(
    ("robot", "name"), [(robot, name) for name, shapes in QUANTITY_SHAPES.items() for robot in shapes]
)
def test_quantity(world: SimpleNamespace, robot: str, name: str) -> None:
    """Shape, type, device and identity of what is evaluated; where the state changes, it does."""
    view, arrays = getattr(world, "articulation" if robot == "cartpole" else robot), world.arrays
    get = getattr(view, f"get_{name}")
    view.set_dof_positions(arrays.make(np.full((COUNT, view.max_dofs), 0.1)), None)
    view.set_dof_velocities(arrays.make(np.full((COUNT, view.max_dofs), 0.5)), None)
    first = get()
    assert tuple(first.shape) == (COUNT, *QUANTITY_SHAPES[name][robot])
    assert arrays.host(first).dtype == np.float32
    assert arrays.device_of(first) == arrays.device
    assert get() is first
    before = arrays.host(first)
    assert np.isfinite(before).all()
    positions = np.full((COUNT, view.max_dofs), 0.1, np.float32)
    positions[1] = 0.6
    view.set_dof_positions(arrays.make(positions), arrays.rows([1]))
    view.set_dof_velocities(arrays.make(4 * positions), arrays.rows([1]))
    after = arrays.host(get())
    np.testing.assert_array_equal(after[[0, 2, 3]], before[[0, 2, 3]])
    # one joint alone: its inertia does not depend on its angle, and a raft has no weight of its own on its joint
    same = {"mass_matrices", "generalized_gravity_forces", "coriolis_and_centrifugal_forces"}
    if robot == "cartpole" or name not in same:
        assert (after[1] != before[1]).any()


@pytest.mark.parametrize(
    ("view", "table"), [(ArticulationView, ARTICULATION_FIELDS), (RigidBodyView, RIGID_BODY_FIELDS)]
)
def test_views_and_tables_agree(view: type, table: dict[str, Field]) -> None:
    """Each field has its methods with the parameters of the API, and no method lacks a field."""
    methods = {name for name, _ in inspect.getmembers(view, inspect.isfunction)}
    expected = {f"get_{field.name}" for field in table.values() if field.readable}
    expected |= {f"set_{field.name}" for field in table.values() if field.writable}
    if view is ArticulationView:
        quantities = {f"get_{name}" for name in ARTICULATION_QUANTITIES}
        assert quantities <= methods
        methods -= quantities
        together = {"set_fixed_tendon_properties", "set_spatial_tendon_properties"}
        assert together <= methods
        methods -= together
    springs = {"get_compliant_material_properties", "set_compliant_material_properties"}
    assert springs <= methods
    methods -= springs
    assert {name for name in methods if name.startswith(("get_", "set_"))} - {
        "get_metatype",
        "get_sleep_states",
    } == expected
    for name in expected:
        parameters = list(inspect.signature(getattr(view, name)).parameters)
        assert parameters == (["self"] if name.startswith("get_") else ["self", "data", "indices"])
