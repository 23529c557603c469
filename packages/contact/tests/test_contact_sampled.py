"""Signed distance fields and sets of spheres against every shape."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import warp as wp

import tensorphys_contact as tc
import tensorphys_sdf as ts
from tensorphys_contact import ShapeType as S

EYE = (0.0, 0.0, 0.0, 1.0)
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
SQUARES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = np.array([t for a, b, c, d in SQUARES for t in ((a, b, c), (a, c, d))])
HALF = 0.05
CELL = 2.0 * HALF / 48
HULL = tc.cook_hull(CORNERS * 0.03)
SIZES = {
    S.PLANE: (0, 0, 0),
    S.SPHERE: (0.03, 0, 0),
    S.CAPSULE: (0.02, 0.03, 0),
    S.BOX: (0.03, 0.04, 0.02),
    S.CONVEX_HULL: (0, 0, 0),
    S.CYLINDER: (0.03, 0.03, 0),
    S.CONE: (0.03, 0.03, 0),
    S.ELLIPSOID: (0.03, 0.04, 0.02),
}
_FIELDS: dict[str, Any] = {}


def cube(device: str) -> tc.SdfGeometry:
    """A cube with edges of 0.1, as a field."""
    if device not in _FIELDS:
        parameters = ts.FieldParameters(resolution=48)
        _FIELDS[device] = tc.cook_sdf(CORNERS * HALF, TRIANGLES, parameters=parameters, device=device)
    return _FIELDS[device]


def collide(
    kinds: list[int], poses: np.ndarray, device: str, *, sizes: list[Any], offset: float = 0.004, **more: Any
) -> list[dict[str, np.ndarray]]:
    """Contacts of two shapes; one environment for each pair of poses [count, 2, 7]."""
    count = len(poses)
    columns = {name: list(more.pop(name)) * count for name in list(more) if name.startswith("shape_")}
    model = tc.build_model(
        shape_type=list(kinds) * count,
        shape_body=np.arange(2 * count),
        shape_pose=[[0, 0, 0, *EYE]] * (2 * count),
        shape_size=list(sizes) * count,
        shape_environment=np.repeat(np.arange(count), 2),
        pairs=np.arange(2 * count).reshape(-1, 2),
        environment_count=count,
        shape_material=np.zeros(2 * count, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(2 * count, offset),
        rest_offset=np.zeros(2 * count),
        device=device,
        **columns,
        **more,
    )
    contacts = tc.create_contacts(model)
    pose = wp.array(np.asarray(poses, np.float32).reshape(-1, 7), dtype=wp.transform, device=device)
    tc.collide(model, pose, contacts)
    start, used = contacts.slot_start.numpy(), contacts.count.numpy()
    names = ("separation", "normal", "anchor0", "anchor1", "key")
    data = {n: getattr(contacts, n).numpy() for n in names}
    return [{n: data[n][s : s + c] for n in names} for s, c in zip(start[:-1], used, strict=True)]


def turns(rng: np.random.Generator, count: int) -> np.ndarray:
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def around_cube(seed: int, count: int, low: float, high: float) -> np.ndarray:
    """A shape turned at random near a cube at the origin."""
    rng = np.random.default_rng(seed)
    d = rng.normal(size=(count, 3))
    d /= np.abs(d).max(axis=1, keepdims=True)
    pose = np.concatenate([d * rng.uniform(low, high, (count, 1)), turns(rng, count)], axis=1)
    fixed = np.tile([0.0, 0, 0, *EYE], (count, 1))
    return np.stack([fixed, pose], axis=1)


def geometry(kind: int, device: str, index: int) -> dict[str, Any]:
    """Columns of the geometry of shape ``index`` of two."""
    of = lambda own: [0 if k == index and own else -1 for k in range(2)]  # noqa: E731
    result: dict[str, Any] = {}
    if kind == S.CONVEX_HULL:
        result = {"shape_hull": of(True), "hulls": [HULL]}
    if kind == S.SDF:
        result = {"shape_sdf": of(True), "sdfs": [cube(device)]}
    return result


@pytest.mark.parametrize("kind", [k for k in SIZES if k not in (S.PLANE,)])
def test_a_field_of_a_cube_is_a_box(kind: S, device: str) -> None:
    """Gaps and shallow depths of a field are those of the analytic box, to a part of a cell."""
    poses = around_cube(int(kind), 150, 0.06, 0.1)
    size = SIZES[kind]
    field = collide(
        [S.SDF, kind],
        poses,
        device,
        sizes=[(1, 1, 1), size],
        **{**geometry(kind, device, 1), "shape_sdf": [0, -1], "sdfs": [cube(device)]},
    )
    boxes = collide([S.BOX, kind], poses, device, sizes=[(HALF,) * 3, size], **geometry(kind, device, 1))
    worst, both = 0.0, 0
    for a, b in zip(field, boxes, strict=True):
        least = b["separation"].min() if len(b["key"]) else np.inf
        if least > 0.0079 or least < -0.003:
            continue  # near the offset, or so deep that a face is not the nearest way out everywhere
        both += 1
        assert len(a["key"]) > 0
        worst = max(worst, abs(a["separation"].min() - least))
        # Edges that cross each other inside have no single way out.
        deepest = a["separation"].argmin()
        assert least < 2e-4 or a["normal"][deepest] @ b["normal"][b["separation"].argmin()] > 0.9
    assert both > 15
    assert worst < 0.35 * CELL


def test_a_field_on_a_plane_finds_its_corners(device: str) -> None:
    poses = around_cube(5, 60, 0.0, 0.0)
    turn = poses[:, 1, 3:]
    x, y, z, w = turn.T
    rows = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)
    lowest = -np.abs(rows).sum(axis=1) * HALF
    poses[:, 1, 2] = -lowest - 0.001
    for found in collide(
        [S.PLANE, S.SDF],
        poses,
        device,
        sizes=[(0, 0, 0), (1, 1, 1)],
        shape_sdf=[-1, 0],
        sdfs=[cube(device)],
    ):
        assert found["separation"].min() == pytest.approx(-0.001, abs=1e-7)
        np.testing.assert_allclose(found["normal"], [[0, 0, -1]] * len(found["key"]), atol=1e-6)


@pytest.mark.parametrize("low", [S.TRIANGLE_MESH, S.HEIGHT_FIELD])
def test_a_field_on_a_triangulated_floor(low: S, device: str) -> None:
    """Lying flat, standing on an edge and on a corner."""
    grid = tc.cook_height_field(np.zeros((5, 5)), (0.1, 0.1))
    floor = tc.cook_mesh(grid.vertices - [0.2, 0.2, 0.0], grid.triangles)
    s, c = np.sin(np.pi / 8), np.cos(np.pi / 8)
    corner = np.array([np.sqrt(0.5) * (np.sqrt(3) - 1) / np.sqrt(6), 0, 0, 0])
    axis = np.cross([1, 1, 1] / np.sqrt(3.0), [0, 0, 1])
    angle = np.arccos(1 / np.sqrt(3.0))
    corner = np.append(axis / np.linalg.norm(axis) * np.sin(angle / 2), np.cos(angle / 2))
    cases = [(EYE, HALF), ((s, 0, 0, c), HALF * np.sqrt(2)), (tuple(corner), HALF * np.sqrt(3))]
    poses = np.array([[[0, 0, 0, *EYE], [0.013, -0.021, height - 0.0005, *q]] for q, height in cases])
    for found in collide(
        [low, S.SDF],
        poses,
        device,
        sizes=[(0, 0, 0), (1, 1, 1)],
        shape_mesh=[0, -1],
        meshes=[floor],
        shape_sdf=[-1, 0],
        sdfs=[cube(device)],
    ):
        deepest = found["separation"].argmin()
        assert found["separation"][deepest] == pytest.approx(-0.0005, abs=0.3 * CELL)
        assert found["normal"][deepest] @ [0, 0, -1] > 0.99
        down = found["separation"] < 0.0
        assert (found["normal"][down, 2] < -0.5).all()


def test_case_119_a_gap_within_the_offset_gives_contacts(device: str) -> None:
    """Parallel faces 0.005 apart, offsets of 0.01 together: contacts; 0.02 apart: none."""
    poses = np.array([[[0, 0, 0, *EYE], [0.1 + gap, 0, 0, *EYE]] for gap in (0.005, 0.02)])
    near, far = collide(
        [S.SDF, S.SDF],
        poses,
        device,
        sizes=[(1, 1, 1)] * 2,
        offset=0.005,
        shape_sdf=[0, 0],
        sdfs=[cube(device)],
    )
    assert len(near["key"]) >= 4
    np.testing.assert_allclose(near["separation"], 0.005, atol=5e-4)
    np.testing.assert_allclose(near["normal"], [[-1, 0, 0]] * len(near["key"]), atol=1e-3)
    assert len(far["key"]) == 0


def test_a_deep_ball_is_pushed_out_of_the_nearest_face(device: str) -> None:
    poses = np.array([[[0, 0, 0, *EYE], [0.03, 0.004, -0.002, *EYE]]])
    (found,) = collide(
        [S.SDF, S.SPHERE],
        poses,
        device,
        sizes=[(1, 1, 1), (0.01, 0, 0)],
        shape_sdf=[0, -1],
        sdfs=[cube(device)],
    )
    deepest = found["separation"].argmin()
    assert found["separation"][deepest] == pytest.approx(-0.03, abs=0.35 * CELL)
    np.testing.assert_allclose(found["normal"][deepest], [-1, 0, 0], atol=0.02)


def test_scale_swap_and_rigid_motion(device: str) -> None:
    rng = np.random.default_rng(9)
    poses = around_cube(9, 40, 0.07, 0.11)
    fields = {"shape_sdf": [0, 0], "sdfs": [cube(device)]}
    base = collide([S.SDF, S.SDF], poses, device, sizes=[(1, 1, 1), (0.5, 0.5, 0.5)], **fields)
    swapped = collide([S.SDF, S.SDF], poses[:, ::-1], device, sizes=[(0.5, 0.5, 0.5), (1, 1, 1)], **fields)
    grown = poses.copy()
    grown[:, :, :3] *= 4.0
    scaled = collide([S.SDF, S.SDF], grown, device, sizes=[(4, 4, 4), (2, 2, 2)], offset=0.016, **fields)
    move, turn = rng.normal(size=3), turns(rng, 1)[0]
    moved = poses.copy()
    for row in moved.reshape(-1, 7):
        row[:] = compose(np.append(move, turn), row)
    elsewhere = collide([S.SDF, S.SDF], moved, device, sizes=[(1, 1, 1), (0.5, 0.5, 0.5)], **fields)
    touched = 0
    for a, b, c, d in zip(base, swapped, scaled, elsewhere, strict=True):
        if not len(a["key"]) or a["separation"].min() > 0.0075:
            continue
        touched += 1
        least = a["separation"].min()
        n = a["normal"][a["separation"].argmin()]
        for other, factor in ((b, 1.0), (c, 4.0), (d, 1.0)):
            assert other["separation"].min() == pytest.approx(factor * least, abs=factor * 2e-6)
        assert len(a["key"]) == len(b["key"])
        assert b["normal"][b["separation"].argmin()] @ n < -0.99
        assert (a["separation"] > 0.0).all() or least < 0.0
    assert touched > 10


def compose(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Pose product."""
    p, q, r, s = first[:3], first[3:], second[:3], second[3:]
    turned = r + 2.0 * np.cross(q[:3], np.cross(q[:3], r) + q[3] * r)
    vector = q[3] * s[:3] + s[3] * q[:3] + np.cross(q[:3], s[:3])
    return np.concatenate([p + turned, vector, [q[3] * s[3] - q[:3] @ s[:3]]])


