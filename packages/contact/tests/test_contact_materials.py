"""Springs and patches of pairs of materials, against the rules written out in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc

IDENTITY = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]


def contact_of(device: str, **columns: Any) -> dict[str, float]:
    """Material columns of the one contact of two spheres with these materials."""
    materials = tc.Materials([0.5, 0.5], [0.5, 0.5], [0.25, 0.75], [0, 0], **columns)
    model = tc.build_model(
        shape_type=[tc.ShapeType.SPHERE] * 2,
        shape_body=[0, 1],
        shape_pose=[IDENTITY] * 2,
        shape_size=[[0.5, 0, 0]] * 2,
        shape_environment=[0, 0],
        environment_count=1,
        shape_material=[0, 1],
        materials=materials,
        contact_offset=[0.01] * 2,
        rest_offset=[0.0] * 2,
        pairs=[[0, 1]],
        device=device,
    )
    contacts = tc.create_contacts(model)
    pose = np.array([IDENTITY, [0.99, *IDENTITY[1:]]], np.float32)
    tc.collide(model, wp.array(pose, dtype=wp.transform, device=device), contacts)
    assert contacts.count.numpy().tolist() == [1]
    names: tuple[str, ...] = ("restitution", "stiffness", "damping", "spring_per_mass")
    if model.has_patches:
        names += ("patch_radius", "least_patch_radius", "torsional_friction")
    else:
        assert contacts.patch_radius.shape == (0,)
    return {name: float(getattr(contacts, name).numpy()[0]) for name in names}


@pytest.mark.parametrize("modes", [(a, b) for a in range(4) for b in range(4)])
def test_springs_combine_by_the_larger_mode(device: str, modes: tuple[int, int]) -> None:
    """A stiffness is a negative restitution to the mode: its least one is the stiffest."""
    found = contact_of(
        device,
        restitution_combine=modes,
        damping_combine=modes[::-1],
        stiffness=[100.0, 400.0],
        damping=[2.0, 3.0],
    )
    stiffness = [250.0, 400.0, 40000.0, 100.0][max(modes)]
    damping = [2.5, 2.0, 6.0, 3.0][max(modes)]
    assert (found["stiffness"], found["damping"], found["restitution"]) == (stiffness, damping, 0.0)


@pytest.mark.parametrize("mode", range(4))
def test_a_compliant_shape_decides_over_a_rigid_one(device: str, mode: int) -> None:
    found = contact_of(
        device,
        restitution_combine=[mode, 0],
        stiffness=[0.0, 400.0],
        damping=[9.0, 3.0],
        spring_per_mass=[1, 0],
    )
    assert (found["stiffness"], found["damping"], found["spring_per_mass"]) == (400.0, 3.0, 0.0)
    assert found["restitution"] == 0.0


def test_a_spring_per_mass_decides_over_one_that_is_not(device: str) -> None:
    found = contact_of(
        device,
        restitution_combine=[3, 3],
        stiffness=[100.0, 400.0],
        damping=[2.0, 3.0],
        spring_per_mass=[0, 1],
    )
    assert (found["stiffness"], found["damping"], found["spring_per_mass"]) == (400.0, 3.0, 1.0)


def test_rigid_shapes_keep_their_restitution(device: str) -> None:
    found = contact_of(device, restitution_combine=[0, 0], damping=[2.0, 3.0])
    assert (found["stiffness"], found["damping"], found["restitution"]) == (0.0, 0.0, 0.5)


def test_the_larger_patch_counts(device: str) -> None:
    found = contact_of(
        device,
        restitution_combine=[0, 0],
        patch_radius=[0.25, 0.5],
        least_patch_radius=[0.125, 0.0],
        torsional_friction=[0.0, 0.0625],
    )
    assert [found[n] for n in ("patch_radius", "least_patch_radius", "torsional_friction")] == [
        0.5,
        0.125,
        0.0625,
    ]


def test_negative_springs_are_refused() -> None:
    with pytest.raises(tc.ShapeError, match="must not be negative"):
        contact_of("cpu", restitution_combine=[0, 0], stiffness=[-1.0, 0.0])
