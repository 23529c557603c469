"""Deformables of both generations of the API as batches, and their materials."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import warp as wp

from tensorphys.constants_view import Constant, ConstantsView, suitable_paths
from tensorphys.deformable_rows import DeformableRows, deformable_layout

if TYPE_CHECKING:
    from tensorphys.core import Core
    from tensorphys.subspaces import Subspaces

__all__ = [
    "DeformableBodyView",
    "DeformableMaterialView",
    "SoftBodyMaterialView",
    "SoftBodyView",
    "create_deformable_body_view",
    "create_deformable_material_view",
    "create_soft_body_material_view",
    "create_soft_body_view",
]

OnNoMatch = Literal["raise", "empty"]

_YOUNGS = Constant("youngs_modulus", 1, "Pa", "soft.model.materials.youngs_modulus", positive=True)
_POISSON = Constant("poissons_ratio", 1, "-", "soft.model.materials.poissons_ratio", below=0.5)
_FRICTION = Constant("dynamic_friction", 1, "-", "soft.dynamic_friction")
DEFORMABLE_CONSTANTS = {constant.name: constant for constant in (_FRICTION, _YOUNGS, _POISSON)}
SOFT_CONSTANTS = DEFORMABLE_CONSTANTS | {
    "damping": Constant("damping", 1, "s", "soft.model.materials.damping"),
    "damping_scale": Constant("damping_scale", 1, "-", "soft.model.materials.damping_scale"),
}


class SoftBodyView(DeformableRows):
    """Volume deformables by the names of the older API, one row each; rows of smaller bodies end with zeros.

    Made by ``SimulationView.create_soft_body_view``. ``sim_*`` is the simulation mesh, the others are the collision mesh,
    which it carries; a prim without a collision mesh shows its simulation mesh in both. Matrices are given column by
    column, quaternions as xyzw. Positions are in the world or in the subspace of the row.
    """

    @property
    def max_elements_per_body(self) -> int:
        """Tetrahedra of the largest collision mesh."""
        return self._items(True, "elements")

    @property
    def max_vertices_per_body(self) -> int:
        """Nodes of the largest collision mesh."""
        return self._items(True, "nodes")

    @property
    def max_sim_elements_per_body(self) -> int:
        """Tetrahedra of the largest simulation mesh."""
        return self._items(False, "elements")

    @property
    def max_sim_vertices_per_body(self) -> int:
        """Nodes of the largest simulation mesh."""
        return self._items(False, "nodes")

    def get_element_stresses(self) -> Any:
        """Elastic Cauchy stress of each tetrahedron of the collision mesh [Pa], world axes, shape [count, elements, 9]."""
        return self._gather_elements("element_stresses", True, "stresses")

    def get_element_deformation_gradients(self) -> Any:
        """Deformation gradients Rᵀ F, the rotation taken out, identity at rest, shape [count, elements, 9]."""
        return self._gather_elements("element_deformation_gradients", True, "stretches")

    def get_element_rest_poses(self) -> Any:
        """Inverse of the edges from the first node at rest [1/m], zero without volume, shape [count, elements · 9]."""
        return self._constant("element_rest_poses", self._collision_mesh.rest_poses, flat=True)

    def get_element_rotations(self) -> Any:
        """Rotation R of each tetrahedron from its rest shape, shape [count, elements · 4]."""
        return self._gather_elements("element_rotations", True, "rotations", flat=True)

    def get_nodal_positions(self) -> Any:
        """Positions of the nodes of the collision mesh [m], shape [count, nodes, 3]."""
        return self._gather_points("nodal_positions", True)

    def get_element_indices(self) -> Any:
        """Nodes of each tetrahedron of the collision mesh, uint32, shape [count, elements, 4]."""
        return self._constant("element_indices", self._collision_mesh.indices, wp.uint32)

    def get_sim_element_indices(self) -> Any:
        """Nodes of each tetrahedron of the simulation mesh, uint32, shape [count, elements, 4]."""
        return self._constant("sim_element_indices", self._simulation_mesh.indices, wp.uint32)

    def get_sim_element_stresses(self) -> Any:
        """As ``get_element_stresses``, of the simulation mesh."""
        return self._gather_elements("sim_element_stresses", False, "stresses")

    def get_sim_element_deformation_gradients(self) -> Any:
        """As ``get_element_deformation_gradients``, of the simulation mesh."""
        return self._gather_elements("sim_element_deformation_gradients", False, "stretches")

    def get_sim_element_rest_poses(self) -> Any:
        """As ``get_element_rest_poses``, of the simulation mesh."""
        return self._constant("sim_element_rest_poses", self._simulation_mesh.rest_poses, flat=True)

    def get_sim_element_rotations(self) -> Any:
        """As ``get_element_rotations``, of the simulation mesh."""
        return self._gather_elements("sim_element_rotations", False, "rotations", flat=True)

    def get_sim_nodal_positions(self) -> Any:
        """Positions of the nodes of the simulation mesh [m], shape [count, nodes, 3]."""
        return self._gather_points("sim_nodal_positions", False)

    def set_sim_nodal_positions(self, data: Any, indices: Any) -> None:
        """Set positions; velocities stay, and contacts start without forces."""
        self._scatter_nodes("sim_nodal_positions", data, indices)

    def get_sim_nodal_velocities(self) -> Any:
        """Velocities of the nodes of the simulation mesh [m/s], world axes, shape [count, nodes, 3]."""
        return self._gather_points(
            "sim_nodal_velocities", False, self._core.soft.state.velocities, moves=False
        )

    def set_sim_nodal_velocities(self, data: Any, indices: Any) -> None:
        """Set velocities."""
        self._scatter_nodes("sim_nodal_velocities", data, indices)

    def get_sim_kinematic_targets(self) -> Any:
        """Targets ``[x, y, z, w]`` of the nodes [m, -], w = 1 for a free node, shape [count, nodes, 4]."""
        return self._gather_targets("sim_kinematic_targets")

    def set_sim_kinematic_targets(self, data: Any, indices: Any) -> None:
        """Set targets: with w = 0 a node is at x, y, z at the end of each step, with w = 1 it is free."""
        self._scatter_targets("sim_kinematic_targets", data, indices)

    @property
    def _collision_mesh(self) -> Any:
        self._rows("element_indices")
        return self._collision

    @property
    def _simulation_mesh(self) -> Any:
        self._rows("sim_element_indices")
        return self._simulation


class DeformableBodyView(DeformableRows):
    """Volume or surface deformables, one row each; rows of smaller bodies end with zeros.

    Made by ``SimulationView.create_volume_deformable_body_view`` and ``create_surface_deformable_body_view``. Positions
    are in the world or in the subspace of the row.
    """

    @property
    def simulation_mesh_prim_paths(self) -> list[str]:
        """Prim of the simulation mesh of each row."""
        return [body.simulation_path for body in self._described]

    @property
    def collision_mesh_prim_paths(self) -> list[str]:
        """Prim of the collision mesh of each row."""
        return [body.collision_path for body in self._described]

    @property
    def _described(self) -> list[Any]:
        if self._backend is None:
            return []
        soft = self._core.soft
        return [soft.bodies[body] for body in self._backend.layout.objects.tolist()]

    @property
    def max_simulation_elements_per_body(self) -> int:
        """Elements of the largest simulation mesh."""
        return self._items(False, "elements")

    @property
    def max_simulation_nodes_per_body(self) -> int:
        """Nodes of the largest simulation mesh."""
        return self._items(False, "nodes")

    @property
    def max_rest_nodes_per_body(self) -> int:
        """Nodes of the largest rest shape, which are those of the simulation mesh."""
        return self._items(False, "nodes")

    @property
    def max_collision_elements_per_body(self) -> int:
        """Elements of the largest collision mesh."""
        return self._items(True, "elements")

    @property
    def max_collision_nodes_per_body(self) -> int:
        """Nodes of the largest collision mesh."""
        return self._items(True, "nodes")

    @property
    def num_nodes_per_element(self) -> int:
        """4 for volumes, 3 for surfaces."""
        return 4 if self._backend is None else self._simulation.width

    def get_simulation_element_indices(self) -> Any:
        """Nodes of each element, uint32, shape [count, elements, num_nodes_per_element]."""
        self._rows("get_simulation_element_indices")
        return self._constant("simulation_element_indices", self._simulation.indices, wp.uint32)

    def get_simulation_nodal_positions(self) -> Any:
        """Positions of the nodes [m], shape [count, nodes, 3]."""
        return self._gather_points("simulation_nodal_positions", False)

    def set_simulation_nodal_positions(self, data: Any, indices: Any) -> None:
        """Set positions; velocities stay, and contacts start without forces."""
        self._scatter_nodes("simulation_nodal_positions", data, indices)

    def get_simulation_nodal_velocities(self) -> Any:
        """Velocities of the nodes [m/s], world axes, shape [count, nodes, 3]."""
        return self._gather_points(
            "simulation_nodal_velocities", False, self._core.soft.state.velocities, moves=False
        )

    def set_simulation_nodal_velocities(self, data: Any, indices: Any) -> None:
        """Set velocities."""
        self._scatter_nodes("simulation_nodal_velocities", data, indices)

    def get_simulation_nodal_kinematic_targets(self) -> Any:
        """Targets ``[x, y, z, w]`` of the nodes [m, -], w = 1 for a free node, shape [count, nodes, 4]."""
        return self._gather_targets("simulation_nodal_kinematic_targets")

    def set_simulation_nodal_kinematic_targets(self, data: Any, indices: Any) -> None:
        """Set targets: with w = 0 a node is at x, y, z at the end of each step, with w = 1 it is free."""
        self._scatter_targets("simulation_nodal_kinematic_targets", data, indices)

    def get_rest_element_indices(self) -> Any:
        """Nodes of each element of the rest shape, uint32, shape [count, elements, num_nodes_per_element]."""
        self._rows("get_rest_element_indices")
        return self._constant("rest_element_indices", self._simulation.indices, wp.uint32)

    def get_rest_nodal_positions(self) -> Any:
        """Nodes at rest in the axes of the prim, its scale included [m], shape [count, nodes, 3]."""
        self._rows("get_rest_nodal_positions")
        return self._constant("rest_nodal_positions", self._simulation.rest_points)

    def get_collision_element_indices(self) -> Any:
        """Nodes of each element of the collision mesh, uint32, shape [count, elements, 4 or 3]."""
        self._rows("get_collision_element_indices")
        return self._constant("collision_element_indices", self._collision.indices, wp.uint32)

    def get_collision_nodal_positions(self) -> Any:
        """Positions of the nodes of the collision mesh [m], shape [count, nodes, 3]."""
        return self._gather_points("collision_nodal_positions", True)


class DeformableMaterialView(ConstantsView):
    """Materials of deformables, one row each.

    Made by ``SimulationView.create_deformable_material_view``. Arrays are those of the CPU, float32, shape [count, 1];
    ``indices=None`` means all rows. Changes act from the next step on.
    """

    _constants: ClassVar[Mapping[str, Constant]] = DEFORMABLE_CONSTANTS

    def get_dynamic_friction(self) -> Any:
        """Coulomb coefficient."""
        return self._get("dynamic_friction")

    def set_dynamic_friction(self, data: Any, indices: Any) -> None:
        """Set it."""
        self._set("dynamic_friction", data, indices)

    def get_youngs_modulus(self) -> Any:
        """Young's modulus [Pa]."""
        return self._get("youngs_modulus")

    def set_youngs_modulus(self, data: Any, indices: Any) -> None:
        """Set it, above 0."""
        self._set("youngs_modulus", data, indices)

    def get_poissons_ratio(self) -> Any:
        """Poisson's ratio."""
        return self._get("poissons_ratio")

    def set_poissons_ratio(self, data: Any, indices: Any) -> None:
        """Set it, from 0 to below 0.5.

        The cure of volumetric locking is built in when a material of the scene has more than 0.4 at the start; a ratio
        that is raised above it later without that makes bodies too stiff, which is logged.
        """
        self._set("poissons_ratio", data, indices)

    def _changed(self, name: str) -> None:
        model = self._core.soft.model
        if name != "poissons_ratio" or model.nodal_dilatation:
            return
        if float(model.materials.poissons_ratio.numpy().max()) > 0.4:
            self._core.warn(
                "%s.set_poissons_ratio: above 0.4 bodies lock, since no material had as much when the scene was built",
                type(self).__name__,
            )


