"""Mass matrix and Jacobian against the float64 twin, and the twin against Pinocchio."""

import numpy as np
import pytest

from tensorphys_dynamics import Quantities, Solver
from tensorphys_dynamics._reference import Tree, dynamics, rotation
from tensorphys_dynamics.testing import model_of, random_state, random_tree

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def normwise(a, b):
    return np.abs(a - b).max() / max(np.abs(b).max(), 1e-12)


@pytest.mark.parametrize("fixed_base", [True, False])
@pytest.mark.parametrize("links", [1, 2, 7, 25])
def test_mass_matrix_and_jacobian_equal_the_twin(device, links, fixed_base):
    tree = random_tree(links, links, fixed_base=fixed_base)
    root, q, v = random_state(links, tree)
    model, state, control = model_of(tree, device, copies=2)
    state.set_initial(root_pose=np.tile(root, (2, 1)), velocity=np.tile(v, 2), dof_position=np.tile(q, 2))
    Solver(model, state, control).update_kinematics()
    quantities = Quantities(model, state)
    expected = dynamics(tree, root, q, v, np.array([0.0, 0.0, -9.81]))
    if tree.velocity_count:
        assert normwise(quantities.mass_matrix().numpy()[1], expected.mass_matrix) < 1e-5
        without = quantities.mass_matrix(armature=False).numpy()[1]
        root_count = tree.velocity_count - len(q)
        np.testing.assert_allclose(
            np.diag(expected.mass_matrix - without)[root_count:], tree.armature, atol=2e-4
        )
        assert normwise(quantities.jacobian().numpy()[1], expected.jacobian) < 1e-5
    np.testing.assert_allclose(state.link_velocity.numpy()[links:], expected.velocity, atol=2e-4)
    np.testing.assert_allclose(state.link_pose.numpy()[links:, :3], expected.pose[:, :3], atol=1e-5)


def pinocchio_of(pin, tree: Tree):
    """The same tree in Pinocchio, one joint a degree of freedom, added depth-first, and the order of velocities."""
    model = pin.Model()
    dofs = [np.flatnonzero(tree.dof_link == link) for link in range(len(tree.parent))]
    order, joint_of = [], {}

    def visit(link, joint, placement):
        if tree.parent[link] < 0:
            if not tree.fixed_base:
                joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), f"root{link}")
            placement = pin.SE3.Identity()
        else:
            rest = pin.SE3(rotation(tree.rest_pose[link, 3:]), tree.rest_pose[link, :3])
            placement = placement * rest
            for dof in dofs[link]:
                anchor = pin.SE3(np.eye(3), tree.dof_anchor[dof])
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
        for child in np.flatnonzero(tree.parent == link):
            visit(child, joint, placement)

    visit(0, 0, pin.SE3.Identity())
    return model, np.array(order, int), joint_of


@pytest.mark.parametrize("fixed_base", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_twin_equals_pinocchio(seed, fixed_base):
    pin = pytest.importorskip("pinocchio")
    tree = random_tree(seed, 1 + 3 * (seed + 1), fixed_base=fixed_base)
    root, q, v = random_state(seed, tree)
    if fixed_base:
        root = np.array([0.0, 0, 0, 0, 0, 0, 1])
    if not tree.velocity_count:
        return
    gravity = np.array([0.3, -0.2, -9.81])
    ours = dynamics(tree, root, q, v, gravity)
    model, order, _ = pinocchio_of(pin, tree)
    model.gravity.linear[:] = gravity
    data = model.createData()
    turn = rotation(root[3:])
    # ours: root [linear at COM, angular] in outer axes; theirs: [linear at origin, angular] in root axes
    head_q, head_v = [], []
    if not fixed_base:
        linear = v[:3] - np.cross(v[3:6], turn @ tree.com[0])
        head_q, head_v = root, np.concatenate((turn.T @ linear, turn.T @ v[3:6]))
    nr = 0 if fixed_base else 6
    pin_q = np.concatenate((head_q, q[order]))
    pin_v = np.concatenate((head_v, v[nr:][order]))
    change = np.zeros((len(v), len(v)))  # their velocity = change @ ours
    if nr:
        change[:3, :3] = turn.T
        arm = turn @ tree.com[0]
        cross = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
        change[:3, 3:6] = turn.T @ cross
        change[3:6, 3:6] = turn.T
    change[nr + np.arange(len(order)), nr + order] = 1.0
    mass = pin.crba(model, data, pin_q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    mass[nr:, nr:] += np.diag(tree.armature[order])
    assert normwise(change.T @ mass @ change, ours.mass_matrix) < 1e-9
    # bias: with our zero acceleration their acceleration is the rate of change of the frames
    accel = np.zeros(len(v))
    if nr:
        w = v[3:6]
        accel[:3] = turn.T @ (-np.cross(w, np.cross(w, turn @ tree.com[0]))) - np.cross(
            turn.T @ w, head_v[:3]
        )
    force = pin.rnea(model, data, pin_q, pin_v, accel)
    assert normwise(change.T @ force, ours.bias) < 1e-9
