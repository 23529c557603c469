"""The hand-over type: a scene is templates, environments that use them, and shapes shared by all."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from tensorphys_scene.couplings import (
    FixedTendonAxes,
    FixedTendons,
    JointCouplings,
    MimicJoints,
    SpatialTendons,
    TendonAttachments,
)
from tensorphys_scene.errors import SceneValueError
from tensorphys_scene.kinds import (
    AxisType,
    CombineMode,
    DriveType,
    JointType,
    ShapeType,
    SphereFillMode,
)
from tensorphys_scene.soft import SoftKind, SoftPrims
from tensorphys_scene.tables import (
    Articulations,
    Axes,
    Bodies,
    BodyForces,
    FaceMaterials,
    Joints,
    Links,
    Materials,
    Shapes,
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of the whole scene.

    Attributes:
        gravity: Gravity vector [stage length/s²], world axes.
        meters_per_unit, kilograms_per_unit: Stage units in metres and kilograms.
        up_axis: "Y" or "Z".
        steps_per_second: Authored step rate [1/s].
        bounce_threshold: Approach speed above which restitution acts [stage length/s]; NaN for the default.
        path: Prim path of the physics scene, "" where the stage has none.
        solver: "TGS" or "PGS", as authored.
        collision_system: "PCM" or "SAT", as authored.
        friction_type: "patch", as authored.
        friction_correlation_distance, friction_offset_threshold: Distances of friction anchors and of the onset of
            friction [stage length]; −inf for the defaults.
        max_bias_coefficient: Bound of the positional bias [1/s].
        min_position_iterations, max_position_iterations, min_velocity_iterations, max_velocity_iterations: Bounds of
            the solver counts of all objects.
        stabilization, ccd, enhanced_determinism, external_forces_every_iteration, solve_articulation_contact_last,
            quasistatic: Flags of the solver.
        sleeping: Whether bodies may fall asleep.
        scene_queries: Whether scene queries are answered.
        update: "Synchronous", "Asynchronous" or "Disabled".
        report_kinematic_pairs, report_kinematic_static_pairs: Whether contacts of kinematic bodies with each other and
            with static shapes are reported.
        gpu_capacities: Authored sizes of buffers, by attribute name.
    """

    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    meters_per_unit: float = 1.0
    kilograms_per_unit: float = 1.0
    up_axis: str = "Z"
    steps_per_second: float = 60.0
    bounce_threshold: float = float("nan")
    path: str = ""
    solver: str = "TGS"
    collision_system: str = "PCM"
    friction_type: str = "patch"
    friction_correlation_distance: float = float("-inf")
    friction_offset_threshold: float = float("-inf")
    max_bias_coefficient: float = float("inf")
    min_position_iterations: int = 1
    max_position_iterations: int = 255
    min_velocity_iterations: int = 0
    max_velocity_iterations: int = 255
    stabilization: bool = False
    ccd: bool = False
    enhanced_determinism: bool = False
    external_forces_every_iteration: bool = False
    solve_articulation_contact_last: bool = False
    quasistatic: bool = False
    sleeping: bool = True
    scene_queries: bool = True
    update: str = "Synchronous"
    report_kinematic_pairs: bool = False
    report_kinematic_static_pairs: bool = False
    gpu_capacities: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Mesh:
    """A triangle mesh.

    Attributes:
        points: Vertices [m], shape [point_count, 3], float64.
        triangles: Vertex indices, counter-clockwise from outside, shape [triangle_count, 3], int32.
        groups: Group of each triangle that :class:`FaceMaterials` name, −1 where none, shape [triangle_count], int32;
            empty where no triangle is in one.
    """

    points: npt.NDArray[np.float64]
    triangles: npt.NDArray[np.int32]
    groups: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))

    def __post_init__(self) -> None:
        if self.groups.size and self.groups.shape != self.triangles.shape[:1]:
            raise SceneValueError(
                f"mesh.groups: expected one for each of {len(self.triangles)} triangles, given {self.groups.shape}"
            )


_CODES: tuple[tuple[str, str, type[IntEnum]], ...] = (
    ("joints", "type", JointType),
    ("axes", "axis", AxisType),
    ("axes", "drive_type", DriveType),
    ("materials", "friction_combine", CombineMode),
    ("materials", "restitution_combine", CombineMode),
    ("materials", "damping_combine", CombineMode),
    ("shapes", "sphere_fill_mode", SphereFillMode),
)


