"""Made-up robots of the sizes that matter: a humanoid, an ant, an arm with a gripper, a cart with a pole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_dynamics._reference import Tree

Array = npt.NDArray[np.float64]
_Body = tuple[int, str, tuple[float, float, float]]


@dataclass
class Robot:
    """A tree, its drives and limits, and spheres that touch the ground.

    Attributes:
        tree: Links and degrees of freedom.
        dof: Further columns of the degrees of freedom, by name.
        height: Height of the root above the ground at the start [m].
        sphere_link, sphere_center, sphere_radius: Spheres on links, in link frames [m].
    """

    tree: Tree
    dof: dict[str, Any]
    height: float
    sphere_link: list[int]
    sphere_center: Array
    sphere_radius: Array


def _tree(fixed_base: bool, bodies: Sequence[_Body], mass: Sequence[float]) -> Tree:
    """Bodies as (parent, joint axes out of x, y, z or P for a slide along x, offset in the parent)."""
    axes = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1), "P": (1, 0, 0)}
    links = len(bodies)
    rest = np.zeros((links, 7))
    rest[:, 6] = 1.0
    rest[:, :3] = [b[2] for b in bodies]
    dofs = [(link, name) for link, body in enumerate(bodies) for name in body[1]]
    size = 0.06 * np.cbrt(np.asarray(mass))
    return Tree(
        fixed_base=fixed_base,
        parent=np.array([b[0] for b in bodies], np.int32),
        rest_pose=rest,
        dof_link=np.array([link for link, _ in dofs], np.int32),
        dof_rotational=np.array([name != "P" for _, name in dofs]),
        dof_axis=np.array([axes[name] for _, name in dofs], float),
        dof_anchor=np.zeros((len(dofs), 3)),
        armature=np.full(len(dofs), 0.02),
        mass=np.asarray(mass, float),
        com=np.tile([0.01, 0.0, -0.03], (links, 1)),
        inertia=np.array([m * s * s * np.diag([1.2, 1.0, 0.8]) for m, s in zip(mass, size, strict=True)]),
    )


def _leg(side: int, first: int) -> list[_Body]:
    """Hip, knee and ankle; the thigh is link `first`, the shin the next."""
    return [
        (3, "xzy", (0.0, 0.1 * side, -0.04)),
        (first, "y", (0.0, 0.0, -0.4)),
        (first + 1, "yx", (0.0, 0.0, -0.4)),
    ]


def _arm(side: int, first: int) -> list[_Body]:
    """Shoulder, elbow and a fixed hand; the upper arm is link `first`."""
    return [
        (0, "xy", (0.0, 0.2 * side, 0.06)),
        (first, "y", (0.0, 0.18 * side, -0.2)),
        (first + 1, "", (0.18, 0.0, 0.0)),
    ]


def humanoid() -> Robot:
    """27 velocities, 16 links; feet of four spheres each and eight more."""
    bodies = [(-1, "", (0.0, 0.0, 0.0)), (0, "", (0.0, 0.0, 0.19)), (0, "zy", (0.0, 0.0, -0.26))]
    bodies += [(2, "x", (0.0, 0.0, -0.16)), *_leg(-1, 4), *_leg(1, 7), *_arm(-1, 10), *_arm(1, 13)]
    mass = [9.0, 3.0, 2.3, 6.6, 4.7, 2.8, 1.8, 4.7, 2.8, 1.8, 1.7, 1.3, 0.5, 1.7, 1.3, 0.5]
    tree = _tree(False, bodies, mass)
    foot = [(x, y, -0.05) for x in (-0.07, 0.14) for y in (-0.03, 0.03)]
    others = [1, 3, 5, 8, 12, 15, 4, 7]
    count = len(tree.dof_link)
    dof = {"lower": np.full(count, -1.2), "upper": np.full(count, 1.2), "drive_type": np.ones(count)}
    dof |= {
        "stiffness": np.full(count, 60.0),
        "damping": np.full(count, 4.0),
        "max_force": np.full(count, 80.0),
    }
    return Robot(
        tree,
        dof,
        1.3,
        [6] * 4 + [9] * 4 + others,
        np.array(foot + foot + [(0.0, 0.0, 0.0)] * 8),
        np.array([0.03] * 8 + [0.07] * 8),
    )


def ant() -> Robot:
    """14 velocities, 9 links; nine spheres."""
    bodies: list[_Body] = [(-1, "", (0.0, 0.0, 0.0))]
    for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
        at = len(bodies)
        bodies += [(0, "z", (0.14 * x, 0.14 * y, 0.0)), (at, "xy"[x == y], (0.2 * x, 0.2 * y, 0.0))]
    tree = _tree(False, bodies, [4.0] + [0.6, 0.5] * 4)
    count = len(tree.dof_link)
    dof = {
        "lower": np.full(count, -0.8),
        "upper": np.full(count, 0.8),
        "passive_damping": np.full(count, 0.1),
    }
    centers = [(0.0, 0.0, 0.0)]
    for x, y in ((1, 1), (-1, 1), (-1, -1), (1, -1)):
        centers += [(0.0, 0.0, 0.0), (0.3 * x, 0.3 * y, -0.2)]
    return Robot(tree, dof, 0.35, list(range(9)), np.array(centers), np.array([0.2] + [0.06] * 8))


def quadruped() -> Robot:
    """18 velocities, 13 links: four legs of hip, thigh and shank as ANYmal has them; a sphere at each foot and one in the
    base."""
    bodies: list[_Body] = [(-1, "", (0.0, 0.0, 0.0))]
    for x, y in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        at = len(bodies)
        bodies += [(0, "x", (0.28 * x, 0.11 * y, 0.0)), (at, "y", (0.06 * x, 0.05 * y, 0.0))]
        bodies += [(at + 1, "y", (0.0, 0.06 * y, -0.25))]
    tree = _tree(False, bodies, [20.0] + [2.0, 2.5, 0.7] * 4)
    dof = {"lower": np.full(12, -2.0), "upper": np.full(12, 2.0), "drive_type": np.ones(12)}
    dof |= {"stiffness": np.full(12, 80.0), "damping": np.full(12, 2.0), "max_force": np.full(12, 80.0)}
    centers = np.array([(0.0, 0.0, 0.0)] + [(0.08, 0.0, -0.3)] * 4)
    return Robot(tree, dof, 0.6, [0, 3, 6, 9, 12], centers, np.array([0.15] + [0.03] * 4))


def arm() -> Robot:
    """9 velocities, 10 links, fixed base, every joint driven with a bounded force; a gripper over the ground."""
    bodies: list[_Body] = [(-1, "", (0.0, 0.0, 0.0))]
    bodies += [(k, "zyzyzyz"[k], (0.0, 0.0, 0.3 if k else 0.15)) for k in range(7)]
    bodies += [(7, "P", (0.0, 0.03, 0.1)), (7, "P", (0.0, -0.03, 0.1))]
    tree = _tree(True, bodies, [3.0, 3.0, 3.0, 2.5, 2.5, 2.0, 1.5, 1.0, 0.1, 0.1])
    dof = {"lower": np.full(9, -2.8), "upper": np.full(9, 2.8), "drive_type": np.ones(9)}
    dof |= {"stiffness": np.full(9, 400.0), "damping": np.full(9, 40.0), "max_force": np.full(9, 87.0)}
    return Robot(
        tree, dof, 0.0, [8, 8, 9, 9], np.array([[0, 0, z] for z in (0.0, 0.05)] * 2), np.full(4, 0.02)
    )


def cartpole() -> Robot:
    """2 velocities, no contact."""
    bodies = [(-1, "", (0.0, 0.0, 1.0)), (0, "P", (0.0, 0.0, 0.0)), (1, "y", (0.0, 0.0, 0.3))]
    tree = _tree(True, bodies, [1.0, 1.0, 0.3])
    dof = {"lower": [-3.0, -1e30], "upper": [3.0, 1e30], "passive_damping": [0.1, 0.01]}
    return Robot(tree, dof, 0.0, [], np.zeros((0, 3)), np.zeros(0))
