"""Slow NumPy float64 twin of the constitutive laws, written from the formulas and not from the kernels.

F is a deformation gradient ``(3, 3)``, μ and λ are the constants of the law itself (`law_moduli`). Tangents are
``(9, 9)``, ∂P/∂F with both flattened by rows, not projected.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tensorphys_fem.material import Elasticity

Array = npt.NDArray[np.float64]


def law_moduli(youngs_modulus: float, poissons_ratio: float, law: Elasticity) -> tuple[float, float]:
    """μ and λ with which a law is linear elasticity at small strain; Smith et al. shift both, their eq. 16."""
    shear = youngs_modulus / (2.0 * (1.0 + poissons_ratio))
    bulk = youngs_modulus * poissons_ratio / ((1.0 + poissons_ratio) * (1.0 - 2.0 * poissons_ratio))
    if law is Elasticity.STABLE_NEO_HOOKEAN:
        return 4.0 * shear / 3.0, bulk + 5.0 * shear / 6.0
    if law is Elasticity.NEO_HOOKEAN:
        return shear, bulk + shear
    return shear, bulk


def polar(f: Array) -> tuple[Array, Array]:
    """Proper rotation R and symmetric U of F = R U; U has a negative eigenvalue where det F is negative."""
    u, _, vt = np.linalg.svd(f)
    flip = np.diag((1.0, 1.0, np.sign(np.linalg.det(u @ vt))))
    rotation = u @ flip @ vt
    return rotation, rotation.T @ f


def cofactor(f: Array) -> Array:
    """∂ det F / ∂F."""
    return np.column_stack(
        (np.cross(f[:, 1], f[:, 2]), np.cross(f[:, 2], f[:, 0]), np.cross(f[:, 0], f[:, 1]))
    )


def energy(f: Array, law: Elasticity, shear: float, bulk: float) -> float:
    """ψ [J/m³], 0 at rest."""
    if law is Elasticity.COROTATIONAL:
        stretch = polar(f)[1] - np.eye(3)
        return float(shear * np.square(stretch).sum() + 0.5 * bulk * np.trace(stretch) ** 2)
    if law is Elasticity.STABLE_NEO_HOOKEAN:

        def shifted(square: float, volume: float) -> float:
            alpha = 1.0 + 0.75 * shear / bulk
            return (
                0.5 * shear * (square - 3.0)
                + 0.5 * bulk * (volume - alpha) ** 2
                - 0.5 * shear * np.log(square + 1.0)
            )

        return float(shifted(float(np.square(f).sum()), float(np.linalg.det(f))) - shifted(3.0, 1.0))
    if law is Elasticity.NEO_HOOKEAN:
        dilatation = np.linalg.det(f) - 1.0
        return float(
            0.5 * shear * (np.square(f).sum() - 3.0) + 0.5 * bulk * dilatation**2 - shear * dilatation
        )
    strain = 0.5 * (f.T @ f - np.eye(3))
    return float(shear * np.square(strain).sum() + 0.5 * bulk * np.trace(strain) ** 2)


def stress(f: Array, law: Elasticity, shear: float, bulk: float) -> Array:
    """First Piola–Kirchhoff stress ∂ψ/∂F [Pa]."""
    if law is Elasticity.COROTATIONAL:
        rotation, stretch = polar(f)
        return np.asarray(2.0 * shear * (f - rotation) + bulk * np.trace(stretch - np.eye(3)) * rotation)
    if law is Elasticity.STABLE_NEO_HOOKEAN:
        alpha = 1.0 + 0.75 * shear / bulk
        square = np.square(f).sum()
        return np.asarray(
            shear * (1.0 - 1.0 / (square + 1.0)) * f + bulk * (np.linalg.det(f) - alpha) * cofactor(f)
        )
    if law is Elasticity.NEO_HOOKEAN:
        return np.asarray(shear * f + (bulk * (np.linalg.det(f) - 1.0) - shear) * cofactor(f))
    strain = 0.5 * (f.T @ f - np.eye(3))
    return np.asarray(f @ (2.0 * shear * strain + bulk * np.trace(strain) * np.eye(3)))


def tangent(f: Array, law: Elasticity, shear: float, bulk: float) -> Array:
    """∂P/∂F [Pa], column by column from the differential of P."""
    columns = [
        _stress_change(f, direction.reshape(3, 3), law, shear, bulk).reshape(9) for direction in np.eye(9)
    ]
    return np.column_stack(columns)


def _cofactor_change(f: Array, df: Array) -> Array:
    change = np.zeros((3, 3))
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        change[:, i] = np.cross(df[:, j], f[:, k]) + np.cross(f[:, j], df[:, k])
    return change


def _stress_change(f: Array, df: Array, law: Elasticity, shear: float, bulk: float) -> Array:
    if law is Elasticity.COROTATIONAL:
        rotation, stretch = polar(f)
        # d R = R [ω]×, with (tr U − U) ω the axial vector of Rᵀ dF − dFᵀ R.
        turn = rotation.T @ df
        axial = np.array((turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]))
        omega = np.linalg.solve(np.trace(stretch) * np.eye(3) - stretch, axial)
        change = rotation @ np.array(
            ((0.0, -omega[2], omega[1]), (omega[2], 0.0, -omega[0]), (-omega[1], omega[0], 0.0))
        )
        pressure = bulk * np.trace(stretch - np.eye(3))
        return np.asarray(
            2.0 * shear * (df - change) + bulk * np.sum(rotation * df) * rotation + pressure * change
        )
    if law is Elasticity.STABLE_NEO_HOOKEAN:
        alpha = 1.0 + 0.75 * shear / bulk
        square = np.square(f).sum()
        cof, volume = cofactor(f), np.linalg.det(f)
        change = _cofactor_change(f, df)
        return np.asarray(
            shear * (1.0 - 1.0 / (square + 1.0)) * df
            + 2.0 * shear * np.sum(f * df) / (square + 1.0) ** 2 * f
            + bulk * np.sum(cof * df) * cof
            + bulk * (volume - alpha) * change
        )
    if law is Elasticity.NEO_HOOKEAN:
        cof, dilatation = cofactor(f), np.linalg.det(f) - 1.0
        return np.asarray(
            shear * df + bulk * np.sum(cof * df) * cof + (bulk * dilatation - shear) * _cofactor_change(f, df)
        )
    strain = 0.5 * (f.T @ f - np.eye(3))
    strain_change = 0.5 * (df.T @ f + f.T @ df)
    second = 2.0 * shear * strain + bulk * np.trace(strain) * np.eye(3)
    return np.asarray(
        df @ second + f @ (2.0 * shear * strain_change + bulk * np.trace(strain_change) * np.eye(3))
    )
