"""Hard scenes of the contact solver at default settings: towers, heavy loads, a card house, a cradle, piles."""

import math
import pathlib

import numpy as np
import pytest
import warp as wp

DT = 1.0 / 60.0
GRAVITY = 9.81


def box(stage, path, size, position, mass=1.0, tilt=0.0, rotation=None):
    """A box with edges `size`; tilted about Y [degree], or turned by a rotation [w, x, y, z]."""
    from pxr import Gf, UsdGeom

    x, y, z = (float(edge) ** 2 for edge in size)
    inertia = [mass / 12.0 * (y + z), mass / 12.0 * (x + z), mass / 12.0 * (x + y)]
    body = stage.body(path, position, mass=mass, inertia=inertia, rotation=("Y", tilt) if tilt else None)
    if rotation is not None:
        UsdGeom.Xformable(body).AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(
            Gf.Quatd(*map(float, rotation))
        )
    shape = stage.cube(f"{path}/shape", 1.0)
    UsdGeom.Xformable(shape).AddScaleOp().Set(Gf.Vec3f(*map(float, size)))
    return shape


def farthest_from_start(view, bodies, host, seconds, dt=DT, every=1):
    """Largest distance of each body from where it started, at any sample, shape [bodies]."""
    start = host(bodies.get_transforms())[:, :3]
    farthest = np.zeros(len(start))
    for step in range(round(seconds / dt)):
        view.step(dt)
        if step % every == 0:
            moved = np.linalg.norm(host(bodies.get_transforms())[:, :3] - start, axis=1)
            farthest = np.maximum(farthest, moved)
    return farthest


@pytest.mark.parametrize("count", [12, 20])
def test_tower_of_boxes_stands(author, host, measure, device, count):
    stage = author(GRAVITY)
    stage.ground()
    # the names do not follow the order of the tower
    for i in range(count):
        stage.box_body(f"/box{(7 * i) % count:02d}", (0, 0, 0.1 + 0.2 * i))
    view = stage.view(device)
    boxes = view.create_rigid_body_view("/box*")
    assert boxes.count == count
    moved = farthest_from_start(view, boxes, host, 30.0, every=10)
    measure(f"tower of {count} boxes, farthest of any in 30 s at 60 Hz", moved.max(), 1e-3, "m")


def test_heavy_box_on_a_light_one(author, host, measure, device):
    stage = author(GRAVITY)
    stage.ground()
    box(stage, "/light", (0.2, 0.2, 0.2), (0, 0, 0.1), mass=1.0)
    box(stage, "/heavy", (0.2, 0.2, 0.2), (0, 0, 0.3), mass=1000.0)
    view = stage.view(device)
    boxes = view.create_rigid_body_view(["/light", "/heavy"])
    moved = farthest_from_start(view, boxes, host, 10.0)
    measure("1000 kg on 1 kg, farthest of any in 10 s", moved.max(), 1e-3, "m")


CARD = (0.002, 0.06, 0.1)  # m
LEAN = 20.0  # degree from upright


def card_house(stage, storeys):
    """A card house: frames of two leaning cards, level cards between them; returns the paths."""
    angle = math.radians(LEAN)
    half, thick = CARD[2] / 2, CARD[0] / 2
    rise = half * math.cos(angle) + thick * math.sin(angle)  # centre of a leaning card above its foot
    out = half * math.sin(angle) + thick * math.cos(angle)  # and beside the ridge
    spacing = 4 * half * math.sin(angle) + 8 * thick
    paths = []
    floor = 0.0
    for storey in range(storeys):
        frames = storeys - storey
        centres = spacing * (np.arange(frames) - (frames - 1) / 2)
        for i, x in enumerate(centres):
            for side in (-1, 1):
                path = f"/card{storey}_{i}_{'l' if side < 0 else 'r'}"
                box(stage, path, CARD, (x + side * out, 0, floor + rise), mass=0.005, tilt=-side * LEAN)
                paths.append(path)
        for i in range(frames - 1):
            path = f"/level{storey}_{i}"
            # over both edges of a ridge at the ends of the row, over one where two level cards meet
            left = centres[i] + (-6 * thick if i == 0 else 0.25 * thick)
            right = centres[i + 1] + (6 * thick if i == frames - 2 else -0.25 * thick)
            centre = ((left + right) / 2, 0, floor + 2 * rise + thick)
            box(stage, path, (right - left, CARD[1], 2 * thick), centre, mass=0.005)
            paths.append(path)
        floor += 2 * rise + 2 * thick
    return paths


