"""Against scikit-fem, eigenvalues of the same mesh, and manufactured solutions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse.linalg as sparse_linalg

import tensorphys_fem as tf

YOUNGS = 1e7
PRECISE = tf.SolverSettings(tolerance=1e-7, linear_iterations=3000, newton_iterations=20)


def _peer(points, tets, poisson, order):
    """Basis, stiffness and unit body loads of linear elasticity by scikit-fem."""
    skfem = pytest.importorskip("skfem")
    elasticity = pytest.importorskip("skfem.models.elasticity")
    element = skfem.ElementTetP1() if order == 1 else skfem.ElementTetP2()
    mesh = skfem.MeshTet(points.T.copy(), tets.T.astype(np.int64))
    basis = skfem.Basis(mesh, skfem.ElementVector(element))
    form = elasticity.linear_elasticity(*elasticity.lame_parameters(YOUNGS, poisson))
    load = skfem.LinearForm(lambda v, _w: v[2])
    return skfem, basis, form.assemble(basis), load.assemble(basis)


def _peer_cantilever(points, tets, poisson, order, load):
    skfem, basis, stiffness, unit = _peer(points, tets, poisson, order)
    fixed = basis.get_dofs(lambda x: np.abs(x[0]) < 1e-9)
    u = skfem.solve(*skfem.condense(stiffness, load * unit, D=fixed))
    return np.stack([u[basis.nodal_dofs[i]] for i in range(3)], axis=1)


def _cantilever(make_scene, device, mesh, poisson, load, law=tf.Elasticity.COROTATIONAL, **options):
    body = tf.Body(mesh, tf.Material(YOUNGS, poisson, elasticity=law))
    scene = make_scene([body], device=device, gravity=(0, 0, load / 1000.0), settings=PRECISE, **options)
    scene.hold(mesh.points[:, 0] < 1e-9)
    scene.solver.solve_static(scene.state, scene.control)
    assert scene.solver.status.numpy()[0] == tf.Status.SOLVED
    return scene.x - mesh.points


@pytest.mark.peers
@pytest.mark.parametrize("law", list(tf.Elasticity))
def test_cantilever_on_the_same_elements(make_scene, device, law, measured) -> None:
    """Static displacement under a small load, to 1e-4."""
    mesh = tf.box_mesh((10, 2, 2), 0.125)
    expected = _peer_cantilever(mesh.points, mesh.tets, 0.3, 1, -5.0)
    u = _cantilever(make_scene, device, mesh, 0.3, -5.0, law)
    error = np.abs(u - expected).max() / np.abs(expected).max()
    measured("relative error", error)
    assert error < 1e-4


@pytest.mark.peers
@pytest.mark.parametrize("law", list(tf.Elasticity))
def test_element_residuals(make_scene, device, law, measured) -> None:
    """Forces of a small random displacement against K u, to 1e-6."""
    mesh = tf.box_mesh((3, 2, 2), (0.2, 0.15, 0.1))
    skfem, basis, stiffness, _ = _peer(mesh.points, mesh.tets, 0.3, 1)
    assert skfem.__version__
    u = 1e-9 * np.random.default_rng(0).standard_normal(mesh.points.shape)
    flat = np.zeros(stiffness.shape[0])
    for axis in range(3):
        flat[basis.nodal_dofs[axis]] = u[:, axis]
    product = stiffness @ flat
    expected = -np.stack([product[basis.nodal_dofs[i]] for i in range(3)], axis=1)
    scene = make_scene([tf.Body(mesh, tf.Material(YOUNGS, 0.3, elasticity=law))], device=device)
    scene.state.position.assign(mesh.points + u)
    scene.measures.measure_forces(scene.state)
    forces = scene.measures.nodal_forces.numpy()
    error = np.abs(forces - expected).max() / np.abs(expected).max()
    measured("relative difference of forces", error)
    assert error < 1e-6


@pytest.mark.peers
@pytest.mark.parametrize("law", list(tf.Elasticity))
def test_near_incompressible_cantilever(make_scene, device, law, measured) -> None:
    """ν = 0.499, 10 × 2 × 2 cells: at least 85 % of the tip deflection of quadratic elements, and not much more."""
    mesh = tf.box_mesh((10, 2, 2), 0.1)
    tip = mesh.points[:, 0] > 1.0 - 1e-9
    expected = _peer_cantilever(mesh.points, mesh.tets, 0.499, 2, -500.0)[tip, 2].mean()
    cured = _cantilever(make_scene, device, mesh, 0.499, -500.0, law)[tip, 2].mean() / expected
    locked = _cantilever(make_scene, device, mesh, 0.499, -500.0, law, nodal_dilatation=False)
    measured(
        "tip deflection over that of P2, with and without the cure", (cured, locked[tip, 2].mean() / expected)
    )
    assert 0.85 < cured < 1.1
    assert locked[tip, 2].mean() / expected < 0.1


@pytest.mark.peers
def test_longitudinal_frequency(make_scene, device, measured) -> None:
    """First longitudinal mode of the hanging bar, h = T / 100: within 1 % of the eigenvalue of the same mesh."""
    mesh = tf.box_mesh((2, 2, 10), 0.05)
    _skfem, basis, stiffness, _ = _peer(mesh.points, mesh.tets, 0.0, 1)
    body = tf.Body(mesh, tf.Material(YOUNGS, 0.0), scheme=tf.Scheme.CONSERVING)
    scene = make_scene([body], device=device, gravity=(0, 0, 0))
    mass = np.zeros(stiffness.shape[0])
    for axis in range(3):
        mass[basis.nodal_dofs[axis]] = scene.model.node_mass.numpy()
    top = np.abs(mesh.points[:, 2] - 0.5) < 1e-9
    free = np.setdiff1d(np.arange(len(mass)), basis.nodal_dofs[:, top].reshape(-1))
    scaled = stiffness[free][:, free].multiply(1.0 / np.sqrt(np.outer(mass[free], mass[free]))).tocsc()
    values, vectors = sparse_linalg.eigsh(scaled, k=12, sigma=0.0)
    modes = np.zeros((len(values), len(mass)))
    modes[:, free] = (vectors / np.sqrt(mass[free])[:, None]).T
    along = np.square(modes[:, basis.nodal_dofs[2]]).sum(axis=1) / np.square(modes).sum(axis=1)
    first = int(np.argmax(along > 0.9))
    omega = np.sqrt(values[first])
    shape = np.stack([modes[first][basis.nodal_dofs[i]] for i in range(3)], axis=1)
    scene.hold(top)
    scene.throw(shape * 1e-3 / np.abs(shape).max())
    bottom = mesh.points[:, 2] < 1e-9
    dt = 2.0 * np.pi / omega / 100.0
    tips = []
    for _ in range(450):
        scene.run(1, dt)
        tips.append(scene.x[bottom, 2].mean())
    tips = np.array(tips)
    up = np.flatnonzero((tips[:-1] < 0) & (tips[1:] >= 0))
    crossings = up + tips[up] / (tips[up] - tips[up + 1])
    found = 2.0 * np.pi / (np.diff(crossings).mean() * dt)
    measured("frequency over eigenvalue", found / omega)
    assert found == pytest.approx(omega, rel=0.01)


_QUADRATURE = 0.1381966011250105


def _shape_points():
    """Four points of degree 2, barycentric."""
    points = np.full((4, 4), _QUADRATURE)
    np.fill_diagonal(points, 1.0 - 3.0 * _QUADRATURE)
    return points


def _manufactured(x, amplitude):
    """u = A sin sin sin (1, 2, −1), zero on the unit cube's faces, and the body force that it needs (ν = 0.3)."""
    direction = amplitude * np.array((1.0, 2.0, -1.0))
    s, c = np.sin(np.pi * x), np.cos(np.pi * x)
    phi = s.prod(axis=-1)
    lame, shear = YOUNGS * 0.3 / (1.3 * 0.4), YOUNGS / 2.6
    hessian = np.zeros((*phi.shape, 3, 3))
    for i in range(3):
        for j in range(3):
            if i == j:
                hessian[..., i, j] = -(np.pi**2) * phi
            else:
                k = 3 - i - j
                hessian[..., i, j] = np.pi**2 * c[..., i] * c[..., j] * s[..., k]
    force = -(shear * -3.0 * np.pi**2 * phi[..., None] * direction + (lame + shear) * hessian @ direction)
    return phi[..., None] * direction, force


