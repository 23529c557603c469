"""What this package reads of others; satisfied by structure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import warp as wp


class Coupling(Protocol):
    """Constraints between links and something that this package does not know.

    What they need of the links is in :class:`~tensorphys_dynamics.LinkEnds`.
    """

    def begin(self) -> None:
        """Begin a step; nothing of it was launched yet but the match of contacts."""
        ...

    def exchange(self, sweep: Callable[[], None]) -> None:
        """Solve the constraints of a substep.

        Args:
            sweep: Launches the solve of all rows of the dynamics; :meth:`LinkEnds.sweep` calls it. At least one such
                call is the last word on the substep.
        """
        ...


class Contacts(Protocol):
    """Contacts of all environments; environment e owns the slots slot_start[e] to slot_start[e + 1] and uses the
    first count[e] of them, sorted by key.

    Attributes:
        slot_start: First slot, int32, [environment_count + 1].
        count: Used slots, int32, [environment_count].
        environment: Environment of each slot, int32, [slot_count].
        body0, body1: Flat link index, −1 for what never moves, int32.
        anchor0, anchor1: Points on the two surfaces in the frames of the bodies (environment frame for −1) [m],
            vec3.
        normal: Unit normal from body 1 to body 0, environment frame, vec3.
        rest_distance: Separation at which the shapes rest [m], float32.
        key: Identifies the contact from one step to the next, ascending in an environment, int64.
        static_friction, dynamic_friction, restitution: Combined coefficients, float32.

    Contacts may have these as well, one value a slot; the last three may also be empty:

    - stiffness, damping: Spring of a compliant contact [N/m, N s/m]; rigid where the stiffness is 0, float32.
    - spring_per_mass: 1 where that spring acts per unit of the mass that the contact moves, int32.
    - patch_radius, least_patch_radius: A contact that is alone in its pair of bodies resists spin about its normal by
      μ N max(least, √(depth · radius)) [m], float32.
    - torsional_friction: Torque against spin per normal force beside that [m], float32.
    """

    slot_start: wp.array
    count: wp.array
    environment: wp.array
    body0: wp.array
    body1: wp.array
    anchor0: wp.array
    anchor1: wp.array
    normal: wp.array
    rest_distance: wp.array
    key: wp.array
    static_friction: wp.array
    dynamic_friction: wp.array
    restitution: wp.array


CONTACT_FIELDS: dict[str, type] = {
    "slot_start": wp.int32,
    "count": wp.int32,
    "environment": wp.int32,
    "body0": wp.int32,
    "body1": wp.int32,
    "anchor0": wp.vec3,
    "anchor1": wp.vec3,
    "normal": wp.vec3,
    "rest_distance": wp.float32,
    "key": wp.int64,
    "static_friction": wp.float32,
    "dynamic_friction": wp.float32,
    "restitution": wp.float32,
}

OPTIONAL_CONTACT_FIELDS: dict[str, type] = {
    "stiffness": wp.float32,
    "damping": wp.float32,
    "spring_per_mass": wp.int32,
    "patch_radius": wp.float32,
    "least_patch_radius": wp.float32,
    "torsional_friction": wp.float32,
}
"""Fields that contacts may have; whoever lacks the first three is rigid, whoever lacks the others does not resist spin."""

PATCH_FIELDS = ("patch_radius", "least_patch_radius", "torsional_friction")
"""Those of them that may be empty; where they are not, contacts have rows that resist spin."""
