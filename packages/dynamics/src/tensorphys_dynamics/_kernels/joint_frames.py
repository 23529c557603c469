"""Where the two frames of a joint are, how they move, and their displacement along and about single axes."""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, Scratch, StateData, Tables

wp.set_module_options({"enable_backward": False})


@wp.struct
class Frames:
    """Two joint frames in environment axes and the motion of frame 1 relative to frame 0 at the place of frame 1.

    `rate` and `angular_rate` are second derivatives at constant generalized velocity: those of the place of frame 1
    as seen from body 0, and of the relative angular velocity.
    """

    link0: wp.int32
    link1: wp.int32
    p0: wp.vec3
    p1: wp.vec3
    r0: wp.quat
    r1: wp.quat
    angular0: wp.vec3
    angular1: wp.vec3
    velocity: wp.vec3
    rate: wp.vec3
    angular_rate: wp.vec3


@wp.func
def link_centre(m: ModelData, s: StateData, w: Scratch, t: Tables, link: int):
    """Centre of mass of a link in the environment frame."""
    root = wp.transform_get_translation(s.root_pose[t.link_articulation[link]])
    return root + w.link_position[link] + wp.quat_rotate(w.link_rotation[link], m.link_com[link])


@wp.func
def place_in_link(t: Tables, s: StateData, w: Scratch, link: int, frame: wp.transform):
    """A frame of a link, or of the world for −1, in the environment frame."""
    result = frame
    if link >= 0:
        root = wp.transform_get_translation(s.root_pose[t.link_articulation[link]])
        pose = wp.transform(root + w.link_position[link], w.link_rotation[link])
        result = pose * frame
    return result


@wp.func
def point_motion(t: Tables, m: ModelData, s: StateData, w: Scratch, link: int, point: wp.vec3):
    """Velocity of a point of a link, its velocity-product acceleration, and those of the link's rotation."""
    velocity = wp.vec3(0.0, 0.0, 0.0)
    rate = wp.vec3(0.0, 0.0, 0.0)
    angular = wp.vec3(0.0, 0.0, 0.0)
    angular_rate = wp.vec3(0.0, 0.0, 0.0)
    if link >= 0:
        lever = w.link_com_offset[link] + point - link_centre(m, s, w, t, link)
        angular = w.link_angular[link]
        angular_rate = w.link_angular_rate[link]
        velocity = w.link_linear[link] + wp.cross(angular, lever)
        rate = w.link_linear_rate[link] + wp.cross(angular_rate, lever) + wp.cross(angular, velocity)
    return velocity, rate, angular, angular_rate


@wp.func
def joint_frames(
    t: Tables,
    m: ModelData,
    s: StateData,
    w: Scratch,
    link0: int,
    link1: int,
    frame0: wp.transform,
    frame1: wp.transform,
):
    """Place and motion of the two frames of a joint."""
    f = Frames()
    f.link0 = link0
    f.link1 = link1
    pose0 = place_in_link(t, s, w, link0, frame0)
    pose1 = place_in_link(t, s, w, link1, frame1)
    f.p0 = wp.transform_get_translation(pose0)
    f.p1 = wp.transform_get_translation(pose1)
    f.r0 = wp.transform_get_rotation(pose0)
    f.r1 = wp.transform_get_rotation(pose1)
    # both at the place of frame 1, so that a row never makes momentum
    v0, a0, w0, rate0 = point_motion(t, m, s, w, link0, f.p1)
    v1, a1, w1, rate1 = point_motion(t, m, s, w, link1, f.p1)
    f.angular0 = w0
    f.angular1 = w1
    f.velocity = v1 - v0
    f.rate = a1 - a0 - 2.0 * wp.cross(w0, f.velocity)
    f.angular_rate = rate1 - rate0
    return f


@wp.func
def unit_axis(k: int):
    """Axis k of a frame."""
    axis = wp.vec3(0.0, 0.0, 0.0)
    axis[k] = 1.0
    return axis