class SoftBodyMaterialView(DeformableMaterialView):
    """Materials of deformables by the names of the older API; made by ``SimulationView.create_soft_body_material_view``."""

    _constants: ClassVar[Mapping[str, Constant]] = SOFT_CONSTANTS

    def get_damping(self) -> Any:
        """Elasticity damping: stress by rate of strain over stress by strain [s]."""
        return self._get("damping")

    def set_damping(self, data: Any, indices: Any) -> None:
        """Set it."""
        self._set("damping", data, indices)

    def get_damping_scale(self) -> Any:
        """Part of the damping that acts on rotations of elements, too."""
        return self._get("damping_scale")

    def set_damping_scale(self, data: Any, indices: Any) -> None:
        """Set it."""
        self._set("damping_scale", data, indices)


def _bodies(core: Core, is_wanted: Callable[[Any], bool]) -> dict[str, int]:
    """Number of each wanted body by every prim path that may name it."""
    soft = core.simulation.soft
    found: dict[str, int] = {}
    for number, body in enumerate(soft.bodies if soft is not None else ()):
        if is_wanted(body):
            found[body.path] = number
    for number, body in enumerate(soft.bodies if soft is not None else ()):
        if is_wanted(body):
            for path in (body.simulation_path, body.collision_path):
                found.setdefault(path, number)
    return found


