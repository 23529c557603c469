"""Tables of what couples degrees of freedom and bodies beyond single joints: tendons, mimic joints, gears.

Lengths are in stage units, angles in radians; index columns refer to rows of the named table in the same template.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tensorphys_scene.columns import Table, column

_INF = float("inf")


@dataclass(frozen=True, kw_only=True)
class MimicJoints(Table):
    """Degrees of freedom that follow another one; ``path`` is the joint that follows.

    The constraint is ``q_axis + gearing · q_reference + offset = 0``.

    Attributes:
        axis: Row in axes of the degree of freedom that follows.
        reference: Row in axes of the one that it follows.
        gearing: Factor [unit of axis / unit of reference].
        offset: Constant [rad or m].
        natural_frequency: Frequency of a soft coupling [1/s]; 0 or less is a hard constraint.
        damping_ratio: Damping ratio of a soft coupling; 0 or less is a hard constraint.
        enabled: Whether the constraint acts.
    """

    axis: npt.NDArray[np.int32] = column(np.int32)
    reference: npt.NDArray[np.int32] = column(np.int32)
    gearing: npt.NDArray[np.float64] = column(float, default=1.0, finite=True)
    offset: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    natural_frequency: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    damping_ratio: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    enabled: npt.NDArray[np.bool_] = column(bool, default=True)


@dataclass(frozen=True, kw_only=True)
class JointCouplings(Table):
    """What gear and rack joints couple; ``path`` is that joint.

    Attributes:
        joint: Row in joints of the gear or rack joint itself.
        joint0, joint1: Rows in joints of the two hinges, or of the hinge and the prismatic joint; −1 where none
            is authored.
        ratio: Gear ratio [-], or angle per length [rad/m] of a rack.
    """

    joint: npt.NDArray[np.int32] = column(np.int32)
    joint0: npt.NDArray[np.int32] = column(np.int32, default=-1)
    joint1: npt.NDArray[np.int32] = column(np.int32, default=-1)
    ratio: npt.NDArray[np.float64] = column(float, default=1.0, finite=True)


@dataclass(frozen=True, kw_only=True)
class FixedTendons(Table):
    """Tendons over degrees of freedom; ``path`` is the joint that carries the tendon's settings, or the tendon prim.

    The length is ``Σ gearing · q + offset`` over the tendon's rows in :class:`FixedTendonAxes`.

    Attributes:
        stiffness, damping: Spring-damper of the length about the rest length [N/m, N s/m].
        limit_stiffness: Spring outside of the limits [N/m].
        lower, upper: Bounds of the length [m].
        rest_length, offset: [m].
        dead_band: Range of lengths above the rest length over which the spring is slack [m].
        friction: Dry friction against a change of the length [N].
        armature: Inertia added to it [kg].
        max_force: Bound of the spring-damper's tension [N].
        hard_limits: Whether the bounds cannot be passed, whatever ``limit_stiffness`` is.
        enabled: Whether the tendon acts.
        names: Instance names of the tendons.
    """

    stiffness: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    damping: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    limit_stiffness: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    lower: npt.NDArray[np.float64] = column(float, default=-_INF)
    upper: npt.NDArray[np.float64] = column(float, default=_INF)
    rest_length: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    offset: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    dead_band: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    friction: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    armature: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    hard_limits: npt.NDArray[np.bool_] = column(bool, default=False)
    max_force: npt.NDArray[np.float64] = column(float, default=_INF)
    enabled: npt.NDArray[np.bool_] = column(bool, default=True)
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FixedTendonAxes(Table):
    """Degrees of freedom that fixed tendons run over; ``path`` is the joint. The carrier of the settings is one too.

    Attributes:
        tendon: Row in fixed_tendons.
        axis: Row in axes.
        gearing: Length per displacement [m/rad or -].
        force_coefficient: Effort per tension [m or -].
    """

    tendon: npt.NDArray[np.int32] = column(np.int32)
    axis: npt.NDArray[np.int32] = column(np.int32)
    gearing: npt.NDArray[np.float64] = column(float, default=1.0, finite=True)
    force_coefficient: npt.NDArray[np.float64] = column(float, default=1.0, finite=True)


@dataclass(frozen=True, kw_only=True)
class SpatialTendons(Table):
    """Tendons over points of links; ``path`` is the prim that carries the root attachment, or the tendon prim.

    Attributes:
        stiffness, damping, limit_stiffness: As of :class:`FixedTendons`.
        offset: Added to the length [m].
        dead_band, friction, armature, hard_limits: As of :class:`FixedTendons`.
        enabled: Whether the tendon acts.
        names: Instance names of the root attachments.
    """

    stiffness: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    damping: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    limit_stiffness: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    offset: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    dead_band: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    friction: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    armature: npt.NDArray[np.float64] = column(float, default=0.0, finite=True)
    hard_limits: npt.NDArray[np.bool_] = column(bool, default=False)
    enabled: npt.NDArray[np.bool_] = column(bool, default=True)
    names: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TendonAttachments(Table):
    """Points that spatial tendons run through, parents before children; ``path`` is the prim that carries one.

    Attributes:
        tendon: Row in spatial_tendons.
        body: Row in bodies.
        parent: Row in this table, −1 for the root attachment.
        position: Point in the body frame [m].
        gearing: Factor of the distance to the parent.
        leaf: Whether a sub-tendon ends here.
        rest_length: Rest length of that sub-tendon [m]; NaN for the length at the start.
        lower, upper: Bounds of its length [m].
        names: Instance names.
    """

    tendon: npt.NDArray[np.int32] = column(np.int32)
    body: npt.NDArray[np.int32] = column(np.int32)
    parent: npt.NDArray[np.int32] = column(np.int32, default=-1)
    position: npt.NDArray[np.float64] = column(float, (3,), default=0.0, finite=True)
    gearing: npt.NDArray[np.float64] = column(float, default=1.0, finite=True)
    leaf: npt.NDArray[np.bool_] = column(bool, default=False)
    rest_length: npt.NDArray[np.float64] = column(float, default=float("nan"))
    lower: npt.NDArray[np.float64] = column(float, default=-_INF)
    upper: npt.NDArray[np.float64] = column(float, default=_INF)
    names: tuple[str, ...] = ()