def test_card_house_of_three_storeys_stands(author, host, measure, device):
    stage = author(GRAVITY)
    ground = stage.ground()
    paths = card_house(stage, 3)
    card = stage.material("/card", friction=0.7)
    stage.bind(card, ground, *(stage.stage.GetPrimAtPath(f"{path}/shape") for path in paths))
    view = stage.view(device)
    cards = view.create_rigid_body_view(paths)
    moved = farthest_from_start(view, cards, host, 20.0, every=10)
    measure("card house of three storeys, farthest card in 20 s at 60 Hz", moved.max(), 1e-3, "m")


def test_cradle_hands_its_momentum_over(author, host, measure, device):
    stage = author(0.0)
    steel = stage.material("/steel", friction=0.0, restitution=1.0)
    radius, gap = 0.05, 1e-4
    for i in range(5):
        velocity = (1.0, 0, 0) if i == 0 else (0, 0, 0)
        position = (i * (2 * radius + gap) - (0.05 if i == 0 else 0.0), 0, 1)
        stage.ball_body(f"/ball{i}", position, radius, velocity=velocity)
        stage.bind(steel, stage.stage.GetPrimAtPath(f"/ball{i}/shape"))
    view = stage.view(device)
    balls = view.create_rigid_body_view([f"/ball{i}" for i in range(5)])
    for _ in range(48):
        view.step(1.0 / 240.0)
    speed = host(balls.get_velocities())[:, 0]
    measure("cradle, momentum that the last ball lacks", 1.0 - speed[-1], 0.05)
    measure("cradle, momentum that another ball keeps", np.abs(speed[:-1]).max(), 0.03)


def pile(stage, seed, count):
    """Boxes of random size and pose above each other."""
    rng = np.random.default_rng(seed)
    masses, sizes, paths = [], [], []
    for i in range(count):
        size = rng.uniform(0.1, 0.3, 3)
        quaternion = rng.normal(size=4)
        position = (*rng.uniform(-0.3, 0.3, 2), 0.3 + 0.45 * i)
        mass = float(rng.uniform(0.5, 2.0))
        paths.append(f"/box{i}")
        box(stage, paths[-1], size, position, mass, rotation=quaternion / np.linalg.norm(quaternion))
        masses.append(mass)
        sizes.append(size)
    return np.array(masses), np.array(sizes), paths


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_energy_of_a_pile_never_rises(author, host, measure, device, restitution):
    stage = author(GRAVITY)
    ground = stage.ground()
    masses, sizes, paths = pile(stage, 5, 8)
    material = stage.material("/material", restitution=restitution)
    stage.bind(material, ground, *(stage.stage.GetPrimAtPath(f"{path}/shape") for path in paths))
    view = stage.view(device)
    boxes = view.create_rigid_body_view(paths)
    square = sizes**2
    inertia = masses[:, None] / 12.0 * (square.sum(1, keepdims=True) - square)

    def energy():
        pose, velocity = host(boxes.get_transforms()), host(boxes.get_velocities())
        x, y, z, w = pose[:, 3:].T
        spin = velocity[:, 3:]
        # angular velocity in the axes of the box
        axis = np.stack([-x, -y, -z], axis=1)
        twist = 2.0 * np.cross(axis, spin)
        local = spin + w[:, None] * twist + np.cross(axis, twist)
        kinetic = 0.5 * (masses * (velocity[:, :3] ** 2).sum(1)).sum() + 0.5 * (inertia * local**2).sum()
        return kinetic + (masses * GRAVITY * pose[:, 2]).sum()

    start = energy()
    highest = start
    for _ in range(300):
        view.step(DT)
        highest = max(highest, energy())
    measure(f"pile, restitution {restitution}, energy above its start", (highest - start) / start, 1e-3)


