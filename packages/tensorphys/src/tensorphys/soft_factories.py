"""Makers of the views of particles and deformables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from tensorphys.core import Core
    from tensorphys.deformable_views import (
        DeformableBodyView,
        DeformableMaterialView,
        SoftBodyMaterialView,
        SoftBodyView,
    )
    from tensorphys.particle_views import ParticleClothView, ParticleMaterialView, ParticleSystemView
    from tensorphys.subspaces import Subspaces

__all__ = ["SoftViewFactories"]

OnNoMatch = Literal["raise", "empty"]


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

    def create_soft_body_view(
        self, pattern: str | Sequence[str], *, on_no_match: OnNoMatch | None = None
    ) -> SoftBodyView:
        """View of volume deformables by the names of the older API, whichever schemas describe them.

        Args:
            pattern: Prim path pattern, or a list; it matches deformable bodies, or their simulation or collision meshes.
            on_no_match: As for ``create_articulation_view``.

        Raises:
            PatternError: The text is no pattern.
            NoMatchError: It matches nothing.
            NotSuitableError: It matches prims, none of which is a volume deformable.
        """
        self._core.require_valid("SimulationView.create_soft_body_view")
        from tensorphys.deformable_views import create_soft_body_view

        skip = self._no_match(on_no_match)
        return self._keep(create_soft_body_view(self._core, pattern, skip, self._subspaces))

    def create_soft_body_material_view(
        self, pattern: str | Sequence[str], *, on_no_match: OnNoMatch | None = None
    ) -> SoftBodyMaterialView:
        """View of materials that deformables have; arguments and errors as for :meth:`create_soft_body_view`."""
        self._core.require_valid("SimulationView.create_soft_body_material_view")
        from tensorphys.deformable_views import create_soft_body_material_view

        return self._keep(create_soft_body_material_view(self._core, pattern, self._no_match(on_no_match)))

    def create_volume_deformable_body_view(
        self, pattern: str | Sequence[str], *, on_no_match: OnNoMatch | None = None
    ) -> DeformableBodyView:
        """View of volume deformables; arguments and errors as for :meth:`create_soft_body_view`."""
        return self._deformables("create_volume_deformable_body_view", pattern, on_no_match, surface=False)

    def create_surface_deformable_body_view(
        self, pattern: str | Sequence[str], *, on_no_match: OnNoMatch | None = None
    ) -> DeformableBodyView:
        """View of surface deformables; arguments and errors as for :meth:`create_soft_body_view`."""
        return self._deformables("create_surface_deformable_body_view", pattern, on_no_match, surface=True)

    def create_deformable_material_view(
        self, pattern: str | Sequence[str], *, on_no_match: OnNoMatch | None = None
    ) -> DeformableMaterialView:
        """View of materials that deformables have; arguments and errors as for :meth:`create_soft_body_view`."""
        self._core.require_valid("SimulationView.create_deformable_material_view")
        from tensorphys.deformable_views import create_deformable_material_view

        return self._keep(create_deformable_material_view(self._core, pattern, self._no_match(on_no_match)))

    def _deformables(
        self, what: str, pattern: str | Sequence[str], on_no_match: OnNoMatch | None, *, surface: bool
    ) -> DeformableBodyView:
        self._core.require_valid(f"SimulationView.{what}")
        from tensorphys.deformable_views import create_deformable_body_view

        skip = self._no_match(on_no_match)
        view = create_deformable_body_view(self._core, pattern, skip, self._subspaces, surface=surface)
        return self._keep(view)