def test_names_stay_while_shapes_move_little(device: str) -> None:
    steps = np.linspace(0.0, 1e-4, 8)
    poses = np.array([[[0, 0, 0, *EYE], [0.099 - 0.1 * d, 0.013 + d, 0.007 - d, *EYE]] for d in steps])
    found = collide(
        [S.SDF, S.SDF], poses, device, sizes=[(1, 1, 1)] * 2, shape_sdf=[0, 0], sdfs=[cube(device)]
    )
    for a, b in itertools.pairwise(found):
        assert len(a["key"]) >= 8
        assert len(set(a["key"].tolist())) == len(a["key"])
        local = {int(k) & 0xFFFFFFFF for k in a["key"]} & {int(k) & 0xFFFFFFFF for k in b["key"]}
        assert len(local) >= 0.9 * len(a["key"])


def test_a_limit_keeps_the_deepest_and_spreads_the_rest(device: str) -> None:
    tilt = 0.002
    poses = np.array([[[0, 0, 0, *EYE], [0.0995, 0, 0, 0, 0, np.sin(tilt / 2), np.cos(tilt / 2)]]])
    fields = {"shape_sdf": [0, 0], "sdfs": [cube(device)]}
    (many,) = collide([S.SDF, S.SDF], poses, device, sizes=[(1, 1, 1)] * 2, **fields)
    (few,) = collide([S.SDF, S.SDF], poses, device, sizes=[(1, 1, 1)] * 2, sdf_contact_limit=6, **fields)
    assert len(many["key"]) > 6
    assert len(few["key"]) == 6
    assert few["separation"].min() == many["separation"].min()
    assert np.ptp(few["anchor0"][:, 1:], axis=0).min() > 0.06


