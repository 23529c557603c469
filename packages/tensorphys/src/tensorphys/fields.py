"""The table of what views read and write: one entry a quantity of the tensor API.

Quantities of the *state* group live on the simulation device and move through gather and scatter kernels;
those of the *property* group are always CPU arrays (tensor_api.md, 2.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["ARTICULATION_FIELDS", "ARTICULATION_QUANTITIES", "RIGID_BODY_FIELDS", "Field", "Quantity"]

Items = Literal["row", "link", "dof", "shape", "tendon", "particle", "spring", "node", "element"]
Group = Literal["state", "property"]
Conversion = Literal[
    "plain", "pose", "root_velocity", "bounded", "limits", "flag", "com", "inertia", "inverse", "material", "offset",
    "joint_wrench", "columns", "envelope", "disabled", "target", "points", "particle_mass",
]  # fmt: skip


@dataclass(frozen=True)
class Field:
    """One quantity of a view.

    Attributes:
        name: Name after ``get_`` and ``set_``.
        items: What a row holds: one thing ("row"), its links, degrees of freedom, collision shapes or tendons.
        width: Numbers of one item; 0 where an item is one number and has no axis of its own.
        dtype: Type of the numbers as the view hands them out.
        unit: Unit; where translations and rotations differ, of both. Lengths and masses are in stage units.
        source: Where the truth lives: the attribute path below the simulation; "" where it is the metatype.
        slots: Numbering of the items in that array.
        columns: Arrays of its numbers where each has one of its own; the first is the source.
        conversion: What lies between the array and the view.
        group: Whether it lives on the simulation device ("state") or on the CPU ("property").
        readable, writable: Whether there is a getter and a setter.
        is_state: Whether writing it changes poses or velocities, so that derived ones are updated at once.
        measured: Whether it tells of the last step, and is worked out when it is asked for.
        flat: Whether the numbers of all items of a row follow each other on one axis.
    """

    name: str
    items: Items
    width: int
    unit: str
    source: str
    slots: str
    dtype: Literal["float32", "uint8"] = "float32"
    conversion: Conversion = "plain"
    group: Group = "state"
    readable: bool = True
    writable: bool = True
    is_state: bool = False
    measured: bool = False
    columns: tuple[str, ...] = ()
    flat: bool = False

    @property
    def is_derived(self) -> bool:
        """Whether its numbers follow from the state by kinematics, instead of being written."""
        return self.measured or self.source.startswith("state.link_")

    def shape(self, count: int, items: int) -> tuple[int, ...]:
        """Shape of the array of a view.

        Args:
            count: Rows of the view.
            items: Items of the widest row.
        """
        if self.flat:
            return (count, items * max(self.width, 1))
        middle = () if self.items == "row" else (items,)
        return (count, *middle, *((self.width,) if self.width else ()))


@dataclass(frozen=True)
class Quantity:
    """Something of an articulation that is evaluated when it is asked for; it can only be read.

    Attributes:
        name: Name after ``get_``.
        unit: Unit; where translations and rotations differ, of both.
        source: Method of ``tensorphys_dynamics.Quantities`` that evaluates it.
        slots: Numbering of its items in a flat array of the model; ``None`` where it has a row an articulation.
        is_position: Whether it is a point, given in the world unless it is local.
        one_kind: Whether it needs a view of articulations of one kind.
        floating: Whether it needs floating bases.
    """

    name: str
    unit: str
    source: str
    slots: str | None = None
    is_position: bool = False
    one_kind: bool = False
    floating: bool = False


def _table(*fields: Field) -> dict[str, Field]:
    return {field.name: field for field in fields}


def _dof(name: str, unit: str, source: str, **options: object) -> Field:
    return Field(name, "dof", 0, unit, source, "dof", **options)  # type: ignore[arg-type]


def _columns(name: str, conversion: Conversion, unit: str, *columns: str) -> Field:
    """A property of degrees of freedom whose numbers stand in arrays of their own."""
    return Field(
        name,
        "dof",
        len(columns),
        unit,
        columns[0],
        "dof",
        conversion=conversion,
        group="property",
        columns=columns,
    )


def _mass_fields(items: Items, scalar: int) -> tuple[Field, ...]:
    """Mass properties: of each link of an articulation, or of the body of a row."""

    def field(name: str, width: int, unit: str, source: str, **options: object) -> Field:
        return Field(name, items, width, unit, source, "link", group="property", **options)  # type: ignore[arg-type]

    return (
        field("masses", scalar, "kg", "model.link_mass"),
        field("inv_masses", scalar, "1/kg", "model.link_mass", conversion="inverse", writable=False),
        field("coms", 7, "m, -", "model.link_com", conversion="com"),
        field("inertias", 9, "kg m²", "model.link_inertia", conversion="inertia"),
        field("inv_inertias", 9, "1/(kg m²)", "model.link_inertia", conversion="inverse", writable=False),
        field("disable_gravities", scalar, "-", "model.link_gravity", dtype="uint8", conversion="flag"),
    )


_TENDON_COLUMNS = {
    "stiffnesses": ("stiffness", "N/m"),
    "dampings": ("damping", "N s/m"),
    "limit_stiffnesses": ("limit_stiffness", "N/m"),
    "limits": ("limits", "m"),
    "rest_lengths": ("rest_length", "m"),
    "offsets": ("offset", "m"),
}


def _tendon_fields(kind: Literal["fixed", "spatial"], *names: str) -> tuple[Field, ...]:
    """Properties of tendons. They have getters of their own and one setter together."""

    def field(name: str) -> Field:
        column, unit = _TENDON_COLUMNS[name]
        source, width = f"joints.model.{kind}_tendon_{column}", 2 if name == "limits" else 0
        title = f"{kind}_tendon_{name}"
        return Field(title, "tendon", width, unit, source, f"{kind}_tendon", writable=False)

    return tuple(field(name) for name in names)


_SHAPE_FIELDS = (
    Field(
        "material_properties", "shape", 3, "-, -, -", "contact_model.static_friction", "shape",
        conversion="material", group="property",
    ),
    Field(
        "contact_offsets", "shape", 0, "m", "contact_offset", "shape",
        conversion="offset", group="property",
    ),
    Field(
        "rest_offsets", "shape", 0, "m", "contact_model.rest_offset", "shape",
        conversion="offset", group="property",
    ),
)  # fmt: skip

ARTICULATION_FIELDS = _table(
    Field("root_transforms", "row", 7, "m, -", "state.link_pose", "root", conversion="pose", is_state=True),
    Field(
        "root_velocities", "row", 6, "m/s, rad/s", "state.link_velocity", "root",
        conversion="root_velocity", is_state=True,
    ),
    Field("link_transforms", "link", 7, "m, -", "state.link_pose", "link", conversion="pose", writable=False),
    Field("link_velocities", "link", 6, "m/s, rad/s", "state.link_velocity", "link", writable=False),
    Field(
        "link_accelerations", "link", 6, "m/s², rad/s²", "loads.link_acceleration", "link",
        writable=False, measured=True,
    ),
    Field(
        "link_incoming_joint_force", "link", 6, "N, N m", "loads.joint_wrench", "link",
        conversion="joint_wrench", writable=False, measured=True,
    ),
    Field(
        "dof_projected_joint_forces", "dof", 0, "N or N m", "loads.joint_force", "dof_velocity",
        writable=False, measured=True,
    ),
    _dof("dof_positions", "m or rad", "state.dof_position", is_state=True),
    Field("dof_velocities", "dof", 0, "m/s or rad/s", "state.velocity", "dof_velocity", is_state=True),
    _dof("dof_position_targets", "m or rad", "control.position_target"),
    _dof("dof_velocity_targets", "m/s or rad/s", "control.velocity_target"),
    _dof("dof_actuation_forces", "N or N m", "control.actuation"),
    _dof("dof_types", "-", "", dtype="uint8", group="property", writable=False),
    _dof("dof_motions", "-", "", dtype="uint8", group="property", writable=False),
    _dof("drive_types", "-", "model.dof_drive_type", dtype="uint8", group="property", writable=False),
    Field(
        "dof_limits", "dof", 2, "m or rad", "model.dof_lower", "dof", conversion="limits", group="property"
    ),
    _dof("dof_stiffnesses", "N/m or N m/rad", "model.dof_stiffness", group="property"),
    _dof("dof_dampings", "N s/m or N m s/rad", "model.dof_damping", group="property"),
    _dof("dof_max_forces", "N or N m", "model.dof_max_force", conversion="bounded", group="property"),
    _dof("dof_max_velocities", "m/s or rad/s", "model.dof_max_velocity", conversion="bounded", group="property"),
    _dof("dof_armatures", "kg or kg m²", "model.dof_armature", group="property"),
    _dof("dof_friction_coefficients", "-", "model.dof_friction_coefficient", group="property"),
    _columns(
        "dof_friction_properties", "columns", "N or N m, N or N m, N s/m or N m s/rad",
        "model.dof_static_friction", "model.dof_dynamic_friction", "model.dof_viscous_friction",
    ),
    _columns(
        "dof_drive_model_properties", "envelope", "m/(s N) or rad/(s N m), m/s or rad/s, N s/m or N m s/rad",
        "model.dof_speed_effort_gradient", "model.dof_max_actuator_velocity", "model.dof_velocity_resistance",
    ),
    *_mass_fields("link", 0),
    *_SHAPE_FIELDS,
    *_tendon_fields(
        "fixed", "stiffnesses", "dampings", "limit_stiffnesses", "limits", "rest_lengths", "offsets"
    ),
    *_tendon_fields("spatial", "stiffnesses", "dampings", "limit_stiffnesses", "offsets"),
)  # fmt: skip

ARTICULATION_QUANTITIES = {
    quantity.name: quantity
    for quantity in (
        Quantity("jacobians", "-, m or 1/m, -", "jacobian", one_kind=True),
        Quantity("generalized_mass_matrices", "kg, kg m, kg m²", "mass_matrix", one_kind=True),
        Quantity("mass_matrices", "kg, kg m, kg m²", "free_base_mass_matrix", one_kind=True),
        Quantity("gravity_compensation_forces", "N or N m", "gravity_compensation", "generalized"),
        Quantity(
            "coriolis_and_centrifugal_compensation_forces", "N or N m", "coriolis_compensation", "generalized"
        ),
        Quantity("generalized_gravity_forces", "N or N m", "free_base_gravity_compensation", "dof"),
        Quantity("coriolis_and_centrifugal_forces", "N or N m", "free_base_coriolis_compensation", "dof"),
        Quantity("articulation_mass_center", "m", "mass_centre", is_position=True),
        Quantity(
            "articulation_centroidal_momentum",
            "kg, kg m, kg m²; N, N m",
            "centroidal_momentum",
            floating=True,
        ),
    )
}

RIGID_BODY_FIELDS = _table(
    Field("transforms", "row", 7, "m, -", "state.link_pose", "link", conversion="pose", is_state=True),
    Field(
        "velocities", "row", 6, "m/s, rad/s", "state.link_velocity", "link",
        conversion="root_velocity", is_state=True,
    ),
    Field(
        "accelerations", "row", 6, "m/s², rad/s²", "loads.link_acceleration", "link",
        writable=False, measured=True,
    ),
    Field(
        "kinematic_targets", "row", 7, "m, -", "state.root_target", "root_pose", conversion="target", readable=False
    ),
    *_mass_fields("row", 1),
    Field(
        "disable_simulations", "row", 1, "-", "model.link_disabled", "link", dtype="uint8",
        conversion="disabled", group="property",
    ),
    *_SHAPE_FIELDS,
)  # fmt: skip
