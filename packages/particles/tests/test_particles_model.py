"""Descriptions, arrays, capacities, repeatability, isolation, and a step that stays on its device."""

from __future__ import annotations

import math

import numpy as np
import pytest
import warp as wp
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorphys_particles as tp
from tensorphys_particles.testing import Plane, SolidObstacles, Sphere, check_obstacles, particle_systems

STILL = (0.0, 0.0, 0.0)


def mixed_system(environment=0, *, seed=0, count=60, **options):
    """Fluid, grains and a cloth on top of each other."""
    rng = np.random.default_rng(seed)
    mesh = tp.ClothMesh.grid((6, 6), (0.5, 0.5), stretch_stiffness=100.0, damping=0.1)
    return tp.ParticleSystem(
        sets=[
            tp.ParticleSet(rng.uniform(-0.3, 0.3, (count, 3)), material=tp.ParticleMaterial(viscosity=0.01)),
            tp.ParticleSet(rng.uniform(-0.3, 0.3, (count // 2, 3)) + [0, 0, 0.6], fluid=False, masses=0.1),
        ],
        cloths=[tp.ParticleCloth(mesh, masses=0.02, positions=mesh.points + [0, 0, 0.3])],
        environment=environment,
        **options,
    )


def floor(environment=-1):
    return Plane(point=(0.0, 0.0, -0.4), environment=environment)


def test_offsets_are_derived_where_not_given() -> None:
    assert tp.derive_offsets() == tp.Offsets(0.05, 0.05, 0.0495, 0.0495, pytest.approx(0.0297))
    given_all = tp.derive_offsets(0.1, 0.3, 0.2, 0.05, 0.06)
    assert given_all == tp.Offsets(0.1, 0.3, 0.2, 0.05, 0.06)
    for wrong in ((0.0,), (math.nan,), (0.1, 0.2, 0.2), (0.1, 0.2, 0.1, 0.1), (0.1, 0.2, 0.1, 0.05, -1.0)):
        with pytest.raises(tp.ModelError, match="offset"):
            tp.derive_offsets(*wrong)


def test_material_has_the_defaults_of_the_schema() -> None:
    material = tp.ParticleMaterial()
    assert (material.friction, material.gravity_scale, material.cfl_coefficient) == (0.2, 1.0, 1.0)
    assert (material.particle_friction_scale, material.particle_adhesion_scale) == (1.0, 1.0)
    others = ("damping", "lift", "drag", "viscosity", "cohesion", "surface_tension", "adhesion", "density")
    assert [getattr(material, name) for name in others] == [0.0] * len(others)
    with pytest.raises(tp.MaterialError, match="friction"):
        tp.ParticleMaterial(friction=-1.0)
    with pytest.raises(tp.MaterialError, match="drag"):
        tp.ParticleMaterial(drag=math.nan)


@given(
    counts=st.tuples(*[st.integers(1, 8)] * 3),
    spacing=st.sampled_from([0.0625, 0.125, 0.5]),
    corner=st.sampled_from([-1.0, 0.0, 2.5]),
)
def test_samples_fill_a_box(counts, spacing, corner) -> None:
    upper = corner + spacing * np.asarray(counts)
    points = tp.sample_box((corner,) * 3, upper, spacing)
    assert len(points) == np.prod(counts)
    np.testing.assert_allclose(points.min(axis=0), corner + spacing / 2)
    np.testing.assert_allclose(points.max(axis=0), upper - spacing / 2)


def test_wrong_descriptions_are_named(device) -> None:
    mesh = tp.ClothMesh.grid((3, 3), (1, 1))
    line = [[0.0, 0.0, 0.0]]
    wrong = {
        "at least one particle system": [],
        "at least one particle$": [tp.ParticleSystem()],
        "system 0, set 0: positions": [tp.ParticleSystem(sets=[tp.ParticleSet([[math.nan, 0, 0]])])],
        "system 1: particle_contact_offset": [
            tp.ParticleSystem(sets=[tp.ParticleSet(line)]),
            tp.ParticleSystem(sets=[tp.ParticleSet(line)], particle_contact_offset=0.0),
        ],
        "expected 1 masses": [tp.ParticleSystem(sets=[tp.ParticleSet(line, masses=[1.0, 2.0])])],
        "expected velocities": [tp.ParticleSystem(sets=[tp.ParticleSet(line, velocities=[1.0, 2.0])])],
        "cloth 0: 2 positions for the 9": [
            tp.ParticleSystem(cloths=[tp.ParticleCloth(mesh, positions=np.zeros((2, 3)))])
        ],
        "not closed": [tp.ParticleSystem(cloths=[tp.ParticleCloth(mesh, pressure=1.0)])],
        "max_neighborhood": [tp.ParticleSystem(sets=[tp.ParticleSet(line)], max_neighborhood=0)],
    }
    for message, systems in wrong.items():
        with pytest.raises(tp.ModelError, match=message):
            tp.ParticleModel(systems, device=device)
    with pytest.raises(tp.MeshError, match="triangle 0"):
        tp.ClothMesh.from_triangles(np.zeros((3, 3)), [[0, 1, 3]])
    with pytest.raises(tp.MeshError, match="spring 0"):
        tp.SpringSet([[1, 1]], [1.0], [1.0], [1.0])
    with pytest.raises(tp.MeshError, match="stiffnesses"):
        tp.SpringSet([[0, 1]], [1.0], [-1.0], [1.0])


def test_masses_are_read_as_they_were_written(device, make_scene) -> None:
    scene = make_scene([mixed_system(0), mixed_system(1)], device=device)
    model = scene.model
    count = model.particle_count
    half = int(model.system_start[1])
    values = np.linspace(0.1, 2.0, count).astype(np.float32)
    values[[3, half + 3]] = 0.0
    values[[4, half + 4]] = -1.0
    before = wp.zeros(count, dtype=wp.float32, device=device)
    model.get_masses(before)
    mask = wp.array([0, 1], dtype=wp.int32, device=device)
    model.set_masses(wp.array(values, dtype=wp.float32, device=device), mask)
    after = wp.zeros_like(before)
    model.get_masses(after)
    np.testing.assert_array_equal(after.numpy()[:half], before.numpy()[:half])
    expected = np.where(values > 0.0, values, np.inf)
    np.testing.assert_allclose(after.numpy()[half:], expected[half:], rtol=1e-6)
    with pytest.raises(tp.ArrayError, match="values"):
        model.set_masses(wp.zeros(3, dtype=wp.float32, device=device))
    start = scene.x
    scene.run(5)
    np.testing.assert_array_equal(scene.x[[half + 3, half + 4]], start[[half + 3, half + 4]])
    assert (scene.x[half - 1] != start[half - 1]).any()


def test_state_is_written_by_system(device, make_scene) -> None:
    scene = make_scene([mixed_system(0), mixed_system(1)], device=device)
    half = int(scene.model.system_start[1])
    fresh = tp.ParticleState(scene.model)
    scene.run(3)
    moved = scene.x
    mask = wp.array([1, 0], dtype=wp.int32, device=device)
    scene.state.set_positions(fresh.positions, mask)
    scene.state.set_velocities(fresh.velocities, mask)
    np.testing.assert_array_equal(scene.x[:half], fresh.positions.numpy()[:half])
    np.testing.assert_array_equal(scene.x[half:], moved[half:])
    other = tp.ParticleState(scene.model)
    other.copy_from(scene.state)
    np.testing.assert_array_equal(other.positions.numpy(), scene.state.positions.numpy())
    scene.state.reset()
    np.testing.assert_array_equal(scene.x, fresh.positions.numpy())
    with pytest.raises(tp.ModelError, match="model of the solver"):
        scene.solver.step(tp.ParticleState(tp.ParticleModel([mixed_system()], device=device)), 0.01)
    with pytest.raises(tp.SettingsError, match="dt"):
        scene.solver.step(scene.state, 0.0)


def test_runs_repeat_bit_for_bit_whatever_runs_beside_them(device, make_scene) -> None:
    def last(systems, number):
        scene = make_scene(systems, device=device, bodies=[floor()])
        scene.run(20)
        span = slice(*scene.model.system_start[number : number + 2])
        return scene.state.positions.numpy()[span], scene.state.velocities.numpy()[span]

    alone = last([mixed_system(seed=4)], 0)
    again = last([mixed_system(seed=4)], 0)
    third = last([mixed_system(0, seed=9, count=30), mixed_system(1, seed=7), mixed_system(2, seed=4)], 2)
    for other in (again, third):
        np.testing.assert_array_equal(other[0], alone[0])
        np.testing.assert_array_equal(other[1], alone[1])


def test_nan_stays_in_its_environment(device, make_scene) -> None:
    def run(poison):
        scene = make_scene([mixed_system(0), mixed_system(1, seed=2)], device=device, bodies=[floor()])
        if poison:
            positions = scene.state.positions.numpy().copy()
            positions[::7] = np.nan
            mask = wp.array([1, 0], dtype=wp.int32, device=device)
            scene.state.set_positions(wp.array(positions, dtype=wp.vec3, device=device), mask)
        scene.run(10)
        return scene.state.positions.numpy()[scene.model.system_start[1] :]

    clean, beside = run(False), run(True)
    assert np.isfinite(clean).all()
    np.testing.assert_array_equal(beside, clean)


def test_obstacles_of_one_environment_are_not_seen_by_another(device, make_scene) -> None:
    point = tp.ParticleSet([[0.0, 0.0, 0.0]], fluid=False, masses=1.0)
    systems = [tp.ParticleSystem(sets=[point], environment=k) for k in (3, 5)]
    scene = make_scene(systems, device=device, bodies=[floor(environment=5)])
    scene.run(60)
    assert scene.x[0, 2] < -4.0
    assert scene.x[1, 2] == pytest.approx(-0.4 + 0.0495, abs=1e-4)
    deaf = tp.ParticleSystem(sets=[point], obstacle_collision=False)
    scene = make_scene(deaf, device=device, bodies=[floor()])
    scene.run(60)
    assert scene.x[0, 2] < -4.0


def test_groups_without_self_collision_do_not_see_each_other(device, make_scene) -> None:
    pair = np.float32([[0.0, 0.0, 0.0], [0.05, 0.0, 0.0]])
    moved = []
    for flag in (True, False):
        member = tp.ParticleSet(pair, fluid=False, masses=1.0, self_collision=flag)
        scene = make_scene(tp.ParticleSystem(sets=[member], gravity=STILL), device=device)
        scene.run(5)
        moved.append(np.abs(scene.x - pair).max() > 0.0)
    assert moved == [True, False]


def test_too_many_neighbours_are_reported_by_name(device) -> None:
    crowd = tp.ParticleSet(np.random.default_rng(0).uniform(0, 0.05, (30, 3)))
    lonely = tp.ParticleSet([[0.0, 0.0, 0.0]])
    systems = [
        tp.ParticleSystem(sets=[lonely], environment=2),
        tp.ParticleSystem(sets=[crowd], environment=7, max_neighborhood=12),
    ]
    model = tp.ParticleModel(systems, device=device)
    solver, state = tp.ParticleSolver(model), tp.ParticleState(model)
    solver.step(state, 1e-4)
    assert solver.neighbors_needed.numpy().tolist() == [0, 29]
    with pytest.raises(
        tp.CapacityError, match=r"max_neighborhood.*system 1 \(environment 7\) keeps 12 and needed 29"
    ):
        solver.check_overflow()
    with pytest.warns(tp.CapacityWarning, match="needed 29"):
        solver.check_overflow(on_overflow="warn")
    solver.clear_overflow()
    solver.check_overflow()


def test_too_many_obstacles_are_reported(device) -> None:
    model = tp.ParticleModel([tp.ParticleSystem(sets=[tp.ParticleSet([[0.0, 0.0, 0.0]])])], device=device)
    bodies = [Sphere((0.0, 0.0, 0.1 * k), 0.2) for k in range(3)]
    obstacles = SolidObstacles(model, bodies, capacity=2)
    tp.ParticleSolver(model, obstacles=obstacles).step(tp.ParticleState(model), 1e-3)
    with pytest.raises(tp.CapacityError, match="obstacle rows: 2 a particle, 3"):
        obstacles.check_overflow()


def test_planes_and_spheres_satisfy_the_protocol(device) -> None:
    model = tp.ParticleModel([mixed_system(0), mixed_system(1)], device=device)
    bodies = [
        floor(),
        Plane((0.6, 0.0, 0.8), (0.1, 0.0, 0.0), velocity=(1.0, 0.0, 0.0)),
        Sphere((0.0, 0.0, 0.0), 0.2, inverse_mass=2.0),
        Sphere((0.1, 0.0, 0.0), 0.1, environment=1),
    ]
    check_obstacles(model, SolidObstacles(model, bodies), margin=0.1)


@given(system=particle_systems(), iterations=st.integers(1, 3))
@settings(max_examples=25)
def test_whatever_is_described_stays_finite_and_what_is_fixed_stays(
    device, make_scene, system, iterations
) -> None:
    budget = tp.SolverSettings(substeps=4, iterations=iterations)
    scene = make_scene(system, device=device, bodies=[Plane(), Sphere((0.1, 0.0, 0.0), 0.1)], settings=budget)
    start, fixed = scene.x, scene.masses == 0.0
    scene.run(5)
    assert np.isfinite(scene.x).all()
    assert np.isfinite(scene.v).all()
    np.testing.assert_array_equal(scene.x[fixed], start[fixed])
    np.testing.assert_array_equal(scene.v[fixed], 0.0)


def test_obstacles_of_another_shape_are_refused(device) -> None:
    model = tp.ParticleModel([mixed_system()], device=device)
    small = tp.ParticleModel([tp.ParticleSystem(sets=[tp.ParticleSet([[0, 0, 0]])])], device=device)
    with pytest.raises(tp.ArrayError, match="count"):
        tp.ParticleSolver(model, obstacles=SolidObstacles(small, [floor()]))


def test_step_makes_no_allocation_and_no_host_copy(device, make_scene, monkeypatch) -> None:
    scene = make_scene([mixed_system(0), mixed_system(1)], device=device, bodies=[floor()])
    dt = wp.full(1, 1 / 60, dtype=wp.float32, device=device)
    scene.solver.step(scene.state, dt)

    def refuse(*args, **kwargs):
        raise AssertionError("a step allocates or copies to the host")

    for name in ("zeros", "empty", "full", "clone", "array", "synchronize", "synchronize_device"):
        if name != "array":
            monkeypatch.setattr(wp, name, refuse)
    monkeypatch.setattr(wp.array, "numpy", refuse)
    monkeypatch.setattr(wp.array, "__init__", refuse)
    scene.solver.step(scene.state, dt)


def test_step_from_an_array_is_the_step_from_a_number(device, make_scene) -> None:
    results = []
    for dt in (1 / 64, wp.full(1, 1 / 64, dtype=wp.float32, device=device)):
        scene = make_scene(mixed_system(), device=device, bodies=[floor()])
        scene.run(3, dt)
        results.append(scene.x)
    np.testing.assert_array_equal(*results)


def test_offsets_may_change_between_steps(device, make_scene) -> None:
    d = 0.1
    points = [[0.0, 0.0, 0.0], [d, 0.0, 0.0]]
    member = tp.ParticleSet(points, fluid=False, masses=1.0)
    system = tp.ParticleSystem(
        sets=[member], gravity=STILL, particle_contact_offset=0.1, solid_rest_offset=d / 2,
        max_depenetration_velocity=1.0,
    )  # fmt: skip
    scene = make_scene(system, device=device)
    scene.run(2)
    np.testing.assert_array_equal(scene.x[:, 0], np.float32([0.0, d]))
    scene.model.systems.solid_rest.fill_(0.06)
    scene.model.update_offsets()
    scene.run(20)
    assert scene.x[1, 0] - scene.x[0, 0] >= 0.1199


def test_devices_agree(device: str, recorded_particles) -> None:
    """One step from 1000 random states is the recorded one of a CPU: integers equal, values to 1e-4 of the largest."""
    kept, results = recorded_particles.load(), recorded_particles.compute(device)
    np.testing.assert_array_equal(results["neighbors_needed"], kept["neighbors_needed"])
    for name in ("positions", "velocities"):
        np.testing.assert_allclose(results[name], kept[name], rtol=0.0, atol=1e-4 * np.abs(kept[name]).max())


@pytest.mark.cuda
def test_captured_step_repeats_the_launched_one(make_scene) -> None:
    wp.init()
    scenes = [make_scene(mixed_system(), device="cuda:0", bodies=[floor()]) for _ in range(2)]
    dt = wp.full(1, 1 / 60, dtype=wp.float32, device="cuda:0")
    for scene in scenes:
        scene.solver.step(scene.state, dt)
    with wp.ScopedCapture("cuda:0") as capture:
        scenes[0].solver.step(scenes[0].state, dt)
    for _ in range(5):
        wp.capture_launch(capture.graph)
        scenes[1].solver.step(scenes[1].state, dt)
    np.testing.assert_array_equal(scenes[0].x, scenes[1].x)
