"""How far the solver goes."""

from __future__ import annotations

import dataclasses

from tensorphys_fem.errors import SettingsError

_LEAST = {"newton_iterations": 1, "linear_iterations": 1, "search_iterations": 0, "static_iterations": 1}


@dataclasses.dataclass(frozen=True)
class SolverSettings:
    """Budgets and the residual that is asked for.

    With D the block diagonal of the matrix, ‖r‖ = √(rᵀ D⁻¹ r), and b the loads of the step without the forces of
    elements (gravity, given forces, c m (v0 − v̄) / h with the mean velocity v̄ of the body), a body is solved when ‖r‖ ≤ tolerance · √(‖b‖² + 1e-4 ‖r_first‖²).
    A body that is not solved within the budget takes what it has; its momentum is exact all the same.

    Attributes:
        tolerance: As above.
        linear_tolerance: Part of the residual that conjugate gradients leave of a Newton step.
        newton_iterations, linear_iterations, search_iterations: Budgets: Newton steps, conjugate gradients in each
            of them, shortenings of each of them.
        static_iterations: Newton steps of a static solve.
    """

    tolerance: float = 1e-4
    linear_tolerance: float = 1e-2
    newton_iterations: int = 12
    linear_iterations: int = 300
    search_iterations: int = 6
    static_iterations: int = 100

    def __post_init__(self) -> None:
        """Refuse impossible settings."""
        for name in ("tolerance", "linear_tolerance"):
            if not 0.0 < getattr(self, name) < 1.0:
                raise SettingsError(f"{name}: expected a value in (0, 1), got {getattr(self, name)}")
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise SettingsError(f"{name}: expected at least {least}, got {getattr(self, name)}")
