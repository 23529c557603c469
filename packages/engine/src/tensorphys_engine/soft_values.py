"""What the prims of a deformable say, whichever generation of schemas they use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_scene import SoftData
from tensorphys_scene.scene import Settings

# Where schemas leave the choice to the simulation; lengths and masses in SI, turned into stage units below.
_YOUNGS_MODULUS = 5.0e5  # Pa
_DENSITY = 1000.0  # kg/m³
_THICKNESS = 1.0e-3  # m
_MAX_PUSH = 1.0  # m/s
_LARGEST_POISSON = 0.499


class SoftValues:
    """Constants of one deformable in stage units.

    Attributes:
        self_collision, filter_distance, max_push: See :class:`~tensorphys_engine.soft_columns.SoftBody`.
        disables_gravity: Whether gravity is asked not to act.
    """

    def __init__(self, body: SoftData, material: SoftData, settings: Settings) -> None:
        self._body, self._material = body, material
        self._length = 1.0 / settings.meters_per_unit
        self._mass = 1.0 / settings.kilograms_per_unit
        self._is_new = any(name.startswith("OmniPhysics") for name in body.schemas)
        self._is_surface = any("Surface" in name for name in (*body.schemas, *material.schemas))
        self.self_collision = bool(self._body_value("selfCollision"))
        distance = float(self._body_value("selfCollisionFilterDistance"))
        self.filter_distance = distance if distance >= 0.0 and math.isfinite(distance) else None
        push = float(self._body_value("maxDepenetrationVelocity"))
        self.max_push = push if math.isfinite(push) else _MAX_PUSH * self._length
        self.disables_gravity = bool(self._body_value("disableGravity"))

    def _body_value(self, name: str) -> Any:
        return self._body.value(("physxDeformableBody:" if self._is_new else "physxDeformable:") + name)

    def _first(self, names: Sequence[str], default: float) -> float:
        """The first authored value, else that of the schema of the material, else the default."""
        for name in names:
            if name in self._material.values:
                return float(self._material.values[name])
        return default

    @property
    def _old_material(self) -> str:
        return (
            "physxDeformableSurfaceMaterial:"
            if "PhysxDeformableSurfaceMaterialAPI" in self._material.schemas
            else "physxDeformableBodyMaterial:"
        )

    def _material_value(self, name: str) -> float:
        """A value of the material in either generation; that of its schema where it is not authored."""
        own = self._old_material + name
        if self._material.schemas and any(s.startswith("PhysxDeformable") for s in self._material.schemas):
            if own in self._material.values or not any(
                s.startswith("OmniPhysics") for s in self._material.schemas
            ):
                return float(self._material.value(own))
        return float(self._material.value("omniphysics:" + name))

    @property
    def youngs_modulus(self) -> float:
        """[force/length²]."""
        value = self._material_value("youngsModulus")
        default = _YOUNGS_MODULUS * self._mass / self._length
        return value if value > 0.0 and math.isfinite(value) else default

    @property
    def poissons_ratio(self) -> float:
        """At most what the solver can take."""
        return min(self._material_value("poissonsRatio"), _LARGEST_POISSON)

    @property
    def dynamic_friction(self) -> float:
        """Coefficient."""
        return max(self._material_value("dynamicFriction"), 0.0)

    @property
    def damping(self) -> float:
        """Ratio of viscous to elastic moduli [s]."""
        names = ("physxDeformableBodyMaterial:elasticityDamping", "physxDeformableMaterial:elasticityDamping")
        default = 0.005 if "PhysxDeformableBodyMaterialAPI" in self._material.schemas else 0.0
        return max(self._first(names, default), 0.0)

    @property
    def damping_scale(self) -> float:
        """Factor of ``damping``."""
        return max(self._first(("physxDeformableBodyMaterial:dampingScale",), 1.0), 0.0)

    @property
    def velocity_damping(self) -> float:
        """[1/s]."""
        if self._is_new:
            return max(float(self._body_value("linearDamping")), 0.0)
        return max(float(self._body_value("vertexVelocityDamping")), 0.0)

    @property
    def thickness(self) -> float:
        """Of a surface [length]."""
        names = ("physxDeformableSurfaceMaterial:thickness", "omniphysics:surfaceThickness")
        value = self._first(names, 0.0)
        return value if value > 0.0 else _THICKNESS * self._length

    def density(self, volume: float, fill: float) -> float:
        """Density [mass/length³] of a mesh of a volume that a body fills in part: from its mass, else its material."""
        mass = float(self._body.values.get("omniphysics:mass", 0.0))
        if mass > 0.0:
            return mass / volume
        value = self._material_value("density")
        return fill * (value if value > 0.0 else _DENSITY * self._mass / self._length**3)

    def velocities(self, count: int, rotation: npt.NDArray[np.float64]) -> Any:
        """Velocities of the nodes at the start, environment axes [length/s]; None where the prim has none for them."""
        for name in ("physxDeformable:simulationVelocities", "velocities"):
            values = self._body.values.get(name)
            if values is not None and np.shape(values) == (count, 3):
                return np.asarray(values, float) @ rotation.T
        return None
