"""Trees in Pinocchio, for tests against it; the caller brings its module."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_dynamics import _reference as twin
from tensorphys_dynamics._reference import Tree, dynamics, rotation

Array = npt.NDArray[Any]


def pinocchio_of(pin: Any, tree: Tree) -> tuple[Any, Array, dict[int, Any]]:
    """The same tree in Pinocchio, one joint a degree of freedom, added depth-first, and the order of velocities."""
    model = pin.Model()
    dofs = [np.flatnonzero(tree.dof_link == link).tolist() for link in range(len(tree.parent))]
    order: list[int] = []
    joint_of: dict[int, Any] = {}

    def visit(link: int, joint: int, placement: Any) -> None:
        if tree.parent[link] < 0:
            if not tree.fixed_base:
                joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), f"root{link}")
            placement = pin.SE3.Identity()
        else:
            rest = pin.SE3(rotation(tree.rest_pose[link, 3:]), tree.rest_pose[link, :3])
            placement = placement * rest
            for dof in dofs[link]:
                anchor = pin.SE3(np.eye(3), tree.dof_anchor[dof])
                if {dof - 1, dof - 2} & set(tree.balls.tolist()):
                    continue
                if dof in tree.balls:
                    frame = pin.SE3(ball_axes(tree, dof), tree.dof_anchor[dof])
                    joint = model.addJoint(joint, pin.JointModelSpherical(), placement * frame, f"dof{dof}")
                    placement = frame.inverse()
                    order.extend((dof, dof + 1, dof + 2))
                    continue
                kind = (
                    pin.JointModelRevoluteUnaligned
                    if tree.dof_rotational[dof]
                    else pin.JointModelPrismaticUnaligned
                )
                joint = model.addJoint(joint, kind(tree.dof_axis[dof]), placement * anchor, f"dof{dof}")
                placement = anchor.inverse()
                order.append(dof)
        inertia = pin.Inertia(tree.mass[link], tree.com[link], tree.inertia[link])
        model.appendBodyToJoint(joint, inertia, placement)
        joint_of[link] = (joint, placement)
        for child in np.flatnonzero(tree.parent == link).tolist():
            visit(child, joint, placement)

    visit(0, 0, pin.SE3.Identity())
    return model, np.array(order, int), joint_of


def ball_axes(tree: Tree, dof: int) -> Array:
    """Axes of the joint frame of a ball joint in its link, as columns."""
    axes = tree.dof_axis[dof : dof + 3].T
    return axes if np.linalg.det(axes) > 0.0 else -axes


def ball_attitude(tree: Tree, q: Array, dof: int) -> tuple[Array, Array]:
    """Their quaternion of a ball joint, and their velocity by ours: they take the moved link relative to its parent."""
    turn = twin.exponential(q[dof : dof + 3])
    if np.linalg.det(tree.dof_axis[dof : dof + 3]) > 0.0:
        return turn, np.eye(3)
    return turn * [-1.0, -1.0, -1.0, 1.0], -rotation(turn)


def in_pinocchio(pin: Any, tree: Tree, root: Array, q: Array, v: Array, gravity: Array) -> SimpleNamespace:
    """A tree in a state in both, with the change of coordinates: their velocity = change @ ours.

    Args:
        pin: The module of Pinocchio.
        tree: Tree; a fixed base stands at the origin.
        root: Pose of the root [m, -], shape [7].
        q: Joint positions [rad or m].
        v: Generalized velocities.
        gravity: Gravity [m/s²], shape [3].

    Returns:
        `ours` (quantities of the twin), `model`, `data`, `q`, `v` of Pinocchio, `velocity` (ours), `change`, `rate` (their
        acceleration where ours is zero), `order` of degrees of freedom, `joint_of` each link, and `nr` root velocities.
    """
    fixed_base = tree.fixed_base
    model, order, joint_of = pinocchio_of(pin, tree)
    model.gravity.linear[:] = gravity
    turn = rotation(root[3:])
    # ours: root [linear at COM, angular] in outer axes; theirs: [linear at origin, angular] in root axes
    nr = 0 if fixed_base else 6
    change = np.zeros((len(v), len(v)))
    # acceleration of theirs where ours is zero: the frames turn
    rate = np.zeros(len(v))
    arm = turn @ tree.com[0]
    if nr:
        change[:3, :3] = turn.T
        change[:3, 3:6] = turn.T @ twin.skew(arm)
        change[3:6, 3:6] = turn.T
        linear = turn.T @ (v[:3] - np.cross(v[3:6], arm))
        rate[:3] = -turn.T @ np.cross(v[3:6], np.cross(v[3:6], arm)) - np.cross(turn.T @ v[3:6], linear)
    change[nr + np.arange(len(order)), nr + order] = 1.0
    attitude = {}
    for dof in tree.balls:
        attitude[int(dof)], block = ball_attitude(tree, q, dof)
        at = nr + int(np.flatnonzero(order == dof)[0])
        change[at : at + 3, nr + dof : nr + dof + 3] = block
    places = [attitude.get(int(d), [q[d]]) for d in order if not {d - 1, d - 2} & attitude.keys()]
    return SimpleNamespace(
        tree=tree,
        ours=dynamics(tree, root, q, v, gravity),
        model=model,
        data=model.createData(),
        q=np.concatenate((root if nr else [], *places)),
        v=change @ v,
        velocity=v,
        change=change,
        rate=rate,
        order=order,
        joint_of=joint_of,
        nr=nr,
    )
