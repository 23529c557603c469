"""Making environments of a scene without authoring prims."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tensorphys_scene.errors import SceneValueError
from tensorphys_scene.scene import Environments, Scene
from tensorphys_scene.source import SourcePart
from tensorphys_scene.turning import turned_columns


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
    source: str | int | None = None,
    count: int | None = None,
    *,
    spacing: float | None = None,
    transforms: npt.ArrayLike | None = None,
    origins: npt.ArrayLike | None = None,
    path: str = "/World/envs/env_{}",
) -> Scene:
    """Copy one prim of a scene, or the whole of it, into many environments that never interact.

    Copy i is the source after a rigid motion of the world: what stands at x stands at R x + t. The frame of its
    environment is a translation only, so the rotation goes into what the environment holds: poses of bodies and of
    static shapes, the world's side of joints, initial velocities. These become columns that differ between
    environments. A stage that authors the source below prims with these transforms gives the same scene.

    Args:
        scene: Scene with one environment.
        source: Path of the prim whose subtree is copied. Static shapes elsewhere, such as a ground, belong to all
            copies at once. None for the whole scene; then the count may stand here, ``replicate(scene, 16)``.
        count: Number of environments; default the number of transforms or origins.
        spacing: Distance of neighbours on a square grid [m]; 0 puts all where the source stands. Default 0.
        transforms: Motions instead of a grid, poses ``[x y z qx qy qz qw]`` of shape [count, 7], or translations
            of shape [count, 3] [m].
        origins: The same for translations alone, shape [count, 3].
        path: Root prim path of environment i, with ``{}`` for i; a path of the source ``/a/b`` becomes
            ``<root>/a/b``, or what follows the source prim's path where that is given.

    Returns:
        A scene that shares the template, so its size does not grow with the count except for rotated copies.

    Raises:
        SceneValueError: If the scene has several environments, the transforms do not fit, or bodies or joints that
            are not below the source cannot be shared.
    """
    if scene.environments.count != 1:
        raise SceneValueError(
            f"replicate: expected a scene with one environment, given {scene.environments.count}"
        )
    if source is not None and not isinstance(source, str):
        if count is not None:
            raise SceneValueError(
                f"replicate: expected the path of a prim and a count, given {source} and {count}"
            )
        count = int(source)
        source = None
    if sum(given is not None for given in (spacing, transforms, origins)) > 1:
        raise SceneValueError("replicate: give spacing, transforms or origins, not two of them")
    motions = transforms if transforms is not None else origins
    if count is None:
        count = len(np.asarray(motions)) if motions is not None else 0
    if count < 1:
        raise SceneValueError(f"replicate: expected at least one environment, given {count}")
    if motions is not None:
        translations, rotations = _motions(motions, count, turned=transforms is not None)
    else:
        translations = grid_origins(count, spacing or 0.0, up_axis=scene.settings.up_axis)
        rotations = None
    if "{}" not in path and count > 1:
        raise SceneValueError(
            f"replicate: path {path!r} gives every environment the same root; put {{}} into it"
        )
    if source is not None:
        scene = _only(scene, source)
    template = int(scene.environments.template[0])
    environments = Environments(
        path=tuple(path.format(i) for i in range(count)),
        template=np.full(count, template, np.int32),
        origin=translations + scene.environments.origin,
    )
    overrides = {
        (index, name): np.repeat(values, count, axis=0) for (index, name), values in scene.overrides.items()
    }
    if rotations is not None:
        overrides |= {
            (template, name): values for name, values in turned_columns(scene, template, rotations).items()
        }
    return scene.replace(environments=environments, overrides=overrides)


def _motions(
    given: npt.ArrayLike, count: int, *, turned: bool
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64] | None]:
    """Translations and unit quaternions of given motions; None where nothing turns."""
    motions = np.array(given, dtype=np.float64)
    if turned and motions.shape == (count, 7):
        size = np.linalg.norm(motions[:, 3:], axis=1)
        bad = np.flatnonzero(~(np.isfinite(size) & (size > 0.0)))
        if bad.size:
            row = int(bad[0])
            raise SceneValueError(
                f"replicate: transform {row} has the quaternion {motions[row, 3:].tolist()}, which is no rotation"
            )
        rotations = motions[:, 3:] / size[:, None]
        return motions[:, :3], rotations if rotations[:, :3].any() else None
    if motions.shape != (count, 3):
        names = f"transforms of shape {(count, 7)} or" if turned else "origins of shape"
        raise SceneValueError(f"replicate: expected {names} {(count, 3)}, given {motions.shape}")
    return motions, None


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
        corrected=scene.corrected,
        read=scene.read,
    )
