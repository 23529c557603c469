"""A stage and its simulation: started, stopped, and kept in step with edits of the stage."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeVar

import numpy as np
from pxr import Usd, UsdPhysics

from tensorphys_backend.asking_colliders import AskingColliders
from tensorphys_backend.carried import carry_state, is_same_layout, patch_parameters
from tensorphys_backend.changes import PendingChanges, StageChanges
from tensorphys_backend.cloth import ClothRows, ParticleRows
from tensorphys_backend.context import PhysicsContext
from tensorphys_backend.errors import NotPlayingError
from tensorphys_backend.poses import RenderLayer, StagePoses
from tensorphys_backend.queries import SceneQueries
from tensorphys_backend.schemas import applied_schemas
from tensorphys_backend.world import World

__all__ = ["LiveStage"]

_Part = TypeVar("_Part")


class LiveStage:
    """A stage, and while it plays or is paused its simulation.

    Args:
        stage: The stage.
        context: Device, steps and settings.
        frontend_name: Array library of views.

    Attributes:
        stage: The stage.
        world: The simulation; None while it is stopped.
        generation: How often batch views were ended.
        build_count: How often a simulation was built for callers.
    """

    def __init__(self, stage: Usd.Stage, context: PhysicsContext, frontend_name: str) -> None:
        self.stage, self._context, self._frontend = stage, context, frontend_name
        self.changes = StageChanges(stage)
        self._layer = RenderLayer(stage, self.changes)
        self.world: World | None = None
        self._kept: World | None = None
        self.generation, self.build_count = 0, 0
        self._reusable = True
        self._poses: StagePoses | None = None
        self._parts: dict[Any, Any] = {}

    def require(self, what: str) -> World:
        """The simulation.

        Raises:
            NotPlayingError: It is stopped.
        """
        if self.world is None:
            raise NotPlayingError(f"{what}: the simulation is stopped; call play first")
        return self.world

    def start(self) -> None:
        """Simulate the stage as it is; a simulation of before is taken again where nothing was edited since."""
        self._layer.clear()
        kept, self._kept = self._kept, None
        edited = bool(self.changes.take())
        if kept is not None and not edited:
            kept.simulation.reset()
            self._use(kept)
            return
        if kept is not None:
            kept.close()
        self._use(self._build())

    def _build(self) -> World:
        self.build_count += 1
        return World(self.stage, self._context, self._frontend)

    def _use(self, world: World | None) -> None:
        self.world = world
        self.generation += 1
        # Edits that were written into a simulation are no part of what its reset goes back to.
        self._reusable = True
        self._poses = None if world is None else StagePoses(self.stage, world)
        self._parts = {}

    def stop(self) -> None:
        """End the simulation; the stage shows what is authored."""
        self._layer.clear()
        if self.world is not None:
            self.world.end_views()
            if self._reusable:
                self._kept = self.world
            else:
                self.world.close()
            self._use(None)

    def forget(self) -> None:
        """Build anew at the next start, whatever was edited."""
        if self._kept is not None:
            self._kept.close()
            self._kept = None

    def close(self) -> None:
        """Take everything off the stage."""
        if self.world is not None:
            self.stop()
        self.forget()
        self._layer.close()
        self.changes.close()

    def end_views(self) -> None:
        """End the use of all batch views that were handed out."""
        if self.world is not None and self.world.has_view:
            self.world.end_views()
            self.generation += 1

    @property
    def poses(self) -> StagePoses:
        """Transforms of prims as they are now."""
        return StagePoses(self.stage, None) if self._poses is None else self._poses

    @property
    def queries(self) -> SceneQueries:
        """Scene queries of the simulation; these four raise ``NotPlayingError`` where it is stopped."""
        return self._part("scene query", SceneQueries)

    @property
    def colliders(self) -> AskingColliders:
        """Colliders of the simulation that ask."""
        return self._part("scene query", AskingColliders)

    @property
    def cloth(self) -> ClothRows:
        """Particles of cloths of the simulation."""
        return self._part("cloth state", ClothRows)

    @property
    def particle_sets(self) -> ParticleRows:
        """Particles of sets and cloths of the simulation."""
        return self._part("particle state", ParticleRows)

    def _part(self, what: str, kind: Callable[[World], _Part]) -> _Part:
        """A part that is made of the simulation on first use, and lives as long as it."""
        world = self.require(what)
        if kind not in self._parts:
            self._parts[kind] = kind(world)
        part: _Part = self._parts[kind]
        return part

    def write_render_layer(self) -> None:
        """Show poses of bodies as they are now; while stopped what is authored."""
        if self.world is None:
            self._layer.clear()
        else:
            self._layer.write(self.poses)

    # Edits while it plays.

    def flush(self) -> None:
        """Take over what was edited since the last call."""
        if self.world is None or not self.changes.pending:
            return
        pending = self.changes.take()
        # What renderers see must not be read as authored.
        self._layer.clear()
        rebuilt = self._matters(pending.structural) or self._matters(pending.changed)
        moved = self._moved(pending.moved)
        if moved is None:
            rebuilt, moved = True, self._moved_bodies(pending.moved)
        if rebuilt:
            self._rebuild(pending, moved)
        elif moved:
            self._reusable = False
            self._place(moved)

    def _matters(self, paths: Collection[str]) -> bool:
        """Whether edits of some prims can change the simulation."""
        world = self.require("flush_changes")
        for path in paths:
            if any(_is_at_or_below(other, path) for other in world.read_paths):
                return True
            prim = self.stage.GetPrimAtPath(path)
            if prim:
                predicate = Usd.TraverseInstanceProxies(Usd.PrimAllPrimsPredicate)
                if any(_is_physical(each) for each in Usd.PrimRange(prim, predicate)):
                    return True
        return False

    def _moved_bodies(self, paths: Collection[str]) -> set[str]:
        """Articulations whose root is or is below some prims, by the names of their rows."""
        world = self.require("flush_changes")
        starts = world.simulation.model.articulation_link_start.numpy()
        links = world.simulation.directory.link_paths
        return {
            name
            for row, name in enumerate(world.rows.articulation)
            for root in (links[int(starts[row])],)
            if any(_is_at_or_below(root, path) or _is_at_or_below(name, path) for path in paths)
        }

    def _moved(self, paths: Collection[str]) -> set[str] | None:
        """Articulations that edits of transforms move as a whole; None where they change more than that."""
        world = self.require("flush_changes")
        if not paths:
            return set()
        simulation = world.simulation
        links, shapes = simulation.directory.link_paths, simulation.directory.shape_paths
        names = world.rows.articulation
        roots = self._moved_bodies(paths)
        owner = simulation.model.link_articulation.numpy()
        before, after = self.poses, StagePoses(self.stage, world)
        for path in paths:
            inside = {link for link, other in enumerate(links) if _is_at_or_below(other, path)}
            if any(names[int(owner[link])] not in roots for link in inside):
                return None
            # A scale that changed is geometry.
            if any(not _same_scale(before.scale(links[link]), after.scale(links[link])) for link in inside):
                return None
            for shape, other in enumerate(shapes):
                if _is_at_or_below(other, path) and world.shape_link(shape) not in inside:
                    return None
        starts = simulation.model.articulation_link_start.numpy()
        bases = [links[int(starts[row])] for row, name in enumerate(names) if name in roots]
        # A base that stands for the world is no prim, and its joint has the place.
        return roots if all(self.stage.GetPrimAtPath(base) for base in bases) else None

    def _place(self, moved: Collection[str]) -> None:
        """Put root links where the stage says; joints and velocities stay."""
        world = self.require("flush_changes")
        simulation = world.simulation
        state, model = simulation.state, simulation.model
        starts = model.articulation_link_start.numpy()
        poses = StagePoses(self.stage, world)
        rows = [row for row, name in enumerate(world.rows.articulation) if name in moved]
        values, fresh = np.array(state.root_pose.numpy()), np.array(state.fresh.numpy())
        for row in rows:
            values[row] = poses.authored_pose(simulation.directory.link_paths[int(starts[row])])
            fresh[row] = 1
        state.root_pose.assign(values)
        state.fresh.assign(fresh)
        simulation.refresh()
        simulation.wake_up(rows)
        self._poses = poses

    def _rebuild(self, pending: PendingChanges, moved: Collection[str]) -> None:
        """Read the stage again, and give what stayed its state."""
        old = self.require("flush_changes")
        new = self._build()
        if not moved and is_same_layout(old.simulation, old.rows, new.simulation, new.rows):
            old.baseline = patch_parameters(old.simulation, old.baseline, new.simulation)
            old.simulation.set_iterations(new.simulation.substeps, new.simulation.velocity_passes)
            self.build_count -= 1
            self._reusable = False
            new.close()
            self._poses = StagePoses(self.stage, old)
            self._parts.pop(SceneQueries, None)
            return
        gone = set(old.rows.shape) - set(new.rows.shape)
        carry_state(
            old.simulation,
            old.rows,
            old.baseline,
            new.simulation,
            new.rows,
            moved=moved,
            keep_sleep=not gone and not moved and not pending.changed,
        )
        old.close()
        self._use(new)


def _is_at_or_below(path: str, above: str) -> bool:
    return path == above or path.startswith(above.rstrip("/") + "/")


def _is_physical(prim: Usd.Prim) -> bool:
    """Whether a prim has or had anything to do with physics."""
    if prim.GetTypeName() and str(prim.GetTypeName()).startswith(("Physics", "Physx")):
        return True
    if prim.HasAPI(UsdPhysics.RigidBodyAPI) or prim.HasAPI(UsdPhysics.CollisionAPI):
        return True
    if prim.HasAPI(UsdPhysics.ArticulationRootAPI) or prim.IsA(UsdPhysics.Joint):
        return True
    if prim.IsA(UsdPhysics.Scene):
        return True
    vendors = ("Physx", "Newton", "Mjc", "Physics", "OmniPhysics")
    return any(name.startswith(vendors) for name in applied_schemas(prim))


def _same_scale(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    return bool(np.allclose(np.array(a), np.array(b), rtol=0.0, atol=1e-6))