def test_order_of_convergence(make_scene, device, measured) -> None:
    """L2 error of a manufactured solution falls with the square of the cell size, 2 ± 0.2."""
    errors = []
    cells = (6, 12)
    for count in cells:
        mesh = tf.box_mesh((count, count, count), 1.0 / count)
        weights = _shape_points()
        places = np.einsum("qa,mai->mqi", weights, mesh.points[mesh.tets])
        exact, force = _manufactured(places, 1e-4)
        nodal = np.zeros_like(mesh.points)
        share = np.einsum("m,qa,mqi->mai", mesh.volumes / 4.0, weights, force)
        np.add.at(nodal, mesh.tets, share)
        scene = make_scene(
            [tf.Body(mesh, tf.Material(YOUNGS, 0.3))],
            device=device,
            gravity=(0, 0, 0),
            settings=tf.SolverSettings(tolerance=1e-5, linear_iterations=1000),
        )
        scene.hold(((mesh.points < 1e-9) | (mesh.points > 1 - 1e-9)).any(axis=1))
        scene.control.force.assign(nodal.astype(np.float32))
        scene.solver.solve_static(scene.state, scene.control)
        u = np.einsum("qa,mai->mqi", weights, (scene.x - mesh.points)[mesh.tets])
        errors.append(np.sqrt((mesh.volumes[:, None, None] / 4.0 * (u - exact) ** 2).sum()))
    order = np.log(errors[0] / errors[1]) / np.log(cells[1] / cells[0])
    measured("order", order)
    assert order == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("law", list(tf.Elasticity))