@pytest.mark.parametrize("kind", [*SIZES, S.SDF, S.SPHERES, S.TRIANGLE_MESH])
def test_a_set_of_one_sphere_is_a_sphere(kind: S, device: str) -> None:
    """Against every other shape."""
    poses = around_cube(int(kind) + 40, 60, 0.03, 0.07)
    if kind == S.PLANE:
        poses[:, 1, 2] = np.linspace(-0.02, 0.04, 60)
    size = SIZES.get(kind, (1, 1, 1))
    more = geometry(kind, device, 0)
    if kind == S.SPHERES:
        more = {}
    if kind == S.TRIANGLE_MESH:
        more = {"shape_mesh": [0, -1], "meshes": [tc.cook_mesh(CORNERS * 0.03, TRIANGLES)]}
    one = tc.cook_spheres([[0.01, 0.0, 0.0]], 0.02)
    other = tc.cook_spheres([[0, 0, 0]], 0.03)
    alone = poses.copy()
    for row in alone[:, 1]:
        row[:] = compose(row, np.array([0.01, 0, 0, *EYE]))
    spheres = {"shape_spheres": [-1, 0], "sphere_sets": [one]}
    if kind == S.SPHERES:
        spheres = {"shape_spheres": [1, 0], "sphere_sets": [one, other]}
    found = collide([kind, S.SPHERES], poses, device, sizes=[size, (1, 1, 1)], **more, **spheres)
    twin, twin_size = (S.SPHERE, (0.03, 0, 0)) if kind == S.SPHERES else (kind, size)
    expected = collide([twin, S.SPHERE], alone, device, sizes=[twin_size, (0.02, 0, 0)], **more)
    hits = 0
    for a, b in zip(found, expected, strict=True):
        least = b["separation"].min() if len(b["key"]) else np.inf
        if least > 0.0079 or (kind == S.TRIANGLE_MESH and least < -0.01):
            continue
        hits += 1
        assert len(a["key"]) > 0
        assert a["separation"].min() == pytest.approx(least, abs=3e-6)
        if least > -0.015:
            assert a["normal"][a["separation"].argmin()] @ b["normal"][b["separation"].argmin()] > 0.999
    assert hits > 8


