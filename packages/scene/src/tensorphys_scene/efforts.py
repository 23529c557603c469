"""Effort limits of a source format, put in force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tensorphys_scene.scene import Scene


def limit_efforts(scene: Scene) -> Scene:
    """Bound the efforts of all actuators by the effort limits that their source format authored.

    A URDF effort limit or the range of a MuJoCo motor (gear times control range) is kept in ``axes.effort_limit`` and
    has no effect by itself. Here it becomes the bound of what drive and actuation do together, as that of a performance
    envelope is: ``axes.max_force`` is the smaller of the two bounds, ``axes.has_envelope`` is set, and
    ``axes.effort_limit`` is infinite, since nothing is left to be applied.

    Args:
        scene: A scene; limits may differ between environments.

    Returns:
        The scene with its limits in force; the same one where there are none.
    """
    templates, overrides = [], dict(scene.overrides)
    for index, template in enumerate(scene.templates):
        axes = template.axes
        varied = overrides.pop((index, "axes.effort_limit"), None)
        limits = axes.effort_limit if varied is None else varied
        limited = np.isfinite(limits).reshape(-1, axes.count).any(axis=0)
        if not limited.any():
            templates.append(template)
            continue
        forces = overrides.get((index, "axes.max_force"))
        if varied is not None or forces is not None:
            overrides[index, "axes.max_force"] = np.minimum(
                axes.max_force if forces is None else forces, limits
            )
        changed = axes.replace(
            max_force=np.minimum(axes.max_force, axes.effort_limit),
            has_envelope=axes.has_envelope | limited,
            effort_limit=np.full(axes.count, np.inf),
        )
        templates.append(replace(template, axes=changed))
    if all(one is other for one, other in zip(templates, scene.templates, strict=True)):
        return scene
    return scene.replace(templates=tuple(templates), overrides=overrides)