@pytest.mark.parametrize("strain", [0.01, 0.2])
def test_uniaxial_stress_of_a_block(make_scene, device, law, strain, measured) -> None:
    """A block pulled at its ends, sides free: stress within 0.1 % of the closed form, by bisection of the law."""
    mesh = tf.box_mesh((3, 2, 2), 0.1)
    scene = make_scene(
        [tf.Body(mesh, tf.Material(YOUNGS, 0.3, elasticity=law))],
        device=device,
        settings=PRECISE,
        gravity=(0, 0, 0),
    )
    axial, lateral = _uniaxial(law, 1.0 + strain)
    # Ends contract with the rest, so that the field is uniform.
    ends = (mesh.points[:, 0] < 1e-9) | (mesh.points[:, 0] > 0.3 - 1e-9)
    scene.hold(ends, mesh.points * (1.0 + strain, lateral, lateral))
    scene.solver.solve_static(scene.state, scene.control)
    scene.measures.measure_elements(scene.state)
    stresses = scene.measures.stresses.numpy()
    error = np.abs(stresses[:, 0, 0] / axial - 1.0).max()
    measured("relative error of the axial stress", error)
    assert error < 1e-3
    assert np.abs(stresses - np.diag((1.0, 0.0, 0.0)) * stresses[:, :1, :1]).max() < 1e-3 * axial
    assert np.abs(scene.measures.von_mises.numpy() / axial - 1.0).max() < 2e-3


def _uniaxial(law, stretch):
    """Axial Cauchy stress and lateral stretch of a bar whose sides carry nothing."""
    from tensorphys_fem import _reference as reference

    moduli = reference.law_moduli(YOUNGS, 0.3, law)

    def lateral_stress(width):
        return reference.stress(np.diag((stretch, width, width)), law, *moduli)[1, 1]

    low, high = 0.5, 1.2
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if lateral_stress(middle) < 0.0 else (low, middle)
    f = np.diag((stretch, low, low))
    return reference.stress(f, law, *moduli)[0, 0] * stretch / np.linalg.det(f), low


def test_twisted_bar(make_scene, device) -> None:
    """Large rotations: equilibrium is found, the torques at the two ends balance."""
    mesh = tf.box_mesh((2, 2, 8), 0.1, origin=(-0.1, -0.1, 0.0))
    low, high = mesh.points[:, 2] < 1e-9, mesh.points[:, 2] > 0.8 - 1e-9
    for law in (tf.Elasticity.COROTATIONAL, tf.Elasticity.STABLE_NEO_HOOKEAN):
        scene = make_scene(
            [tf.Body(mesh, tf.Material(1e6, 0.3, elasticity=law))], device=device, gravity=(0, 0, 0)
        )
        for step in range(1, 7):  # 180° in all
            angle = np.pi * step / 6
            turn = np.array(
                ((np.cos(angle), -np.sin(angle), 0), (np.sin(angle), np.cos(angle), 0), (0, 0, 1))
            )
            scene.hold(low | high, np.where(high[:, None], mesh.points @ turn.T, mesh.points))
            scene.solver.solve_static(scene.state, scene.control)
            assert scene.solver.status.numpy()[0] == tf.Status.SOLVED
        force = scene.solver.reaction.numpy().astype(float)
        torques = [np.cross(scene.x[end], force[end]).sum(axis=0)[2] for end in (low, high)]
        assert torques[0] == pytest.approx(-torques[1], rel=1e-3) and torques[1] > 0


@pytest.mark.parametrize("law", [tf.Elasticity.COROTATIONAL, tf.Elasticity.STABLE_NEO_HOOKEAN])
def test_pressed_cube(make_scene, device, law) -> None:
    """Between rough plates, to 60 % of its height: forces of the plates balance, nothing is inverted."""
    mesh = tf.box_mesh((3, 3, 3), 0.1)
    low, high = mesh.points[:, 2] < 1e-9, mesh.points[:, 2] > 0.3 - 1e-9
    scene = make_scene(
        [tf.Body(mesh, tf.Material(1e6, 0.3, elasticity=law))], device=device, gravity=(0, 0, 0)
    )
    for height in (0.9, 0.8, 0.7, 0.6):
        scene.hold(low | high, mesh.points * np.where(high[:, None], (1, 1, height), 1.0))
        scene.solver.solve_static(scene.state, scene.control)
        assert scene.solver.status.numpy()[0] == tf.Status.SOLVED
        force = scene.solver.reaction.numpy().astype(float)
        assert force[low, 2].sum() == pytest.approx(-force[high, 2].sum(), rel=1e-3)
        # Stiffer than free uniaxial compression, softer than confined.
        pressed = -force[high, 2].sum() / (1e6 * 0.09)
        assert (1.0 - height) < pressed < 2.0 * (1.0 - height)
        scene.measures.measure_elements(scene.state)
        assert np.linalg.det(scene.measures.deformation_gradients.numpy()).min() > 0.0