def test_spheres_of_a_set_touch_each_for_itself(device: str) -> None:
    row = tc.cook_spheres([[0.1 * k, 0.0, 0.0] for k in range(5)], [0.03, 0.02, 0.03, 0.02, 0.03])
    poses = np.array([[[0, 0, 0, *EYE], [0, 0, 0.0295, *EYE]]])
    (found,) = collide(
        [S.PLANE, S.SPHERES],
        poses,
        device,
        sizes=[(0, 0, 0), (1, 1, 1)],
        shape_spheres=[-1, 0],
        sphere_sets=[row],
    )
    np.testing.assert_allclose(np.sort(found["anchor0"][:, 0]), [0.0, 0.2, 0.4], atol=1e-6)
    np.testing.assert_allclose(found["separation"], -0.0005, atol=1e-7)


def test_what_cannot_be_is_named(device: str) -> None:
    pose = np.array([[[0, 0, 0, *EYE], [1, 0, 0, *EYE]]])
    with pytest.raises(tc.ShapeError, match=r"shape 1 \(SDF\).*scaled unevenly"):
        collide(
            [S.SPHERE, S.SDF],
            pose,
            device,
            sizes=[(1, 0, 0), (1, 2, 1)],
            shape_sdf=[-1, 0],
            sdfs=[cube(device)],
        )
    with pytest.raises(tc.ShapeError, match=r"shape_spheres -1 of 0"):
        collide([S.SPHERE, S.SPHERES], pose, device, sizes=[(1, 0, 0), (1, 1, 1)])
    with pytest.raises(tc.ShapeError, match="positive radii"):
        tc.cook_spheres([[0, 0, 0]], 0.0)
    with pytest.raises(tc.ShapeError, match="at least one sphere"):
        tc.cook_spheres(np.zeros((0, 3)), 1.0)
    values = ts.field_from_voxels(np.ones((4, 4, 4)), spacing=1.0, device=device)
    if values.surface is None:
        with pytest.raises(tc.MeshError, match="only with a surface"):
            tc.sdf_of_field(values)


