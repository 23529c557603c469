"""Views of deformables and of their materials: shapes, round trips, and what each value does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, UsdGeom, UsdPhysics, UsdShade, Vt

import tensorphys
from tensorphys.deformable_views import DEFORMABLE_CONSTANTS, SOFT_CONSTANTS
from tensorphys_fem import box_mesh

COUNT = 3
HALF = 0.1
DENSITY = 1000.0
GRAVITY = 9.81
DT = 1.0 / 60.0
_TYPES = Sdf.ValueTypeNames
_CUBE = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float) * HALF
_FACES = [0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]


def material(author: Any, path: str, **values: float) -> UsdShade.Material:
    made = UsdShade.Material.Define(author.stage, path)
    made.GetPrim().AddAppliedSchema("OmniPhysicsDeformableMaterialAPI")
    for name, value in {"density": DENSITY, "youngsModulus": 2e5, "poissonsRatio": 0.3, **values}.items():
        made.GetPrim().CreateAttribute(f"omniphysics:{name}", _TYPES.Float).Set(value)
    return made


def bind(author: Any, path: str, made: UsdShade.Material) -> None:
    prim = author.stage.GetPrimAtPath(path)
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(made, UsdShade.Tokens.weakerThanDescendants, "physics")


def tetrahedra(author: Any, path: str, points: Any, tets: Any, *schemas: str) -> Any:
    prim = author.stage.DefinePrim(path, "TetMesh")
    prim.CreateAttribute("points", _TYPES.Point3fArray).Set(
        Vt.Vec3fArray.FromNumpy(np.asarray(points, np.float32))
    )
    prim.CreateAttribute("tetVertexIndices", _TYPES.Int4Array).Set(
        Vt.Vec4iArray.FromNumpy(np.asarray(tets, np.int32))
    )
    for schema in schemas:
        prim.AddAppliedSchema(schema)
    return prim


def volume(author: Any, path: str, height: float, **values: float) -> None:
    """A cube of 2 × 2 × 2 cells, with a collision mesh of one cell, by the newer schemas."""
    root = author.xform(f"{path}/soft", (0.0, 0.0, height))
    root.AddAppliedSchema("OmniPhysicsDeformableBodyAPI")
    for name, cells, schema in (
        ("sim", 2, "OmniPhysicsVolumeDeformableSimAPI"),
        ("col", 1, "PhysicsCollisionAPI"),
    ):
        mesh = box_mesh((cells,) * 3, 2 * HALF / cells)
        points = mesh.points - 0.5 * (mesh.points.min(axis=0) + mesh.points.max(axis=0))
        extra = () if name == "sim" else ("OmniPhysicsDeformablePoseAPI:default",)
        tetrahedra(author, f"{path}/soft/{name}", points, mesh.tets, schema, *extra)
    bind(author, f"{path}/soft", material(author, f"{path}/material", **values))


def old_volume(author: Any, path: str, height: float) -> None:
    """A cube of 2 × 2 × 2 voxels, by the older schema."""
    mesh = UsdGeom.Mesh.Define(author.stage, f"{path}/soft")
    mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(_CUBE.astype(np.float32)))
    mesh.CreateFaceVertexCountsAttr([4] * 6)
    mesh.CreateFaceVertexIndicesAttr(_FACES)
    mesh.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, height))
    prim = mesh.GetPrim()
    prim.AddAppliedSchema("PhysxDeformableBodyAPI")
    prim.CreateAttribute("physxDeformable:simulationHexahedralResolution", _TYPES.UInt).Set(2)


def surface(author: Any, path: str, height: float) -> None:
    """A square sheet of 3 × 3 points."""
    mesh = UsdGeom.Mesh.Define(author.stage, f"{path}/sheet")
    line = np.linspace(-HALF, HALF, 3)
    mesh.CreatePointsAttr([Gf.Vec3f(float(a), float(b), 0.0) for a in line for b in line])
    corners = []
    for i in range(2):
        for j in range(2):
            a = 3 * i + j
            corners += [a, a + 3, a + 4, a, a + 4, a + 1]
    mesh.CreateFaceVertexCountsAttr([3] * 8)
    mesh.CreateFaceVertexIndicesAttr(corners)
    mesh.AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, height))
    for schema in ("OmniPhysicsDeformableBodyAPI", "OmniPhysicsSurfaceDeformableSimAPI"):
        mesh.GetPrim().AddAppliedSchema(schema)
    made = material(author, f"{path}/material")
    made.GetPrim().AddAppliedSchema("OmniPhysicsSurfaceDeformableMaterialAPI")
    made.GetPrim().CreateAttribute("omniphysics:surfaceThickness", _TYPES.Float).Set(0.01)
    bind(author, f"{path}/sheet", made)


class World:
    """COUNT environments with a deformable each."""

    def __init__(self, stages: Any, arrays: Any, fill: Any, *, ground: bool = False, **options: Any):
        author = stages.Author.new(GRAVITY)
        author.environments(COUNT, lambda path, _: fill(author, path, **options))
        if ground:
            author.ground()
            floor = UsdShade.Material.Define(author.stage, "/World/floor")
            api = UsdPhysics.MaterialAPI.Apply(floor.GetPrim())
            api.CreateDynamicFrictionAttr(0.1)
            api.CreateStaticFrictionAttr(0.1)
            bind(author, "/World/Ground", floor)
        self.arrays = arrays
        self.sim = stages.view(arrays, author, environments="/envs/*")

    def step(self, count: int) -> None:
        for _ in range(count):
            self.sim.step(DT)

    def host(self, array: Any) -> np.ndarray:
        return self.arrays.host(array).copy()

    def put(self, setter: Any, values: Any, rows: list[int] | None = None) -> None:
        setter(self.arrays.make(values), None if rows is None else self.arrays.rows(rows))

    def put_constant(self, setter: Any, values: list[float]) -> None:
        setter(self.arrays.cpu.make(np.asarray(values)[:, None]), self.arrays.cpu.rows(range(COUNT)))


@pytest.fixture
def new(stages: SimpleNamespace, arrays: Any) -> World:
    return World(stages, arrays, volume, height=2.0)


SOFT_SHAPES = {
    "element_stresses": ("element", 9),
    "element_deformation_gradients": ("element", 9),
    "element_rest_poses": ("element", 9, "flat"),
    "element_rotations": ("element", 4, "flat"),
    "nodal_positions": ("vertex", 3),
    "element_indices": ("element", 4),
    "sim_element_indices": ("sim_element", 4),
    "sim_element_stresses": ("sim_element", 9),
    "sim_element_deformation_gradients": ("sim_element", 9),
    "sim_element_rest_poses": ("sim_element", 9, "flat"),
    "sim_element_rotations": ("sim_element", 4, "flat"),
    "sim_nodal_positions": ("sim_vertex", 3),
    "sim_nodal_velocities": ("sim_vertex", 3),
    "sim_kinematic_targets": ("sim_vertex", 4),
}
SIZES = {"element": 6, "vertex": 8, "sim_element": 48, "sim_vertex": 27}


def test_soft_body_arrays(new: World) -> None:
    """Shape, type, device and identity of each array, and what it holds at rest."""
    view = new.sim.create_soft_body_view("/envs/*/soft")
    arrays = new.arrays
    assert (view.max_elements_per_body, view.max_vertices_per_body) == (6, 8)
    assert (view.max_sim_elements_per_body, view.max_sim_vertices_per_body) == (48, 27)
    for name, (items, width, *flat) in SOFT_SHAPES.items():
        array = getattr(view, f"get_{name}")()
        shape = (COUNT, SIZES[items] * width) if flat else (COUNT, SIZES[items], width)
        assert tuple(array.shape) == shape, name
        assert arrays.device_of(array) == arrays.device
        assert getattr(view, f"get_{name}")() is array
        kind = "u" if name.endswith("indices") else "f"
        values = arrays.host(array)
        assert values.dtype.kind in (kind, "i") and values.dtype.itemsize == 4
        if "gradients" in name:
            np.testing.assert_allclose(
                values.reshape(-1, 3, 3), np.broadcast_to(np.eye(3), (values.size // 9, 3, 3)), atol=2e-6
            )
        if "rotations" in name:
            np.testing.assert_allclose(
                values.reshape(-1, 4), np.tile([0, 0, 0, 1.0], (values.size // 4, 1)), atol=2e-6
            )
        if "stresses" in name:
            assert np.abs(values).max() < 10.0
    for prefix, nodes in (("", "nodal_positions"), ("sim_", "sim_nodal_positions")):
        corners = arrays.host(getattr(view, f"get_{prefix}element_indices")())[0].astype(int)
        points = arrays.host(getattr(view, f"get_{nodes}")())[0].astype(float)
        rest = arrays.host(getattr(view, f"get_{prefix}element_rest_poses")())[0].reshape(-1, 3, 3)
        edges = np.swapaxes(points[corners[:, 1:]] - points[corners[:, :1]], 1, 2)
        inverse = np.swapaxes(rest, 1, 2)
        np.testing.assert_allclose(edges @ inverse, np.broadcast_to(np.eye(3), edges.shape), atol=1e-4)
    pose = arrays.host(view.get_transforms())
    np.testing.assert_allclose(pose[0], [0, 0, 2, 0, 0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(pose[1] - pose[0], [2, 0, 0, 0, 0, 0, 0], atol=1e-6)


def test_gradients_and_stresses_of_a_stretched_and_turned_cube(new: World) -> None:
    """Pulled by 10 % along x and turned by a quarter about z: F, R and σ of the co-rotational law, on both meshes."""
    view = new.sim.create_soft_body_view("/envs/*/soft")
    points = new.host(view.get_sim_nodal_positions())
    middle = points.mean(axis=1, keepdims=True)
    x = (points - middle) * [1.1, 1.0, 1.0]
    turned = np.stack((-x[..., 1], x[..., 0], x[..., 2]), axis=-1) + middle
    new.put(view.set_sim_nodal_positions, turned)
    modulus, ratio = 2e5, 0.3
    mu, lam = modulus / 2.6, modulus * ratio / (1.3 * 0.4)
    strain = np.diag([0.1, 0.0, 0.0])
    piola = 2.0 * mu * strain + lam * 0.1 * np.eye(3)
    stretch = np.eye(3) + strain
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    cauchy = turn @ (piola @ stretch.T / np.linalg.det(stretch)) @ turn.T
    for prefix in ("", "sim_"):
        gradient = new.host(getattr(view, f"get_{prefix}element_deformation_gradients")())
        np.testing.assert_allclose(
            gradient.reshape(-1, 3, 3), np.broadcast_to(stretch, (gradient.size // 9, 3, 3)), atol=5e-6
        )
        rotation = new.host(getattr(view, f"get_{prefix}element_rotations")()).reshape(-1, 4)
        np.testing.assert_allclose(
            np.abs(rotation), np.tile([0, 0, 0.5**0.5, 0.5**0.5], (len(rotation), 1)), atol=5e-6
        )
        stress = new.host(getattr(view, f"get_{prefix}element_stresses")()).reshape(-1, 3, 3)
        np.testing.assert_allclose(stress, np.broadcast_to(cauchy, stress.shape), atol=2.0)
    np.testing.assert_allclose(
        new.host(view.get_nodal_positions()).max(axis=1) - new.host(view.get_nodal_positions()).min(axis=1),
        np.tile([2 * HALF, 2.2 * HALF, 2 * HALF], (COUNT, 1)), atol=1e-6,
    )  # fmt: skip


def test_behaviours_91_92_100_101_102_views_and_indices(new: World) -> None:
    """Views of other ranges and of later times tell the same; indices are those of the stage and stay."""
    view = new.sim.create_volume_deformable_body_view("/envs/*/soft")
    assert view.simulation_mesh_prim_paths[1] == "/envs/env1/soft/sim"
    assert view.collision_mesh_prim_paths[2] == "/envs/env2/soft/col"
    assert (view.num_nodes_per_element, view.max_rest_nodes_per_body) == (4, 27)
    fine, coarse = box_mesh((2,) * 3, HALF), box_mesh((1,) * 3, 2 * HALF)
    part = new.sim.create_soft_body_view(["/envs/env2/soft", "/envs/env0/soft"])
    for _ in range(2):
        for name, mesh in (("simulation", fine), ("rest", fine), ("collision", coarse)):
            indices = new.host(getattr(view, f"get_{name}_element_indices")())
            np.testing.assert_array_equal(indices, np.tile(mesh.tets, (COUNT, 1, 1)))
        rest = new.host(view.get_rest_nodal_positions())
        np.testing.assert_allclose(rest[0], fine.points - fine.points.mean(axis=0), atol=1e-6)
        later = new.sim.create_soft_body_view("/envs/env0/soft")
        everywhere = new.host(view.get_simulation_nodal_positions())
        np.testing.assert_array_equal(new.host(part.get_sim_nodal_positions()), everywhere[[2, 0]])
        np.testing.assert_array_equal(new.host(later.get_sim_nodal_positions())[0], everywhere[0])
        new.step(3)


def test_behaviours_93_94_96_103_104_106_positions_and_velocities(new: World) -> None:
    """Rows of different setters in one step do not disturb each other."""
    view = new.sim.create_volume_deformable_body_view("/envs/*/soft")
    new.step(3)
    places = new.host(view.get_simulation_nodal_positions())
    speeds = new.host(view.get_simulation_nodal_velocities())
    np.testing.assert_allclose(speeds[..., 2], -GRAVITY * 3 * DT, rtol=2e-3)
    lifted, upward = places + [0.0, 0.0, 0.5], speeds * 0.0 + [0.0, 0.0, 3.0]
    new.put(view.set_simulation_nodal_positions, lifted, [0])
    new.put(view.set_simulation_nodal_velocities, upward, [2])
    np.testing.assert_allclose(new.host(view.get_simulation_nodal_positions())[0], lifted[0], atol=1e-6)
    np.testing.assert_array_equal(new.host(view.get_simulation_nodal_positions())[[1, 2]], places[[1, 2]])
    np.testing.assert_array_equal(new.host(view.get_simulation_nodal_velocities())[:2], speeds[:2])
    new.step(1)
    after = new.host(view.get_simulation_nodal_velocities())[..., 2].mean(axis=1)
    wanted = np.array([-GRAVITY * 3 * DT, -GRAVITY * 3 * DT, 3.0]) - GRAVITY * DT
    np.testing.assert_allclose(after, wanted, rtol=2e-3)
    moved = new.host(view.get_simulation_nodal_positions())[..., 2].mean(axis=1)
    np.testing.assert_allclose(moved[0] - moved[1], 0.5, atol=1e-5)


def test_settled_bodies_settle_again(stages: SimpleNamespace, arrays: Any) -> None:
    world = World(stages, arrays, volume, ground=True, height=HALF + 0.01)
    view = world.sim.create_soft_body_view("/envs/*/soft")
    world.step(40)
    settled = world.host(view.get_sim_nodal_positions())
    world.put(view.set_sim_nodal_positions, settled + [0.0, 0.0, 0.02], [0, 2])
    world.put(view.set_sim_nodal_velocities, settled * 0.0, [0, 2])
    world.step(40)
    np.testing.assert_allclose(world.host(view.get_sim_nodal_positions()), settled, atol=2e-3)


def test_behaviours_95_105_kinematic_targets(new: World) -> None:
    view = new.sim.create_soft_body_view("/envs/*/soft")
    targets = new.host(view.get_sim_kinematic_targets())
    assert (targets[..., 3] == 1.0).all()
    places = new.host(view.get_sim_nodal_positions())
    top = places[0, :, 2] > 2.0 + 0.9 * HALF
    targets[..., :3] = places + [0.01, 0.0, 0.0]
    targets[:, top, 3] = 0.0
    new.put(view.set_sim_kinematic_targets, targets, [0, 1])
    read = new.host(view.get_sim_kinematic_targets())
    np.testing.assert_allclose(read[[0, 1]], targets[[0, 1]], atol=1e-6)
    assert (read[2, :, 3] == 1.0).all()
    new.step(5)
    now = new.host(view.get_sim_nodal_positions())
    np.testing.assert_allclose(now[:2, top], targets[:2, top, :3], atol=1e-5)
    # what is not held sways, and sinks as a whole
    assert (now[:2, ~top, 2].mean(axis=1) < places[:2, ~top, 2].mean(axis=1)).all()
    assert (now[2, :, 2] < places[2, :, 2] - 0.02).all()


@pytest.mark.parametrize("name", SOFT_CONSTANTS)
def test_constants(new: World, name: str) -> None:
    view, arrays = new.sim.create_soft_body_material_view("/envs/*/material"), new.arrays.cpu
    get, put = getattr(view, f"get_{name}"), getattr(view, f"set_{name}")
    before = arrays.host(get()).copy()
    assert before.shape == (COUNT, 1) and get() is get()
    put(arrays.make(before * 0.5 + 0.125), arrays.rows([1]))
    expected = before.copy()
    expected[1] = before[1] * 0.5 + 0.125
    np.testing.assert_array_equal(arrays.host(get()), expected)
    if name in DEFORMABLE_CONSTANTS:
        same = new.sim.create_deformable_material_view("/envs/*/material")
        np.testing.assert_array_equal(arrays.host(getattr(same, f"get_{name}")()), expected)
    with pytest.raises(
        tensorphys.DataError, match=f"set_{name}: expected .*env0/material; nothing was written"
    ):
        put(arrays.make(np.full((COUNT, 1), -1.0)), None)


def test_behaviours_97_111_stiffer_bodies_hang_shorter(new: World) -> None:
    """Held at its top a cube is longer at rest by its weight: in proportion to 1 / E."""
    view = new.sim.create_soft_body_view("/envs/*/soft")
    materials = new.sim.create_deformable_material_view("/envs/*/material")
    new.put_constant(materials.set_youngs_modulus, [2e4, 4e4, 8e4])
    places = new.host(view.get_sim_nodal_positions())
    targets = np.concatenate((places, np.ones((*places.shape[:2], 1), np.float32)), axis=-1)
    targets[:, places[0, :, 2] > 2.0 + 0.9 * HALF, 3] = 0.0
    new.put(view.set_sim_kinematic_targets, targets)
    new.step(120)
    now = new.host(view.get_sim_nodal_positions())
    low = places[0, :, 2] < 2.0 - 0.9 * HALF
    longer = (places - now)[:, low, 2].mean(axis=1)
    np.testing.assert_allclose(longer * [2e4, 4e4, 8e4] / longer[2] / 8e4, 1.0, atol=0.02)
    # ρ g L² / 2 E, less since the held end cannot narrow
    free = DENSITY * GRAVITY * (2 * HALF) ** 2 / 2.0 / np.array([2e4, 4e4, 8e4])
    assert (longer < free).all() and (longer > 0.8 * free).all()


def test_behaviour_98_damping(new: World) -> None:
    """Swings die out faster with more damping."""
    view = new.sim.create_soft_body_view("/envs/*/soft")
    materials = new.sim.create_soft_body_material_view("/envs/*/material")
    new.put_constant(materials.set_damping, [0.0, 0.01, 0.1])
    places = new.host(view.get_sim_nodal_positions())
    targets = np.concatenate((places, np.ones((*places.shape[:2], 1), np.float32)), axis=-1)
    targets[:, places[0, :, 2] > 2.0 + 0.9 * HALF, 3] = 0.0
    new.put(view.set_sim_kinematic_targets, targets)
    sums = np.zeros(COUNT)
    for _ in range(6):
        new.step(1)
        sums += np.square(new.host(view.get_sim_nodal_velocities())).sum(axis=(1, 2))
    assert sums[0] > 1.1 * sums[1] > 1.5 * sums[2]


def test_behaviours_99_112_friction(stages: SimpleNamespace, arrays: Any) -> None:
    """A cube slides on the ground and slows down by the mean of its coefficient and that of the ground."""
    world = World(stages, arrays, volume, ground=True, height=HALF)
    view = world.sim.create_soft_body_view("/envs/*/soft")
    materials = world.sim.create_deformable_material_view("/envs/*/material")
    frictions = np.array([0.1, 0.3, 0.5])
    world.put_constant(materials.set_dynamic_friction, frictions.tolist())
    world.step(30)
    speeds = world.host(view.get_sim_nodal_velocities())
    speeds[..., 0] += 2.0
    world.put(view.set_sim_nodal_velocities, speeds)
    world.step(20)
    left = world.host(view.get_sim_nodal_velocities())[..., 0].mean(axis=1)
    np.testing.assert_allclose(left, 2.0 - 0.5 * (frictions + 0.1) * GRAVITY * 20 * DT, atol=0.05)


def test_contact_views_report_what_deformables_do_to_bodies(stages: SimpleNamespace, arrays: Any) -> None:
    """A soft cube of 8 kg rests on a box of 20 kg on the ground: the ground carries both, the box its own weight."""

    def fill(author: Any, path: str) -> None:
        author.solid(f"{path}/box", (0.0, 0.0, 2 * HALF), "cube", 4 * HALF, mass=20.0)
        volume(author, path, 5 * HALF)

    world = World(stages, arrays, fill, ground=True)
    view = world.sim.create_rigid_contact_view("/envs/*/box", filter_patterns=["/World/Ground"])
    world.step(90)
    net = world.host(view.get_net_contact_forces(DT))
    np.testing.assert_allclose(net, [[0.0, 0.0, 20.0 * GRAVITY]] * COUNT, atol=0.5)
    # without the cube it would be what the ground gives, which carries both
    ground = world.host(view.get_contact_force_matrix(DT))[:, 0, 2]
    np.testing.assert_allclose(ground, 28.0 * GRAVITY, rtol=1e-2)


def test_older_schema(stages: SimpleNamespace, arrays: Any) -> None:
    world = World(stages, arrays, old_volume, height=1.0)
    view = world.sim.create_soft_body_view("/envs/*/soft")
    assert view.max_sim_vertices_per_body == view.max_vertices_per_body == 27
    world.step(6)
    fallen = 1.0 - world.host(view.get_sim_nodal_positions())[..., 2].mean(axis=1)
    np.testing.assert_allclose(fallen, 0.5 * GRAVITY * (6 * DT) ** 2, rtol=0.06)


def test_behaviours_102_107_110_surfaces(stages: SimpleNamespace, arrays: Any) -> None:
    world = World(stages, arrays, surface, height=1.0)
    view = world.sim.create_surface_deformable_body_view("/envs/*/sheet")
    assert (view.num_nodes_per_element, view.max_simulation_elements_per_body) == (3, 8)
    indices = world.host(view.get_simulation_element_indices())
    np.testing.assert_array_equal(indices[0, :2], [[0, 3, 4], [0, 4, 1]])
    np.testing.assert_array_equal(world.host(view.get_rest_element_indices()), indices)
    np.testing.assert_array_equal(world.host(view.get_collision_element_indices()), indices)
    with pytest.raises(tensorphys.NotSuitableError, match="a volume deformable"):
        world.sim.create_volume_deformable_body_view("/envs/*/sheet")
    world.step(2)
    speeds = world.host(view.get_simulation_nodal_velocities())
    world.put(view.set_simulation_nodal_velocities, speeds * 0.0 + [1.0, 0.0, 0.0], [1])
    world.step(1)
    after = world.host(view.get_simulation_nodal_velocities())
    np.testing.assert_allclose(after[1, :, 0], 1.0, rtol=1e-2)
    np.testing.assert_allclose(after[[0, 2]][..., 0], 0.0, atol=1e-4)
    np.testing.assert_array_equal(world.host(view.get_rest_element_indices()), indices)


def test_subspaces(new: World) -> None:
    everywhere = new.host(new.sim.create_soft_body_view("/envs/*/soft").get_sim_nodal_positions())
    new.sim.set_subspace_roots("/envs/*")
    local = new.sim.create_soft_body_view("/envs/*/soft")
    inside = new.host(local.get_sim_nodal_positions())
    np.testing.assert_array_equal(inside[2], inside[0])
    np.testing.assert_allclose(everywhere[1] - inside[1], np.tile([2.0, 0, 0], (27, 1)), atol=1e-6)
