"""Ties of normals are broken the same way however rounding falls."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType

COUNT = 1000


def leaning(half: tuple[float, float, float], lean: float, gap: float) -> np.ndarray:
    """Poses of two equal boxes that lean toward each other about y, meeting along an upper edge."""
    reach = half[0] * np.cos(lean) + half[2] * np.sin(lean) + 0.5 * gap
    s, c = np.sin(0.5 * lean), np.cos(0.5 * lean)
    return np.array([[-reach, 0, 0, 0, s, 0, c], [reach, 0, 0, 0, -s, 0, c]])


def normals_of(half: tuple[float, float, float], poses: np.ndarray, device: str) -> np.ndarray:
    """Normal of the deepest contact of each pair [count, 3]."""
    count = len(poses)
    model = tc.build_model(
        shape_type=[ShapeType.BOX] * (2 * count),
        shape_body=np.arange(2 * count),
        shape_pose=np.tile([0, 0, 0, 0, 0, 0, 1.0], (2 * count, 1)),
        shape_size=[half] * (2 * count),
        shape_environment=np.repeat(np.arange(count), 2),
        pairs=np.arange(2 * count).reshape(-1, 2),
        environment_count=count,
        shape_material=np.zeros(2 * count, dtype=int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(2 * count, 0.005),
        rest_offset=np.zeros(2 * count),
        device=device,
    )
    contacts = tc.create_contacts(model)
    body = wp.array(poses.reshape(-1, 7).astype(np.float32), dtype=wp.transform, device=device)
    tc.collide(model, body, contacts)
    start, used = contacts.slot_start.numpy()[:-1], contacts.count.numpy()
    assert (used > 0).all()
    separation, normal = contacts.separation.numpy(), contacts.normal.numpy()
    slots = [s + int(separation[s : s + n].argmin()) for s, n in zip(start, used, strict=True)]
    return normal[slots]


@pytest.mark.parametrize("half", [(0.05, 0.05, 0.1), (0.0025, 0.05, 0.1)])
@pytest.mark.parametrize("gap", [-1e-4, -1e-6, 0.0, 2e-7])
def test_a_ridge_keeps_its_normal(half: tuple[float, float, float], gap: float, device: str) -> None:
    """Both boxes' faces separate alike; perturbations of 1e-7 do not change which one is reported."""
    rng = np.random.default_rng(5)
    poses = leaning(half, np.radians(20.0), gap) + 1e-7 * rng.normal(size=(COUNT, 2, 7))
    poses[:, :, 3:] /= np.linalg.norm(poses[:, :, 3:], axis=2, keepdims=True)
    normal = normals_of(half, poses, device)
    face = np.round(normal[:, 0] * 10).astype(int) * 100 + np.round(normal[:, 2] * 10).astype(int)
    _kinds, counts = np.unique(face, return_counts=True)
    assert counts.max() >= 0.99 * COUNT


def test_two_edges_side_by_side_keep_their_normal(device: str) -> None:
    """Cubes that overlap as far to the side as upward: two faces of each separate alike."""
    rng = np.random.default_rng(6)
    pose = np.array([[0, 0, 0, 0, 0, 0, 1.0], [0.1999, 0.0, 0.1999, 0, 0, 0, 1.0]])
    normal = normals_of((0.1, 0.1, 0.1), pose + 1e-7 * rng.normal(size=(COUNT, 2, 7)), device)
    _kinds, counts = np.unique(np.round(normal * 10).astype(int), axis=0, return_counts=True)
    assert counts.max() >= 0.99 * COUNT
