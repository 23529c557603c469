"""Data of deformable objects."""

from __future__ import annotations

from typing import Any

import warp as wp

from tensorphys_assets._kernels import nodes
from tensorphys_assets.lab import lab_class
from tensorphys_assets.members import Quantity
from tensorphys_assets.view_data import EngineAccess, ViewData

__all__ = ["DeformableObjectData"]

_Lab: Any = (
    lab_class("isaaclab.assets.deformable_object.base_deformable_object_data", "BaseDeformableObjectData")
    or object
)


def _mean_of(name: str) -> Any:
    def fill(data: DeformableObjectData, target: wp.array) -> None:
        wp.launch(nodes.node_means, target.size, [data.array(name)], [target], device=data.device)

    return fill


class DeformableObjectData(ViewData, _Lab):
    """State of a deformable object: the nodes of its simulation mesh.

    Args:
        engine: The view.
        count: Instances.
        node_count: Nodes of each.
    """

    default_nodal_state_w = Quantity(
        "Positions and velocities of the nodes when the scene was reset, world.",
        axes="NV",
        dtype="vec6f",
        constant=True,
    )
    nodal_kinematic_target = Quantity(
        "Targets of the nodes: world position, and 1 for a free node or 0 for one that follows it.",
        axes="NV",
        dtype="vec4f",
        source="simulation_nodal_kinematic_targets",
        static=True,
    )
    nodal_pos_w = Quantity(
        "Positions of the nodes, world.", axes="NV", dtype="vec3f", source="simulation_nodal_positions"
    )
    nodal_vel_w = Quantity(
        "Velocities of the nodes, world axes.", axes="NV", dtype="vec3f", source="simulation_nodal_velocities"
    )
    nodal_state_w = Quantity(
        "Positions and velocities of the nodes, world.",
        axes="NV",
        dtype="vec6f",
        kernel=nodes.nodal_states,
        reads=("nodal_pos_w", "nodal_vel_w"),
    )
    root_pos_w = Quantity(
        "Mean position of the nodes, world.",
        axes="N",
        dtype="vec3f",
        fill=_mean_of("nodal_pos_w"),
        follows=("nodal_pos_w",),
    )
    root_vel_w = Quantity(
        "Mean velocity of the nodes, world axes.",
        axes="N",
        dtype="vec3f",
        fill=_mean_of("nodal_vel_w"),
        follows=("nodal_vel_w",),
    )

    def __init__(self, engine: EngineAccess, count: int, node_count: int) -> None:
        super().__init__(engine, {"N": count, "V": node_count})
