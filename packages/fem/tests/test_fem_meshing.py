"""Voxel meshes, embeddings, conforming meshes, quality."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import tensorphys_fem as tf


def _sphere(count=16, radius=0.5):
    """A closed sphere of latitude and longitude."""
    points = [(0.0, 0.0, radius), (0.0, 0.0, -radius)]
    for i in range(1, count):
        theta = np.pi * i / count
        for j in range(2 * count):
            phi = np.pi * j / count
            points.append((np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)))
    points[2:] = [tuple(radius * np.array(p)) for p in points[2:]]
    triangles = []
    for j in range(2 * count):
        k = (j + 1) % (2 * count)
        triangles.append((0, 2 + j, 2 + k))
        last = 2 + (count - 2) * 2 * count
        triangles.append((1, last + k, last + j))
        for i in range(count - 2):
            a, b = 2 + i * 2 * count, 2 + (i + 1) * 2 * count
            triangles += [(a + j, b + j, b + k), (a + j, b + k, a + k)]
    return np.array(points), np.array(triangles)


def test_voxels_cover_a_sphere() -> None:
    vertices, triangles = _sphere()
    result = tf.voxel_mesh(vertices, triangles, resolution=10)
    assert result.cell_size == pytest.approx(0.1, rel=1e-5)
    assert result.embedding.outside.max() < 1e-9
    assert np.allclose(result.embedding.weights.sum(axis=1), 1.0)
    assert np.allclose(result.embedding.interpolate(result.mesh.points), vertices, atol=1e-12)
    volume = result.mesh.volumes.sum() * result.fill
    assert volume == pytest.approx(4.0 / 3.0 * np.pi * 0.125, rel=0.03)
    # Every cell meets the ball, and every cell that meets it is there.
    centres = result.mesh.points[result.mesh.tets].reshape(-1, 6, 4, 3).mean(axis=(1, 2))
    nearest = np.linalg.norm(np.maximum(np.abs(centres) - 0.05, 0.0), axis=1)
    assert nearest.max() < 0.5
    assert len(centres) == pytest.approx(4.0 / 3.0 * np.pi * 0.125 / 1e-3 / result.fill, rel=0.03)
    again = tf.voxel_mesh(vertices, triangles, resolution=10)
    assert np.array_equal(again.mesh.tets, result.mesh.tets)
    assert np.array_equal(again.mesh.points, result.mesh.points)


def test_voxels_of_a_box_fill_it_exactly() -> None:
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 2) for z in (0, 3)], dtype=float)
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6)]
    faces += [(0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]
    result = tf.voxel_mesh(corners, faces, resolution=6)
    assert len(result.mesh.tets) == 6 * 2 * 4 * 6
    assert result.fill == pytest.approx(1.0, abs=1e-5)
    assert len(tf.box_mesh((2, 4, 6), 0.5).boundary) == len(result.mesh.boundary)


def test_thin_parts_between_cell_centres_are_kept() -> None:
    """A sheet thinner than a cell encloses no centre; the cells it passes through are there."""
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0.0, 0.01)], dtype=float)
    faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6)]
    faces += [(0, 2, 6), (0, 6, 4), (1, 5, 7), (1, 7, 3)]
    result = tf.voxel_mesh(corners, faces, cell_size=0.25)
    assert len(result.mesh.tets) == 6 * 16
    assert result.embedding.outside.max() < 1e-9


def test_messages_of_voxels() -> None:
    vertices, triangles = _sphere(4)
    with pytest.raises(tf.MeshError, match="resolution"):
        tf.voxel_mesh(vertices, triangles, resolution=0)
    with pytest.raises(tf.MeshError, match="cells, more than"):
        tf.voxel_mesh(vertices, triangles, cell_size=1e-4)
    with pytest.raises(tf.MeshError, match=r"vertices \(V, 3\)"):
        tf.voxel_mesh(vertices[:, :2], triangles)


def test_embedded_surface_follows_its_body(make_scene, device) -> None:
    vertices, triangles = _sphere(8)
    result = tf.voxel_mesh(vertices, triangles, resolution=4, device=device)
    scene = make_scene(
        [tf.Body(tf.box_mesh((1, 1, 1), 1.0)), tf.Body(result.mesh, position=(3, 0, 0))], device=device
    )
    embedded = tf.EmbeddedPoints(scene.model, 1, result.embedding)
    turn = np.array(((0, -1, 0), (1, 0, 0), (0, 0, 1.2)))
    places = scene.x
    places[scene.model.nodes_of(1)] = result.mesh.points @ turn.T + (3, 1, 2)
    scene.place(places)
    scene.throw(places * 0.5)
    embedded.update(scene.state)
    expected = vertices @ turn.T + (3, 1, 2)
    assert np.allclose(embedded.positions.numpy(), expected, atol=1e-6)
    assert np.allclose(embedded.velocities.numpy(), 0.5 * expected, atol=1e-6)
    with pytest.raises(tf.ModelError, match="embedding"):
        tf.EmbeddedPoints(scene.model, 0, result.embedding)


def test_points_outside_follow_the_nearest_element() -> None:
    mesh = tf.box_mesh((2, 1, 1), 1.0)
    embedding = tf.embed_points(mesh, [(2.5, 0.5, 0.5), (0.1, 0.2, 0.3)])
    assert embedding.outside[0] == pytest.approx(0.5, abs=1e-9)
    assert embedding.outside[1] == 0.0
    assert np.allclose(embedding.interpolate(mesh.points), [(2.5, 0.5, 0.5), (0.1, 0.2, 0.3)])


def test_quality_of_known_shapes() -> None:
    regular = np.array([(1, 1, 1), (1, -1, -1), (-1, 1, -1), (-1, -1, 1)], dtype=float)
    report = tf.measure_quality(tf.TetMesh.from_arrays(regular, [(0, 2, 1, 3)]))
    assert report.mean_ratio[0] == pytest.approx(1.0)
    assert np.degrees(report.smallest_angle[0]) == pytest.approx(70.5288, abs=1e-4)
    report = tf.measure_quality(tf.box_mesh((2, 2, 2), 0.5))
    assert report.volume == pytest.approx(1.0)
    assert np.degrees(report.largest_angle.max()) == pytest.approx(90.0)
    assert "48 tetrahedra, 27 nodes" in str(report)


def test_conforming_tetrahedra() -> None:
    pytest.importorskip("pytetwild")
    vertices, triangles = _sphere(8)
    mesh = tf.tetrahedralize(vertices, triangles, edge_length=0.3)
    report = tf.measure_quality(mesh)
    assert report.volume == pytest.approx(4.0 / 3.0 * np.pi * 0.125, rel=0.1)
    assert report.smallest_volume > 0.0
    surface = np.linalg.norm(mesh.points[np.unique(mesh.boundary)], axis=1)
    assert np.abs(surface - 0.5).max() < 0.03


def test_without_the_tetrahedraliser_the_message_says_what_to_install(monkeypatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pytetwild", None)
    with pytest.raises(tf.MissingPackageError, match=r"tensorphys-fem\[tetrahedralize\]"):
        tf.tetrahedralize(*_sphere(4))


def test_replicated_bodies_share_their_tables(device) -> None:
    """A thousand bodies of one mesh are cooked once, and rows of the arrays are those of one body, shifted."""
    mesh = tf.box_mesh((2, 2, 2), 0.1)
    one = tf.FemModel([tf.Body(mesh)], device=device)
    many = tf.FemModel([tf.Body(mesh, environment=i) for i in range(1000)], device=device)
    rows = many.elements_of(777)
    shift = many.node_start[777]
    assert np.array_equal(many.element_nodes.numpy()[rows], one.element_nodes.numpy() + shift)
    start = many.mesh.row_start.numpy()
    assert np.array_equal(np.diff(start).reshape(1000, -1)[777], np.diff(one.mesh.row_start.numpy()))
    assert many.environment_count == 1000
    assert wp.get_device(device) == many.device
