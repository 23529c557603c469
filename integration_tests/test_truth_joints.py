"""Articulations against closed forms and float64 integrations, at default settings, a step of 1/240 s."""

import math

import numpy as np
import pytest

DT = 1.0 / 240.0
SUBSTEPS = 4
GRAVITY = 9.81


def joint_positions(view, articulation, host, steps):
    """Joint positions before each step and after the last, shape [steps + 1, dofs]."""
    found = [host(articulation.get_dof_positions())[0]]
    for _ in range(steps):
        view.step(DT)
        found.append(host(articulation.get_dof_positions())[0])
    return np.array(found)


def rk4(rate, state, h, steps):
    """States at each step of the classical Runge–Kutta method."""
    states = [state]
    for _ in range(steps):
        a = rate(state)
        b = rate(state + 0.5 * h * a)
        c = rate(state + 0.5 * h * b)
        d = rate(state + h * c)
        state = state + h / 6 * (a + 2 * b + 2 * c + d)
        states.append(state)
    return np.array(states)


def test_pendulum_period(author, host, measure, device):
    mass, length, inertia, amplitude = 1.0, 0.4, 0.02, 60.0
    stage = author(GRAVITY)
    stage.fixed_base("/base")
    stage.body("/bob", mass=mass, inertia=(inertia,) * 3, com=(0, 0, -length))
    stage.joint("/hinge", "Revolute", "/base", "/bob", axis="Y", position=amplitude)
    view = stage.view(device)
    q = joint_positions(view, view.create_articulation_view("/base_weld"), host, 2400)[:, 0]
    before = np.flatnonzero((q[:-1] > 0) & (q[1:] <= 0))
    crossing = DT * (before + q[before] / (q[before] - q[before + 1]))
    assert len(crossing) >= 5
    found = (crossing[-1] - crossing[0]) / (len(crossing) - 1)
    # T = 4 sqrt(I / m g l) K(sin(amplitude / 2)), with K from the arithmetic-geometric mean.
    a, b = 1.0, math.cos(math.radians(amplitude) / 2)
    while abs(a - b) > 1e-14:
        a, b = 0.5 * (a + b), math.sqrt(a * b)
    expected = 2 * math.pi / a * math.sqrt((inertia + mass * length**2) / (mass * GRAVITY * length))
    measure("pendulum of 60°, period over 10 s, relative error", abs(found / expected - 1), 0.002)
    measure("its last amplitude, relative change", abs(np.abs(q[-400:]).max() / q[0] - 1), 0.002)


def test_double_pendulum(author, host, measure, device):
    mass, length, com, inertia = 1.0, 0.5, 0.25, 0.021
    stage = author(GRAVITY)
    stage.fixed_base("/base")
    for name in ("upper", "lower"):
        stage.body(f"/{name}", mass=mass, inertia=(inertia,) * 3, com=(0, 0, -com))
    stage.joint("/j1", "Revolute", "/base", "/upper", axis="Y", position=90.0)
    stage.joint("/j2", "Revolute", "/upper", "/lower", axis="Y", at_parent=(0, 0, -length), position=30.0)
    view = stage.view(device)
    q = joint_positions(view, view.create_articulation_view("/base_weld"), host, 120)

    def rate(state):
        """Lagrange's equations of two rods in relative angles from the vertical."""
        (q1, q2), (v1, v2) = state
        c, s = math.cos(q2), math.sin(q2)
        near = inertia + mass * com**2
        m22 = near
        m12 = near + mass * length * com * c
        m11 = 2 * near + mass * length**2 + 2 * mass * length * com * c
        k = mass * length * com * s
        lower = mass * GRAVITY * com * math.sin(q1 + q2)
        upper = mass * GRAVITY * (com + length) * math.sin(q1)
        force = np.array([k * (2 * v1 * v2 + v2 * v2) - upper - lower, -k * v1 * v1 - lower])
        acceleration = np.linalg.solve(np.array([[m11, m12], [m12, m22]]), force)
        return np.array([[v1, v2], acceleration])

    start = np.array([[math.radians(90), math.radians(30)], [0.0, 0.0]])
    expected = rk4(rate, start, DT / 10, 1200)[::10, 0]
    measure("double pendulum of 90° + 30°, 0.5 s, error", np.abs(q - expected).max(), 1e-3, "rad")


