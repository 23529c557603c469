"""Properties of joints and links: always CPU arrays, in force from the next step on."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorphys

FLOAT_MAX = np.finfo(np.float32).max


@pytest.fixture
def legs(stages: SimpleNamespace, arrays: Any) -> SimpleNamespace:
    """Four environments with an ant each, all joints driven and limited."""
    stage = stages.Author.new()
    stage.environments(4, lambda path, _: stage.ant(f"{path}/ant", (0, 0, 5)), spacing=8.0)
    sim = stages.view(arrays, stage, environments="/envs/*")
    view = sim.create_articulation_view("/envs/*/ant/torso")
    return SimpleNamespace(sim=sim, view=view, host=arrays.host, cpu=arrays.cpu)


@pytest.mark.parametrize(
    "name", ["limits", "stiffnesses", "dampings", "max_forces", "max_velocities", "armatures"]
)
def test_joint_properties(legs: SimpleNamespace, name: str) -> None:
    """Behaviour 4: round trip with all rows, then with some; the others stay."""
    get, set_ = getattr(legs.view, f"get_dof_{name}"), getattr(legs.view, f"set_dof_{name}")
    shape = legs.host(get()).shape
    rng = np.random.default_rng(2)

    def values() -> np.ndarray:
        result = rng.uniform(0.1, 2.0, shape).astype(np.float32)
        return np.sort(result - 1.0, axis=-1) if name == "limits" else result

    first, second = values(), values()
    set_(legs.cpu.make(first), legs.cpu.rows(range(4)))
    np.testing.assert_array_equal(legs.host(get()), first)
    set_(legs.cpu.make(second), legs.cpu.rows([2, 0]))
    first[[0, 2]] = second[[0, 2]]
    np.testing.assert_array_equal(legs.host(get()), first)


@pytest.mark.parametrize(
    ("name", "bad", "expected"),
    [
        ("limits", [1.0, -1.0], "lower ≤ upper"),
        ("stiffnesses", -1.0, "no negative number"),
        ("max_forces", np.nan, "no negative number"),
    ],
)
def test_impossible_joint_properties(legs: SimpleNamespace, name: str, bad: Any, expected: str) -> None:
    get, set_ = getattr(legs.view, f"get_dof_{name}"), getattr(legs.view, f"set_dof_{name}")
    before = legs.host(get())
    values = before.copy()
    values[1, 3] = bad
    with pytest.raises(tensorphys.DataError, match=expected):
        set_(legs.cpu.make(values), None)
    np.testing.assert_array_equal(legs.host(get()), before)
    set_(legs.cpu.make(values), legs.cpu.rows([0, 2]))  # the bad row is not asked for


def test_limits_of_joints_without_limits(
    stages: SimpleNamespace, arrays: Any, caplog: pytest.LogCaptureFixture
) -> None:
    stage = stages.Author.new()
    stage.cart_pole("/World/cartpole")
    sim = stages.view(arrays, stage)
    view = sim.create_articulation_view("/World/cartpole")
    values = arrays.cpu.make([[[-1, 2], [-0.5, 0.5]]])
    view.set_dof_limits(values, None)
    assert "1 degrees of freedom have no limits" in caplog.text
    expected = [[[-1, 2], [-FLOAT_MAX, FLOAT_MAX]]]
    np.testing.assert_array_equal(arrays.host(view.get_dof_limits()), np.float32(expected))
    view.set_dof_limits(arrays.cpu.make(expected), None)
    np.testing.assert_array_equal(arrays.host(view.get_dof_limits()), np.float32(expected))


def test_properties_are_taken_from_the_simulation_device(legs: SimpleNamespace, arrays: Any) -> None:
    """Data and indices from the device of the state, which on CUDA is not the one that getters answer on."""
    expected = legs.host(legs.view.get_dof_stiffnesses())
    wanted = np.arange(expected.size, dtype=np.float32).reshape(expected.shape) + 1
    legs.view.set_dof_stiffnesses(arrays.make(wanted), arrays.rows([2, 0]))
    expected[[0, 2]] = wanted[[0, 2]]
    np.testing.assert_array_equal(legs.host(legs.view.get_dof_stiffnesses()), expected)
    flags = np.zeros((4, 9), np.uint8)
    flags[1] = 1
    legs.view.set_disable_gravities(arrays.make(flags, np.uint8), None)
    np.testing.assert_array_equal(legs.host(legs.view.get_disable_gravities()), flags)
    masses = legs.host(legs.view.get_masses())
    legs.view.set_masses(arrays.make(2 * masses), arrays.cpu.rows([3]))
    masses[3] *= 2
    np.testing.assert_array_equal(legs.host(legs.view.get_masses()), masses)


def test_changed_properties_act(stages: SimpleNamespace, arrays: Any) -> None:
    """A drive's gains, its bound, armature and mass, each changed in one environment, between two steps."""
    stage = stages.Author.new(gravity=0.0)
    drive = {"type": "force", "stiffness": 100.0, "damping": 0.0, "maxForce": 1e6}
    stage.environments(
        5, lambda path, _: stage.cart_pole(f"{path}/cartpole", cart={"drive": drive}), spacing=9.0
    )
    sim = stages.view(arrays, stage, environments="/envs/*")
    view = sim.create_articulation_view("/envs/*/cartpole")
    sim.step(1e-4)

    def change(name: str, row: int, item: int, value: float) -> None:
        values = arrays.host(getattr(view, f"get_{name}")())
        values[row, item] = value
        getattr(view, f"set_{name}")(arrays.cpu.make(values), arrays.cpu.rows([row]))

    change("dof_stiffnesses", 1, 0, 200.0)
    change("dof_max_forces", 2, 0, 10.0)
    change("dof_armatures", 3, 0, 1.5)
    change("masses", 4, 1, 2.5)
    view.set_dof_position_targets(arrays.make([[1.0, 0.0]] * 5), None)
    dt = 1e-4
    sim.step(dt)
    acceleration = arrays.host(view.get_dof_velocities())[:, 0] / dt
    # The pole hangs on a free hinge half a metre above the cart: it adds the part of its mass that it drags.
    dragged = 0.5 * 0.05 / (0.05 + 0.5 * 0.5**2)
    moving = 1.0 + dragged
    expected = np.array([100, 200, 10, 100, 100]) / [moving, moving, moving, moving + 1.5, moving + 1.5]
    np.testing.assert_allclose(acceleration, expected, rtol=5e-3)