def test_forces_of_a_resting_pile_carry_its_weight(author, host, measure, device):
    stage = author(GRAVITY)
    stage.ground()
    masses, _, paths = pile(stage, 3, 8)
    view = stage.view(device)
    contacts = view.create_rigid_contact_view(paths, filter_patterns=[["/ground"]] * len(paths))
    for _ in range(300):
        view.step(DT)
    total = np.zeros(3)
    for _ in range(60):
        view.step(DT)
        total += host(contacts.get_contact_force_matrix(DT)).reshape(-1, 3).sum(0)
    weight = masses.sum() * GRAVITY
    measure("pile at rest, mean ground force over weight", abs(total[2] / 60 / weight - 1.0), 1e-3)


PANDA = pathlib.Path(__file__).parents[1] / "examples" / "panda" / "panda.usdc"


def turn(quaternion, vector):
    """Rotate a vector by a quaternion xyzw."""
    axis, w = quaternion[:3], quaternion[3]
    return vector + 2.0 * np.cross(axis, np.cross(axis, vector) + w * vector)


def test_gripper_lifts_and_holds_a_cube(author, host, measure, device):
    from pxr import UsdPhysics

    stage = author(GRAVITY)
    stage.stage.DefinePrim("/panda").GetReferences().AddReference(str(PANDA))
    for prim in stage.stage.Traverse():
        for kind, instance in ((UsdPhysics.RevoluteJoint, "angular"), (UsdPhysics.PrismaticJoint, "linear")):
            if prim.IsA(kind):
                UsdPhysics.DriveAPI.Apply(prim, instance).CreateTypeAttr("force")
    edge = 0.04
    box(stage, "/cube", (edge,) * 3, (0.5, 0, 0.5), mass=0.5)
    view = stage.view(device)
    arm = view.create_articulation_view("/panda/Geometry/panda_link0")
    cube = view.create_rigid_body_view("/cube")
    array = (lambda values: values) if device == "cpu" else (lambda values: wp.array(values, device=device))
    index = np.zeros(1, np.int32)

    def put(setter, values):
        data = np.asarray(values, np.float32).reshape(1, -1)
        on_device = setter.__name__ in ("set_dof_positions", "set_dof_position_targets", "set_transforms")
        setter(array(data) if on_device else data, array(index) if on_device else index)

    put(arm.set_dof_stiffnesses, [4000.0] * 9)
    put(arm.set_dof_dampings, [400.0] * 7 + [200.0] * 2)
    put(arm.set_dof_max_forces, [200.0] * 7 + [20.0] * 2)
    start = np.array([0, -0.6, 0, -2.2, 0, 1.6, 0.785, edge / 2 + 5e-4, edge / 2 + 5e-4])
    target = start.copy()
    target[7:] = 0.0
    put(arm.set_dof_positions, start)
    put(arm.set_dof_position_targets, target)
    names = arm.shared_metatype.link_names
    hand = names.index("panda_hand")
    fingers = [names.index("panda_leftfinger"), names.index("panda_rightfinger")]
    links = host(arm.get_link_transforms())[0]
    between = links[fingers, :3].mean(0) + turn(links[hand, 3:], np.array([0, 0, 0.045]))
    put(cube.set_transforms, np.concatenate([between, links[hand, 3:]]))
    height = between[2]

    def in_hand():
        pose = host(arm.get_link_transforms())[0, hand]
        place = host(cube.get_transforms())[0, :3] - pose[:3]
        return turn(pose[3:] * np.array([-1, -1, -1, 1]), place)

    held, slip = None, 0.0
    for step in range(720):
        target[1] = -0.6 - 0.5 * min(max((step - 60) / 120, 0.0), 1.0)
        put(arm.set_dof_position_targets, target)
        view.step(DT)
        if step == 60:
            held = in_hand()
        elif step > 60 and step % 6 == 0:
            slip = max(slip, np.linalg.norm(in_hand() - held))
    assert host(cube.get_transforms())[0, 2] - height > 0.1
    measure("cube of 0.5 kg in the gripper of a Panda, slip in 11 s at 60 Hz", slip, 1e-3, "m")
