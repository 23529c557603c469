"""Particles among bodies: both push each other, and everything of a simulation covers them."""

from __future__ import annotations

import numpy as np
import pytest

from tensorphys_engine import ParticleOverflowWarning, Simulation
from tensorphys_scene import (
    Bodies,
    Materials,
    Scene,
    Settings,
    Shapes,
    ShapeType,
    SoftData,
    SoftKind,
    SoftPrims,
    Template,
    replicate,
)

RADIUS = 0.02
OWNER = {"physxParticle:particleSystem": ("/System",)}


def grains(counts, height, *, fluid=False, density=2000.0, **system):
    """Particles on a cubic grid that touch, their lowest centres at a height."""
    axes = [2.0 * RADIUS * np.arange(count) for count in counts]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    points += (*(-points.mean(axis=0)[:2]), height)
    values = {"physxParticle:fluid": fluid, "physics:density": density}
    system = {"particleContactOffset": RADIUS / 0.99, **system}
    prims = {
        "/System": (SoftKind.PARTICLE_SYSTEM, SoftData(values=system)),
        "/Grains": (SoftKind.PARTICLE_SET, SoftData(values=values, targets=OWNER, points=points)),
    }
    return SoftPrims(
        path=tuple(prims),
        kind=[int(kind) for kind, _ in prims.values()],
        transform=np.tile(np.eye(4), (len(prims), 1, 1)),
        data=tuple(data for _, data in prims.values()),
    )


def scene_of(soft, *, box=None, ground=True, gravity=(0.0, 0.0, -9.81), speed=0.0):
    """Particles with, where wanted, a box of half-width 0.1 m (height of its centre, mass) and the ground."""
    bodies, paths, owner, kinds = Bodies(), [], [], []
    if ground:
        paths, owner, kinds = ["/Ground"], [-1], [ShapeType.PLANE]
    if box is not None:
        height, mass = box
        bodies = Bodies(
            path=("/Box",),
            pose=[[0.0, 0.0, height, 0.0, 0.0, 0.0, 1.0]],
            linear_velocity=[[0.0, 0.0, speed]],
            mass=[mass],
            com=[[0.0, 0.0, 0.0]],
            inertia=[np.eye(3) * mass * 0.01 * 2.0 / 3.0],
        )
        paths, owner, kinds = [*paths, "/Box/C"], [*owner, 0], [*kinds, ShapeType.BOX]
    shapes = Shapes(
        path=tuple(paths),
        body=owner,
        type=[int(kind) for kind in kinds],
        size=np.full((len(paths), 3), 0.1),
        material=[0] * len(paths),
    )
    template = Template(
        prims=("", *bodies.path, *paths, *soft.path),
        bodies=bodies,
        shapes=shapes,
        materials=Materials(path=("/M",)),
        soft_prims=soft,
    )
    return Scene(settings=Settings(gravity=gravity), templates=(template,))


def masses(simulation):
    return 1.0 / simulation.particles.model.particles.inverse_mass.numpy().astype(float)


def test_momentum_goes_from_a_body_to_the_grains(device):
    scene = scene_of(grains((4, 4, 4), 0.14), box=(0.0, 3.0), ground=False, gravity=(0, 0, 0), speed=1.0)
    simulation = Simulation(scene, device=device)
    mass = masses(simulation)
    for _ in range(15):
        simulation.step(1.0 / 60.0)
    grain = simulation.particles.state.velocities.numpy().astype(float)
    box = simulation.state.link_velocity.numpy()[0].astype(float)
    np.testing.assert_allclose(mass @ grain + 3.0 * box[:3], [0.0, 0.0, 3.0], atol=3e-6)
    # 8 kg of grains that no longer fly apart from the box, which does not go on at its speed
    assert box[2] < 0.3 and (mass @ grain)[2] > 2.0
    assert simulation.particles.obstacles.needed.numpy()[0] == 0


def test_grains_weigh_on_the_body_that_carries_them(device):
    simulation = Simulation(scene_of(grains((4, 4, 2), 0.24), box=(0.1, 5.0)), device=device)
    forces = []
    for step in range(100):
        simulation.step(1.0 / 60.0)
        count = int(simulation.contacts.count.numpy()[0])
        if step >= 40:
            forces.append(simulation.solver.contact_normal_impulse.numpy()[:count].sum() * 60.0)
    mass = masses(simulation)
    height = simulation.particles.state.positions.numpy()[:, 2]
    assert len(mass) == 32 and height.min() > 0.2
    np.testing.assert_allclose(np.mean(forces), 9.81 * (5.0 + mass.sum()), rtol=5e-3)
    np.testing.assert_allclose(simulation.state.root_pose.numpy()[0, 2], 0.1, atol=1e-3)
    assert height.min() == pytest.approx(0.2 + RADIUS, abs=1.5e-3)