def test_inertia_keeps_its_principal_axes(stages: SimpleNamespace, arrays: Any) -> None:
    """Behaviour 55: a body and a link with turned principal axes; setting what was read changes nothing."""
    stage = stages.Author.new()
    for path in ("/World/ball", "/World/root"):
        stage.body(path, inertia=(0.1, 0.2, 0.3), axes=(0.5, 0.5, 0.5, 0.5), com=(0.1, 0.2, 0.3))
    stage.articulation("/World/root")
    stage.joint("/World/tie", "fixed", None, "/World/root")
    sim = stages.view(arrays, stage)
    for view in (sim.create_rigid_body_view("/World/ball"), sim.create_articulation_view("/World/root")):
        inertia, coms = arrays.host(view.get_inertias()), arrays.host(view.get_coms())
        # The turn by 120° about (1, 1, 1) carries x to y to z: the moments along the link's axes are .3, .1, .2.
        np.testing.assert_allclose(inertia.reshape(3, 3), np.diag([0.3, 0.1, 0.2]), atol=1e-7)
        np.testing.assert_allclose(coms.ravel(), [0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.5], rtol=1e-6)
        view.set_inertias(arrays.cpu.make(inertia), None)
        view.set_coms(arrays.cpu.make(coms), None)
        np.testing.assert_array_equal(arrays.host(view.get_inertias()), inertia)
        np.testing.assert_array_equal(arrays.host(view.get_coms()), coms)
        inverse = arrays.host(view.get_inv_inertias()).reshape(3, 3)
        np.testing.assert_allclose(inverse, np.diag([1 / 0.3, 10, 5]), rtol=1e-5, atol=1e-5)


def test_turned_principal_axes_turn_the_inertia(stages: SimpleNamespace, arrays: Any) -> None:
    stage = stages.Author.new()
    stage.body("/World/ball", inertia=(0.1, 0.2, 0.3))
    view = stages.view(arrays, stage).create_rigid_body_view("/World/ball")
    half = np.sqrt(0.5)
    view.set_coms(
        arrays.cpu.make([[0, 0, 0, 0, 0, 2 * half, 2 * half]]), None
    )  # yaw by 90°, twice the length
    np.testing.assert_allclose(
        arrays.host(view.get_inertias()).reshape(3, 3), np.diag([0.2, 0.1, 0.3]), atol=1e-7
    )
    np.testing.assert_allclose(arrays.host(view.get_coms())[0, 3:], [0, 0, half, half], atol=1e-7)
    full = np.array([[0.2, 0.05, 0], [0.05, 0.2, 0], [0, 0, 0.3]], np.float32)
    view.set_inertias(arrays.cpu.make(full), None)
    np.testing.assert_array_equal(arrays.host(view.get_inertias()).reshape(3, 3), full)
    x, y, z, w = arrays.host(view.get_coms())[0, 3:]
    # The new axes are principal: a rotation about Z by an odd multiple of 45°.
    assert abs(x) < 1e-6
    assert abs(y) < 1e-6
    np.testing.assert_allclose(abs(np.sin(2 * 2 * np.arctan2(z, w))), 1.0, atol=1e-5)


