"""Kernels of the probes."""

import warp as wp

from tensorphys_fem._kernels.constitutive import dilatation, stress_conserving, stress_damped
from tensorphys_fem._kernels.structs import COROTATIONAL, NEO_HOOKEAN, STABLE_NEO_HOOKEAN, TET
from tensorphys_fem._kernels.tangents import (
    Modes,
    corotational_modes,
    kirchhoff_modes,
    mode_block,
    neo_hookean_modes,
    singular,
)

wp.set_module_options({"enable_backward": False})


@wp.kernel
def stress(
    before: wp.array[wp.mat33d],
    after: wp.array[wp.mat33d],
    law: wp.int32,
    shear: wp.float64,
    bulk: wp.float64,
    conserving: wp.int32,
    # outputs
    stress_out: wp.array[wp.mat33d],
):
    i = wp.tid()
    s0 = dilatation(before[i], law)
    s1 = dilatation(after[i], law)
    if conserving != 0:
        pressure = bulk * wp.float64(0.5) * (s0 + s1)
        stress_out[i] = stress_conserving(before[i], after[i], law, shear, pressure)
    else:
        stress_out[i] = stress_damped(after[i], law, shear, bulk * s1)


@wp.kernel
def tangent(
    f: wp.array[wp.mat33d],
    law: wp.int32,
    shear: wp.float64,
    bulk: wp.float64,
    # outputs
    tangent_out: wp.array3d[wp.float32],
):
    n = wp.tid()
    basis, sigma, right = singular(f[n], TET)
    pressure = float(bulk * dilatation(f[n], law))
    modes = Modes()
    if law == COROTATIONAL:
        modes = corotational_modes(sigma, float(shear), float(bulk), pressure)
    elif law == STABLE_NEO_HOOKEAN:
        modes = neo_hookean_modes(sigma, float(shear), float(bulk), pressure, 1.0)
    elif law == NEO_HOOKEAN:
        modes = neo_hookean_modes(sigma, float(shear), float(bulk), pressure, 0.0)
    else:
        modes = kirchhoff_modes(sigma, float(shear), float(bulk), pressure)
    modes.symmetric = wp.max(modes.symmetric, wp.vec3())
    modes.twist = wp.max(modes.twist, wp.vec3())
    for j in range(3):
        for m in range(3):
            block = mode_block(basis, modes, right[j], right[m])
            for i in range(3):
                for k in range(3):
                    tangent_out[n, 3 * i + j, 3 * k + m] = block[i, k]
