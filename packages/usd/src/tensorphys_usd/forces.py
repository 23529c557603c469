"""Constant loads that prims put on bodies."""

from __future__ import annotations

import numpy as np

from tensorphys_spatial import quaternion_from_matrix
from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.coupling_rows import CouplingRows
from tensorphys_usd.errors import StageError
from tensorphys_usd.stage import Reading

_RADIANS = float(np.pi / 180.0)
_MODES = ("acceleration", "force")


def read_forces(reading: Reading, bodies: StageBodies) -> CouplingRows:
    """Loads of `PhysxForceAPI`, on a body or on a prim below one; the load acts at that prim's origin.

    Raises:
        StageError: If a load is not finite or its mode is unknown.
    """
    rows = CouplingRows()
    for path, _ in reading.with_schema("PhysxForceAPI"):
        attributes = reading.attributes(path)
        mode = attributes.token("physxForce:mode", "acceleration")
        if mode not in _MODES:
            raise StageError(f"{path}: physxForce:mode is {mode!r}, expected acceleration or force")
        force = attributes.vector("physxForce:force", (0.0, 0.0, 0.0))
        torque = attributes.vector("physxForce:torque", (0.0, 0.0, 0.0))
        enabled = attributes.flag("physxForce:forceEnabled", True)
        world = attributes.flag("physxForce:worldFrameEnabled", False)
        body = bodies.above(path)
        if body < 0:
            reading.report.add(path, "PhysxForceAPI on a prim of no moving body: ignored")
            continue
        frame, base = reading.frame(path), bodies.frames[body]
        rotation = base.rotation.T @ frame.rotation
        rows.add(
            path,
            body=body,
            position=base.rotation.T @ (frame.translation - base.translation),
            rotation=quaternion_from_matrix(rotation),
            force=force,
            # Angular accelerations are authored in degrees, torques are not angles.
            torque=torque * _RADIANS if mode == "acceleration" else torque,
            acceleration=mode == "acceleration",
            world=world,
            enabled=enabled,
        )
    return rows
