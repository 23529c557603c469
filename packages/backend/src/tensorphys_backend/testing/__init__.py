"""Stages for tests, and checks that any backend can run against itself."""

from tensorphys_backend.testing.battery import CHECKS, MakeBackend, run_battery
from tensorphys_backend.testing.stages import (
    add_arm,
    add_box,
    add_box_mesh,
    add_cloth,
    empty_stage,
    fix_to_world,
    room_stage,
)

__all__ = [
    "CHECKS",
    "MakeBackend",
    "add_arm",
    "add_box",
    "add_box_mesh",
    "add_cloth",
    "empty_stage",
    "fix_to_world",
    "room_stage",
    "run_battery",
]
