"""Deformables of a scene: what prims of both generations become, attachments, errors, findings."""

from __future__ import annotations

import numpy as np
import pytest

from tensorphys_engine import BuildError, Simulation, StepError, UnsupportedWarning
from tensorphys_engine.testing.soft_scenes import RigidBox, SoftCube, soft_scene
from tensorphys_fem import box_mesh
from tensorphys_scene import Scene, Settings, SoftData, SoftKind, SoftPrims, Template


def _scene(*prims, settings=None, **template):
    """Prims (path, kind, data, frame)."""
    table = SoftPrims(
        path=tuple(p[0] for p in prims),
        kind=np.array([int(p[1]) for p in prims], np.int32),
        transform=np.array([np.eye(4) if len(p) < 4 else p[3] for p in prims]),
        data=tuple(p[2] for p in prims),
    )
    names = ("", *sorted(p[0] for p in prims))
    return Scene(
        templates=(Template(prims=names, soft_prims=table, **template),), settings=settings or Settings()
    )


def _box_surface(half):
    corners = half * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    faces = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return corners, np.array([t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))], np.int32)


OLD_MATERIAL = SoftData(
    schemas=("PhysxDeformableBodyMaterialAPI",),
    values={
        "physxDeformableBodyMaterial:youngsModulus": 2e5,
        "physxDeformableBodyMaterial:poissonsRatio": 0.4995,
        "physxDeformableBodyMaterial:density": 500.0,
        "physxDeformableBodyMaterial:elasticityDamping": 0.01,
    },
)


def test_the_older_schema_fills_a_surface_with_cells(device):
    points, triangles = _box_surface(0.1)
    body = SoftData(
        schemas=("PhysxDeformableBodyAPI",),
        values={"physxDeformable:simulationHexahedralResolution": 4, "physxDeformable:selfCollision": True},
        points=points,
        elements=triangles,
        material="/rubber",
    )
    frame = np.eye(4)
    frame[:3, :3] = 2.0 * np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    frame[:3, 3] = (1.0, 2.0, 3.0)
    simulation = Simulation(
        _scene(("/jelly", SoftKind.VOLUME_BODY, body, frame), ("/rubber", SoftKind.MATERIAL, OLD_MATERIAL)),
        device=device,
    )
    soft = simulation.soft
    assert soft.paths == ("/jelly",) and soft.bodies[0].self_collision
    material = soft.bodies[0].body.material
    assert (material.youngs_modulus, material.damping) == (2e5, 0.01)
    assert material.poissons_ratio == 0.499 and material.dynamic_friction == 0.25
    assert material.velocity_damping == 0.005
    assert len(soft.model.bodies[0].mesh.tets) == 6 * 4**3
    assert soft.model.node_mass.numpy().sum() == pytest.approx(500.0 * 0.4**3, rel=1e-6)
    x = soft.state.position.numpy()
    np.testing.assert_allclose([x.min(axis=0), x.max(axis=0)], [[0.8, 1.8, 2.8], [1.2, 2.2, 3.2]], atol=1e-6)
    simulation.step()
    assert np.isfinite(soft.state.position.numpy()).all()


def test_authored_tetrahedra_and_velocities_are_taken(device):
    points, triangles = _box_surface(0.1)
    mesh = box_mesh((2, 2, 2), 0.1, origin=(-0.1,) * 3)
    speeds = np.tile([0.0, 1.0, 0.0], (len(mesh.points), 1))
    body = SoftData(
        schemas=("PhysxDeformableBodyAPI",),
        values={
            "physxDeformable:simulationIndices": mesh.tets.reshape(-1).astype(np.int32),
            "physxDeformable:simulationRestPoints": mesh.points,
            "physxDeformable:simulationVelocities": speeds,
        },
        points=points,
        elements=triangles,
    )
    simulation = Simulation(_scene(("/jelly", SoftKind.VOLUME_BODY, body)), device=device)
    np.testing.assert_array_equal(simulation.soft.model.bodies[0].mesh.tets, mesh.tets)
    np.testing.assert_allclose(simulation.soft.state.velocities.numpy(), speeds)
    simulation.step()
    simulation.reset()
    np.testing.assert_allclose(simulation.soft.state.velocities.numpy(), speeds)


