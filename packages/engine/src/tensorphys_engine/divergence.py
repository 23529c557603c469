"""Telling which articulations came to velocities that are no numbers, or beyond all bounds."""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt

from tensorphys_dynamics import Model, State
from tensorphys_engine.directory import Directory
from tensorphys_engine.errors import DivergenceWarning

# Names in one warning.
_NAMED = 4


class DivergenceWatch:
    """Warns once of each articulation that is marked in ``state.diverged``.

    Args:
        model: Constants of the dynamics.
        state: State that is watched.
        directory: Paths.
    """

    def __init__(self, model: Model, state: State, directory: Directory) -> None:
        self._model, self._state, self._directory = model, state, directory
        # on the CPU this is the memory of the array itself
        self._view = state.diverged.numpy() if model.device.is_cpu else None
        self._known: npt.NDArray[np.int32] = np.zeros(model.articulation_count, np.int32)
        self._is_known = False

    def look(self, *, stacklevel: int) -> None:
        """Warn of articulations that are newly marked; waits for the device.

        Args:
            stacklevel: Frames between the caller of the simulation and this one.
        """
        flags = self._state.diverged.numpy() if self._view is None else self._view
        # the usual case first: a step of one small environment takes as long as two more of these calls
        if not self._is_known and not np.count_nonzero(flags):
            return
        new = np.flatnonzero(flags > self._known)
        np.copyto(self._known, flags)
        self._is_known = bool(self._known.any())
        if not new.size:
            return
        first = self._model.tables.articulation_link.numpy()
        names = ", ".join(self._directory.link_path(int(first[a])) for a in new[:_NAMED])
        more = f" and {new.size - _NAMED} more" if new.size > _NAMED else ""
        warnings.warn(
            f"{names}{more}: velocities came out beyond all bounds in a step; what they belong to was stopped where it "
            "stood. A shorter dt, more substeps, or masses and gains that differ less may help",
            DivergenceWarning,
            stacklevel=stacklevel + 1,
        )