@wp.func
def relative_rotation(f: Frames):
    """Rotation of frame 1 in frame 0, with a scalar part that is not negative."""
    q = wp.quat_inverse(f.r0) * f.r1
    if q[3] < 0.0:
        q = -q
    return q


@wp.func
def rotation_vector(q: wp.quat):
    """Axis times angle of a rotation whose scalar part is not negative."""
    v = wp.vec3(q[0], q[1], q[2])
    sine = wp.length(v)
    scale = float(2.0)
    if sine > 1.0e-6:
        scale = 2.0 * wp.atan2(sine, q[3]) / sine
    return v * scale


@wp.func
def swing(q: wp.quat):
    """Rotation vector of the swing of q = swing · twist about X; its X part is zero."""
    size = wp.sqrt(q[0] * q[0] + q[3] * q[3])
    result = rotation_vector(q)
    if size > 1.0e-6:
        twist = wp.quat(q[0] / size, 0.0, 0.0, q[3] / size)
        rest = q * wp.quat_inverse(twist)
        if rest[3] < 0.0:
            rest = -rest
        result = rotation_vector(rest)
    return result


@wp.func
def free_rotations(locked: int):
    """Number of rotations that a joint leaves free."""
    count = int(0)
    for k in range(3, 6):
        if ((locked >> k) & 1) == 0:
            count += 1
    return count


@wp.func
def angle_about(f: Frames, k: int, previous: float):
    """Angle of the one free rotation, about axis k: of all that differ by full turns the nearest to the last."""
    q = relative_rotation(f)
    angle = 2.0 * wp.atan2(q[k], q[3])
    turns = wp.floor((previous - angle) / 6.283185307179586 + 0.5)
    return angle + turns * 6.283185307179586


@wp.func
def angular_coordinate(f: Frames, k: int, free: int, angle: float):
    """Rotation about axis k: its value, the direction along which it changes, and the rate of that direction.

    A single free rotation has the angle that is kept with the joint, several are twist about X and swing about Y
    and Z.
    """
    value = angle
    direction = wp.quat_rotate(f.r1, unit_axis(k))
    turn = wp.cross(f.angular1, direction)
    if free > 1:
        q = relative_rotation(f)
        turn = wp.vec3(0.0, 0.0, 0.0)
        if k == 0:
            x0 = wp.quat_rotate(f.r0, unit_axis(0))
            direction = (x0 + direction) / wp.max(1.0 + wp.dot(x0, direction), 0.1)
            value = 2.0 * wp.atan2(q[0], q[3])
        else:
            direction = wp.quat_rotate(f.r0, unit_axis(k))
            value = swing(q)[k]
    return value, direction, turn


@wp.func
def locked_rotation(f: Frames, k: int, locked: int, free: int):
    """Error of a locked rotation, the direction along which it changes, and the rate of that direction.

    With all three locked it is the rotation vector, with two the tilt of the free axis, with one the angle between
    the two free axes, as if they turned one after the other from frame 0 to frame 1.
    """
    second = (k + 1) % 3
    third = (k + 2) % 3
    error = float(0.0)
    direction = wp.quat_rotate(f.r0, unit_axis(k))
    turn = wp.cross(f.angular0, direction)
    if free == 0:
        error = rotation_vector(relative_rotation(f))[k]
    else:
        first = wp.min(second, third)
        last = wp.max(second, third)
        sign = float(1.0)
        if free == 1:
            # the free axis is the other one of the two that is not locked; of frame 0 the one left over is tilted
            last = second
            first = third
            if ((locked >> (3 + second)) & 1) == 1:
                last = third
                first = second
            sign = wp.where(last == second, 1.0, -1.0)
        a = wp.quat_rotate(f.r0, unit_axis(first))
        b = wp.quat_rotate(f.r1, unit_axis(last))
        error = sign * wp.dot(a, b)
        direction = sign * wp.cross(b, a)
        turn = sign * (wp.cross(wp.cross(f.angular1, b), a) + wp.cross(b, wp.cross(f.angular0, a)))
    return error, direction, turn
