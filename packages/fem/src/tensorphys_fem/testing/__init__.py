"""For tests: Hypothesis strategies, and the constitutive functions of the kernels one deformation at a time."""

from tensorphys_fem.testing.probes import evaluate_conserving_stress, evaluate_stress, evaluate_tangent
from tensorphys_fem.testing.strategies import deformations, materials, rotations

__all__ = [
    "deformations",
    "evaluate_conserving_stress",
    "evaluate_stress",
    "evaluate_tangent",
    "materials",
    "rotations",
]
