"""A pluggable physics backend: lifecycle, views, scene queries, cloth and events."""

from tensorphys_backend.application import StandaloneApplication
from tensorphys_backend.articulation_handle import AppliedActions, ArticulationHandle
from tensorphys_backend.backend import TensorPhysBackend
from tensorphys_backend.context import PhysicsContext, Timeline
from tensorphys_backend.errors import (
    BackendError,
    ForeignEventError,
    NoContextError,
    NotPlayingError,
    PrimPathError,
    QueryError,
    StaleHandleError,
    TimeStepError,
)
from tensorphys_backend.events import JointBreakEvent
from tensorphys_backend.hits import OverlapHit, RayHit
from tensorphys_backend.interface import PhysicsBackend
from tensorphys_backend.paths import decode_path, encode_path
from tensorphys_backend.rigid_body_handle import RigidBodyHandle
from tensorphys_backend.schemas import CollisionSettings

__all__ = [
    "AppliedActions",
    "ArticulationHandle",
    "BackendError",
    "CollisionSettings",
    "ForeignEventError",
    "JointBreakEvent",
    "NoContextError",
    "NotPlayingError",
    "OverlapHit",
    "PhysicsBackend",
    "PhysicsContext",
    "PrimPathError",
    "QueryError",
    "RayHit",
    "RigidBodyHandle",
    "StaleHandleError",
    "StandaloneApplication",
    "TensorPhysBackend",
    "TimeStepError",
    "Timeline",
    "decode_path",
    "encode_path",
]
