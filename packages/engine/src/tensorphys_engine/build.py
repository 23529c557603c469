"""From a scene to device arrays."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import warp as wp

import tensorphys_contact
import tensorphys_dynamics
from tensorphys_engine.bodies import (
    InitialState,
    dof_columns,
    initial_state,
    link_columns,
    note_moved_roots,
    note_unbound_bodies,
)
from tensorphys_engine.candidates import large_environments, shape_pairs
from tensorphys_engine.constant_loads import SceneLoads, read_loads
from tensorphys_engine.continuous import continuous_links, free_articulations, note_continuous
from tensorphys_engine.findings import Findings, note_unused_columns
from tensorphys_engine.joints import SceneJoints, build_joints
from tensorphys_engine.numbering import Numbering, number_scene
from tensorphys_engine.particle_plan import ParticlePlan, plan_particles
from tensorphys_engine.shapes import ShapeColumns, shape_columns
from tensorphys_scene import Scene

# Approach speed above which restitution acts where none is authored [m/s].
_BOUNCE_THRESHOLD = 0.2


@dataclass(frozen=True)
class BuiltScene:
    """What a scene becomes.

    Attributes:
        numbering: Flat numbers.
        model: Constants of the dynamics.
        joints: Joints beside the trees, couplings and tendons.
        contact_model: Shapes and candidate pairs.
        initial: State at the start.
        velocity: Generalized velocities at the start, shape [velocities].
        bounce_threshold: Approach speed above which restitution acts [stage length/s].
        environment_link: First link of each environment, one more at the end, int32 on the device.
        link_radius: Radius of a sphere about the centre of mass of each link that holds its shapes, −1 without
            shapes, float32 on the device [m].
        large: 1 for environments in which each body has a margin of its own, int32 on the device.
        has_large: Whether there is one.
        loads: Constant loads on bodies.
        continuous: Whether each link asks for continuous collision detection, shape [links].
        free_articulation: Articulation of each link that is a moving body without joints, else −1, shape [links].
        particle_plan: Particle systems.
        shape_sdf, sdfs: Signed distance field of each shape, −1 for none, and the fields.
    """

    numbering: Numbering
    model: tensorphys_dynamics.Model
    joints: SceneJoints
    contact_model: tensorphys_contact.Model
    initial: InitialState
    velocity: npt.NDArray[np.float32]
    bounce_threshold: float
    environment_link: Any
    link_radius: Any
    large: Any
    has_large: bool
    loads: SceneLoads
    continuous: npt.NDArray[np.bool_]
    free_articulation: npt.NDArray[np.int32]
    particle_plan: ParticlePlan
    shape_sdf: Any
    sdfs: Any


def build_scene(scene: Scene, findings: Findings, *, device: Any) -> BuiltScene:
    """Number a scene and put its columns on a device.

    Args:
        scene: The scene.
        findings: Takes what is left out or changed.
        device: Warp device.

    Raises:
        BuildError: If the scene contradicts itself.
        UnsupportedError: If something is not supported and ``findings`` raises.
    """
    numbering = number_scene(scene, findings)
    initial = initial_state(numbering)
    shapes = shape_columns(numbering, findings, device=device)
    pairs = shape_pairs(numbering, findings)
    note_moved_roots(numbering, findings)
    note_unbound_bodies(numbering, findings)
    note_unused_columns(scene, findings, [plan.joint_link >= 0 for plan in numbering.plans])
    model = tensorphys_dynamics.build_model(
        types=numbering.types,
        articulation_type=numbering.articulation_type,
        articulation_environment=numbering.articulations.environment,
        environment_count=numbering.environment_count,
        link=link_columns(numbering),
        dof=dof_columns(numbering),
        gravity=scene.settings.gravity,
        device=device,
    )
    joints = build_joints(numbering, model, initial.dof_position, findings)
    continuous = continuous_links(numbering)
    note_continuous(numbering, findings)
    loads = read_loads(numbering)
    # Everything that may differ between environments has been read by now.
    numbering.columns.check_all_read()
    large = large_environments(numbering)
    settings = scene.settings
    threshold = settings.bounce_threshold
    return BuiltScene(
        numbering=numbering,
        model=model,
        joints=joints,
        contact_model=_contact_model(numbering, shapes, pairs, device),
        initial=initial,
        velocity=_generalized_velocity(numbering, initial),
        bounce_threshold=_BOUNCE_THRESHOLD / settings.meters_per_unit if math.isnan(threshold) else threshold,
        environment_link=wp.array(numbering.links.start.astype(np.int32), dtype=wp.int32, device=device),
        link_radius=wp.array(_link_radius(numbering, shapes), dtype=wp.float32, device=device),
        large=wp.array(large.astype(np.int32), dtype=wp.int32, device=device),
        has_large=bool(large.any()),
        loads=loads,
        continuous=continuous,
        free_articulation=free_articulations(numbering),
        particle_plan=plan_particles(scene, findings),
        shape_sdf=shapes.shape_sdf,
        sdfs=shapes.sdfs,
    )


def _contact_model(
    numbering: Numbering,
    shapes: ShapeColumns,
    pairs: npt.NDArray[np.int32] | tensorphys_contact.PairSearch,
    device: Any,
) -> tensorphys_contact.Model:
    return tensorphys_contact.build_model(
        shape_type=shapes.shape_type,
        shape_body=shapes.shape_body,
        shape_pose=shapes.shape_pose,
        shape_size=shapes.shape_size,
        shape_environment=shapes.shape_environment,
        shape_hull=shapes.shape_hull,
        hulls=shapes.hulls,
        shape_mesh=shapes.shape_mesh,
        meshes=shapes.meshes,
        shape_sdf=shapes.shape_sdf,
        sdfs=shapes.sdfs,
        shape_spheres=shapes.shape_spheres,
        sphere_sets=shapes.sphere_sets,
        shape_material=np.arange(numbering.shape_count),
        materials=shapes.materials,
        contact_offset=shapes.contact_offset,
        rest_offset=shapes.rest_offset,
        pairs=pairs,
        environment_count=numbering.environment_count,
        body_environment=numbering.links.environment,
        environment_origin=numbering.scene.environments.origin,
        device=device,
    )


def _generalized_velocity(numbering: Numbering, initial: InitialState) -> npt.NDArray[np.float32]:
    """Root velocities of floating bases, then joint velocities, articulation by articulation."""
    kind = numbering.articulation_type
    root = np.array([t.root_count for t in numbering.types], np.int64)[kind]
    dofs = np.array([t.dof_count for t in numbering.types], np.int64)[kind]
    start = np.concatenate(([0], np.cumsum(root + dofs)))
    velocity = np.zeros(int(start[-1]), np.float32)
    floating = np.flatnonzero(root)
    velocity[start[floating][:, None] + np.arange(6)] = initial.root_velocity[floating]
    # Joint velocities stand behind the roots of all articulations up to their own.
    shift = np.repeat(np.cumsum(root), dofs)
    velocity[np.arange(len(shift)) + shift] = initial.dof_velocity
    return velocity


def _link_radius(numbering: Numbering, shapes: ShapeColumns) -> npt.NDArray[np.float32]:
    radius = np.full(numbering.links.total, -1.0, np.float32)
    moving = shapes.shape_body >= 0
    np.maximum.at(radius, shapes.shape_body[moving], shapes.radius[moving].astype(np.float32))
    return radius


def authored_counts(scene: Scene) -> tuple[int | None, int | None]:
    """Largest authored numbers of position and velocity iterations of all templates in use."""
    result = []
    for name in ("position_iterations", "velocity_iterations"):
        values = [
            int(value)
            for template in np.unique(scene.environments.template)
            for table in (scene.templates[template].bodies, scene.templates[template].articulations)
            for value in getattr(table, name)
            if value >= 0
        ]
        result.append(max(values, default=None))
    return result[0], result[1]
