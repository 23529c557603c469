"""Constants of a material, and what follows from them."""

from __future__ import annotations

import dataclasses
import enum
import math

from tensorphys_fem.errors import MaterialError

# Up to here the cure of volumetric locking is off, from the second value on it is complete.
LOCKING_POISSON = (0.40, 0.45)
LARGEST_POISSON = 0.4999


class Elasticity(enum.IntEnum):
    """Law of an elastic solid; the value is what kernels read."""

    COROTATIONAL = 0
    """Linear in the stretch: ψ = μ ‖U − I‖² + λ/2 tr(U − I)² [Müller & Gross 2004, as an energy]."""
    STABLE_NEO_HOOKEAN = 1
    """[Smith, de Goes & Kim 2018], with the Lamé constants that agree with linear elasticity at small strain."""
    ST_VENANT_KIRCHHOFF = 2
    """ψ = μ ‖E‖² + λ/2 tr(E)²; for comparisons, it collapses under large compression."""
    NEO_HOOKEAN = 3
    """ψ = μ/2 (‖F‖² − 3) − μ (J − 1) + λ/2 (J − 1)² [Smith, de Goes & Kim 2018, eq. 13], without the logarithm that
    gives a force to an element that is a point; for comparisons with solvers that have this law."""


@dataclasses.dataclass(frozen=True)
class Material:
    """An isotropic material.

    Attributes:
        youngs_modulus: [Pa].
        poissons_ratio: In (−1, 0.4999]. From 0.4 on, completely at 0.45, the dilatation of an element goes over into
            the mean of its nodal patches, the cure of volumetric locking by average nodal pressures
            [Bonet & Burton 1998], and its gradient is mixed with theirs [Liu, Nguyen-Thoi & Lam 2008].
        density: [kg/m³].
        elasticity: Law of the solid; shells are always co-rotational in their plane.
        damping: Ratio of viscous to elastic moduli [s]: a Kelvin–Voigt stress 2 μ d Ė + λ d tr(Ė) I beside the
            elastic one (stiffness-proportional Rayleigh damping at small strain); it never acts on rigid motion.
        damping_scale: Factor of ``damping``.
        velocity_damping: Decay of all velocities [1/s] (mass-proportional Rayleigh damping).
        dynamic_friction: Coefficient for whoever solves contacts; not used here.
    """

    youngs_modulus: float = 5e5
    poissons_ratio: float = 0.45
    density: float = 1000.0
    elasticity: Elasticity = Elasticity.COROTATIONAL
    damping: float = 0.0
    damping_scale: float = 1.0
    velocity_damping: float = 0.0
    dynamic_friction: float = 0.25

    def __post_init__(self) -> None:
        """Refuse impossible constants."""
        if not (math.isfinite(self.youngs_modulus) and self.youngs_modulus > 0.0):
            raise MaterialError(f"youngs_modulus: expected a positive number [Pa], got {self.youngs_modulus}")
        if not -1.0 < self.poissons_ratio <= LARGEST_POISSON:
            raise MaterialError(
                f"poissons_ratio: expected a value in (-1, {LARGEST_POISSON}], got {self.poissons_ratio}; an "
                "incompressible solid is given by 0.499"
            )
        if not (math.isfinite(self.density) and self.density > 0.0):
            raise MaterialError(f"density: expected a positive number [kg/m³], got {self.density}")
        for name in ("damping", "damping_scale", "velocity_damping", "dynamic_friction"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise MaterialError(f"{name}: expected a number that is not negative, got {value}")

    @property
    def shear_modulus(self) -> float:
        """Lamé's second constant μ [Pa]."""
        return self.youngs_modulus / (2.0 * (1.0 + self.poissons_ratio))

    @property
    def lame_lambda(self) -> float:
        """Lamé's first constant λ [Pa]."""
        nu = self.poissons_ratio
        return self.youngs_modulus * nu / ((1.0 + nu) * (1.0 - 2.0 * nu))
