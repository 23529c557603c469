"""What of joints, couplings, deformables and particles is left out is said."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tensorphys_engine import Simulation, UnsupportedWarning
from tensorphys_engine.testing import walker_scene
from tensorphys_scene import (
    FixedTendonAxes,
    FixedTendons,
    MimicJoints,
    SoftData,
    SoftKind,
    SoftPrims,
    SpatialTendons,
)


def test_what_is_left_out_of_couplings_is_reported() -> None:
    scene = walker_scene()
    template = scene.templates[0]
    first, second = template.axes.path[:2]
    limits = np.zeros(template.axes.count)
    limits[1] = 3.0
    changed = dataclasses.replace(
        template,
        axes=template.axes.replace(limit_stiffness=limits),
        mimic_joints=MimicJoints(path=(first,), axis=np.array([0]), reference=np.array([1])),
        fixed_tendons=FixedTendons(
            path=(first, second),
            friction=np.array([0.0, 1.0]),
            enabled=np.array([True, False]),
            names=("a", "b"),
        ),
        fixed_tendon_axes=FixedTendonAxes(path=(first, second), tendon=np.arange(2), axis=np.arange(2)),
        spatial_tendons=SpatialTendons(path=(template.bodies.path[0],), names=("c",)),
    )
    with pytest.warns(UnsupportedWarning, match="spatial tendons over no simulated bodies, left out: 1"):
        simulation = Simulation(scene.replace(templates=(changed,)))
    plain = Simulation(scene).findings
    prefix = scene.environments.path[0]
    assert [finding for finding in simulation.findings if finding not in plain] == [
        (prefix + second, "limits of articulation trees are hard"),
        (prefix + second, "the friction of tendons is not simulated"),
        (
            prefix + template.bodies.path[0],
            "a spatial tendon runs from a root to leaves on simulated bodies; left out",
        ),
    ]
    joints = simulation.joints.model
    assert (joints.mimic_count, joints.fixed_tendon_count, joints.spatial_tendon_count) == (1, 2, 0)


def test_what_is_soft_and_not_simulated_is_left_out_with_a_warning() -> None:
    scene = walker_scene()
    soft = SoftPrims(
        path=("/rope", "/silk"),
        kind=np.array([int(SoftKind.CURVES_BODY), int(SoftKind.PARTICLE_MATERIAL)]),
        transform=np.stack([np.eye(4)] * 2),
        data=(SoftData(), SoftData()),
    )
    changed = dataclasses.replace(scene.templates[0], soft_prims=soft)
    with pytest.warns(UnsupportedWarning, match="deformables, left out: 1"):
        simulation = Simulation(scene.replace(templates=(changed,)))
    said = [finding for finding in simulation.findings if "not simulated" in finding[1]]
    path = scene.environments.path[0] + "/rope"
    assert (path, "curves_body of deformables is not simulated; left out") in said
    assert not [path for path, _ in said if path.endswith("/silk")]