def test_units_of_the_stage_reach_the_defaults(device):
    """A stage in centimetres and grams: density, modulus and thickness that nobody gives are those of SI."""
    points, triangles = _box_surface(10.0)
    body = SoftData(schemas=("OmniPhysicsDeformableBodyAPI",), points=points, elements=triangles)
    settings = Settings(meters_per_unit=0.01, kilograms_per_unit=0.001, gravity=np.array((0, 0, -981.0)))
    simulation = Simulation(_scene(("/a", SoftKind.VOLUME_BODY, body), settings=settings), device=device)
    material = simulation.soft.bodies[0].body.material
    assert material.density == pytest.approx(1.0, rel=1e-4)
    assert material.youngs_modulus == pytest.approx(5e5 * 1000.0 / 100.0)
    assert simulation.soft.bodies[0].max_push == pytest.approx(100.0)


def test_attachments_of_the_older_schema_find_their_nodes(device):
    corner = np.array([[-0.025, -0.025, 0.025], [0.025, 0.025, 0.025], [0.0, 0.0, 9.0]])
    pin = SoftData(
        schemas=("PhysxPhysicsAttachment",),
        values={"points0": np.zeros((0, 3)), "points1": corner},
        targets={"actor0": ("/box0/geometry",), "actor1": ("/soft0",)},
    )
    scene = soft_scene(
        [SoftCube((0.0, 0.0, 0.2))],
        [RigidBox((0.0, 0.0, 0.3), (0.02,) * 3, kinematic=True)],
        attachments=[pin],
    )
    simulation = Simulation(scene, device=device)
    attached = np.flatnonzero(simulation.soft.attachments.active.numpy())
    places = simulation.soft.state.position.numpy()[attached].copy()
    np.testing.assert_allclose(places, corner[:2] + [0.0, 0.0, 0.2], atol=1e-9)
    assert (simulation.soft.attachments.link.numpy()[attached] == 0).all()
    np.testing.assert_allclose(
        simulation.soft.attachments.point.numpy()[attached][0], corner[0] - [0, 0, 0.1], atol=1e-6
    )
    assert any("at no node" in text for _, text in simulation.findings)
    for _ in range(10):
        simulation.step()
    np.testing.assert_allclose(simulation.soft.state.position.numpy()[attached], places, atol=1e-6)


@pytest.mark.parametrize(("offset", "layers"), [(0.0, 1), (0.018, 2)])
def test_automatic_attachments_take_the_nodes_that_overlap(device, offset, layers):
    """A cube of 4 × 4 × 4 nodes, its top 1 mm inside of a box that does not move, and hangs from it."""
    pin = SoftData(
        schemas=("PhysxPhysicsAttachment", "PhysxAutoAttachmentAPI"),
        values={"physxAutoAttachment:deformableVertexOverlapOffset": offset},
        targets={"actor0": ("/soft0",), "actor1": ("/box0",)},
    )
    other = SoftData(
        schemas=("PhysxPhysicsAttachment", "PhysxAutoAttachmentAPI"),
        values={"physxAutoAttachment:enableDeformableVertexAttachments": False},
        targets={"actor0": ("/soft0",), "actor1": ("/box0",)},
    )
    scene = soft_scene(
        [SoftCube((0.0, 0.0, 0.2))],
        [RigidBox((0.0, 0.0, 0.264), (0.05, 0.05, 0.04), kinematic=True)],
        attachments=[pin, other],
        environment_count=2,
    )
    with pytest.warns(UnsupportedWarning, match="attachments, left out: 1"):
        simulation = Simulation(scene, device=device)
    soft = simulation.soft
    active = soft.attachments.active.numpy()
    heights = soft.state.position.numpy()[:, 2]
    assert active.sum() == 2 * 16 * layers
    assert (heights[active != 0] > 0.225 - 0.05 / 3 * (layers - 1) - 1e-6).all()
    links = soft.attachments.link.numpy()
    assert set(links[soft.nodes_of(0)][active[soft.nodes_of(0)] != 0]) == {0}
    assert set(links[soft.nodes_of(1)][active[soft.nodes_of(1)] != 0]) == {1}
    assert any("/soft0 lie in" in text for _, text in simulation.findings)
    places = soft.state.position.numpy()[active != 0].copy()
    for _ in range(20):
        simulation.step()
    np.testing.assert_allclose(soft.state.position.numpy()[active != 0], places, atol=1e-6)