def backward_euler(kind, stiffness, damping, target, velocity_target, inertia, bound, samples):
    """Positions at each step of the closed form of one implicit drive, in float64, one substep after the other.

    The impulse is x (h k (q* − q) + h d v*) − x a v with a = h (h k + d), x = 1 / (1 + a r), r the inverse inertia;
    an acceleration drive has the gains of a force drive times the inertia; the bound is a force.
    """
    h = DT / SUBSTEPS
    gain = inertia if kind == "acceleration" else 1.0
    k, d = stiffness * gain, damping * gain
    a = h * (h * k + d)
    x = 1.0 / (1.0 + a / inertia)
    q, v, found = 0.0, 0.0, [0.0]
    for _ in range(samples):
        for _ in range(SUBSTEPS):
            impulse = x * (h * k * (target - q) + h * d * velocity_target) - x * a * v
            v += min(max(impulse, -bound * h), bound * h) / inertia
            q += h * v
        found.append(q)
    return np.array(found)


DRIVES = {
    "force": ("force", 100.0, 10.0, math.inf),
    "acceleration": ("acceleration", 60.0, 5.0, math.inf),
    "stiff": ("force", 2.0e4, 150.0, math.inf),
    "stiff acceleration": ("acceleration", 5.0e3, 40.0, math.inf),
    "undamped": ("force", 200.0, 0.0, math.inf),
    "bounded": ("force", 100.0, 10.0, 8.0),
}


@pytest.mark.parametrize("joint", ["Prismatic", "Revolute"])
@pytest.mark.parametrize("name", list(DRIVES))
def test_drive_step_response(author, host, measure, device, joint, name):
    kind, stiffness, damping, bound = DRIVES[name]
    turning = joint == "Revolute"
    step = math.radians(40.0) if turning else 0.4
    inertia = 0.5 if turning else 2.0
    scale = math.pi / 180 if turning else 1.0  # USD gives angular gains by the degree
    stage = author(0.0)
    stage.fixed_base("/base")
    stage.body("/load", mass=2.0, inertia=(0.5, 0.5, 0.5))
    drive = {
        "type": kind,
        "stiffness": stiffness * scale,
        "damping": damping * scale,
        "targetPosition": step / scale,
        "maxForce": bound,
    }
    stage.joint("/joint", joint, "/base", "/load", axis="X", drive=drive)
    view = stage.view(device)
    q = joint_positions(view, view.create_articulation_view("/base_weld"), host, 480)[:, 0]
    expected = backward_euler(kind, stiffness, damping, step, 0.0, inertia, bound, 480)
    measure(f"{name} drive, {joint.lower()}, error over step", np.abs(q - expected).max() / step, 0.01)


def test_velocity_drive(author, host, measure, device):
    stage = author(0.0)
    stage.fixed_base("/base")
    stage.body("/load", mass=2.0, inertia=(0.5, 0.5, 0.5))
    drive = {"type": "force", "stiffness": 0.0, "damping": 30.0, "targetVelocity": 0.7, "maxForce": math.inf}
    stage.joint("/joint", "Prismatic", "/base", "/load", axis="X", drive=drive)
    view = stage.view(device)
    q = joint_positions(view, view.create_articulation_view("/base_weld"), host, 240)[:, 0]
    expected = backward_euler("force", 0.0, 30.0, 0.0, 0.7, 2.0, math.inf, 240)
    measure("velocity drive, error over way", np.abs(q - expected).max() / expected[-1], 0.01)
