"""Cloth: stretch, shape, energy, air, pressure, and the twin of the springs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorphys_particles as tp
from tensorphys_particles import _reference
from tensorphys_particles.testing import Plane

STILL = (0.0, 0.0, 0.0)
GRAVITY = 9.81


def cloth_system(mesh, *, particle_contact_offset=0.01, self_collision=False, **options):
    names = ("gravity", "wind", "air_density", "environment", "max_neighborhood")
    system = {name: options.pop(name) for name in names if name in options}
    return tp.ParticleSystem(
        cloths=[tp.ParticleCloth(mesh, **options)],
        particle_contact_offset=particle_contact_offset,
        global_self_collision=self_collision,
        **system,
    )


def test_hanging_cloth_hardly_stretches(device, make_scene, measured) -> None:
    mesh = tp.ClothMesh.grid(
        (32, 32), (1.0, 1.0), stretch_stiffness=1e4, shear_stiffness=1e3, bend_stiffness=1e2, damping=0.1
    )
    hung = np.column_stack((np.zeros(1024), mesh.points[:, 1], -0.5 - mesh.points[:, 0]))
    masses = np.full(1024, 0.2 / 1024)
    masses[:32] = 0.0
    system = cloth_system(
        mesh, masses=masses, positions=hung, material=tp.ParticleMaterial(damping=2.0),
    )  # fmt: skip
    scene = make_scene(system, device=device)
    scene.run(70)
    x = scene.x.reshape(32, 32, 3)
    down = np.linalg.norm(np.diff(x, axis=0), axis=2)
    across = np.linalg.norm(np.diff(x, axis=1), axis=2)
    measured("hanging cloth: largest stretch of an edge", down.max() * 31 - 1.0)
    measured("hanging cloth: stretch from top to bottom", down.sum(axis=0).mean() - 1.0)
    assert down.max() * 31 < 1.01
    assert across.max() * 31 < 1.01
    assert down.sum(axis=0).max() < 1.01
    assert np.abs(scene.v).max() < 1e-2
    np.testing.assert_array_equal(x[0], hung.reshape(32, 32, 3)[0].astype(np.float32))


def test_hanging_strip_follows_the_catenary(device, make_scene, measured) -> None:
    count, span = 33, 0.7
    points = np.zeros((count, 3))
    points[:, 0] = np.linspace(0.0, 1.0, count)
    ends = np.column_stack((np.arange(count - 1), np.arange(1, count)))
    springs = tp.SpringSet(
        ends, tp.rest_lengths(points, ends), np.full(count - 1, 1e6), np.full(count - 1, 0.01)
    )
    mesh = tp.ClothMesh(points, np.zeros((0, 3)), springs)
    masses = np.full(count, 0.01)
    masses[[0, -1]] = 0.0
    s = np.linspace(-0.5, 0.5, count)
    start = np.column_stack((span * (s + 0.5), 0 * s, -1.4 * np.sqrt(1 - span**2) * (0.5 - np.abs(s))))
    system = cloth_system(mesh, masses=masses, positions=start, material=tp.ParticleMaterial(damping=3.0))
    scene = make_scene(system, device=device)
    scene.run(240)
    # 2 a sinh(span / 2 a) = 1
    low, high = 0.05, 10.0
    for _ in range(80):
        a = 0.5 * (low + high)
        low, high = (a, high) if 2.0 * a * np.sinh(span / (2.0 * a)) > 1.0 else (low, a)
    x = scene.x
    expected = a * (np.cosh((x[:, 0] - span / 2) / a) - np.cosh(span / (2.0 * a)))
    sag = -expected.min()
    measured("catenary: largest distance over sag", np.abs(x[:, 2] - expected).max() / sag)
    assert np.abs(x[:, 2] - expected).max() < 0.01 * sag
    assert np.abs(scene.v).max() < 5e-3


def test_energy_of_a_swinging_cloth_does_not_grow(device, make_scene, measured) -> None:
    stiffness = 500.0
    mesh = tp.ClothMesh.grid(
        (12, 12), (0.5, 0.5), stretch_stiffness=stiffness, shear_stiffness=stiffness, bend_stiffness=stiffness / 10,
        damping=0.0,
    )  # fmt: skip
    masses = np.full(144, 0.01)
    masses[[0, 11]] = 0.0
    scene = make_scene(cloth_system(mesh, masses=masses), device=device)
    springs = mesh.springs

    def energy():
        x, v = scene.x, scene.v
        lengths = np.linalg.norm(x[springs.indices[:, 0]] - x[springs.indices[:, 1]], axis=1)
        elastic = 0.5 * (springs.stiffnesses * (lengths - springs.rest_lengths) ** 2).sum()
        return elastic + (scene.masses * (GRAVITY * x[:, 2] + 0.5 * (v**2).sum(axis=1))).sum()

    moved = scene.masses.sum() * GRAVITY * 0.5
    values = [energy()]
    for _ in range(120):
        scene.run(1)
        values.append(energy())
    rises = np.maximum.accumulate(np.diff(np.minimum.accumulate(values)))
    worst = (np.asarray(values) - np.minimum.accumulate(values)).max() / moved
    measured("largest rise of the energy of a cloth over m g L", worst)
    assert (rises <= 0.0).all()
    assert worst < 1e-3
    assert values[-1] < values[0]


@pytest.mark.parametrize(("self_collision", "iterations"), [(False, 1), (True, 1), (True, 2)])
def test_cloth_momentum_stays(device, make_scene, self_collision, iterations) -> None:
    rng = np.random.default_rng(5)
    mesh = tp.ClothMesh.grid((10, 10), (0.3, 0.3), stretch_stiffness=1e3, damping=0.5)
    system = cloth_system(
        mesh, masses=rng.uniform(0.005, 0.02, 100), velocities=rng.normal(size=(100, 3)), gravity=STILL,
        self_collision=self_collision, particle_contact_offset=0.016,
    )  # fmt: skip
    scene = make_scene(system, device=device, settings=tp.SolverSettings(iterations=iterations))
    before = scene.masses @ scene.v
    scale = (scene.masses * np.linalg.norm(scene.v, axis=1)).sum()
    scene.run(30)
    assert np.abs(scene.masses @ scene.v - before).max() < 1e-5 * scale


def hung_mass(stiffness, damping, *, velocities=None, gravity=GRAVITY):
    """Mass of 2 on one vertical spring of length 1."""
    points = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
    springs = tp.SpringSet([[0, 1]], 1.0, stiffness, damping)
    mesh = tp.ClothMesh(points, np.zeros((0, 3)), springs)
    return cloth_system(mesh, masses=[0.0, 2.0], velocities=velocities, gravity=(0.0, 0.0, -gravity))


@pytest.mark.parametrize("stiffness", [50.0, 400.0])
def test_spring_stretches_by_weight_over_stiffness(device, make_scene, stiffness) -> None:
    scene = make_scene(hung_mass(stiffness, 20.0), device=device)
    scene.run(300)
    assert -scene.x[1, 2] - 1.0 == pytest.approx(2.0 * GRAVITY / stiffness, rel=1e-3)


@pytest.mark.parametrize("damping", [1.0, 8.0])
def test_spring_damping_is_that_of_an_oscillator(device, make_scene, damping) -> None:
    # Overdamped by the substep alone by h ω² / 2 on top of c / 2 m.
    stiffness, mass = 50.0, 2.0
    scene = make_scene(
        hung_mass(stiffness, damping, velocities=[[0, 0, 0], [0, 0, -0.1]], gravity=0.0), device=device
    )
    rate, omega = damping / (2 * mass), np.sqrt(stiffness / mass)
    ring = np.sqrt(omega**2 - rate**2)
    errors = []
    for step in range(1, 91):
        scene.run(1)
        t = step / 60
        expected = 0.1 / ring * np.exp(-(rate + omega**2 / 960 / 2) * t) * np.sin(ring * t)
        errors.append(-scene.x[1, 2] - 1.0 - expected)
    assert np.abs(errors).max() < 0.01 * 0.1 / ring


def flat_cloth(material, *, wind=STILL, gravity=(0.0, 0.0, -GRAVITY), points=None):
    mesh = tp.ClothMesh.grid((6, 6), (0.5, 0.5), stretch_stiffness=1e4, damping=1.0)
    # As much mass as area at each particle, so that it stays flat.
    masses = mesh.masses(0.36 / 0.25)
    return cloth_system(mesh, masses=masses, material=material, wind=wind, gravity=gravity, positions=points)


def test_drag_has_a_terminal_speed(device, make_scene, measured) -> None:
    # m g = ½ ρ c A v², the cloth lying across its fall.
    speeds = []
    for drag in (0.5, 2.0):
        scene = make_scene(flat_cloth(tp.ParticleMaterial(drag=drag)), device=device)
        scene.run(240)
        expected = np.sqrt(2.0 * 0.36 * GRAVITY / (1.225 * drag * 0.25))
        speed = -(scene.masses @ scene.v[:, 2]) / scene.masses.sum()
        measured(f"terminal speed with drag {drag} over true", speed / expected)
        assert speed == pytest.approx(expected, rel=0.01)
        speeds.append(speed)
    assert speeds[0] > speeds[1]


def test_drag_carries_a_cloth_with_the_wind(device, make_scene) -> None:
    points = tp.ClothMesh.grid((6, 6), (0.5, 0.5)).points[:, [2, 1, 0]]
    system = flat_cloth(tp.ParticleMaterial(drag=1.0), wind=(4.0, 0.0, 0.0), gravity=STILL, points=points)
    scene = make_scene(system, device=device)
    scene.run(60)
    # m u' = -½ ρ c A u²: the wind's lead falls as u₀ / (1 + u₀ k t).
    k = 0.5 * 1.225 * 0.25 / 0.36
    speed = (scene.masses @ scene.v[:, 0]) / scene.masses.sum()
    assert speed == pytest.approx(4.0 - 4.0 / (1.0 + 4.0 * k), rel=0.01)


def test_lift_acts_across_the_wind(device, make_scene) -> None:
    tilted = tp.ClothMesh.grid((6, 6), (0.5, 0.5)).points @ np.array(
        [[np.cos(0.5), 0.0, -np.sin(0.5)], [0.0, 1.0, 0.0], [np.sin(0.5), 0.0, np.cos(0.5)]]
    )
    accelerations = []
    for lift in (0.5, 1.0):
        system = flat_cloth(
            tp.ParticleMaterial(lift=lift), wind=(6.0, 0.0, 0.0), gravity=STILL, points=tilted
        )
        scene = make_scene(system, device=device)
        scene.run(1, 1 / 240)
        v = (scene.masses @ scene.v) / scene.masses.sum()
        assert abs(v[0]) < 0.01 * abs(v[2])
        accelerations.append(v[2] * 240)
    # ½ ρ c A U² (n·û) √(1 - (n·û)²), n tilted by 0.5.
    expected = 0.5 * 1.225 * 0.25 * 36.0 * np.sin(0.5) * np.cos(0.5) / 0.36
    assert np.abs(accelerations) == pytest.approx([0.5 * expected, expected], rel=0.02)


def cube_mesh(n=4, size=0.4, **stiffness):
    """Closed surface of a cube of n cells a side."""
    index: dict[tuple[int, int, int], int] = {}
    triangles = []
    for axis in range(3):
        for side in (0, n):
            for i in range(n):
                for j in range(n):
                    quad = []
                    for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1)):
                        key = [0, 0, 0]
                        key[axis], key[(axis + 1) % 3], key[(axis + 2) % 3] = side, i + di, j + dj
                        quad.append(index.setdefault(tuple(key), len(index)))
                    quad = quad if side else quad[::-1]
                    triangles += [quad[:3], [quad[0], quad[2], quad[3]]]
    points = (np.array(list(index)) / n - 0.5) * size
    return tp.ClothMesh.from_triangles(points, triangles, **stiffness)


def test_pressure_holds_a_volume(device, make_scene, measured) -> None:
    mesh = cube_mesh(stretch_stiffness=100.0, shear_stiffness=50.0, bend_stiffness=0.0, damping=0.5)
    assert mesh.closed
    assert mesh.volume == pytest.approx(0.064)
    systems = [
        cloth_system(mesh, masses=0.01, pressure=pressure, gravity=STILL, environment=k, material=tp.ParticleMaterial(damping=5.0))
        for k, pressure in enumerate((1.0, 1.2))
    ]  # fmt: skip
    scene = make_scene(systems, device=device)
    scene.run(40)
    volumes = scene.solver.volume.numpy() / mesh.volume
    measured("volumes for pressures 1.0 and 1.2", volumes.tolist())
    assert volumes == pytest.approx([1.0, 1.2], rel=0.01)
    assert np.abs(scene.masses @ scene.x).max() < 1e-4


def test_inflated_cube_rests_on_a_floor_where_an_empty_one_collapses(device, make_scene) -> None:
    mesh = cube_mesh(stretch_stiffness=100.0, shear_stiffness=10.0, bend_stiffness=0.0, damping=0.5)
    heights = []
    for pressure in (0.0, 1.0):
        system = cloth_system(mesh, masses=0.03, pressure=pressure, positions=mesh.points + [0.0, 0.0, 0.22])
        scene = make_scene(system, device=device, bodies=[Plane(friction=0.5)])
        scene.run(55)
        heights.append(scene.x[:, 2].max())
    assert heights[1] > 0.25
    assert heights[0] < 0.15


def test_cloth_does_not_pass_through_itself(device, make_scene) -> None:
    # Two sheets of one cloth, joined along an edge like a closed book, pressed together by gravity.
    d = 0.02
    mesh = tp.ClothMesh.grid(
        (17, 8), (0.32, 0.14), stretch_stiffness=1e3, shear_stiffness=1e2, bend_stiffness=1.0, damping=0.1
    )
    x = mesh.points.copy()
    upper = x[:, 0] > 0.0
    x[upper, 0] *= -1.0
    x[:, 2] = np.where(upper, 0.06, 0.011)
    for collides, least in ((True, 0.5 * d), (False, -1.0)):
        system = cloth_system(
            mesh, masses=0.01, positions=x, self_collision=collides, particle_contact_offset=0.01,
            material=tp.ParticleMaterial(damping=5.0),
        )  # fmt: skip
        scene = make_scene(system, device=device, bodies=[Plane()])
        scene.run(60)
        y = scene.x.reshape(17, 8, 3)
        gap = y[9:, :, 2].mean() - y[:8, :, 2].mean()
        if collides:
            assert gap > least
        else:
            assert gap < 0.5 * d


def test_isolated_vertex_of_zero_mass_stays(device, make_scene) -> None:
    # Case 120 of the shared cases.
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (2, 2, 0)], dtype=float)
    mesh = tp.ClothMesh.from_triangles(points, [[0, 1, 2]])
    np.testing.assert_allclose(mesh.masses(1.0), [1 / 6, 1 / 6, 1 / 6, 0.0])
    for gravity in (0.0, -9.81):
        system = cloth_system(mesh, gravity=(0.0, 0.0, gravity), material=tp.ParticleMaterial(density=1.0))
        scene = make_scene(system, device=device)
        assert scene.masses.sum() == pytest.approx(0.5)
        scene.run(100, 0.01)
        assert np.isfinite(scene.x).all()
        np.testing.assert_array_equal(scene.x[3], points[3])


def test_degenerate_cloths_stay_finite(device, make_scene) -> None:
    grid = tp.ClothMesh.grid((5, 5), (0.4, 0.4))
    none = tp.SpringSet(np.zeros((0, 2)), np.zeros(0), np.zeros(0), np.zeros(0))
    zero = tp.SpringSet([[0, 1]], [0.0], [0.0], [0.0])
    rigid = tp.SpringSet(grid.springs.indices, grid.springs.rest_lengths, np.inf, 0.0)
    pinned = tp.ParticleCloth(grid, masses=0.0)
    members = [
        tp.ParticleCloth(tp.ClothMesh(grid.points, grid.triangles, none), masses=0.1),
        tp.ParticleCloth(tp.ClothMesh(np.zeros((2, 3)), np.zeros((0, 3)), zero), masses=0.1),
        tp.ParticleCloth(tp.ClothMesh(np.zeros((3, 3)), [[0, 1, 2]], zero), masses=0.1),
        tp.ParticleCloth(
            grid, masses=0.1, positions=np.zeros((25, 3)), material=tp.ParticleMaterial(drag=1, lift=1)
        ),
        tp.ParticleCloth(tp.ClothMesh(grid.points, grid.triangles, rigid), masses=0.1),
        pinned,
    ]
    systems = [tp.ParticleSystem(cloths=[member], environment=k) for k, member in enumerate(members)]
    scene = make_scene(systems, device=device, bodies=[Plane(point=(0.0, 0.0, -1.0))])
    scene.run(30)
    assert np.isfinite(scene.x).all()
    assert np.isfinite(scene.v).all()
    start = scene.model.system_start
    np.testing.assert_array_equal(scene.x[start[5] : start[6]], grid.points.astype(np.float32))


@given(seed=st.integers(0, 2**31 - 1), count=st.integers(2, 20))
@settings(max_examples=15)
def test_spring_pass_is_its_twin(device, make_scene, seed, count) -> None:
    rng = np.random.default_rng(seed)
    points = rng.uniform(-1.0, 1.0, (count, 3))
    ends = np.array([(a, b) for a in range(count) for b in range(a) if rng.uniform() < 0.5 or b == 0])
    springs = tp.SpringSet(
        ends,
        rng.uniform(0.1, 1.0, len(ends)),
        10.0 ** rng.uniform(-1, 6, len(ends)),
        rng.uniform(0, 5, len(ends)),
    )
    masses = rng.uniform(0.1, 2.0, count)
    masses[0] = 0.0
    velocities = rng.normal(size=(count, 3))
    mesh = tp.ClothMesh(points, np.zeros((0, 3)), springs)
    system = cloth_system(mesh, masses=masses, velocities=velocities, gravity=STILL)
    scene = make_scene(system, device=device, settings=tp.SolverSettings(substeps=1))
    inverse = np.where(masses > 0.0, 1.0 / np.where(masses > 0.0, masses, 1.0), 0.0)
    order = np.argsort(tp.color_springs(springs.indices, count), kind="stable")
    h = 1 / 64
    expected = _reference.spring_pass(
        points,
        np.where(masses[:, None] > 0.0, h * velocities, 0.0),
        inverse,
        springs.indices[order],
        springs.rest_lengths[order],
        springs.stiffnesses[order],
        springs.dampings[order],
        h,
    )
    scene.run(1, h)
    np.testing.assert_allclose(scene.v * h, expected, atol=3e-5 * np.abs(expected).max())


def test_springs_of_a_mesh_are_what_they_are_for() -> None:
    grid = tp.ClothMesh.grid((3, 4), (2.0, 3.0))
    assert grid.springs.count == 17 + 12 + 4 + 6
    springs = tp.make_springs(
        grid.points, grid.triangles, stretch_stiffness=1, shear_stiffness=2, bend_stiffness=3
    )
    kinds = {kind: springs.rest_lengths[springs.stiffnesses == kind] for kind in (1, 2, 3)}
    np.testing.assert_allclose(kinds[1], 1.0)
    np.testing.assert_allclose(kinds[2], np.sqrt(2.0))
    assert len(kinds[1]) == 17
    assert len(kinds[2]) == 12
    assert len(kinds[3]) == 17 - 10
    without = tp.make_springs(grid.points, grid.triangles, bend_stiffness=0.0)
    assert without.count == 29


@given(seed=st.integers(0, 2**31 - 1), count=st.integers(2, 60))
def test_springs_of_a_colour_share_no_particle(seed, count) -> None:
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, count, (3 * count, 2))
    ends = ends[ends[:, 0] != ends[:, 1]].astype(np.int32)
    colors = tp.color_springs(ends, count)
    for color in range(colors.max(initial=-1) + 1):
        touched = ends[colors == color].ravel()
        assert len(touched) == len(set(touched.tolist()))
    degree = np.bincount(ends.ravel(), minlength=count).max(initial=0)
    assert colors.max(initial=-1) < max(2 * degree - 1, 1)
