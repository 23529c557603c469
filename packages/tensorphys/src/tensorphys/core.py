"""What all views of one simulation share."""

from __future__ import annotations

import logging
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys._kernels.rows import FAULT_POSE
from tensorphys.catalog import Catalog
from tensorphys.errors import DataError, InvalidViewError

if TYPE_CHECKING:
    from tensorphys_arrays import Frontend
    from tensorphys_engine import Simulation

__all__ = ["Conventions", "Core"]

_LOGGER = logging.getLogger("tensorphys")

Conventions = Literal["documentation", "runtime"]


class Core:
    """Simulation, frontend and conventions behind a simulation view and the views made from it.

    Args:
        simulation: The simulation.
        frontend: Array frontend.
        conventions: Which side of the table of conventions holds.
        stage: The stage that the simulation was built from, if any.

    Attributes:
        catalog: What the flat numbers of the simulation stand for.
        device: Warp device alias of the simulation.
        valid: Whether data may still be read and written.
        warnings: Whether ignored rows and prims are reported.
        faults: Flags that kernels raise, see ``_kernels.rows``; int32, shape [2].
        principal_rotation: Principal axes of each link's inertia, quaternion xyzw, float64, shape [links, 4].
    """

    def __init__(
        self, simulation: Simulation, frontend: Frontend, *, conventions: Conventions, stage: Any = None
    ) -> None:
        self.simulation = simulation
        self.frontend = frontend
        self.conventions: Conventions = conventions
        self.stage = stage
        self.catalog = Catalog(simulation)
        self.device = str(simulation.device)
        self.valid = True
        self.warnings = True
        self.faults = wp.zeros(2, dtype=wp.int32, device=self.device)
        self._principal: npt.NDArray[np.float64] | None = None

    @property
    def principal_rotation(self) -> npt.NDArray[np.float64]:
        """Principal axes of each link's inertia, quaternion xyzw, shape [links, 4]."""
        if self._principal is None:
            self._principal = self.catalog.principal_rotation()
        return self._principal

    def array(self, source: str) -> wp.array:
        """Array of the simulation at an attribute path such as ``"state.link_pose"``."""
        return attrgetter(source)(self.simulation)

    @property
    def on_host(self) -> bool:
        """Whether state arrays lie in host memory."""
        return self.device == "cpu"

    def require_valid(self, what: str) -> None:
        """Raise unless data may be read and written.

        Raises:
            InvalidViewError: After ``invalidate()`` or ``reset()``.
        """
        if not self.valid:
            raise InvalidViewError(what)

    def warn(self, text: str, *values: object) -> None:
        """Log a warning, unless they are switched off."""
        if self.warnings:
            _LOGGER.warning(text, *values)

    def raise_faults(self) -> None:
        """Raise for a pose that no setter could check on the host; waits for the device.

        Raises:
            DataError: A pose was none. Its row was left out.
        """
        flags = self.faults.numpy().copy()
        if flags[FAULT_POSE]:
            self.faults.zero_()
            raise DataError(
                "an earlier setter was given a pose with a zero quaternion or numbers that are not finite in "
                f"row {flags[FAULT_POSE + 1]}; that row was left out"
            )
