"""A plane for robots whose file has nothing to stand on."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from tensorphys_scene import Scene, Shapes, ShapeType, Template
from tensorphys_spatial import quaternion_rotate_inverse, transform_multiply

PLANE_PATH = "/tensorphys_ground"

Array = npt.NDArray[np.float64]

# The plane's normal is its +Z: nothing to turn where that is up, a turn about X by −90° where Y is up.
_ROTATION = {"Z": (0.0, 0.0, 0.0, 1.0), "Y": (-math.sqrt(0.5), 0.0, 0.0, math.sqrt(0.5))}


def up_index(scene: Scene) -> int:
    """Coordinate that points up."""
    return 1 if scene.settings.up_axis == "Y" else 2


def lowest_point(scene: Scene) -> float:
    """Height of the lowest point of all moving colliders as authored [m]; 0 without any."""
    lowest: list[float] = []
    for index, template in enumerate(scene.templates):
        origins = scene.environments.origin[scene.environments.template == index]
        if not len(origins):
            continue
        heights = _shape_bottoms(template, up_index(scene))
        if len(heights):
            lowest.append(float(heights.min() + origins[:, up_index(scene)].min()))
    return min(lowest, default=0.0)


def _shape_bottoms(template: Template, up: int) -> Array:
    """Height of the lowest point of each bounded collider on a body that moves, environment frame."""
    shapes = template.shapes
    moving = (shapes.body >= 0) & shapes.enabled & (shapes.type != ShapeType.PLANE)
    rows = np.flatnonzero(moving)
    if not len(rows):
        return np.zeros(0)
    pose = transform_multiply(template.bodies.pose[shapes.body[rows]], shapes.pose[rows])
    # The upward direction in each shape's frame; its extent below the frame's origin is the support against it.
    direction = quaternion_rotate_inverse(pose[:, 3:], np.eye(3)[up])
    extent = [_extent_below(template, int(row), d) for row, d in zip(rows, direction, strict=True)]
    return np.asarray(pose[:, up] - np.array(extent))


def _extent_below(template: Template, row: int, direction: Array) -> float:
    """How far a shape reaches against a unit direction of its own frame, from its origin [m]."""
    shapes = template.shapes
    a, b, c = shapes.size[row]
    kind = shapes.type[row]
    slant, along = math.hypot(direction[0], direction[1]), float(direction[2])
    if shapes.mesh[row] >= 0:
        points = template.meshes[int(shapes.mesh[row])].points * shapes.size[row]
        return float(-(points @ direction).min())
    if kind == ShapeType.SPHERE:
        return float(a)
    if kind == ShapeType.CAPSULE:
        return float(a + b * abs(along))
    if kind == ShapeType.BOX:
        return float(np.abs(direction) @ shapes.size[row])
    if kind == ShapeType.CYLINDER:
        return float(a * slant + b * abs(along))
    if kind == ShapeType.CONE:
        return float(max(a * slant + b * along, -b * along))
    if kind == ShapeType.ELLIPSOID:
        return float(np.linalg.norm(direction * (a, b, c)))
    return 0.0


def add_ground(scene: Scene, height: float) -> tuple[Scene, float]:
    """Add a plane that all environments share.

    Args:
        scene: The scene.
        height: Height of the plane [m]; NaN for 0, or the lowest collider where that is below 0.

    Returns:
        The scene with the plane, and its height.
    """
    if math.isnan(height):
        height = min(0.0, lowest_point(scene))
    pose = np.zeros((1, 7))
    pose[0, 3:] = _ROTATION[scene.settings.up_axis]
    pose[0, up_index(scene)] = height
    plane = Shapes(
        path=(PLANE_PATH,),
        body=np.array([-1], np.int32),
        type=np.array([int(ShapeType.PLANE)], np.int32),
        pose=pose,
    )
    shared = scene.shared.replace(shapes=_joined(scene.shared.shapes, plane))
    return scene.replace(shared=shared), height


def _joined(first: Shapes, second: Shapes) -> Shapes:
    names = [field.name for field in dataclasses.fields(Shapes) if field.name != "path"]
    columns = {name: np.concatenate((getattr(first, name), getattr(second, name))) for name in names}
    return Shapes(path=first.path + second.path, **columns)


def has_static_shape(scene: Scene) -> bool:
    """Whether anything on the stage can stop a fall."""
    own = any((t.shapes.enabled & (t.shapes.body < 0)).any() for t in scene.templates)
    return bool(own or scene.shared.shapes.enabled.any())
