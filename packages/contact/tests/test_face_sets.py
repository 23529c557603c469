"""Faces against convex shapes: closed forms of the deepest point between the corners of a triangle."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc


def test_triangles_are_checked(device: str) -> None:
    with pytest.raises(tc.ArrayError, match="triangles"):
        tc.FaceSet([[0, 1, 5]], solid=[1], point_count=3, device=device)
    with pytest.raises(tc.ArrayError, match="solid"):
        tc.FaceSet([[0, 1, 2]], solid=[1, 1], point_count=3, device=device)


# (shape, size, pose, distance along the normal, place of the deepest point); the face is in the plane z = 0, its outside below.
HALF = np.array((0.03, 0.03, 0.03))
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
ANGLE = 0.5 * np.arccos(1.0 / np.sqrt(3.0))
ON_CORNER = (np.sin(ANGLE) / np.sqrt(2.0), -np.sin(ANGLE) / np.sqrt(2.0), 0.0, np.cos(ANGLE))
DIAGONAL = 0.03 * np.sqrt(3.0)
CASES = {
    "sphere in": (tc.ShapeType.SPHERE, (0.05, 0, 0), (0.02, 0.01, -0.049, *UPRIGHT), -0.001, (0.02, 0.01)),
    "sphere off": (tc.ShapeType.SPHERE, (0.05, 0, 0), (0.0, -0.02, -0.052, *UPRIGHT), 0.002, (0.0, -0.02)),
    "corner": (tc.ShapeType.BOX, HALF, (0.01, 0.0, -DIAGONAL + 0.002, *ON_CORNER), -0.002, (0.01, 0.0)),
    "capsule": (tc.ShapeType.CAPSULE, (0.02, 0.03, 0), (0.0, 0.02, -0.047, *UPRIGHT), -0.003, (0.0, 0.02)),
}


@pytest.mark.parametrize("case", list(CASES))
def test_the_deepest_point_of_a_face(device: str, case: str) -> None:
    kind, size, pose, distance, place = CASES[case]
    points = np.array([[-0.1, -0.1, 0.0], [0.1, -0.1, 0.0], [0.0, 0.15, 0.0]])
    # counter-clockwise seen from below: the solid is above
    faces, found = _collide(kind, size, pose, points, [[0, 2, 1]], device)
    assert found.tolist() == [1, 0, 0, 0]
    np.testing.assert_allclose(faces.normal.numpy()[0], (0.0, 0.0, 1.0), atol=1e-6)
    at = faces.weight.numpy()[0, 0] @ points[[0, 2, 1]]
    np.testing.assert_allclose(at[:2], place, atol=1e-3)
    assert faces.distance.numpy()[0, 0] == pytest.approx(distance, abs=2e-5)


def test_corners_and_planes_are_no_business_of_faces(device: str) -> None:
    """A face whose corner is the deepest meets nothing, nor does one that looks away, or is out of reach."""
    tilted = np.array([[-0.1, -0.1, -0.01], [0.1, -0.1, 0.02], [0.0, 0.15, 0.02]])
    flat = tilted * (1, 1, 0)
    big = (tc.ShapeType.BOX, (0.5, 0.5, 0.05), (0.0, 0.0, -0.055, *UPRIGHT))
    small = (tc.ShapeType.SPHERE, (0.05, 0, 0))
    assert _collide(*big, tilted, [[0, 2, 1]], device)[1].sum() == 0
    assert _collide(*big, flat, [[0, 2, 1]], device)[1].sum() == 0
    assert _collide(*small, (0, 0, -0.049, *UPRIGHT), flat, [[0, 1, 2]], device)[1].sum() == 0
    assert _collide(*small, (0, 0, -0.2, *UPRIGHT), flat, [[0, 2, 1]], device)[1].sum() == 0
    assert (
        _collide(*small, (0, 0, -0.049, *UPRIGHT), np.full((3, 3), np.nan), [[0, 2, 1]], device)[1].sum() == 0
    )


def _collide(kind, size, pose, points, triangles, device):
    """Faces against one shape, with a margin of 1 cm; and which places found it."""
    model = tc.build_model(
        shape_type=[int(kind)],
        shape_body=[-1],
        shape_pose=[pose],
        shape_size=[size],
        shape_environment=[0],
        shape_material=[0],
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[0.01],
        rest_offset=[0.0],
        pairs=np.zeros((0, 3), np.int32),
        environment_count=1,
        body_environment=np.zeros(0, int),
        device=device,
    )
    body_pose = wp.zeros(0, dtype=wp.transform, device=device)
    tree = tc.create_query_tree(model, body_pose)
    near = tc.create_point_contacts(np.zeros(len(points)), 1, device)
    faces = tc.FaceSet(triangles, solid=[1] * len(triangles), point_count=len(points), device=device)
    faces.collide(
        model,
        tree,
        tc.create_point_shapes(model),
        body_pose,
        near,
        position=wp.array(points.astype(np.float32), dtype=wp.vec3, device=device),
        margin=wp.full(len(points), 0.01, dtype=wp.float32, device=device),
    )
    return faces, (faces.shape.numpy()[0] >= 0).astype(int)
