"""The part of the backend that authors schemas."""

from __future__ import annotations

from typing import Any

from tensorphys_backend import schemas
from tensorphys_backend.interface import PhysicsBackend

__all__ = ["SchemaCalls"]


class SchemaCalls(PhysicsBackend):
    """Hooks for schemas; see ``PhysicsBackend``."""

    def apply_rigid_body_schemas(self, prim: Any) -> None:
        """Apply the vendor's schema of rigid bodies, whose defaults of sleep and damping hold from then on."""
        schemas.apply_rigid_body(prim)

    def apply_collision_schemas(self, prim: Any) -> None:
        """Apply the vendor's schema of colliders."""
        schemas.apply_collision(prim)

    def configure_collision_approximation(self, prim: Any, approximation_type: str) -> None:
        """Apply the schema of an approximation; hulls have at most 60 vertices.

        Raises:
            ValueError: The approximation is none.
        """
        schemas.configure_approximation(prim, approximation_type)

    def apply_joint_schemas(self, prim: Any) -> None:
        """Apply the vendor's schema of joints."""
        prim.AddAppliedSchema("PhysxJointAPI")

    def apply_articulation_schemas(self, prim: Any, self_collisions: bool = False) -> None:
        """Apply the vendor's schema of articulations, with self-collisions as asked."""
        schemas.apply_articulation(prim, self_collisions)

    def strip_articulation_schemas(self, prim: Any) -> None:
        """Take that schema off."""
        schemas.strip_articulation(prim)

    def enable_contact_reporting(self, prim: Any) -> None:
        """Apply the vendor's schema of contact reports with a threshold of zero; contacts here are always reported."""
        schemas.apply_contact_report(prim)

    def get_collision_api(self, prim: Any) -> schemas.CollisionSettings | None:
        """Settings of a collider, None of what is none."""
        return schemas.collision_settings(prim)

    def is_mimic_joint(self, prim: Any) -> bool:
        """Whether a joint follows another one."""
        return schemas.is_mimic(prim)
