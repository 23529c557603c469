"""Makers of the views of particles and deformables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from tensorphys.errors import MissingPackageError

if TYPE_CHECKING:
    from tensorphys.core import Core
    from tensorphys.particle_views import ParticleClothView, ParticleMaterialView, ParticleSystemView
    from tensorphys.subspaces import Subspaces

__all__ = ["SoftViewFactories"]

OnNoMatch = Literal["raise", "empty"]

# Factories that wait for a package: the package, and what it brings.
_MISSING: dict[str, tuple[str, str]] = {
    "create_soft_body_view": ("tensorphys-fem", "soft bodies"),
    "create_soft_body_material_view": ("tensorphys-fem", "materials of soft bodies"),
    "create_volume_deformable_body_view": ("tensorphys-fem", "volume deformables"),
    "create_surface_deformable_body_view": ("tensorphys-fem", "surface deformables"),
    "create_deformable_material_view": ("tensorphys-fem", "materials of deformables"),
}


def _missing(name: str) -> Exception:
    package, feature = _MISSING[name]
    return MissingPackageError(
        f"SimulationView.{name}", package, f"{feature} come with it, and this version of tensorphys has none"
    )


class SoftViewFactories(ABC):
    """The part of :class:`tensorphys.SimulationView` that makes views of particles and deformables."""

    _core: Core
    _subspaces: Subspaces

    @abstractmethod
    def _no_match(self, asked: OnNoMatch | None) -> OnNoMatch:
        """What happens when a pattern matches nothing."""

    @abstractmethod
    def _keep(self, view: Any) -> Any:
        """Remember a view, and return it."""

    def create_particle_system_view(
        self, pattern: str | Sequence[str], *, on_no_match: OnNoMatch | None = None
    ) -> ParticleSystemView:
        """View of particle systems.

        Args:
            pattern: Prim path pattern, or a list; it matches ``PhysxParticleSystem`` prims that have particles. A system
                outside of the environments is one row and stands for one in each of them.
            on_no_match: As for ``create_articulation_view``.

        Raises:
            PatternError: The text is no pattern.
            NoMatchError: It matches nothing.
            NotSuitableError: It matches prims, none of which is such a system.
        """
        self._core.require_valid("SimulationView.create_particle_system_view")
        from tensorphys.particle_views import create_particle_system_view

        return self._keep(create_particle_system_view(self._core, pattern, self._no_match(on_no_match)))

    def create_particle_cloth_view(
        self, pattern: str | Sequence[str], *, on_no_match: OnNoMatch | None = None
    ) -> ParticleClothView:
        """View of particle cloths; arguments and errors as for :meth:`create_particle_system_view`."""
        self._core.require_valid("SimulationView.create_particle_cloth_view")
        from tensorphys.particle_views import create_particle_cloth_view

        skip = self._no_match(on_no_match)
        return self._keep(create_particle_cloth_view(self._core, pattern, skip, self._subspaces))

    def create_particle_material_view(
        self, pattern: str | Sequence[str], *, on_no_match: OnNoMatch | None = None
    ) -> ParticleMaterialView:
        """View of materials that particles have; arguments and errors as for :meth:`create_particle_system_view`."""
        self._core.require_valid("SimulationView.create_particle_material_view")
        from tensorphys.particle_views import create_particle_material_view

        return self._keep(create_particle_material_view(self._core, pattern, self._no_match(on_no_match)))

    # Views that wait for a package.

    def create_soft_body_view(self, pattern: str) -> Any:
        """Raise: soft bodies come with ``tensorphys-fem``."""
        raise _missing("create_soft_body_view")

    def create_soft_body_material_view(self, pattern: str) -> Any:
        """Raise: soft bodies come with ``tensorphys-fem``."""
        raise _missing("create_soft_body_material_view")

    def create_volume_deformable_body_view(self, pattern: str | Sequence[str]) -> Any:
        """Raise: deformables come with ``tensorphys-fem``."""
        raise _missing("create_volume_deformable_body_view")

    def create_surface_deformable_body_view(self, pattern: str | Sequence[str]) -> Any:
        """Raise: deformables come with ``tensorphys-fem``."""
        raise _missing("create_surface_deformable_body_view")

    def create_deformable_material_view(self, pattern: str | Sequence[str]) -> Any:
        """Raise: deformables come with ``tensorphys-fem``."""
        raise _missing("create_deformable_material_view")