@dataclass(frozen=True, kw_only=True)
class Template:
    """What one environment holds. Paths are relative to the environment's root prim ("" for the root itself).

    Attributes:
        prims: Paths of all prims of the subtree in depth-first order, physics or not, the root first.
        bodies, shapes, materials, joints, axes, links, articulations: Tables.
        face_materials, body_forces: Tables of materials of faces and of constant loads.
        mimic_joints, joint_couplings, fixed_tendons, fixed_tendon_axes, spatial_tendons, tendon_attachments: Tables
            of couplings.
        soft_prims: Deformables and particles as data.
        meshes: Meshes that shapes refer to.
        filtered_pairs: Pairs of shape rows that do not collide, shape [pair_count, 2], int32.
    """

    prims: tuple[str, ...] = ("",)
    bodies: Bodies = field(default_factory=Bodies)
    shapes: Shapes = field(default_factory=Shapes)
    materials: Materials = field(default_factory=Materials)
    joints: Joints = field(default_factory=Joints)
    axes: Axes = field(default_factory=Axes)
    links: Links = field(default_factory=Links)
    articulations: Articulations = field(default_factory=Articulations)
    face_materials: FaceMaterials = field(default_factory=FaceMaterials)
    body_forces: BodyForces = field(default_factory=BodyForces)
    mimic_joints: MimicJoints = field(default_factory=MimicJoints)
    joint_couplings: JointCouplings = field(default_factory=JointCouplings)
    fixed_tendons: FixedTendons = field(default_factory=FixedTendons)
    fixed_tendon_axes: FixedTendonAxes = field(default_factory=FixedTendonAxes)
    spatial_tendons: SpatialTendons = field(default_factory=SpatialTendons)
    tendon_attachments: TendonAttachments = field(default_factory=TendonAttachments)
    soft_prims: SoftPrims = field(default_factory=SoftPrims)
    meshes: tuple[Mesh, ...] = ()
    filtered_pairs: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 2), np.int32))

    def __post_init__(self) -> None:
        references = [
            ("shapes", "body", self.bodies.count),
            ("shapes", "mesh", len(self.meshes)),
            ("shapes", "material", self.materials.count),
            ("joints", "body0", self.bodies.count),
            ("joints", "body1", self.bodies.count),
            ("axes", "joint", self.joints.count),
            ("links", "body", self.bodies.count),
            ("links", "joint", self.joints.count),
            ("links", "parent", self.links.count),
            ("links", "articulation", self.articulations.count),
            ("joint_couplings", "joint0", self.joints.count),
            ("joint_couplings", "joint1", self.joints.count),
            ("tendon_attachments", "parent", self.tendon_attachments.count),
        ]
        required = [
            ("mimic_joints", "axis", self.axes.count),
            ("mimic_joints", "reference", self.axes.count),
            ("joint_couplings", "joint", self.joints.count),
            ("fixed_tendon_axes", "tendon", self.fixed_tendons.count),
            ("fixed_tendon_axes", "axis", self.axes.count),
            ("tendon_attachments", "tendon", self.spatial_tendons.count),
            ("tendon_attachments", "body", self.bodies.count),
            ("face_materials", "shape", self.shapes.count),
            ("face_materials", "material", self.materials.count),
            ("body_forces", "body", self.bodies.count),
        ]
        for table_name, column_name, bound in references:
            self._check_index(table_name, column_name, -1, bound)
        for table_name, column_name, bound in required:
            self._check_index(table_name, column_name, 0, bound)
        self._check_values()
        self._check_couplings()

    def _check_index(self, table_name: str, column_name: str, first: int, bound: int) -> None:
        table = getattr(self, table_name)
        values = getattr(table, column_name)
        bad = np.flatnonzero((values < first) | (values >= bound))
        if bad.size:
            row = int(bad[0])
            lowest = "−1" if first < 0 else "0"
            raise SceneValueError(
                f"{table_name}.{column_name} of {table.path[row]} is {int(values[row])}, expected {lowest} to {bound - 1}"
            )

    def _check_couplings(self) -> None:
        for name in ("fixed_tendons", "spatial_tendons", "tendon_attachments"):
            table = getattr(self, name)
            if len(table.names) != table.count:
                raise SceneValueError(f"{name}.names: expected {table.count} names, given {len(table.names)}")
        soft = self.soft_prims
        if len(soft.data) != soft.count:
            raise SceneValueError(f"soft_prims.data: expected {soft.count} entries, given {len(soft.data)}")
        for row in np.flatnonzero(~np.isin(soft.kind, [int(kind) for kind in SoftKind])):
            raise SceneValueError(f"kind of the soft prim {soft.path[row]} is {int(soft.kind[row])}")
        mimics = self.mimic_joints
        for row in np.flatnonzero(mimics.axis == mimics.reference):
            raise SceneValueError(f"{mimics.path[row]} is a mimic joint that follows itself")
        attachments = self.tendon_attachments
        for row in np.flatnonzero(attachments.parent >= np.arange(attachments.count)):
            raise SceneValueError(f"tendon attachment {attachments.path[row]} stands before its parent")

    def _check_values(self) -> None:
        moving = self.bodies.enabled & ~self.bodies.kinematic
        for row in np.flatnonzero(moving & ~(self.bodies.mass > 0.0)):
            raise SceneValueError(
                f"mass of {self.bodies.path[row]} is {self.bodies.mass[row]}, expected a positive number"
            )
        for row in np.flatnonzero(self.axes.lower > self.axes.upper):
            raise SceneValueError(
                f"lower limit {self.axes.lower[row]} of {self.axes.path[row]} is above its upper limit {self.axes.upper[row]}"
            )
        if len(self.axes.names) != self.axes.count:
            raise SceneValueError(
                f"axes.names: expected {self.axes.count} names, given {len(self.axes.names)}"
            )
        for row in np.flatnonzero(self.links.parent >= np.arange(self.links.count)):
            raise SceneValueError(f"link {self.links.path[row]} stands before its parent")
        unknown = ~np.isin(self.shapes.type, [int(kind) for kind in ShapeType])
        for shape in np.flatnonzero(unknown):
            raise SceneValueError(
                f"shape type of {self.shapes.path[shape]} is {int(self.shapes.type[shape])}"
            )
        for name, column, kinds in _CODES:
            table = getattr(self, name)
            values = getattr(table, column)
            for row in np.flatnonzero(~np.isin(values, [int(kind) for kind in kinds])):
                raise SceneValueError(
                    f"{name}.{column} of {table.path[row]} is {int(values[row])}, which is no {kinds.__name__}"
                )

    def replace(self, **changes: object) -> Template:
        """A copy with other tables, checked again."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Environments:
    """Which template stands where.

    Attributes:
        path: Root prim path of each environment; "" where the whole stage is the one environment.
        template: Index of the template of each environment, shape [count], int32.
        origin: Translation of each environment's frame in the world [m], shape [count, 3], float64.
    """

    path: tuple[str, ...] = ("",)
    template: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))
    origin: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((1, 3)))

    def __post_init__(self) -> None:
        count = len(self.path)
        if self.template.shape != (count,) or self.origin.shape != (count, 3):
            raise SceneValueError(
                f"environments: expected {count} templates and origins, given {self.template.shape} and {self.origin.shape}"
            )
        if not np.isfinite(self.origin).all():
            row = int(np.argwhere(~np.isfinite(self.origin))[0][0])
            raise SceneValueError(f"origin of environment {self.path[row]} is not finite")

    @property
    def count(self) -> int:
        """Number of environments."""
        return len(self.path)


@dataclass(frozen=True, kw_only=True)
class Scene:
    """All that a simulation is built from; plain data, picklable, buildable by hand.

    Attributes:
        settings: Settings of the scene.
        templates: What environments hold.
        environments: Which template stands where.
        shared: Static shapes, their materials and meshes that belong to all environments; poses in the world frame,
            absolute prim paths; it has no bodies, joints or articulations.
        overrides: Columns that differ between environments of one template, by
            (template index, "table.column"): array of shape [environments of that template, rows, ...].
        findings: What the parser ignored, corrected or does not support, one (prim path, text) each.
        corrected: Those of the findings that say what was used in place of what the stage says.
        read: Authored physics properties that the parser used: (prim path, names) of each prim that has any.
    """

    settings: Settings = field(default_factory=Settings)
    templates: tuple[Template, ...] = (Template(),)
    environments: Environments = field(default_factory=Environments)
    shared: Template = field(default_factory=Template)
    overrides: Mapping[tuple[int, str], npt.NDArray[np.float64]] = field(default_factory=dict)
    findings: tuple[tuple[str, str], ...] = ()
    corrected: tuple[tuple[str, str], ...] = ()
    read: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def __post_init__(self) -> None:
        if self.shared.bodies.count or self.shared.joints.count:
            raise SceneValueError("scene.shared holds static shapes only, given bodies or joints")
        index = self.environments.template
        if ((index < 0) | (index >= len(self.templates))).any():
            raise SceneValueError(
                f"environments.template: expected 0 to {len(self.templates) - 1}, given {index.min()} to {index.max()}"
            )
        for (template, name), values in self.overrides.items():
            table, column_name = name.split(".")
            base = getattr(getattr(self.templates[template], table), column_name)
            shape = (int((index == template).sum()), *base.shape)
            if values.shape != shape:
                raise SceneValueError(f"override {name}: expected shape {shape}, given {values.shape}")

    def replace(self, **changes: object) -> Scene:
        """A copy with other parts, checked again."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]
