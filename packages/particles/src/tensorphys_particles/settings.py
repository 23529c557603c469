"""Budgets of the solver."""

from __future__ import annotations

import dataclasses

from tensorphys_particles.errors import SettingsError


@dataclasses.dataclass(frozen=True)
class SolverSettings:
    """How a step is solved.

    Attributes:
        substeps: Substeps of a step. The default is that of ``solverPositionIterationCount``: small substeps of one
            pass are stiffer than as many passes of one step [Macklin 2019].
        iterations: Passes over all constraints in a substep.
        relaxation: Part of the correction of a density that is applied. All densities are corrected at once, so the
            whole of it would overshoot.
    """

    substeps: int = 16
    iterations: int = 1
    relaxation: float = 0.5

    def __post_init__(self) -> None:
        """Refuse impossible budgets."""
        if self.substeps < 1 or self.iterations < 1:
            raise SettingsError(
                f"expected at least 1 substep and 1 iteration, got {self.substeps} and {self.iterations}"
            )
        if not 0.0 < self.relaxation <= 1.0:
            raise SettingsError(f"relaxation: expected above 0 and at most 1, got {self.relaxation}")