def test_filling_stays_inside_and_fills(device: str) -> None:
    filled = tc.fill_spheres(CORNERS * HALF, TRIANGLES, sphere_limit=40, resolution=16, device=device)
    centers, radii = filled.spheres[:, :3], filled.spheres[:, 3]
    assert (np.abs(centers).max(axis=1) + radii <= HALF * 1.0001).all()
    probes = np.random.default_rng(0).uniform(-HALF, HALF, (4000, 3))
    covered = (np.linalg.norm(probes[:, None] - centers, axis=2) <= radii).any(axis=1)
    # One ball fills 0.52 of a cube.
    assert covered.mean() > 0.68


def test_sharing_the_choice_of_contacts_changes_nothing(device: str) -> None:
    """Several threads a pair, as on a GPU, find the contacts that one finds, and repeat bit for bit.

    On the CPU both forms agree bit for bit; on CUDA they are compiled apart and round apart. A point that is rounded to a
    few spacings of its place turns a normal by what the gradient of the field, which goes from one unit vector to another
    within a cell, changes over that way.
    """
    poses = around_cube(12, 60, 0.06, 0.11)
    poses[:4, 1, :3] = [[0.0995, 0, 0], [0.099, 0.01, 0.0], [0.5, 0, 0], [0.0999, 0.0, 0.02]]
    poses[:4, 1, 3:] = EYE
    count = len(poses)
    model = tc.build_model(
        shape_type=[S.SDF] * (2 * count),
        shape_body=np.arange(2 * count),
        shape_pose=[[0, 0, 0, *EYE]] * (2 * count),
        shape_size=[[1, 1, 1]] * (2 * count),
        shape_environment=np.repeat(np.arange(count), 2),
        pairs=np.arange(2 * count).reshape(-1, 2),
        environment_count=count,
        shape_material=np.zeros(2 * count, int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=np.full(2 * count, 0.004),
        rest_offset=np.zeros(2 * count),
        shape_sdf=[0] * (2 * count),
        sdfs=[cube(device)],
        sdf_contact_limit=20,
        device=device,
    )
    assert model.sampled is not None
    found = []
    for parallel in (False, True, True, False):
        model.sampled.parallel = parallel
        contacts = tc.create_contacts(model)
        tc.collide(
            model,
            wp.array(poses.astype(np.float32).reshape(-1, 7), dtype=wp.transform, device=device),
            contacts,
        )
        used = contacts.count.numpy()
        slots = np.concatenate(
            [np.arange(s, s + n) for s, n in zip(contacts.slot_start.numpy()[:-1], used, strict=True)]
        )
        names = ("key", "separation", "normal", "anchor0", "anchor1")
        found.append([used] + [getattr(contacts, name).numpy()[slots] for name in names])
    assert found[0][0].sum() > 200
    assert found[0][0].max() == 20
    for one, other in ((0, 3), (1, 2)):
        for a, b in zip(found[one], found[other], strict=True):
            assert np.array_equal(a, b)
    turned = 4.0 * float(np.spacing(np.float32(2.0 * HALF))) * 2.0 / CELL
    for name, a, b in zip(("count", *names), found[0], found[1], strict=True):
        if device == "cpu" or a.dtype.kind in "iu":
            assert np.array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, atol=turned if name == "normal" else 1e-6)


@pytest.mark.parametrize("degrees", [0.0, 10.0, 45.0, 90.0])
def test_boxes_pushed_into_each_other_face_to_face(device: str, degrees: float) -> None:
    """Deep inside two sides of a box are alike near; the depth is that of the nearer one."""
    sides, cells, depth = np.array([0.3, 0.25, 0.2]), 24, 0.12109375
    parameters = ts.FieldParameters(resolution=cells)
    box = tc.cook_sdf(CORNERS * sides, TRIANGLES, parameters=parameters, device=device)
    half = np.radians(degrees) / 2.0
    turn = [0.0, 0.0, np.sin(half), np.cos(half)]
    poses = np.array([[[0, 0, 0, *turn], [0, 0, 2.0 * sides[2] - depth, *turn]]])
    size = {"sizes": [(1, 1, 1)] * 2, "offset": 0.03125, "shape_sdf": [0, 0], "sdfs": [box]}
    found = collide([S.SDF, S.SDF], poses, device, **size)
    assert found[0]["separation"].min() == pytest.approx(-depth, abs=0.35 * 2.0 * sides[0] / cells)
    least = found[0]["separation"] < -0.9 * depth
    assert least.sum() >= 4
    assert (found[0]["normal"][least] @ [0.0, 0.0, -1.0] > 0.95).all()
