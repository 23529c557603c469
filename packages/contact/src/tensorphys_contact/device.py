"""Warp functions that other packages may call in their kernels.

All take and return plain values; lengths are stage lengths.
"""

import warp as wp

from ._kernels.box_box import box_manifold
from ._kernels.compaction import combine as combine_material
from ._kernels.motion import motion_between, moved_pose
from ._kernels.plane import box_corner
from ._kernels.rounded import closest_on_segment, segment_contacts
from ._kernels.rounded_box import clamp_to_box, nearest_interval

wp.set_module_options({"enable_backward": False})

__all__ = [
    "box_corner",
    "box_manifold",
    "clamp_to_box",
    "closest_on_segment",
    "combine_material",
    "contact_separation",
    "motion_between",
    "moved_pose",
    "nearest_interval",
    "segment_contacts",
]


@wp.func
def contact_separation(
    pose0: wp.transform,
    pose1: wp.transform,
    anchor0: wp.vec3,
    anchor1: wp.vec3,
    normal: wp.vec3,
) -> float:
    """Separation of a contact after its bodies have moved, negative in penetration.

    Args:
        pose0: Pose of body 0, environment frame; identity for a static one.
        pose1: Pose of body 1.
        anchor0: Anchor in the frame of body 0.
        anchor1: Anchor in the frame of body 1.
        normal: Contact normal, environment frame, from shape 1 to shape 0.
    """
    # Origins first: their difference is small and exact, the arms are small too.
    between = wp.transform_get_translation(pose0) - wp.transform_get_translation(pose1)
    arm0 = wp.quat_rotate(wp.transform_get_rotation(pose0), anchor0)
    arm1 = wp.quat_rotate(wp.transform_get_rotation(pose1), anchor1)
    return wp.dot(normal, between + (arm0 - arm1))
