"""Laws of contacts against closed forms, on every path: springs, friction, rebounds, bounds and depenetration.

A "fused" and a "swept" world hold one body; "at_once" two that never meet, whose contacts Newton's method solves; "large"
the same two, solved in parallel. Laws that neither the fused kernel nor Newton's method knows are swept there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import warp as wp

from tensorphys_dynamics import Control, Model, ModelError, Solver, State, StepLoads, fused
from tensorphys_dynamics._kernels.rows import GENTLE
from tensorphys_dynamics.testing import History, SpheresOnPlane, bodies_model

G = 9.81
RADIUS = 0.1
PATHS = ("fused", "swept", "at_once", "large")


class World:
    """Spheres on the plane z = 0, the first of which is looked at.

    Attributes:
        dt: Length of a step [s].
    """

    def __init__(
        self,
        path: str,
        device: str,
        *,
        height: float,
        mass: float = 1.0,
        inertia: float = 0.004,
        velocity: tuple[float, ...] = (0.0,) * 6,
        dt: float = 1.0 / 240.0,
        substeps: int = 4,
        gravity: float = G,
        link: dict[str, Any] | None = None,
        known: bool = True,
        **contact: Any,
    ) -> None:
        count = 1 if path in ("fused", "swept") else 2
        columns = {name: np.array([value] * count) for name, value in (link or {}).items()}
        model, state, control = bodies_model(
            np.full(count, mass),
            columns.pop("inertia", np.tile(np.eye(3) * inertia, (count, 1, 1))),
            device,
            gravity=(0.0, 0.0, -gravity),
            **columns,
        )
        self.contacts = SpheresOnPlane(
            model, link=range(count), center=np.zeros((count, 3)), radius=np.full(count, RADIUS), **contact
        )
        self.model: Model = model
        self.state: State = state
        self.control: Control = control
        self.dt = dt
        self.solver = Solver(
            model,
            state,
            control,
            self.contacts,
            substeps=substeps,
            time_step=dt,
            path="fused" if path == "fused" else "generic",
            large_from=1 if path == "large" else 1000,
        )
        pose = np.tile([0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0], (count, 1))
        pose[:, 0] = 10.0 * np.arange(count)
        state.set_initial(root_pose=pose, velocity=np.tile(velocity, count))
        self.solver.update_kinematics()
        self.at_once = int(known) if path == "at_once" else None

    def step(self, count: int = 1, force: tuple[float, float, float] | None = None) -> None:
        """Make some steps, with a force at the centre of every body."""
        history = History(self._looked_at(), count)
        for _ in range(count):
            self._step(force)
            history.keep()
        self._look(history.read())

    def follow(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Make some steps; positions of the first body [m] and mean normal forces on it [N] after each."""
        arrays = (self.contacts.count, self.state.link_pose, self.solver.contact_normal_impulse)
        history = History((*arrays, *self._looked_at()), count)
        for _ in range(count):
            self._step()
            history.keep()
        rows = history.read()
        self._look([row[3:] for row in rows])
        force = np.array([row[2][0] / self.dt if row[0][0] else 0.0 for row in rows])
        return np.array([row[1][0, :3] for row in rows], float), force

    def _step(self, force: tuple[float, float, float] | None = None) -> None:
        if force is not None:
            self.control.link_force.fill_(force)
        self.contacts.collide(self.state.link_pose)
        self.solver.step()

    def _looked_at(self) -> tuple[wp.array, ...]:
        """What tells whether contacts were solved at once; nothing on paths that never do."""
        return () if self.at_once is None else (self.contacts.count, self.solver._skyline.used)

    def _look(self, rows: list[Any]) -> None:
        """Whether contacts were solved at once where there were any."""
        assert all(used.tolist() == [self.at_once] for count, used in filter(None, rows) if count.any())

    @property
    def position(self) -> np.ndarray:
        """Of the first body [m]."""
        return self.state.link_pose.numpy()[0, :3].astype(float)

    @property
    def velocity(self) -> np.ndarray:
        """Linear and angular, of the first body."""
        return self.state.link_velocity.numpy()[0].astype(float)

    @property
    def normal_force(self) -> float:
        """Mean normal force over the last step on the first body [N]."""
        return float(self.solver.contact_normal_impulse.numpy()[0]) / self.dt


