"""Ball joints: three rotations of a link at once, whose attitude is a unit quaternion.

The quaternion is the rotation of the joint frame of body 1 in that of body 0. Velocities are the components, in
frame 1, of the angular velocity of body 1 relative to body 0; so no attitude is special. Positions are the rotation
vector r of the quaternion, of the shorter way round; its components are the same in both frames, and its rate is
J⁻¹ v with the right Jacobian J of the exponential [Barfoot 2017, §7.1.5].

The axes of the three degrees of freedom are those of the joint frame in the link that they move, right-handed where
that is body 1. Where it is body 0 they are the negative ones, left-handed, and motions are those of body 1 all the same.
"""

import warp as wp

from tensorphys_dynamics._kernels.arrays import ModelData, StateData
from tensorphys_spatial.device import quaternion_exponential, quaternion_log

wp.set_module_options({"enable_backward": False})

# Near half a turn the rotation vector keeps its sign until it is this much longer than that [rad].
HALF_TURN_BAND = wp.constant(0.01)
HALF_TURN = wp.constant(3.1415927)
# Swings below this have no direction [rad].
UPRIGHT = wp.constant(1.0e-5)
UNLIMITED = wp.constant(1.0e30)


@wp.func
def ball_place(m: ModelData, dof: int):
    """Place of a degree of freedom in its ball joint, 0 to 2, or −1 where it belongs to none."""
    ball = m.dof_ball[dof]
    return wp.where(ball >= 0, ball % 3, -1)


@wp.func
def three(values: wp.array[wp.float32], first: int):
    """Three successive values as a vector."""
    return wp.vec3(values[first], values[first + 1], values[first + 2])


@wp.func
def child_is_body0(m: ModelData, first: int):
    """Whether the link that a ball joint moves is its body 0."""
    return wp.dot(wp.cross(m.dof_axis[first], m.dof_axis[first + 1]), m.dof_axis[first + 2]) < 0.0


@wp.func
def ball_turn(m: ModelData, s: StateData, a: int, first: int):
    """Attitude of a ball joint; of an articulation that a setter wrote, that of its positions."""
    ball = m.dof_ball[first] / 3
    if s.fresh[a] == 1:
        s.ball_turn[ball] = quaternion_exponential(three(s.dof_position, first))
    return s.ball_turn[ball]


@wp.func
def in_link_axes(m: ModelData, first: int, v: wp.vec3):
    """A vector of the joint frame, along the axes of the degrees of freedom."""
    return m.dof_axis[first] * v[0] + m.dof_axis[first + 1] * v[1] + m.dof_axis[first + 2] * v[2]


@wp.func
def link_turn(m: ModelData, first: int, turn: wp.quat):
    """Rotation of the moved link relative to its place at rest, in its axes."""
    # negative axes make of the rotation of body 1 in body 0 that of body 0 in body 1
    v = in_link_axes(m, first, wp.vec3(turn[0], turn[1], turn[2]))
    return wp.quat(v[0], v[1], v[2], turn[3])


@wp.func
def near_vector(turn: wp.quat, before: wp.vec3):
    """Rotation vector of an attitude; that of the other way round where half a turn is just passed."""
    r = quaternion_log(turn)
    angle = wp.length(r)
    if angle > HALF_TURN - HALF_TURN_BAND and wp.dot(r, before) < 0.0:
        r = r * (1.0 - 2.0 * HALF_TURN / angle)
    return r


@wp.func
def advance_ball(m: ModelData, s: StateData, first: int, rotation_vector: wp.vec3):
    """Turn a ball joint by a rotation vector in frame 1, and derive its positions."""
    ball = m.dof_ball[first] / 3
    turn = wp.normalize(s.ball_turn[ball] * quaternion_exponential(rotation_vector))
    s.ball_turn[ball] = turn
    r = near_vector(turn, three(s.dof_position, first))
    for k in range(3):
        s.dof_position[first + k] = r[k]


@wp.func
def twist_of(q: wp.quat):
    """Twist of q = swing · twist about X; none after a swing of half a turn, which leaves it open."""
    size = wp.sqrt(q[0] * q[0] + q[3] * q[3])
    result = wp.quat(0.0, 0.0, 0.0, 1.0)
    if size > 1.0e-6:
        result = wp.quat(q[0] / size, 0.0, 0.0, q[3] / size)
    return result


@wp.func
def turn_to(turn: wp.quat, target: wp.quat, twist: int, swing: int):
    """Rotation vector in frame 1 from an attitude to its target, of the shorter way round.

    Only the twist or only the swing of the target may count; the other part of the attitude then stays.
    """
    wanted = target
    if twist == 0:
        wanted = target * wp.quat_inverse(twist_of(target)) * twist_of(turn)
    elif swing == 0:
        wanted = turn * wp.quat_inverse(twist_of(turn)) * twist_of(target)
    return quaternion_log(wp.quat_inverse(turn) * wanted)


