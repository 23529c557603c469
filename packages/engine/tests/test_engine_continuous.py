"""Bodies with continuous collision detection do not pass thin walls, and are not stopped where they miss them.

At 60 Hz a bullet of 1 cm and 300 m/s moves 5 m in a step; walls are 1 mm thick. Truth is in closed form.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorphys_engine import Simulation
from tensorphys_scene import (
    Bodies,
    Materials,
    Mesh,
    Scene,
    Settings,
    Shapes,
    ShapeType,
    Template,
    replicate,
)

RATE = 60
SPEED = 300.0
RADIUS = 0.005
HALF = 0.0005
UNIT = [0.0, 0.0, 0.0, 1.0]
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
SQUARES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = np.array([t for a, b, c, d in SQUARES for t in ((a, b, c), (a, c, d))], np.int32)
PLATE = Mesh(CORNERS * [HALF, 1.0, 1.0], TRIANGLES)
# One sheet whose front looks along −X.
SHEET = Mesh(
    np.array([[-HALF, -1.0, -1.0], [-HALF, -1.0, 1.0], [-HALF, 1.0, 1.0], [-HALF, 1.0, -1.0]]),
    np.array([[0, 1, 2], [0, 2, 3]], np.int32),
)
Values = npt.NDArray[np.float64]


def about_z(angle: float) -> list[float]:
    return [0.0, 0.0, float(np.sin(angle / 2)), float(np.cos(angle / 2))]


def thing(
    kind: ShapeType, size: Any, pose: Any, *, mass: float = 0.0, velocity: Any = (0.0,) * 6, **body: Any
) -> dict[str, Any]:
    """A body with one shape, static where it has no mass."""
    defaults = {"mesh": -1, "inertia": np.eye(3) * 0.4 * mass * RADIUS**2, "ccd": mass > 0.0}
    values = {"kind": int(kind), "size": list(size), "pose": list(pose), "mass": mass}
    return defaults | values | {"velocity": list(velocity)} | body


def world(
    *things: dict[str, Any],
    restitution: float = 0.0,
    friction: float = 0.0,
    gravity: float = 0.0,
    count: int = 1,
    ccd: bool = True,
    meshes: tuple[Mesh, ...] = (PLATE, SHEET),
) -> Scene:
    moving = [t for t in things if t["mass"] > 0.0]
    body = np.cumsum([t["mass"] > 0.0 for t in things]) - 1
    body[[t["mass"] == 0.0 for t in things]] = -1
    identity = [0.0, 0.0, 0.0, *UNIT]
    template = Template(
        prims=("", *(f"/b{i}" for i in range(len(moving))), *(f"/s{i}" for i in range(len(things)))),
        bodies=Bodies(
            path=tuple(f"/b{i}" for i in range(len(moving))),
            mass=[t["mass"] for t in moving],
            inertia=[t["inertia"] for t in moving],
            pose=[t["pose"] for t in moving],
            linear_velocity=[t["velocity"][:3] for t in moving],
            angular_velocity=[t["velocity"][3:] for t in moving],
            ccd=[t["ccd"] for t in moving],
            kinematic=[t.get("kinematic", False) for t in moving],
        ),
        shapes=Shapes(
            path=tuple(f"/s{i}" for i in range(len(things))),
            body=body,
            type=[t["kind"] for t in things],
            size=[t["size"] for t in things],
            mesh=[t["mesh"] for t in things],
            pose=[identity if t["mass"] > 0.0 else t["pose"] for t in things],
            material=np.zeros(len(things), int),
        ),
        materials=Materials(
            path=("/m",),
            static_friction=[friction],
            dynamic_friction=[friction],
            restitution=[restitution],
        ),
        meshes=meshes,
    )
    rules = Settings(steps_per_second=float(RATE), ccd=ccd, gravity=np.array([0.0, 0.0, -gravity]))
    return replicate(Scene(templates=(template,), settings=rules), count)


def bullet(
    position: Any = (-2.0, 0.0, 0.0), velocity: Any = (SPEED, 0.0, 0.0), **body: Any
) -> dict[str, Any]:
    values = {"mass": 0.01, "velocity": [*velocity, 0.0, 0.0, 0.0]} | body
    return thing(ShapeType.SPHERE, (RADIUS, 0.0, 0.0), [*position, *UNIT], **values)


def wall(kind: str = "box", angle: float = 0.0) -> dict[str, Any]:
    """A wall of 2 m × 2 m about the origin that looks along −X, turned about Z."""
    turn = about_z(angle)
    if kind == "box":
        return thing(ShapeType.BOX, (HALF, 1.0, 1.0), [0, 0, 0, *turn])
    if kind == "plane":
        facing = [0.0, -np.sqrt(0.5), 0.0, np.sqrt(0.5)]  # +Z to −X
        z, w = turn[2:]
        both = [-z * facing[1], w * facing[1], z * facing[3], w * facing[3]]
        front = np.array([np.cos(angle), np.sin(angle), 0.0]) * -HALF
        return thing(ShapeType.PLANE, (0, 0, 0), [*front, *both])
    shape = ShapeType.CONVEX_HULL if kind == "hull" else ShapeType.TRIANGLE_MESH
    return thing(shape, (1, 1, 1), [0, 0, 0, *turn], mesh=1 if kind == "sheet" else 0)


def run(scene: Scene, steps: int, device: str, **options: Any) -> tuple[Values, Values, Simulation]:
    """Poses [steps, links, 7] and velocities [steps, links, 6] after each step."""
    simulation = Simulation(scene, device=device, **options)
    poses, velocities = [], []
    for _ in range(steps):
        simulation.step()
        poses.append(simulation.state.link_pose.numpy().astype(np.float64))
        velocities.append(simulation.state.link_velocity.numpy().astype(np.float64))
    return np.array(poses), np.array(velocities), simulation


@pytest.mark.parametrize("kind", ["box", "hull", "mesh", "sheet", "plane"])
@pytest.mark.parametrize("angle", [0.0, np.pi / 4])
def test_a_bullet_does_not_pass_a_thin_wall(device: str, kind: str, angle: float) -> None:
    """It comes to touch the wall, and loses what it had across it: nothing along it, since there is no friction."""
    pose, velocity, _ = run(world(bullet(), wall(kind, angle)), 1, device)
    normal = np.array([-np.cos(angle), -np.sin(angle), 0.0])
    assert pose[0, 0, :3] @ normal == pytest.approx(HALF + RADIUS, abs=2e-6)
    left = np.array([SPEED, 0.0, 0.0]) * (1.0 - np.cos(angle) ** 2)
    left[1] -= SPEED * np.sin(angle) * np.cos(angle)
    np.testing.assert_allclose(velocity[0, 0, :3], left, atol=2e-3)


@pytest.mark.parametrize("kind", ["box", "mesh", "sheet"])
@pytest.mark.parametrize("angle", [0.0, np.pi / 4])
def test_an_elastic_bullet_keeps_its_speed(device: str, kind: str, angle: float) -> None:
    """It leaves along the mirrored way, within 0.5 %, and its time in the step is not lost."""
    pose, velocity, _ = run(world(bullet(), wall(kind, angle), restitution=1.0), 1, device)
    normal = np.array([np.cos(angle), np.sin(angle), 0.0])
    mirrored = np.array([SPEED, 0.0, 0.0]) - 2.0 * SPEED * np.cos(angle) * normal
    np.testing.assert_allclose(velocity[0, 0, :3], mirrored, atol=5e-3 * SPEED)
    # At most the substep of the impact is lost.
    way = np.linalg.norm(pose[0, 0, :3] - pose_of_touch(angle))
    assert way > SPEED / RATE / 4


def pose_of_touch(angle: float) -> Values:
    return np.array([-(HALF + RADIUS) / np.cos(angle), 0.0, 0.0])


@pytest.mark.parametrize("kind", ["box", "hull", "mesh", "sheet"])
@pytest.mark.parametrize("ccd", [True, False])
def test_a_near_miss_is_none(device: str, kind: str, ccd: bool) -> None:
    """A bullet that passes an edge at 1 mm flies on as if there were none; contacts of the start alone stop it."""
    where = (-2.0, 1.0 + RADIUS + 0.001, 0.3)
    pose, velocity, _ = run(world(bullet(where), wall(kind), ccd=ccd), 3, device)
    free, _, _ = run(world(bullet(where)), 3, device)
    if ccd:
        assert np.abs(pose[:, 0] - free[:, 0]).max() <= 1e-6
        assert np.abs(velocity[:, 0] - [SPEED, 0, 0, 0, 0, 0]).max() <= 1e-6 * SPEED
    elif kind == "box":
        assert np.abs(pose[0, 0] - free[0, 0]).max() > 1.0


def test_a_bullet_between_two_walls_stays_there(device: str) -> None:
    """Walls 1 m apart, of which each is hit several times in a step, are never passed."""
    walls = [thing(ShapeType.BOX, (HALF, 1.0, 1.0), [x, 0.0, 0.0, *UNIT]) for x in (-0.5, 0.5)]
    pose, velocity, _ = run(world(bullet((0.0, 0.0, 0.0)), *walls, restitution=1.0), 12, device)
    assert np.abs(pose[:, 0, 0]).max() <= 0.5 - HALF - RADIUS + 1e-4
    np.testing.assert_allclose(np.abs(velocity[:, 0, 0]), SPEED, rtol=5e-3)


def test_a_bullet_along_the_floor_stops_at_a_kerb(device: str) -> None:
    """Without the floor its straight way would lead below the kerb: only the way that it made shows that it is there."""
    floor = thing(ShapeType.PLANE, (0, 0, 0), [0, 0, 0, *UNIT])
    kerb = thing(ShapeType.BOX, (HALF, 1.0, 0.05), [1.0, 0.0, 0.05, *UNIT])
    shot = bullet((-2.0, 0.0, 0.05), (SPEED, 0.0, -20.0))
    pose, _, _ = run(world(shot, floor, kerb, gravity=9.81), 4, device)
    assert pose[:, 0, 0].max() <= 1.0 - HALF - RADIUS + 1e-4
    assert pose[:, 0, 2].min() >= RADIUS - 1e-4


@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_a_moving_plate_takes_the_momentum(device: str, restitution: float) -> None:
    """A plate of 50 g comes toward the bullet, is hit off its centre and turns away at 390 rad/s at most."""
    mass, side = 0.05, 0.4
    across = mass * side**2 / 12.0
    plate = thing(
        ShapeType.BOX,
        (HALF, side / 2, side / 2),
        [0.0, 0.0, 0.0, *UNIT],
        mass=mass,
        velocity=[-20.0, 0, 0, 0, 0, 0],
        inertia=np.diag([2.0 * across, across, across]),
        ccd=False,
    )
    _, velocity, simulation = run(world(bullet((-2.0, 0.05, 0.0)), plate, restitution=restitution), 1, device)
    v, u = velocity[0]
    assert simulation.solver.path == "generic"
    # The bullet is a point: impulse j along −X at 5 cm from the centre of mass of the plate.
    j = (1.0 + restitution) * (SPEED + 20.0) / (1 / 0.01 + 1 / mass + 0.05**2 / across)
    assert v[0] == pytest.approx(SPEED - j / 0.01, rel=1e-3)
    assert u[0] == pytest.approx(-20.0 + j / mass, rel=1e-3)
    assert u[5] == pytest.approx(-0.05 * j / across, rel=1e-3)
    assert 0.01 * v[0] + mass * u[0] == pytest.approx(0.01 * SPEED - mass * 20.0, rel=1e-5)


def test_two_bullets_that_meet_do_not_pass_each_other(device: str) -> None:
    left, right = bullet(), bullet((2.0, 0.004, 0.0), (-SPEED, 0.0, 0.0))
    pose, velocity, _ = run(world(left, right, restitution=1.0), 1, device)
    # Equal spheres that are 4 mm off: what they had along their line they swap.
    normal = np.array([np.sqrt(1.0 - 0.16), 0.4, 0.0])
    after = np.array([SPEED, 0.0, 0.0]) - 2.0 * SPEED * normal[0] * normal
    np.testing.assert_allclose(velocity[0, 0, :3], after, atol=5e-3 * SPEED)
    np.testing.assert_allclose(velocity[0, 1, :3], -after, atol=5e-3 * SPEED)
    assert pose[0, 0, 0] < pose[0, 1, 0]


@pytest.mark.parametrize("ccd", [True, False])
def test_a_wall_that_is_moved_by_hand_sweeps_a_ball_along(device: str, ccd: bool) -> None:
    """A wall of 1 mm at 300 m/s takes a ball that stands in its way, whichever of the two asks."""
    ball = bullet((0.0, 0.0, 0.0), (0.0, 0.0, 0.0), ccd=not ccd)
    pusher = thing(ShapeType.BOX, (HALF, 0.1, 0.1), [-2.0, 0, 0, *UNIT], mass=1.0, kinematic=True, ccd=ccd)
    simulation = Simulation(world(ball, pusher), device=device)
    for step in range(2):
        target = simulation.state.root_target.numpy()
        target[1] = [-2.0 + (step + 1) * SPEED / RATE, 0.0, 0.0, *UNIT]
        simulation.state.root_target.assign(target)
        simulation.state.root_aimed.assign(np.array([0, 1], np.int32))
        simulation.step()
        pose = simulation.state.link_pose.numpy()
        assert pose[1, 0] == pytest.approx(target[1, 0], abs=1e-4)
        assert pose[0, 0] - pose[1, 0] >= HALF + RADIUS - 1e-3
    assert simulation.state.link_velocity.numpy()[0, 0] == pytest.approx(SPEED, rel=1e-3)


def rod(spin: float, angle: float = 0.0, axial: float = 1e-3) -> dict[str, Any]:
    """A rod of 1 m and 1 kg along Y that turns about Z.

    Args:
        axial: Inertia about its own axis, in that across it.
    """
    inertia = 1.0 / 12.0
    along = [-np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)]
    z, w = about_z(angle)[2:]
    turn = [w * along[0], z * along[0], z * along[3], w * along[3]]
    return thing(
        ShapeType.CAPSULE,
        (0.01, 0.49, 0.0),
        [0.0, 0.0, 0.0, *turn],
        mass=1.0,
        velocity=[0, 0, 0, 0, 0, spin],
        inertia=np.diag([inertia, inertia, inertia * axial]),
    )


@pytest.mark.parametrize("restitution", [0.0, 1.0])
@pytest.mark.parametrize("spin", [60.0, 150.0])
@pytest.mark.parametrize("kind", ["box", "mesh", "plane"])
def test_a_spinning_rod_hits_with_its_tip(device: str, kind: str, spin: float, restitution: float) -> None:
    """It stands along a wall 0.3 m away and turns by up to 2.5 rad a step; velocities after the hit are in closed form."""
    barrier = wall(kind)
    barrier["pose"][0] += 0.3 + HALF
    _, velocity, _ = run(world(rod(spin), barrier, restitution=restitution), 1, device)
    arm = np.sqrt(0.49**2 - 0.29**2)
    j = (1.0 + restitution) * spin * arm / (1.0 + 12.0 * arm**2)
    assert velocity[0, 0, 0] == pytest.approx(-j, rel=2e-3)
    assert velocity[0, 0, 5] == pytest.approx(spin - 12.0 * j * arm, abs=2e-3 * spin)


@settings(max_examples=12)
@given(
    spin=st.floats(-128.0, 128.0, width=32),
    speed=st.floats(0.0, 64.0, width=32),
    angle=st.floats(-1.0, 1.0, width=32),
)
def test_a_spinning_rod_never_passes_a_wall(spin: float, speed: float, angle: float) -> None:
    """However it turns and flies, and whichever end hits next, neither sinks into a wall 0.6 m away by its radius."""
    thrown = rod(spin, angle, 1.0)
    thrown["velocity"][0] = speed
    barrier = wall()
    barrier["pose"][0] += 0.6
    barrier["size"] = [HALF, 4.0, 4.0]
    pose, velocity, _ = run(world(thrown, barrier, restitution=0.5), 8, "cpu")
    start = 0.5 * speed**2 + spin**2 / 24.0
    for x, v in zip(pose[:, 0], velocity[:, 0], strict=True):
        along = 2.0 * (x[3] * x[5] + x[6] * x[4])  # of the unit vector along the rod, its part along X
        assert x[0] + 0.49 * abs(along) + 0.01 <= 0.6 - HALF + 0.01
        assert 0.5 * v[:3] @ v[:3] + v[3:] @ v[3:] / 24.0 <= 1.001 * start + 1e-6


@pytest.mark.parametrize("ccd", [True, False])
@pytest.mark.parametrize("axial", [1e-3, 1e-2])
def test_thin_rods_gain_no_energy_at_four_substeps(device: str, axial: float, ccd: bool) -> None:
    """They turn by up to half a radian a substep and hit a wall; with the gyroscopic torque taken explicitly, energies rose
    fifty-thousandfold. Each rod is an environment."""
    count = 64
    rng = np.random.default_rng(1)
    barrier = wall()
    barrier["pose"][0] += 0.6
    barrier["size"] = [HALF, 4.0, 4.0]
    scene = world(rod(1.0, 0.0, axial), barrier, restitution=0.5, count=count, ccd=ccd)
    simulation = Simulation(scene, device=device)
    assert simulation.substeps == 4
    pose = np.array([rod(1.0, angle, axial)["pose"] for angle in rng.uniform(-1.0, 1.0, count)])
    velocity = np.zeros((count, 6))
    velocity[:, 0], velocity[:, 5] = rng.uniform(0.0, 64.0, count), rng.uniform(-128.0, 128.0, count)
    simulation.state.root_pose.assign(pose.astype(np.float32))
    simulation.state.velocity.assign(velocity.ravel().astype(np.float32))
    simulation.state.fresh.fill_(1)
    simulation.refresh()

    def energy() -> Values:
        x = simulation.state.link_pose.numpy().astype(np.float64)
        v = simulation.state.link_velocity.numpy().astype(np.float64)
        twist = 2.0 * np.cross(-x[:, 3:6], v[:, 3:])
        local = v[:, 3:] + x[:, 6:] * twist + np.cross(-x[:, 3:6], twist)
        turning = local**2 @ (np.array([1.0, 1.0, axial]) / 12.0)
        return np.asarray(0.5 * ((v[:, :3] ** 2).sum(axis=1) + turning))

    start = energy()
    for _ in range(24):
        simulation.step()
        assert (energy() <= (1.0 + 1e-5) * start + 1e-6).all()


@settings(max_examples=20)
@given(
    start=st.tuples(*[st.floats(-1.5, 1.5, width=32)] * 2),
    end=st.tuples(*[st.floats(-1.5, 1.5, width=32)] * 2),
    kind=st.sampled_from(["box", "mesh"]),
)
def test_a_bullet_hits_what_its_straight_way_meets(start: Any, end: Any, kind: str) -> None:
    """Aimed at random past or at a wall: it is stopped where the ball meets the wall, and only there."""
    a, b = np.array([-2.0, *start]), np.array([3.0, *end])
    velocity = (b - a) * RATE
    pose, _, _ = run(world(bullet(a, velocity), wall(kind)), 1, "cpu")
    along = np.linspace(0.0, 1.0, 200001)[:, None]
    way = a + (b - a) * along
    beyond = np.maximum(np.abs(way) - [HALF, 1.0, 1.0], 0.0)
    gap = np.linalg.norm(beyond, axis=1).min() - RADIUS
    reached = np.linalg.norm(pose[0, 0, :3] - b) < 1e-4
    if abs(gap) > 1e-4:
        assert reached == (gap > 0.0)


def test_contacts_of_slow_bodies_are_those_without(device: str) -> None:
    """Within its contact offsets a body rests, slides and rolls as without; bit for bit."""
    crate = thing(
        ShapeType.BOX,
        (0.1, 0.1, 0.1),
        [0.0, 0.0, 0.102, *UNIT],
        mass=1.0,
        inertia=np.eye(3) / 150.0,
        velocity=[0.3, 0, 0, 0, 0, 0],
    )
    floor = thing(ShapeType.PLANE, (0, 0, 0), [0, 0, 0, *UNIT])
    results = [
        run(world(crate, floor, gravity=9.81, friction=0.5, ccd=ccd), 30, device)[0] for ccd in (True, False)
    ]
    assert results[0].tobytes() == results[1].tobytes()


def test_a_crate_lands_flat_at_a_hundred_metres_a_second(device: str) -> None:
    """All four corners are found where it lands, far from where it was: it neither tips nor sinks in."""
    crate = thing(
        ShapeType.BOX,
        (0.1, 0.1, 0.1),
        [0.0, 0.0, 1.5, *UNIT],
        mass=1.0,
        inertia=np.eye(3) / 150.0,
        velocity=[60.0, 0, -100.0, 0, 0, 0],
    )
    for kind in (ShapeType.PLANE, ShapeType.BOX):
        floor = thing(kind, (4.0, 4.0, 0.01), [0, 0, -0.01 if kind == ShapeType.BOX else 0.0, *UNIT])
        pose, velocity, _ = run(world(crate, floor, gravity=9.81), 2, device)
        assert pose[-1, 0, 2] == pytest.approx(0.1, abs=1e-3)
        np.testing.assert_allclose(pose[-1, 0, 3:], UNIT, atol=1e-3)
        np.testing.assert_allclose(velocity[-1, 0, :3], [60.0, 0.0, 0.0], atol=0.2)


def test_environments_and_runs_without_a_graph_give_the_same(device: str) -> None:
    """One of several environments, a replayed graph and launches one by one: bit for bit."""
    things = (bullet(), wall("mesh", 0.3))
    alone, _, _ = run(world(*things, restitution=0.7), 3, device)
    many, _, _ = run(world(*things, restitution=0.7, count=5), 3, device)
    for e in range(5):
        assert many[:, e].tobytes() == alone[:, 0].tobytes()
    launched, _, simulation = run(world(*things, restitution=0.7), 3, device, use_graph=False)
    assert launched.tobytes() == alone.tobytes()
    saved = simulation.save_state()
    simulation.step()
    expected = simulation.state.link_pose.numpy().tobytes()
    simulation.load_state(saved)
    simulation.step()
    assert simulation.state.link_pose.numpy().tobytes() == expected


@pytest.mark.parametrize("count", [1, 2])
def test_a_bullet_in_a_large_world(device: str, count: int) -> None:
    """Among 260 resting crates, found by a search or listed: it stops at the one in its way and misses the others."""
    crates = [
        thing(
            ShapeType.BOX,
            (0.1, 0.1, 0.1),
            [0.5 * (k % 20), 0.5 * (k // 20), 0.0, *UNIT],
            mass=100.0,
            inertia=np.eye(3),
            ccd=False,
        )
        for k in range(260)
    ]
    shots = [bullet((-2.0, y, 0.0)) for y in (1.0, 1.25)]
    pose, velocity, simulation = run(world(*shots, *crates, count=count), 1, device)
    assert (simulation.contact_model.search is not None) == (count == 1)
    assert simulation.solver.parallel is not None
    np.testing.assert_allclose(pose[0, 1, :3], [3.0, 1.25, 0.0], atol=1e-5)
    np.testing.assert_allclose(velocity[0, 1, :3], [SPEED, 0.0, 0.0], atol=1e-3)
    assert pose[0, 0, 0] == pytest.approx(-0.1 - RADIUS, abs=2e-3)
    assert abs(velocity[0, 0, 0]) < 0.1


def test_bodies_that_do_not_ask_cost_nothing(device: str) -> None:
    counts = []
    for asks, scene_asks in ((True, True), (False, True), (True, False), (False, False)):
        _, _, simulation = run(world(bullet(ccd=asks), wall(), ccd=scene_asks), 1, device)
        counts.append(simulation.launch_count)
    assert counts[0] > counts[1] == counts[2] == counts[3]


def test_what_is_not_done_is_said() -> None:
    said = [text for _, text in Simulation(world(bullet(), wall(), ccd=False)).findings]
    assert said == [
        "continuous collision detection is asked for by the body but not by the scene; contacts look ahead by one step"
    ]
    assert not Simulation(world(bullet(), wall())).findings
    cube = Mesh(CORNERS * 0.1, TRIANGLES)
    field = thing(ShapeType.SDF, (1, 1, 1), [0, 0, 0, *UNIT], mesh=0)
    said = [text for _, text in Simulation(world(bullet(), field, meshes=(cube,))).findings]
    assert said == [
        "pairs with signed distance fields or sets of spheres have no continuous collision detection; "
        "their contacts look ahead by one step"
    ]


def test_friction_acts_at_the_point_of_the_touch(device: str) -> None:
    """A bullet at 45° with friction of 0.1 loses that share of its impulse along the wall and spins up by it."""
    inertia = 40.0 * 0.01 * RADIUS**2  # of a point mass and far more, so that it keeps sliding
    shot = bullet(inertia=np.eye(3) * inertia)
    _, velocity, _ = run(world(shot, wall("box", np.pi / 4), friction=0.1), 1, device)
    normal, along = np.array([-1.0, -1.0, 0.0]) / np.sqrt(2.0), np.array([1.0, -1.0, 0.0]) / np.sqrt(2.0)
    across = SPEED / np.sqrt(2.0)
    assert velocity[0, 0, :3] @ normal == pytest.approx(0.0, abs=2e-3)
    assert velocity[0, 0, :3] @ along == pytest.approx(0.9 * across, rel=1e-3)
    assert velocity[0, 0, 5] == pytest.approx(0.1 * across / (40.0 * RADIUS), rel=2e-3)
