"""Data of articulations."""

from __future__ import annotations

from typing import Any

import warp as wp

from tensorphys_assets._kernels import motion
from tensorphys_assets._kernels.rows import take_items, take_planes
from tensorphys_assets.articulation_properties import ArticulationProperties
from tensorphys_assets.body_data import BodyData
from tensorphys_assets.dtypes import as_numbers
from tensorphys_assets.errors import NotReadyError
from tensorphys_assets.lab import lab_class
from tensorphys_assets.members import Column, Quantity, warn_deprecated
from tensorphys_assets.ordering import ArticulationNameMap
from tensorphys_assets.root_data import RootData
from tensorphys_assets.view_data import EngineAccess

__all__ = ["ArticulationData"]

_Lab: Any = lab_class("isaaclab.assets.articulation.base_articulation_data", "BaseArticulationData") or object


def _columns_of(data: ArticulationData, values: wp.array, target: wp.array, bodies: bool) -> None:
    """Bring rows and columns of a quantity in generalized velocities into the order of users."""
    maps = data._engine.maps
    if not maps:
        if values.ptr != target.ptr:
            wp.copy(target, as_numbers(values, target.shape))
        return
    base = data.shape("G")[0] - data.shape("J")[0]
    columns = data.index_order("J", base)
    if bodies:
        # Rows of bodies, in which a fixed base has none.
        rows = data.jacobian_rows
        source = as_numbers(values, values.shape)
        out = target
    else:
        rows = columns
        source = as_numbers(values, (values.shape[0], values.shape[1], 1, values.shape[2]))
        out = as_numbers(target, source.shape)
    wp.launch(take_planes, out.shape, [source, rows, columns], [out], device=data.device)


def _fill_com_jacobian(data: ArticulationData, target: wp.array) -> None:
    _columns_of(data, data._engine.get("jacobians"), target, bodies=True)


def _fill_link_jacobian(data: ArticulationData, target: wp.array) -> None:
    jacobian = data.array("body_com_jacobian_w")
    rows, bodies, _, columns = target.shape
    wp.launch(
        motion.link_jacobians,
        (rows, bodies, columns),
        [data.array("body_link_pose_w"), data.array("body_com_pose_b"), jacobian, data.bodies_left_out],
        [target],
        device=data.device,
    )


def _fill_mass_matrix(data: ArticulationData, target: wp.array) -> None:
    _columns_of(data, data._engine.get("generalized_mass_matrices"), target, bodies=False)


def _fill_gravity_compensation(data: ArticulationData, target: wp.array) -> None:
    values = data._engine.get("gravity_compensation_forces")
    count, width = target.shape
    columns = as_numbers(values, (count, 1, width, 1))
    out = as_numbers(target, (count, 1, width, 1))
    if "J" not in data._engine.maps:
        wp.copy(out, columns)
        return
    base = width - data.shape("J")[0]
    source, target3 = as_numbers(values, (count, width, 1)), as_numbers(target, (count, width, 1))
    order = data.index_order("J", base)
    wp.launch(take_items, target3.shape, [source, order], [target3], device=data.device)


_POSES = ("root_link_pose_w", "joint_pos")