@pytest.fixture(params=(*PATHS, "lanes"))
def path(request: pytest.FixtureRequest, device: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each path; "lanes" is the fused one with the source of CUDA, on the CPU with groups of one lane."""
    if request.param != "lanes":
        return str(request.param)
    choose = fused.choose_size_class
    if device == "cpu":
        monkeypatch.setattr(
            fused, "choose_size_class", lambda *given, cuda: replace(choose(*given, cuda=True), lanes=1)
        )
    return "fused"


@pytest.mark.parametrize(("stiffness", "mass"), [(200.0, 1.0), (2e4, 3.0), (1e6, 1.0)])
def test_a_ball_sinks_into_a_compliant_plane(path: str, device: str, stiffness: float, mass: float) -> None:
    """m g / k, critically damped, however stiff the spring is against the step."""
    damping = 2.0 * np.sqrt(stiffness * mass)
    world = World(path, device, height=RADIUS, mass=mass, stiffness=stiffness, damping=damping)
    world.step(400)
    sunk = RADIUS - world.position[2]
    # a position of 0.1 m in float32
    assert abs(sunk - mass * G / stiffness) < 1e-4 * mass * G / stiffness + 1.5e-8
    assert abs(world.normal_force - mass * G) < 1e-3 * mass * G
    assert np.abs(world.velocity).max() < 1e-5


@pytest.mark.parametrize("ratio", [0.0, 0.02, 0.2])
def test_oscillation_on_a_compliant_plane(path: str, device: str, ratio: float) -> None:
    """x(t) of a damped oscillator about its rest, let go where it just touches."""
    stiffness, mass = 400.0, 1.0
    omega, depth = np.sqrt(stiffness / mass), mass * G / stiffness
    start = 0.98 * depth
    world = World(
        path,
        device,
        height=RADIUS - depth + start,
        stiffness=stiffness,
        damping=2.0 * ratio * omega * mass,
    )
    found = world.follow(240)[0][:, 2] - RADIUS + depth
    t = world.dt * np.arange(1, 241)
    fast, rate = omega * np.sqrt(1.0 - ratio**2), ratio * omega
    exact = start * np.exp(-rate * t) * (np.cos(fast * t) + rate / fast * np.sin(fast * t))
    assert np.abs(found - exact).max() < 0.005 * start


def test_a_spring_per_mass_does_not_know_the_mass(path: str, device: str) -> None:
    """Sinks by g / k; the same motion for 0.1 kg and 10 kg."""
    ways = []
    for mass in (0.1, 10.0):
        world = World(
            path,
            device,
            height=RADIUS + 0.002,
            mass=mass,
            inertia=0.004 * mass,
            stiffness=900.0,
            damping=20.0,
            spring_per_mass=1,
        )
        way = world.follow(300)[0][:, 2]
        ways.append(way)
        assert abs(RADIUS - way[-1] - G / 900.0) < 1e-5
    assert np.abs(np.subtract(*ways)).max() < 2e-7


def test_a_spring_gives_back_the_energy_of_a_fall(path: str, device: str) -> None:
    """Without damping a ball leaves a compliant plane and rises as high as it fell from."""
    stiffness, fall = 2000.0, 0.05
    world = World(path, device, height=RADIUS + fall, stiffness=stiffness)
    way, force = world.follow(100)
    touching, top = (force[:60] > 0.0).sum(), way[41:, 2].max()
    assert abs(top - RADIUS - fall) < 0.01 * fall
    omega = np.sqrt(stiffness)
    lasts = 2.0 / omega * (np.pi - np.arctan(omega * np.sqrt(2.0 * G * fall) / G))
    assert abs(touching * world.dt - lasts) < 1.5 * world.dt


def test_static_and_dynamic_friction(path: str, device: str) -> None:
    """A ball that cannot turn holds below μ_s N, and slides with μ_d N beyond."""
    world = World(path, device, height=RADIUS, inertia=1e6, friction=0.6, dynamic_friction=0.4)
    world.step(60)
    start = world.position[0]
    world.step(120, (0.59 * G, 0.0, 0.0))
    assert abs(world.position[0] - start) < 1e-4
    world.step(30, (0.65 * G, 0.0, 0.0))
    before = world.velocity[0]
    world.step(60, (0.65 * G, 0.0, 0.0))
    gained = (world.velocity[0] - before) / (60 * world.dt)
    assert abs(gained / (0.25 * G) - 1.0) < 1e-3


@pytest.mark.parametrize("speed", [0.15, 1.0])
def test_restitution_above_the_threshold_alone(path: str, device: str, speed: float) -> None:
    """The solver's threshold is 0.2 m/s."""
    world = World(
        path,
        device,
        height=RADIUS + 0.01,
        velocity=(0.0, 0.0, -speed, 0.0, 0.0, 0.0),
        restitution=0.7,
        gravity=1e-3,
    )
    world.step(60)
    expected = 0.7 * speed if speed > 0.2 else 0.0
    assert abs(world.velocity[2] - expected) < 2e-3


def test_depenetration_is_not_faster_than_allowed(path: str, device: str) -> None:
    """A ball that starts 5 cm deep comes out at the bound, in large environments at their share of it, and keeps no speed of it."""
    bound = 0.5
    share = float(GENTLE) if path == "large" else 1.0
    world = World(
        path,
        device,
        height=RADIUS - 0.05,
        inertia=1e6,
        gravity=1e-3,
        link={"max_depenetration_velocity": bound},
    )
    way = np.append(world.position[2], world.follow(60)[0][:, 2])
    before, fastest = way[-1], np.diff(way).max() / world.dt
    assert 0.99 * share * bound < fastest < 1.001 * share * bound
    assert abs(world.velocity[2]) < 1e-3 and before > RADIUS - 1e-3


def test_damping_of_bodies(path: str, device: str) -> None:
    """v ← v / (1 + h c) in each substep, far from all contacts."""
    rates = {"linear_damping": 2.0, "angular_damping": 3.0}
    world = World(path, device, height=5.0, gravity=0.0, velocity=(1.0, 0.0, 0.0, 0.0, 2.0, 0.0), link=rates)
    world.step(120)
    h = world.dt / 4
    # the reported velocity stands half a substep ahead of the last kick
    for found, first, rate in ((world.velocity[0], 1.0, 2.0), (world.velocity[4], 2.0, 3.0)):
        assert abs(found / (first * np.exp(-rate * 0.5)) - 1.0) < rate * rate * 0.5 * h


def test_bounds_of_speed(path: str, device: str) -> None:
    """A falling body reaches its bound and keeps it."""
    world = World(path, device, height=20.0, link={"max_linear_velocity": 2.0, "max_angular_velocity": 1.0})
    world.control.link_torque.fill_((0.0, 0.0, 0.5))
    world.step()
    world.step(100)
    assert abs(world.velocity[2] + 2.0) < 1e-5 and world.velocity[5] <= 1.0


@pytest.mark.parametrize("path", PATHS[1:])
@pytest.mark.parametrize("spin", [30.0, -30.0])
def test_a_spinning_ball_is_slowed_by_its_patch(path: str, device: str, spin: float) -> None:
    """ω falls by μ_d N r / I a second until it stops."""
    radius, inertia, friction = 0.02, 0.004, 0.3
    world = World(
        path,
        device,
        height=RADIUS,
        inertia=inertia,
        velocity=(0.0, 0.0, 0.0, 0.0, 0.0, spin),
        friction=0.4,
        dynamic_friction=friction,
        least_patch_radius=radius,
        known=False,
    )
    world.step(20)
    before = world.velocity[5]
    world.step(40)
    rate = (before - world.velocity[5]) / (40 * world.dt) * np.sign(spin)
    assert abs(rate * inertia / (friction * G * radius) - 1.0) < 1e-3
    torque = world.solver.contact_spin_impulse.numpy()[0] / world.dt
    assert abs(-torque * np.sign(spin) / (friction * G * radius) - 1.0) < 1e-3
    assert abs(world.normal_force / G - 1.0) < 1e-3
    world.step(480)
    assert np.abs(world.velocity).max() < 1e-5


@pytest.mark.parametrize("path", PATHS[1:])
def test_the_patch_grows_with_the_depth(path: str, device: str) -> None:
    """√(R d) at the depth m g / k of a spring; what the material has of its own comes to it."""
    stiffness, inertia, patch, own = 500.0, 0.004, 0.03, 0.004
    world = World(
        path,
        device,
        height=RADIUS - G / stiffness,
        inertia=inertia,
        velocity=(0.0, 0.0, 0.0, 0.0, 0.0, 40.0),
        stiffness=stiffness,
        damping=2.0 * np.sqrt(stiffness),
        friction=0.5,
        patch_radius=patch,
        torsional_friction=own,
        known=False,
    )
    world.step(100)
    before = world.velocity[5]
    world.step(40)
    rate = (before - world.velocity[5]) / (40 * world.dt)
    lever = 0.5 * np.sqrt(patch * G / stiffness) + own
    assert abs(rate * inertia / (lever * G) - 1.0) < 2e-3


@pytest.mark.parametrize("path", PATHS[1:])
def test_static_torsional_friction_holds(path: str, device: str) -> None:
    """A torque below μ_s N r turns nothing, one beyond turns with what μ_d N r leaves."""
    radius, inertia = 0.02, 0.004
    world = World(
        path,
        device,
        height=RADIUS,
        inertia=inertia,
        friction=0.6,
        dynamic_friction=0.4,
        least_patch_radius=radius,
        known=False,
    )
    world.step(30)
    for share, steps in ((0.55, 60), (0.7, 20)):
        for _ in range(steps):
            world.control.link_torque.fill_((0.0, 0.0, share * G * radius))
            world.step()
        if share < 0.6:
            assert abs(world.velocity[5]) < 1e-4
    before = world.velocity[5]
    for _ in range(20):
        world.control.link_torque.fill_((0.0, 0.0, 0.7 * G * radius))
        world.step()
    gained = (world.velocity[5] - before) / (20 * world.dt)
    assert abs(gained * inertia / (0.3 * G * radius) - 1.0) < 2e-3


@pytest.mark.parametrize("path", PATHS[1:])
def test_bounded_impulses_let_a_heavy_ball_through(path: str, device: str) -> None:
    """A bound of half the weight: the ball goes on falling with g / 2, and N is the bound."""
    dt = 1.0 / 240.0
    world = World(
        path, device, height=RADIUS, link={"max_contact_impulse": 0.5 * G * dt}, known=False, reach=0.05
    )
    world.step(10)
    before = world.velocity[2]
    world.step(20)
    assert abs((before - world.velocity[2]) / (20 * dt) / (0.5 * G) - 1.0) < 1e-3
    assert abs(world.normal_force / (0.5 * G) - 1.0) < 1e-4


@pytest.mark.parametrize("path", PATHS[1:])
def test_a_bound_of_the_impulse_that_is_not_reached_changes_nothing(path: str, device: str) -> None:
    """Rest, and a rebound of which the bound lets through what it may in a step."""
    world = World(
        path,
        device,
        height=RADIUS + 0.01,
        velocity=(0.0, 0.0, -1.0, 0.0, 0.0, 0.0),
        gravity=1e-3,
        restitution=0.7,
        link={"max_contact_impulse": 20.0},
        known=False,
    )
    world.step(20)
    assert abs(world.velocity[2] - 0.7) < 2e-3


@pytest.mark.parametrize("path", PATHS[1:])
@pytest.mark.parametrize("local", [0, 1])
def test_a_body_with_tracks_drives(path: str, device: str, local: int) -> None:
    """The surface of a ball that cannot turn moves with 0.5 m/s: the ball gains μ g, and goes as fast the other way."""
    links = {"surface_linear": (0.5, 0.0, 0.0), "surface_local": local}
    world = World(path, device, height=RADIUS, inertia=1e6, friction=0.3, link=links)
    world.step(20)
    before = world.velocity[0]
    world.step(10)
    assert abs((before - world.velocity[0]) / (10 * world.dt) / (0.3 * G) - 1.0) < 2e-3
    world.step(60)
    assert abs(world.velocity[0] + 0.5) < 1e-4 and np.abs(world.velocity[1:]).max() < 1e-4


@pytest.mark.parametrize("path", PATHS[1:])
def test_a_surface_that_turns(path: str, device: str) -> None:
    """A surface that spins about x drags the ball along −y: at its lowest point it moves with ω × r."""
    world = World(
        path, device, height=RADIUS, inertia=1e6, friction=0.8, link={"surface_angular": (4.0, 0.0, 0.0)}
    )
    world.step(120)
    assert abs(world.velocity[1] + 4.0 * RADIUS) < 1e-3


@pytest.mark.parametrize("path", PATHS[1:])
def test_locked_axes(path: str, device: str) -> None:
    """Locked motions are zero, whatever pushes; the others are those of a free body."""
    world = World(
        path,
        device,
        height=5.0,
        gravity=2.0,
        velocity=(1.0, 2.0, 0.0, 3.0, 4.0, 5.0),
        link={"locked_axes": 0b011010},
    )
    start = world.position
    for _ in range(60):
        world.control.link_force.fill_((1.0, 1.0, 1.0))
        world.control.link_torque.fill_((0.01, 0.01, 0.01))
        world.step()
    assert abs(world.position[1] - start[1]) == 0.0
    assert world.velocity[[1, 3, 4]].tolist() == [0.0, 0.0, 0.0]
    t = 60 * world.dt
    h = world.dt / 4
    assert (
        abs(world.velocity[0] - (1.0 + t)) < 1e-4 and abs(world.velocity[5] - 5.0 - 0.01 / 0.004 * t) < 1e-3
    )
    assert abs(world.velocity[2] + t) < 1e-4
    assert abs(world.position[2] - start[2] + 0.5 * t * t) < t * h


@pytest.mark.parametrize("path", PATHS[1:])
def test_without_the_gyroscopic_torque_a_spin_stays(path: str, device: str) -> None:
    """ω of a lopsided body is constant; with the torque it is the angular momentum."""
    for flag in (0, 1):
        world = World(
            path,
            device,
            height=5.0,
            gravity=0.0,
            velocity=(0.0, 0.0, 0.0, 1.0, 5.0, 2.0),
            link={"gyroscopic": flag, "inertia": np.diag([0.01, 0.02, 0.03])},
        )
        world.step(120)
        change = np.abs(world.velocity[3:] - [1.0, 5.0, 2.0]).max()
        assert change < 1e-5 if flag == 0 else change > 0.5


@pytest.mark.parametrize(
    ("named", "options"),
    [
        ("surface velocity", {"link": {"surface_linear": (0.5, 0.0, 0.0)}}),
        ("surface velocity", {"link": {"surface_angular": (0.5, 0.0, 0.0)}}),
        ("gyroscopic", {"link": {"gyroscopic": 0}}),
        ("held along an axis", {"link": {"locked_axes": 1}}),
        ("bounds the impulses", {"link": {"max_contact_impulse": 1.0}}),
        ("torsional friction", {"least_patch_radius": 0.01}),
    ],
)
def test_the_fused_path_refuses_by_name(device: str, named: str, options: dict[str, Any]) -> None:
    with pytest.raises(ModelError, match=named):
        World("fused", device, height=1.0, **options)


@pytest.mark.parametrize("substeps", [1, 4, 8])
def test_impulses_lag_by_half_a_substep(path: str, device: str, substeps: int) -> None:
    """Over a whole bounce they are the change of momentum; while a touch begins half a kick of gravity is still to come.

    A velocity under load is that of half a substep before (docs/architecture.md, "Forces add up").
    """
    fall = 0.02
    world = World(path, device, height=RADIUS + fall, restitution=0.8, substeps=substeps)
    start = world.velocity[2]
    total = world.follow(28)[1].sum() * world.dt
    assert world.position[2] > RADIUS + 0.005 and total > 1.0
    assert abs(world.velocity[2] - start - total + 28 * G * world.dt) < 2e-5
    resting = World(path, device, height=RADIUS, substeps=substeps)
    resting.step()
    assert abs(resting.normal_force / G - (1.0 - 0.5 / substeps)) < 1e-4
    resting.step()
    assert abs(resting.normal_force / G - 1.0) < 1e-4


@pytest.mark.parametrize("path", PATHS[1:])
def test_loads_know_the_torque_of_a_patch(path: str, device: str) -> None:
    """Nothing is left over for the joint that a free body does not have, while its patch slows it."""
    world = World(
        path,
        device,
        height=RADIUS,
        velocity=(0.0, 0.0, 0.0, 0.0, 0.0, 30.0),
        friction=0.5,
        least_patch_radius=0.02,
        known=False,
    )
    loads = StepLoads(world.solver)
    for _ in range(20):
        loads.keep_start()
        world.step()
    loads.evaluate()
    torque = 0.5 * G * 0.02
    assert abs(float(loads.link_acceleration.numpy()[0, 5]) * 0.004 / -torque - 1.0) < 1e-3
    assert np.abs(loads.joint_wrench.numpy()[0]).max() < 1e-3 * torque + 1e-4
