"""Scenes with deformable cubes and sheets, from tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_fem import box_mesh
from tensorphys_scene import (
    Bodies,
    Materials,
    Scene,
    Settings,
    Shapes,
    ShapeType,
    SoftData,
    SoftKind,
    SoftPrims,
    Template,
    replicate,
)


@dataclass(frozen=True)
class SoftCube:
    """A cube of tetrahedra, or a square sheet where ``thickness`` is given.

    Attributes:
        center: Place of its middle [m].
        edge: [m].
        cells: Cells along each edge.
        youngs_modulus, poissons_ratio, mass, friction, damping: Constants; mass in kg.
        thickness: Of a sheet in the plane z = 0 [m]; 0 for a cube.
        velocity: At the start [m/s].
        self_collision: Whether it collides with itself.
        tilt: Angle about y at the start [rad].
    """

    center: Sequence[float]
    edge: float = 0.05
    cells: int = 3
    youngs_modulus: float = 5.0e4
    poissons_ratio: float = 0.4
    mass: float = 0.2
    friction: float = 0.7
    damping: float = 0.0
    thickness: float = 0.0
    velocity: Sequence[float] = (0.0, 0.0, 0.0)
    self_collision: bool = False
    tilt: float = 0.0


@dataclass(frozen=True)
class RigidBox:
    """A rigid body: a box, or a sphere where one half extent is given.

    Attributes:
        center: Place of its middle [m].
        half: Half extents, or the radius [m].
        mass: [kg].
        kinematic: Whether it is moved by hand.
    """

    center: Sequence[float]
    half: Sequence[float]
    mass: float = 0.1
    kinematic: bool = False


def soft_scene(
    cubes: Sequence[SoftCube],
    boxes: Sequence[RigidBox] = (),
    *,
    environment_count: int = 1,
    rate: float = 60.0,
    gravity: float = 9.81,
    friction: float = 0.7,
    ground: bool = True,
    attachments: Sequence[SoftData] = (),
) -> Scene:
    """Deformables ``/soft0``, ``/soft1``, … and bodies ``/box0``, … over the plane z = 0 in each environment.

    Args:
        cubes: Deformables.
        boxes: Bodies.
        environment_count: Number of environments, all at the origin.
        rate: Steps a second.
        gravity: Along −z [m/s²].
        friction: Coefficient of all rigid shapes.
        ground: Whether there is the plane, ``/ground``.
        attachments: Prims ``/attachment0``, ….
    """
    paths: list[str] = []
    kinds: list[int] = []
    transforms: list[npt.NDArray[np.float64]] = []
    data: list[SoftData] = []
    for index, cube in enumerate(cubes):
        kind, body = _soft_data(cube, f"/rubber{index}")
        paths += [f"/soft{index}", f"/rubber{index}"]
        kinds += [int(kind), int(SoftKind.MATERIAL)]
        transforms += [_frame(cube), np.eye(4)]
        data += [body, _material(cube)]
    for index, attachment in enumerate(attachments):
        paths.append(f"/attachment{index}")
        kinds.append(int(SoftKind.ATTACHMENT))
        transforms.append(np.eye(4))
        data.append(attachment)
    bodies, shapes = _rigid(boxes, ground)
    prims = [*paths, "/material"]
    for index in range(len(boxes)):
        prims += [f"/box{index}", f"/box{index}/geometry"]
    if ground:
        prims.append("/ground")
    soft = SoftPrims(
        path=tuple(paths),
        kind=np.array(kinds, np.int32),
        transform=np.array(transforms),
        data=tuple(data),
    )
    columns: dict[str, Any] = {"static_friction": [friction], "dynamic_friction": [friction]}
    template = Template(
        prims=("", *sorted(prims)),
        bodies=bodies,
        shapes=shapes,
        materials=Materials(path=("/material",), **columns),
        soft_prims=soft,
    )
    settings = Settings(steps_per_second=rate, gravity=(0.0, 0.0, -gravity))
    return replicate(Scene(templates=(template,), settings=settings), environment_count)


def _soft_data(cube: SoftCube, material: str) -> tuple[SoftKind, SoftData]:
    values: dict[str, Any] = {"omniphysics:mass": cube.mass}
    if cube.self_collision:
        values["physxDeformableBody:selfCollision"] = True
    half = cube.edge / 2.0
    if cube.thickness > 0.0:
        kind, schema = SoftKind.SURFACE_BODY, "OmniPhysicsSurfaceDeformableSimAPI"
        points, elements = _sheet(cube)
    else:
        kind, schema = SoftKind.VOLUME_BODY, "OmniPhysicsVolumeDeformableSimAPI"
        mesh = box_mesh((cube.cells,) * 3, cube.edge / cube.cells, origin=(-half,) * 3)
        points, elements = mesh.points, mesh.tets.astype(np.int32)
    if np.any(cube.velocity):
        values["velocities"] = np.tile(np.asarray(cube.velocity, float), (len(points), 1))
    body = SoftData(
        schemas=("OmniPhysicsDeformableBodyAPI", schema),
        values=values,
        points=points,
        elements=elements,
        material=material,
    )
    return kind, body


def _sheet(cube: SoftCube) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32]]:
    n = cube.cells
    line = np.linspace(-cube.edge / 2.0, cube.edge / 2.0, n + 1)
    x, y = np.meshgrid(line, line, indexing="ij")
    points = np.stack((x.ravel(), y.ravel(), np.zeros(x.size)), axis=1)
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    a, b, c, d = (
        k.astype(np.int32)
        for k in (i * (n + 1) + j, (i + 1) * (n + 1) + j, (i + 1) * (n + 1) + j + 1, i * (n + 1) + j + 1)
    )
    # Diagonals alternate, so that the sheet bends alike in both directions.
    even = ((i + j) % 2 == 0)[:, None]
    first = np.where(even, np.stack((a, b, c), 1), np.stack((a, b, d), 1))
    second = np.where(even, np.stack((a, c, d), 1), np.stack((b, c, d), 1))
    return points, np.concatenate((first, second)).astype(np.int32)


def _material(cube: SoftCube) -> SoftData:
    values = {
        "omniphysics:youngsModulus": cube.youngs_modulus,
        "omniphysics:poissonsRatio": cube.poissons_ratio,
        "omniphysics:dynamicFriction": cube.friction,
        "physxDeformableMaterial:elasticityDamping": cube.damping,
    }
    schemas: tuple[str, ...] = ("OmniPhysicsDeformableMaterialAPI", "PhysxDeformableMaterialAPI")
    if cube.thickness > 0.0:
        values["omniphysics:surfaceThickness"] = cube.thickness
        schemas = ("OmniPhysicsSurfaceDeformableMaterialAPI", *schemas)
    return SoftData(schemas=schemas, values=values)


def _frame(cube: SoftCube) -> npt.NDArray[np.float64]:
    c, s = np.cos(cube.tilt), np.sin(cube.tilt)
    frame = np.eye(4)
    frame[:3, :3] = [[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]
    frame[:3, 3] = cube.center
    return frame


def _rigid(boxes: Sequence[RigidBox], ground: bool) -> tuple[Bodies, Shapes]:
    paths, owners, kinds, sizes, inertias = [], [], [], [], []
    for index, box in enumerate(boxes):
        round_one = len(box.half) == 1
        squares = np.square(np.resize(np.asarray(box.half, float), 3))
        factor = 0.2 if round_one else 1.0 / 3.0
        inertias.append(np.diag(squares.sum() - squares) * box.mass * factor)
        paths.append(f"/box{index}/geometry")
        owners.append(index)
        kinds.append(int(ShapeType.SPHERE if round_one else ShapeType.BOX))
        sizes.append([box.half[0], 0.0, 0.0] if round_one else list(box.half))
    if ground:
        paths.append("/ground")
        owners.append(-1)
        kinds.append(int(ShapeType.PLANE))
        sizes.append([0.0, 0.0, 0.0])
    columns: dict[str, Any] = {"body": owners, "type": kinds, "size": sizes, "material": [0] * len(paths)}
    shapes = Shapes(path=tuple(paths), **columns) if paths else Shapes()
    if not boxes:
        return Bodies(), shapes
    body: dict[str, Any] = {
        "mass": [box.mass for box in boxes],
        "inertia": inertias,
        "pose": [[*box.center, 0.0, 0.0, 0.0, 1.0] for box in boxes],
        "kinematic": [box.kinematic for box in boxes],
    }
    return Bodies(path=tuple(f"/box{index}" for index in range(len(boxes))), **body), shapes
