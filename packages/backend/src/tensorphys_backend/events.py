"""What the backend tells of while it steps."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["JointBreakEvent"]


@dataclass(frozen=True)
class JointBreakEvent:
    """A joint broke.

    Attributes:
        joint_path: Prim path of the joint.
        step_index: Physics step since play in which it broke.
        force, torque: Load on body 1 in that moment, about the joint's frame there, world axes [N, N m].
        source: Mark of the backend that delivered it.
    """

    joint_path: str
    step_index: int
    force: tuple[float, float, float]
    torque: tuple[float, float, float]
    source: object = field(repr=False, compare=False)
