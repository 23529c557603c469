"""Real-world cases that concern parsing; each names its source in its file's comment or in the case list."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tensorphys_scene import Scene, ShapeType, Template
from tensorphys_spatial import quaternion_multiply, quaternion_rotate, transform_point
from tensorphys_usd import parse_stage

Case = Callable[[str], Path]
HALF = np.sqrt(0.5)


def only(scene: Scene) -> Template:
    (template,) = scene.templates
    return template


def body(template: Template, path: str) -> int:
    return template.bodies.row(path)


def findings(scene: Scene, path: str) -> str:
    return "\n".join(text for where, text in scene.findings if where == path)


def hulls_in_body(template: Template, shape: int) -> np.ndarray:
    """Points of a mesh shape in the body frame."""
    pose, size = template.shapes.pose[shape], template.shapes.size[shape]
    points = template.meshes[template.shapes.mesh[shape]].points * size
    return transform_point(pose, points)


def test_001_scaled_ancestor(case: Case) -> None:
    template = only(parse_stage(case("001")))
    for path, com, half in (("/World/Scaled/Body", 0.6, 0.2), ("/World/Plain/Body", 0.3, 0.1)):
        row = body(template, path)
        np.testing.assert_allclose(template.bodies.com[row], (com, 0.0, 0.0), atol=1e-6)
        np.testing.assert_allclose(template.bodies.principal_rotation[row], (0, 0, 0, 1), atol=1e-6)
        shape = template.shapes.row(f"{path}/Col")
        np.testing.assert_allclose(template.shapes.size[shape], half, atol=1e-6)
        np.testing.assert_allclose(template.shapes.pose[shape, :3], (com, 0.0, 0.0), atol=1e-6)


@pytest.mark.parametrize("number", ["002", "004"])
def test_fallback_values_and_instances_weigh_what_the_collider_weighs(case: Case, number: str) -> None:
    template = only(parse_stage(case(number)))
    np.testing.assert_allclose(template.bodies.mass, 8.0, rtol=1e-5)
    np.testing.assert_allclose(
        template.bodies.inertia, np.eye(3) * 0.0533333 * np.ones((2, 1, 1)), rtol=1e-4, atol=1e-9
    )
    np.testing.assert_allclose(template.bodies.com, 0.0, atol=1e-7)
    assert template.shapes.count == 2
    assert np.bincount(template.shapes.body).tolist() == [1, 1]


def test_004_shape_paths_are_those_of_the_instance(case: Case) -> None:
    assert only(parse_stage(case("004"))).shapes.path[0] == "/World/Inst/Geo/Col"


def test_005_mass_density_precedence(case: Case) -> None:
    template = only(parse_stage(case("005")))
    masses = dict(
        zip((path[-1] for path in template.bodies.path), template.bodies.mass.tolist(), strict=True)
    )
    assert masses == pytest.approx({"A": 1.6, "B": 4.0, "C": 5.6, "D": 3.0, "E": 8.0}, rel=1e-5)
    np.testing.assert_allclose(template.bodies.inertia[3], 0.02 * np.eye(3), rtol=1e-5, atol=1e-12)


def test_006_centimetre_stage(case: Case) -> None:
    scene = parse_stage(case("006"))
    assert scene.settings.gravity == pytest.approx((0.0, 0.0, -981.0))
    assert only(scene).bodies.mass[0] == pytest.approx(4.188790, rel=1e-4)
    assert only(scene).bodies.pose[0, 2] == 500.0


def test_008_y_up(case: Case) -> None:
    settings = parse_stage(case("008")).settings
    assert settings.gravity == pytest.approx((0.0, -9.81, 0.0))
    assert settings.up_axis == "Y"


def test_010_mirrored_meshes(case: Case) -> None:
    template = only(parse_stage(case("010")))
    expected = {
        "A": (1000 / 6, (-0.25, 0.25, 0.25)),
        "B": (1000 / 48, (-0.125,) * 3),
        "C": (1000 / 6, (0.25,) * 3),
    }
    for row, path in enumerate(template.bodies.path):
        mass, com = expected[path[-1]]
        assert template.bodies.mass[row] == pytest.approx(mass, rel=1e-4)
        turned = quaternion_rotate(template.bodies.pose[row, 3:], template.bodies.com[row])
        np.testing.assert_allclose(turned, com, atol=1e-6)
        shape = int(np.flatnonzero(template.shapes.body == row)[0])
        assert (template.shapes.size[shape] > 0.0).all()
        mesh = template.meshes[template.shapes.mesh[shape]]
        corners = mesh.points[mesh.triangles]
        assert np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) > 0.0
    world = quaternion_rotate(template.bodies.pose[0, 3:], hulls_in_body(template, 0))
    # The oblique face x - y - z = -1 after mirroring: a ray at y = z = 0.1 meets it at x = -0.8.
    np.testing.assert_allclose(world[np.argmin(world[:, 0])], (-1.0, 0.0, 0.0), atol=1e-6)
    hinge = template.joints.row("/World/Hinge")
    turned = quaternion_multiply(template.bodies.pose[1, 3:], template.joints.frame1[hinge, 3:])
    np.testing.assert_allclose(np.abs(quaternion_rotate(turned, (0.0, 0.0, 1.0))), (0.0, 0.0, 1.0), atol=1e-4)


def test_011_primitives_under_non_uniform_scale(case: Case) -> None:
    scene = parse_stage(case("011"))
    shapes = only(scene).shapes
    sizes = {ShapeType(kind): size for kind, size in zip(shapes.type, shapes.size, strict=True)}
    np.testing.assert_allclose(sizes[ShapeType.CAPSULE][:2], (0.3, 0.5), rtol=1e-6)
    np.testing.assert_allclose(sizes[ShapeType.CYLINDER][:2], (0.2, 1.0), rtol=1e-6)
    np.testing.assert_allclose(sizes[ShapeType.CONE][:2], (0.4, 1.5), rtol=1e-6)
    np.testing.assert_allclose(sizes[ShapeType.SPHERE][0], 0.125, rtol=1e-6)
    np.testing.assert_allclose(sizes[ShapeType.BOX], (1, 2, 3), rtol=1e-6)
    assert sum("across its axis" in text for _, text in scene.findings) == 3


def test_014_nested_bodies(case: Case) -> None:
    bodies = only(parse_stage(case("014"))).bodies
    np.testing.assert_allclose(bodies.mass, (8, 64, 8), rtol=1e-5)
    expected = [(0, 0, 10, 0, 0, 0, 1), (1, 0, 10, 0, 0, HALF, HALF), (3, 0, 10, 0, 0, 0, 1)]
    np.testing.assert_allclose(bodies.pose, expected, atol=1e-6)


def test_016_triangle_mesh_on_a_moving_body_is_its_hull_and_says_so(case: Case) -> None:
    scene = parse_stage(case("016"))
    template = only(scene)
    shape = int(np.flatnonzero(template.shapes.type == ShapeType.CONVEX_HULL)[0])
    assert "convex hull" in findings(scene, template.shapes.path[shape])
    assert template.bodies.mass[template.shapes.body[shape]] == pytest.approx(240.0, rel=1e-4)


def test_024_odd_names(case: Case) -> None:
    paths = only(parse_stage(case("024"))).bodies.path
    assert {path.rpartition("/")[2] for path in paths} == {"_1", "Würfel", "机器人", "arm", "arm_1", "arm_10"}


def test_031_mesh_mass(case: Case) -> None:
    bodies = only(parse_stage(case("031"))).bodies
    np.testing.assert_allclose(bodies.mass, (1000.0, 3000.0), rtol=1e-5)
    np.testing.assert_allclose(bodies.com, [(0.5, 0.5, 0.5), (0.833333, 0.833333, 0.5)], atol=1e-5)
    np.testing.assert_allclose(bodies.inertia[0], 166.6667 * np.eye(3), rtol=1e-4, atol=1e-9)
    expected = [[1166.667, 333.333, 0.0], [333.333, 1166.667, 0.0], [0.0, 0.0, 1833.333]]
    np.testing.assert_allclose(bodies.inertia[1], expected, rtol=1e-4, atol=1e-6)


def test_034_missing_or_impossible_inertia(case: Case) -> None:
    scene = parse_stage(case("034"))
    bodies = only(scene).bodies
    by_name = {path[-1]: row for row, path in enumerate(bodies.path)}
    assert bodies.mass[by_name["A"]] == 2.0
    assert bodies.mass[by_name["B"]] == 1.0
    np.testing.assert_allclose(bodies.inertia[by_name["A"]], 0.4 * 2.0 * 0.01 * np.eye(3))
    np.testing.assert_allclose(bodies.inertia[by_name["D"]], 0.02 * np.eye(3), rtol=1e-5, atol=1e-9)
    assert (np.linalg.eigvalsh(bodies.inertia) > 0.0).all()
    for name in "ABCE":
        assert findings(scene, bodies.path[by_name[name]]), name
    assert not findings(scene, bodies.path[by_name["D"]])


def test_040_reversed_joint_is_flipped_not_reordered(case: Case) -> None:
    template = only(parse_stage(case("040")))
    names = [path.rpartition("/")[2] for path in template.links.path]
    assert names == ["base", "link1", "link2"] * 2
    assert template.links.parent.tolist() == [-1, 0, 1, -1, 3, 4]
    assert template.links.flipped.tolist() == [False] * 5 + [True]
    assert template.axes.count == 4


def test_041_fixed_bases_keep_their_poses(case: Case) -> None:
    scene = parse_stage(case("041"))
    template = only(scene)
    assert template.articulations.fixed_base.all()
    roots = template.links.body[template.links.parent < 0]
    expected = [(1, 2, 0.5, 0, 0, HALF, HALF), (4, 2, 0.5, 0, 0, HALF, HALF), (7, 2, 0.5, 0, 0, 0, 1)]
    np.testing.assert_allclose(template.bodies.pose[roots], expected, atol=1e-6)
    for root in np.flatnonzero(template.links.parent < 0):
        # The world side of the root joint meets the base where it stands.
        joint, base = template.links.joint[root], template.links.body[root]
        pose = template.bodies.pose[base]
        anchor = transform_point(pose, template.joints.frame1[joint, :3])
        np.testing.assert_allclose(template.joints.frame0[joint, :3], anchor, atol=1e-6)
    assert "keeps the pose of its prim" in findings(scene, "/World/C/root_joint")
    assert not findings(scene, "/World/A/root_joint")


def test_043_two_roots_of_one_tree_make_one_articulation(case: Case) -> None:
    scene = parse_stage(case("043"))
    template = only(scene)
    assert template.articulations.path == ("/World/Robot/Arm",)
    assert sorted(template.links.body.tolist()) == list(range(5))
    assert template.axes.count == 3
    assert "/World/Robot/Arm" in findings(scene, "/World/Robot/Gripper")


def test_044_loop_joint_stays_outside_of_the_tree(case: Case) -> None:
    template = only(parse_stage(case("044")))
    loop = template.joints.row("/World/FourBar/loop")
    assert template.joints.excluded[loop]
    assert template.joints.enabled[loop]
    assert loop not in template.links.joint
    tree_axes = [
        row for row in range(template.axes.count) if template.axes.joint[row] in template.links.joint
    ]
    assert (template.links.count, len(tree_axes)) == (4, 3)


def test_046_breadth_first_order(case: Case) -> None:
    template = only(parse_stage(case("046")))
    joints = template.links.joint[1:]
    names = [template.axes.names[int(np.flatnonzero(template.axes.joint == joint)[0])] for joint in joints]
    legs = ["LF", "LH", "RF", "RH"]
    assert names == [f"{leg}_{kind}" for kind in ("HFE", "KFE") for leg in legs]


def test_047_degrees_end_here(case: Case) -> None:
    axes = only(parse_stage(case("047"))).axes
    np.testing.assert_allclose(axes.stiffness, (22918.31180523293, 400), rtol=1e-5)
    np.testing.assert_allclose(axes.damping, (4583.662361046586, 80), rtol=1e-5)
    np.testing.assert_allclose(axes.max_force, (87, 20), rtol=1e-5)
    np.testing.assert_allclose(axes.lower, (-np.pi / 2, 0), rtol=1e-5)
    np.testing.assert_allclose(axes.upper, (np.pi / 4, 0.04), rtol=1e-5)
    np.testing.assert_allclose(axes.target_position, (np.pi / 6, 0.02), rtol=1e-5)
    assert axes.max_velocity[0] == pytest.approx(1.7453292519943295, rel=1e-5)


def test_056_kinematic_root_link_is_a_fixed_base(case: Case) -> None:
    scene = parse_stage(case("056"))
    template = only(scene)
    root = template.links.body[0]
    assert template.articulations.fixed_base.tolist() == [True]
    assert not template.bodies.kinematic.any()
    assert "kinematic root link" in findings(scene, template.bodies.path[root])
    np.testing.assert_allclose(template.bodies.pose[root, :3], (0, 0, 0.5), atol=1e-6)


def test_057_root_link(case: Case) -> None:
    template = only(parse_stage(case("057")))
    names = {}
    for index, path in enumerate(template.articulations.path):
        names[path] = [
            link.rpartition("/")[2]
            for link, owner in zip(template.links.path, template.links.articulation, strict=True)
            if owner == index
        ]
    assert names["/World/RobotB/Pelvis"] == ["Pelvis", "Torso", "Spine", "Chest", "Head"]
    assert names["/World/RobotX"][0] == "Spine"
    assert sorted(names["/World/RobotX"]) == sorted(names["/World/RobotB/Pelvis"])


def test_074_joined_bodies_do_not_collide_unless_they_say_so(case: Case) -> None:
    template = only(parse_stage(case("074")))
    pairs = {
        tuple(sorted(template.shapes.path[shape].split("/")[2] for shape in pair))
        for pair in template.filtered_pairs
    }
    assert pairs == {("A0", "A1")}


def test_133_no_warning_from_openusd(case: Case) -> None:
    code = "import sys; from tensorphys_usd import parse_stage; parse_stage(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(case("046"))],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
