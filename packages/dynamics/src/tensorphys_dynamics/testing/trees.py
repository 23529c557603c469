"""Random articulations, as a float64 `Tree` and as a model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_dynamics._reference import Tree, rotation
from tensorphys_dynamics.model import Model, build_model
from tensorphys_dynamics.state import Control, State
from tensorphys_dynamics.topology import ArticulationType

Array = npt.NDArray[np.float64]


def random_quaternion(rng: np.random.Generator) -> Array:
    """A unit quaternion xyzw."""
    q = rng.normal(size=4)
    return np.asarray(q / np.linalg.norm(q))


def random_inertia(rng: np.random.Generator, mass: float, size: float = 0.2) -> Array:
    """Inertia of a cloud of points, so that it is one that a body can have."""
    points = rng.normal(size=(8, 3)) * size
    points -= points.mean(0)
    total = np.zeros((3, 3))
    for p in points:
        total += mass / 8 * (np.dot(p, p) * np.eye(3) - np.outer(p, p))
    return total


def random_tree(seed: int, links: int, *, fixed_base: bool, branching: float = 0.3) -> Tree:
    """A tree with rotations and translations, 0 to 2 of them a link."""
    rng = np.random.default_rng(seed)
    parent = [-1]
    for link in range(1, links):
        parent.append(int(rng.integers(0, link)) if rng.random() < branching else link - 1)
    counts = [0] + [int(rng.choice([0, 1, 1, 1, 2])) for _ in range(links - 1)]
    dof_link = np.repeat(np.arange(links), counts).astype(np.int32)
    dofs = len(dof_link)
    axis = rng.normal(size=(dofs, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    mass = rng.uniform(0.5, 3.0, links)
    rest = np.array(
        [np.concatenate((rng.normal(size=3) * 0.3, random_quaternion(rng))) for _ in range(links)]
    )
    return Tree(
        fixed_base=fixed_base,
        parent=np.array(parent, np.int32),
        rest_pose=rest,
        dof_link=dof_link,
        dof_rotational=rng.random(dofs) < 0.8,
        dof_axis=axis,
        dof_anchor=rng.normal(size=(dofs, 3)) * 0.1,
        armature=rng.uniform(0.0, 0.1, dofs),
        mass=mass,
        com=rng.normal(size=(links, 3)) * 0.1,
        inertia=np.array([random_inertia(rng, m) for m in mass]),
    )


def random_ball_tree(seed: int, links: int, *, fixed_base: bool, share: float = 0.5) -> Tree:
    """A tree as of `random_tree`, with a ball joint before or after the other motions of some links.

    Half of the ball joints have the moved link as body 0.
    """
    tree = random_tree(seed, links, fixed_base=fixed_base)
    rng = np.random.default_rng(seed + 2000)
    start = np.searchsorted(tree.dof_link, np.arange(links + 1))
    chosen = 1 + np.flatnonzero(rng.random(links - 1) < share)
    places = np.where(rng.random(len(chosen)) < 0.5, start[chosen], start[chosen + 1])
    signs = rng.choice([-1.0, 1.0], len(chosen))
    axes = np.concatenate([s * rotation(random_quaternion(rng)) for s in signs] or [np.zeros((0, 3))])  # rows
    anchors = np.repeat(rng.normal(size=(len(chosen), 3)) * 0.1, 3, axis=0)
    at = np.repeat(places, 3)
    return replace(
        tree,
        dof_link=np.insert(tree.dof_link, at, np.repeat(chosen, 3)).astype(np.int32),
        dof_rotational=np.insert(tree.dof_rotational, at, True),
        dof_axis=np.insert(tree.dof_axis, at, axes, axis=0),
        dof_anchor=np.insert(tree.dof_anchor, at, anchors, axis=0),
        armature=np.insert(tree.armature, at, np.repeat(rng.uniform(0.0, 0.1, len(chosen)), 3)),
        balls=(places + 3 * np.arange(len(chosen))).astype(np.int32),
    )


def random_state(seed: int, tree: Tree) -> tuple[Array, Array, Array]:
    """Root pose, joint positions and generalized velocities."""
    rng = np.random.default_rng(seed + 1000)
    root = np.concatenate((rng.normal(size=3), random_quaternion(rng)))
    return root, rng.uniform(-1.5, 1.5, len(tree.dof_link)), rng.normal(size=tree.velocity_count)


def model_of(
    tree: Tree,
    device: str,
    *,
    copies: int = 1,
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
    **dof: Any,
) -> tuple[Model, State, Control]:
    """The tree in each of several environments; further columns of its degrees of freedom by name."""
    kind = ArticulationType(tree.fixed_base, tree.parent, tree.dof_link, tree.dof_rotational, tree.balls)
    links = {"rest_pose": tree.rest_pose, "mass": tree.mass, "com": tree.com, "inertia": tree.inertia}
    dofs = {"axis": tree.dof_axis, "anchor": tree.dof_anchor, "armature": tree.armature, **dof}
    model = build_model(
        types=[kind],
        articulation_type=np.zeros(copies),
        articulation_environment=np.arange(copies),
        environment_count=copies,
        link={k: np.concatenate([v] * copies) for k, v in links.items()},
        dof={k: np.concatenate([np.asarray(v)] * copies) for k, v in dofs.items()},
        gravity=gravity,
        device=device,
    )
    return model, State(model), Control(model)
