"""Templates, environments, scenes and replication."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorphys_scene import (
    Articulations,
    Axes,
    AxisType,
    Bodies,
    Environments,
    Joints,
    JointType,
    Links,
    Scene,
    SceneValueError,
    Settings,
    Shapes,
    ShapeType,
    Template,
    grid_origins,
    replicate,
)


def template(**changes: Any) -> Template:
    """A base and a link on a hinge, each with a box."""
    tables: dict[str, Any] = {
        "prims": ("", "/base", "/arm"),
        "bodies": Bodies(path=("/base", "/arm"), mass=[1.0, 2.0], inertia=np.stack([np.eye(3)] * 2)),
        "shapes": Shapes(path=("/base", "/arm"), body=[0, 1], type=[ShapeType.BOX] * 2, size=np.ones((2, 3))),
        "joints": Joints(path=("/hinge",), type=[JointType.REVOLUTE], body0=[0], body1=[1]),
        "axes": Axes(path=("/hinge",), joint=[0], axis=[AxisType.ROT_Z], names=("hinge",)),
        "links": Links(
            path=("/base", "/arm"), articulation=[0, 0], body=[0, 1], parent=[-1, 0], joint=[-1, 0]
        ),
        "articulations": Articulations(path=("/base",), fixed_base=[False]),
    }
    return Template(**{**tables, **changes})


def test_a_template_built_by_hand() -> None:
    made = template()
    assert made.bodies.count == 2
    copied = pickle.loads(pickle.dumps(Scene(templates=(made,))))
    assert copied.templates[0].links.parent.tolist() == [-1, 0]
    assert copied.settings == Settings(bounce_threshold=copied.settings.bounce_threshold)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shapes": Shapes(path=("/s",), body=[2], type=[0])}, "shapes.body of /s is 2, expected −1 to 1"),
        (
            {"shapes": Shapes(path=("/s",), body=[0], type=[8], mesh=[0])},
            "shapes.mesh of /s is 0, expected −1 to -1",
        ),
        ({"shapes": Shapes(path=("/s",), body=[0], type=[99])}, "shape type of /s is 99"),
        ({"joints": Joints(path=("/j",), type=[0], body0=[-2], body1=[0])}, "joints.body0 of /j is -2"),
        ({"axes": Axes(path=("/a",), joint=[1], axis=[3], names=("a",))}, "axes.joint of /a is 1"),
        ({"axes": Axes(path=("/a",), joint=[0], axis=[3])}, "axes.names: expected 1 names, given 0"),
        (
            {"axes": Axes(path=("/a",), joint=[0], axis=[3], names=("a",), lower=[1.0], upper=[0.0])},
            "lower limit 1.0 of /a is above its upper limit 0.0",
        ),
        (
            {
                "links": Links(
                    path=("/arm", "/base"), articulation=[0, 0], body=[1, 0], parent=[1, -1], joint=[0, -1]
                )
            },
            "link /arm stands before its parent",
        ),
        (
            {"bodies": Bodies(path=("/base", "/arm"), mass=[1.0, 0.0], inertia=np.stack([np.eye(3)] * 2))},
            "mass of /arm is 0.0, expected a positive number",
        ),
    ],
)
def test_references_and_values_are_checked(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneValueError, match=message):
        template(**changes)


def test_bodies_that_do_not_move_may_be_without_mass() -> None:
    still = Bodies(
        path=("/a", "/b"),
        mass=[0.0, 0.0],
        inertia=np.zeros((2, 3, 3)),
        kinematic=[True, False],
        enabled=[True, False],
    )
    assert Template(bodies=still).bodies.count == 2


def test_scenes_are_checked() -> None:
    with pytest.raises(SceneValueError, match=r"environments\.template: expected 0 to 0"):
        Scene(environments=Environments(template=np.ones(1, np.int32)))
    with pytest.raises(SceneValueError, match="static shapes only, given bodies"):
        Scene(shared=template())
    with pytest.raises(SceneValueError, match="expected 2 templates and origins"):
        Environments(path=("/a", "/b"))
    with pytest.raises(SceneValueError, match="origin of environment /a is not finite"):
        Environments(path=("/a",), origin=np.full((1, 3), np.nan))
    with pytest.raises(
        SceneValueError, match=r"override bodies.mass: expected shape \(1, 2\), given \(1, 3\)"
    ):
        Scene(templates=(template(),), overrides={(0, "bodies.mass"): np.ones((1, 3))})


@given(count=st.integers(1, 200), spacing=st.floats(0.0, 8.0, width=32), up_axis=st.sampled_from("YZ"))
def test_grid(count: int, spacing: float, up_axis: str) -> None:
    origins = grid_origins(count, spacing, up_axis=up_axis)
    assert origins.shape == (count, 3)
    assert (origins[:, "XYZ".index(up_axis)] == 0.0).all()
    if spacing > 0.0 and count > 1:
        ground = np.delete(origins, "XYZ".index(up_axis), axis=1)
        distances = np.sqrt(((ground[:, None] - ground[None]) ** 2).sum(-1))
        nearest = (distances + np.where(np.eye(count), np.inf, 0.0)).min()
        assert nearest == pytest.approx(spacing, rel=1e-9)


@given(count=st.integers(1, 50))
def test_replicate_shares_the_template(count: int) -> None:
    source = Scene(templates=(template(),), overrides={(0, "bodies.mass"): np.array([[1.0, 5.0]])})
    made = replicate(source, count, spacing=2.0)
    assert made.templates[0] is source.templates[0]
    assert len(set(made.environments.path)) == count
    assert made.environments.path[0] == "/World/envs/env_0"
    np.testing.assert_array_equal(made.overrides[0, "bodies.mass"], [[1.0, 5.0]] * count)


def test_replicate_adds_to_the_origin_of_the_source() -> None:
    source = Scene(environments=Environments(origin=np.array([[1.0, 2.0, 3.0]])))
    made = replicate(source, 2, origins=[(0, 0, 0), (10, 0, 0)], path="/e{}")
    np.testing.assert_array_equal(made.environments.origin, [(1, 2, 3), (11, 2, 3)])
    assert made.environments.path == ("/e0", "/e1")
    one = replicate(source, 1, path="/World")
    assert one.environments.path == ("/World",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": 0}, "expected at least one environment, given 0"),
        (
            {"count": 2, "spacing": 1.0, "origins": np.zeros((2, 3))},
            "give spacing, transforms or origins, not two of them",
        ),
        ({"count": 2, "origins": np.zeros((3, 3))}, r"expected origins of shape \(2, 3\), given \(3, 3\)"),
        ({"count": 2, "path": "/World/env"}, "gives every environment the same root"),
        (
            {"count": 2, "spacing": 1.0, "transforms": np.zeros((2, 7))},
            "transforms or origins, not two of them",
        ),
        (
            {"count": 2, "transforms": np.zeros((2, 7))},
            "transform 0 has the quaternion .* which is no rotation",
        ),
        (
            {"transforms": np.zeros((2, 4))},
            r"expected transforms of shape \(2, 7\) or \(2, 3\), given \(2, 4\)",
        ),
        ({"source": 2, "count": 3}, "expected the path of a prim and a count, given 2 and 3"),
        ({}, "expected at least one environment, given 0"),
    ],
)
def test_replicate_refuses(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneValueError, match=message):
        replicate(Scene(), **arguments)


def test_turned_copies_move_rigidly() -> None:
    body = template().bodies
    moving = np.array([[1.0, 0.0, 0.0]] * body.count)
    source = Scene(
        templates=(template().replace(bodies=body.replace(linear_velocity=moving)),),
        overrides={(0, "bodies.mass"): np.array([[1.0, 5.0]])},
    )
    turn = np.sqrt(0.5)
    made = replicate(source, transforms=[[9, 8, 7, 0, 0, turn, turn], [1, 1, 1, 0, 0, 0, 2]])
    poses, velocity = made.overrides[0, "bodies.pose"], made.overrides[0, "bodies.linear_velocity"]
    old = source.templates[0].bodies.pose
    np.testing.assert_array_equal(made.environments.origin, [[9, 8, 7], [1, 1, 1]])
    np.testing.assert_allclose(poses[0, :, :3], old[:, [1, 0, 2]] * (-1, 1, 1), atol=1e-12)
    np.testing.assert_array_equal(poses[1], old)
    np.testing.assert_allclose(velocity[:, 0], [[0, 1, 0], [1, 0, 0]], atol=1e-12)
    np.testing.assert_array_equal(made.overrides[0, "bodies.mass"], [[1.0, 5.0]] * 2)


def test_replicate_takes_one_environment() -> None:
    with pytest.raises(SceneValueError, match="expected a scene with one environment, given 3"):
        replicate(replicate(Scene(), 3), 2)
