"""Deformables among bodies: contacts, friction, attachments, targets; against weights, momenta and each other."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

from tensorphys_engine import Simulation
from tensorphys_engine.testing.soft_scenes import RigidBox, SoftCube, soft_scene
from tensorphys_scene import SoftData

WEIGHT = 0.2 * 9.81
PINS = "OmniPhysicsVtxXformAttachment"


def nodes(simulation, body=0):
    return simulation.soft.state.position.numpy()[simulation.soft.nodes_of(body)]


def force(simulation, body=0):
    return simulation.soft.contact_force.numpy()[simulation.soft.nodes_of(body)].astype(float).sum(axis=0)


def run(simulation, seconds):
    for _ in range(round(seconds / simulation.time_step)):
        simulation.step()
        assert np.isfinite(simulation.soft.state.positions.numpy()).all()


def energy(simulation):
    """Kinetic, elastic and potential energy of all deformables."""
    soft = simulation.soft
    soft.measures.measure_bodies(soft.state)
    height = (soft.model.node_mass.numpy() * soft.state.position.numpy()[:, 2]).sum()
    moving = soft.measures.kinetic_energy.numpy().sum() + soft.measures.elastic_energy.numpy().sum()
    return float(moving + 9.81 * height)


def on_links(simulation):
    """Mean force of deformables on each link in the last step."""
    return simulation.soft.coupling.ends.total.numpy()[:, :3].astype(float) / simulation.time_step


@pytest.mark.parametrize(("modulus", "tilt"), [(5e4, 0.0), (1e7, 0.0), (2e4, 0.3)])
def test_cube_falls_and_rests(modulus, tilt, device, measure):
    simulation = Simulation(
        soft_scene([SoftCube((0.0, 0.0, 0.05), youngs_modulus=modulus, tilt=tilt)]), device=device
    )
    highest = energy(simulation)
    start = highest
    for _ in range(90):
        simulation.step()
        now = energy(simulation)
        assert now <= highest + 1e-4 * start
        highest = min(highest, now)
    measure(
        "force of the ground on a cube at rest, of its weight", abs(force(simulation)[2] / WEIGHT - 1.0), 1e-2
    )
    measure("depth of its nodes [m]", max(-nodes(simulation)[:, 2].min(), 0.0), 1e-4)
    assert np.abs(simulation.soft.state.velocity.numpy()).max() < 2e-3


def test_cube_on_a_box_that_rests(device, measure):
    scene = soft_scene([SoftCube((0.01, 0.0, 0.126))], [RigidBox((0.0, 0.0, 0.05), (0.1, 0.1, 0.05), 0.5)])
    simulation = Simulation(scene, device=device)
    run(simulation, 1.5)
    measure("force of a box on a cube, of its weight", abs(force(simulation)[2] / WEIGHT - 1.0), 1e-2)
    apart = np.abs(force(simulation) + on_links(simulation)[0]).max()
    measure("difference of the forces on the two sides, of the weight", apart / WEIGHT, 1e-4)
    ground = simulation.solver.contact_impulse.numpy()[:, 2].sum() / simulation.time_step
    measure("force of the ground on both, of their weight", abs(ground / (0.7 * 9.81) - 1.0), 1e-2)
    simulation.loads.evaluate()
    # what the cube does is in the loads of the body: nothing is left over for a joint that is not there
    left = simulation.loads.joint_wrench.numpy()[0, :3]
    measure("force that the loads of the box leave over [N]", np.abs(left).max(), 5e-2)


def test_two_cubes_stacked(device, measure):
    scene = soft_scene([SoftCube((0.0, 0.0, 0.03)), SoftCube((0.002, 0.0, 0.085))])
    simulation = Simulation(scene, device=device)
    run(simulation, 1.5)
    upper, lower = force(simulation, 1), force(simulation, 0)
    measure("force on the upper of two cubes, of its weight", abs(upper[2] / WEIGHT - 1.0), 1e-2)
    # the lower one gets the weight of the upper and what the ground gives for both
    measure("net contact force on the lower cube, of its weight", abs(lower[2] / WEIGHT - 1.0), 1e-2)
    overlap = nodes(simulation, 0)[:, 2].max() - np.sort(nodes(simulation, 1)[:, 2])[:12].mean()
    measure("overlap of the two, on average [m]", overlap, 2e-3)


def test_column_of_three_cubes_stands(device, measure):
    """Of the softness at which contacts as soft as the cubes let it buckle (a solid column of this size stands)."""
    cubes = [SoftCube((0.0, 0.0, 0.0255 + 0.0505 * i), youngs_modulus=5e4) for i in range(3)]
    simulation = Simulation(soft_scene(cubes), device=device)
    run(simulation, 1.0)
    before = nodes(simulation, 2).mean(axis=0)
    run(simulation, 1.0)
    after = nodes(simulation, 2).mean(axis=0)
    measure("lean of a column of three soft cubes after 2 s [m]", np.abs(after[:2]).max(), 3e-3)
    measure("– way of the top in the second second [m]", np.abs(after - before).max(), 5e-4)
    measure("– force on the top cube, of its weight", abs(force(simulation, 2)[2] / WEIGHT - 1.0), 1e-2)


def test_gripped_cube_is_lifted_and_held(device, measure):
    plates = [
        RigidBox((side * 0.035, 0.0, 0.025), (0.01, 0.03, 0.03), kinematic=True) for side in (-1.0, 1.0)
    ]
    simulation = Simulation(soft_scene([SoftCube((0.0, 0.0, 0.025))], plates), device=device)
    held = None
    for step in range(60 * 7):
        time = (step + 1) / 60.0
        closed, lift = 0.003 * min(time / 0.4, 1.0), 0.1 * np.clip((time - 0.6) / 1.0, 0.0, 1.0)
        pose = [[s * (0.035 - closed), 0.0, 0.025 + lift, 0.0, 0.0, 0.0, 1.0] for s in (-1.0, 1.0)]
        simulation.state.root_target.assign(np.array(pose, np.float32))
        simulation.state.root_aimed.fill_(1)
        simulation.step()
        if time >= 2.0 and held is None:
            held = nodes(simulation).copy()
    slip = np.linalg.norm(nodes(simulation) - held, axis=1).max()
    measure("slip of a gripped cube of 0.2 kg in 5 s at 60 Hz [m]", slip, 2e-3)
    measure("force on a gripped cube, of its weight", abs(force(simulation)[2] / WEIGHT - 1.0), 1e-3)
    sides = on_links(simulation)
    apart = np.abs(force(simulation) + sides.sum(axis=0)).max() / np.abs(sides).max()
    measure("difference of the forces on cube and plates, of the grip", apart, 1e-4)


def test_cube_that_hits_a_box_keeps_momentum(device, measure):
    mass = 0.3
    cube = SoftCube((-0.09, 0.01, 0.005), velocity=(1.0, 0.0, 0.0))
    scene = soft_scene([cube], [RigidBox((0.0, 0.0, 0.0), (0.05,) * 3, mass)], gravity=0.0, ground=False)
    simulation = Simulation(scene, device=device)
    soft = simulation.soft
    node_mass = soft.model.node_mass.numpy()

    def momentum():
        total = (node_mass[:, None] * soft.state.velocity.numpy()).sum(axis=0)
        return total + mass * simulation.state.link_velocity.numpy()[0, :3].astype(float)

    start, worst = momentum(), 0.0
    for _ in range(30):
        simulation.step()
        worst = max(worst, np.abs(momentum() - start).max())
    assert simulation.state.link_velocity.numpy()[0, 0] > 0.2
    measure("momentum of a cube and a box that collide, of what it was", worst / 0.2, 1e-5)


def test_cubes_that_collide_keep_momentum(device, measure):
    cubes = [
        SoftCube((-0.04, 0.004, 0.0), velocity=(0.5, 0.0, 0.0)),
        SoftCube((0.02, 0.0, 0.003), mass=0.1, youngs_modulus=2e5),
    ]
    simulation = Simulation(soft_scene(cubes, gravity=0.0, ground=False), device=device)
    mass = simulation.soft.model.node_mass.numpy()

    def momentum():
        return (mass[:, None] * simulation.soft.state.velocity.numpy()).sum(axis=0)

    start, worst = momentum(), 0.0
    for _ in range(30):
        simulation.step()
        worst = max(worst, np.abs(momentum() - start).max())
    second = simulation.soft.state.velocity.numpy()[simulation.soft.nodes_of(1), 0]
    assert second.mean() > 0.2
    measure("momentum of two cubes that collide, of what it was", worst / 0.1, 1e-5)


def test_sheet_hangs_over_a_sphere(device, measure):
    # a shell with the weight and stiffness of cloth
    sheet = SoftCube((0.0, 0.0, 0.105), edge=0.2, cells=10, mass=0.02, thickness=1e-3, youngs_modulus=1e5)
    scene = soft_scene([sheet], [RigidBox((0.0, 0.0, 0.0), (0.1,), kinematic=True)], ground=False)
    simulation = Simulation(scene, device=device)
    run(simulation, 1.5)
    x = nodes(simulation)
    distance = np.linalg.norm(x, axis=1)
    measure("depth of a sheet in the sphere that it hangs over [m]", max(0.1 - distance.min(), 0.0), 2e-3)
    assert x[:, 2].min() < 0.07, "its corners hang"
    middle = np.hypot(x[:, 0], x[:, 1]).argmin()
    assert abs(x[middle, 0]) < 5e-3 and x[middle, 2] > 0.099
    measure(
        "force of the sphere on the sheet, of its weight",
        abs(force(simulation)[2] / (0.02 * 9.81) - 1.0),
        2e-2,
    )


def test_attachments_hold_and_tell_their_force(device, measure):
    top = [i for i, p in enumerate(_cube_points()) if p[2] > 0.0249]
    world = SoftData(
        schemas=(PINS,),
        values={"omniphysics:vtxIndicesSrc0": np.array(top)},
        targets={"omniphysics:src0": ("/soft0",), "omniphysics:src1": ("/ground",)},
    )
    simulation = Simulation(soft_scene([SoftCube((0.0, 0.0, 0.2))], attachments=[world]), device=device)
    start = nodes(simulation).copy()
    run(simulation, 2.0)
    moved = np.abs(nodes(simulation)[top] - start[top]).max()
    measure("motion of nodes that are attached to the world [m]", moved, 1e-6)
    total = simulation.soft.attachment_force.numpy().astype(float).sum(axis=0)
    measure("force of the attachments of a hanging cube, of its weight", abs(total[2] / WEIGHT - 1.0), 1e-2)
    simulation.soft.detach(top)
    run(simulation, 0.5)
    assert nodes(simulation)[:, 2].max() < 0.1


def test_body_hangs_on_a_cube(device, measure):
    """A box below a cube whose top is held by targets: the attachments carry it."""
    points = _cube_points()
    top, bottom = (np.flatnonzero(np.abs(points[:, 2] - z) < 1e-6) for z in (0.025, -0.025))
    pins = SoftData(
        schemas=(PINS,),
        values={"omniphysics:vtxIndicesSrc0": bottom},
        targets={"omniphysics:src0": ("/soft0",), "omniphysics:src1": ("/box0",)},
    )
    scene = soft_scene(
        [SoftCube((0.0, 0.0, 0.2), damping=0.02)],
        [RigidBox((0.0, 0.0, 0.155), (0.02,) * 3, 0.3)],
        attachments=[pins],
        ground=False,
    )
    simulation = Simulation(scene, device=device)
    target = simulation.soft.control.target.numpy()
    target[top, :3] = nodes(simulation)[top]
    target[top, 3] = 0.0
    simulation.soft.control.target.assign(target)
    run(simulation, 3.0)
    np.testing.assert_array_equal(nodes(simulation)[top].astype(np.float32), target[top, :3])
    measure(
        "force on a body that hangs on a cube, of its weight",
        abs(on_links(simulation)[0, 2] / (0.3 * 9.81) - 1.0),
        1e-2,
    )
    bottom_height = nodes(simulation)[bottom, 2].mean()
    gap = bottom_height - simulation.state.link_pose.numpy()[0, 2] - 0.02
    measure("gap between a cube and the body that hangs on it [m]", abs(gap), 1e-5)
    reaction = simulation.soft.fem.reaction.numpy()[top].astype(float).sum(axis=0)
    measure("reaction of the targets, of both weights", abs(reaction[2] / (0.5 * 9.81) - 1.0), 1e-2)


def test_states_are_saved_loaded_and_reset(device):
    scene = soft_scene([SoftCube((0.0, 0.0, 0.028))], [RigidBox((0.02, 0.0, 0.1), (0.02,) * 3, 0.1)])
    simulation = Simulation(scene, device=device)
    first = []
    for _ in range(20):
        simulation.step()
        first.append(nodes(simulation).copy())
        if len(first) == 10:
            saved = simulation.save_state()
    simulation.load_state(saved)
    for k in range(10, 20):
        simulation.step()
        np.testing.assert_array_equal(nodes(simulation), first[k])
    simulation.reset()
    for k in range(5):
        simulation.step()
        np.testing.assert_array_equal(nodes(simulation), first[k])


def test_environments_do_not_know_each_other(device):
    cubes = [SoftCube((0.0, 0.0, 0.03)), SoftCube((0.002, 0.0, 0.085))]
    boxes = [RigidBox((0.02, 0.0, 0.2), (0.02,) * 3, 0.1)]
    alone = Simulation(soft_scene(cubes, boxes), device=device)
    many = Simulation(soft_scene(cubes, boxes, environment_count=3), device=device)
    for _ in range(20):
        alone.step()
        many.step()
    for environment in range(3):
        for body in range(2):
            found = nodes(many, 2 * environment + body)
            np.testing.assert_array_equal(found, nodes(alone, body))
    np.testing.assert_array_equal(many.state.link_pose.numpy()[2], alone.state.link_pose.numpy()[0])


def test_targets_carry_nodes_and_let_them_go(device):
    simulation = Simulation(soft_scene([SoftCube((0.0, 0.0, 0.1))], gravity=0.0), device=device)
    x = nodes(simulation).astype(np.float32)
    chosen = x[:, 0] < -0.02
    target = simulation.soft.control.target.numpy()
    for step in range(20):
        target[chosen, :3] = x[chosen] + np.float32(0.002 * (step + 1)) * np.array((1, 0, 0), np.float32)
        target[chosen, 3] = 0.0
        simulation.soft.control.target.assign(target)
        simulation.step()
        np.testing.assert_array_equal(nodes(simulation)[chosen].astype(np.float32), target[chosen, :3])
    target[:, 3] = 1.0
    simulation.soft.control.target.assign(target)
    mass = simulation.soft.model.node_mass.numpy()[:, None]
    before = (mass * simulation.soft.state.velocity.numpy()).sum(axis=0)
    run(simulation, 0.3)
    after = (mass * simulation.soft.state.velocity.numpy()).sum(axis=0)
    np.testing.assert_allclose(after, before, atol=1e-7)
    assert before[0] > 0.2 * 0.12 * 0.5


def test_self_collision_of_a_folded_sheet(device):
    """A sheet whose halves are thrown at each other stops at its thickness with self-collision, and passes without."""
    results = []
    for self_collision in (False, True):
        sheet = SoftCube(
            (0.0, 0.0, 0.0),
            edge=0.1,
            cells=8,
            mass=0.01,
            thickness=2e-3,
            youngs_modulus=1e5,
            self_collision=self_collision,
        )
        simulation = Simulation(soft_scene([sheet], gravity=0.0, ground=False), device=device)
        x = nodes(simulation).astype(np.float32)
        # folded along y: the right half lies 12 mm above the left one
        angle = np.clip((x[:, 0] + 0.01) / 0.02, 0.0, 1.0) * np.pi
        right = np.maximum(x[:, 0] - 0.01, 0.0)
        radius = 0.006
        folded = np.stack(
            (
                np.minimum(x[:, 0], -0.01) + radius * np.sin(angle) - right,
                x[:, 1],
                radius * (1 - np.cos(angle)),
            ),
            1,
        )
        velocity = np.zeros_like(x)
        velocity[:, 2] = np.where(x[:, 0] > 0.01, -0.5, 0.0)
        soft = simulation.soft
        soft.set_positions(wp.array(folded.astype(np.float32), dtype=wp.vec3, device=device))
        soft.set_velocities(wp.array(velocity, dtype=wp.vec3, device=device))
        lowest = 1.0
        for _ in range(6):
            simulation.step()
            y = nodes(simulation)
            lowest = min(lowest, (y[x[:, 0] > 0.03, 2].mean() - y[x[:, 0] < -0.03, 2].mean()))
        results.append(lowest)
    assert results[0] < 0.0 < results[1]


def _cube_points():
    from tensorphys_fem import box_mesh

    return box_mesh((3,) * 3, 0.05 / 3, origin=(-0.025,) * 3).points
