"""Effort limits put in force."""

from __future__ import annotations

import numpy as np

from tensorphys_scene import (
    Axes,
    AxisType,
    Bodies,
    Joints,
    JointType,
    Scene,
    Template,
    limit_efforts,
    replicate,
)

_INF = float("inf")


def slides(effort: list[float], force: list[float]) -> Scene:
    """Bodies on slides to the world."""
    count = len(effort)
    names = [f"/slide{row}" for row in range(count)]
    rest = np.tile([0.0, 0, 0, 0, 0, 0, 1], (count, 1))
    template = Template(
        prims=("", *(f"/body{row}" for row in range(count)), *names),
        bodies=Bodies(
            path=tuple(f"/body{row}" for row in range(count)),
            pose=rest,
            mass=np.ones(count),
            inertia=np.tile(np.eye(3), (count, 1, 1)),
        ),
        joints=Joints(
            path=tuple(names),
            type=np.full(count, JointType.PRISMATIC),
            body0=np.full(count, -1),
            body1=np.arange(count),
            frame0=rest,
            frame1=rest,
        ),
        axes=Axes(
            path=tuple(names),
            names=tuple(f"slide{row}" for row in range(count)),
            joint=np.arange(count),
            axis=np.full(count, AxisType.TRANS_X),
            effort_limit=effort,
            max_force=force,
        ),
    )
    return Scene(templates=(template,))


def test_the_smaller_bound_holds_where_a_limit_is_authored() -> None:
    scene = slides([5.0, _INF, 8.0], [_INF, 3.0, 2.0])
    axes = limit_efforts(scene).templates[0].axes
    assert axes.max_force.tolist() == [5.0, 3.0, 2.0]
    assert axes.has_envelope.tolist() == [True, False, True]
    assert np.isinf(axes.effort_limit).all()
    assert scene.templates[0].axes.effort_limit.tolist() == [5.0, _INF, 8.0]


def test_a_scene_without_limits_stays_the_same() -> None:
    scene = slides([_INF], [2.0])
    assert limit_efforts(scene) is scene


def test_limits_that_differ_between_environments() -> None:
    scene = replicate(slides([5.0, _INF], [4.0, 6.0]), 3, spacing=1.0)
    limits = np.array([[5.0, _INF], [1.0, _INF], [_INF, 2.0]])
    scene = scene.replace(overrides={(0, "axes.effort_limit"): limits})
    made = limit_efforts(scene)
    assert made.overrides.keys() == {(0, "axes.max_force")}
    assert made.overrides[0, "axes.max_force"].tolist() == [[4.0, 6.0], [1.0, 6.0], [4.0, 2.0]]
    assert made.templates[0].axes.has_envelope.tolist() == [True, True]
    forces = np.array([[9.0, 9.0], [0.5, 9.0], [9.0, 1.0]])
    both = limit_efforts(scene.replace(overrides={**scene.overrides, (0, "axes.max_force"): forces}))
    assert both.overrides[0, "axes.max_force"].tolist() == [[5.0, 9.0], [0.5, 9.0], [9.0, 1.0]]