@pytest.mark.parametrize(
    ("name", "bad", "expected"),
    [
        ("masses", [[0.0]], "a positive number"),
        ("masses", [[np.inf]], "a positive number"),
        ("inertias", [[0.1, 0, 0, 0, -0.1, 0, 0, 0, 0.1]], "a positive definite matrix"),
        ("coms", [[0, 0, 0, 0, 0, 0, 0]], "finite numbers and a quaternion"),
    ],
)
def test_impossible_mass_properties(
    stages: SimpleNamespace, arrays: Any, name: str, bad: Any, expected: str
) -> None:
    stage = stages.Author.new()
    stage.body("/World/ball", inertia=(0.1, 0.2, 0.3))
    view = stages.view(arrays, stage).create_rigid_body_view("/World/ball")
    get = getattr(view, f"get_{name}")
    before = arrays.host(get())
    with pytest.raises(tensorphys.DataError, match=expected):
        getattr(view, f"set_{name}")(arrays.cpu.make(bad), None)
    np.testing.assert_array_equal(arrays.host(get()), before)


def test_link_velocity_follows_a_moved_centre_of_mass(stages: SimpleNamespace, arrays: Any) -> None:
    """A read after a write is never stale: the pole's velocity is that of its new centre of mass."""
    stage = stages.Author.new(gravity=0.0)
    stage.cart_pole("/World/cartpole")
    view = stages.view(arrays, stage).create_articulation_view("/World/cartpole")
    view.set_dof_velocities(arrays.make([[0.0, 2.0]]), None)
    np.testing.assert_allclose(arrays.host(view.get_link_velocities())[0, 2], [0, -1, 0, 2, 0, 0], atol=1e-6)
    coms = arrays.host(view.get_coms())
    coms[0, 2, :3] = [0, 0, 0.25]
    view.set_coms(arrays.cpu.make(coms), None)
    np.testing.assert_allclose(
        arrays.host(view.get_link_velocities())[0, 2], [0, -1.5, 0, 2, 0, 0], atol=1e-6
    )


def test_gravity_flags_of_links(legs: SimpleNamespace, stages: SimpleNamespace) -> None:
    """Behaviour 24: ants without gravity hang, the others fall as they should."""
    view = legs.view
    flags = np.zeros((4, 9), np.uint8)
    flags[1::2] = 1
    view.set_disable_gravities(legs.cpu.make(flags, np.uint8), legs.cpu.rows(range(4)))
    np.testing.assert_array_equal(legs.host(view.get_disable_gravities()), flags)
    for _ in range(20):
        legs.sim.step(stages.DT)
    height = legs.host(view.get_root_transforms())[:, 2]
    fall = 0.5 * 9.81 * (20 * stages.DT) ** 2
    np.testing.assert_allclose(5 - height[::2], fall, rtol=1e-2)
    np.testing.assert_allclose(height[1::2], 5.0, atol=1e-6)
    flags[0] = 1
    flags[1] = 0
    view.set_disable_gravities(legs.cpu.make(flags, np.uint8), legs.cpu.rows([0]))
    np.testing.assert_array_equal(legs.host(view.get_disable_gravities())[:, 0], [1, 1, 0, 1])


def test_gravity_flags_of_bodies(stages: SimpleNamespace, arrays: Any) -> None:
    """One body has the flag on the stage, one gets it from the view, one falls."""
    from pxr import Sdf

    stage = stages.Author.new()
    for i, name in enumerate("ABC"):
        prim = stage.body(f"/World/{name}", (i, 0, 5))
        if name == "A":
            prim.CreateAttribute("physxRigidBody:disableGravity", Sdf.ValueTypeNames.Bool).Set(True)
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view("/World/*")
    view.set_disable_gravities(arrays.cpu.make([[0], [0], [1]], np.uint8), arrays.cpu.rows([2]))
    np.testing.assert_array_equal(arrays.host(view.get_disable_gravities()).ravel(), [1, 0, 1])
    start = arrays.host(view.get_transforms())[:, 2]
    for _ in range(120):
        sim.step(1 / 240)
    np.testing.assert_allclose(
        start - arrays.host(view.get_transforms())[:, 2], [0, 1.22625, 0], rtol=1e-2, atol=1e-6
    )
    view.set_disable_gravities(arrays.cpu.make([[0], [0], [0]], np.uint8), arrays.cpu.rows([0]))
    for _ in range(120):
        sim.step(1 / 240)
    fallen = start - arrays.host(view.get_transforms())[:, 2]
    np.testing.assert_allclose(fallen, [1.22625, 4.905, 0], rtol=1e-2, atol=1e-6)


