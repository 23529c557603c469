"""Codes that the tensor API reports."""

from __future__ import annotations

from enum import IntEnum

__all__ = ["DofDriveType", "DofMotion", "DofType", "JointType", "ObjectType"]


class ObjectType(IntEnum):
    """What a prim is to the simulation; see ``SimulationView.get_object_type``."""

    Invalid = 0
    RigidBody = 1
    Articulation = 2
    ArticulationLink = 3
    ArticulationRootLink = 4
    ArticulationJoint = 5


class JointType(IntEnum):
    """Kind of an articulation joint, by its degrees of freedom."""

    Fixed = 0
    Revolute = 1
    Prismatic = 2
    Spherical = 3
    Invalid = 255


class DofType(IntEnum):
    """Whether a degree of freedom rotates or translates."""

    Rotation = 0
    Translation = 1
    Invalid = 255


class DofMotion(IntEnum):
    """How far a degree of freedom may move."""

    Free = 0
    Limited = 1
    Locked = 2
    Invalid = 255


class DofDriveType(IntEnum):
    """What the gains of a drive multiply into; ``NoDrive`` where no drive is authored."""

    NoDrive = 0
    Force = 1
    Acceleration = 2
