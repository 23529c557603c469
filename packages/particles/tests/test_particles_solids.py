"""Grains: friction, contact, momentum, obstacles both ways."""

from __future__ import annotations

import numpy as np
import pytest

import tensorphys_particles as tp
from tensorphys_particles.testing import Plane, Sphere

STILL = (0.0, 0.0, 0.0)
GRAVITY = 9.81


def grains(points, d, *, material=None, velocities=None, masses=1.0, **options):
    member = tp.ParticleSet(
        points, velocities=velocities, masses=masses, fluid=False, material=material or tp.ParticleMaterial()
    )
    options.setdefault("rest_offset", d / 2)
    options.setdefault("solid_rest_offset", d / 2)
    return tp.ParticleSystem(sets=[member], particle_contact_offset=d / 1.98, **options)


def test_angle_of_repose_grows_with_friction(device, make_scene, measured) -> None:
    d = 0.05
    rng = np.random.default_rng(0)
    column = tp.sample_box((-0.2, -0.2, 0.0), (0.2, 0.2, 0.5), d)
    column += rng.uniform(-0.002, 0.002, column.shape) + [0.0, 0.0, 0.003]
    frictions = (0.1, 0.3, 0.6)
    systems = [
        grains(column, d, material=tp.ParticleMaterial(friction=mu), environment=k)
        for k, mu in enumerate(frictions)
    ]
    scene = make_scene(systems, device=device, bodies=[Plane()])
    scene.run(90)
    angles = []
    for start, end in zip(scene.model.system_start, scene.model.system_start[1:], strict=False):
        x = scene.x[start:end]
        r = np.hypot(*(x[:, :2] - np.median(x[:, :2], axis=0)).T)
        # A cone of height H and radius R has its mean height at H / 4 and its mean radius at R / 2 (3-d mean).
        angles.append(float(np.degrees(np.arctan2(4.0 * (x[:, 2].mean() - d / 2), 2.0 * r.mean()))))
    measured("angles of repose [°] for friction 0.1, 0.3, 0.6", angles)
    assert angles[0] + 5.0 < angles[1]
    assert angles[1] + 5.0 < angles[2]
    assert angles[2] < 45.0
    assert np.abs(scene.v).mean() < 0.02


@pytest.mark.parametrize("friction", [0.1, 0.4])
def test_sliding_grain_stops_after_v_squared_over_two_mu_g(device, make_scene, friction, measured) -> None:
    d = 0.1
    material = tp.ParticleMaterial(friction=friction)
    system = grains([[0.0, 0.0, d / 2]], d, velocities=[[1.0, 0.5, 0.0]], material=material)
    scene = make_scene(system, device=device, bodies=[Plane()])
    scene.run(120)
    expected = 1.25 / (2.0 * friction * GRAVITY)
    slid = np.linalg.norm(scene.x[0, :2])
    measured(f"slide at friction {friction} over v² / 2 μ g", slid / expected)
    assert slid == pytest.approx(expected, rel=0.01)
    assert np.abs(scene.v).max() < 1e-3


def test_slope_holds_a_grain_below_its_angle_alone(device, make_scene) -> None:
    d = 0.1
    for slope, slides in ((0.28, False), (0.32, True)):
        normal = (-np.sin(np.arctan(slope)), 0.0, np.cos(np.arctan(slope)))
        start = np.asarray(normal) * d / 2
        system = grains([start], d, material=tp.ParticleMaterial(friction=0.3))
        scene = make_scene(system, device=device, bodies=[Plane(normal)])
        scene.run(60)
        moved = np.linalg.norm(scene.x[0] - start)
        assert (moved > 5e-3) == slides


def test_damping_is_an_exponential_decay(device, make_scene) -> None:
    system = grains([[0.0, 0.0, 0.0]], 0.1, velocities=[[1.0, 2.0, 0.0]], gravity=STILL)
    for rate in (0.5, 3.0, 50.0):
        material = tp.ParticleMaterial(damping=rate)
        system = grains([[0, 0, 0]], 0.1, velocities=[[1.0, 2.0, 0.0]], gravity=STILL, material=material)
        scene = make_scene(system, device=device)
        scene.run(30)
        assert scene.v[0] == pytest.approx(np.array([1.0, 2.0, 0.0]) * np.exp(-rate * 0.5), rel=1e-4)


@pytest.mark.parametrize("scale", [1.0, 0.25, 0.0, -0.5])
def test_fall_scales_with_gravity(device, make_scene, scale) -> None:
    material = tp.ParticleMaterial(gravity_scale=scale)
    scene = make_scene(grains([[0, 0, 0]], 0.1, material=material), device=device)
    scene.run(60)
    assert scene.v[0, 2] == pytest.approx(-GRAVITY * scale, rel=1e-5)
    # Symplectic Euler of 960 substeps lags by half a substep.
    assert scene.x[0, 2] == pytest.approx(-0.5 * GRAVITY * scale * (1.0 + 1.0 / 960.0), rel=1e-4)


