"""Distances against MuJoCo, an independent library (extra ``peers``)."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType

mujoco = pytest.importorskip("mujoco")
pytestmark = pytest.mark.peers

COUNT, OFFSET = 500, 0.05
GEOM = {
    ShapeType.PLANE: mujoco.mjtGeom.mjGEOM_PLANE,
    ShapeType.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
    ShapeType.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
    ShapeType.BOX: mujoco.mjtGeom.mjGEOM_BOX,
}


def random_sizes(kind: ShapeType, rng: np.random.Generator) -> np.ndarray:
    size = rng.uniform(0.05, 0.6, (COUNT, 3))
    keep = {ShapeType.PLANE: 0, ShapeType.SPHERE: 1, ShapeType.CAPSULE: 2, ShapeType.BOX: 3}[kind]
    size[:, keep:] = 0.0
    return size


def random_poses(reach: float, rng: np.random.Generator) -> np.ndarray:
    q = rng.normal(size=(COUNT, 4))
    pose = np.concatenate([rng.normal(size=(COUNT, 3)) * reach, q / np.linalg.norm(q, axis=1)[:, None]], 1)
    return pose.astype(np.float32)


def least_separations(
    kinds: tuple[ShapeType, ShapeType], sizes: np.ndarray, poses: np.ndarray, device: str
) -> np.ndarray:
    """Least separation of each pair, one environment a pair; infinite without contact."""
    model = tc.build_model(
        shape_type=np.tile(kinds, COUNT),
        shape_body=np.arange(2 * COUNT),
        shape_pose=np.tile([0, 0, 0, 0, 0, 0, 1.0], (2 * COUNT, 1)),
        shape_size=sizes.reshape(-1, 3),
        shape_environment=np.repeat(np.arange(COUNT), 2),
        pairs=np.arange(2 * COUNT).reshape(-1, 2),
        environment_count=COUNT,
        shape_material=np.zeros(2 * COUNT, dtype=int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(2 * COUNT, OFFSET),
        rest_offset=np.zeros(2 * COUNT),
        device=device,
    )
    contacts = tc.create_contacts(model)
    tc.collide(model, wp.array(poses.reshape(-1, 7), dtype=wp.transform, device=device), contacts)
    start, count, separation = (getattr(contacts, n).numpy() for n in ("slot_start", "count", "separation"))
    return np.array(
        [separation[s : s + n].min() if n else np.inf for s, n in zip(start[:-1], count, strict=True)]
    )


def mujoco_distances(kinds: tuple[ShapeType, ShapeType], sizes: np.ndarray, poses: np.ndarray) -> np.ndarray:
    spec = mujoco.MjSpec()
    for kind in kinds:
        parent = spec.worldbody if kind == ShapeType.PLANE else spec.worldbody.add_body()
        parent.add_geom(type=GEOM[kind], size=[1, 1, 1])
    model = spec.compile()
    model.opt.ccd_tolerance = 1e-9
    model.opt.ccd_iterations = 100
    data = mujoco.MjData(model)
    segment, matrix = np.zeros(6), np.zeros(9)
    distances = np.empty(COUNT)
    for k in range(COUNT):
        for g in range(2):
            pose = poses[k, g].astype(np.float64)
            q = pose[[6, 3, 4, 5]]
            mujoco.mju_quat2Mat(matrix, q / np.linalg.norm(q))
            data.geom_xpos[g], data.geom_xmat[g] = pose[:3], matrix
            model.geom_size[g] = sizes[k, g]
            model.geom_rbound[g] = 0.0 if kinds[g] == ShapeType.PLANE else 5.0
        distances[k] = mujoco.mj_geomDistance(model, data, 0, 1, 1.0, segment)
    return distances


# Capsule against box is compared with the float64 reference instead: MuJoCo's special
# routine for that pair misses deep contacts.
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (ShapeType.PLANE, ShapeType.SPHERE),
        (ShapeType.PLANE, ShapeType.CAPSULE),
        (ShapeType.PLANE, ShapeType.BOX),
        (ShapeType.SPHERE, ShapeType.SPHERE),
        (ShapeType.SPHERE, ShapeType.CAPSULE),
        (ShapeType.SPHERE, ShapeType.BOX),
        (ShapeType.CAPSULE, ShapeType.CAPSULE),
        (ShapeType.BOX, ShapeType.BOX),
    ],
)
def test_distance_of_random_pairs(first: ShapeType, second: ShapeType, device: str) -> None:
    rng = np.random.default_rng(11)
    sizes = np.stack([random_sizes(first, rng), random_sizes(second, rng)], axis=1)
    poses = np.stack([random_poses(0.1, rng), random_poses(0.5, rng)], axis=1)
    ours = least_separations((first, second), sizes, poses, device)
    theirs = mujoco_distances((first, second), sizes, poses)
    assert np.array_equal(np.isfinite(ours), theirs < 2 * OFFSET)
    near = np.isfinite(ours)
    assert near.sum() > 100
    error = ours[near] - theirs[near]
    # Faces of boxes are preferred to edges by 1e-4 of the least half extent.
    preference = 1e-4 * 0.6 if first == second == ShapeType.BOX else 0.0
    assert np.abs(error).max() < 1.5e-6 + preference
