"""Functions on the device that sum impulses of many points on few bodies; no order of threads changes the result."""

from ._kernels.point_sets import add_impulse, from_steps, take_sums, to_steps

__all__ = ["add_impulse", "from_steps", "take_sums", "to_steps"]
