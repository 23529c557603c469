"""Codes of the kinds of shapes, joints, axes and drives; stored as integers in the tables."""

from enum import IntEnum


class ShapeType(IntEnum):
    """Geometry of a collision shape; axes are those of the shape frame."""

    PLANE = 0  # infinite, outward normal +Z
    SPHERE = 1  # size (radius, 0, 0)
    CAPSULE = 2  # along Z, size (radius, half height of the cylindrical part, 0)
    BOX = 3  # size = half extents
    CONVEX_HULL = 4  # hull of the points of `mesh`, times `size` as scale
    CYLINDER = 5  # along Z, size (radius, half height, 0)
    CONE = 6  # along Z, apex at +half height, size (radius, half height, 0)
    ELLIPSOID = 7  # size = semi-axes
    TRIANGLE_MESH = 8  # triangles of `mesh`, times `size` as scale
    HEIGHT_FIELD = 9
    SDF = 10  # signed distance field of `mesh`, times `size` as scale
    SPHERES = 11  # spheres filling or covering `mesh`
    CONVEX_DECOMPOSITION = 12  # several hulls of `mesh`, times `size` as scale


class JointType(IntEnum):
    """Kind of a joint as authored."""

    FIXED = 0
    REVOLUTE = 1
    PRISMATIC = 2
    SPHERICAL = 3
    D6 = 4
    DISTANCE = 5
    GEAR = 6
    RACK_AND_PINION = 7


class AxisType(IntEnum):
    """Axis of the joint frame that a degree of freedom moves along or about."""

    TRANS_X = 0
    TRANS_Y = 1
    TRANS_Z = 2
    ROT_X = 3
    ROT_Y = 4
    ROT_Z = 5


class DriveType(IntEnum):
    """What the gains of a drive multiply into."""

    NONE = 0
    FORCE = 1
    ACCELERATION = 2


class CombineMode(IntEnum):
    """How two materials combine; of two modes the larger code wins."""

    AVERAGE = 0
    MIN = 1
    MULTIPLY = 2
    MAX = 3


class SphereFillMode(IntEnum):
    """How the inside of a mesh is found before spheres are put into it."""

    FLOOD = 0
    RAYCAST = 1
    SURFACE = 2
