"""Generalized forces that hold links at rest against gravity, by the sums of a step: what they leave over is nothing."""

from __future__ import annotations

import functools
import hashlib
from typing import Any

import warp as wp

from tensorphys_dynamics._kernels.arrays import (
    ContactData,
    ControlData,
    ModelData,
    StateData,
)
from tensorphys_dynamics._kernels.fused import base, bodies, loops, mass, motion, source
from tensorphys_dynamics._kernels.fused.source import SizeClass

wp.set_module_options({"enable_backward": False})

_HOLD = r"""
for (int i = lane; i < nv; i += G) w->v[i] = 0.0f;
SYNC();
poses();
link_masses();
forces(false);
link_forces();
for (int i = lane; i < nv; i += G) force_.data[velocity0 + i] = -w->force[i];
"""


@functools.cache
def holding_kernel(size: SizeClass, *, cuda: bool = False) -> Any:
    """The kernel of a class; the pieces are those of its step, in the same order.

    The state must have roots at rest, and the control no forces on links.
    """
    sizes = base.SIZES_CPU if size.wide else base.SIZES_LANES
    places = base.PLACES_CPU if size.wide else base.PLACES_LANES
    text = source.pieces(
        size,
        base.ALGEBRA,
        base.SETTING.replace("{IDLE}", "")
        .replace("{DISABLED}", "")
        .replace("{CLEAR}", "")
        .replace("{PLACES}", places)
        .replace("{SIZES}", sizes),
        motion.HALF_ANGLES_CPU if size.wide else motion.HALF_ANGLES_LANES,
        motion.CHAIN_ALGEBRA_CPU if size.wide else motion.CHAIN_ALGEBRA_LANES,
        motion.POSES,
        bodies.LINK_MASSES_CPU if size.wide else bodies.LINK_MASSES_LANES,
        mass.GATHER_CPU if size.wide else mass.GATHER_LANES,
        bodies.KICK_MOMENTUM,
        bodies.BODY_CPU if size.wide else bodies.VELOCITIES_LANES + bodies.WRENCHES_LANES,
        bodies.FORCE_OF_LINKS,
        _HOLD,
    )
    if not size.wide:
        text = loops.DEFINITIONS + loops.rolled(text)
    name = hashlib.sha1(text.encode()).hexdigest()[:12]

    def body(
        env: int,
        lane: int,
        table: wp.array[wp.int32],
        m: ModelData,
        k: ContactData,
        time_step: wp.array[wp.float32],
        substeps: int,
        s: StateData,
        c: ControlData,
        force_: wp.array[wp.float32],
    ): ...

    body.__name__ = body.__qualname__ = f"holding_body_{name}"
    native = wp.func_native(text)(body)

    def holding(
        # inputs
        rows: wp.array[wp.int32],
        table: wp.array[wp.int32],
        m: ModelData,
        k: ContactData,
        time_step: wp.array[wp.float32],
        substeps: wp.int32,
        s: StateData,
        c: ControlData,
        # outputs
        force_out: wp.array[wp.float32],
    ):
        thread = wp.tid()
        native(
            rows[thread // wp.static(size.lanes)],
            thread % wp.static(size.lanes),
            table,
            m,
            k,
            time_step,
            substeps,
            s,
            c,
            force_out,
        )

    holding.__name__ = holding.__qualname__ = f"holding_{name}"
    options = source.compile_options(cuda)
    return wp.kernel(holding, module="unique", enable_backward=False, **options)