def test_momentum_stays_in_collisions(device, make_scene, measured) -> None:
    rng = np.random.default_rng(1)
    d = 0.1
    points = rng.uniform(-0.3, 0.3, (150, 3))
    system = grains(
        points,
        d,
        velocities=rng.normal(size=points.shape) - 3.0 * points,
        masses=rng.uniform(0.1, 10.0, len(points)),
        gravity=STILL,
        material=tp.ParticleMaterial(friction=0.5, adhesion=5.0, adhesion_offset_scale=0.01),
    )
    scene = make_scene(system, device=device)
    before = scene.masses @ scene.v
    scale = (scene.masses * np.linalg.norm(scene.v, axis=1)).sum()
    scene.run(30)
    drift = np.abs(scene.masses @ scene.v - before).max() / scale
    measured("momentum drift of grains over Σ m |v|", drift)
    assert drift < 1e-5


def test_coincident_grains_part_and_keep_their_centre(device, make_scene) -> None:
    d = 0.1
    scene = make_scene(
        grains(np.zeros((5, 3)), d, gravity=STILL, max_depenetration_velocity=1.0), device=device
    )
    scene.run(30)
    x = scene.x
    assert np.isfinite(x).all()
    apart = np.linalg.norm(x[:, None] - x[None], axis=2) + np.eye(5)
    assert apart.min() > 0.9 * d
    assert np.abs(x.mean(axis=0)).max() < 1e-4


def test_coincident_fluid_stays_finite(device, make_scene, fluid_system) -> None:
    scene = make_scene(fluid_system(np.zeros((40, 3)), 0.05, gravity=STILL), device=device)
    scene.run(20)
    assert np.isfinite(scene.x).all()
    # A fluid moves by at most an interaction distance a substep.
    assert np.linalg.norm(scene.x, axis=1).max() < 20 * 16 * 2 * 0.05 / 1.188
    assert np.abs(scene.x.mean(axis=0)).max() < 1e-3


def test_overlap_parts_no_faster_than_allowed(device, make_scene) -> None:
    points = [[0.0, 0.0, 0.0], [0.01, 0.0, 0.0]]
    system = grains(points, 0.1, gravity=STILL, max_depenetration_velocity=0.5)
    scene = make_scene(system, device=device)
    scene.run(3)
    assert (scene.v[1] - scene.v[0])[0] == pytest.approx(0.5, rel=1e-3)


def test_adhesion_holds_a_grain_under_a_ceiling(device, make_scene) -> None:
    d = 0.1
    held = []
    for adhesion in (5.0, 20.0):
        material = tp.ParticleMaterial(adhesion=adhesion, adhesion_offset_scale=0.5)
        system = grains([[0.0, 0.0, -d / 2 - 0.001]], d, material=material)
        scene = make_scene(system, device=device, bodies=[Plane((0.0, 0.0, -1.0))])
        scene.run(60)
        held.append(scene.x[0, 2] > -d)
    assert held == [False, True]


def test_free_sphere_takes_the_momentum_that_grains_lose(device, make_scene) -> None:
    d = 0.05
    points = tp.sample_box((-0.1, -0.1, 0.3), (0.1, 0.1, 0.5), d)
    velocities = np.tile([0.1, 0.0, -2.0], (len(points), 1))
    system = grains(points, d, velocities=velocities, masses=0.05, gravity=STILL)
    sphere = Sphere((0.0, 0.0, 0.0), 0.2, inverse_mass=0.5)
    scene = make_scene(system, device=device, bodies=[sphere])
    before = scene.masses @ scene.v
    scene.run(30)
    taken = scene.obstacles.body_impulse.numpy()[0]
    assert taken[2] < -0.5 * abs(before[2])
    np.testing.assert_allclose(scene.masses @ scene.v + taken, before, atol=2e-5 * abs(before[2]))
    np.testing.assert_allclose(scene.obstacles.body_velocity.numpy()[0], 0.5 * taken, rtol=1e-4, atol=1e-5)


def test_ball_of_half_the_density_floats_half_under(device, make_scene, fluid_system) -> None:
    # A ball half as dense as the fluid rises from the bed of a tank.
    d, width = 0.05, 0.5
    points = tp.sample_box((0, 0, 0), (width, width, 0.4), d)
    centre, radius = np.array([0.25, 0.25, 0.15]), 0.1
    points = points[np.linalg.norm(points - centre, axis=1) > radius + d / 2]
    mass = 0.5 * 1000.0 * 4.0 / 3.0 * np.pi * radius**3
    ball = Sphere(tuple(centre), radius, inverse_mass=1.0 / mass, gravity=(0.0, 0.0, -GRAVITY))
    walls = [
        Plane(),
        Plane((1.0, 0.0, 0.0)),
        Plane((-1.0, 0.0, 0.0), (width, 0.0, 0.0)),
        Plane((0.0, 1.0, 0.0)),
        Plane((0.0, -1.0, 0.0), (0.0, width, 0.0)),
    ]
    scene = make_scene(fluid_system(points, d), device=device, bodies=[ball, *walls], rows=6)
    scene.run(110)
    height = scene.obstacles.center.numpy()[0, 2]
    surface = np.quantile(scene.x[:, 2], 0.97) + d / 2
    assert height == pytest.approx(surface, abs=radius / 2)
