"""The battery of every constitutive law: twin against calculus, kernels against the twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tensorphys_fem import Elasticity, Material
from tensorphys_fem import _reference as reference
from tensorphys_fem.testing import (
    deformations,
    evaluate_conserving_stress,
    evaluate_stress,
    evaluate_tangent,
    materials,
    rotations,
)

LAWS = list(Elasticity)
STEP = 1e-5


def _moduli(material: Material) -> tuple[float, float]:
    # Scaled to one: the laws are linear in their moduli.
    return reference.law_moduli(1.0, material.poissons_ratio, material.elasticity)


def _derivative(function, f):
    columns = []
    for direction in np.eye(9).reshape(9, 3, 3):
        columns.append((function(f + STEP * direction) - function(f - STEP * direction)) / (2.0 * STEP))
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("law", LAWS)
def test_no_stress_at_rest(law, device) -> None:
    shear, bulk = reference.law_moduli(1.0, 0.3, law)
    assert reference.energy(np.eye(3), law, shear, bulk) == pytest.approx(0.0, abs=1e-15)
    assert np.abs(reference.stress(np.eye(3), law, shear, bulk)).max() < 1e-14
    assert np.abs(evaluate_stress(np.eye(3), law, shear, bulk, device=device)).max() < 1e-14


@given(deformations(inverted=True), materials())
def test_stress_is_the_derivative_of_energy(f, material) -> None:
    shear, bulk = _moduli(material)
    law = material.elasticity
    _, stretch = reference.polar(f)
    sums = np.trace(stretch) - np.linalg.eigvalsh(stretch)
    if law is Elasticity.COROTATIONAL and np.abs(sums).min() < 0.1:
        return  # the rotation of an inverted element jumps where two stretches add up to zero
    numeric = _derivative(lambda g: reference.energy(g, law, shear, bulk), f).reshape(3, 3)
    scale = 1.0 + np.abs(numeric).max()
    assert np.abs(reference.stress(f, law, shear, bulk) - numeric).max() < 1e-6 * scale


@given(deformations(inverted=True), materials())
def test_tangent_is_the_derivative_of_stress(f, material) -> None:
    shear, bulk = _moduli(material)
    law = material.elasticity
    _, stretch = reference.polar(f)
    sums = np.trace(stretch) - np.linalg.eigvalsh(stretch)
    if law is Elasticity.COROTATIONAL and np.abs(sums).min() < 0.1:
        return
    numeric = _derivative(lambda g: reference.stress(g, law, shear, bulk).reshape(9), f)
    tangent = reference.tangent(f, law, shear, bulk)
    scale = 1.0 + np.abs(numeric).max()
    assert np.abs(tangent - numeric).max() < 1e-5 * scale
    assert np.abs(tangent - tangent.T).max() < 1e-10 * scale


@given(deformations(inverted=True), rotations(), rotations(), materials())
def test_rotation_invariance_and_isotropy(f, left, right, material) -> None:
    shear, bulk = _moduli(material)
    law = material.elasticity
    energy = reference.energy(f, law, shear, bulk)
    assert reference.energy(left @ f @ right, law, shear, bulk) == pytest.approx(energy, abs=1e-9, rel=1e-9)
    turned = reference.stress(left @ f, law, shear, bulk)
    assert np.allclose(turned, left @ reference.stress(f, law, shear, bulk), atol=1e-9)
    cauchy = turned @ (left @ f).T
    assert np.abs(cauchy - cauchy.T).max() < 1e-9


@given(st.lists(deformations(inverted=True), min_size=8, max_size=8), materials())
def test_kernels_agree_with_the_twin(device, batch, material) -> None:
    shear, bulk = _moduli(material)
    law = material.elasticity
    expected = np.array([reference.stress(f, law, shear, bulk) for f in batch])
    given_ = evaluate_stress(batch, law, shear, bulk, device=device)
    assert np.abs(given_ - expected).max() < 1e-8 * (1.0 + np.abs(expected).max())


@given(st.lists(deformations(), min_size=8, max_size=8), materials(largest_poisson=0.45))
def test_projected_tangents(device, batch, material) -> None:
    shear, bulk = _moduli(material)
    law = material.elasticity
    tangents = evaluate_tangent(batch, law, shear, bulk, device=device)
    for f, tangent in zip(batch, tangents, strict=True):
        exact = reference.tangent(f, law, shear, bulk)
        values, vectors = np.linalg.eigh(exact)
        scale = np.abs(values).max()
        projected = (vectors * np.maximum(values, 0.0)) @ vectors.T
        assert np.linalg.eigvalsh(0.5 * (tangent + tangent.T)).min() > -1e-5 * scale
        assert np.abs(tangent - projected).max() < 1e-4 * scale


# Above a volume ratio of 0.2, below which energy gives way.
@given(deformations(0.6), deformations(0.6), rotations(), materials())
def test_conserving_stress_does_the_work_of_the_energy(device, before, after, turn, material) -> None:
    shear, bulk = _moduli(material)
    law = material.elasticity
    after = turn @ after
    stress = evaluate_conserving_stress(before, after, law, shear, bulk, device=device)[0]
    middle = 0.5 * (before + after)
    scale = 1.0 + np.abs(stress).max()
    work = np.sum(stress * (after - before))
    change = reference.energy(after, law, shear, bulk) - reference.energy(before, law, shear, bulk)
    assert work == pytest.approx(change, abs=1e-9 * scale)
    moment = stress @ middle.T
    assert np.abs(moment - moment.T).max() < 1e-10 * scale


@given(deformations(0.05, 2.5, inverted=True), deformations(0.05, 2.5, inverted=True), materials())
def test_conserving_stress_is_finite_and_keeps_momentum_through_inversion(
    device, before, after, material
) -> None:
    shear, bulk = _moduli(material)
    stress = evaluate_conserving_stress(before, after, material.elasticity, shear, bulk, device=device)[0]
    assert np.isfinite(stress).all()
    moment = stress @ (0.5 * (before + after)).T
    assert np.abs(moment - moment.T).max() < 1e-9 * (1.0 + np.abs(stress).max())


@given(deformations(), rotations(), materials())
def test_conserving_stress_of_one_gradient_is_the_stress(device, f, turn, material) -> None:
    shear, bulk = _moduli(material)
    law = material.elasticity
    expected = reference.stress(f, law, shear, bulk)
    scale = 1.0 + np.abs(expected).max()
    same = evaluate_conserving_stress(f, f, law, shear, bulk, device=device)[0]
    assert np.abs(same - expected).max() < 1e-7 * scale
    # A turn without strain has no stress; at the middle of it the body is shorter, which must not show.
    turned = evaluate_conserving_stress(np.eye(3), turn, law, shear, bulk, device=device)[0]
    assert np.abs(turned).max() < 1e-12


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("strain", [0.01, 0.2, -0.2])
def test_uniaxial_and_hydrostatic_closed_forms(law, strain) -> None:
    """Closed forms of the principal Cauchy stress in E and ν, by hand from ψ(stretches)."""
    youngs, poisson = 1e6, 0.3
    shear, bulk = reference.law_moduli(youngs, poisson, law)
    s = 1.0 + strain
    for stretches in (np.array((s, 1.0, 1.0)), np.array((s, s, s))):
        f = np.diag(stretches)
        volume = stretches.prod()
        if law is Elasticity.COROTATIONAL:
            principal = 2 * shear * (stretches - 1) + bulk * (stretches - 1).sum()
        elif law is Elasticity.ST_VENANT_KIRCHHOFF:
            green = 0.5 * (stretches**2 - 1)
            principal = stretches * (2 * shear * green + bulk * green.sum())
        elif law is Elasticity.NEO_HOOKEAN:
            principal = shear * stretches + (bulk * (volume - 1) - shear) * volume / stretches
        else:
            alpha = 1 + 0.75 * shear / bulk
            square = (stretches**2).sum()
            principal = shear * (1 - 1 / (square + 1)) * stretches
            principal = principal + bulk * (volume - alpha) * volume / stretches
        cauchy = reference.stress(f, law, shear, bulk) @ f.T / volume
        assert np.allclose(np.diag(cauchy), principal * stretches / volume, rtol=1e-12)
