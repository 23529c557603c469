"""Matrices, forces and accelerations against the float64 twin, and the twin against Pinocchio."""

from types import SimpleNamespace

import numpy as np
import pytest
import warp as wp
from hypothesis import given
from hypothesis import strategies as st

from tensorphys_dynamics import ModelError, Quantities, Solver
from tensorphys_dynamics import _reference as twin
from tensorphys_dynamics._reference import dynamics, rotation
from tensorphys_dynamics.testing import model_of, random_ball_tree, random_state, random_tree
from tensorphys_dynamics.testing.in_pinocchio import in_pinocchio

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

GRAVITY = np.array([0.3, -0.2, -9.81])


def normwise(a, b, least=1e-12):
    return np.abs(np.asarray(a) - b).max(initial=0.0) / max(np.abs(b).max(initial=0.0), least)


def tree_of(seed, links, fixed_base):
    """A random tree, with ball joints where the number of links is even."""
    kind = random_tree if links % 2 else random_ball_tree
    return kind(seed, links, fixed_base=fixed_base)


def world(device, seed, links, fixed_base, copies=2):
    """Copies of a random tree in motion, the twin's quantities, and random forces."""
    tree = tree_of(seed, links, fixed_base)
    root, q, v = random_state(seed, tree)
    model, state, control = model_of(tree, device, copies=copies, gravity=tuple(GRAVITY))
    state.set_initial(
        root_pose=np.tile(root, (copies, 1)), velocity=np.tile(v, copies), dof_position=np.tile(q, copies)
    )
    Solver(model, state, control).update_kinematics()
    rng = np.random.default_rng(seed + 5)
    force, torque = rng.normal(size=(2, links, 3))
    return SimpleNamespace(
        tree=tree,
        model=model,
        state=state,
        expected=dynamics(tree, root, q, v, GRAVITY),
        root=root,
        v=v,
        count=len(v),
        root_count=len(v) - len(q),
        links=links,
        acceleration=rng.normal(size=len(v)),
        force=force,
        torque=torque,
        device=device,
        copies=copies,
    )


def vectors(w, values, dtype=wp.float32):
    """One value set for each copy, on the device."""
    host = np.concatenate([np.asarray(values, np.float32)] * w.copies)
    return wp.array(host, dtype=dtype, device=w.device)


TREES = pytest.mark.parametrize(
    ("links", "fixed_base"), [(n, fixed) for n in (1, 2, 7, 12, 25, 40) for fixed in (True, False)]
)


@TREES
def test_mass_matrix_and_jacobian_equal_the_twin(device, links, fixed_base):
    w = world(device, links, links, fixed_base)
    quantities = Quantities(w.model, w.state)
    if w.count:
        assert normwise(quantities.mass_matrix().numpy()[1], w.expected.mass_matrix) < 1e-5
        without = quantities.mass_matrix(armature=False).numpy()[1]
        difference = np.diag(w.expected.mass_matrix - without)[w.root_count :]
        np.testing.assert_allclose(difference, w.tree.armature, atol=1e-5 * w.expected.mass_matrix.max())
        assert normwise(quantities.jacobian().numpy()[1], w.expected.jacobian) < 1e-5
        below = quantities.jacobian(root=False).numpy()[1]
        assert below.shape == (links - 1, 6, w.count)
        assert normwise(below, w.expected.jacobian[1:], 1.0) < 1e-5
    np.testing.assert_allclose(w.state.link_velocity.numpy()[links:], w.expected.velocity, atol=5e-4)
    np.testing.assert_allclose(w.state.link_pose.numpy()[links:, :3], w.expected.pose[:, :3], atol=2e-5)


@TREES
def test_compensation_equals_the_twin(device, links, fixed_base):
    w = world(device, links, links, fixed_base)
    quantities = Quantities(w.model, w.state)
    gravity = -w.expected.gravity_force
    coriolis = w.expected.bias - gravity
    assert normwise(quantities.gravity_compensation().numpy()[w.count :], gravity) < 1e-4
    assert normwise(quantities.coriolis_compensation().numpy()[w.count :], coriolis) < 1e-4
    dofs = w.count - w.root_count
    mass, free = twin.free_base(w.expected, coriolis, w.root_count)
    weight = np.abs(gravity).max(initial=0.0)
    # in free fall nothing is left of gravity: what is small is measured by what cancelled
    _, fall = twin.free_base(w.expected, gravity, w.root_count)
    assert (
        np.abs(quantities.free_base_gravity_compensation().numpy()[dofs:] - fall).max(initial=0.0)
        <= 1e-5 * weight
    )
    scale = np.abs(coriolis).max(initial=0.0)
    assert (
        np.abs(quantities.free_base_coriolis_compensation().numpy()[dofs:] - free).max(initial=0.0)
        <= 1e-4 * scale
    )
    if dofs:
        assert normwise(quantities.free_base_mass_matrix().numpy()[1], mass) < 1e-4


