"""State of views: what is set is read back at once, row by row, in every frontend."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

COUNT = 16
# Views of sixteen environments from three patterns, and of a part of them.
ALL = ["/envs/env[0-5]", "/envs/env[6-9]", "/envs/env1[0-5]"]
PART = "/envs/env[3-8]"
PART_ROWS = range(3, 9)


@pytest.fixture
def ants(stages: SimpleNamespace, arrays: Any) -> SimpleNamespace:
    def fill(path: str, number: int) -> None:
        stage.ant(f"{path}/ant", (0, 0, 1))
        for side, x in (("right_ball", 1.5), ("left_ball", -1.5)):
            stage.body(f"{path}/{side}", (x, 0, 1), inertia=(0.02, 0.02, 0.02))

    stage = stages.Author.new(gravity=0.0)
    stage.environments(COUNT, fill, spacing=6.0)
    view = stages.view(arrays, stage, environments="/envs/*")
    return SimpleNamespace(
        sim=view,
        all=view.create_articulation_view([f"{p}/ant/torso" for p in ALL]),
        part=view.create_articulation_view(f"{PART}/ant/torso"),
        host=arrays.host,
        make=arrays.make,
        rows=arrays.rows,
    )


def _poses(count: int, rng: np.random.Generator) -> np.ndarray:
    quaternion = rng.normal(size=(count, 4))
    quaternion /= np.linalg.norm(quaternion, axis=1, keepdims=True)
    return np.concatenate((rng.uniform(-50, 50, (count, 3)), quaternion), axis=1).astype(np.float32)


def _values(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if name == "root_transforms":
        return _poses(shape[0], rng)
    return rng.uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize(
    "name",
    [
        "root_transforms",
        "root_velocities",
        "dof_positions",
        "dof_velocities",
        "dof_position_targets",
        "dof_velocity_targets",
        "dof_actuation_forces",
    ],
)
def test_articulation_set_then_get(ants: SimpleNamespace, name: str) -> None:
    """Behaviours 14, 15, 17 to 21."""
    view, part = ants.all, ants.part
    get, set_ = getattr(view, f"get_{name}"), getattr(view, f"set_{name}")
    get_part, set_part = getattr(part, f"get_{name}"), getattr(part, f"set_{name}")
    shape = ants.host(get()).shape
    tolerance = {"rtol": 1e-6, "atol": 1e-6 if name == "root_transforms" else 0.0}

    def expect(expected: np.ndarray) -> None:
        np.testing.assert_allclose(ants.host(get()), expected, **tolerance)
        np.testing.assert_allclose(ants.host(get_part()), expected[list(PART_ROWS)], **tolerance)

    expected = _values(name, shape, 1)
    set_(ants.make(expected), ants.rows(range(COUNT)))
    expect(expected)

    other = _values(name, shape, 2)
    set_(ants.make(other), ants.rows([4, 0, 1, 3, 2]))
    expected[:5] = other[:5]
    expect(expected)

    third = _values(name, (len(PART_ROWS), *shape[1:]), 3)
    set_part(ants.make(third), ants.rows([5, 0]))
    expected[[8, 3]] = third[[5, 0]]
    expect(expected)

    set_(ants.make(third[:1].repeat(COUNT, axis=0)), None)
    expect(np.repeat(third[:1], COUNT, axis=0))
    set_(ants.make(other), ants.rows([]))
    expect(np.repeat(third[:1], COUNT, axis=0))


def test_links_follow_joints_without_a_step(ants: SimpleNamespace) -> None:
    """Behaviour 16: link poses are never stale."""
    view = ants.all
    before = ants.host(view.get_link_transforms())
    positions = ants.host(view.get_dof_positions())
    view.set_dof_positions(ants.make(positions + 0.5), ants.rows(range(COUNT)))
    moved = ants.host(view.get_link_transforms())
    assert (np.abs(moved - before)[:, 1:].max(axis=(1, 2)) > 0.05).all()
    np.testing.assert_array_equal(moved[:, 0], before[:, 0])
    # The hip of the first leg turns its link about Z, at the joint 0.15 m from both origins.
    joint = np.array([0.15, 0.15, 0.0]) + before[0, 0, :3]
    turned = joint + [0.15 * np.cos(0.5) - 0.15 * np.sin(0.5), 0.15 * np.sin(0.5) + 0.15 * np.cos(0.5), 0.0]
    np.testing.assert_allclose(moved[0, 1, :3], turned, atol=1e-5)
    view.set_dof_positions(ants.make(positions), ants.rows(range(COUNT)))
    ants.sim.update_articulations_kinematic()
    np.testing.assert_allclose(ants.host(view.get_link_transforms()), before, atol=1e-6)


def test_links_follow_the_root_without_a_step(ants: SimpleNamespace) -> None:
    view = ants.all
    before = ants.host(view.get_link_transforms())
    roots = ants.host(view.get_root_transforms())
    roots[:, :3] += [5.0, 0.0, 0.0]
    view.set_root_transforms(ants.make(roots), ants.rows([2, 7]))
    expected = before.copy()
    expected[[2, 7], :, 0] += 5.0
    np.testing.assert_allclose(ants.host(view.get_link_transforms()), expected, atol=1e-5)
    np.testing.assert_array_equal(ants.host(view.get_dof_positions()), np.zeros((COUNT, 8), np.float32))


def test_root_transforms_over_a_step(ants: SimpleNamespace, stages: SimpleNamespace) -> None:
    """Behaviour 28."""
    view = ants.all
    before = ants.host(view.get_link_transforms())
    lift = np.linspace(0, 1, COUNT, dtype=np.float32)
    roots = ants.host(view.get_root_transforms())
    roots[:, 2] += lift
    view.set_root_transforms(ants.make(roots), ants.rows(range(COUNT)))
    ants.sim.step(stages.DT)
    expected = before.copy()
    expected[:, :, 2] += lift[:, None]
    np.testing.assert_allclose(ants.host(view.get_link_transforms()), expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(ants.host(view.get_root_transforms()), expected[:, 0], rtol=1e-5, atol=1e-5)


def test_root_velocities_over_ten_steps(ants: SimpleNamespace, stages: SimpleNamespace) -> None:
    """Behaviour 29."""
    view = ants.all
    velocity = np.zeros((COUNT, 6), np.float32)
    velocity[:, 2] = np.linspace(0.1, 1, COUNT)
    start = ants.host(view.get_root_transforms())
    view.set_root_velocities(ants.make(velocity), ants.rows(range(COUNT)))
    for _ in range(10):
        ants.sim.step(stages.DT)
    links = ants.host(view.get_link_velocities())
    np.testing.assert_allclose(links, np.repeat(velocity[:, None], 9, axis=1), rtol=1e-4, atol=1e-5)
    rise = ants.host(view.get_root_transforms())[:, 2] - start[:, 2]
    np.testing.assert_allclose(rise, 10 * stages.DT * velocity[:, 2], rtol=1e-4)


def test_rigid_body_set_then_get(ants: SimpleNamespace) -> None:
    """Behaviours 26 and 27, with one pattern that has un-parenthesised alternatives."""
    pattern = "/right_ball|left_ball"
    view = ants.sim.create_rigid_body_view([p + pattern for p in ALL])
    part = ants.sim.create_rigid_body_view(f"/envs/env1[0-5]{pattern}")
    assert view.count == 2 * COUNT
    assert view.prim_paths[:3] == ["/envs/env0/right_ball", "/envs/env0/left_ball", "/envs/env1/right_ball"]
    for name in ("transforms", "velocities"):
        get, set_ = getattr(view, f"get_{name}"), getattr(view, f"set_{name}")
        values = ants.host(get())
        values[:, 2] += 1.0
        set_(ants.make(values), ants.rows(range(view.count)))
        np.testing.assert_allclose(ants.host(get()), values, atol=1e-6)
        values[-12:, 0] += 1.0
        set_(ants.make(values), ants.rows(range(20, 32)))
        np.testing.assert_allclose(ants.host(get()), values, atol=1e-6)
        mine = ants.host(getattr(part, f"get_{name}")())
        np.testing.assert_allclose(mine, values[20:], atol=1e-6)
        mine[:, 1] += 2.0
        getattr(part, f"set_{name}")(ants.make(mine), ants.rows([0, 11]))
        values[[20, 31], 1] += 2.0
        np.testing.assert_allclose(ants.host(get()), values, atol=1e-6)


def test_rigid_view_of_links(ants: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    """Links are read like bodies; only root links are set, and what is left out is said."""
    view = ants.sim.create_rigid_body_view("/envs/env2/ant/torso|front_left_leg")
    link = ants.host(ants.all.get_link_transforms())[2]
    np.testing.assert_array_equal(ants.host(view.get_transforms()), link[:2])
    poses = ants.host(view.get_transforms())
    poses[:, 2] += 3.0
    view.set_transforms(ants.make(poses), ants.rows([0, 1]))
    assert "front_left_leg" in caplog.text
    after = ants.host(ants.all.get_link_transforms())[2]
    np.testing.assert_allclose(after[:, 2], link[:, 2] + 3.0, atol=1e-6)
    velocities = np.zeros((2, 6), np.float32)
    velocities[:, 5] = [1.0, 7.0]
    view.set_velocities(ants.make(velocities), ants.rows([0, 1]))
    # The leg turns with the torso: its own row was left out.
    np.testing.assert_allclose(ants.host(view.get_velocities())[:, 5], [1.0, 1.0], atol=1e-6)


def test_partial_reset(stages: SimpleNamespace, arrays: Any) -> None:
    """Eight bodies fall, two are put back: the others fall on."""
    stage = stages.Author.new()
    for i in range(8):
        stage.body(f"/World/ball_{i}", (i, 0, 5))
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view("/World/ball_*")
    start = arrays.host(view.get_transforms())
    for _ in range(120):
        sim.step(1 / 240)
    view.set_transforms(arrays.make(start), arrays.rows([1, 6]))
    view.set_velocities(arrays.make(np.zeros((8, 6))), arrays.rows([1, 6]))
    for _ in range(120):
        sim.step(1 / 240)
    fall = np.full(8, 4.905)
    fall[[1, 6]] = 1.22625
    np.testing.assert_allclose(5 - arrays.host(view.get_transforms())[:, 2], fall, rtol=5e-3)
    np.testing.assert_allclose(arrays.host(view.get_velocities())[[0, 1], 2], [-9.81, -4.905], rtol=1e-4)


def test_velocity_is_that_of_the_centre_of_mass(stages: SimpleNamespace, arrays: Any) -> None:
    """The centre moves in a straight line while the origin, half a metre away, turns about it."""
    stage = stages.Author.new(gravity=0.0)
    stage.body("/World/body", mass=2.0, com=(0.5, 0, 0))
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view("/World/body")
    velocity = np.array([[0, 1, 0, 0, 0, 2]], np.float32)
    view.set_velocities(arrays.make(velocity), None)
    np.testing.assert_array_equal(arrays.host(view.get_velocities()), velocity)
    steps = 240
    for _ in range(steps):
        sim.step(np.pi / 2 / steps)
    pose = arrays.host(view.get_transforms())[0]
    np.testing.assert_allclose(pose[:3], [1.0, np.pi / 2, 0.0], atol=2e-3)
    np.testing.assert_allclose(np.abs(pose[3:]), [0, 0, 1, 0], atol=1e-3)


def test_quaternions_are_xyzw_and_normalised(stages: SimpleNamespace, arrays: Any) -> None:
    import tensorphys

    stage = stages.Author.new(gravity=0.0)
    stage.body("/World/body")
    view = stages.view(arrays, stage).create_rigid_body_view("/World/body")
    for given, expected in (
        ([0, 0, 0, 2], [0, 0, 0, 1]),
        ([1, 0, 0, 0], [1, 0, 0, 0]),
        ([0, 0, 3, 4], [0, 0, 0.6, 0.8]),
    ):
        view.set_transforms(arrays.make([[1, 2, 3, *given]]), None)
        np.testing.assert_allclose(arrays.host(view.get_transforms())[0], [1, 2, 3, *expected], atol=1e-7)
    for bad in ([0, 0, 0, 0, 0, 0, 0], [np.nan, 0, 0, 0, 0, 0, 1]):
        with pytest.raises(tensorphys.DataError, match="row 0"):
            stages.set_and_look(view, "transforms", arrays.make([bad]), None)
    np.testing.assert_allclose(arrays.host(view.get_transforms())[0], [1, 2, 3, 0, 0, 0.6, 0.8], atol=1e-7)


def test_kinematic_body_goes_on_with_its_velocity(stages: SimpleNamespace, arrays: Any) -> None:
    stage = stages.Author.new()
    stage.body("/World/pusher", (0, 0, 1), kinematic=True)
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view("/World/pusher")
    view.set_velocities(arrays.make([[0.5, 0, 0, 0, 0, 0]]), None)
    view.apply_forces(arrays.make([[0, 100.0, 0]]), None)
    for _ in range(60):
        sim.step(stages.DT)
    np.testing.assert_allclose(arrays.host(view.get_transforms())[0, :3], [0.5, 0, 1], atol=1e-5)
    pose = arrays.host(view.get_transforms())
    pose[0, :3] = [7, 8, 9]
    view.set_transforms(arrays.make(pose), None)
    np.testing.assert_array_equal(arrays.host(view.get_transforms()), pose)
