"""The constitutive functions of the kernels, evaluated for arrays of deformation gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_fem.material import Elasticity
from tensorphys_fem.testing import _kernels as kernels

Array = npt.NDArray[np.float64]


def evaluate_stress(f: Any, law: Elasticity, shear: float, bulk: float, *, device: Any = None) -> Array:
    """P of the damped scheme, ``(n, 3, 3)`` float64; μ and λ of the law itself."""
    f = np.asarray(f, dtype=np.float64).reshape(-1, 3, 3)
    return evaluate_conserving_stress(f, f, law, shear, bulk, conserving=False, device=device)


def evaluate_conserving_stress(
    before: Any,
    after: Any,
    law: Elasticity,
    shear: float,
    bulk: float,
    *,
    conserving: bool = True,
    device: Any = None,
) -> Array:
    """P* of the conserving scheme between two gradients, ``(n, 3, 3)`` float64."""
    first, second = (np.asarray(f, dtype=np.float64).reshape(-1, 3, 3) for f in (before, after))
    arrays = [wp.array(f, dtype=wp.mat33d, device=device) for f in (first, second)]
    out = wp.zeros(len(first), dtype=wp.mat33d, device=device)
    wp.launch(
        kernels.stress,
        dim=len(first),
        inputs=[*arrays, int(law), float(shear), float(bulk), int(conserving)],
        outputs=[out],
        device=device,
    )
    return np.array(out.numpy())


def evaluate_tangent(f: Any, law: Elasticity, shear: float, bulk: float, *, device: Any = None) -> Array:
    """The projected tangent of the kernels, ``(n, 9, 9)``, ∂P/∂F flattened by rows; computed in float32."""
    f = np.asarray(f, dtype=np.float64).reshape(-1, 3, 3)
    out = wp.zeros((len(f), 9, 9), dtype=wp.float32, device=device)
    wp.launch(
        kernels.tangent,
        dim=len(f),
        inputs=[wp.array(f, dtype=wp.mat33d, device=device), int(law), float(shear), float(bulk)],
        outputs=[out],
        device=device,
    )
    return np.array(out.numpy(), dtype=np.float64)
