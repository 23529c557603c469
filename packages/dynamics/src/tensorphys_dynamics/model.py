"""The constants of a simulation of rigid bodies and articulations, as flat device arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

from tensorphys_dynamics._kernels.arrays import THIN, UNBOUNDED_IMPULSE, ModelData, Tables
from tensorphys_dynamics.errors import ModelError
from tensorphys_dynamics.topology import ArticulationType

_UNBOUNDED = np.finfo(np.float32).max

# name: (dtype, row shape, default; None where it must be given)
LINK_COLUMNS: dict[str, tuple[Any, tuple[int, ...], Any]] = {
    "rest_pose": (wp.transform, (7,), (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)),
    "mass": (wp.float32, (), None),
    "com": (wp.vec3, (3,), 0.0),
    "inertia": (wp.mat33, (3, 3), None),
    "gravity": (wp.float32, (), 1.0),
    "linear_damping": (wp.float32, (), 0.0),
    "angular_damping": (wp.float32, (), 0.0),
    "max_linear_velocity": (wp.float32, (), _UNBOUNDED),
    "max_angular_velocity": (wp.float32, (), _UNBOUNDED),
    "max_depenetration_velocity": (wp.float32, (), _UNBOUNDED),
    "max_contact_impulse": (wp.float32, (), _UNBOUNDED),
    "surface_linear": (wp.vec3, (3,), 0.0),
    "surface_angular": (wp.vec3, (3,), 0.0),
    "surface_local": (wp.int32, (), 1),
    "gyroscopic": (wp.int32, (), 1),
    "locked_axes": (wp.int32, (), 0),
    "disabled": (wp.int32, (), 0),
}
DOF_COLUMNS: dict[str, tuple[Any, tuple[int, ...], Any]] = {
    "axis": (wp.vec3, (3,), None),
    "anchor": (wp.vec3, (3,), 0.0),
    "armature": (wp.float32, (), 0.0),
    "lower": (wp.float32, (), -_UNBOUNDED),
    "upper": (wp.float32, (), _UNBOUNDED),
    "drive_type": (wp.int32, (), 0),
    "stiffness": (wp.float32, (), 0.0),
    "damping": (wp.float32, (), 0.0),
    "max_force": (wp.float32, (), _UNBOUNDED),
    "max_velocity": (wp.float32, (), _UNBOUNDED),
    "passive_stiffness": (wp.float32, (), 0.0),
    "passive_damping": (wp.float32, (), 0.0),
    "spring_reference": (wp.float32, (), 0.0),
    "friction_coefficient": (wp.float32, (), 0.0),
    "static_friction": (wp.float32, (), 0.0),
    "dynamic_friction": (wp.float32, (), 0.0),
    "viscous_friction": (wp.float32, (), 0.0),
    "envelope": (wp.int32, (), 0),
    "speed_effort_gradient": (wp.float32, (), 0.0),
    "max_actuator_velocity": (wp.float32, (), _UNBOUNDED),
    "velocity_resistance": (wp.float32, (), 0.0),
    "cone": (wp.int32, (), 0),
}


class Model:
    """Constants between two writes by the user. All arrays may be written between steps.

    Rows are flat: articulations are sorted by environment, links and degrees of freedom by articulation. A free
    rigid body is a floating articulation of one link, a body that is moved by hand a fixed one.

    Attributes:
        types: Topologies that articulations share.
        environment_count, articulation_count, link_count, dof_count, velocity_count: Sizes.
        gravity: Gravity [m/s²], one vec3 an environment.
        link_rest_pose: Pose of a link in its parent at zero joint positions, transform.
        link_mass: Mass [kg].
        link_com: Centre of mass in the link frame [m], vec3.
        link_inertia: Inertia about the centre of mass, link axes [kg m²], mat33.
        link_gravity: 1 where gravity acts, else 0.
        link_linear_damping, link_angular_damping: Damping rates [1/s].
        link_max_linear_velocity, link_max_angular_velocity: Speed bounds of floating roots [m/s, rad/s].
        link_max_depenetration_velocity: Bound of the speed that removes penetration [m/s].
        link_max_contact_impulse: Bound of the normal impulse of a contact in a step [N s]; each substep has an equal part.
        link_surface_linear, link_surface_angular: Velocity of the surface relative to the body [m/s, rad/s], as of a
            conveyor belt, turning about the body's origin; its part along a contact's normal does nothing. vec3.
        link_surface_local: 1 where these two are in the axes of the link, else in those of the environment.
        link_gyroscopic: 0 where a free body feels no ω × I ω.
        link_locked_axes: Bit mask of the environment axes that a floating root is held along: bits 0 to 2 the motion
            of its centre of mass along x, y, z, bits 3 to 5 its rotation about them.
        link_disabled: 1 at the root of an articulation that is out of the simulation: it stands still and feels
            nothing; whoever sets it keeps contacts away from it.
        dof_axis, dof_anchor: Axis (unit) and a point on it, in the frame of the link that it moves, vec3.
        dof_armature: Inertia added to the degree of freedom [kg m² or kg].
        dof_lower, dof_upper: Limits [rad or m].
        dof_drive_type: 0 none, 1 force, 2 acceleration.
        dof_stiffness, dof_damping: Drive gains; per unit inertia for an acceleration drive.
        dof_max_force: Bound of the drive's force [N m or N].
        dof_max_velocity: Bound of the speed.
        dof_passive_stiffness, dof_passive_damping, dof_spring_reference: Passive spring-damper.
        dof_static_friction, dof_dynamic_friction: Force that friction holds with, and that it slides with [N m or N];
            it never holds with less than it slides with.
        dof_viscous_friction: Force of friction per speed [N m s or N s/m].
        dof_friction_coefficient: Where neither static nor viscous friction is given, friction of this times
            ‖force‖ + ‖torque‖ that the joint transmits.
        dof_envelope: 1 where the force of the actuator, drive and actuation together, keeps a performance envelope:
            abs E ≤ max_force − velocity_resistance abs v and abs v ≤ max_actuator_velocity − speed_effort_gradient abs E.
        dof_speed_effort_gradient, dof_max_actuator_velocity, dof_velocity_resistance: Its lines.
        dof_cone: 1 at the second degree of freedom of a ball joint where the limits of the second and third one are
            the half-angles of an elliptic cone that the first axis of frame 1 stays in, else each bounds its own
            component of the rotation vector.
        dof_ball: 3 ball joint + place in it of each degree of freedom, −1 outside of ball joints.
        ball_count: Number of ball joints.
        link_articulation: Articulation of each link.
        articulation_environment, articulation_link_start, articulation_dof_start,
        articulation_velocity_start, articulation_type: Where each articulation stands.
    """

    gravity: wp.array[wp.vec3]
    link_rest_pose: wp.array[wp.transform]
    link_mass: wp.array[wp.float32]
    link_com: wp.array[wp.vec3]
    link_inertia: wp.array[wp.mat33]
    link_gravity: wp.array[wp.float32]
    link_linear_damping: wp.array[wp.float32]
    link_angular_damping: wp.array[wp.float32]
    link_max_linear_velocity: wp.array[wp.float32]
    link_max_angular_velocity: wp.array[wp.float32]
    link_max_depenetration_velocity: wp.array[wp.float32]
    link_max_contact_impulse: wp.array[wp.float32]
    link_surface_linear: wp.array[wp.vec3]
    link_surface_angular: wp.array[wp.vec3]
    link_surface_local: wp.array[wp.int32]
    link_gyroscopic: wp.array[wp.int32]
    link_locked_axes: wp.array[wp.int32]
    link_disabled: wp.array[wp.int32]
    dof_axis: wp.array[wp.vec3]
    dof_anchor: wp.array[wp.vec3]
    dof_armature: wp.array[wp.float32]
    dof_lower: wp.array[wp.float32]
    dof_upper: wp.array[wp.float32]
    dof_drive_type: wp.array[wp.int32]
    dof_stiffness: wp.array[wp.float32]
    dof_damping: wp.array[wp.float32]
    dof_max_force: wp.array[wp.float32]
    dof_max_velocity: wp.array[wp.float32]
    dof_passive_stiffness: wp.array[wp.float32]
    dof_passive_damping: wp.array[wp.float32]
    dof_spring_reference: wp.array[wp.float32]
    dof_friction_coefficient: wp.array[wp.float32]
    dof_static_friction: wp.array[wp.float32]
    dof_dynamic_friction: wp.array[wp.float32]
    dof_viscous_friction: wp.array[wp.float32]
    dof_envelope: wp.array[wp.int32]
    dof_speed_effort_gradient: wp.array[wp.float32]
    dof_max_actuator_velocity: wp.array[wp.float32]
    dof_velocity_resistance: wp.array[wp.float32]
    dof_cone: wp.array[wp.int32]
    dof_ball: wp.array[wp.int32]

    def __init__(
        self,
        *,
        types: Sequence[ArticulationType],
        articulation_type: npt.NDArray[np.int32],
        articulation_environment: npt.NDArray[np.int32],
        environment_count: int,
        device: wp.Device,
    ) -> None:
        self.device = device
        self.types = tuple(types)
        self.environment_count = environment_count
        kinds = np.asarray(articulation_type, np.int32)
        environments = np.asarray(articulation_environment, np.int32)
        self._check(kinds, environments)
        self.articulation_count = len(kinds)
        starts = {}
        for name in ("link_count", "dof_count", "velocity_count", "entry_count"):
            sizes = np.array([getattr(t, name) for t in self.types], np.int64)
            starts[name] = np.concatenate(([0], np.cumsum(sizes[kinds]))).astype(np.int32)
        self.link_count, self.dof_count = int(starts["link_count"][-1]), int(starts["dof_count"][-1])
        self.velocity_count, self.entry_count = (
            int(starts["velocity_count"][-1]),
            int(starts["entry_count"][-1]),
        )
        self.max_chain = max((t.max_chain for t in self.types), default=0)
        self.articulation_type = self._int(kinds)
        self.articulation_environment = self._int(environments)
        self.articulation_link_start = self._int(starts["link_count"])
        self.articulation_dof_start = self._int(starts["dof_count"])
        self.articulation_velocity_start = self._int(starts["velocity_count"])
        link_counts = np.diff(starts["link_count"])
        self.link_articulation = self._int(np.repeat(np.arange(len(kinds)), link_counts))
        self.data = ModelData()
        self.tables = Tables()
        self._fill_tables(environments, starts)
        self._number_balls(kinds, starts["dof_count"])

    def _check(self, kinds: npt.NDArray[np.int32], environments: npt.NDArray[np.int32]) -> None:
        if kinds.shape != environments.shape:
            raise ModelError(
                f"articulation_type and articulation_environment: shapes {kinds.shape} and {environments.shape} differ"
            )
        if kinds.size and (kinds.min() < 0 or kinds.max() >= len(self.types)):
            raise ModelError(f"articulation_type: expected 0 to {len(self.types) - 1}, given {kinds.max()}")
        if (np.diff(environments) < 0).any():
            raise ModelError("articulations must be sorted by environment")
        if environments.size and (environments.min() < 0 or environments.max() >= self.environment_count):
            raise ModelError(
                f"articulation_environment: expected 0 to {self.environment_count - 1}, given {environments.max()}"
            )

    def _int(self, values: npt.ArrayLike) -> wp.array:
        return wp.array(np.asarray(values, np.int32).ravel(), dtype=wp.int32, device=self.device)

    def _fill_tables(
        self, environments: npt.NDArray[np.int32], starts: Mapping[str, npt.NDArray[np.int32]]
    ) -> None:
        types = self.types
        t = self.tables
        t.articulation_type, t.articulation_environment = (
            self.articulation_type,
            self.articulation_environment,
        )
        t.articulation_link, t.articulation_dof = self.articulation_link_start, self.articulation_dof_start
        t.articulation_velocity = self.articulation_velocity_start
        t.articulation_entry = self._int(starts["entry_count"])
        t.environment_articulation = self._int(
            np.searchsorted(environments, np.arange(self.environment_count + 1))
        )
        t.link_articulation = self.link_articulation
        t.type_root = self._int([k.root_count for k in types])
        t.type_links = self._int([k.link_count for k in types])
        t.type_velocities = self._int([k.velocity_count for k in types])
        t.type_long = self._int([k.is_long for k in types])
        t.type_link = self._int(_starts([k.link_count for k in types]))
        t.type_velocity = self._int(_starts([k.velocity_count for k in types]))
        t.type_entry = self._int(_starts([k.entry_count for k in types]))
        t.link_parent = self._int(_joined([k.parent for k in types]))
        t.link_dof = self._int(_joined([k.dof_start[:-1] for k in types]))
        t.link_dofs = self._int(_joined([np.diff(k.dof_start) for k in types]))
        t.link_chain = self._int(_joined([k.link_chain for k in types]))
        zeros = [np.zeros(k.root_count, np.int32) for k in types]
        t.velocity_link = self._int(
            _joined([np.concatenate((z, k.dof_link)) for z, k in zip(zeros, types, strict=True)])
        )
        t.velocity_rotational = self._int(
            _joined([np.concatenate((z, k.dof_rotational)) for z, k in zip(zeros, types, strict=True)])
        )
        t.velocity_entry = self._int(_joined([k.row_start[:-1] for k in types]))
        t.velocity_depth = self._int(_joined([[len(c) - 1 for c in k.chains] for k in types]))
        t.chain = self._int(_joined([i for k in types for i in k.chains]))

    def _number_balls(self, kinds: npt.NDArray[np.int32], dof_start: npt.NDArray[np.int32]) -> None:
        has_balls = any(k.ball_count for k in self.types)
        lengths = [self.types[k].ball_rows for k in kinds] if has_balls else []
        rows = _starts(_joined(lengths).tolist())
        first = _joined([self.types[k].balls + dof_start[a] for a, k in enumerate(kinds) if has_balls])
        numbers = np.full(self.dof_count, -1, np.int32)
        for place in range(3):
            numbers[first + place] = 3 * np.arange(len(first)) + place
        self.ball_first = first
        self.ball_count = len(first)
        self.ball_entry_count = int(rows[-1])
        self.tables.ball_row = self._int(rows[:-1])
        self.dof_ball = self._int(numbers)
        self.data.dof_ball = self.dof_ball

    def check_balls(self) -> None:
        """Check the axes of ball joints.

        Raises:
            ModelError: If those of one are not unit and at right angles.
        """
        if not self.ball_count:
            return
        axes = self.dof_axis.numpy().astype(np.float64)[self.ball_first[:, None] + np.arange(3)]
        wrong = np.abs(axes @ np.swapaxes(axes, 1, 2) - np.eye(3)).max(axis=(1, 2)) > 1e-4
        if wrong.any():
            dof = int(self.ball_first[np.argmax(wrong)])
            raise ModelError(
                f"axes of degrees of freedom {dof} to {dof + 2}: those of a ball joint must be unit and at right "
                f"angles, given {axes[np.argmax(wrong)].tolist()}"
            )

    def add_column(
        self, family: str, name: str, values: npt.ArrayLike | None, spec: tuple[Any, tuple[int, ...], Any]
    ) -> None:
        """Check a column and put it on the device as ``<family>_<name>``."""
        dtype, shape, default = spec
        count = self.link_count if family == "link" else self.dof_count
        if values is None:
            if default is None:
                raise ModelError(f"{family} column {name!r} is required")
            array = np.broadcast_to(np.asarray(default, np.float64), (count, *shape))
        else:
            array = np.asarray(values)
            if array.shape != (count, *shape):
                raise ModelError(
                    f"{family} column {name!r}: expected shape {(count, *shape)}, given {array.shape}"
                )
        if np.isnan(array.astype(np.float64)).any():
            row = int(np.argwhere(np.isnan(array.astype(np.float64)))[0][0])
            raise ModelError(f"{family} column {name!r} is NaN in row {row}")
        if dtype is wp.int32:
            host = np.ascontiguousarray(array, np.int32)
        else:
            host = np.clip(array.astype(np.float64), -_UNBOUNDED, _UNBOUNDED).astype(np.float32)
        field = f"{family}_{name}"
        setattr(self, field, wp.array(host, dtype=dtype, device=self.device))
        setattr(self.data, field, getattr(self, field))


def has_bounded_impulses(model: Model) -> bool:
    """Whether a body bounds the impulses of its contacts."""
    return bool((model.link_max_contact_impulse.numpy() < UNBOUNDED_IMPULSE).any())


def is_any_thin(model: Model) -> bool:
    """Whether a body is thin, see `thin_spin`."""
    inertia = model.link_inertia.numpy().astype(np.float64)
    inertia = inertia[np.linalg.det(inertia) > 0.0]
    size = np.trace(inertia, axis1=1, axis2=2) * np.trace(np.linalg.inv(inertia), axis1=1, axis2=2)
    return bool((size > THIN).any())


def _starts(counts: Sequence[int]) -> npt.NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def _joined(parts: Sequence[Any]) -> npt.NDArray[np.int32]:
    return np.concatenate([np.asarray(p, np.int32).ravel() for p in parts] or [np.zeros(0, np.int32)])


def build_model(
    *,
    types: Sequence[ArticulationType],
    articulation_type: npt.ArrayLike,
    articulation_environment: npt.ArrayLike,
    environment_count: int,
    link: Mapping[str, npt.ArrayLike],
    dof: Mapping[str, npt.ArrayLike],
    gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
    device: str | wp.Device | None = None,
) -> Model:
    """Build the model of all articulations of all environments.

    Args:
        types: Topologies.
        articulation_type: Index into types, shape [articulation_count].
        articulation_environment: Environment, non-decreasing, shape [articulation_count].
        environment_count: Number of environments.
        link: Columns named in `LINK_COLUMNS`; `mass` and `inertia` are required.
        dof: Columns named in `DOF_COLUMNS`; `axis` is required where there are degrees of freedom.
        gravity: Gravity [m/s²], shape [3] or [environment_count, 3].
        device: Device of the arrays.

    Raises:
        ModelError: If a column is unknown, missing, of a wrong shape, or holds NaN, or a mass is not positive.
    """
    model = Model(
        types=types,
        articulation_type=np.asarray(articulation_type, np.int32),
        articulation_environment=np.asarray(articulation_environment, np.int32),
        environment_count=environment_count,
        device=wp.get_device(device),
    )
    for family, given, specs in (("link", link, LINK_COLUMNS), ("dof", dof, DOF_COLUMNS)):
        unknown = sorted(set(given) - set(specs))
        if unknown:
            raise ModelError(f"unknown {family} columns {unknown}; known are {sorted(specs)}")
        for name, spec in specs.items():
            values = given.get(name)
            if values is None and family == "dof" and model.dof_count == 0:
                values = np.zeros((0, *spec[1]))
            model.add_column(family, name, values, spec)
    model.check_balls()
    mass = np.asarray(link["mass"], np.float64)
    if (mass <= 0.0).any():
        row = int(np.flatnonzero(mass <= 0.0)[0])
        raise ModelError(f"mass of link {row} is {mass[row]}, expected a positive number")
    host = np.broadcast_to(np.asarray(gravity, np.float32), (environment_count, 3))
    model.gravity = wp.array(np.ascontiguousarray(host), dtype=wp.vec3, device=model.device)
    model.data.gravity = model.gravity
    return model
