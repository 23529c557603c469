"""Without a word about environments a stage is one world, in which every pair of shapes may touch."""

import functools
import warnings

import numpy as np
import pytest
import warp as wp

import tensorphys_contact
import tensorphys_engine
import tensorphys_scene
import tensorphys_usd

_BOXES = 20000


def paths_of(simulation):
    """Prim path of each flat shape."""
    numbering = simulation.directory.numbering
    environments = simulation.scene.environments
    own = [
        root + simulation.scene.templates[template].shapes.path[row]
        for root, template in zip(environments.path, environments.template, strict=True)
        for row in numbering.plans[template].shape_row
    ]
    return own + [simulation.scene.shared.shapes.path[row] for row in numbering.shared_shape_row]


def active_pairs(simulation):
    """Pairs of prim paths that the contact pipeline looks at."""
    paths = paths_of(simulation)
    first, second = (
        getattr(simulation.contact_model, name).numpy() for name in ("pair_shape0", "pair_shape1")
    )
    return {frozenset((paths[a], paths[b])) for a, b in zip(first.tolist(), second.tolist(), strict=True)}


@pytest.mark.parametrize(("name", "count"), [("five_box_stack", 5), ("twelve_cube_tower", 12)])
def test_a_stack_is_one_world_with_all_pairs(data, name, count, device):
    scene = tensorphys_usd.parse_stage(data / f"{name}.usda")
    assert scene.environments.path == ("",)
    assert not scene.overrides
    template = scene.templates[0]
    assert int(template.bodies.enabled.sum()) == count
    assert len(template.filtered_pairs) == 0
    simulation = tensorphys_engine.Simulation(scene, device=device)
    boxes = [path for path, body in zip(template.shapes.path, template.shapes.body, strict=True) if body >= 0]
    (ground,) = set(template.shapes.path) - set(boxes)
    expected = {frozenset((a, b)) for i, a in enumerate(boxes) for b in boxes[:i]}
    expected |= {frozenset((box, ground)) for box in boxes}
    assert len(boxes) == count
    assert active_pairs(simulation) == expected


