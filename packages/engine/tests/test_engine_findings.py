"""Couplings of joints are data that is not simulated yet, and every one of them is said."""

from __future__ import annotations

import dataclasses

import numpy as np

from tensorphys_engine import Simulation
from tensorphys_engine.testing import walker_scene
from tensorphys_scene import FixedTendonAxes, FixedTendons, MimicJoints, SpatialTendons


def test_couplings_are_reported() -> None:
    scene = walker_scene()
    template = scene.templates[0]
    assert template.axes.count >= 2
    first, second = template.axes.path[:2]
    limits = np.zeros(template.axes.count)
    limits[1] = 3.0
    changed = dataclasses.replace(
        template,
        axes=template.axes.replace(limit_stiffness=limits),
        mimic_joints=MimicJoints(path=(first,), axis=np.array([0]), reference=np.array([1])),
        fixed_tendons=FixedTendons(path=(first, second), enabled=np.array([True, False]), names=("a", "b")),
        fixed_tendon_axes=FixedTendonAxes(path=(first, second), tendon=np.arange(2), axis=np.arange(2)),
        spatial_tendons=SpatialTendons(path=(template.bodies.path[0],), names=("c",)),
    )
    said = Simulation(scene.replace(templates=(changed,))).findings
    plain = Simulation(scene).findings
    prefix = scene.environments.path[0]
    assert [finding for finding in said if finding not in plain] == [
        (prefix + second, "soft limits are not simulated; the limit is hard"),
        (prefix + first, "mimic joints are not simulated; the joint moves freely"),
        (prefix + first, "fixed tendons are not simulated"),
        (prefix + template.bodies.path[0], "spatial tendons are not simulated"),
    ]
