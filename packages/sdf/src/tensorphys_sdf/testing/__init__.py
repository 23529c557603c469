"""Meshes with known fields, damage done to meshes, and strategies for tests of this and other packages."""

from tensorphys_sdf.testing.meshes import (
    box_mesh,
    damaged_mesh,
    join_meshes,
    knot_mesh,
    slotted_mesh,
    sphere_mesh,
    torus_mesh,
    tube_mesh,
)

__all__ = [
    "box_mesh",
    "damaged_mesh",
    "join_meshes",
    "knot_mesh",
    "slotted_mesh",
    "sphere_mesh",
    "torus_mesh",
    "tube_mesh",
]
