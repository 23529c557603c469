"""Making environments of a scene without authoring prims."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tensorphys_scene.errors import SceneValueError
from tensorphys_scene.scene import Environments, Scene


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
) -> Scene:
    """Copy a scene of one environment into many that never interact.

    Args:
        scene: Scene with one environment.
        count: Number of environments.
        spacing: Distance of neighbours on a square grid [m]; 0 puts all at the origin. Default 0.
        origins: Translations instead of a grid [m], shape [count, 3].
        path: Root prim path of environment i, with ``{}`` for i; a path of the source ``/a/b`` becomes
            ``<root>/a/b``.

    Returns:
        A scene that shares the template, so its size does not grow with the count.

    Raises:
        SceneValueError: If the scene has several environments or the origins do not fit.
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
