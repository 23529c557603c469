"""Warp functions for the kernels of other packages."""

from __future__ import annotations

import numpy as np
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType
from tensorphys_contact import device as contact
from tensorphys_contact.testing import PipelineScene, run_pipeline

wp.set_module_options({"enable_backward": False})


@wp.kernel
def separations(
    pose: wp.array[wp.transform],
    anchor0: wp.array[wp.vec3],
    anchor1: wp.array[wp.vec3],
    normal: wp.array[wp.vec3],
    separation_out: wp.array[float],
):
    i = wp.tid()
    separation_out[i] = contact.contact_separation(pose[0], pose[1], anchor0[i], anchor1[i], normal[i])


def test_separation_from_anchors_follows_the_bodies(device: str) -> None:
    """At the poses of the query it is the reported one; a push along the normal adds to it."""
    turned = np.array([0.6, 0.0, 0.0, 0.8])
    scene = PipelineScene(
        shape_type=[ShapeType.BOX, ShapeType.BOX],
        shape_size=[(0.5, 0.5, 0.5), (0.25, 0.25, 0.25)],
        pose=[(100.0, 50.0, 0.0, *turned), (100.0, 50.0 - 0.72 * 0.96, -0.72 * 0.28, *turned)],
        static=[False, False],
        environment=[0, 0],
        contact_offset=0.1,
    )
    found = run_pipeline(scene, device)
    assert len(found.separation) == 4
    poses = np.array(scene.pose, dtype=np.float32)
    for push in (0.0, 0.0625):
        moved = poses.copy()
        moved[0, :3] += push * found.normal[0]
        result = wp.zeros(4, dtype=float, device=device)
        wp.launch(
            separations,
            dim=4,
            inputs=[
                wp.array(moved, dtype=wp.transform, device=device),
                *(
                    wp.array(a, dtype=wp.vec3, device=device)
                    for a in (found.anchor0, found.anchor1, found.normal)
                ),
            ],
            outputs=[result],
            device=device,
        )
        # Positions near 100 have a spacing of 8e-6.
        np.testing.assert_allclose(result.numpy(), found.separation + push, atol=1.6e-5)


def test_balls_far_apart_leave_nothing_behind(device: str) -> None:
    """Touching, 10 m apart and 1 mm beyond the offsets: only the first has a contact."""
    x = [0.0, 0.999, 0.0, 11.0, 0.0, 1.021]
    scene = PipelineScene(
        shape_type=[ShapeType.SPHERE] * 6,
        shape_size=[(0.5, 0.0, 0.0)] * 6,
        pose=[(value, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0) for value in x],
        static=[False] * 6,
        environment=[0, 0, 1, 1, 2, 2],
        environment_count=3,
    )
    assert run_pipeline(scene, device).environment.tolist() == [0]


def test_a_model_without_pairs_has_no_contacts(device: str) -> None:
    scene = PipelineScene(
        shape_type=[ShapeType.SPHERE] * 2,
        shape_size=[(0.5, 0.0, 0.0)] * 2,
        pose=[(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)] * 2,
        static=[False] * 2,
        environment=[0, 1],
        environment_count=2,
    )
    assert len(run_pipeline(scene, device).key) == 0
    assert tc.SLOT_BYTES > 0