@pytest.mark.parametrize("density", [300.0, 8000.0])
def test_a_box_floats_by_the_law_of_archimedes(density, device):
    """A tank of 0.36 m with 0.2 m of water; a box of half-width 0.1 m is let into it."""
    soft = grains(
        (9, 9, 5),
        RADIUS,
        fluid=True,
        density=1000.0,
        particleContactOffset=RADIUS / 0.594,
        restOffset=0.5 * RADIUS,
    )
    mass = density * 0.008
    scene = scene_of(soft, box=(0.31, mass))
    fence = [[0.68, 0, 0], [-0.68, 0, 0], [0, 0.68, 0], [0, -0.68, 0]]
    pose = [[*place, 0, 0, 0, 1] for place in [[0, 0, 0], [0, 0, 0], *fence]]
    shapes = Shapes(
        path=("/Ground", "/Box/C", "/W0", "/W1", "/W2", "/W3"),
        body=[-1, 0, -1, -1, -1, -1],
        type=[int(ShapeType.PLANE)] + [int(ShapeType.BOX)] * 5,
        size=[[0.1] * 3] * 2 + [[0.5] * 3] * 4,
        pose=pose,
        material=[0] * 6,
    )
    template = scene.templates[0].replace(shapes=shapes, prims=("", "/Box", *shapes.path, *soft.path))
    simulation = Simulation(scene.replace(templates=(template,)), device=device)
    for _ in range(120):
        simulation.step(1.0 / 60.0)
    heights = []
    for _ in range(30):
        simulation.step(1.0 / 60.0)
        heights.append(float(simulation.state.root_pose.numpy()[0, 2]))
    if density > 1000.0:
        # on the ground, or on the last particles that lie there
        assert np.mean(heights) < 0.1 + 1.1 * RADIUS
        return
    places = simulation.particles.state.positions.numpy()
    beside = np.abs(places[:, :2]).max(axis=1) > 0.12
    surface = np.quantile(places[beside, 2], 0.95) + RADIUS
    immersed = surface - (np.mean(heights) - 0.1)
    assert immersed == pytest.approx(mass / (1000.0 * 0.04), abs=0.25 * RADIUS)


def test_gravity_reset_and_saved_states(device):
    simulation = Simulation(scene_of(grains((3, 3, 2), 0.05), box=None), device=device)
    state = simulation.particles.state

    def run(steps):
        for _ in range(steps):
            simulation.step(1.0 / 60.0)
        return state.positions.numpy().copy(), state.velocities.numpy().copy()

    start = state.positions.numpy().copy()
    run(5)
    saved = simulation.save_state()
    first = run(10)
    simulation.load_state(saved)
    second = run(10)
    simulation.set_gravity((1.0, 0.0, 0.0))
    run(3)
    assert (state.velocities.numpy()[:, 0] > 0.02).all()
    simulation.reset()
    np.testing.assert_array_equal(state.positions.numpy(), start)
    third = run(15)
    for kind in range(2):
        np.testing.assert_array_equal(first[kind], second[kind])
        np.testing.assert_array_equal(first[kind], third[kind])


def test_environments_do_not_see_each_other(device):
    one = scene_of(grains((3, 3, 2), 0.24), box=(0.1, 2.0))
    single, several = Simulation(one, device=device), Simulation(replicate(one, 3), device=device)
    for _ in range(20):
        single.step(1.0 / 60.0)
        several.step(1.0 / 60.0)
    count = single.particles.model.particle_count
    wanted = single.particles.state.positions.numpy()
    for environment in range(3):
        found = several.particles.state.positions.numpy()[environment * count : (environment + 1) * count]
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(
            several.state.root_pose.numpy()[environment], single.state.root_pose.numpy()[0]
        )


def test_too_few_neighbours_are_said(device):
    soft = grains((3, 3, 3), 0.05, fluid=True, maxNeighborhood=2)
    simulation = Simulation(scene_of(soft), device=device, on_overflow="warn", strict=False)
    simulation.step(1.0 / 60.0)
    with pytest.warns(ParticleOverflowWarning, match=r"^/System: .*keeps 2"):
        simulation.check_contacts()


def test_what_derives_from_offsets_goes_back_with_them(device):
    simulation = Simulation(scene_of(grains((3, 3, 2), 0.05, fluid=True)), device=device)
    systems = simulation.particles.model.systems
    start = {name: getattr(systems, name).numpy().copy() for name in ("lattice_sum", "second_moment", "wall")}
    saved = simulation.save_state()
    for back in (simulation.reset, lambda: simulation.load_state(saved)):
        systems.fluid_rest.fill_(0.5 * RADIUS)
        simulation.particles.model.update_offsets()
        assert (systems.lattice_sum.numpy() != start["lattice_sum"]).all()
        back()
        for name, values in start.items():
            np.testing.assert_array_equal(getattr(systems, name).numpy(), values)
