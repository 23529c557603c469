"""Bodies that move and turn at constant rates through a step, and when shapes on them first touch."""

import warp as wp

from .gather import body_transform, frame_between
from .support import Convex
from .volumes import piece_distance

wp.set_module_options({"enable_backward": False, "max_unroll": 3})

MOST_ADVANCES = wp.constant(64)
NEVER = wp.constant(2.0)
FAR = wp.constant(1.0e9)


@wp.struct
class Mover:
    """A body in a step: time runs from 0 to 1."""

    center: wp.vec3  # centre of mass at the start
    turn: wp.quat
    com: wp.vec3  # in the frame of the body
    way: wp.vec3  # of the centre of mass in the step
    spin: wp.vec3  # rotation vector of the step
    reach: float  # distance of the farthest point of its shape from the centre of mass


@wp.func
def mover_of(
    body: int,
    body_pose: wp.array[wp.transform],
    body_com: wp.array[wp.vec3],
    body_motion: wp.array[wp.spatial_vector],
    local: wp.transform,
    shape_center: wp.vec3,
    shape_radius: float,
) -> Mover:
    """The body of a shape; a static one stands at the origin."""
    m = Mover()
    m.turn = wp.quat_identity()
    if body >= 0:
        pose = body_transform(body, body_pose)
        m.com = body_com[body]
        m.center = wp.transform_point(pose, m.com)
        m.turn = wp.transform_get_rotation(pose)
        m.way = wp.spatial_top(body_motion[body])
        m.spin = wp.spatial_bottom(body_motion[body])
    m.reach = wp.length(wp.transform_point(local, shape_center) - m.com) + shape_radius
    return m


@wp.func
def mover_pose(m: Mover, at: float) -> wp.transform:
    """Pose of a body at a time of the step."""
    q = m.turn
    angle = wp.length(m.spin)
    if angle > 0.0:
        q = wp.quat_from_axis_angle(m.spin / angle, angle * at) * q
    return wp.transform(m.center + m.way * at - wp.quat_rotate(q, m.com), q)


@wp.func
def moved_pose(pose: wp.transform, com: wp.vec3, motion: wp.spatial_vector, at: float) -> wp.transform:
    """Pose of a body after a part of a motion at constant rates.

    Args:
        pose: Pose at the start.
        com: Centre of mass in the frame of the body [length].
        motion: Way of the centre of mass [length] and rotation vector [rad].
        at: Part of the motion.
    """
    m = Mover()
    m.center = wp.transform_point(pose, com)
    m.turn = wp.transform_get_rotation(pose)
    m.com = com
    m.way = wp.spatial_top(motion)
    m.spin = wp.spatial_bottom(motion)
    return mover_pose(m, at)


@wp.func
def motion_between(
    start: wp.transform, end: wp.transform, com: wp.vec3, expected: wp.vec3
) -> wp.spatial_vector:
    """Way of the centre of mass and rotation vector that lead from one pose to another.

    Args:
        start, end: Poses.
        com: Centre of mass in the frame of the body [length].
        expected: A rotation vector [rad]; of all that lead there, which differ by whole turns, the nearest to it is
            taken.
    """
    turn = wp.transform_get_rotation(end) * wp.quat_inverse(wp.transform_get_rotation(start))
    if turn[3] < 0.0:
        turn = -turn
    imaginary = wp.vec3(turn[0], turn[1], turn[2])
    sine = wp.length(imaginary)
    spin = 2.0 * imaginary
    axis = wp.vec3()
    angle = float(0.0)
    if sine > 1.0e-6:
        axis = imaginary / sine
        angle = 2.0 * wp.atan2(sine, turn[3])
    elif wp.length(expected) > 0.0:
        axis = wp.normalize(expected)
    turns = wp.round((wp.dot(axis, expected) - angle) / wp.tau)
    if sine > 1.0e-6 or turns != 0.0:
        spin = axis * (angle + wp.tau * turns)
    return wp.spatial_vector(wp.transform_point(end, com) - wp.transform_point(start, com), spin)


@wp.func
def point_way(m: Mover, arm: wp.vec3) -> wp.vec3:
    """Motion of a point of a body, ``arm`` from its centre of mass, for a whole step at the rate it has there."""
    return m.way + wp.cross(m.spin, arm)


@wp.func
def closing_bound(n: wp.vec3, f: Mover, o: Mover) -> float:
    """Bound of the rate at which two shapes come nearer along a direction from f to o, in a step."""
    closing = wp.dot(n, f.way - o.way)
    closing += wp.length(wp.cross(n, f.spin)) * f.reach
    return closing + wp.length(wp.cross(n, o.spin)) * o.reach


@wp.func(inline=False)
def first_touch(
    piece: Convex,
    vertex: wp.array[wp.vec3],
    shape: Convex,
    hull_vertex: wp.array[wp.vec3],
    f: Mover,
    o: Mover,
    local_f: wp.transform,
    local_o: wp.transform,
    base: wp.vec3,
    piece_radius: float,
    radius: float,
    goal: float,
    slack: float,
    until: float,
):
    """Time at which a shape on body o first comes as near as ``goal`` to a piece of a shape on body f.

    Conservative advancement [Mirtich 1996, §2.3.2]: no step of it passes the first touch, however the bodies turn.

    Args:
        base: Origin of the piece in the frame of its shape.
        goal: Separation that counts as a touch.
        slack: Where positive, by how much they must come nearer than that, and than at the start, instead.
        until: Later touches are none.

    Returns:
        The time, 0 where they touch at the start, ``NEVER``.
    """
    at = float(0.0)
    tolerance = 1.0e-5 * wp.min(radius, piece_radius) + 1.0e-6 * (radius + piece_radius)
    aim = float(goal)
    for step in range(MOST_ADVANCES):
        x_f = mover_pose(f, at)
        r, t, _q = frame_between(x_f, mover_pose(o, at), local_f, local_o)
        n, separation, _point = piece_distance(
            piece, vertex, shape, hull_vertex, r, t - base, piece_radius, radius, FAR
        )
        if step == 0 and slack > 0.0:
            aim = wp.min(goal, separation) - slack
        left = separation - aim
        if left <= tolerance:
            return at
        turn = wp.transform_get_rotation(x_f) * wp.transform_get_rotation(local_f)
        closing = closing_bound(wp.quat_rotate(turn, n), f, o)
        if closing * (until - at) < left:
            return float(NEVER)
        at += left / closing
    return at
