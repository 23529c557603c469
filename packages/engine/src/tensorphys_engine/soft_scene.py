"""Deformables of a scene among its bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorphys_contact.point_sets import create_point_shapes
from tensorphys_engine.build import BuiltScene
from tensorphys_engine.findings import Findings
from tensorphys_engine.soft_attachments import attach_all
from tensorphys_engine.soft_bodies import SoftBodies
from tensorphys_engine.soft_build import soft_bodies
from tensorphys_engine.soft_coupling import SoftCoupling
from tensorphys_scene import Scene, SoftKind


def has_deformables(scene: Scene) -> bool:
    """Whether an environment has a deformable that is simulated."""
    kinds = (SoftKind.VOLUME_BODY, SoftKind.SURFACE_BODY)
    used = np.unique(scene.environments.template)
    return any(np.isin(scene.templates[t].soft_prims.kind, kinds).any() for t in used)


def scene_soft(built: BuiltScene, link_pose: Any, findings: Findings) -> SoftBodies | None:
    """Bring the deformables of a scene to the device, attached and coupled.

    Args:
        built: The scene.
        link_pose: Poses of the links at the start, transform [links].
        findings: Takes what is left out or changed.

    Returns:
        None where the scene has none.

    Raises:
        BuildError: A mesh or material that cannot be simulated; the message names the prim.
    """
    bodies = soft_bodies(built.numbering, findings, built.model.device)
    if not bodies:
        return None
    model = built.model
    soft = SoftBodies(
        bodies,
        environment_count=built.numbering.environment_count,
        gravity=model.gravity,
        device=model.device,
    )
    shapes = create_point_shapes(built.contact_model, shape_sdf=built.shape_sdf, sdfs=built.sdfs)
    soft.coupling = SoftCoupling(soft, model, built.contact_model, shapes, link_pose)
    attach_all(soft, built.numbering, link_pose, findings)
    return soft
