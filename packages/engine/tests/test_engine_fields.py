"""Meshes that collide by fields, by spheres and by several hulls."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tensorphys_engine import Simulation
from tensorphys_engine.errors import BuildError
from tensorphys_scene import (
    Bodies,
    Environments,
    Mesh,
    Scene,
    Settings,
    Shapes,
    ShapeType,
    Template,
)

CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
SQUARES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = np.array([t for a, b, c, d in SQUARES for t in ((a, b, c), (a, c, d))], np.int32)
CUBE = Mesh(CORNERS * 0.1, TRIANGLES)


def two_boxes() -> Mesh:
    """An arch of two posts and a beam, as one closed mesh of three overlapping boxes is not: posts under a beam."""
    parts = []
    for low, high in (
        ((-0.3, -0.1, 0.0), (-0.2, 0.1, 0.3)),
        ((0.2, -0.1, 0.0), (0.3, 0.1, 0.3)),
        ((-0.3, -0.1, 0.3), (0.3, 0.1, 0.4)),
    ):
        parts.append(np.where(CORNERS > 0.0, high, low))
    points = np.concatenate(parts)
    return Mesh(points, np.concatenate([TRIANGLES + 8 * k for k in range(3)]).astype(np.int32))


def scene(shapes: Shapes, meshes: tuple[Mesh, ...], heights: list[float]) -> Scene:
    count = len(heights)
    bodies = Bodies(
        path=tuple(f"/b{k}" for k in range(count)),
        pose=[[0.0, 0.0, z, 0.0, 0.0, 0.0, 1.0] for z in heights],
        mass=[1.0] * count,
        inertia=[np.eye(3) * 0.01] * count,
    )
    ground = Shapes(path=("/ground",), body=[-1], type=[int(ShapeType.PLANE)])
    return Scene(
        settings=Settings(gravity=(0.0, 0.0, -9.81)),
        templates=(Template(bodies=bodies, shapes=shapes, meshes=meshes),),
        shared=Template(shapes=ground),
        environments=Environments(path=("",), template=np.zeros(1, np.int32)),
    )


@pytest.mark.parametrize("size", [(1.0, 1.0, 1.0), (0.5, 0.5, 0.5), (1.0, 1.0, 0.5)])
def test_a_field_rests_on_the_ground(size: tuple[float, float, float]) -> None:
    """Scaled evenly by its size, unevenly by its points."""
    shapes = Shapes(
        path=("/b0/s",), body=[0], type=[int(ShapeType.SDF)], size=[size], mesh=[0], sdf_resolution=[32]
    )
    half = 0.1 * size[2]
    simulation = Simulation(scene(shapes, (CUBE,), [half + 0.02]))
    for _ in range(240):
        simulation.step(1.0 / 240.0)
    pose = simulation.state.root_pose.numpy()[0]
    assert pose == pytest.approx([0, 0, half, 0, 0, 0, 1], abs=5e-4)


def test_fields_rest_on_each_other_and_share_what_they_are_made_of() -> None:
    shapes = Shapes(
        path=("/b0/s", "/b1/s"),
        body=[0, 1],
        type=[int(ShapeType.SDF)] * 2,
        size=[[1.0] * 3, [0.5] * 3],
        mesh=[0, 0],
        sdf_resolution=[32, 32],
    )
    simulation = Simulation(scene(shapes, (CUBE,), [0.1, 0.255]))
    assert simulation.contact_model.sampled is not None
    assert simulation.contact_model.sampled.table.field_count == 1
    for _ in range(240):
        simulation.step(1.0 / 240.0)
    heights = simulation.state.root_pose.numpy()[:, 2]
    assert heights == pytest.approx([0.1, 0.25], abs=1e-3)


def test_a_filling_by_spheres_rests_on_its_lowest_ones() -> None:
    shapes = Shapes(
        path=("/b0/s",),
        body=[0],
        type=[int(ShapeType.SPHERES)],
        size=[[1.0] * 3],
        mesh=[0],
        sphere_fill_count=[16],
    )
    simulation = Simulation(scene(shapes, (CUBE,), [0.11]))
    for _ in range(240):
        simulation.step(1.0 / 240.0)
    height = float(simulation.state.root_pose.numpy()[0, 2])
    assert 0.09 < height < 0.1005


def test_a_decomposition_has_a_hollow() -> None:
    """A ball under the arch stays where the hull of the whole would push it out."""
    pytest.importorskip("coacd")
    shapes = Shapes(
        path=("/arch", "/b0/s"),
        body=[-1, 0],
        type=[int(ShapeType.CONVEX_DECOMPOSITION), int(ShapeType.SPHERE)],
        size=[[1.0] * 3, [0.05, 0.0, 0.0]],
        mesh=[0, -1],
        decomposition_max_hulls=[8, 1],
    )
    simulation = Simulation(scene(shapes, (two_boxes(),), [0.05]))
    model = simulation.contact_model
    kinds = model.shape_type.numpy()
    parts = int((kinds == int(ShapeType.CONVEX_HULL)).sum())
    assert 2 <= parts <= 8
    assert model.pair_count == parts + 1
    assert not simulation.findings
    for _ in range(60):
        simulation.step(1.0 / 240.0)
    assert simulation.state.root_pose.numpy()[0, :3] == pytest.approx([0, 0, 0.05], abs=1e-3)


def test_impossible_parameters_are_named() -> None:
    shapes = Shapes(
        path=("/b0/s",), body=[0], type=[int(ShapeType.SDF)], size=[[1.0] * 3], mesh=[0], sdf_resolution=[1]
    )
    with pytest.raises(BuildError, match="/b0/s: resolution: expected 2 to 2048"):
        Simulation(scene(shapes, (CUBE,), [0.2]))