@TREES
def test_inverse_and_forward_dynamics_equal_the_twin(device, links, fixed_base):
    w = world(device, links, links, fixed_base)
    quantities = Quantities(w.model, w.state)
    wrench = (vectors(w, w.force, wp.vec3), vectors(w, w.torque, wp.vec3))
    m, bias = w.expected.mass_matrix, w.expected.bias
    external = twin.generalized(w.expected, w.force, w.torque)
    given_acceleration = vectors(w, w.acceleration)
    needed = quantities.inverse_dynamics(given_acceleration, *wrench).numpy()[w.count :]
    expected = m @ w.acceleration + bias - external
    assert normwise(needed, expected) < 1e-4
    plain = quantities.inverse_dynamics(given_acceleration).numpy()[w.count :]
    assert normwise(plain, expected + external) < 1e-4
    found = quantities.forward_dynamics(vectors(w, w.acceleration), *wrench).numpy()[w.count :].astype(float)
    residual = m @ found + bias - w.acceleration - external
    scale = np.linalg.norm(m, 2) * np.linalg.norm(found) + np.linalg.norm(bias) if w.count else 1.0
    assert np.linalg.norm(residual) <= 1e-5 * scale
    pushed = quantities.inverse_dynamics(given_acceleration, link_force=wrench[0]).numpy()[w.count :]
    no_torque = m @ w.acceleration + bias - twin.generalized(w.expected, w.force, 0 * w.torque)
    assert normwise(pushed, no_torque) < 1e-4


@TREES
def test_accelerations_and_joint_wrenches_equal_the_twin(device, links, fixed_base):
    w = world(device, links, links, fixed_base)
    quantities = Quantities(w.model, w.state)
    acceleration = vectors(w, w.acceleration)
    rates = twin.link_accelerations(w.expected, w.acceleration)
    assert normwise(quantities.link_accelerations(acceleration).numpy()[links:], rates) < 1e-4
    arguments = (w.force, w.torque)
    expected = twin.joint_wrenches(w.tree, w.expected, w.acceleration, GRAVITY, *arguments)
    wrench = quantities.joint_wrenches(acceleration, *(vectors(w, x, wp.vec3) for x in arguments))
    assert normwise(wrench.numpy()[links:], expected) < 1e-4
    # along the free axes the joints give what inverse dynamics asks for, less what the armature takes
    needed = w.expected.mass_matrix @ w.acceleration + w.expected.bias
    needed = needed - twin.generalized(w.expected, *arguments)
    needed[w.root_count :] -= w.tree.armature * w.acceleration[w.root_count :]
    needed[: w.root_count] = 0.0
    assert normwise(quantities.projected_joint_forces(wrench).numpy()[w.count :], needed, 1.0) < 1e-4


@TREES
def test_mass_centre_and_centroidal_momentum_equal_the_twin(device, links, fixed_base):
    w = world(device, links, links, fixed_base)
    quantities = Quantities(w.model, w.state)
    centre = twin.mass_centre(w.tree, w.expected)
    np.testing.assert_allclose(quantities.mass_centre().numpy()[1], centre, atol=2e-5)
    local = rotation(w.root[3:]).T @ (centre - w.root[:3])
    np.testing.assert_allclose(quantities.mass_centre(local_frame=True).numpy()[1], local, atol=2e-5)
    matrix, rate = twin.centroidal_momentum(w.tree, w.expected)
    found = quantities.centroidal_momentum().numpy()[1]
    assert found.shape == (6, w.count + 1)
    assert normwise(found[:, :-1], matrix) < 1e-4
    assert normwise(found[:, -1], rate, 1e-3) < 1e-4


def errors(device, seed, links, fixed_base):
    """Normwise errors of the quantities of a random tree, by name; of forward dynamics the residual."""
    w = world(device, seed, links, fixed_base, copies=1)
    if not w.count:
        return {}
    quantities, d = Quantities(w.model, w.state), w.expected
    gravity = -d.gravity_force
    matrix, rate = twin.centroidal_momentum(w.tree, d)
    found = {
        "mass matrix": (quantities.mass_matrix(), d.mass_matrix),
        "Jacobians": (quantities.jacobian(), d.jacobian),
        "gravity": (quantities.gravity_compensation(), gravity),
        "inverse dynamics": (
            quantities.inverse_dynamics(vectors(w, w.acceleration)),
            d.mass_matrix @ w.acceleration + d.bias,
        ),
    }
    result = {name: normwise(ours.numpy().reshape(np.shape(b)), b) for name, (ours, b) in found.items()}
    coriolis = quantities.coriolis_compensation().numpy() - (d.bias - gravity)
    # without velocity products of its own a lone joint has only rounding of what cancels
    result["Coriolis"] = np.abs(coriolis).max() / max(np.abs(d.bias - gravity).max(), 1e-3)
    momentum = quantities.centroidal_momentum().numpy()[0]
    result["centroidal matrix"] = normwise(momentum[:, :-1], matrix)
    result["its rate"] = normwise(momentum[:, -1], rate, 1e-3)
    q = quantities.forward_dynamics(vectors(w, w.acceleration)).numpy().astype(float)
    size = np.linalg.norm(d.mass_matrix, 2) * np.linalg.norm(q) + np.linalg.norm(d.bias)
    residual = d.mass_matrix @ q + d.bias - w.acceleration
    result["forward dynamics"] = np.linalg.norm(residual) / (size + np.linalg.norm(w.acceleration))
    return result


