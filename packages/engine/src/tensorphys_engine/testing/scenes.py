"""Small scenes built from tables, without a stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tensorphys_scene import (
    Articulations,
    Axes,
    AxisType,
    Bodies,
    DriveType,
    Joints,
    JointType,
    Links,
    Materials,
    Scene,
    Settings,
    Shapes,
    ShapeType,
    Template,
    replicate,
)

_T = TypeVar("_T")

_UNIT = [0.0, 0.0, 0.0, 1.0]


def _table(kind: Callable[..., _T], **columns: Any) -> _T:
    """A table of columns given as lists."""
    return kind(**columns)


def _pose(x: float, y: float, z: float) -> list[float]:
    return [x, y, z, *_UNIT]


_GROUND = Template(
    prims=("", "/World", "/World/ground"),
    shapes=_table(Shapes, path=("/World/ground",), body=[-1], type=[int(ShapeType.PLANE)]),
)


def _scene(template: Template, environment_count: int, spacing: float, *, ground: bool = True) -> Scene:
    shared = _GROUND if ground else Template()
    scene = Scene(templates=(template,), shared=shared, settings=Settings(steps_per_second=240.0))
    return replicate(scene, environment_count, spacing=spacing)


def ball_scene(environment_count: int = 1, *, spacing: float = 0.0, height: float = 1.0) -> Scene:
    """A ball of 1 kg and radius 0.1 m above the ground, one in each environment.

    Args:
        environment_count: Number of environments.
        spacing: Distance of neighbours [m].
        height: Height of its centre [m].

    Returns:
        The scene; the ball is ``<environment>/ball``, its collider ``<environment>/ball/geometry``.
    """
    template = Template(
        prims=("", "/ball", "/ball/geometry"),
        bodies=_table(
            Bodies, path=("/ball",), mass=[1.0], inertia=[np.eye(3) * 0.004], pose=[_pose(0, 0, height)]
        ),
        shapes=_table(
            Shapes, path=("/ball/geometry",), body=[0], type=[int(ShapeType.SPHERE)], size=[[0.1, 0.0, 0.0]]
        ),
    )
    return _scene(template, environment_count, spacing)


def pile_scene(
    counts: tuple[int, int, int],
    *,
    edge: float = 0.2,
    gap: float = 0.04,
    tilt: float = 0.05,
    restitution: float = 0.0,
) -> Scene:
    """Equal boxes on a grid above the ground, slightly turned and moved at random, in one world at 60 Hz.

    Args:
        counts: Boxes along X, Y and Z.
        edge: Edge of a box [m]; its density is 125 kg/m³.
        gap: Space between two boxes of the grid [m].
        tilt: Largest turn about a random axis [rad].
        restitution: Of all boxes and the ground.

    Returns:
        The scene; box number n is ``/box{n}``, its collider ``/box{n}/geometry``.
    """
    rng = np.random.default_rng(0)
    count = int(np.prod(counts))
    cell = np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, 3)
    cell = cell[np.lexsort(cell.T)]
    centre = np.append((np.array(counts[:2]) - 1) / 2, -0.5)
    position = (cell - centre) * (edge + gap) + rng.uniform(-0.25, 0.25, (count, 3)) * gap
    axis = rng.normal(size=(count, 3))
    angle = rng.uniform(0.0, tilt, (count, 1)) / 2
    turn = np.hstack((np.sin(angle) * axis / np.linalg.norm(axis, axis=1)[:, None], np.cos(angle)))
    mass = 125.0 * edge**3
    paths = [f"/box{i}" for i in range(count)]
    template = Template(
        prims=("", *(path + end for path in paths for end in ("", "/geometry")), "/material"),
        bodies=_table(
            Bodies,
            path=tuple(paths),
            mass=np.full(count, mass),
            inertia=np.tile(np.eye(3) * mass * edge**2 / 6, (count, 1, 1)),
            pose=np.hstack((position, turn)),
        ),
        shapes=_table(
            Shapes,
            path=tuple(f"{path}/geometry" for path in paths),
            body=np.arange(count),
            type=np.full(count, int(ShapeType.BOX)),
            size=np.full((count, 3), edge / 2),
            material=np.zeros(count, int),
        ),
        materials=_table(
            Materials,
            path=("/material",),
            static_friction=[0.5],
            dynamic_friction=[0.5],
            restitution=[restitution],
        ),
    )
    settings = Settings(steps_per_second=60.0)
    return replicate(Scene(templates=(template,), shared=_GROUND, settings=settings), 1)


def pendulum_scene(environment_count: int = 1, *, flipped: bool = False, angle: float = 0.1) -> Scene:
    """A point mass of 1 kg on a rod of 1 m that turns about Y, hanging from a fixed base at 2 m.

    Args:
        environment_count: Number of environments.
        flipped: Whether body 0 of the joint is the rod.
        angle: Joint position at the start [rad], of body 1 relative to body 0.

    Returns:
        The scene; the articulation is ``<environment>/pendulum``, its degree of freedom ``hinge``.
    """
    anchors: dict[str, Any] = {
        "body0": [1 if flipped else 0],
        "body1": [0 if flipped else 1],
        "frame0": [_pose(0, 0, 1) if flipped else _pose(0, 0, 0)],
        "frame1": [_pose(0, 0, 0) if flipped else _pose(0, 0, 1)],
    }
    template = Template(
        prims=("", "/pendulum", "/pendulum/base", "/pendulum/rod", "/pendulum/hinge"),
        bodies=_table(
            Bodies,
            path=("/pendulum/base", "/pendulum/rod"),
            mass=[1.0, 1.0],
            inertia=[np.eye(3) * 0.01, np.eye(3) * 1e-6],
            pose=[_pose(0, 0, 2), _pose(0, 0, 1)],
        ),
        joints=_table(Joints, path=("/pendulum/hinge",), type=[int(JointType.REVOLUTE)], **anchors),
        axes=_table(
            Axes,
            path=("/pendulum/hinge",),
            joint=[0],
            axis=[int(AxisType.ROT_Y)],
            position=[angle],
            names=("hinge",),
        ),
        links=_table(
            Links,
            path=("/pendulum/base", "/pendulum/rod"),
            articulation=[0, 0],
            body=[0, 1],
            parent=[-1, 0],
            joint=[-1, 0],
            flipped=[False, flipped],
        ),
        articulations=_table(Articulations, path=("/pendulum",), fixed_base=[True]),
    )
    return _scene(template, environment_count, 0.0, ground=False)


def walker_scene(environment_count: int = 1, *, spacing: float = 0.0, alone: bool = False) -> Scene:
    """A torso with two legs of two driven joints each, a free crate and a kinematic platform.

    Args:
        environment_count: Number of environments.
        spacing: Distance of neighbours [m].
        alone: Whether crate and platform are left out.

    Returns:
        The scene; the articulation is ``<environment>/walker`` with 5 links and 4 degrees of freedom, free
        bodies are ``<environment>/crate`` and ``<environment>/platform``.
    """
    return _scene(_walker_template(alone), environment_count, spacing)


def _walker_template(alone: bool) -> Template:
    sides, root = (("left", 0.12), ("right", -0.12)), "/walker"
    # Breadth first: both thighs, then both shins.
    links = [f"{root}/torso"] + [f"{root}/{side}_{part}" for part in ("thigh", "shin") for side, _ in sides]
    joints = [f"{root}/joints/{side}_{name}" for name in ("hip", "knee") for side, _ in sides]
    free = [] if alone else ["/crate", "/platform"]
    count = 5 + len(free)
    poses = [_pose(0, 0, 0.75)] + [_pose(0, y, z) for z in (0.55, 0.25) for _, y in sides]
    poses += [_pose(0.5, 0, 0.3), _pose(0.5, 0, 0.1)][: len(free)]
    limb = np.diag([0.004, 0.004, 0.0006])
    return Template(
        prims=("", root, *links, *[f"{link}/geometry" for link in links], f"{root}/joints", *joints),
        bodies=_table(
            Bodies,
            path=tuple(links + free),
            mass=[4.0, 0.8, 0.8, 0.5, 0.5, 1.0, 1.0][:count],
            inertia=([np.diag([0.03, 0.02, 0.04])] + [limb] * 4 + [np.eye(3) * 0.0067, np.eye(3)])[:count],
            pose=poses,
            kinematic=([False] * 6 + [True])[:count],
        ),
        shapes=_table(
            Shapes,
            path=tuple(f"{path}/geometry" for path in links + free),
            body=np.arange(count),
            type=([int(ShapeType.BOX)] + [int(ShapeType.CAPSULE)] * 4 + [int(ShapeType.BOX)] * 2)[:count],
            size=([[0.1, 0.15, 0.08]] + [[0.04, 0.1, 0.0]] * 4 + [[0.1, 0.1, 0.1], [0.3, 0.3, 0.1]])[:count],
            material=[0, 0, 0, 0, 0, 1, -1][:count],
        ),
        materials=_table(
            Materials,
            path=("/materials/rubber", "/materials/wood"),
            static_friction=[1.0, 0.4],
            dynamic_friction=[0.9, 0.3],
            restitution=[0.0, 0.1],
        ),
        joints=_table(
            Joints,
            path=tuple(joints),
            type=[int(JointType.REVOLUTE)] * 4,
            body0=[0, 0, 1, 2],
            body1=[1, 2, 3, 4],
            frame0=[_pose(0, 0.12, -0.08), _pose(0, -0.12, -0.08), _pose(0, 0, -0.15), _pose(0, 0, -0.15)],
            frame1=[_pose(0, 0, 0.12), _pose(0, 0, 0.12), _pose(0, 0, 0.15), _pose(0, 0, 0.15)],
        ),
        axes=_table(
            Axes,
            path=tuple(joints),
            joint=np.arange(4),
            axis=[int(AxisType.ROT_Y)] * 4,
            lower=[-1.0, -1.0, -1.5, -1.5],
            upper=[1.0, 1.0, 0.2, 0.2],
            position=[0.2, -0.1, -0.3, -0.1],
            drive_type=[int(DriveType.FORCE)] * 4,
            stiffness=[40.0, 40.0, 30.0, 30.0],
            damping=[1.0] * 4,
            max_force=[60.0] * 4,
            armature=[0.01] * 4,
            names=tuple(path.rpartition("/")[2] for path in joints),
        ),
        links=_table(
            Links,
            path=tuple(links),
            articulation=[0] * 5,
            body=np.arange(5),
            parent=[-1, 0, 0, 1, 2],
            joint=[-1, 0, 1, 2, 3],
        ),
        articulations=_table(Articulations, path=(root,), fixed_base=[False], self_collisions=[True]),
    )
