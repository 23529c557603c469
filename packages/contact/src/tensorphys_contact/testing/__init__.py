"""Test support: scenes for property tests, and a battery for other contact pipelines.

Needs the extra ``tensorphys-contact[testing]``.
"""

from .conformance import ContactPipelineBattery, PipelineResult, PipelineScene, run_pipeline
from .strategies import box_sizes, capsule_sizes, poses, sphere_sizes, unit_quaternions

__all__ = [
    "ContactPipelineBattery",
    "PipelineResult",
    "PipelineScene",
    "box_sizes",
    "capsule_sizes",
    "poses",
    "run_pipeline",
    "sphere_sizes",
    "unit_quaternions",
]
