"""Tetrahedral and shell deformables: meshing, elasticity, implicit integration, stresses, on CPU and CUDA."""

from tensorphys_fem.body import Body, Scheme
from tensorphys_fem.control import FemControl
from tensorphys_fem.embedding import EmbeddedPoints, Embedding, embed_points
from tensorphys_fem.errors import (
    ArrayError,
    FemError,
    FemWarning,
    MaterialError,
    MeshError,
    MeshRepairWarning,
    MissingPackageError,
    ModelError,
    SettingsError,
)
from tensorphys_fem.material import Elasticity, Material
from tensorphys_fem.measures import FemMeasures
from tensorphys_fem.mesh import MeshReport, ShellMesh, TetMesh
from tensorphys_fem.model import FemModel
from tensorphys_fem.protocols import NodeRows
from tensorphys_fem.quality import QualityReport, measure_quality
from tensorphys_fem.settings import SolverSettings
from tensorphys_fem.solver import FemSolver, Status
from tensorphys_fem.state import FemState
from tensorphys_fem.tetrahedralize import tetrahedralize
from tensorphys_fem.voxels import VoxelMesh, box_mesh, voxel_mesh

__all__ = [
    "ArrayError",
    "Body",
    "Elasticity",
    "EmbeddedPoints",
    "Embedding",
    "FemControl",
    "FemError",
    "FemMeasures",
    "FemModel",
    "FemSolver",
    "FemState",
    "FemWarning",
    "Material",
    "MaterialError",
    "MeshError",
    "MeshRepairWarning",
    "MeshReport",
    "MissingPackageError",
    "ModelError",
    "NodeRows",
    "QualityReport",
    "Scheme",
    "SettingsError",
    "ShellMesh",
    "SolverSettings",
    "Status",
    "TetMesh",
    "VoxelMesh",
    "box_mesh",
    "embed_points",
    "measure_quality",
    "tetrahedralize",
    "voxel_mesh",
]