def _body_view(
    core: Core,
    make: Any,
    pattern: str | Sequence[str],
    is_wanted: Callable[[Any], bool],
    kind: str,
    on_no_match: OnNoMatch,
    subspaces: Subspaces,
) -> Any:
    known = _bodies(core, is_wanted)
    paths = suitable_paths(core, pattern, known.__contains__, kind, on_no_match)
    if not paths:
        return make(core, [], None)
    bodies = np.asarray([known[path] for path in paths], np.int32)
    return make(core, paths, deformable_layout(core, bodies, subspaces.of(paths)))


def create_soft_body_view(
    core: Core, pattern: str | Sequence[str], on_no_match: OnNoMatch, subspaces: Subspaces
) -> SoftBodyView:
    """View of the volume deformables that a pattern matches; see ``SimulationView.create_soft_body_view``."""
    result: SoftBodyView = _body_view(
        core, SoftBodyView, pattern, lambda b: not b.is_shell, "a volume deformable", on_no_match, subspaces
    )
    return result


def create_deformable_body_view(
    core: Core,
    pattern: str | Sequence[str],
    on_no_match: OnNoMatch,
    subspaces: Subspaces,
    *,
    surface: bool,
) -> DeformableBodyView:
    """View of the volume or surface deformables that a pattern matches."""
    kind = "a surface deformable" if surface else "a volume deformable"
    result: DeformableBodyView = _body_view(
        core, DeformableBodyView, pattern, lambda b: b.is_shell == surface, kind, on_no_match, subspaces
    )
    return result


def _material_view(core: Core, make: Any, pattern: str | Sequence[str], on_no_match: OnNoMatch) -> Any:
    soft = core.simulation.soft
    known: dict[str, list[int]] = {}
    for number, body in enumerate(soft.bodies if soft is not None else ()):
        if body.material:
            known.setdefault(body.material, []).append(number)
    paths = suitable_paths(core, pattern, known.__contains__, "a material of deformables", on_no_match)
    return make(core, paths, [known[path] for path in paths] if paths else None)


def create_soft_body_material_view(
    core: Core, pattern: str | Sequence[str], on_no_match: OnNoMatch
) -> SoftBodyMaterialView:
    """View of the materials that a pattern matches; see ``SimulationView.create_soft_body_material_view``."""
    result: SoftBodyMaterialView = _material_view(core, SoftBodyMaterialView, pattern, on_no_match)
    return result


def create_deformable_material_view(
    core: Core, pattern: str | Sequence[str], on_no_match: OnNoMatch
) -> DeformableMaterialView:
    """View of the materials that a pattern matches; see ``SimulationView.create_deformable_material_view``."""
    result: DeformableMaterialView = _material_view(core, DeformableMaterialView, pattern, on_no_match)
    return result
