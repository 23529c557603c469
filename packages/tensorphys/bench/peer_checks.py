"""Whether the end of a run may count, from poses of bodies alone and so in the same way for every engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
# What a result has to keep to count [m]: depth of the deepest point under the plane, of one environment and as a mean of all;
# distance of the two halves of a joint; way and height of bodies.
BOUNDS = {"depth": 0.05, "mean_depth": 0.01, "joint_drift": 0.01, "way": 20.0, "height": 5.0}
_SPHERE, _CAPSULE, _BOX, _CYLINDER = 1, 2, 3, 5


def rotated(q: Array, v: Array) -> Array:
    """Vectors turned by quaternions xyzw."""
    return np.asarray(v + 2.0 * np.cross(q[..., :3], np.cross(q[..., :3], v) + q[..., 3:] * v))


def lowest(shape: dict[str, Any], poses: Array) -> Array:
    """Height of the lowest point of a shape [m], of poses of its body [count, 7]."""
    place, size, kind = np.array(shape["pose"]), shape["size"], shape["type"]
    centre = poses[:, 2] + rotated(poses[:, 3:], place[:3])[:, 2]
    axes = [rotated(poses[:, 3:], rotated(place[3:], axis))[:, 2] for axis in np.eye(3)]
    if kind == _SPHERE:
        return np.asarray(centre - size[0])
    if kind == _CAPSULE:
        return np.asarray(centre - np.abs(axes[2]) * size[1] - size[0])
    if kind == _BOX:
        return np.asarray(centre - sum(np.abs(a) * s for a, s in zip(axes, size, strict=True)))
    if kind == _CYLINDER:
        return np.asarray(
            centre - np.abs(axes[2]) * size[1] - size[0] * np.sqrt(np.clip(1.0 - axes[2] ** 2, 0.0, 1.0))
        )
    points = np.array(shape["points"])
    return np.asarray(centre + np.min(np.stack(axes, -1) @ points.T, axis=1))


def joint_drift(robot: dict[str, Any], poses: Array) -> float:
    """Largest distance of the two halves of a joint across its free axes [m]."""
    worst = 0.0
    pairs = [tuple(joint["bodies"]) for joint in robot["joints"]]
    for joint, pair in zip(robot["joints"], pairs, strict=True):
        if pairs.count(pair) > 1:
            places = [np.array(j["frames"][1][:3]) for j in robot["joints"] if tuple(j["bodies"]) == pair]
            if np.abs(np.diff(places, axis=0)).max() > 1e-6:
                continue  # motions of joints at different places add: their halves part
        first, second = (poses[:, b] for b in pair)
        f0, f1 = (np.array(frame) for frame in joint["frames"])
        gap = second[:, :3] + rotated(second[:, 3:], f1[:3]) - first[:, :3] - rotated(first[:, 3:], f0[:3])
        for axis in joint["slides"]:
            along = rotated(first[:, 3:], rotated(f0[3:], np.eye(3)[axis]))
            gap = gap - along * (gap * along).sum(1, keepdims=True)
        worst = max(worst, float(np.linalg.norm(gap, axis=1).max()))
    return worst


def judge(robot: dict[str, Any], poses: Array, *, is_finite: bool, overflow: int) -> dict[str, Any]:
    """What was found at the end of a run, and whether it counts.

    Args:
        robot: Description of the robot.
        poses: Poses of bodies of some environments, each in its own frame, shape [environments, bodies, 7].
        is_finite: Whether the state of all environments is finite.
        overflow: Number of worlds whose contacts or rows did not fit.
    """
    found: dict[str, Any] = {"finite": is_finite and bool(np.isfinite(poses).all()), "overflow": overflow}
    if not found["finite"]:
        return found | {"valid": False, "why": "not finite"}
    depths = [-lowest(shape, poses[:, shape["body"]]) for shape in robot["shapes"] if robot["has_ground"]]
    found["depth"] = float(max((d.max() for d in depths), default=0.0))
    found["mean_depth"] = float(np.mean(np.max(depths, axis=0))) if depths else 0.0
    found["joint_drift"] = joint_drift(robot, poses)
    found["way"] = float(np.abs(poses[..., :2]).max())
    found["height"] = float(poses[..., 2].max())
    broken = [f"{name} {found[name]:.3g} m" for name, bound in BOUNDS.items() if found[name] > bound]
    if overflow:
        broken.append(f"{overflow} worlds overflowed")
    return found | {"valid": not broken, "why": ", ".join(broken)}


def operations(robot: dict[str, Any], contacts: float, substeps: int = 4, passes: int = 2) -> float:
    """Floating-point operations that a step of our method needs for one environment, counted from its recurrences.

    Kinematics, velocities, composite inertias and bias forces are taken at 460 operations a link and evaluation, one and a
    half evaluations a substep; entries of the mass matrix at 12, of its factor at the chain's length; a contact has three rows
    of 14 operations an entry, solved by the factor, and swept with four an entry and pass.
    """
    parent = {joint["bodies"][1]: joint["bodies"][0] for joint in robot["joints"]}
    axes = robot["dofs"] - 6 * int(robot["free_base"])
    base = 6 * int(robot["free_base"])
    links = len(robot["bodies"])
    # axes are spread over the joints of the tree: chains are counted in links and scaled to axes
    depth = np.array([len(_way(body, parent)) for body in range(links)]) * axes / max(links - 1, 1) + base
    chain = float(depth.mean())
    smooth = 1.5 * 460 * links + 12 * robot["dofs"] * chain + robot["dofs"] * chain**2
    rows = 3 * contacts * (14 * chain + chain**2)
    return substeps * (smooth + 3 * contacts * 4 * chain * passes) + rows


def _way(body: int, parent: dict[int, int]) -> list[int]:
    result = []
    while body in parent and parent[body] >= 0:
        result.append(body)
        body = parent[body]
    return result
