"""The tensor API over OpenUSD physics scenes, and the command line.

Importing this module loads neither Warp nor OpenUSD nor NumPy; names load what they need on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tensorphys.creation import TensorApi, acquire_tensor_api, create_simulation_view, reset
from tensorphys.errors import (
    ContactDataOverflowError,
    ContactDataOverflowWarning,
    DataError,
    FrontendError,
    InvalidViewError,
    MissingPackageError,
    StageSelectionError,
    TensorApiError,
    ViewError,
)
from tensorphys.kinds import DofDriveType, DofMotion, DofType, JointType, ObjectType

if TYPE_CHECKING:
    from tensorphys.articulation_view import ArticulationView
    from tensorphys.contact_view import RigidContactView
    from tensorphys.deformable_views import (
        DeformableBodyView,
        DeformableMaterialView,
        SoftBodyMaterialView,
        SoftBodyView,
    )
    from tensorphys.matching import NoMatchError, NotSuitableError, PairingError, PatternError
    from tensorphys.metatype import ArticulationMetatype
    from tensorphys.particle_views import ParticleClothView, ParticleMaterialView, ParticleSystemView
    from tensorphys.rigid_body_view import RigidBodyView
    from tensorphys.sdf_shape_view import SdfShapeView
    from tensorphys.simulation_view import SimulationView

__all__ = [
    "ArticulationMetatype",
    "ArticulationView",
    "ContactDataOverflowError",
    "ContactDataOverflowWarning",
    "DataError",
    "DeformableBodyView",
    "DeformableMaterialView",
    "DofDriveType",
    "DofMotion",
    "DofType",
    "FrontendError",
    "InvalidViewError",
    "JointType",
    "MissingPackageError",
    "NoMatchError",
    "NotSuitableError",
    "ObjectType",
    "PairingError",
    "ParticleClothView",
    "ParticleMaterialView",
    "ParticleSystemView",
    "PatternError",
    "RigidBodyView",
    "RigidContactView",
    "SdfShapeView",
    "SimulationView",
    "SoftBodyMaterialView",
    "SoftBodyView",
    "StageSelectionError",
    "TensorApi",
    "TensorApiError",
    "ViewError",
    "acquire_tensor_api",
    "create_simulation_view",
    "reset",
]

# Where names live that are not loaded with this module.
_LATER = {
    "ArticulationMetatype": "tensorphys.metatype",
    "ArticulationView": "tensorphys.articulation_view",
    "DeformableBodyView": "tensorphys.deformable_views",
    "DeformableMaterialView": "tensorphys.deformable_views",
    "NoMatchError": "tensorphys.matching",
    "NotSuitableError": "tensorphys.matching",
    "PairingError": "tensorphys.matching",
    "ParticleClothView": "tensorphys.particle_views",
    "ParticleMaterialView": "tensorphys.particle_views",
    "ParticleSystemView": "tensorphys.particle_views",
    "PatternError": "tensorphys.matching",
    "RigidBodyView": "tensorphys.rigid_body_view",
    "RigidContactView": "tensorphys.contact_view",
    "SdfShapeView": "tensorphys.sdf_shape_view",
    "SimulationView": "tensorphys.simulation_view",
    "SoftBodyMaterialView": "tensorphys.deformable_views",
    "SoftBodyView": "tensorphys.deformable_views",
}


def __getattr__(name: str) -> Any:
    module = _LATER.get(name)
    if module is None:
        raise AttributeError(f"module 'tensorphys' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(module), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
