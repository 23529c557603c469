"""Measures of a state: stresses and rotations of elements, energies and momenta of bodies."""

from __future__ import annotations

import warp as wp

from tensorphys_fem._kernels import measures as kernels
from tensorphys_fem._kernels import structs
from tensorphys_fem.energies import launch_energies, launch_means
from tensorphys_fem.model import FemModel
from tensorphys_fem.state import FemState

_LANES = 128


class FemMeasures:
    """Arrays that are written when they are asked for, with no copy to the host.

    Attributes:
        deformation_gradients: F of each element, of a triangle with its unit normal as the third column, mat33
            ``[M]``. Rows of hinges stay zero in this and the next four.
        rotations: R of F = R U, quaternions ``(x, y, z, w)``, quat ``[M]``; a rotation also where F is inverted.
        stretches: Rᵀ F, identity at rest, mat33 ``[M]``.
        stresses: Elastic Cauchy stress [Pa], environment axes, mat33 ``[M]``. Where the dilatation is averaged over
            nodal patches, its pressure is the averaged one.
        von_mises: √(3/2) ‖dev σ‖ [Pa], float32 ``[M]``.
        nodal_forces: Elastic force on each node [N], vec3d ``[N]``.
        kinetic_energy, elastic_energy: Of each body [J], float64 ``[B]``.
        momentum: [kg m/s], vec3d ``[B]``.
        angular_momentum: About the origin of the environment [kg m²/s], vec3d ``[B]``.
        center: Centre of mass, environment frame [m], vec3d ``[B]``.
        mass: [kg], float64 ``[B]``.
    """

    def __init__(self, model: FemModel) -> None:
        """Allocate the arrays."""
        self.model = model
        elements, bodies, device = model.element_count, model.body_count, model.device
        self.deformation_gradients = wp.zeros(elements, dtype=wp.mat33, device=device)
        self.rotations = wp.zeros(elements, dtype=wp.quat, device=device)
        self.stretches = wp.zeros(elements, dtype=wp.mat33, device=device)
        self.stresses = wp.zeros(elements, dtype=wp.mat33, device=device)
        self.von_mises = wp.zeros(elements, dtype=wp.float32, device=device)
        self.nodal_forces = wp.zeros(model.node_count, dtype=wp.vec3d, device=device)
        self.kinetic_energy = wp.zeros(bodies, dtype=wp.float64, device=device)
        self.elastic_energy = wp.zeros(bodies, dtype=wp.float64, device=device)
        self.momentum = wp.zeros(bodies, dtype=wp.vec3d, device=device)
        self.angular_momentum = wp.zeros(bodies, dtype=wp.vec3d, device=device)
        self.center = wp.zeros(bodies, dtype=wp.vec3d, device=device)
        self.mass = wp.zeros(bodies, dtype=wp.float64, device=device)
        self._lanes = _LANES if device.is_cuda else 1
        self._work = structs.Work()
        self._work.increment = wp.zeros(model.node_count, dtype=wp.vec3d, device=device)
        self._work.corner_force = wp.zeros((elements, 4), dtype=wp.vec3d, device=device)
        self._work.energy_gain = wp.zeros(elements, dtype=wp.float64, device=device)
        if model.nodal_dilatation:
            nodes = model.node_count
            self._work.dilatation = wp.zeros(elements, dtype=wp.float64, device=device)
            self._work.gradient = wp.zeros(elements, dtype=wp.mat33d, device=device)
            self._work.patch_dilatation = wp.zeros(nodes, dtype=wp.float64, device=device)
            self._work.patch_gain = wp.zeros(nodes, dtype=wp.float64, device=device)
            self._work.smooth = wp.zeros(elements, dtype=wp.mat33d, device=device)
            self._work.stress = wp.zeros(elements, dtype=wp.mat33d, device=device)
            self._work.patch_matrix = wp.zeros(nodes, dtype=wp.mat33d, device=device)
        self._work.scheme = wp.full(bodies, 2, dtype=wp.int32, device=device)

    def measure_elements(self, state: FemState) -> None:
        """Write the arrays of elements."""
        self._work.start = state.position
        if self.model.nodal_dilatation:
            launch_means(self.model, self._work, 0.0)
        wp.launch(
            kernels.measure_elements,
            dim=self.model.element_count,
            inputs=[self.model.mesh, self.model.materials, self._work, int(self.model.nodal_dilatation)],
            outputs=[
                *(self.deformation_gradients, self.rotations, self.stretches, self.stresses),
                self.von_mises,
            ],
            device=self.model.device,
            block_dim=self._lanes,
        )

    def measure_forces(self, state: FemState) -> None:
        """Write the elastic forces on nodes."""
        model, work = self.model, self._work
        work.start = state.position
        launches: list[tuple[wp.Kernel, int, list[object], list[object]]] = []
        if model.nodal_dilatation:
            launch_means(model, work, 0.0)
            launches += [
                (kernels.write_stresses, model.element_count, [model.mesh, model.materials], [work]),
                (kernels.write_mean_stresses, model.node_count, [model.mesh], [work]),
            ]
        inputs: list[object] = [model.mesh, model.materials, int(model.nodal_dilatation)]
        launches += [
            (kernels.write_forces, model.element_count, inputs, [work]),
            (kernels.gather_forces, model.node_count, [model.mesh, work], [self.nodal_forces]),
        ]
        for kernel, dim, given, outputs in launches:
            # One size of blocks for all: each is compiled by itself, and this module takes long on CUDA.
            wp.launch(
                kernel, dim=dim, inputs=given, outputs=outputs, device=model.device, block_dim=self._lanes
            )

    def measure_bodies(self, state: FemState) -> None:
        """Write the arrays of bodies."""
        self._work.start = state.position
        launch_energies(self.model, self._work, part=0.0, kept=0.0, sign=1.0)
        wp.launch(
            kernels.measure_bodies,
            dim=self.model.body_count * self._lanes,
            inputs=[
                *(self.model.mesh, self._work, state.velocity),
                int(self.model.nodal_dilatation),
            ],
            outputs=[
                *(self.kinetic_energy, self.elastic_energy, self.momentum, self.angular_momentum),
                *(self.center, self.mass),
            ],
            device=self.model.device,
            block_dim=self._lanes,
        )
