"""Everything that links push beside themselves, in the substeps of the dynamics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import warp as wp

from tensorphys_dynamics import LinkEnds


class Coupled(Protocol):
    """Particles, deformables: what pushes links and is pushed by them."""

    def attach(self, ends: LinkEnds, substeps: int) -> None:
        """Take part in the steps of a solver, from now on in its substeps a step."""
        ...

    def begin(self, time_step: wp.array[wp.float32]) -> None:
        """Begin a step of a length [s], float32 [1]."""
        ...

    def exchange(self, sweep: Callable[[], None]) -> None:
        """Advance by a substep.

        The links have been observed and swept before with the impulses that others gave them, which are in
        ``ends.impulse``. Own impulses are added to these, and ``ends.sweep(sweep)`` is called with the sum.
        """
        ...


class SceneCoupling:
    """All that is coupled, one after another; a :class:`tensorphys_dynamics.Coupling`."""

    def __init__(
        self, ends: LinkEnds, parts: Sequence[Coupled], time_step: wp.array[wp.float32], substeps: int
    ) -> None:
        """Attach the parts.

        Args:
            ends: Links of the solver.
            parts: What is coupled to them.
            time_step: Length of a step [s], float32 [1] on the device.
            substeps: Substeps of a step.
        """
        self.ends, self._parts, self._time_step = ends, tuple(parts), time_step
        for part in self._parts:
            part.attach(ends, substeps)

    def begin(self) -> None:
        """Begin a step."""
        self.ends.begin()
        for part in self._parts:
            part.begin(self._time_step)

    def exchange(self, sweep: Callable[[], None]) -> None:
        """Solve a substep: the links alone, then with each part in turn."""
        self.ends.observe()
        self.ends.impulse.zero_()
        self.ends.sweep(sweep)
        for part in self._parts:
            part.exchange(sweep)
        self.ends.keep()
