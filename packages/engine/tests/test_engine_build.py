"""From scenes to flat arrays: numbering, overrides, shapes, candidate pairs, and what is refused or reported."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorphys_engine import BuildError, Simulation, UnsupportedError, UnsupportedWarning
from tensorphys_engine.layout import Layout
from tensorphys_engine.testing import ball_scene, pendulum_scene, walker_scene
from tensorphys_scene import (
    Axes,
    AxisType,
    Bodies,
    CombineMode,
    Environments,
    Joints,
    JointType,
    Materials,
    Mesh,
    Scene,
    Settings,
    Shapes,
    ShapeType,
    Template,
    replicate,
)

UNIT = [0.0, 0.0, 0.0, 1.0]
TETRAHEDRON = Mesh(
    np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], np.int32),
)


def bodies(count: int, **columns: Any) -> Bodies:
    columns = {"mass": np.ones(count), "inertia": np.tile(np.eye(3), (count, 1, 1))} | columns
    return Bodies(path=tuple(f"/b{i}" for i in range(count)), **columns)


def shapes(types: list[ShapeType], **columns: Any) -> Shapes:
    count = len(types)
    columns = {"body": np.arange(count), "size": np.full((count, 3), 0.5)} | columns
    return Shapes(path=tuple(f"/s{i}" for i in range(count)), type=[int(kind) for kind in types], **columns)


def scene_of(template: Template, count: int = 1, **parts: Any) -> Scene:
    return replicate(Scene(templates=(template,), **parts), count, path="/e{}")


def edit(scene: Scene, **tables: Any) -> Scene:
    """A scene whose one template has other columns: table={column: values}."""
    template = scene.templates[0]
    changes = {name: getattr(template, name).replace(**columns) for name, columns in tables.items()}
    return scene.replace(templates=(template.replace(**changes),))


def pairs_of(simulation: Simulation) -> list[tuple[int, int]]:
    model = simulation.contact_model
    return list(zip(model.pair_shape0.numpy().tolist(), model.pair_shape1.numpy().tolist(), strict=True))


@given(st.lists(st.integers(0, 2), max_size=8), st.lists(st.integers(0, 3), min_size=3, max_size=3))
def test_layout_fills_environment_by_environment(templates: list[int], counts: list[int]) -> None:
    layout = Layout(np.array(templates, np.int32), counts)
    members = [templates.count(t) for t in range(3)]
    # Template 0 is equal in all environments, the others differ by environment.
    blocks = [
        np.arange((1 if t == 0 else members[t]) * counts[t]).reshape(-1 if counts[t] else 1, counts[t])
        + 100 * t
        if members[t] and counts[t]
        else np.zeros((1, counts[t]))
        for t in range(3)
    ]
    seen = [0, 0, 0]
    expected: list[float] = []
    for t in templates:
        expected += blocks[t][seen[t] if len(blocks[t]) > 1 else 0].tolist()
        seen[t] += 1
    assert layout.fill(blocks, np.float64).tolist() == expected
    assert layout.total == len(expected)
    assert layout.environment.tolist() == [e for e, t in enumerate(templates) for _ in range(counts[t])]


def test_flat_order_is_articulations_then_free_bodies() -> None:
    simulation = Simulation(walker_scene(2))
    model = simulation.model
    assert model.articulation_link_start.numpy().tolist() == [0, 5, 6, 7, 12, 13, 14]
    assert model.articulation_environment.numpy().tolist() == [0, 0, 0, 1, 1, 1]
    assert model.articulation_velocity_start.numpy().tolist() == [0, 10, 16, 16, 26, 32, 32]
    assert model.link_mass.numpy().tolist() == pytest.approx([4, 0.8, 0.8, 0.5, 0.5, 1, 1] * 2)
    # Walker, free body, kinematic body: three topologies for all environments.
    assert len(model.types) == 3


def test_mixed_templates_keep_the_order_of_the_environments() -> None:
    ball, pendulum = ball_scene().templates[0], pendulum_scene().templates[0]
    scene = Scene(
        templates=(ball, pendulum),
        environments=Environments(
            path=("/e0", "/e1", "/e2", "/e3"),
            template=np.array([1, 0, 1, 0], np.int32),
            origin=np.zeros((4, 3)),
        ),
    )
    simulation = Simulation(scene)
    assert simulation.model.articulation_environment.numpy().tolist() == [0, 1, 2, 3]
    assert simulation.model.link_articulation.numpy().tolist() == [0, 0, 1, 2, 2, 3]
    assert [simulation.lookup(f"/e{e}/ball").link for e in (1, 3)] == [2, 5]
    assert [simulation.lookup(f"/e{e}/pendulum/hinge").dofs for e in (0, 2)] == [range(1), range(1, 2)]
    assert simulation.contact_model.shape_body.numpy().tolist() == [2, 5]
    simulation.step()
    alone = Simulation(ball_scene())
    alone.step(simulation.time_step)
    assert np.array_equal(simulation.state.link_pose.numpy()[5], alone.state.link_pose.numpy()[0])


def test_initial_state_is_the_authored_one() -> None:
    scene = edit(
        walker_scene(2),
        bodies={
            "linear_velocity": np.arange(21.0).reshape(7, 3),
            "angular_velocity": np.arange(21.0).reshape(7, 3) + 100,
        },
        axes={"velocity": [1.0, 2.0, 3.0, 4.0], "target_position": [0.1, 0.2, 0.3, 0.4]},
    )
    simulation = Simulation(scene)
    walker = [0, 1, 2, 100, 101, 102, 1, 2, 3, 4]
    crate = [15, 16, 17, 115, 116, 117]
    assert simulation.state.velocity.numpy().tolist() == [*walker, *crate] * 2
    # What is moved by hand starts at rest.
    assert not simulation.state.root_velocity.numpy().any()
    assert simulation.control.position_target.numpy().tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4] * 2)
    assert simulation.state.dof_position.numpy().tolist() == pytest.approx([0.2, -0.1, -0.3, -0.1] * 2)


def test_overrides_give_each_environment_its_own_values() -> None:
    scene = walker_scene(3)
    mass = np.tile(scene.templates[0].bodies.mass, (3, 1)) * np.array([[1.0], [2.0], [3.0]])
    pose = np.tile(scene.templates[0].bodies.pose, (3, 1, 1))
    pose[2, 0, :3] = [5.0, 6.0, 7.0]
    frame1 = np.tile(scene.templates[0].joints.frame1, (3, 1, 1))
    frame1[1, 2, :3] = [0.0, 0.0, 0.2]
    friction = np.array([[1.0, 0.4], [0.7, 0.3], [0.6, 0.2]])
    overrides = {
        (0, "bodies.mass"): mass,
        (0, "bodies.pose"): pose,
        (0, "joints.frame1"): frame1,
        (0, "materials.static_friction"): friction,
        (0, "axes.position"): np.arange(12.0).reshape(3, 4) / 100,
    }
    simulation = Simulation(scene.replace(overrides=overrides))
    assert simulation.model.link_mass.numpy().reshape(3, 7) == pytest.approx(mass)
    assert simulation.state.root_pose.numpy().reshape(3, 3, 7)[:, 0, 0].tolist() == [0.0, 0.0, 5.0]
    rest = simulation.model.link_rest_pose.numpy().reshape(3, 7, 7)[:, 3]
    assert rest[:, 2] == pytest.approx([-0.3, -0.35, -0.3])
    anchor = simulation.model.dof_anchor.numpy().reshape(3, 4, 3)[:, 2]
    assert anchor[:, 2] == pytest.approx([0.15, 0.2, 0.15])
    static = simulation.contact_model.static_friction.numpy()[:21].reshape(3, 7)
    assert static[:, 0] == pytest.approx([1.0, 0.7, 0.6])
    assert static[:, 5] == pytest.approx([0.4, 0.3, 0.2])
    assert static[:, 6] == pytest.approx(0.5)
    assert simulation.state.dof_position.numpy() == pytest.approx(np.arange(12) / 100)


def test_a_column_that_cannot_differ_is_refused() -> None:
    scene = ball_scene(2)
    values = np.zeros((2, 1))
    with pytest.raises(BuildError, match=r"bodies\.cfm_scale"):
        Simulation(scene.replace(overrides={(0, "bodies.cfm_scale"): values}))


def test_columns_that_nothing_reads_may_differ() -> None:
    scene = ball_scene(2)
    axes = np.tile(UNIT, (2, scene.templates[0].bodies.count, 1))
    density = np.arange(2.0 * scene.templates[0].materials.count).reshape(2, -1)
    overrides = {(0, "bodies.principal_rotation"): axes, (0, "materials.density"): density}
    Simulation(scene.replace(overrides=overrides))


def test_candidate_pairs_of_the_walker() -> None:
    # torso 0, thighs 1 2, shins 3 4, crate 5, platform 6 (kinematic), ground 7 (one environment).
    expected = {(i, j) for i in range(7) for j in range(i + 1, 8)}
    expected -= {(0, 1), (0, 2), (1, 3), (2, 4)}  # links and their parents
    expected -= {(6, 7)}  # neither moves
    assert pairs_of(Simulation(walker_scene())) == sorted(expected)
    two = pairs_of(Simulation(walker_scene(2)))
    shift = lambda pair, first: tuple(14 if shape == 7 else shape + first for shape in pair)  # noqa: E731
    assert two == [shift(pair, first) for first in (0, 7) for pair in sorted(expected)]


def test_filters_disabled_shapes_and_self_collision() -> None:
    base = walker_scene()
    everything = set(pairs_of(Simulation(base)))
    filtered = base.templates[0].replace(filtered_pairs=np.array([[5, 0], [1, 4]], np.int32))
    assert everything - set(pairs_of(Simulation(base.replace(templates=(filtered,))))) == {(0, 5), (1, 4)}
    off = edit(base, shapes={"enabled": [True, True, True, True, True, False, True]})
    assert everything - set(pairs_of(Simulation(off))) == {pair for pair in everything if 5 in pair}
    still = edit(base, articulations={"self_collisions": [False]})
    assert everything - set(pairs_of(Simulation(still))) == {p for p in everything if max(p) < 5}


def test_welded_links_count_as_one_body() -> None:
    # The left hip (row 0) does not move: torso 0 and left thigh 1 are one body, the left shin 3 its child.
    scene = walker_scene()
    template = scene.templates[0]
    everything = set(pairs_of(Simulation(scene)))
    welded = dataclasses.replace(
        template,
        axes=dataclasses.replace(template.axes.take([1, 2, 3]), names=template.axes.names[1:]),
        joints=template.joints.replace(type=[int(JointType.FIXED), *template.joints.type[1:]]),
    )
    # The right thigh 2 is a child of that body as well.
    lost = {(0, 3), (1, 2)}
    assert everything - set(pairs_of(Simulation(scene.replace(templates=(welded,))))) == lost
    fixed = dataclasses.replace(
        welded, articulations=welded.articulations.replace(fixed_base=[True], self_collisions=[True])
    )
    # What is welded to a fixed base meets neither the ground 7 nor the platform 6.
    lost |= {(0, 7), (1, 7), (0, 6), (1, 6)}
    assert everything - set(pairs_of(Simulation(scene.replace(templates=(fixed,))))) == lost


def test_too_many_pairs_are_refused_before_they_are_made() -> None:
    count = 6000
    template = Template(bodies=bodies(count), shapes=shapes([ShapeType.SPHERE] * count))
    with pytest.raises(UnsupportedError, match="environment /e0 has 6000 shapes"):
        Simulation(scene_of(template, 2))


def test_a_disabled_body_is_a_static_collider() -> None:
    turn = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]
    template = Template(
        bodies=bodies(2, enabled=[True, False], pose=[[0, 0, 2, *UNIT], [1, 2, 3, *turn]]),
        shapes=shapes([ShapeType.SPHERE, ShapeType.BOX], pose=[[0, 0, 0, *UNIT], [1, 0, 0, *UNIT]]),
    )
    simulation = Simulation(scene_of(template))
    assert simulation.model.link_count == 1
    assert simulation.contact_model.shape_body.numpy().tolist() == [0, -1]
    assert simulation.contact_model.local_pose.numpy()[1] == pytest.approx([1, 3, 3, *turn])
    assert pairs_of(simulation) == [(0, 1)]
    assert simulation.lookup("/e0/b1").link is None


def test_contact_offsets() -> None:
    template = Template(
        bodies=bodies(4),
        shapes=shapes(
            [ShapeType.SPHERE, ShapeType.BOX, ShapeType.PLANE, ShapeType.CAPSULE],
            size=[[5.0, 0, 0], [0.1, 0.2, 0.3], [0, 0, 0], [0.2, 0.4, 0]],
            contact_offset=[np.nan, np.nan, np.nan, 0.001],
            rest_offset=[0.0, 0.003, 0.0, 0.002],
        ),
    )
    settings = Settings(gravity=(0.0, 0.0, -20.0), meters_per_unit=0.5, steps_per_second=100.0)
    simulation = Simulation(scene_of(template, settings=settings))
    fall = 2.0 * 0.01**2 * 20.0
    expected = [0.2, fall + 0.003, 0.04, max(0.02 * 0.4, fall) + 0.002]
    assert simulation.contact_model.contact_offset.numpy() == pytest.approx(expected)
    assert [path for path, text in simulation.findings if "rest offset" in text] == ["/e0/s3"]


def test_materials_and_their_default() -> None:
    template = Template(
        bodies=bodies(2),
        shapes=shapes([ShapeType.SPHERE] * 2, material=[0, -1]),
        materials=Materials(
            path=("/m",), dynamic_friction=[0.3], restitution=[0.7], friction_combine=[int(CombineMode.MAX)]
        ),
    )
    model = Simulation(scene_of(template)).contact_model
    assert model.dynamic_friction.numpy() == pytest.approx([0.3, 0.5])
    assert model.restitution.numpy() == pytest.approx([0.7, 0.0])
    assert model.friction_combine.numpy().tolist() == [3, 0]


def test_a_hull_is_cooked_once_for_each_scale() -> None:
    template = Template(
        bodies=bodies(3),
        shapes=shapes(
            [ShapeType.CONVEX_HULL] * 3, mesh=[0, 0, 0], size=[[1.0] * 3, [1.0] * 3, [2.0, 1.0, 1.0]]
        ),
        meshes=(TETRAHEDRON,),
    )
    simulation = Simulation(scene_of(template, 5))
    vertices = simulation.contact_model.hull_vertex.numpy()
    assert len(vertices) == 8
    assert vertices[:, 0].max() == 2.0
    assert simulation.contact_model.pair_count == 15


def test_a_flat_hull_names_its_prim() -> None:
    flat = Mesh(TETRAHEDRON.points * [1.0, 1.0, 0.0], TETRAHEDRON.triangles)
    template = Template(bodies=bodies(1), shapes=shapes([ShapeType.CONVEX_HULL], mesh=[0]), meshes=(flat,))
    with pytest.raises(BuildError, match="/e0/s0"):
        Simulation(scene_of(template))


def test_a_triangle_mesh_is_cooked_once_and_named_where_it_is_bad() -> None:
    shared = Template(
        shapes=Shapes(
            path=("/a", "/b"),
            body=[-1, -1],
            type=[int(ShapeType.TRIANGLE_MESH)] * 2,
            mesh=[0, 0],
            size=[[1.0] * 3] * 2,
        ),
        meshes=(TETRAHEDRON,),
    )
    template = Template(bodies=bodies(1), shapes=shapes([ShapeType.SPHERE]))
    model = Simulation(scene_of(template, 3, shared=shared)).contact_model
    assert len(model.warp_meshes) == 1
    assert model.pair_count == 6
    flat = Mesh(TETRAHEDRON.points * [1.0, 0.0, 0.0], TETRAHEDRON.triangles)
    with pytest.raises(BuildError, match="/a: its mesh cannot collide"):
        Simulation(scene_of(template, 3, shared=shared.replace(meshes=(flat,))))


@pytest.mark.parametrize("kind", [ShapeType.SDF, ShapeType.SPHERES])
def test_a_field_or_a_filling_without_a_mesh_is_named(kind: ShapeType) -> None:
    template = Template(bodies=bodies(2), shapes=shapes([ShapeType.SPHERE, kind]))
    with pytest.raises(
        BuildError, match="/e0/s1: a signed distance field or a filling by spheres needs a mesh"
    ):
        Simulation(scene_of(template, 2))


@pytest.mark.parametrize(
    ("kind", "size"), [(ShapeType.CONE, [0.2, 0.5, 0.0]), (ShapeType.ELLIPSOID, [0.2, 0.3, 0.5])]
)
def test_cones_and_ellipsoids_collide_as_they_are(kind: ShapeType, size: list[float]) -> None:
    template = Template(bodies=bodies(2), shapes=shapes([kind, kind], size=[size, size]))
    simulation = Simulation(scene_of(template))
    model = simulation.contact_model
    assert model.shape_type.numpy().tolist() == [int(kind)] * 2
    assert model.pair_count == 1
    np.testing.assert_allclose(model.shape_size.numpy(), [size, size], rtol=1e-6)


def test_points_without_faces_collide_as_their_hull_in_place_of_a_decomposition() -> None:
    box = Mesh(
        np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.1, 0.1) for z in (-0.2, 0.2)]),
        np.zeros((0, 3), np.int32),
    )
    columns = {"type": [int(ShapeType.CONVEX_DECOMPOSITION)], "size": [[1.0, 1.0, 1.0]], "mesh": [0]}
    scene = ball_scene(height=0.21)
    scene = edit(scene.replace(templates=(scene.templates[0].replace(meshes=(box,)),)), shapes=columns)
    with pytest.warns(
        UnsupportedWarning, match="collide as convex hulls in place of their decompositions: 1"
    ):
        simulation = Simulation(scene)
    for _ in range(240):
        simulation.step(1.0 / 240.0)
    assert simulation.state.root_pose.numpy()[0] == pytest.approx([0, 0, 0.2, *UNIT], abs=1e-3)


def test_the_size_of_a_hull_cannot_differ_between_environments() -> None:
    template = Template(
        bodies=bodies(2),
        shapes=shapes([ShapeType.CONVEX_HULL, ShapeType.SPHERE], mesh=[0, -1], size=[[1.0] * 3, [0.1, 0, 0]]),
        meshes=(TETRAHEDRON,),
        filtered_pairs=np.array([[0, 1]], np.int32),
    )
    scene = scene_of(template, 2)
    sizes = np.array([[[1.0] * 3, [0.1, 0, 0]], [[1.0] * 3, [0.3, 0, 0]]])
    simulation = Simulation(scene.replace(overrides={(0, "shapes.size"): sizes}))
    assert simulation.contact_model.shape_size.numpy()[[1, 3], 0] == pytest.approx([0.1, 0.3])
    sizes = sizes.copy()
    sizes[1, 0, 2] = 2.0
    with pytest.raises(UnsupportedError, match="/e0/s0: the size of a convex hull"):
        Simulation(scene.replace(overrides={(0, "shapes.size"): sizes}))


def test_joints_that_join_nothing_that_moves_are_findings() -> None:
    template = Template(
        bodies=bodies(2, kinematic=[False, True]),
        joints=Joints(
            path=("/j", "/off", "/still"),
            type=[int(JointType.REVOLUTE)] * 3,
            body1=[0, 0, 1],
            enabled=[True, False, True],
        ),
        axes=Axes(path=("/j",), joint=[0], axis=[int(AxisType.ROT_X)], names=("j",)),
    )
    simulation = Simulation(scene_of(template))
    assert simulation.findings == (("/e0/still", "this joint joins nothing that moves"),)
    assert simulation.joints.model.joint_count == simulation.environment_count


def test_distance_joints_in_articulations_are_refused_by_name() -> None:
    scene = edit(pendulum_scene(), joints={"type": [int(JointType.DISTANCE)]})
    with pytest.raises(UnsupportedError, match="/pendulum/hinge: a distance joint"):
        Simulation(scene)


@pytest.mark.parametrize(
    ("tables", "text"),
    [
        ({"joints": {"body0": [-1]}}, "hinge does not join"),
        ({"links": {"joint": [-1, -1]}}, "rod has a parent but no joint"),
        ({"links": {"parent": [-1, -1]}}, "has 2 root links"),
        ({"links": {"body": [0, 0]}}, "is a link of two articulations"),
    ],
)
def test_contradictions_name_the_prim(tables: dict[str, Any], text: str) -> None:
    with pytest.raises(BuildError, match=text):
        Simulation(edit(pendulum_scene(), **tables))


def test_a_kinematic_root_makes_a_fixed_base() -> None:
    scene = edit(pendulum_scene(), articulations={"fixed_base": [False]}, bodies={"kinematic": [True, True]})
    simulation = Simulation(scene)
    assert simulation.model.types[0].fixed_base
    texts = dict(simulation.findings)
    assert "fixed base" in texts["/World/envs/env_0/pendulum/base"]
    assert "cannot be kinematic" in texts["/World/envs/env_0/pendulum/rod"]


def root_joint_scene(**columns: Any) -> Scene:
    """The pendulum whose base has a joint to the world as row 1."""
    scene = pendulum_scene()
    template = scene.templates[0]
    joints = template.joints
    joints = Joints(
        path=(*joints.path, "/pendulum/root"),
        type=[*joints.type, int(columns.get("type", JointType.FIXED))],
        body0=[*joints.body0, -1],
        body1=[*joints.body1, 0],
        frame0=[*joints.frame0, columns["frame0"]],
        frame1=[*joints.frame1, columns.get("frame1", [0, 0, 0, *UNIT])],
    )
    links = template.links.replace(joint=[1, 0])
    return scene.replace(templates=(dataclasses.replace(template, joints=joints, links=links),))


def test_a_fixed_base_keeps_the_pose_of_its_prim() -> None:
    agreeing = Simulation(root_joint_scene(frame0=[0, 0, 2.5, *UNIT], frame1=[0, 0, 0.5, *UNIT]))
    assert agreeing.findings == ()
    moved = Simulation(root_joint_scene(frame0=[0, 0, 0, *UNIT]))
    assert moved.state.root_pose.numpy()[0, :3].tolist() == [0.0, 0.0, 2.0]
    assert [path for path, _ in moved.findings] == ["/World/envs/env_0/pendulum/root"]
    assert moved.articulation_info(0).labels.joint_names == ("hinge",)


def test_a_link_that_stands_off_its_joint_is_reported() -> None:
    pose = [[0, 0, 2, *UNIT], [0.3, 0, 1, *UNIT]]
    moved = Simulation(edit(pendulum_scene(2, angle=0.0), bodies={"pose": pose}))
    assert [path for path, _ in moved.findings] == ["/World/envs/env_0/pendulum/rod"]
    assert moved.state.link_pose.numpy()[1, :3] == pytest.approx([0.0, 0.0, 1.0])
    # Prims of an articulation with an authored joint position stand at position zero.
    assert Simulation(pendulum_scene(angle=0.4)).findings == ()


def test_a_joint_to_the_world_that_can_move_gets_a_base() -> None:
    turn = [0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)]
    scene = root_joint_scene(type=JointType.PRISMATIC, frame0=[0.2, 0, 2, *turn], frame1=[0.2, 0, 0, *turn])
    template = scene.templates[0]
    axes = Axes(
        path=("/pendulum/hinge", "/pendulum/root"),
        joint=[0, 1],
        axis=[int(AxisType.ROT_Y), int(AxisType.TRANS_Z)],
        position=[0.1, 0.4],
        names=("hinge", "slider"),
    )
    scene = scene.replace(templates=(dataclasses.replace(template, axes=axes),))
    simulation = Simulation(replicate(scene, 2))
    info = simulation.articulation_info(1)
    assert info is not None
    assert info.labels.link_names == ("world", "base", "rod")
    assert info.labels.link_parents.tolist() == [-1, 0, 1]
    assert info.labels.dof_names == ("slider", "hinge")
    assert info.labels.joint_links.tolist() == [1, 2]
    assert info.labels.fixed_base
    # The z axis of the joint frame is the x axis of the world.
    pose = simulation.state.link_pose.numpy().reshape(2, 3, 7)
    assert pose[:, 0, :3] == pytest.approx(np.array([[0.2, 0, 2]] * 2), abs=1e-6)
    assert pose[:, 1] == pytest.approx(np.array([[0.4, 0, 2, *UNIT]] * 2), abs=1e-6)
    assert simulation.lookup("/World/envs/env_1/pendulum/base").link == 4
    assert simulation.lookup("/World/envs/env_1/pendulum/root").dofs == range(2, 3)
    for _ in range(24):
        simulation.step(1.0 / 240.0)
    assert simulation.state.link_pose.numpy().reshape(2, 3, 7)[:, 0] == pytest.approx(pose[:, 0])


def test_values_that_are_not_simulated_are_findings() -> None:
    scene = edit(
        pendulum_scene(3),
        bodies={"locked_axes": [0, 4]},
        axes={"limit_restitution": [0.2]},
        joints={"break_force": [10.0]},
    )
    assert [path.rpartition("/")[2] for path, _ in Simulation(scene).findings] == ["rod", "hinge", "hinge"]


def test_findings_of_the_parser_come_first() -> None:
    scene = edit(ball_scene(), bodies={"ccd": [True]}).replace(findings=(("/x", "ignored"),))
    findings = Simulation(scene).findings
    assert findings[0] == ("/x", "ignored")
    assert findings[1][0] == "/World/envs/env_0/ball"


def test_substeps_follow_the_authored_counts() -> None:
    assert (Simulation(ball_scene()).substeps, Simulation(ball_scene()).velocity_passes) == (4, 1)
    scene = edit(
        walker_scene(),
        bodies={"position_iterations": [-1, -1, -1, -1, -1, 3, -1]},
        articulations={"position_iterations": [8], "velocity_iterations": [0]},
    )
    simulation = Simulation(scene)
    assert (simulation.substeps, simulation.velocity_passes) == (8, 1)
    given = Simulation(scene, substeps=2, velocity_passes=3)
    assert (given.substeps, given.velocity_passes) == (2, 3)


@pytest.mark.parametrize(("authored", "expected"), [(float("nan"), 20.0), (3.0, 3.0)])
def test_the_bounce_threshold_is_a_speed_in_stage_units(authored: float, expected: float) -> None:
    scene = ball_scene().replace(settings=Settings(meters_per_unit=0.01, bounce_threshold=authored))
    assert Simulation(scene).solver.bounce_threshold.numpy()[0] == pytest.approx(expected)


def test_an_empty_scene_steps() -> None:
    simulation = Simulation(Scene())
    simulation.step()
    assert simulation.step_count == 1


def test_building_many_environments_does_not_loop_over_them() -> None:
    calls = {}
    for count in (2, 200):
        profile = __import__("cProfile").Profile()
        scene = walker_scene(count)
        profile.enable()
        Simulation(scene)
        profile.disable()
        calls[count] = sum(entry.callcount for entry in profile.getstats())
    assert calls[200] < 1.1 * calls[2]
