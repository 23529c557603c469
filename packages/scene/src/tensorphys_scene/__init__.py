"""The hand-over type between a parser and a simulation: frozen tables of NumPy columns."""

from tensorphys_scene.columns import Table, column, equal
from tensorphys_scene.couplings import (
    FixedTendonAxes,
    FixedTendons,
    JointCouplings,
    MimicJoints,
    SpatialTendons,
    TendonAttachments,
)
from tensorphys_scene.efforts import limit_efforts
from tensorphys_scene.errors import SceneError, SceneValueError
from tensorphys_scene.kinds import AxisType, CombineMode, DriveType, JointType, ShapeType, SphereFillMode
from tensorphys_scene.replicate import grid_origins, replicate
from tensorphys_scene.scene import Environments, Mesh, Scene, Settings, Template
from tensorphys_scene.soft import SoftData, SoftKind, SoftPrims
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

__all__ = [
    "Articulations",
    "Axes",
    "AxisType",
    "Bodies",
    "BodyForces",
    "CombineMode",
    "DriveType",
    "Environments",
    "FaceMaterials",
    "FixedTendonAxes",
    "FixedTendons",
    "JointCouplings",
    "JointType",
    "Joints",
    "Links",
    "Materials",
    "Mesh",
    "MimicJoints",
    "Scene",
    "SceneError",
    "SceneValueError",
    "Settings",
    "ShapeType",
    "Shapes",
    "SoftData",
    "SoftKind",
    "SoftPrims",
    "SpatialTendons",
    "SphereFillMode",
    "Table",
    "Template",
    "TendonAttachments",
    "column",
    "equal",
    "grid_origins",
    "limit_efforts",
    "replicate",
]