def test_springs_of_attachments_follow_their_law(device):
    """A cube that hangs on springs sinks by its weight over their stiffness."""
    scene = soft_scene([SoftCube((0.0, 0.0, 0.2), youngs_modulus=1e6)], ground=False)
    simulation = Simulation(scene, device=device)
    soft = simulation.soft
    x = soft.state.position.numpy().copy()
    soft.attach(np.arange(len(x)), x, stiffness=10.0, damping=0.5)
    for _ in range(240):
        simulation.step()
    sunk = (x - soft.state.position.numpy())[:, 2]
    assert sunk.mean() == pytest.approx(0.2 * 9.81 / (10.0 * len(x)), rel=1e-3)
    total = soft.attachment_force.numpy().astype(float).sum(axis=0)
    np.testing.assert_allclose(total, [0.0, 0.0, 0.2 * 9.81], atol=2e-3)


def test_what_cannot_be_is_named(device):
    simulation = Simulation(soft_scene([SoftCube((0.0, 0.0, 0.2))]), device=device)
    for arguments in (([999], [[0, 0, 0]]), ([0], [[np.nan, 0, 0]]), ([0, 1], [[0, 0, 0]])):
        with pytest.raises(StepError, match="attach"):
            simulation.soft.attach(*arguments)
    with pytest.raises(StepError, match="stiffness"):
        simulation.soft.attach([0], [[0, 0, 0]], stiffness=0.0)
    empty = SoftData(schemas=("OmniPhysicsDeformableBodyAPI",))
    with pytest.raises(BuildError, match="/a: deformable body without a mesh"):
        Simulation(_scene(("/a", SoftKind.VOLUME_BODY, empty)), device=device)
    flat = SoftData(
        schemas=("OmniPhysicsDeformableBodyAPI",),
        points=np.zeros((4, 3)),
        elements=np.array([[0, 1, 2, 3]], np.int32),
    )
    with pytest.raises(BuildError, match="/a: "):
        Simulation(_scene(("/a", SoftKind.VOLUME_BODY, flat)), device=device)
    curves = SoftData(schemas=("OmniPhysicsCurvesDeformableSimAPI",))
    with pytest.warns(UnsupportedWarning, match="/c"):
        left = Simulation(_scene(("/c", SoftKind.CURVES_BODY, curves)), device=device)
    assert left.soft is None


def test_disabled_bodies_are_no_deformables(device):
    points, triangles = _box_surface(0.1)
    body = SoftData(
        schemas=("OmniPhysicsDeformableBodyAPI",),
        values={"omniphysics:deformableBodyEnabled": False},
        points=points,
        elements=triangles,
    )
    assert Simulation(_scene(("/a", SoftKind.VOLUME_BODY, body)), device=device).soft is None


def test_states_that_are_not_finite_stay_with_their_body(device):
    """A body whose nodes are thrown to infinity stops; its neighbour in the same environment falls as it would alone."""
    cubes = [SoftCube((0.0, 0.0, 0.3)), SoftCube((0.5, 0.0, 0.3))]
    simulation = Simulation(soft_scene(cubes), device=device)
    alone = Simulation(soft_scene(cubes[1:]), device=device)
    target = simulation.soft.control.target.numpy()
    target[0] = (np.nan, 0.0, 0.0, 0.0)
    simulation.soft.control.target.assign(target)
    for _ in range(5):
        simulation.step()
        alone.step()
    found = simulation.soft.state.position.numpy()
    assert np.isfinite(found).all()
    np.testing.assert_allclose(
        found[simulation.soft.nodes_of(1)], alone.soft.state.position.numpy(), atol=1e-9
    )


def test_parameters_take_effect_are_saved_and_reset(device):
    simulation = Simulation(soft_scene([SoftCube((0.0, 0.0, 0.025))]), device=device)
    saved = simulation.save_state()
    simulation.soft.model.materials.youngs_modulus.fill_(5e3)
    for _ in range(60):
        simulation.step()
    squashed = simulation.soft.state.position.numpy()[:, 2].max()
    assert squashed < 0.048
    simulation.load_state(saved)
    assert simulation.soft.model.materials.youngs_modulus.numpy()[0] == pytest.approx(5e4)
    for _ in range(60):
        simulation.step()
    assert simulation.soft.state.position.numpy()[:, 2].max() > 0.049