class ArticulationData(ArticulationProperties, BodyData, RootData, _Lab):
    """State and properties of an articulation.

    Args:
        engine: The view.
        sizes: Instances N, bodies B, joints J, fixed and spatial tendons F and S, generalized velocities G, rows of
            Jacobians R.
        names: Names of bodies, joints, fixed and spatial tendons, in the order of users.
        root_body: Place of the root among the bodies.
        soft_limit_factor: Share of the range of positions that soft limits keep.
    """

    body_names: list[str]
    joint_names: list[str]
    fixed_tendon_names: list[str]
    spatial_tendon_names: list[str]
    joint_ordering: ArticulationNameMap | None
    body_ordering: ArticulationNameMap | None

    root_link_pose_w = Quantity(
        "Pose of the root link in the world.", axes="N", dtype="transformf", source="root_transforms"
    )
    root_com_vel_w = Quantity(
        "Velocity of the root's centre of mass, world axes.",
        axes="N",
        dtype="spatial_vectorf",
        source="root_velocities",
    )
    _root_com = Column("Centre of mass of the root.", "body_com_pose_b", lambda data: data.root_body)
    body_link_pose_w = Quantity(
        "Pose of each link in the world.",
        axes="NB",
        dtype="transformf",
        source="link_transforms",
        follows=_POSES,
    )
    body_com_vel_w = Quantity(
        "Velocity of each centre of mass, world axes.",
        axes="NB",
        dtype="spatial_vectorf",
        source="link_velocities",
        follows=(*_POSES, "root_com_vel_w", "joint_vel", "body_com_pose_b"),
    )
    body_com_acc_w = Quantity(
        "Acceleration of each centre of mass in the last step, world axes; free fall has that of gravity.",
        axes="NB",
        dtype="spatial_vectorf",
        source="link_accelerations",
    )
    joint_pos = Quantity("Joint positions.", axes="NJ", dtype="float32", source="dof_positions")
    joint_vel = Quantity("Joint velocities.", axes="NJ", dtype="float32", source="dof_velocities")
    joint_acc = Quantity(
        "Change of the joint velocities over the last update, divided by its time.",
        axes="NJ",
        dtype="float32",
        constant=True,
    )
    _previous_joint_vel = Quantity(
        "Joint velocities of the last update.", axes="NJ", dtype="float32", constant=True
    )

    body_com_jacobian_w = Quantity(
        "Jacobian of the velocity of each centre of mass, world axes: linear rows, then angular ones; columns of a "
        "floating base come first, and a fixed root has no rows.",
        axes="NR6G",
        dtype="float32",
        fill=_fill_com_jacobian,
        follows=(*_POSES, "body_com_pose_b"),
    )
    body_link_jacobian_w = Quantity(
        "Jacobian of the velocity of each link's origin; see ``body_com_jacobian_w``.",
        axes="NR6G",
        dtype="float32",
        fill=_fill_link_jacobian,
        follows=("body_com_jacobian_w", "body_link_pose_w", "body_com_pose_b"),
    )
    mass_matrix = Quantity(
        "Joint-space inertia, armatures included; see ``body_com_jacobian_w`` for its columns.",
        axes="NGG",
        dtype="float32",
        fill=_fill_mass_matrix,
        follows=(*_POSES, "body_com_pose_b", "body_mass", "body_inertia", "joint_armature"),
    )
    gravity_compensation_forces = Quantity(
        "Generalized forces that hold the articulation still against gravity.",
        axes="NG",
        dtype="float32",
        fill=_fill_gravity_compensation,
        follows=(*_POSES, "body_com_pose_b", "body_mass", "GRAVITY_VEC_W"),
    )

    def __init__(
        self,
        engine: EngineAccess,
        sizes: dict[str, int],
        names: tuple[list[str], list[str], list[str], list[str]],
        *,
        root_body: int,
        soft_limit_factor: float,
    ) -> None:
        super().__init__(engine, sizes)
        self.body_names, self.joint_names, self.fixed_tendon_names, self.spatial_tendon_names = names
        self.body_ordering = engine.maps.get("B")
        self.joint_ordering = engine.maps.get("J")
        self.root_body = root_body
        self.soft_limit_factor = soft_limit_factor
        self.bodies_left_out = root_body if sizes["R"] < sizes["B"] else -1
        self.is_primed = False
        self._actuators: Any = None
        self._index_arrays: dict[str, wp.array] = {}

    @property
    def has_joint_ordering(self) -> bool:
        """Whether joints stand in another order than the engine's."""
        return self.joint_ordering is not None

    @property
    def has_body_ordering(self) -> bool:
        """Whether bodies stand in another order than the engine's."""
        return self.body_ordering is not None

    def index_order(self, axis: str, shift: int) -> wp.array:
        """Engine's place of each item of an axis behind ``shift`` others, int32."""
        order = self._engine.maps.get(axis)
        if order is not None:
            return order.columns(shift)
        return self._indices(f"{axis} {shift}", list(range(self.shape(axis)[0] + shift)))

    def _indices(self, key: str, values: list[int]) -> wp.array:
        """Indices on the device, made once: reads allocate nothing."""
        if key not in self._index_arrays:
            self._index_arrays[key] = wp.array(values, dtype=wp.int32, device=self.device)
        return self._index_arrays[key]

    @property
    def jacobian_rows(self) -> wp.array:
        """Engine's row of each body's row of Jacobians."""
        order = self.body_ordering
        places = list(range(self.shape("B")[0])) if order is None else list(order.user_to_backend_indices)
        if self.bodies_left_out >= 0:
            places = [place - 1 for place in places if place != 0]
        return self._indices("rows", places)

    def bind_actuator_collection(self, actuators: Any) -> None:
        """Have the quantities of actuators read from a collection.

        Args:
            actuators: The collection.
        """
        self._actuators = actuators

    def _actuator_array(self, name: str, target: str) -> Any:
        warn_deprecated(self, name, f"actuators.{target}")
        if self._actuators is None:
            raise NotReadyError(f"ArticulationData.{name}: no actuators are bound yet; reset the scene first")
        value = self._actuators
        for part in target.split("."):
            value = getattr(value, part)
        return value

    @property
    def joint_pos_target(self) -> Any:
        """Position targets as commanded. Deprecated."""
        return self._actuator_array("joint_pos_target", "target_command.position")

    @property
    def joint_vel_target(self) -> Any:
        """Velocity targets as commanded. Deprecated."""
        return self._actuator_array("joint_vel_target", "target_command.velocity")

    @property
    def joint_effort_target(self) -> Any:
        """Efforts as commanded. Deprecated."""
        return self._actuator_array("joint_effort_target", "target_command.effort")

    @property
    def computed_torque(self) -> Any:
        """Efforts of the actuator models before their limits. Deprecated."""
        return self._actuator_array("computed_torque", "computed_effort")

    @property
    def applied_torque(self) -> Any:
        """Efforts of the actuator models within their limits. Deprecated."""
        return self._actuator_array("applied_torque", "applied_effort")

    @property
    def soft_joint_vel_limits(self) -> Any:
        """Velocity limits of the actuator models."""
        if self._actuators is None:
            raise NotReadyError("ArticulationData.soft_joint_vel_limits: no actuators are bound yet")
        return self._actuators.velocity_limits

    def update(self, dt: float) -> None:
        """Let time pass; the joint acceleration is taken here, once a step.

        Args:
            dt: Time since the last update [s].
        """
        super().update(dt)
        if dt > 0.0:
            velocity = self.array("joint_vel")
            outputs = [self.array("_previous_joint_vel"), self.array("joint_acc")]
            if velocity.size:
                wp.launch(
                    motion.joint_accelerations,
                    velocity.shape,
                    [velocity, 1.0 / dt],
                    outputs,
                    device=self.device,
                )

    def _reset_pose(self, from_link: bool = True) -> None:
        """Make what depends on the root's pose stale."""
        self.invalidate(("root_link_pose_w",), themselves=not from_link)

    def _reset_velocity(self, from_com: bool = True) -> None:
        """Make what depends on the root's velocity stale."""
        self.invalidate(("root_com_vel_w",), themselves=not from_com)
