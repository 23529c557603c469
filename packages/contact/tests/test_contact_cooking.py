"""Decomposition, simplification, boxes, and the cache of cooked data."""

from __future__ import annotations

import pathlib
import sys

import numpy as np
import pytest

import tensorphys_contact as tc
from tensorphys_contact import cooking

# A bar with an L-shaped profile, as two boxes that share a face would make it.
PROFILE = np.array([[0, 0], [3, 0], [3, 1], [1, 1], [1, 3], [0, 3]], float)
POINTS = np.concatenate([np.column_stack([PROFILE, np.full(6, z)]) for z in (0.0, 1.0)])
CAP = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
TRIANGLES = (
    [(a, c, b) for a, b, c in CAP]
    + [(a + 6, b + 6, c + 6) for a, b, c in CAP]
    + [t for k in range(6) for t in ((k, (k + 1) % 6, (k + 1) % 6 + 6), (k, (k + 1) % 6 + 6, k + 6))]
)


def volume(hull: tc.Hull) -> float:
    """Volume from the faces [divergence theorem]."""
    total = 0.0
    for f in range(hull.face_count):
        p = hull.vertices[hull.face(f)]
        total += sum(float(p[0] @ np.cross(p[k], p[k + 1])) for k in range(1, len(p) - 1)) / 6.0
    return total


@pytest.mark.filterwarnings("ignore")
def test_an_l_becomes_two_boxes(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("coacd")
    cache = tc.CookingCache(tmp_path)
    hulls = tc.decompose(POINTS, TRIANGLES, threshold=0.05, cache=cache)
    assert len(hulls) == 2
    assert sum(volume(h) for h in hulls) == pytest.approx(5.0, rel=0.02)
    files = list(tmp_path.iterdir())
    assert len(files) == 1
    again = tc.decompose(POINTS, TRIANGLES, threshold=0.05, cache=cache)
    for first, second in zip(hulls, again, strict=True):
        assert np.array_equal(first.vertices, second.vertices)
    assert list(tmp_path.iterdir()) == files


def test_what_is_cached_is_not_made_again(tmp_path: pathlib.Path) -> None:
    cache = tc.CookingCache(tmp_path / "new")
    made = []

    def make() -> dict:
        made.append(1)
        return {"a": np.arange(3.0), "b": np.array([[1, 2]])}

    first, second = cache.arrays("k", make), cache.arrays("k", make)
    assert len(made) == 1
    assert np.array_equal(first["b"], second["b"])
    (file,) = (tmp_path / "new").iterdir()
    file.write_bytes(b"broken")
    assert np.array_equal(cache.arrays("k", make)["a"], first["a"])
    assert len(made) == 2
    cache.arrays("k", make)
    assert len(made) == 2


def test_the_hash_tells_content_and_options_apart() -> None:
    a = np.arange(6.0)
    base = cooking.content_hash("t", (a,), {"x": 1})
    assert base == cooking.content_hash("t", (a.copy(),), {"x": 1})
    others = [
        cooking.content_hash("u", (a,), {"x": 1}),
        cooking.content_hash("t", (a.reshape(2, 3),), {"x": 1}),
        cooking.content_hash("t", (a.astype(np.float32),), {"x": 1}),
        cooking.content_hash("t", (a + 1e-12,), {"x": 1}),
        cooking.content_hash("t", (a,), {"x": 2}),
    ]
    assert len({base, *others}) == 6


def test_simplification_keeps_the_form() -> None:
    pytest.importorskip("fast_simplification")
    x = np.linspace(-1.0, 1.0, 41)
    field = tc.cook_height_field(0.2 * np.sin(2 * x)[:, None] * np.cos(2 * x)[None], (0.05, 0.05))
    small = tc.simplify(field.vertices, field.triangles, triangle_count=300)
    assert 200 <= len(small.triangles) <= 310
    height = 0.2 * np.sin(2 * (small.vertices[:, 0] - 1.0)) * np.cos(2 * (small.vertices[:, 1] - 1.0))
    assert np.abs(small.vertices[:, 2] - height).max() < 0.01
    same = tc.simplify(POINTS, TRIANGLES, triangle_count=100)
    assert len(same.triangles) == len(TRIANGLES)
    with pytest.raises(tc.MeshError, match="at least 4"):
        tc.simplify(POINTS, TRIANGLES, triangle_count=3)


def test_a_turned_box_is_found() -> None:
    rng = np.random.default_rng(0)
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    half = np.array([0.3, 0.7, 0.2])
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    points = np.concatenate([corners, rng.uniform(-1, 1, (20, 3)) * half]) @ q.T + [4.0, 5.0, 6.0]
    box = tc.bounding_box(points)
    np.testing.assert_allclose(np.sort(box.half), np.sort(half), atol=1e-9)
    np.testing.assert_allclose(box.center, [4.0, 5.0, 6.0], atol=1e-9)
    assert np.linalg.det(box.axes) == pytest.approx(1.0)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "coacd", None)
    with pytest.raises(tc.MissingLibraryError, match=r"coacd: pip install tensorphys-contact\[cooking\]"):
        tc.decompose(POINTS, TRIANGLES)


