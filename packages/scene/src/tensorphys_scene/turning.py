"""Columns of an environment after rotations about the origin of its frame."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tensorphys_scene.scene import Scene

Array = npt.NDArray[np.float64]


def turned_columns(scene: Scene, template: int, rotations: Array) -> dict[str, Array]:
    """Columns of a template that depend on how its environment is turned, one copy a rotation.

    Gravity, the shared shapes and what is given in world axes (locked axes, constant forces of the world, velocities
    of surfaces that do not turn with their body) stay as they are.

    Args:
        scene: Scene; its overrides of the template are those of one environment.
        template: Index of the template.
        rotations: Unit quaternions xyzw, shape [count, 4].

    Returns:
        Columns by "table.column", shape [count, rows, ...].
    """
    tables = scene.templates[template]

    def read(name: str) -> Array:
        table, column = name.split(".")
        values = scene.overrides.get((template, name))
        return np.asarray(getattr(getattr(tables, table), column) if values is None else values[0])

    result: dict[str, Array] = {}
    static = {
        "bodies.pose": np.ones(tables.bodies.count, bool),
        "shapes.pose": tables.shapes.body < 0,
        "joints.frame0": tables.joints.body0 < 0,
        "joints.frame1": tables.joints.body1 < 0,
    }
    for name, rows in static.items():
        if rows.any():
            pose = np.repeat(read(name)[None], len(rotations), axis=0)
            pose[:, rows] = _turned_poses(rotations, pose[0, rows])
            result[name] = pose
    for name in ("bodies.linear_velocity", "bodies.angular_velocity"):
        velocity = read(name)
        if velocity.any():
            result[name] = _turned(rotations[:, None], velocity[None])
    if tables.soft_prims.count:
        result["soft_prims.transform"] = _matrices(rotations)[:, None] @ read("soft_prims.transform")[None]
    return result


def _turned_poses(rotations: Array, poses: Array) -> Array:
    """Poses [rows, 7] in a frame turned by each rotation, shape [count, rows, 7]."""
    outer = rotations[:, None]
    x, w, inner = outer[..., :3], outer[..., 3:], poses[None, :, 3:6]
    vector = w * inner + poses[None, :, 6:] * x + np.cross(x, inner)
    scalar = w * poses[None, :, 6:] - (x * inner).sum(axis=-1, keepdims=True)
    return np.concatenate((_turned(outer, poses[None, :, :3]), vector, scalar), axis=-1)


def _turned(rotations: Array, vectors: Array) -> Array:
    axis, w = rotations[..., :3], rotations[..., 3:]
    return np.asarray(vectors + 2.0 * np.cross(axis, np.cross(axis, vectors) + w * vectors))


def _matrices(rotations: Array) -> Array:
    result = np.tile(np.eye(4), (len(rotations), 1, 1))
    result[:, :3, :3] = np.swapaxes(_turned(rotations[:, None], np.eye(3)[None]), 1, 2)
    return result
