"""Numbers that the kernels of the generic path and the fused one decide by: both paths must have the same."""

import warp as wp

# No speed that means anything is larger, and its square is still a number.
ENDLESS = wp.constant(1.0e12)
# Nothing turns by more than this in a substep: half a turn and more has no direction.
HALF_TURN = wp.constant(3.1415927)
# Saturation of a drive whose actuator would brake, and a bound of force that is none.
OFF = wp.constant(3)
UNBOUNDED = wp.constant(1.0e30)
# A bound that falls at once to zero at the largest speed falls over this share of it instead, or by this slope.
STEEP_SHARE = wp.constant(1.0e-4)
STEEP_SLOPE = wp.constant(1.0e9)
# A pivot of less than this share of its diagonal may have lost its digits.
CANCELLED = wp.constant(1.0e-3)
# What rounding leaves of a diagonal at least, where nothing better is known.
ROUNDING = wp.constant(1.0e-7)
# Share of the static bound that may still be missing at rest.
AT_REST = wp.constant(1.0e-4)
# Determinant of an inertia over the cube of its trace, below which it is not inverted.
SOUND = wp.constant(wp.float64(1.0e-10))
# A floating root moves no faster [lengths / s] and is given no faster turn [rad/s] by its momentum: light links that
# whip about a heavy one may ask for anything, and squares must stay within what float32 holds.
FASTEST = wp.constant(1.0e9)
FASTEST_TURN = wp.constant(1.0e5)
# A penetrated contact is a spring of damping ratio 3 and frequency 1 / h rad/s: stiff against the substep, yet the
# impulse it is started with decays, without which one pass over a stack keeps feeding its own error
# (docs/architecture.md). Of the penetration PUSH is removed in a substep, of the impulse SOFT decays.
DAMPING_RATIO = 3.0
PUSH = wp.constant(1.0 / (2.0 * DAMPING_RATIO + 1.0))
SOFT = wp.constant(1.0 / (2.0 + 2.0 * DAMPING_RATIO))
# What decays in a substep is at most the impulse that stops LEAK times the fall over it: a light link between a heavy
# load and the ground would sink in by the ratio of their masses.
LEAK = wp.constant(3.0)
SINGULAR = wp.constant(0.02)
# Attempts at the active sets of a substep: bounds of actuators, and what friction holds; in the last one it holds none.
ATTEMPTS = wp.constant(5)
# The force of a spring is that of the distance IMPLICIT-weighted between the start and the end of a substep: z / (1 + z)
# of the way for z = IMPLICIT (h ω)². Soft springs keep their energy (the leapfrog's force at the positions), stiff ones
# are backward Euler's.
IMPLICIT = wp.constant(4.0)
# Share of its inverse inertia that a contact's spring has of damping at least, so that its row is never empty.
LEAST_GAIN = wp.constant(1.0e-8)
# Where (h ω)² is more than this, substeps do not resolve a spring.
UNRESOLVED = wp.constant(1.0)
# Where the first pass changes a normal impulse by more than SUDDEN of the largest, passes are repeated: one pass a
# substep follows what changes slowly, an impact of several contacts needs more. They end with the pass that changes
# no impulse of a contact by more than UNMOVED of the largest and none of a limit by that share of itself, and after EXTRA.
EXTRA = wp.constant(8)
SUDDEN = wp.constant(0.1)
UNMOVED = wp.constant(1.0e-2)
# What a pass tells.
WAS_SUDDEN = wp.constant(1)
IS_RESTLESS = wp.constant(2)
# Passes over the limits of an articulation while more than one bears a load, until none moves a position by more than
# SETTLED [rad or m].
LIMIT_TURNS = wp.constant(100)
SETTLED = wp.constant(2.0e-8)
# A joint that starts outside of its limits returns at this rate [1/s].
RECOVERY = wp.constant(10.0)
# Twice what the average acceleration needs, since the own inertia of a link in a chain is not what its modes see.
TENSION = wp.constant(0.5)
# Share of the own inertia that counts as stabilising.
OWN_SHARE = wp.constant(0.25)

# Share of the inverse inertia of the free bodies that a rigid row of a joint yields by: it makes rows that say the same
# twice solvable (the plane of a four-bar linkage), and is far below what would be seen.
YIELD = wp.constant(4.0e-6)
# Share of the position error of a joint that a substep removes.
CORRECTION = wp.constant(0.4)
# Bodies that turn by more in a substep are not resolved by its second derivative [rad].
FAST = wp.constant(0.5)

# What acted on an articulation in a substep beside smooth forces: limits and joints within it, which leave its momentum as
# it is, or contacts and what else comes from outside.
INSIDE = wp.constant(1)
OUTSIDE = wp.constant(2)
