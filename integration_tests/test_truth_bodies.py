"""Free bodies against closed forms and conservation laws, at default settings, a step of 1/240 s."""

import math

import numpy as np

DT = 1.0 / 240.0
GRAVITY = 9.81


def matrices(quaternions):
    """Rotation matrices of quaternions xyzw, shape [..., 3, 3]."""
    x, y, z, w = np.moveaxis(quaternions, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def positions(view, bodies, host, steps, dt=DT):
    """Positions of all bodies before each step and after the last, shape [steps + 1, bodies, 3]."""
    found = [host(bodies.get_transforms())[:, :3]]
    for _ in range(steps):
        view.step(dt)
        found.append(host(bodies.get_transforms())[:, :3])
    return np.array(found)


def test_free_fall_and_projectile(author, host, measure, device):
    stage = author(GRAVITY)
    start = np.array([[0.0, 0.0, 0.0], [2.0, 0.0, 1.0]])
    velocity = np.array([[0.0, 0.0, 0.0], [3.0, 1.0, 4.0]])
    stage.body("/fall", start[0])
    stage.body(
        "/thrown", start[1], velocity=velocity[1], angular_velocity=(200, 100, 50), inertia=(0.1, 0.2, 0.25)
    )
    view = stage.view(device)
    bodies = view.create_rigid_body_view(["/fall", "/thrown"])
    path = positions(view, bodies, host, 480)
    t = DT * np.arange(len(path))[:, None, None]
    expected = start + velocity * t + 0.5 * t * t * np.array([0.0, 0.0, -GRAVITY])
    error = np.linalg.norm(path - expected, axis=-1)
    length = np.cumsum(np.linalg.norm(np.diff(expected, axis=0), axis=-1), axis=0)
    relative = error[24:] / length[23:]  # from 0.1 s on; before, the path is no longer than float32 resolves
    measure("free fall, error over path", relative[:, 0].max(), 0.005)
    measure("projectile that spins, error over path", relative[:, 1].max(), 0.005)


def test_spinning_body_keeps_its_angular_momentum_and_flips(author, host, measure, device):
    inertia = np.array([0.1, 0.2, 0.3])
    spin = np.array([0.01, 6.0, 0.01])  # rad/s, about the intermediate axis
    stage = author(0.0)
    stage.body("/top", inertia=inertia, angular_velocity=np.degrees(spin))
    view = stage.view(device)
    top = view.create_rigid_body_view("/top")

    def read():
        rotation = matrices(host(top.get_transforms())[0, 3:])
        angular = host(top.get_velocities())[0, 3:]
        momentum = rotation @ (inertia * (rotation.T @ angular))
        return momentum, 0.5 * angular @ momentum, rotation[:, 1] @ momentum / np.linalg.norm(momentum)

    samples = [read()]
    for _ in range(720):
        view.step(DT)
        samples.append(read())
    momentum = np.array([sample[0] for sample in samples])
    size = np.linalg.norm(momentum, axis=1)
    measure("|L| of a spinning body over 3 s, relative change", np.abs(size / size[0] - 1).max(), 1e-4)
    turned = np.linalg.norm(momentum - momentum[0], axis=1).max() / size[0]
    measure("L as a vector, relative change", turned, 1e-3)
    energy = np.array([sample[1] for sample in samples])
    measure("its energy, relative change", np.abs(energy / energy[0] - 1).max(), 1e-3)
    # The intermediate axis starts along L and turns over; Euler's equations say when.
    along = np.array([sample[2] for sample in samples])
    expected = flip_time(inertia, spin)
    found = DT * np.argmax(along < 0.0)
    assert along[0] > 0.99 and along.min() < -0.9
    measure("time of the intermediate-axis flip, relative error", abs(found / expected - 1), 0.01)


def flip_time(inertia, spin):
    """Time at which the second principal axis first stands across L, by RK4 on Euler's equations in float64."""
    h, w, t = 1e-4, np.array(spin), 0.0

    def rate(w):
        return -np.cross(w, inertia * w) / inertia

    while w[1] > 0.0:
        a = rate(w)
        b = rate(w + 0.5 * h * a)
        c = rate(w + 0.5 * h * b)
        d = rate(w + h * c)
        w = w + h / 6 * (a + 2 * b + 2 * c + d)
        t += h
        assert t < 10.0
    return t


def test_box_sticks_below_the_friction_angle(author, host, measure, device):
    path = slide(author, host, device, 26.0, 720)
    measure("box on 26°, µ = 0.5: way in 3 s", np.linalg.norm(path[-1] - path[0]), 1e-3, "m")


def test_box_on_an_incline_does_not_creep_at_60_hz(author, host, measure, device):
    """The recorded engine creeps 4 mm."""
    path = slide(author, host, device, 26.0, 210, dt=1.0 / 60.0)
    creep = np.linalg.norm(path[210] - path[30])
    measure("box on 26°, µ = 0.5, 60 Hz: creep between 0.5 and 3.5 s", creep, 1e-4, "m")


def test_box_slides_above_the_friction_angle(author, host, measure, device):
    angle = math.radians(27.2)
    path = slide(author, host, device, 27.2, 720)
    found = np.linalg.norm(path[-1] - path[0])
    expected = 0.5 * GRAVITY * (math.sin(angle) - 0.5 * math.cos(angle)) * 3.0**2
    measure("box on 27.2°, µ = 0.5: way in 3 s, relative error", abs(found / expected - 1), 0.02)


def slide(author, host, device, tilt, steps, **options):
    """Path of a box that starts at rest on a tilted plane, µ = 0.5."""
    angle = math.radians(tilt)
    stage = author(GRAVITY)
    normal = np.array([math.sin(angle), 0.0, math.cos(angle)])
    stage.box_body("/box", 0.1 * normal, rotation=("Y", tilt))
    stage.bind(
        stage.material("/rubber", friction=0.5),
        stage.ground(tilt=tilt),
        stage.stage.GetPrimAtPath("/box/shape"),
    )
    view = stage.view(device)
    return positions(view, view.create_rigid_body_view("/box"), host, steps, **options)[:, 0]


def bounce(author, host, device, shape):
    """Velocities [linear, angular] before each step of a body that falls by 1 m on a plane of restitution 0.8."""
    stage = author(GRAVITY)
    ground = stage.ground()
    getattr(stage, f"{shape}_body")("/body", (0, 0, 1.1))
    steel = stage.material("/steel", friction=0.5, restitution=0.8)
    stage.bind(steel, ground, stage.stage.GetPrimAtPath("/body/shape"))
    view = stage.view(device)
    body = view.create_rigid_body_view("/body")
    found = []
    for _ in range(480):
        found.append(host(body.get_velocities())[0])
        view.step(DT)
    return np.array(found)


def hits(vertical):
    """Samples before which a fall ends and after which a rise begins."""
    return np.flatnonzero((vertical[:-1] < -1.0) & (vertical[1:] > 0.0))


def test_restitution_of_a_ball(author, host, measure, device):
    v = bounce(author, host, device, "ball")[:, 2]
    found = hits(v)
    assert len(found) >= 2
    for hit in found[:2]:
        # Gravity acts on either side of the hit; 1 % leaves room for one step of it.
        measure("restitution of a ball, error", abs(-v[hit + 1] / v[hit] - 0.8), 0.01)


def test_restitution_of_a_box_that_falls_flat(author, host, measure, device):
    v = bounce(author, host, device, "box")
    hit = hits(v[:, 2])[0]
    measure("restitution of a box that falls flat, error", abs(-v[hit + 1, 2] / v[hit, 2] - 0.8), 0.01)
    measure("its speed sideways after the hit", np.linalg.norm(v[hit + 1, :2]), 0.05, "m/s")


def test_stack_of_five_boxes_stands(author, host, measure, device):
    stage = author(GRAVITY)
    stage.ground()
    for i in range(5):
        stage.box_body(f"/box{i}", (0, 0, 0.1 + 0.2 * i))
    view = stage.view(device)
    boxes = view.create_rigid_body_view([f"/box{i}" for i in range(5)])
    start = host(boxes.get_transforms())[-1, :3]
    farthest = 0.0
    for _ in range(2400):
        view.step(DT)
        farthest = max(farthest, np.linalg.norm(host(boxes.get_transforms())[-1, :3] - start))
    measure("top of a stack of five boxes, farthest in 10 s", farthest, 0.5e-3, "m")