@functools.cache
def many_boxes():
    """Scene of equal sibling boxes of 1 m in a block of 20 × 20 columns that overlap by 1 mm."""
    from pxr import Sdf, Usd, UsdGeom, UsdPhysics

    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/World/scene")
    layer = stage.GetRootLayer()
    schemas = Sdf.TokenListOp.Create(prependedItems=["PhysicsRigidBodyAPI", "PhysicsCollisionAPI"])
    types = Sdf.ValueTypeNames
    with Sdf.ChangeBlock():
        for index in range(_BOXES):
            spec = Sdf.CreatePrimInLayer(layer, f"/World/box_{index}")
            spec.specifier, spec.typeName = Sdf.SpecifierDef, "Cube"
            spec.SetInfo("apiSchemas", schemas)
            Sdf.AttributeSpec(spec, "size", types.Double).default = 1.0
            place = Sdf.AttributeSpec(spec, "xformOp:translate", types.Double3)
            place.default = tuple(0.999 * k for k in (index % 20, index // 20 % 20, index // 400))
            order = Sdf.AttributeSpec(spec, "xformOpOrder", types.TokenArray, Sdf.VariabilityUniform)
            order.default = ["xformOp:translate"]
    return tensorphys_usd.parse_stage(stage)


def test_twenty_thousand_equal_siblings_are_one_world_and_their_near_pairs_are_found(device):
    scene = many_boxes()
    assert scene.environments.path == ("",)
    assert len(scene.templates) == 1
    template = scene.templates[0]
    shapes, bodies = template.shapes, template.bodies
    assert bodies.count == shapes.count == _BOXES
    assert shapes.enabled.all()
    assert bodies.enabled.all()
    assert len(template.filtered_pairs) == 0
    assert (np.sort(shapes.body) == np.arange(_BOXES)).all()
    # Faces, edges and corners of a block's neighbours touch: at most 13 of 26 neighbours count once.
    model = tensorphys_contact.build_model(
        shape_type=shapes.type,
        shape_body=shapes.body,
        shape_pose=shapes.pose,
        shape_size=shapes.size,
        shape_environment=np.zeros(_BOXES, int),
        pairs=tensorphys_contact.PairSearch(13 * _BOXES),
        environment_count=1,
        shape_material=np.zeros(_BOXES, int),
        materials=tensorphys_contact.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.zeros(_BOXES),
        rest_offset=np.zeros(_BOXES),
        device=device,
    )
    contacts = tensorphys_contact.create_contacts(model)
    pose = wp.array(bodies.pose.astype(np.float32), dtype=wp.transform, device=device)
    tensorphys_contact.collide(model, pose, contacts)
    assert model.search is not None
    assert int(model.search.overflow.numpy()[0]) == 0
    used = int(contacts.count.numpy()[0])
    found = np.stack((contacts.shape0.numpy()[:used], contacts.shape1.numpy()[:used]), axis=1)
    touching = {tuple(sorted(pair)) for pair in found.tolist()}
    cell = np.stack(np.unravel_index(np.arange(_BOXES), (50, 20, 20))[::-1], axis=1)
    index_of = {tuple(where): index for index, where in enumerate(cell.tolist())}
    faces = {
        tuple(sorted((index, index_of[neighbour])))
        for (x, y, z), index in index_of.items()
        for neighbour in ((x + 1, y, z), (x, y + 1, z), (x, y, z + 1))
        if neighbour in index_of
    }
    assert faces <= touching
    apart = np.abs(cell[np.array(sorted(touching))[:, 0]] - cell[np.array(sorted(touching))[:, 1]])
    assert apart.max() == 1


def test_more_pairs_than_the_engine_looks_at_are_refused_by_name():
    """One large world is searched for pairs; several beside each other are not yet."""
    scene = tensorphys_scene.replicate(many_boxes(), 2, spacing=100.0)
    with pytest.raises(tensorphys_engine.UnsupportedError, match=r"has 20000 shapes"):
        tensorphys_engine.Simulation(scene)


def robot_on_its_ground(stage, root):
    """A box on two links that brings its own ground plane."""
    stage.xform(root)
    stage.xform(f"{root}/robot")
    stage.ground(f"{root}/robot/ground")
    stage.box_body(f"{root}/robot/base", (0.0, 0.0, 0.1))
    stage.box_body(f"{root}/robot/arm", (0.5, 0.0, 0.1))


@pytest.mark.parametrize("way", ["replicated", "authored"])
def test_copies_of_a_robot_with_a_ground_have_one_plane_each(author, way):
    count = 4096
    stage = author()
    if way == "replicated":
        robot_on_its_ground(stage, "/envs/env_0")
        scene = tensorphys_usd.parse_stage(stage.stage)
        scene = tensorphys_scene.replicate(scene, "/envs/env_0", count, spacing=3.0, path="/envs/env_{}")
    else:
        from pxr import Sdf

        robot_on_its_ground(stage, "/envs/env_0")
        layer = stage.stage.GetRootLayer()
        with Sdf.ChangeBlock():
            for index in range(1, count):
                Sdf.CopySpec(layer, "/envs/env_0", layer, f"/envs/env_{index}")
        scene = tensorphys_usd.parse_stage(stage.stage, environments="/envs/*")
    assert len(scene.templates) == 1
    assert scene.environments.count == count
    plane = int(tensorphys_scene.ShapeType.PLANE)
    assert int((scene.templates[0].shapes.type == plane).sum()) == 1
    assert scene.shared.shapes.count == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation = tensorphys_engine.Simulation(scene)
    model = simulation.contact_model
    environment = np.repeat(np.arange(count), 3)
    first, second = model.pair_shape0.numpy(), model.pair_shape1.numpy()
    assert (environment[first] == environment[second]).all()
    # Box and box, and each of the two on the plane of its own environment.
    assert np.bincount(environment[first], minlength=count).tolist() == [3] * count
