"""Properties of random pairs, against the float64 reference."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from tensorphys_contact import ShapeType
from tensorphys_contact._reference import rotation_matrix, signed_distance
from tensorphys_contact.testing import (
    PipelineResult,
    PipelineScene,
    box_sizes,
    capsule_sizes,
    poses,
    run_pipeline,
    sphere_sizes,
    unit_quaternions,
)

OFFSET = 0.0625
# Rounding of lengths of order one, and the preference of faces over edges (1e-4 of the
# least half extent).
ROUNDING, PREFERENCE = 2e-6, 1e-4

SHAPES = {
    ShapeType.SPHERE: sphere_sizes(),
    ShapeType.CAPSULE: capsule_sizes(),
    ShapeType.BOX: box_sizes(),
}


@st.composite
def scenes(draw: st.DrawFn, plane: bool = False) -> PipelineScene:
    """Two shapes, the second placed so that they are often near each other."""
    kinds = [draw(st.sampled_from([ShapeType.PLANE] if plane else list(SHAPES)))]
    kinds.append(draw(st.sampled_from(list(SHAPES))))
    sizes = [np.zeros(3) if k == ShapeType.PLANE else draw(SHAPES[k]) for k in kinds]
    pose0, pose1 = draw(poses(1.0)), draw(poses(1.0))
    # Rounded as the device sees them, so that the reference sees the same.
    rounded = [np.asarray(p, dtype=np.float32).astype(np.float64) for p in (pose0, pose1)]
    return PipelineScene(
        shape_type=[int(k) for k in kinds],
        shape_size=[tuple(s) for s in sizes],
        pose=[tuple(p) for p in rounded],
        static=[plane, False],
        environment=[0, 0],
        contact_offset=OFFSET,
    )


def exact(scene: PipelineScene) -> float:
    parts = [(scene.shape_type[k], scene.shape_size[k], scene.pose[k]) for k in (0, 1)]
    return signed_distance(*parts[0], *parts[1])


def preference(scene: PipelineScene) -> float:
    """How much a depth may miss the least one because faces are preferred to edges."""
    halves = [
        min(size)
        for kind, size in zip(scene.shape_type, scene.shape_size, strict=True)
        if kind == ShapeType.BOX
    ]
    return PREFERENCE * min(halves) if halves else 0.0


@given(scene=scenes())
def test_nearest_contact_has_the_distance_of_the_shapes(device: str, scene: PipelineScene) -> None:
    found, distance = run_pipeline(scene, device), exact(scene)
    assume(abs(distance - 2 * OFFSET) > 1e-4)
    if distance > 2 * OFFSET:
        assert len(found.separation) == 0
        return
    assert len(found.separation) > 0
    # Where two axes meet at less than a milliradian, the ends decide, off by their distance.
    radii = [size[0] for size in scene.shape_size]
    assume(scene.shape_type != [ShapeType.CAPSULE] * 2 or distance > -0.99 * sum(radii))
    least = float(found.separation.min())
    slack = preference(scene) + ROUNDING
    assert least >= distance - slack
    assert least <= distance + slack


@given(scene=scenes(plane=True))
def test_distance_from_a_plane(device: str, scene: PipelineScene) -> None:
    found, distance = run_pipeline(scene, device), exact(scene)
    assume(abs(distance - 2 * OFFSET) > 1e-4)
    assert (len(found.separation) > 0) == (distance < 2 * OFFSET)
    if len(found.separation):
        assert abs(float(found.separation.min()) - distance) < ROUNDING
        normal = rotation_matrix(scene.pose[0][3:])[:, 2]
        # The plane is shape 0, the normal points from shape 1 to it.
        np.testing.assert_allclose(found.normal, np.tile(-normal, (len(found.normal), 1)), atol=2e-6)


def surface_distance(scene: PipelineScene, which: int, points: np.ndarray) -> np.ndarray:
    """Distance of world points to the surface of a shape."""
    pose = np.array(scene.pose[which])
    local = (points - pose[:3]) @ rotation_matrix(pose[3:])
    kind, size = scene.shape_type[which], np.array(scene.shape_size[which])
    if kind == ShapeType.PLANE:
        return np.abs(local[:, 2])
    if kind == ShapeType.BOX:
        outside = np.linalg.norm(np.maximum(np.abs(local) - size, 0.0), axis=1)
        inside = np.minimum((np.abs(local) - size).max(axis=1), 0.0)
        return np.abs(outside + inside)
    reach = size[1] if kind == ShapeType.CAPSULE else 0.0
    core = local.copy()
    core[:, 2] -= np.clip(local[:, 2], -reach, reach)
    return np.abs(np.linalg.norm(core, axis=1) - size[0])


@given(scene=st.one_of(scenes(), scenes(plane=True)))
def test_anchors_lie_on_the_surfaces_and_normals_are_unit(device: str, scene: PipelineScene) -> None:
    found = run_pipeline(scene, device)
    assume(len(found.separation) > 0)
    p0, p1 = found.world_points(scene)
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0, atol=2e-6)
    np.testing.assert_allclose(((p0 - p1) * found.normal).sum(axis=1), found.separation, atol=ROUNDING)
    # A corner just outside of the reference face is put onto its side, along the other face.
    slack = ROUNDING + (2 * preference(scene) if scene.shape_type == [ShapeType.BOX] * 2 else 0.0)
    chosen = slice(None)
    if ShapeType.CAPSULE in scene.shape_type:
        # Its second contact may be one of a ball inside of it; and a box that its axis
        # enters is left through a face, along which the ball is not the whole capsule.
        assume(ShapeType.BOX not in scene.shape_type or exact(scene) > -0.0625)
        chosen = slice(int(found.separation.argmin()), int(found.separation.argmin()) + 1)
    assert surface_distance(scene, 0, p0[chosen]).max() < slack
    assert surface_distance(scene, 1, p1[chosen]).max() < slack
    assert (np.diff(found.key) > 0).all()
    assert (found.separation < 2 * OFFSET).all()


def swapped(scene: PipelineScene) -> PipelineScene:
    return PipelineScene(
        shape_type=scene.shape_type[::-1],
        shape_size=scene.shape_size[::-1],
        pose=scene.pose[::-1],
        static=scene.static[::-1],
        environment=[0, 0],
        contact_offset=OFFSET,
    )


@given(scene=st.one_of(scenes(), scenes(plane=True)))
def test_swapping_the_shapes_swaps_the_contact(device: str, scene: PipelineScene) -> None:
    same_size = scene.shape_size[0] == scene.shape_size[1]
    assume(scene.shape_type[0] != scene.shape_type[1] or not same_size)
    radii = [
        np.linalg.norm(s) if k == ShapeType.BOX else sum(s)
        for k, s in zip(scene.shape_type, scene.shape_size, strict=True)
    ]
    assume(scene.shape_type[0] != scene.shape_type[1] or abs(radii[0] - radii[1]) > 1e-6)
    a, b = run_pipeline(scene, device), run_pipeline(swapped(scene), device)
    assert np.array_equal(a.normal, -b.normal)
    assert np.array_equal(a.separation, b.separation)
    assert np.array_equal(a.anchor0, b.anchor1)
    assert np.array_equal(a.anchor1, b.anchor0)
    assert np.array_equal(a.key, b.key)


def moved(scene: PipelineScene, shift: np.ndarray, quaternion: np.ndarray) -> PipelineScene:
    turn = rotation_matrix(quaternion)
    placed = []
    for pose in scene.pose:
        q = np.array(pose[3:])
        v, w = quaternion[:3], quaternion[3]
        product = np.append(w * q[:3] + q[3] * v + np.cross(v, q[:3]), w * q[3] - v @ q[:3])
        placed.append((*(shift + turn @ np.array(pose[:3])), *product))
    return PipelineScene(
        shape_type=scene.shape_type,
        shape_size=scene.shape_size,
        pose=placed,
        static=scene.static,
        environment=[0, 0],
        contact_offset=OFFSET,
    )


@given(scene=scenes(), quaternion=unit_quaternions(), shift=st.tuples(*[st.floats(-4, 4, width=32)] * 3))
def test_a_rigid_motion_moves_the_contacts(
    device: str, scene: PipelineScene, quaternion: np.ndarray, shift: tuple[float, float, float]
) -> None:
    """The least separation is the same, and normals turn with the scene."""
    a = run_pipeline(scene, device)
    b = run_pipeline(moved(scene, np.array(shift), quaternion), device)
    distance = exact(scene)
    assume(abs(distance - 2 * OFFSET) > 1e-4)
    assert (len(a.separation) > 0) == (len(b.separation) > 0)
    if len(a.separation):
        slack = 2 * preference(scene) + 4 * ROUNDING
        if scene.shape_type != [ShapeType.BOX, ShapeType.BOX]:
            assert abs(float(a.separation.min() - b.separation.min())) < slack
        if np.array_equal(a.key, b.key) and distance > 0.01:
            turned = a.normal @ rotation_matrix(quaternion).T
            np.testing.assert_allclose(turned, b.normal, atol=1e-3)


@given(scene=scenes())
def test_separated_shapes_have_no_penetration(device: str, scene: PipelineScene) -> None:
    distance = exact(scene)
    assume(distance > 1e-4)
    found: PipelineResult = run_pipeline(scene, device)
    assert (found.separation > 0.0).all()
