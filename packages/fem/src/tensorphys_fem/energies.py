"""Launches that write elastic energies; used at the end of a step and by measures."""

from __future__ import annotations

import warp as wp

from tensorphys_fem._kernels import energies as kernels
from tensorphys_fem._kernels import structs
from tensorphys_fem.model import FemModel


def launch_means(model: FemModel, work: structs.Work, part: float) -> None:
    """Gradients, dilatations and their nodal means at a part of the step (0 start, 1 end)."""
    wp.launch(
        kernels.write_gradients,
        dim=model.element_count,
        inputs=[model.mesh, model.materials, part],
        outputs=[work],
        device=model.device,
    )
    wp.launch(
        kernels.write_means, dim=model.node_count, inputs=[model.mesh], outputs=[work], device=model.device
    )


def launch_energy_gains(model: FemModel, work: structs.Work) -> None:
    """Energies at the end of the step less those at its start."""
    if model.nodal_dilatation:
        launch_energies(model, work, part=1.0, kept=0.0, sign=1.0)
        launch_energies(model, work, part=0.0, kept=1.0, sign=-1.0)
        return
    wp.launch(
        kernels.write_energy_gains,
        dim=model.element_count,
        inputs=[model.mesh, model.materials],
        outputs=[work],
        device=model.device,
    )


def launch_energies(model: FemModel, work: structs.Work, *, part: float, kept: float, sign: float) -> None:
    """``kept`` times the energies that are there plus ``sign`` times those at a part of the step."""
    patches = int(model.nodal_dilatation)
    if patches:
        launch_means(model, work, part)
        wp.launch(
            kernels.write_patch_energies,
            dim=model.node_count,
            inputs=[model.mesh, model.materials, kept, sign],
            outputs=[work],
            device=model.device,
        )
    wp.launch(
        kernels.write_energies,
        dim=model.element_count,
        inputs=[model.mesh, model.materials, part, kept, sign, patches],
        outputs=[work],
        device=model.device,
    )
