"""Distance functions of primitive shapes about their origin, and operations on distances.

The shapes follow the closed forms of [Hart 1996] and [Quilez, "Distance functions"]; each is the exact signed
distance, negative inside, unless it says that it is a bound. Every function can be differentiated by Warp.
"""

import warp as wp

wp.set_module_options({"enable_backward": False})


@wp.func
def distance_sphere(p: wp.vec3, radius: float) -> float:
    """Sphere of the given radius."""
    return wp.length(p) - radius


@wp.func
def distance_box(p: wp.vec3, half: wp.vec3) -> float:
    """Box of the given half lengths."""
    q = wp.vec3(wp.abs(p[0]) - half[0], wp.abs(p[1]) - half[1], wp.abs(p[2]) - half[2])
    out = wp.vec3(wp.max(q[0], 0.0), wp.max(q[1], 0.0), wp.max(q[2], 0.0))
    return wp.length(out) + wp.min(wp.max(q[0], wp.max(q[1], q[2])), 0.0)


@wp.func
def distance_rounded_box(p: wp.vec3, half: wp.vec3, radius: float) -> float:
    """Box whose edges are rounded inwards: half lengths include the radius."""
    return distance_box(p, half - wp.vec3(radius, radius, radius)) - radius


@wp.func
def distance_capsule(p: wp.vec3, radius: float, half_height: float) -> float:
    """Capsule along z; the segment of its axis reaches from -half_height to half_height."""
    z = p[2] - wp.clamp(p[2], -half_height, half_height)
    return wp.length(wp.vec3(p[0], p[1], z)) - radius


@wp.func
def distance_cylinder(p: wp.vec3, radius: float, half_height: float) -> float:
    """Cylinder along z."""
    a = wp.length(wp.vec2(p[0], p[1])) - radius
    b = wp.abs(p[2]) - half_height
    return wp.length(wp.vec2(wp.max(a, 0.0), wp.max(b, 0.0))) + wp.min(wp.max(a, b), 0.0)


@wp.func
def distance_cone(p: wp.vec3, radius: float, half_height: float) -> float:
    """Cone along z with its tip at half_height and its base disc at -half_height."""
    r = wp.length(wp.vec2(p[0], p[1]))
    height = 2.0 * half_height
    z = p[2] + half_height
    # nearest point of the slanted line from the rim (radius, 0) to the tip (0, height)
    t = wp.clamp(((r - radius) * (-radius) + z * height) / (radius * radius + height * height), 0.0, 1.0)
    side = wp.length(wp.vec2(r - radius * (1.0 - t), z - height * t))
    base = wp.length(wp.vec2(wp.max(r - radius, 0.0), z))
    d = wp.min(side, base)
    if z > 0.0 and r * height < radius * (height - z):
        d = -d
    return d


@wp.func
def distance_torus(p: wp.vec3, major: float, minor: float) -> float:
    """Torus about z: a tube of radius ``minor`` around a circle of radius ``major``."""
    return wp.length(wp.vec2(wp.length(wp.vec2(p[0], p[1])) - major, p[2])) - minor


@wp.func
def distance_plane(p: wp.vec3, normal: wp.vec3, offset: float) -> float:
    """Half space ``normal . p < offset``; the normal has unit length."""
    return wp.dot(normal, p) - offset


@wp.func
def distance_ellipsoid_bound(p: wp.vec3, radii: wp.vec3) -> float:
    """Lower bound (in size) of the distance to an ellipsoid: right in sign, exact on its surface."""
    scaled = wp.cw_div(p, radii)
    smallest = wp.min(radii[0], wp.min(radii[1], radii[2]))
    return (wp.length(scaled) - 1.0) * smallest


@wp.func
def distance_union(a: float, b: float) -> float:
    """Distance to both shapes; exact outside."""
    return wp.min(a, b)


@wp.func
def distance_intersection(a: float, b: float) -> float:
    """Bound of the distance to what two shapes share; exact inside."""
    return wp.max(a, b)


@wp.func
def distance_difference(a: float, b: float) -> float:
    """Bound of the distance to the first shape without the second."""
    return wp.max(a, -b)


@wp.func
def distance_offset(d: float, thickness: float) -> float:
    """The shape grown by ``thickness``; exact outside."""
    return d - thickness


@wp.func
def distance_shell(d: float, thickness: float) -> float:
    """A wall of the given thickness about the surface."""
    return wp.abs(d) - 0.5 * thickness


@wp.func
def distance_smooth_union(a: float, b: float, width: float) -> float:
    """Union whose seam is rounded: equal to the union where the distances differ by more than ``width``.

    Polynomial of second order [Quilez, "Smooth minimum"]; never above the union, below it by at most width / 4.
    """
    h = wp.max(width - wp.abs(a - b), 0.0) / width
    return wp.min(a, b) - h * h * width * 0.25


@wp.func
def into_frame(p: wp.vec3, pose: wp.transform) -> wp.vec3:
    """A point in the frame of a shape with the given pose: distances are those of the moved shape."""
    return wp.transform_point(wp.transform_inverse(pose), p)


@wp.func
def into_scaled_frame(p: wp.vec3, pose: wp.transform, scale: float) -> wp.vec3:
    """The same for a shape that is enlarged by ``scale`` first; multiply the distance by ``scale``."""
    return wp.transform_point(wp.transform_inverse(pose), p) / scale
