"""Terms of inverse dynamics."""

import warp as wp

# What a generalized force or a wrench is made of.
GRAVITY = wp.constant(1)
VELOCITY = wp.constant(2)
ACCELERATION = wp.constant(4)
WRENCH = wp.constant(8)
