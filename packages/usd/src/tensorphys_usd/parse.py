"""From a stage to a scene."""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Collection, Iterator

from pxr import Usd

from tensorphys_patterns import PathTree, match
from tensorphys_scene import Scene, SceneError
from tensorphys_usd.actuators import apply_actuators
from tensorphys_usd.articulations import StageArticulations
from tensorphys_usd.bodies import StageBodies
from tensorphys_usd.couplings import StageCouplings
from tensorphys_usd.descriptors import Descriptors
from tensorphys_usd.environments import split
from tensorphys_usd.errors import StageError
from tensorphys_usd.filters import filtered_pairs
from tensorphys_usd.forces import read_forces
from tensorphys_usd.initial_state import derive_positions
from tensorphys_usd.instancers import expand_instancers
from tensorphys_usd.joints import StageJoints
from tensorphys_usd.leftovers import report_leftovers
from tensorphys_usd.masses import mass_columns
from tensorphys_usd.materials import StageMaterials
from tensorphys_usd.membership import Roots
from tensorphys_usd.meshes import StageMeshes
from tensorphys_usd.mujoco_tendons import read_mujoco_tendons
from tensorphys_usd.roots import find_roots
from tensorphys_usd.rows import StageRows
from tensorphys_usd.settings import read_settings
from tensorphys_usd.shapes import StageShapes
from tensorphys_usd.soft import StageSoft
from tensorphys_usd.spatial_tendons import StageSpatialTendons
from tensorphys_usd.stage import Reading, open_stage, stage_of_cache
from tensorphys_usd.variants import Variants


class _Selection:
    """Articulations that an argument names, by the path of the root prim or of the root link, or by pattern."""

    def __init__(self, argument: str, entries: Collection[str]) -> None:
        self._argument = argument
        self._entries = (entries,) if isinstance(entries, str) else tuple(entries)
        self._unused = dict.fromkeys(self._entries)

    def __call__(self, names: Collection[str]) -> bool:
        chosen = False
        for entry in self._entries:
            if entry == "*" or entry in names or match(entry, PathTree(names)):
                self._unused.pop(entry, None)
                chosen = True
        return chosen

    def check(self) -> None:
        """Refuse names of no articulation."""
        for entry in self._unused:
            raise StageError(f"{self._argument}: no articulation has the root {entry!r}")


def parse_stage(
    stage: Usd.Stage | str | os.PathLike[str] | None = None,
    *,
    stage_cache_id: int | None = None,
    environments: str | None = None,
    free_base: Collection[str] = (),
    fix_base: Collection[str] = (),
    require_scene: bool = True,
) -> Scene:
    """Read a stage into a scene.

    Degrees become radians and quaternions xyzw; lengths and masses stay in stage units.

    Args:
        stage: A stage or the path of its file.
        stage_cache_id: Id in the process-wide stage cache, instead of a stage.
        environments: Pattern of environment root prims. Equal sub-trees share one template and environments never
            interact; static colliders outside of all belong to all. Findings name one of several equal environments.
            Without it the whole stage is one world.
        free_base: Articulations whose joints to the world are switched off: path of the prim with the root schema,
            of the root link, or a pattern; "*" for all.
        fix_base: Articulations whose root link is fixed to the world where it stands; named alike.
        require_scene: Whether a stage without a PhysicsScene is an error; if not, it gets standard gravity.

    Returns:
        The scene; its `read`, `findings` and `corrected` say what of each prim was read, what was ignored, corrected
        or is not supported, and what of that was corrected.

    Raises:
        StageError: If the stage cannot be opened, has no physics scene, or holds values that cannot be simulated; one
            line that names the prim and the value.
    """
    if (stage is None) == (stage_cache_id is None):
        raise StageError("parse_stage: give a stage or stage_cache_id, one of the two")
    if stage_cache_id is not None:
        opened = stage_of_cache(stage_cache_id)
    elif isinstance(stage, (str, os.PathLike)):
        opened = open_stage(stage)
    else:
        opened = stage
    try:
        with _without_collector():
            return _scene(opened, environments, free_base, fix_base, require_scene)
    except SceneError as error:
        raise StageError(str(error)) from None


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Put off the search for reference cycles: a parse makes millions of objects and hardly a cycle."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _scene(
    stage: Usd.Stage,
    environments: str | None,
    free_base: Collection[str],
    fix_base: Collection[str],
    require_scene: bool,
) -> Scene:
    freed, fixed = _Selection("free_base", free_base), _Selection("fix_base", fix_base)
    expanded = expand_instancers(stage)
    stage = expanded.stage
    found = find_roots(stage, environments)
    reading = Reading(stage, found.copies)
    for path, text in expanded.notes:
        reading.report.correct(path, text)
    descriptors = Descriptors(reading)
    settings = read_settings(reading, descriptors, require_scene=require_scene)
    materials = StageMaterials(reading, descriptors)
    bodies = StageBodies(reading, descriptors)
    meshes = StageMeshes(reading)
    soft = StageSoft(reading)
    shapes = StageShapes(reading, descriptors, bodies, materials, meshes, soft)
    masses = mass_columns(reading, bodies, shapes, materials, meshes)
    variants = Variants(reading, found, bodies, shapes, materials, meshes)
    joints = StageJoints(reading, descriptors, bodies)
    apply_actuators(reading, joints)
    articulations = StageArticulations(reading, descriptors, bodies, joints, free_base=freed, fix_base=fixed)
    freed.check()
    fixed.check()
    derive_positions(reading, joints, articulations)
    pairs = filtered_pairs(reading, descriptors, bodies, shapes, joints, articulations)
    couplings = StageCouplings(reading, joints, articulations)
    tendons = StageSpatialTendons(reading, bodies)
    read_mujoco_tendons(reading, bodies, joints, couplings, tendons)
    forces = read_forces(reading, bodies)
    rows = StageRows(
        bodies,
        masses,
        shapes,
        joints,
        articulations,
        couplings,
        tendons,
        soft,
        forces,
        materials,
        meshes.meshes,
        pairs,
    )
    templates, placed, shared, overrides = split(reading, Roots(reading, found), rows, variants)
    report_leftovers(reading, descriptors, soft)
    return Scene(
        settings=settings,
        templates=templates,
        environments=placed,
        shared=shared,
        overrides=overrides,
        findings=reading.report.pairs(),
        corrected=reading.report.corrected(),
        read=reading.read(),
    )
