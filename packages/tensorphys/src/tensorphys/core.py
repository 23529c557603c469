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
from tensorphys_arrays import ArrayIndexError, RowSelection, resolve_host_indices

if TYPE_CHECKING:
    from tensorphys_arrays import Frontend
    from tensorphys_dynamics import Quantities
    from tensorphys_engine import Simulation
    from tensorphys_engine.particles import SceneParticles
    from tensorphys_engine.soft_bodies import SoftBodies

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
        watch: What looks after prims that leave the stage; kept alive here.
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
        self.watch: Any = None
        self.faults = wp.zeros(2, dtype=wp.int32, device=self.device)
        self._scratch: Any = None
        self._joint_frames: list[wp.array] | None = None
        self._principal: npt.NDArray[np.float64] | None = None

    @property
    def principal_rotation(self) -> npt.NDArray[np.float64]:
        """Principal axes of each link's inertia, quaternion xyzw, shape [links, 4]."""
        if self._principal is None:
            self._principal = self.catalog.principal_rotation()
        return self._principal

    def array(self, source: str) -> wp.array:
        """Array of the simulation at an attribute path such as ``"state.link_pose"``, as it is; see :meth:`settle`."""
        # Of the state as it is: writers ask for arrays, too, and need nothing that derives from what was written.
        return attrgetter(f"raw_{source}" if source.startswith("state.") else source)(self.simulation)

    def settle(self) -> None:
        """Have what derives from writes up to date; whoever reads it calls this first."""
        self.simulation.one_refresh.settle()

    @property
    def soft(self) -> SoftBodies:
        """Deformables of the simulation.

        Raises:
            LookupError: It has none.
        """
        if self.simulation.soft is None:
            raise LookupError("the simulation has no deformables")
        return self.simulation.soft

    @property
    def particles(self) -> SceneParticles:
        """Particles of the simulation.

        Raises:
            LookupError: It has none.
        """
        if self.simulation.particles is None:
            raise LookupError("the simulation has no particles")
        return self.simulation.particles

    def quantities(self, articulations: npt.NDArray[np.integer]) -> Quantities:
        """Quantities of different articulations, in working memory that all views share."""
        from tensorphys_dynamics import Quantities

        model, state = self.simulation.model, self.simulation.raw_state
        if self._scratch is None:
            self._scratch = Quantities.create_scratch(model)
        return Quantities(model, state, articulations, scratch=self._scratch)

    @property
    def joint_frames(self) -> list[wp.array]:
        """Frame at body 1 of each link's joint, that body, and the sign of the wrench, see ``Catalog``."""
        if self._joint_frames is None:
            frame, body, sign = self.catalog.joint_frames()
            self._joint_frames = [
                wp.array(frame.astype(np.float32), dtype=wp.transform, device=self.device),
                wp.array(body.astype(np.int32), dtype=wp.int32, device=self.device),
                wp.array(sign.astype(np.float32), dtype=wp.float32, device=self.device),
            ]
        return self._joint_frames

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

    def indices(self, indices: Any, count: int, device: str, what: str) -> wp.array:
        """Row indices as a flat int32 array on a device; ``None`` means all rows.

        With the conventions of the runtime, indices outside of the view are skipped.
        """
        try:
            return self.frontend.as_indices(indices, count=count, device=device, what=what)
        except ArrayIndexError:
            if self.conventions != "runtime":
                raise
        host = np.asarray(indices.numpy() if hasattr(indices, "numpy") else indices).reshape(-1)
        inside = resolve_host_indices(host[(host >= 0) & (host < count)], count=count, what=what)
        return wp.array(inside, dtype=wp.int32, device=device)

    def warn(self, text: str, *values: object) -> None:
        """Log a warning, unless they are switched off."""
        if self.warnings:
            _LOGGER.warning(text, *values)

    def raise_faults(self, selection: RowSelection, what: str) -> None:
        """Raise what no setter of a view could check on the host; waits for the device.

        Args:
            selection: Table of selected rows of the view.
            what: The view, for messages.

        Raises:
            ArrayIndexError: An index lay outside of the view. It was left out.
            DataError: A pose was none. Its row was left out.
        """
        if self.conventions == "runtime":
            selection.flag.clear()
        selection.check(what=f"an earlier setter of {what}")
        flags = self.faults.numpy().copy()
        if flags[FAULT_POSE]:
            self.faults.zero_()
            raise DataError(
                "an earlier setter was given a pose with a zero quaternion or numbers that are not finite in "
                f"row {flags[FAULT_POSE + 1]}; that row was left out"
            )
