"""Views of particle systems, cloths and materials: shapes, round trips, and what each value does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, UsdGeom, UsdPhysics, UsdShade

import tensorphys
from tensorphys.particle_fields import MATERIAL_CONSTANTS, PARTICLE_CLOTH_FIELDS, SYSTEM_CONSTANTS

COUNT = 3
SIDE = 4
SIZE = 0.6
MASS = 0.32
GRAVITY = 9.81
DT = 1.0 / 60.0
_TYPES = Sdf.ValueTypeNames


def sheet(author: Any, path: str, height: float, *, upright: bool = False, **material: float) -> None:
    """A cloth of SIDE² particles with its system and material beside it."""
    stage = author.stage
    system = stage.DefinePrim(f"{path}/system", "PhysxParticleSystem")
    system.CreateAttribute("particleContactOffset", _TYPES.Float).Set(0.04)
    shader = UsdShade.Material.Define(stage, f"{path}/material")
    shader.GetPrim().AddAppliedSchema("PhysxPBDMaterialAPI")
    for name, value in material.items():
        shader.GetPrim().CreateAttribute(f"physxPBDMaterial:{name}", _TYPES.Float).Set(value)
    mesh = UsdGeom.Mesh.Define(stage, f"{path}/cloth")
    line = np.linspace(0.0, SIZE, SIDE)
    grid = [(a, 0.0, b) if upright else (a, b, 0.0) for a in line for b in line]
    mesh.CreatePointsAttr([Gf.Vec3f(*map(float, point)) for point in grid])
    corners = []
    for i in range(SIDE - 1):
        for j in range(SIDE - 1):
            a = i * SIDE + j
            corners += [(a, a + SIDE, a + SIDE + 1), (a, a + SIDE + 1, a + 1)]
    mesh.CreateFaceVertexCountsAttr([3] * len(corners))
    mesh.CreateFaceVertexIndicesAttr([k for corner in corners for k in corner])
    mesh.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, height))
    prim = mesh.GetPrim()
    for schema in ("PhysxParticleClothAPI", "PhysxAutoParticleClothAPI"):
        prim.AddAppliedSchema(schema)
    prim.CreateRelationship("physxParticle:particleSystem").SetTargets([Sdf.Path(f"{path}/system")])
    for kind in ("Stretch", "Shear", "Bend"):
        prim.CreateAttribute(f"physxAutoParticleCloth:spring{kind}Stiffness", _TYPES.Float).Set(200.0)
    prim.CreateAttribute("physxAutoParticleCloth:springDamping", _TYPES.Float).Set(0.2)
    UsdPhysics.MassAPI.Apply(prim).CreateMassAttr(MASS)
    binding = UsdShade.MaterialBindingAPI.Apply(prim)
    binding.Bind(shader, UsdShade.Tokens.weakerThanDescendants, "physics")


class World:
    """COUNT environments with a cloth each, and its views."""

    def __init__(
        self, stages: SimpleNamespace, arrays: Any, *, height=5.0, upright=False, ground=None, **material
    ):
        author = stages.Author.new(GRAVITY)
        author.environments(COUNT, lambda path, _: sheet(author, path, height, upright=upright, **material))
        if ground is not None:
            author.ground()
            floor = UsdShade.Material.Define(author.stage, "/World/floor")
            api = UsdPhysics.MaterialAPI.Apply(floor.GetPrim())
            api.CreateStaticFrictionAttr(ground)
            api.CreateDynamicFrictionAttr(ground)
            UsdShade.MaterialBindingAPI.Apply(author.stage.GetPrimAtPath("/World/Ground")).Bind(
                floor, UsdShade.Tokens.weakerThanDescendants, "physics"
            )
        self.arrays = arrays
        self.sim = stages.view(arrays, author, environments="/envs/*")
        self.cloth = self.sim.create_particle_cloth_view("/envs/*/cloth")
        self.system = self.sim.create_particle_system_view("/envs/*/system")
        self.material = self.sim.create_particle_material_view("/envs/*/material")

    def step(self, count: int) -> None:
        for _ in range(count):
            self.sim.step(DT)

    def get(self, name: str) -> np.ndarray:
        """Positions or velocities of the cloths, shape [COUNT, particles, 3]."""
        return self.arrays.host(getattr(self.cloth, f"get_{name}")()).reshape(COUNT, -1, 3)

    def set(self, name: str, values: Any, rows: list[int]) -> None:
        data = self.arrays.make(np.asarray(values, np.float32).reshape(COUNT, -1))
        getattr(self.cloth, f"set_{name}")(data, self.arrays.rows(rows))

    def set_material(self, name: str, values: list[float]) -> None:
        data = self.arrays.cpu.make(np.asarray(values)[:, None])
        getattr(self.material, f"set_{name}")(data, self.arrays.cpu.rows(range(COUNT)))


def _put_and_look(view: Any, put: Any, data: Any, rows: Any) -> None:
    """What the host cannot see of device arrays is told when the view is looked at."""
    put(data, rows)
    view.check()


@pytest.fixture
def world(stages: SimpleNamespace, arrays: Any) -> World:
    return World(stages, arrays)


@pytest.mark.parametrize("name", PARTICLE_CLOTH_FIELDS)
def test_cloth_field(world: World, name: str) -> None:
    field, view, arrays = PARTICLE_CLOTH_FIELDS[name], world.cloth, world.arrays
    items = {"particle": view.max_particles_per_cloth, "spring": view.max_springs_per_cloth}[field.items]
    assert view.max_particles_per_cloth == SIDE**2
    get, put = getattr(view, f"get_{name}"), getattr(view, f"set_{name}")
    first = get()
    assert tuple(first.shape) == field.shape(COUNT, items)
    assert arrays.host(first).dtype == np.float32
    assert arrays.device_of(first) == arrays.device
    assert get() is first
    before = arrays.host(first)
    put(first, None)
    np.testing.assert_array_equal(arrays.host(get()), before)
    wanted = before * np.array([0.5, 0.75, 2.0], np.float32)[:, None] + 0.25
    put(arrays.make(wanted), arrays.rows([2, 0]))
    expected = before.copy()
    expected[[0, 2]] = wanted[[0, 2]]
    np.testing.assert_allclose(arrays.host(get()), expected, rtol=2e-6)
    with pytest.raises(Exception, match=f"set_{name}"):
        put(arrays.make(wanted[:, :-1]), None)
    with pytest.raises(IndexError):
        _put_and_look(view, put, arrays.make(wanted), arrays.rows([COUNT]))


@pytest.mark.parametrize(
    ("kind", "name"),
    [("system", name) for name in SYSTEM_CONSTANTS] + [("material", name) for name in MATERIAL_CONSTANTS],
)
def test_constant(world: World, kind: str, name: str) -> None:
    """Behaviours 84 and 85: what was set is what is read, for some rows, and after steps, too."""
    view, arrays = getattr(world, kind), world.arrays.cpu
    constant = {**SYSTEM_CONSTANTS, **MATERIAL_CONSTANTS}[name]
    get, put = getattr(view, f"get_{name}"), getattr(view, f"set_{name}")
    before = arrays.host(get())
    assert before.shape == (COUNT, constant.width) and before.dtype == np.float32
    assert arrays.device_of(get()) == "cpu" and get() is get()
    wanted = before * 0.9 + (0.01 if name not in SYSTEM_CONSTANTS or name == "wind" else 0.0)
    if name == "particle_contact_offsets":
        wanted = before * 1.1
    put(arrays.make(wanted), arrays.rows([1]))
    expected = before.copy()
    expected[1] = wanted[1]
    np.testing.assert_array_equal(arrays.host(get()), expected)
    world.step(3)
    np.testing.assert_array_equal(arrays.host(get()), expected)
    with pytest.raises(tensorphys.DataError, match=rf"set_{name}.*nan.*nothing was written"):
        put(arrays.make(np.full_like(before, np.nan)), None)


def test_rest_offsets_stay_below_the_contact_offset(world: World) -> None:
    put = world.system.set_solid_rest_offsets
    with pytest.raises(tensorphys.DataError, match="must stay below the particle contact offset"):
        put(world.arrays.cpu.make(np.full((COUNT, 1), 0.05)), None)


def test_behaviour_79_positions(world: World) -> None:
    start = world.get("positions").copy()
    np.testing.assert_allclose(start[1, :, 0].min() - start[0, :, 0].min(), 2.0, atol=1e-6)
    world.step(10)
    fallen = world.get("positions")
    # free fall with the substep of the particles, 1/960 s, at whose ends the speed counts
    wanted = 0.5 * GRAVITY * (10 * DT) * (10 * DT + 1.0 / 960.0)
    np.testing.assert_allclose(start[:, :, 2] - fallen[:, :, 2], wanted, rtol=1e-4)
    middle = fallen[1].copy()
    world.set("positions", start, [0, 2])
    again = world.get("positions")
    np.testing.assert_array_equal(again[[0, 2]], start[[0, 2]])
    np.testing.assert_array_equal(again[1], middle)


def test_behaviour_81_velocities(world: World) -> None:
    world.step(3)
    up = world.get("velocities").copy()
    up[..., 2] = 2.0
    world.set("velocities", up, [0, 2])
    world.step(1)
    after = world.get("velocities")[..., 2]
    np.testing.assert_allclose(after[[0, 2]], 2.0 - GRAVITY * DT, atol=1e-4)
    np.testing.assert_allclose(after[1], -GRAVITY * 4 * DT, atol=1e-4)


def test_behaviour_82_masses(world: World) -> None:
    """Mass 0 holds particles where they are, and reads as infinite."""
    arrays = world.arrays
    masses = arrays.host(world.cloth.get_masses())
    np.testing.assert_allclose(masses, MASS / SIDE**2, rtol=1e-6)
    world.cloth.set_masses(arrays.make(np.zeros_like(masses)), arrays.rows([0, 2]))
    read = arrays.host(world.cloth.get_masses())
    assert np.isposinf(read[[0, 2]]).all()
    start = world.get("positions").copy()
    world.step(10)
    moved = start[..., 2] - world.get("positions")[..., 2]
    assert not moved[[0, 2]].any()
    assert (moved[1] > 0.13).all()


@pytest.mark.parametrize("name", ["spring_stiffness", "spring_damping"])
def test_behaviour_83_springs(world: World, name: str) -> None:
    """A cloth that hangs by two corners stretches by its stiffness, and swings by its damping."""
    arrays = world.arrays
    masses = arrays.host(world.cloth.get_masses()).copy()
    masses[:, [0, SIDE - 1]] = 0.0
    world.cloth.set_masses(arrays.make(masses), None)
    values = arrays.host(getattr(world.cloth, f"get_{name}")())
    getattr(world.cloth, f"set_{name}")(arrays.make(values * 0.1), arrays.rows([1]))
    world.step(40)
    places = world.get("positions")
    local = places - places[:, :1]
    np.testing.assert_allclose(local[2], local[0], atol=2e-6)
    assert np.abs(local[1] - local[0]).max() > 1e-4
    if name == "spring_stiffness":
        assert local[1, :, 2].min() < local[0, :, 2].min()


def test_behaviour_86_friction(stages: SimpleNamespace, arrays: Any) -> None:
    """A cloth slides on the ground by v t − ½ μ g t², with the mean of its coefficient and that of the ground."""
    world = World(stages, arrays, height=0.0396, ground=0.1)
    frictions = [0.5, 0.3, 0.1]
    world.set_material("friction", frictions)
    world.step(2)
    start, speed, steps = world.get("positions").copy(), 2.0, 10
    along = np.zeros_like(start)
    along[..., 0] = speed
    world.set("velocities", along, [0, 1, 2])
    world.step(steps)
    way = (world.get("positions") - start)[..., 0].mean(axis=1)
    time = steps * DT
    wanted = [speed * time - 0.25 * (f + 0.1) * GRAVITY * time**2 for f in frictions]
    np.testing.assert_allclose(way, wanted, rtol=2e-3)


def test_behaviour_87_damping(world: World) -> None:
    """v = g / d (1 − e^(−d t))."""
    dampings = np.array([0.5, 2.0, 8.0])
    world.set_material("damping", dampings.tolist())
    world.step(30)
    wanted = -GRAVITY / dampings * (1.0 - np.exp(-dampings * 0.5))
    np.testing.assert_allclose(world.get("velocities")[..., 2].mean(axis=1), wanted, rtol=6e-3)


def test_behaviour_88_gravity_scale(world: World) -> None:
    scales = np.array([1.0, 0.25, -0.5])
    world.set_material("gravity_scale", scales.tolist())
    world.step(10)
    wanted = np.broadcast_to((-scales * GRAVITY * 10 * DT)[:, None], (COUNT, SIDE**2))
    np.testing.assert_allclose(world.get("velocities")[..., 2], wanted, rtol=1e-4)


def flight(start: Any, wind: Any, drag: float, lift: float, time: float) -> np.ndarray:
    """Velocity of a flat plate as heavy and large as the cloth, from the forces of air on it and its weight."""
    velocity, normal, parts = np.array(start, float), np.array([0.0, 0.0, 1.0]), 2000
    for _ in range(parts):
        stream = np.asarray(wind) - velocity
        speed = np.linalg.norm(stream)
        way = stream / speed
        facing = normal @ way
        across = normal - way * facing
        force = 0.5 * 1.225 * SIZE**2 * speed**2 * (drag * abs(facing) * way + lift * facing * across)
        velocity += (force / MASS - GRAVITY * normal) * time / parts
    return velocity


@pytest.mark.parametrize("name", ["drag", "lift"])
def test_behaviours_89_and_90_lift_and_drag(stages: SimpleNamespace, arrays: Any, name: str) -> None:
    """In wind from below at 45° more of each falls slower, by what the air does to a plate."""
    world = World(stages, arrays)
    values, wind = [0.0, 0.4, 1.0], (6.0, 0.0, 6.0)
    world.set_material(name, values)
    world.system.set_wind(world.arrays.cpu.make(np.tile(wind, (COUNT, 1))), None)
    world.step(1)
    found = world.get("velocities").mean(axis=1)
    for row, value in enumerate(values):
        wanted = flight((0.0, 0.0, 0.0), wind, **{"drag": 0.0, "lift": 0.0, name: value}, time=DT)
        np.testing.assert_allclose(found[row], wanted, atol=1.5e-2 * np.abs(wanted).max())
    assert found[0, 2] < found[1, 2] < found[2, 2]


def test_patterns_that_match_no_particles(world: World) -> None:
    for make in ("system", "cloth", "material"):
        factory = getattr(world.sim, f"create_particle_{make}_view")
        with pytest.raises(tensorphys.NotSuitableError, match="/envs/env0"):
            factory("/envs/env0")
        assert factory("/envs/env0", on_no_match="empty")._backend is None


def test_subspaces(world: World) -> None:
    everywhere = world.get("positions").copy()
    world.sim.set_subspace_roots("/envs/*")
    local = world.sim.create_particle_cloth_view("/envs/*/cloth")
    inside = world.arrays.host(local.get_positions()).reshape(COUNT, -1, 3)
    np.testing.assert_array_equal(inside[2], inside[0])
    np.testing.assert_allclose(everywhere[1] - inside[1], np.tile([2.0, 0.0, 0.0], (SIDE**2, 1)), atol=1e-6)
