"""Sleep: islands at rest fall asleep together, lie still with their true loads, and wake for every reason to."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import warp as wp

from tensorphys_dynamics.testing import History
from tensorphys_engine import Simulation, StepError
from tensorphys_engine.findings import Findings
from tensorphys_engine.numbering import number_scene
from tensorphys_engine.saved_state import state_arrays
from tensorphys_engine.sleeping import sleep_of_scene
from tensorphys_engine.testing import pendulum_scene, pile_scene
from tensorphys_scene import (
    Axes,
    AxisType,
    Bodies,
    Joints,
    JointType,
    Scene,
    Settings,
    Shapes,
    ShapeType,
    Template,
    replicate,
)

RATE = 60
EDGE = 0.2
G = 9.81
THRESHOLD = 5e-5
UNIT = [0.0, 0.0, 0.0, 1.0]


def table(kind: Any, **columns: Any) -> Any:
    return kind(**columns)


def box_scene(
    *positions: tuple[float, float, float],
    environments: int = 1,
    gravity: tuple[float, float, float] = (0.0, 0.0, -G),
    sphere: bool = False,
    joint: tuple[int, int] | None = None,
    sleeping: bool = True,
    **bodies: Any,
) -> Scene:
    """Boxes of 1 kg above the ground, or balls; two may hang together by a ball joint at the middle between them."""
    count = len(positions)
    paths = tuple(f"/box{i}" for i in range(count))
    inertia = 0.4 * (EDGE / 2) ** 2 if sphere else EDGE**2 / 6
    columns: dict[str, Any] = {"sleep_threshold": [THRESHOLD] * count} | bodies
    extra: dict[str, Any] = {}
    if joint is not None:
        half = (np.array(positions[joint[1]]) - positions[joint[0]]) / 2
        extra["joints"] = table(
            Joints,
            path=("/joint",),
            type=[int(JointType.SPHERICAL)],
            body0=[joint[0]],
            body1=[joint[1]],
            frame0=[[*half, *UNIT]],
            frame1=[[*-half, *UNIT]],
        )
        kinds = [int(AxisType.ROT_X), int(AxisType.ROT_Y), int(AxisType.ROT_Z)]
        extra["axes"] = table(
            Axes,
            path=("/joint",) * 3,
            joint=[0, 0, 0],
            axis=kinds,
            names=("/joint:0", "/joint:1", "/joint:2"),
        )
    template = Template(
        prims=("", *(path + end for path in paths for end in ("", "/geometry"))),
        bodies=table(
            Bodies,
            path=paths,
            mass=[1.0] * count,
            inertia=[np.eye(3) * inertia] * count,
            pose=[[*p, *UNIT] for p in positions],
            **columns,
        ),
        shapes=table(
            Shapes,
            path=tuple(f"{path}/geometry" for path in paths),
            body=np.arange(count),
            type=[int(ShapeType.SPHERE if sphere else ShapeType.BOX)] * count,
            size=[[EDGE / 2] * 3] * count,
        ),
        **extra,
    )
    ground = Template(
        prims=("", "/World", "/World/ground"),
        shapes=table(Shapes, path=("/World/ground",), body=[-1], type=[int(ShapeType.PLANE)]),
    )
    settings = Settings(steps_per_second=float(RATE), gravity=gravity, sleeping=sleeping)
    scene = Scene(templates=(template,), shared=ground, settings=settings)
    return scene if environments == 1 else replicate(scene, environments)


def run(simulation: Simulation, count: int) -> Simulation:
    for _ in range(count):
        simulation.step()
    return simulation


def asleep(simulation: Simulation) -> list[bool]:
    assert simulation.sleep is not None
    return (simulation.sleep.asleep.numpy() > 0).tolist()


def ground_force(simulation: Simulation) -> float:
    count = int(simulation.contacts.count.numpy()[0])
    impulse = simulation.solver.contact_impulse.numpy()[:count, 2].astype(np.float64)
    body0, body1 = (a.numpy()[:count] for a in (simulation.contacts.body0, simulation.contacts.body1))
    return float(impulse[body1 < 0].sum() - impulse[body0 < 0].sum()) * RATE


def poses(simulation: Simulation) -> np.ndarray[Any, Any]:
    return np.array(simulation.state.link_pose.numpy())


def heights(simulation: Simulation) -> np.ndarray[Any, Any]:
    return np.array(simulation.state.link_pose.numpy()[:, 2])


def all_arrays(simulation: Simulation) -> dict[str, Any]:
    arrays = (
        state_arrays(simulation.state, simulation.control, simulation.joints.model, simulation.sleep)
        | simulation.solver.warm_start()
    )
    return arrays | {"contact impulse": simulation.solver.contact_impulse}


def everything(simulation: Simulation) -> dict[str, bytes]:
    return {name: array.numpy().tobytes() for name, array in all_arrays(simulation).items()}


STACK = ((0.0, 0.0, 0.1), (0.0, 0.0, 0.3), (0.0, 0.0, 0.5), (1.0, 0.0, 0.12))


def test_islands_fall_asleep_together_and_carry_their_true_loads(device: str) -> None:
    simulation = Simulation(box_scene(*STACK), device=device)
    run(simulation, 24)
    assert asleep(simulation) == [True, True, True, False]  # the fourth had to fall first
    run(simulation, 16)
    assert asleep(simulation) == [True] * 4
    pose = poses(simulation)
    for _ in range(6):  # while loads are found anew, and once they are kept
        run(simulation, 5)
        assert ground_force(simulation) == pytest.approx(4 * G, rel=1e-3)
        np.testing.assert_array_equal(simulation.state.link_pose.numpy(), pose)
        assert not simulation.state.link_velocity.numpy().any()
        assert not simulation.state.velocity.numpy().any()


def test_without_a_threshold_or_where_the_scene_says_so_nothing_sleeps() -> None:
    assert Simulation(box_scene(STACK[0], sleep_threshold=[0.0])).sleep is None
    scene = box_scene(STACK[0], sleeping=False, starts_asleep=[True])
    simulation = Simulation(scene)
    assert simulation.sleep is None
    assert any("disables sleeping" in text for _, text in simulation.findings)
    batch = box_scene(STACK[0], environments=2, starts_asleep=[True])
    simulation = Simulation(batch)
    assert simulation.sleep is None
    assert any("several environments" in text for _, text in simulation.findings)
    simulation.wake_up()
    with pytest.raises(StepError, match="sleeping=True"):
        simulation.put_to_sleep()
    assert asleep(run(Simulation(batch, sleeping=True), 30)) == [True, True]


def test_slow_but_moving_things_stay_awake(device: str) -> None:
    """A ball that gains speed on a slope of 0.2°: at 1 cm/s only after 0.4 s."""
    tilt = np.radians(0.2)
    gravity = (G * np.sin(tilt), 0.0, -G * np.cos(tilt))
    simulation = Simulation(box_scene((0, 0, EDGE / 2), sphere=True, gravity=gravity), device=device)
    run(simulation, 2 * RATE)
    assert asleep(simulation) == [False]
    assert simulation.state.link_pose.numpy()[0, 0] == pytest.approx(
        0.5 * 5 / 7 * G * np.sin(tilt) * 2.0**2, rel=0.02
    )


def sleepers(device: str, *positions: tuple[float, float, float], **options: Any) -> Simulation:
    simulation = Simulation(box_scene(*positions, **options), device=device)
    run(simulation, 50)
    assert asleep(simulation) == [True] * len(positions)
    return simulation


def test_setters_wake_an_island_and_no_other(device: str) -> None:
    pair = ((0.0, 0.0, 0.1), (0.0, 0.0, 0.3), (1.0, 0.0, 0.1))
    simulation = sleepers(device, *pair)
    start = simulation.save_state()

    def wakes(change: Any) -> None:
        simulation.load_state(start)
        run(simulation, 1)
        assert asleep(simulation) == [True] * 3
        change()
        run(simulation, 1)
        assert asleep(simulation) == [False, False, True]

    def write(array: Any, row: int, values: Any) -> None:
        host = array.numpy()
        host[row] = values
        array.assign(host)

    state, control = simulation.state, simulation.control

    def pose() -> None:
        write(state.root_pose, 0, [0.01, 0, 0.1, *UNIT])
        write(state.fresh, 0, 1)
        simulation.refresh()

    def velocity() -> None:
        write(state.velocity, 2, 0.5)
        write(state.fresh, 0, 1)
        simulation.refresh()

    wakes(pose)
    wakes(velocity)
    wakes(lambda: write(control.link_force, 0, [0.1, 0, 0]))
    wakes(lambda: write(control.link_torque, 1, [0, 0, 0.01]))
    wakes(lambda: simulation.wake_up([1]))
    simulation.load_state(start)
    simulation.set_gravity([0.0, 0.0, -5.0])
    run(simulation, 1)
    assert asleep(simulation) == [False] * 3
    with pytest.raises(StepError, match="expected 0 to 2"):
        simulation.wake_up([3])


def test_what_is_hit_wakes_in_time_and_moves_as_if_it_had_never_slept(device: str) -> None:
    scene = box_scene((0, 0, 0.1), (-0.5, 0, 0.1), (0, 0, 0.3))
    simulations = [Simulation(scene, device=device, sleeping=on) for on in (True, False)]
    for simulation in simulations:
        run(simulation, 60)
        velocity = simulation.state.velocity.numpy()
        velocity[6] = 3.0
        simulation.state.velocity.assign(velocity)
        fresh = simulation.state.fresh.numpy()
        fresh[1] = 1
        simulation.state.fresh.assign(fresh)
        simulation.refresh()
    assert asleep(simulations[0]) == [True, True, True]
    run(simulations[0], 1)
    assert asleep(simulations[0]) == [True, False, True]
    for simulation in simulations:
        # a step later a box lands on its lower edge, and which end of it touches first decides how it goes on: 0.07 mrad
        # there are 4 mrad three steps later
        run(simulation, 8 if simulation.sleep else 9)
    assert asleep(simulations[0]) == [False] * 3
    slept, awake = (poses(s) for s in simulations)
    assert slept[0, 0] > 0.02
    np.testing.assert_allclose(slept, awake, atol=1e-3)


def test_what_loses_its_support_falls(device: str) -> None:
    simulation = sleepers(device, (0, 0, 0.1), (0, 0, 0.3), (1, 0, 0.1))
    pose = simulation.state.root_pose.numpy()
    pose[0, :3] = [3.0, 0.0, 0.1]
    simulation.state.root_pose.assign(pose)
    fresh = simulation.state.fresh.numpy()
    fresh[0] = 1
    simulation.state.fresh.assign(fresh)
    simulation.refresh()
    run(simulation, 1)
    assert asleep(simulation) == [False, False, True]
    run(simulation, 60)
    np.testing.assert_allclose(heights(simulation), 0.1, atol=1e-4)


def test_what_is_moved_by_hand_wakes_what_lies_on_it(device: str) -> None:
    scene = box_scene((0, 0, 1.0), (0, 0, 1.2), (1, 0, 0.1), kinematic=[True, False, False])
    simulation = run(Simulation(scene, device=device), 50)
    assert asleep(simulation) == [False, True, True]  # the kinematic one does not sleep
    velocity = simulation.state.root_velocity.numpy()
    velocity[0, 2] = 0.5
    simulation.state.root_velocity.assign(velocity)
    run(simulation, 1)
    assert asleep(simulation) == [False, False, True]
    run(simulation, 29)
    assert heights(simulation)[1] == pytest.approx(1.45, abs=2e-3)


def test_what_begins_asleep_hangs_until_it_is_woken_and_what_lies_carries_its_weight(device: str) -> None:
    scene = box_scene((0, 0, 1.0), (1, 0, 0.1), starts_asleep=[True, True], sleep_threshold=[0.0, 0.0])
    simulation = run(Simulation(scene, device=device), 60)
    assert asleep(simulation) == [True, True]
    np.testing.assert_array_equal(heights(simulation), np.float32([1.0, 0.1]))
    assert ground_force(simulation) == pytest.approx(G, rel=1e-3)
    simulation.wake_up([0])
    assert asleep(simulation) == [False, True]
    run(simulation, 12)
    # as from a written state: h g at the end of each substep
    assert heights(simulation)[0] == pytest.approx(1.0 - 0.5 * G * 0.2**2, abs=1e-4)
    simulation.put_to_sleep([0])
    height = heights(simulation)[0]
    run(simulation, 30)
    assert heights(simulation)[0] == height
    simulation.reset()
    assert asleep(simulation) == [True, True]


def test_joints_tie_islands_and_a_cut_one_wakes(device: str) -> None:
    scene = box_scene((0, 0, 1.2), (0, 0, 0.9), joint=(0, 1), kinematic=[True, False])
    simulation = run(Simulation(scene, device=device), 60)
    assert simulation.joints.model.block_count == 1
    assert asleep(simulation) == [False, True]
    pose = poses(simulation)
    run(simulation, 30)
    np.testing.assert_array_equal(simulation.state.link_pose.numpy(), pose)
    load = simulation.joints.model.joint_impulse.numpy()[0] * RATE
    assert load[2] == pytest.approx(G, rel=1e-3)
    simulation.joints.model.joint_enabled.zero_()
    run(simulation, 12)
    assert asleep(simulation) == [False, False]
    assert heights(simulation)[1] == pytest.approx(0.9 - 0.5 * G * 0.2**2, abs=1e-3)
    both = Simulation(box_scene((0, 0, 0.1), (0.5, 0, 0.1), joint=(0, 1)), device=device)
    run(both, 50)
    assert asleep(both) == [True, True]
    both.control.link_force.assign(np.float32([[0, 0, 0], [0, 5, 0]]))
    run(both, 1)
    assert asleep(both) == [False, False]


def test_an_articulation_sleeps_on_its_threshold_and_a_target_wakes_it(device: str) -> None:
    scene = pendulum_scene(angle=0.0)
    template = scene.templates[0]
    count = len(template.articulations.path)
    articulations = dataclasses.replace(template.articulations, sleep_threshold=np.full(count, THRESHOLD))
    axes = dataclasses.replace(
        template.axes,
        drive_type=np.ones(template.axes.count, np.int32),
        stiffness=np.full(template.axes.count, 50.0),
        damping=np.full(template.axes.count, 5.0),
    )
    template = dataclasses.replace(template, articulations=articulations, axes=axes)
    simulation = Simulation(dataclasses.replace(scene, templates=(template,)), device=device)
    assert simulation.solver.path == "fused"
    run(simulation, 240)
    assert asleep(simulation) == [True]
    position = np.array(simulation.state.dof_position.numpy())
    run(simulation, 60)
    np.testing.assert_array_equal(simulation.state.dof_position.numpy(), position)
    simulation.control.position_target.assign(position + 0.2)
    run(simulation, 1)
    assert asleep(simulation) == [False]
    run(simulation, 240)
    assert abs(simulation.state.dof_position.numpy()[0] - position[0]) > 0.05
    simulation.control.velocity_target.fill_(0.002)  # slower than the threshold, but to be followed
    run(simulation, 240)
    assert asleep(simulation) == [False]


def test_runs_through_sleep_repeat_and_resume_bit_for_bit(device: str) -> None:
    scene = box_scene(*STACK, (-1.5, 0.0, 0.1))

    def push(simulation: Simulation) -> None:
        force = np.zeros((5, 3), np.float32)
        force[4, 0] = 300.0
        simulation.control.link_force.assign(force)

    first, second, resumed = (Simulation(scene, device=device) for _ in range(3))
    saved = []
    histories = [History(list(all_arrays(simulation).values()), 60) for simulation in (first, second)]
    for number in range(60):
        if number == 32:
            push(first), push(second)
        if number == 30:
            assert all(asleep(first))
        if number in (10, 30, 40):  # awake, asleep, and while the pushed one slides along the others
            saved.append((number, first.save_state()))
        run(first, 1), run(second, 1)
        for history in histories:
            history.keep()
    for row, other in zip(*(history.read() for history in histories), strict=True):
        assert [values.tobytes() for values in row] == [values.tobytes() for values in other]
    for number, state in saved:
        resumed.load_state(state)
        for later in range(number, 60):
            if later == 32:
                push(resumed)
            run(resumed, 1)
        assert everything(resumed) == everything(first)
    resumed.reset()
    run(resumed, 32)
    fresh = run(Simulation(scene, device=device), 32)
    assert everything(resumed) == everything(fresh)


def test_environments_sleep_apart_and_alike(device: str) -> None:
    one = box_scene(*STACK[:3])
    many = box_scene(*STACK[:3], environments=5)
    alone, batch = Simulation(one, device=device), Simulation(many, device=device, sleeping=True)
    force = np.zeros((15, 3), np.float32)
    force[9, 0] = 0.5
    for _ in range(4):
        run(alone, 15), run(batch, 15)
        pose = poses(batch).reshape(5, -1)
        assert (pose == alone.state.link_pose.numpy().reshape(1, -1)).all()
    batch.control.link_force.assign(force)
    run(batch, 1)
    assert np.reshape(asleep(batch), (5, 3)).all(axis=1).tolist() == [True, True, True, False, True]


def test_a_large_world_sleeps_by_islands_and_leaves_their_work_out(device: str) -> None:
    """272 boxes side by side, in rows that touch; one is pushed."""
    positions = [(0.3 * i, 0.4 * j, 0.1) for i in range(16) for j in range(17)]
    simulation = Simulation(box_scene(*positions, *((0.0, 0.0, 0.3),)), device=device)
    assert simulation.solver.parallel is not None
    run(simulation, 60)
    assert all(asleep(simulation))
    pose = poses(simulation)
    assert ground_force(simulation) == pytest.approx(273 * G, rel=1e-3)
    force = np.zeros((273, 3), np.float32)
    force[0, 0] = 100.0
    simulation.control.link_force.assign(force)
    run(simulation, 1)
    woken = [i for i, sleeps in enumerate(asleep(simulation)) if not sleeps]
    assert woken == [0, 272]
    assert ground_force(simulation) == pytest.approx(273 * G, rel=1e-2)
    run(simulation, 20)
    after = poses(simulation)
    still = np.array(asleep(simulation))
    assert 200 < still.sum() < 272
    np.testing.assert_array_equal(after[still], pose[still])
    assert ground_force(simulation) == pytest.approx(273 * G, rel=1e-2)


def test_a_recorded_step_with_sleep_neither_waits_nor_allocates() -> None:
    simulation = run(Simulation(box_scene(*STACK), device="cpu"), 50)
    assert all(asleep(simulation))
    with wp.ScopedCapture(device="cpu") as capture:
        simulation.step()
    graph = capture.graph
    simulation.wake_up([0])
    wp.capture_launch(graph)
    assert asleep(simulation) == [False, False, False, True]


def test_a_pile_falls_asleep() -> None:
    scene = pile_scene((3, 3, 2))
    template = scene.templates[0]
    bodies = dataclasses.replace(template.bodies, sleep_threshold=np.full(18, THRESHOLD))
    scene = dataclasses.replace(scene, templates=(dataclasses.replace(template, bodies=bodies),))
    simulation = run(Simulation(scene), 3 * RATE)
    assert all(asleep(simulation))


def test_a_steady_push_may_be_slept_under_and_its_end_wakes(device: str) -> None:
    simulation = Simulation(box_scene((0, 0, 0.1), (1, 0, 0.1)), device=device)
    force = np.zeros((2, 3), np.float32)
    force[0, 0] = 2.0  # less than friction holds
    for _ in range(60):
        simulation.control.link_force.assign(force)
        simulation.step()
    assert asleep(simulation) == [True, True]
    run(simulation, 1)
    assert asleep(simulation) == [False, True]


def test_nothing_sleeps_beside_deformables_and_particles() -> None:
    scene = box_scene(STACK[0], starts_asleep=[True])
    plain = Simulation(scene)
    findings = Findings(raise_unsupported=True)
    parts = (number_scene(scene, findings), plain.model, plain.state, plain.control, findings)
    assert sleep_of_scene(*parts, None, False)[0] is not None
    for wanted in (None, True):
        assert sleep_of_scene(*parts, wanted, True) == (None, None)
    assert [text for _, text in findings.entries] == ["nothing sleeps beside deformables and particles"]
