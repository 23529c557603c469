"""How a run went, in a few numbers."""

from __future__ import annotations

import numpy as np

from tensorphys.cli.frames import Frame
from tensorphys_scene import Settings


class Summary:
    """Gathers speed, penetration and energy from frames; says them in SI units."""

    def __init__(self, settings: Settings) -> None:
        self._length = settings.meters_per_unit
        self._energy_unit = settings.kilograms_per_unit * settings.meters_per_unit**2
        self._last: Frame | None = None
        self._first_energy = np.zeros(0)
        self._rise = -np.inf
        self._deepest = 0.0
        self._fastest = 0.0

    def add(self, frame: Frame) -> None:
        """Take a frame into account."""
        energy = frame["kinetic_energy"] + frame["potential_energy"]
        if self._last is None:
            self._first_energy = energy
        self._rise = max(self._rise, float(np.nanmax(energy - self._first_energy, initial=-np.inf)))
        self._deepest = max(self._deepest, float(frame["penetration"].max(initial=0.0)))
        self._fastest = max(self._fastest, _speed(frame))
        self._last = frame

    def lines(self) -> list[str]:
        """Lines about the end and the worst of the run, over all environments."""
        if self._last is None:
            return []
        frame = self._last
        energy = frame["kinetic_energy"] + frame["potential_energy"]
        unit = self._energy_unit
        mm = 1e3 * self._length
        return [
            f"at the end ({float(frame['time']):.4g} s): fastest centre of mass {_speed(frame) * self._length:.4g} m/s, "
            f"deepest penetration {frame['penetration'].max(initial=0.0) * mm:.4g} mm, "
            f"contacts {int(frame['contact_count'].sum())}",
            f"in all frames: fastest {self._fastest * self._length:.4g} m/s, "
            f"deepest {self._deepest * mm:.4g} mm",
            f"energy of an environment: {self._first_energy.mean() * unit:.6g} J at the start, "
            f"{energy.mean() * unit:.6g} J at the end, highest {self._rise * unit:+.4g} J against the start",
        ]


def _speed(frame: Frame) -> float:
    linear = frame["link_velocity"][..., :3]
    with np.errstate(invalid="ignore", over="ignore"):
        return float(np.sqrt(np.nanmax((linear**2).sum(axis=-1), initial=0.0)))
