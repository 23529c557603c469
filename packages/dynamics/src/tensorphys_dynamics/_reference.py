"""Slow float64 twin of the articulation dynamics, dense and written from the definitions.

M = Σ Jᵀ I J over the links and bias = Σ Jᵀ (I a − v×*I v) with a the velocity-product acceleration
[Featherstone 2008, §5.3, §6.3]; no recursion of the device code is used, so it can judge it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def rotation(q: Array) -> Array:
    """Rotation matrix of a unit quaternion xyzw."""
    x, y, z, w = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def multiply(a: Array, b: Array) -> Array:
    """Quaternion product, xyzw."""
    x1, y1, z1, w1 = a
    x2, y2, z2, w2 = b
    return np.array(
        [
            w1 * x2 + x1 * w2 + y1 * z2 - z1 * y2,
            w1 * y2 - x1 * z2 + y1 * w2 + z1 * x2,
            w1 * z2 + x1 * y2 - y1 * x2 + z1 * w2,
            w1 * w2 - x1 * x2 - y1 * y2 - z1 * z2,
        ]
    )


def exponential(r: Array) -> Array:
    """Unit quaternion of a rotation vector."""
    angle = float(np.linalg.norm(r))
    return np.concatenate((r * (0.5 * np.sinc(angle / (2 * np.pi))), [np.cos(angle / 2)]))


def logarithm(q: Array) -> Array:
    """Rotation vector of a unit quaternion, of the shorter way round."""
    v, w = (q[:3], q[3]) if q[3] >= 0.0 else (-q[:3], -q[3])
    size = float(np.linalg.norm(v))
    return np.asarray(v * (2.0 if size < 1e-12 else 2.0 * np.arctan2(size, w) / size))


def skew(v: Array) -> Array:
    """Matrix of v ×."""
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def cross_motion(v: Array) -> Array:
    """Matrix of the spatial cross product v × on motion vectors [angular, linear]."""
    zero = np.zeros((3, 3))
    return np.block([[skew(v[:3]), zero], [skew(v[3:]), skew(v[:3])]])


@dataclass
class Tree:
    """One articulation as arrays; the columns have the meaning of `ArticulationType`."""

    fixed_base: bool
    parent: npt.NDArray[np.int32]
    rest_pose: Array  # [links, 7] pose in the parent link at q = 0 (root: unused)
    dof_link: npt.NDArray[np.int32]
    dof_rotational: npt.NDArray[np.bool_]
    dof_axis: Array  # [dofs, 3] link axes
    dof_anchor: Array  # [dofs, 3] link frame
    armature: Array
    mass: Array
    com: Array
    inertia: Array  # [links, 3, 3] about the COM, link axes
    balls: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    @property
    def velocity_count(self) -> int:
        """Number of generalized velocities."""
        return len(self.dof_link) + (0 if self.fixed_base else 6)


@dataclass
class Dynamics:
    """Quantities of one state; spatial vectors [angular, linear] about `origin`, environment axes."""

    origin: Array
    pose: Array
    jacobian: Array  # [links, 6, nv], rows [linear at COM, angular]
    mass_matrix: Array
    bias: Array  # generalized force of velocity products and gravity, M a + bias = tau
    gravity_force: Array
    com: Array  # [links, 3]
    velocity: Array  # [links, 6] [linear at COM, angular]
    link_bias: Array  # [links, 6] rate of `velocity` at zero generalized acceleration
    link_inertia: Array  # [links, 3, 3] about the COM, environment axes


def forward_kinematics(tree: Tree, root: Array, q: Array) -> Array:
    """Link poses, shape [links, 7]."""
    pose = np.zeros((len(tree.parent), 7))
    for link, parent in enumerate(tree.parent):
        if parent < 0:
            p, r = root[:3].copy(), root[3:] / np.linalg.norm(root[3:])
        else:
            base = pose[parent]
            rest = tree.rest_pose[link]
            p = base[:3] + rotation(base[3:]) @ rest[:3]
            r = multiply(base[3:], rest[3:])
        for dof in np.flatnonzero(tree.dof_link == link):
            axis, anchor = tree.dof_axis[dof], tree.dof_anchor[dof]
            if dof in tree.balls:
                turned = multiply(r, exponential(tree.dof_axis[dof : dof + 3].T @ q[dof : dof + 3]))
                p = p + rotation(r) @ anchor - rotation(turned) @ anchor
                r = turned
            elif dof - 1 in tree.balls or dof - 2 in tree.balls:
                continue
            elif tree.dof_rotational[dof]:
                turned = multiply(r, exponential(axis * q[dof]))
                p = p + rotation(r) @ anchor - rotation(turned) @ anchor
                r = turned
            else:
                p = p + rotation(r) @ axis * q[dof]
        pose[link, :3], pose[link, 3:] = p, r
    return pose


def dynamics(tree: Tree, root: Array, q: Array, v: Array, gravity: Array) -> Dynamics:
    """Evaluate kinematics, mass matrix and bias force of one state."""
    links, nv = len(tree.parent), tree.velocity_count
    nr = 0 if tree.fixed_base else 6
    pose = forward_kinematics(tree, root, q)
    com = np.array([pose[i, :3] + rotation(pose[i, 3:]) @ tree.com[i] for i in range(links)])
    origin = pose[0, :3] if tree.fixed_base else com[0]
    motion = np.zeros((nv, 6))
    jacobian = np.zeros((links, 6, nv))
    velocity = np.zeros((links, 6))
    acceleration = np.zeros((links, 6))
    if nr:
        motion[0:3, 3:] = np.eye(3)
        motion[3:6, :3] = np.eye(3)
    link_bias, link_inertia = np.zeros((links, 6)), np.zeros((links, 3, 3))
    gravity_matrix = np.zeros(nv)
    mass_matrix = np.zeros((nv, nv))
    bias = np.zeros(nv)
    chain: list[list[int]] = []
    for link, parent in enumerate(tree.parent):
        if parent < 0:
            own = list(range(nr))
            if nr:
                velocity[link] = np.concatenate((v[3:6], v[0:3]))
                # spatial acceleration of the root for zero classical acceleration of its COM
                acceleration[link, 3:] = -np.cross(v[3:6], v[0:3])
        else:
            own = list(chain[parent])
            velocity[link], acceleration[link] = velocity[parent], acceleration[parent]
        r, p = None, None
        dofs = np.flatnonzero(tree.dof_link == link)
        if len(dofs):
            base = pose[parent]
            rest = tree.rest_pose[link]
            p = base[:3] + rotation(base[3:]) @ rest[:3]
            r = multiply(base[3:], rest[3:])
        for dof in dofs:
            assert r is not None and p is not None
            if dof in tree.balls:
                own_axes, anchor = tree.dof_axis[dof : dof + 3], tree.dof_anchor[dof]
                turned = multiply(r, exponential(own_axes.T @ q[dof : dof + 3]))
                pivot = p + rotation(r) @ anchor
                # the axes stand in body 1: the parent where they are left-handed
                about = own_axes @ rotation(turned if np.linalg.det(own_axes) > 0.0 else r).T
                s = np.concatenate((about, np.cross(pivot - origin, about)), axis=1)
                motion[nr + dof : nr + dof + 3] = s
                moving = s.T @ v[nr + dof : nr + dof + 3]
                velocity[link] = velocity[link] + moving
                acceleration[link] = acceleration[link] + cross_motion(velocity[link]) @ moving
                own += [nr + dof, nr + dof + 1, nr + dof + 2]
                p, r = pivot - rotation(turned) @ anchor, turned
                continue
            if dof - 1 in tree.balls or dof - 2 in tree.balls:
                continue
            axis = rotation(r) @ tree.dof_axis[dof]
            if tree.dof_rotational[dof]:
                point = p + rotation(r) @ tree.dof_anchor[dof] - origin
                s = np.concatenate((axis, np.cross(point, axis)))
                turned = multiply(r, exponential(tree.dof_axis[dof] * q[dof]))
                p = p + rotation(r) @ tree.dof_anchor[dof] - rotation(turned) @ tree.dof_anchor[dof]
                r = turned
            else:
                s = np.concatenate((np.zeros(3), axis))
                p = p + axis * q[dof]
            motion[nr + dof] = s
            velocity[link] = velocity[link] + s * v[nr + dof]
            acceleration[link] = acceleration[link] + cross_motion(velocity[link]) @ s * v[nr + dof]
            own.append(nr + dof)
        chain.append(own)
        spatial = np.zeros((6, nv))
        spatial[:, own] = motion[own].T
        c = com[link] - origin
        turn = rotation(pose[link, 3:])
        mass, inertia = tree.mass[link], turn @ tree.inertia[link] @ turn.T
        body = np.zeros((6, 6))
        body[:3, :3] = inertia + mass * skew(c) @ skew(c).T
        body[:3, 3:], body[3:, :3], body[3:, 3:] = mass * skew(c), mass * skew(c).T, mass * np.eye(3)
        mass_matrix += spatial.T @ body @ spatial
        bias += spatial.T @ (
            body @ acceleration[link] - cross_motion(velocity[link]).T @ body @ velocity[link]
        )
        spin, rate = velocity[link, :3], acceleration[link]
        moving = velocity[link, 3:] + np.cross(spin, c)
        link_bias[link, :3] = rate[3:] + np.cross(rate[:3], c) + np.cross(spin, moving)
        link_bias[link, 3:] = rate[:3]
        link_inertia[link] = inertia
        jacobian[link, :3] = spatial[3:] - skew(c) @ spatial[:3]
        jacobian[link, 3:] = spatial[:3]
        gravity_matrix += jacobian[link, :3].T @ (mass * gravity)
    mass_matrix[np.arange(nr, nv), np.arange(nr, nv)] += tree.armature
    bias -= gravity_matrix
    return Dynamics(
        origin, pose, jacobian, mass_matrix, bias, gravity_matrix, com, jacobian @ v, link_bias, link_inertia
    )


def mass_centre(tree: Tree, state: Dynamics) -> Array:
    """Centre of mass, environment frame."""
    return np.asarray(tree.mass @ state.com / tree.mass.sum())


def rate_of_momentum(tree: Tree, state: Dynamics, link_rate: Array) -> tuple[Array, Array]:
    """Rate of momentum and of angular momentum about the own centre of mass of each link, shape [links, 3]."""
    spin = state.velocity[:, 3:]
    angular = np.einsum("lij,lj->li", state.link_inertia, link_rate[:, 3:])
    angular += np.cross(spin, np.einsum("lij,lj->li", state.link_inertia, spin))
    return tree.mass[:, None] * link_rate[:, :3], angular


def centroidal_momentum(tree: Tree, state: Dynamics) -> tuple[Array, Array]:
    """Matrix A of the momentum [linear, angular about the centre of mass], and dA/dt v."""
    arm = state.com - mass_centre(tree, state)
    linear = tree.mass[:, None, None] * state.jacobian[:, :3]
    angular = state.link_inertia @ state.jacobian[:, 3:] + np.array([skew(r) for r in arm]) @ linear
    force, torque = rate_of_momentum(tree, state, state.link_bias)
    rate = np.concatenate((force.sum(0), (torque + np.cross(arm, force)).sum(0)))
    return np.concatenate((linear.sum(0), angular.sum(0))), rate


def link_accelerations(state: Dynamics, acceleration: Array) -> Array:
    """Rates of link velocities [linear at COM, angular] at a generalized acceleration, shape [links, 6]."""
    return np.asarray(state.jacobian @ acceleration + state.link_bias)


def joint_wrenches(
    tree: Tree, state: Dynamics, acceleration: Array, gravity: Array, force: Array, torque: Array
) -> Array:
    """[force, torque about the link's COM] from the parent, under external wrenches, shape [links, 6]."""
    needed, moment = rate_of_momentum(tree, state, link_accelerations(state, acceleration))
    needed, moment = needed - tree.mass[:, None] * gravity - force, moment - torque
    result = np.zeros((len(tree.parent), 6))
    for link in range(len(tree.parent)):
        for other in range(link, len(tree.parent)):
            above = other
            while above > link:
                above = int(tree.parent[above])
            if above == link:
                result[link, :3] += needed[other]
                result[link, 3:] += moment[other] + np.cross(
                    state.com[other] - state.com[link], needed[other]
                )
    return result


def generalized(state: Dynamics, force: Array, torque: Array) -> Array:
    """Generalized force of wrenches about the links' centres of mass."""
    return np.einsum("lij,li->j", state.jacobian, np.concatenate((force, torque), axis=1))


def free_base(state: Dynamics, vector: Array, root: int) -> tuple[Array, Array]:
    """Mass matrix and a generalized force of the joints alone, no force on the root."""
    m = state.mass_matrix
    gain = m[root:, :root] @ np.linalg.inv(m[:root, :root])
    return m[root:, root:] - gain @ m[:root, root:], vector[root:] - gain @ vector[:root]


def energy(tree: Tree, root: Array, q: Array, v: Array, gravity: Array) -> float:
    """Kinetic plus potential energy."""
    state = dynamics(tree, root, q, v, gravity)
    return float(0.5 * v @ state.mass_matrix @ v - (tree.mass[:, None] * state.com).sum(0) @ gravity)
