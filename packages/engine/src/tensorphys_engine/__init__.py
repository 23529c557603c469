"""Builds device arrays from a scene, owns the state, steps, replicates, resets and records graphs."""

from tensorphys_engine.articulation_info import ArticulationInfo, ArticulationLabels
from tensorphys_engine.directory import Directory, Entity, EntityColumns
from tensorphys_engine.errors import (
    BuildError,
    ContactOverflowError,
    ContactOverflowWarning,
    DivergenceWarning,
    EngineError,
    ParticleOverflowError,
    ParticleOverflowWarning,
    PathError,
    StepError,
    UnsupportedError,
    UnsupportedWarning,
)
from tensorphys_engine.joint_events import JointBreak
from tensorphys_engine.name_tree import SceneTree
from tensorphys_engine.names import Role
from tensorphys_engine.saved_state import SavedState
from tensorphys_engine.simulation import Simulation

__all__ = [
    "ArticulationInfo",
    "ArticulationLabels",
    "BuildError",
    "ContactOverflowError",
    "ContactOverflowWarning",
    "Directory",
    "DivergenceWarning",
    "EngineError",
    "Entity",
    "EntityColumns",
    "JointBreak",
    "ParticleOverflowError",
    "ParticleOverflowWarning",
    "PathError",
    "Role",
    "SavedState",
    "SceneTree",
    "Simulation",
    "StepError",
    "UnsupportedError",
    "UnsupportedWarning",
]