@given(seed=st.integers(0, 10_000), links=st.integers(1, 40), fixed_base=st.booleans())
def test_any_tree_equals_the_twin(seed, links, fixed_base):
    for name, error in errors("cpu", seed, links, fixed_base).items():
        assert error < 1e-4, name


def test_trees_of_every_size_equal_the_twin(device, request):
    worst = {}
    for links in range(1, 41):
        for name, error in errors(device, 100 + links, links, links % 3 == 0).items():
            worst[name] = max(worst.get(name, 0.0), float(error))
    for name, error in worst.items():
        request.node.user_properties.append(("measured", f"trees of 1 to 40 links, {name}: {error:.3g}"))
        assert error < 1e-4, name


@given(seed=st.integers(0, 10_000), links=st.integers(1, 40), fixed_base=st.booleans())
def test_identities_hold(seed, links, fixed_base):
    """J v are the link velocities, the matrix of momentum gives their momentum, M a is what inverse dynamics adds."""
    w = world("cpu", seed, links, fixed_base, copies=1)
    if not w.count:
        return
    quantities = Quantities(w.model, w.state)
    velocity = w.state.link_velocity.numpy()
    assert normwise(quantities.jacobian().numpy()[0] @ w.v, velocity, 1.0) < 1e-5
    momentum = quantities.centroidal_momentum().numpy()[0, :3, :-1] @ w.v
    assert normwise(momentum, w.tree.mass @ velocity[:, :3], 1.0) < 1e-5
    needed = quantities.inverse_dynamics(vectors(w, w.acceleration)).numpy().copy()
    needed -= quantities.coriolis_compensation().numpy() + quantities.gravity_compensation().numpy()
    mass = quantities.mass_matrix().numpy()[0]
    scale = np.abs(mass @ w.acceleration).max() + np.abs(w.expected.bias).max()
    assert np.abs(needed - mass @ w.acceleration).max() < 1e-5 * scale


