"""Checks of the tables of couplings."""

from __future__ import annotations

import numpy as np
import pytest

from tensorphys_scene import (
    Axes,
    Bodies,
    FixedTendonAxes,
    FixedTendons,
    JointCouplings,
    Joints,
    JointType,
    MimicJoints,
    SceneValueError,
    SpatialTendons,
    Template,
    TendonAttachments,
)


def template(**tables: object) -> Template:
    """Two bodies joined by two revolute joints, with the given couplings."""
    bodies = Bodies(path=("/a", "/b"), mass=np.ones(2), inertia=np.stack([np.eye(3)] * 2))
    joints = Joints(path=("/j", "/k"), type=np.full(2, int(JointType.REVOLUTE)), body1=np.array([0, 1]))
    axes = Axes(path=("/j", "/k"), joint=np.arange(2), axis=np.full(2, 3), names=("j", "k"))
    return Template(bodies=bodies, joints=joints, axes=axes, **tables)  # type: ignore[arg-type]


def test_consistent_couplings_are_accepted() -> None:
    made = template(
        mimic_joints=MimicJoints(path=("/j",), axis=np.array([0]), reference=np.array([1])),
        joint_couplings=JointCouplings(path=("/g",), joint=np.array([1])),
        fixed_tendons=FixedTendons(path=("/j",), names=("t",)),
        fixed_tendon_axes=FixedTendonAxes(path=("/j",), tendon=np.array([0]), axis=np.array([1])),
        spatial_tendons=SpatialTendons(path=("/a",), names=("s",)),
        tendon_attachments=TendonAttachments(
            path=("/a", "/b"),
            tendon=np.zeros(2, np.int32),
            body=np.arange(2),
            parent=np.array([-1, 0]),
            names=("s", "e"),
        ),
    )
    assert made.mimic_joints.gearing[0] == 1.0
    assert made.joint_couplings.joint0[0] == -1
    assert np.isnan(made.tendon_attachments.rest_length).all()


@pytest.mark.parametrize(
    ("tables", "text"),
    [
        ({"mimic_joints": MimicJoints(path=("/j",), axis=np.array([0]), reference=np.array([0]))}, "itself"),
        (
            {"mimic_joints": MimicJoints(path=("/j",), axis=np.array([2]), reference=np.array([0]))},
            r"mimic_joints\.axis of /j is 2, expected 0 to 1",
        ),
        ({"joint_couplings": JointCouplings(path=("/g",), joint=np.array([-1]))}, "expected 0 to 1"),
        ({"fixed_tendons": FixedTendons(path=("/j",))}, r"fixed_tendons\.names: expected 1"),
        (
            {
                "spatial_tendons": SpatialTendons(path=("/a",), names=("s",)),
                "tendon_attachments": TendonAttachments(
                    path=("/a",),
                    tendon=np.array([0]),
                    body=np.array([0]),
                    parent=np.array([0]),
                    names=("s",),
                ),
            },
            "before its parent",
        ),
    ],
)
def test_inconsistent_couplings_name_the_row(tables: dict[str, object], text: str) -> None:
    with pytest.raises(SceneValueError, match=text):
        template(**tables)