def test_repair_turns_faces_outward_and_drops_repeated_ones() -> None:
    rng = np.random.default_rng(3)
    turned = [t[::-1] if rng.random() < 0.4 else t for t in TRIANGLES]
    messy = [*turned, TRIANGLES[0], (0, 0, 1), TRIANGLES[1][::-1]]
    points = np.concatenate([POINTS, POINTS[:3] + 1e-9])
    messy[5] = tuple(12 + k if k < 3 else k for k in messy[5])
    mesh = tc.cook_mesh(points, messy, repair=True)
    a, b, c = (mesh.vertices[mesh.triangles[:, k]] for k in range(3))
    assert len(mesh.triangles) == len(TRIANGLES)
    assert len(mesh.vertices) == 12
    assert (a * np.cross(b, c)).sum() / 6.0 == pytest.approx(5.0)
    plain = tc.cook_mesh(points, messy)
    assert len(plain.triangles) == len(TRIANGLES) + 2


def test_hulls_and_meshes_come_back_from_the_cache_bit_for_bit(tmp_path: pathlib.Path) -> None:
    cache = tc.CookingCache(tmp_path)
    for _ in range(2):
        hull, mesh = tc.cached_hull(POINTS, cache=cache), tc.cached_mesh(POINTS, TRIANGLES, cache=cache)
        for got, expected in ((hull, tc.cook_hull(POINTS)), (mesh, tc.cook_mesh(POINTS, TRIANGLES))):
            for name, value in vars(expected).items():
                assert np.array_equal(getattr(got, name), value)
    assert len(list(tmp_path.iterdir())) == 2
    tc.cached_hull(POINTS, vertex_limit=8, cache=cache)
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("seed", range(6))
def test_bounding_shapes_hold_all_points_and_are_small(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(60, 3)) * [1.0, 2.0, 5.0] + [10.0, 0.0, -3.0]
    sphere = tc.bounding_sphere(points)
    assert np.linalg.norm(points - sphere.center, axis=1).max() <= sphere.radius * (1 + 1e-12)
    # No centre nearby does better: the smallest sphere is the only local minimum.
    for step in np.concatenate([np.eye(3), -np.eye(3), rng.normal(size=(20, 3))]):
        moved = sphere.center + 1e-4 * sphere.radius * step / np.linalg.norm(step)
        assert np.linalg.norm(points - moved, axis=1).max() > sphere.radius
    capsule = tc.bounding_capsule(points)
    along = np.clip((points - capsule.center) @ capsule.axis, -capsule.half_height, capsule.half_height)
    nearest = capsule.center + along[:, None] * capsule.axis
    assert np.linalg.norm(points - nearest, axis=1).max() <= capsule.radius * (1 + 1e-9)
    assert abs(capsule.axis[2]) > 0.9
    with pytest.raises(tc.HullError, match="finite points"):
        tc.bounding_sphere(np.zeros((0, 3)))