def test_rows_are_the_selected_articulations(device):
    w = world(device, 4, 6, False, copies=3)
    # other positions in the second copy
    q = w.state.dof_position.numpy()
    q[len(q) // 3 : 2 * len(q) // 3] += 0.5
    w.state.set_initial(dof_position=q)
    everything, some = Quantities(w.model, w.state), Quantities(w.model, w.state, [2, 1])
    for name in ("mass_matrix", "jacobian", "mass_centre", "centroidal_momentum", "free_base_mass_matrix"):
        full, rows = (getattr(x, name)().numpy() for x in (everything, some))
        np.testing.assert_array_equal(rows, full[[2, 1]])
        assert (full[1] != full[2]).any()
    vector = some.gravity_compensation().numpy()
    assert (vector[: w.count] == 0.0).all()
    np.testing.assert_array_equal(vector[w.count :], everything.gravity_compensation().numpy()[w.count :])
    with pytest.raises(ModelError, match="0 to 2"):
        Quantities(w.model, w.state, [3])
    with pytest.raises(ModelError, match="twice"):
        Quantities(w.model, w.state, [1, 1])
    with pytest.raises(ModelError, match="acceleration: expected float32"):
        some.inverse_dynamics(wp.zeros(3, dtype=wp.float32, device=device))


def peer_of(seed, links, fixed_base):
    """A random tree in Pinocchio, or None where nothing moves."""
    pin = pytest.importorskip("pinocchio")
    tree = tree_of(seed, links, fixed_base)
    root, q, v = random_state(seed, tree)
    if fixed_base:
        root = np.array([0.0, 0, 0, 0, 0, 0, 1])
    return in_pinocchio(pin, tree, root, q, v, GRAVITY) if len(v) else None


PINOCCHIO = given(seed=st.integers(0, 10_000), links=st.integers(1, 40), fixed_base=st.booleans())


@pytest.mark.peers
@PINOCCHIO
def test_twin_equals_pinocchio(seed, links, fixed_base):
    pin = pytest.importorskip("pinocchio")
    p = peer_of(seed, links, fixed_base)
    if p is None:
        return
    armature = np.zeros(len(p.v))
    armature[p.nr :] = p.tree.armature
    mass = pin.crba(p.model, p.data, p.q)
    mass = np.triu(mass) + np.triu(mass, 1).T
    # its own inverse dynamics knows the columns of its mass matrix
    still = np.zeros(len(p.v))
    weight = pin.rnea(p.model, p.data, p.q, still, still)
    columns = [pin.rnea(p.model, p.data, p.q, still, unit) - weight for unit in np.eye(len(p.v))]
    assert normwise(mass, np.array(columns).T) < 1e-9
    assert normwise(p.change.T @ mass @ p.change + np.diag(armature), p.ours.mass_matrix) < 1e-9
    gravity = p.change.T @ pin.computeGeneralizedGravity(p.model, p.data, p.q)
    assert normwise(-p.ours.gravity_force, gravity) < 1e-9
    force = p.change.T @ pin.rnea(p.model, p.data, p.q, p.v, p.rate)
    assert normwise(p.ours.bias, force) < 1e-9
    # forward dynamics: theirs knows no armature unless it is told
    p.model.armature[p.nr :] = p.tree.armature[p.order]
    tau = np.random.default_rng(seed).normal(size=len(p.v))
    theirs = pin.aba(p.model, p.data, p.q, p.v, np.linalg.solve(p.change.T, tau)) - p.rate
    ours = p.change @ np.linalg.solve(p.ours.mass_matrix, tau - p.ours.bias)
    assert normwise(ours, theirs) < 1e-7  # both solve; the residual below is what counts
    acceleration = np.linalg.solve(p.change, theirs)
    scale = np.linalg.norm(p.ours.mass_matrix, 2) * np.linalg.norm(acceleration)
    residual = p.ours.mass_matrix @ acceleration + p.ours.bias - tau
    assert np.linalg.norm(residual) < 1e-9 * (scale + np.linalg.norm(p.ours.bias))


@pytest.mark.peers
@PINOCCHIO
def test_momentum_of_the_twin_equals_pinocchio(seed, links, fixed_base):
    pin = pytest.importorskip("pinocchio")
    p = peer_of(seed, links, fixed_base)
    if p is None:
        return
    centre = pin.centerOfMass(p.model, p.data, p.q)
    if not fixed_base:  # theirs leaves out what hangs on the world
        np.testing.assert_allclose(twin.mass_centre(p.tree, p.ours), centre, atol=1e-12)
    if fixed_base or not len(p.v):
        return
    pin.dccrba(p.model, p.data, p.q, p.v)
    matrix, rate = twin.centroidal_momentum(p.tree, p.ours)
    assert normwise(matrix, p.data.Ag @ p.change) < 1e-9
    # theirs takes a velocity whose rate is not zero where ours is
    assert normwise(rate, p.data.dAg @ p.v + p.data.Ag @ p.rate) < 1e-9


@pytest.mark.peers
@PINOCCHIO
def test_accelerations_and_wrenches_of_the_twin_equal_pinocchio(seed, links, fixed_base):
    pin = pytest.importorskip("pinocchio")
    p = peer_of(seed, links, fixed_base)
    if p is None:
        return
    rng = np.random.default_rng(seed)
    acceleration = rng.normal(size=len(p.v))
    pin.rnea(p.model, p.data, p.q, p.v, p.change @ acceleration + p.rate)
    forces = [np.array(f.vector) for f in p.data.f]
    pin.forwardKinematics(p.model, p.data, p.q, p.v, p.change @ acceleration + p.rate)
    zero = np.zeros((len(p.tree.parent), 3))
    wrench = twin.joint_wrenches(p.tree, p.ours, acceleration, GRAVITY, zero, zero)
    rates = twin.link_accelerations(p.ours, acceleration)
    for link, (joint, placement) in p.joint_of.items():
        if joint == 0:
            continue
        com = placement.act(p.tree.com[link])
        at_com = pin.SE3(np.eye(3), com)
        turn = p.data.oMi[joint].rotation
        velocity = at_com.actInv(p.data.v[joint])
        motion = at_com.actInv(p.data.a[joint])
        linear = turn @ (motion.linear + np.cross(velocity.angular, velocity.linear))
        assert normwise(rates[link], np.concatenate((linear, turn @ motion.angular))) < 1e-9
        own = p.tree.parent[link] < 0 or (p.tree.dof_link == link).any()
        alone = not any(other[0] == joint and other_link != link for other_link, other in p.joint_of.items())
        if own and alone:
            force = at_com.actInv(pin.Force(forces[joint]))
            theirs = np.concatenate((turn @ force.linear, turn @ force.angular))
            assert normwise(wrench[link], theirs) < 1e-9
