"""Making environments of a scene without authoring prims."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tensorphys_scene.errors import SceneValueError
from tensorphys_scene.scene import Environments, Scene
from tensorphys_scene.source import SourcePart


def grid_origins(count: int, spacing: float, *, up_axis: str = "Z") -> npt.NDArray[np.float64]:
    """Origins on a square grid, row by row, centred on the world origin in the ground plane.

    Args:
        count: Number of environments.
        spacing: Distance of neighbours [m].
        up_axis: "Y" or "Z".

    Returns:
        Origins [m], shape [count, 3].
    """
    columns = max(1, int(np.ceil(np.sqrt(count))))
    rows = -(-count // columns)
    index = np.arange(count)
    first = (index % columns - (columns - 1) / 2.0) * spacing
    second = (index // columns - (rows - 1) / 2.0) * spacing
    zero = np.zeros(count)
    return np.stack((first, second, zero) if up_axis == "Z" else (first, zero, second), axis=1)


def replicate(
    scene: Scene,
    count: int,
    *,
    spacing: float | None = None,
    origins: npt.ArrayLike | None = None,
    path: str = "/World/envs/env_{}",
    source: str | None = None,
) -> Scene:
    """Copy a scene of one environment, or one prim of it, into many environments that never interact.

    Args:
        scene: Scene with one environment.
        count: Number of environments.
        spacing: Distance of neighbours on a square grid [m]; 0 puts all at the origin. Default 0.
        origins: Translations instead of a grid [m], shape [count, 3].
        path: Root prim path of environment i, with ``{}`` for i; a path of the source ``/a/b`` becomes
            ``<root>/a/b``, or what follows the source prim's path where that is given.
        source: Path of the prim whose subtree is copied; copy i stands where the prim stands, moved by origin i.
            Static shapes elsewhere, such as a ground, belong to all copies at once. None for the whole scene.

    Returns:
        A scene that shares the template, so its size does not grow with the count.

    Raises:
        SceneValueError: If the scene has several environments, the origins do not fit, or bodies or joints that are
            not below the source cannot be shared.
    """
    if scene.environments.count != 1:
        raise SceneValueError(
            f"replicate: expected a scene with one environment, given {scene.environments.count}"
        )
    if count < 1:
        raise SceneValueError(f"replicate: expected at least one environment, given {count}")
    if origins is not None and spacing is not None:
        raise SceneValueError("replicate: give spacing or origins, not both")
    if origins is not None:
        placed = np.array(origins, dtype=np.float64)
    else:
        placed = grid_origins(count, spacing or 0.0, up_axis=scene.settings.up_axis)
    if placed.shape != (count, 3):
        raise SceneValueError(f"replicate: expected origins of shape {(count, 3)}, given {placed.shape}")
    if "{}" not in path and count > 1:
        raise SceneValueError(
            f"replicate: path {path!r} gives every environment the same root; put {{}} into it"
        )
    if source is not None:
        scene = _only(scene, source)
    environments = Environments(
        path=tuple(path.format(i) for i in range(count)),
        template=np.full(count, int(scene.environments.template[0]), np.int32),
        origin=placed + scene.environments.origin,
    )
    overrides = {
        (template, name): np.repeat(values, count, axis=0)
        for (template, name), values in scene.overrides.items()
    }
    return scene.replace(environments=environments, overrides=overrides)


def _only(scene: Scene, source: str) -> Scene:
    """A scene whose environment is one prim of the given one."""
    index, root = int(scene.environments.template[0]), scene.environments.path[0]
    relative = source[len(root) :] if root and source.startswith(root + "/") else source
    part = SourcePart(scene.templates[index], relative)
    if part.shared.shapes.count and scene.shared.shapes.count:
        raise SceneValueError(
            f"replicate: {part.shared.shapes.path[0]} is not below {source}, and the scene has shared shapes already"
        )
    overrides = {
        (0, name): values[:, part.rows[name.split(".")[0]]]
        for (template, name), values in scene.overrides.items()
        if template == index
    }
    findings = scene.findings
    if part.dropped:
        text = f"{part.dropped} collision filters between copies and shared shapes are not supported: ignored"
        findings = (*findings, (source, text))
    # Poses of shared shapes are those of the world, the template's those of its environment.
    shapes = part.shared.shapes
    pose = shapes.pose.copy()
    pose[:, :3] += scene.environments.origin[0]
    shared = part.shared.replace(shapes=shapes.replace(pose=pose)) if shapes.count else scene.shared
    environments = Environments(path=(source,), origin=scene.environments.origin)
    return Scene(
        settings=scene.settings,
        templates=(part.template,),
        environments=environments,
        shared=shared,
        overrides=overrides,
        findings=findings,
    )
