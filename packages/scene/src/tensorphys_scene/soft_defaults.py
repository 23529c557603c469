"""Values that the schemas of deformables and particles give to attributes that are not authored.

Numbers as a schema writes them: lengths and masses in the units of whatever stage they are read for; −inf where the
simulation is to choose. Attributes of particle systems have no prefix.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

_INF = float("inf")

_DEFORMABLE = {
    "deformableEnabled": True,
    "disableGravity": False,
    "selfCollision": False,
    "selfCollisionFilterDistance": -_INF,
    "settlingThreshold": 0.1,
    "sleepThreshold": 0.05,
    "sleepDamping": 10.0,
    "solverPositionIterationCount": 16,
    "vertexVelocityDamping": 0.005,
    "maxDepenetrationVelocity": _INF,
    "enableCCD": False,
}
_DEFORMABLE_MATERIAL = {
    "youngsModulus": 5.0e7,
    "poissonsRatio": 0.45,
    "dynamicFriction": 0.25,
    "elasticityDamping": 0.005,
    "dampingScale": 1.0,
    "density": 0.0,
}
_SURFACE = {
    "bendingStiffnessScale": 1.0,
    "collisionIterationMultiplier": 1.0,
    "collisionPairUpdateFrequency": 1,
    "flatteningEnabled": False,
    "maxVelocity": _INF,
}
_SURFACE_MATERIAL = {
    "youngsModulus": -_INF,
    "poissonsRatio": 0.0,
    "thickness": 0.0,
    "dynamicFriction": 0.25,
    "density": 0.0,
}
_OMNI = {
    "deformableBodyEnabled": True,
    "kinematicEnabled": False,
    "startsAsleep": False,
    "mass": 0.0,
    "restBendAnglesDefault": "flatDefault",
    "density": 0.0,
    "staticFriction": 0.0,
    "dynamicFriction": 0.0,
    "youngsModulus": 0.0,
    "poissonsRatio": 0.25,
    "surfaceThickness": 0.0,
    "surfaceStretchStiffness": 0.0,
    "surfaceShearStiffness": 0.0,
    "surfaceBendStiffness": 0.0,
    "stiffness": _INF,
    "damping": 0.0,
    "attachmentEnabled": True,
}
_BODY = {
    "disableGravity": False,
    "linearDamping": 0.0,
    "maxLinearVelocity": _INF,
    "maxDepenetrationVelocity": _INF,
    "selfCollision": False,
    "selfCollisionFilterDistance": -_INF,
    "settlingDamping": 10.0,
    "settlingThreshold": 0.1,
    "sleepThreshold": 0.05,
    "solverPositionIterationCount": 16,
    "enableSpeculativeCCD": False,
    "resolution": 0,
}
_SYSTEM = {
    "particleSystemEnabled": True,
    "particleContactOffset": 0.05,
    "contactOffset": -_INF,
    "restOffset": -_INF,
    "solidRestOffset": -_INF,
    "fluidRestOffset": -_INF,
    "enableCCD": False,
    "globalSelfCollisionEnabled": True,
    "nonParticleCollisionEnabled": True,
    "maxNeighborhood": 96,
    "neighborhoodScale": 1.01,
    "maxVelocity": _INF,
    "maxDepenetrationVelocity": _INF,
    "solverPositionIterationCount": 16,
    "wind": (0.0, 0.0, 0.0),
}
_PARTICLE = {
    "particleEnabled": True,
    "particleGroup": 0,
    "selfCollision": True,
    "fluid": True,
    "pressure": 0.0,
    "selfCollisionFilter": True,
}
_CLOTH = {
    "springStretchStiffness": 1.5,
    "springShearStiffness": 1.5,
    "springBendStiffness": 1.5,
    "springDamping": 10.0,
    "disableMeshWelding": False,
}
_PBD = {
    "friction": 0.2,
    "damping": 0.0,
    "gravityScale": 1.0,
    "lift": 0.0,
    "drag": 0.0,
    "viscosity": 0.0,
    "cohesion": 0.0,
    "surfaceTension": 0.0,
    "adhesion": 0.0,
    "adhesionOffsetScale": 0.0,
    "vorticityConfinement": 0.0,
    "cflCoefficient": 1.0,
    "particleFrictionScale": 1.0,
    "particleAdhesionScale": 1.0,
    "density": 0.0,
}

_BY_PREFIX: Mapping[str, Mapping[str, Any]] = {
    "physxDeformable:": _DEFORMABLE,
    "physxDeformableBodyMaterial:": _DEFORMABLE_MATERIAL,
    "physxDeformableSurface:": _SURFACE,
    "physxDeformableSurfaceMaterial:": _SURFACE_MATERIAL,
    "omniphysics:": _OMNI,
    "physxDeformableBody:": _BODY,
    "physxDeformableMaterial:": {"elasticityDamping": 0.0, "bendDamping": 0.0},
    "physxParticle:": _PARTICLE,
    "physxAutoParticleCloth:": _CLOTH,
    "physxPBDMaterial:": _PBD,
    "": _SYSTEM,
}

SOFT_DEFAULTS: Mapping[str, Any] = MappingProxyType(
    {prefix + name: value for prefix, values in _BY_PREFIX.items() for name, value in values.items()}
)
