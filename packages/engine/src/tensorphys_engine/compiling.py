"""Kernels of a scene are compiled side by side before they are first launched."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import warp as wp

import tensorphys_contact
from tensorphys_contact import Model as ContactModel
from tensorphys_dynamics import Solver
from tensorphys_engine.threads import usable_threads

# More at once would not help: the longest one takes a third of the whole.
_MOST = 8
# The fused kernel keeps to blocks of one warp.
_FUSED_BLOCK = 32


def compile_step(solver: Solver, contact_model: ContactModel, others: Iterable[Any]) -> None:
    """Compile and load what a step launches, on as many threads as the process may run.

    The compilers work outside of the interpreter's lock. What was compiled before comes from Warp's cache; whatever is not
    named here is compiled when it is launched.

    Args:
        solver: Solver of the scene.
        contact_model: Shapes and pairs of the scene.
        others: Further kernels of a step.
    """
    device = contact_model.device
    fused = solver.kernels() if solver.path == "fused" else []
    blocks: dict[int | None, dict[Any, None]] = {None: {}}
    for kernel in (*solver.kernels(), *tensorphys_contact.collide_kernels(contact_model), *others):
        in_warps = device.is_cuda and bool(fused) and kernel is fused[-1]
        blocks.setdefault(_FUSED_BLOCK if in_warps else None, {})[kernel.module] = None
    threads = min(usable_threads(), _MOST)
    for block, modules in blocks.items():
        wp.force_load(
            device, modules=list(modules), block_dim=block, max_workers=threads if threads > 1 else 0
        )