@wp.func
def position_gap(
    m: ModelData,
    s: StateData,
    target: wp.array[wp.float32],
    stiffness: wp.array[wp.float32],
    dof: int,
):
    """How far a degree of freedom is from the target of a spring.

    For a ball joint it is a component of the turn that is left to go, along the axes that velocities are about: so
    springs of equal stiffness pull straight to the target, whatever the attitude. Where twist or swing has no spring,
    its target does not count.
    """
    place = ball_place(m, dof)
    if place < 0:
        return target[dof] - s.dof_position[dof]
    if stiffness[dof] == 0.0:
        return 0.0
    first = dof - place
    k = three(stiffness, first)
    twist = wp.where(k[0] != 0.0, 1, 0)
    swing = wp.where(k[1] != 0.0 or k[2] != 0.0, 1, 0)
    wanted = quaternion_exponential(three(target, first))
    return turn_to(s.ball_turn[m.dof_ball[first] / 3], wanted, twist, swing)[place]


@wp.func
def vector_rates(r: wp.vec3, place: int):
    """Row of J⁻¹: the rate of a component of the rotation vector is its product with the velocities."""
    square = wp.dot(r, r)
    share = 0.083333333 + square * 0.0013888889
    if square > 0.01:
        half = 0.5 * wp.sqrt(square)
        share = (1.0 - half * wp.cos(half) / wp.sin(half)) / square
    axis = wp.vec3(0.0, 0.0, 0.0)
    axis[place] = 1.0
    # row of I + [r]/2 + share [r]²
    return axis + 0.5 * wp.cross(axis, r) + share * (r[place] * r - square * axis)


# By so much a rotation vector goes to either side for the rate of its rates [rad].
ASIDE = wp.constant(0.03)


@wp.func
def vector_curvature(r: wp.vec3, v: wp.vec3, place: int):
    """Second derivative of a component of the rotation vector at constant velocities, by a central difference."""
    rate = wp.vec3(
        wp.dot(vector_rates(r, 0), v), wp.dot(vector_rates(r, 1), v), wp.dot(vector_rates(r, 2), v)
    )
    speed = wp.length(rate)
    result = float(0.0)
    if speed > 1.0e-6:
        aside = rate * (ASIDE / speed)
        change = vector_rates(r + aside, place) - vector_rates(r - aside, place)
        result = wp.dot(change, v) * speed / (2.0 * ASIDE)
    return result


@wp.func
def cone_edge(m: ModelData, s: StateData, first: int):
    """How far the X axis of frame 1 may still tilt [rad], and the rates of what it tilts by the velocities.

    The cone is elliptic: its half-angle about Y or Z is the bound of the sign of that part of the swing. The distance
    is exact where it is round.
    """
    turn = s.ball_turn[m.dof_ball[first] / 3]
    x = wp.vec3(1.0, 0.0, 0.0)
    u = wp.quat_rotate(turn, x)
    direction = wp.cross(x, u)
    size = wp.length(direction)
    tilt = wp.atan2(size, u[0])
    away = wp.vec3(0.0, 1.0, 0.0)
    if size > UPRIGHT:
        away = direction / size
    bound = wp.vec2(0.0, 0.0)
    for k in range(2):
        limit = m.dof_upper[first + 1 + k]
        if away[1 + k] < 0.0:
            limit = -m.dof_lower[first + 1 + k]
        bound[k] = wp.max(limit, 1.0e-4)
    y = away[1] / bound[0]
    z = away[2] / bound[1]
    reach = wp.sqrt(y * y + z * z)
    # gradient of √((tilt_y / bound_y)² + (tilt_z / bound_z)²) in the plane of swings, along `away` and across it
    across = wp.cross(x, away)
    gradient = wp.vec3(0.0, y / bound[0], z / bound[1]) / wp.max(reach, 1.0e-30)
    steep = wp.length(gradient)
    along = wp.dot(gradient, away)
    aside = wp.dot(gradient, across)
    # d swing / dt = away (away · ω) + across tilt ((across · ω) cot tilt + x · ω), ω in frame 0
    rates = along * away
    if size > UPRIGHT:
        rates += aside * tilt * (across * (u[0] / size) + x)
    rates = rates / wp.max(steep, 1.0e-30)
    return (1.0 - tilt * reach) / wp.max(steep, 1.0e-30), wp.quat_rotate_inv(turn, rates)


@wp.func
def ball_limit(m: ModelData, s: StateData, dof: int):
    """Limit of a degree of freedom of a ball joint as (rates, room below, room above).

    The bounded quantity changes by the rates times the velocities of the joint; room is what it may still fall and
    rise. A cone is the matter of the second degree of freedom alone.
    """
    place = ball_place(m, dof)
    first = dof - place
    rates = wp.vec3(0.0, 0.0, 0.0)
    below = float(UNLIMITED)
    above = float(UNLIMITED)
    if place > 0 and m.dof_cone[first + 1] == 1:
        limited = m.dof_upper[first + 1] < UNLIMITED or m.dof_upper[first + 2] < UNLIMITED
        if place == 1 and limited:
            room, change = cone_edge(m, s, first)
            rates = change
            above = room
    elif m.dof_upper[dof] < UNLIMITED or m.dof_lower[dof] > -UNLIMITED:
        rates = vector_rates(three(s.dof_position, first), place)
        below = s.dof_position[dof] - m.dof_lower[dof]
        above = m.dof_upper[dof] - s.dof_position[dof]
    return rates, below, above