def _sliders(stages: SimpleNamespace, arrays: Any, count: int) -> SimpleNamespace:
    """Balls on a ground plane that gravity pulls sideways, each with a fixed orientation by its huge inertia."""
    from pxr import UsdGeom, UsdPhysics

    stage = stages.Author.new()
    ground = UsdGeom.Plane.Define(stage.stage, "/World/ground")
    UsdPhysics.CollisionAPI.Apply(ground.GetPrim())
    for i in range(count):
        stage.body(f"/World/ball{i}", (3.0 * i, 0, 0.2), inertia=(1e4, 1e4, 1e4), radius=0.2)
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view("/World/ball*")
    return SimpleNamespace(sim=sim, view=view, host=arrays.host, cpu=arrays.cpu)


def test_materials_act(stages: SimpleNamespace, arrays: Any) -> None:
    """Friction of the pair is the average with the ground's 0.5: three sliders brake at 0.25, 0.5 and 0.75 g."""
    rig = _sliders(stages, arrays, 3)
    assert rig.view.max_shapes == 1
    materials = rig.host(rig.view.get_material_properties())
    np.testing.assert_allclose(materials[:, 0], [[0.5, 0.5, 0.0]] * 3)
    materials[:, 0, :2] = [[0.0, 0.0], [0.9, 0.9], [1.0, 1.0]]
    rig.view.set_material_properties(rig.cpu.make(materials), rig.cpu.rows([0, 2]))
    materials[1, 0, :2] = 0.5
    np.testing.assert_array_equal(rig.host(rig.view.get_material_properties()), materials)
    velocity = np.zeros((3, 6), np.float32)
    velocity[:, 0] = 4.0
    rig.view.set_velocities(stages.Arrays(arrays.name, arrays.device).make(velocity), None)
    for _ in range(60):
        rig.sim.step(1 / 240)
    braked = 4.0 - rig.host(rig.view.get_velocities())[:, 0]
    np.testing.assert_allclose(braked, 9.81 * 0.25 * np.array([0.25, 0.5, 0.75]), rtol=3e-2)


def test_offsets_act(stages: SimpleNamespace, arrays: Any) -> None:
    """Bodies rest where the rest offsets add up; offsets that contradict each other are refused."""
    rig = _sliders(stages, arrays, 2)
    offsets = rig.host(rig.view.get_contact_offsets())
    assert (offsets > 0).all()
    rig.view.set_contact_offsets(rig.cpu.make([[0.2], [0.2]]), None)
    rig.view.set_rest_offsets(rig.cpu.make([[0.05], [0.1]]), rig.cpu.rows([1]))
    np.testing.assert_allclose(rig.host(rig.view.get_rest_offsets()), [[0.0], [0.1]], rtol=1e-6)
    for _ in range(240):
        rig.sim.step(1 / 240)
    np.testing.assert_allclose(rig.host(rig.view.get_transforms())[:, 2], [0.2, 0.3], atol=2e-3)
    for name, bad in (("contact_offsets", [[0.1], [0.05]]), ("rest_offsets", [[0.0], [0.3]])):
        with pytest.raises(tensorphys.DataError, match="rest offset"):
            getattr(rig.view, f"set_{name}")(rig.cpu.make(bad), None)
    np.testing.assert_allclose(rig.host(rig.view.get_contact_offsets()), [[0.2], [0.2]], rtol=1e-6)


def test_shapes_of_links_stand_in_link_order(stages: SimpleNamespace, arrays: Any) -> None:
    stage = stages.Author.new()
    stage.environments(
        3, lambda path, number: stage.cart_pole(f"{path}/cartpole", radius=0.1 * (number != 1)), spacing=5.0
    )
    view = stages.view(arrays, stage).create_articulation_view("/envs/*/cartpole")
    assert view.max_shapes == 2
    values = np.arange(18, dtype=np.float32).reshape(3, 2, 3) / 18
    view.set_material_properties(arrays.cpu.make(values), None)
    values[1] = 0.0  # it has no shapes: padding
    np.testing.assert_array_equal(arrays.host(view.get_material_properties()), values)
    with pytest.raises(tensorphys.DataError, match="a restitution from 0 to 1"):
        view.set_material_properties(arrays.cpu.make(values + 0.5), None)
