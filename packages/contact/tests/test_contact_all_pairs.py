"""Properties of every pair of shape types that has a narrow phase."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from typing import Any

import numpy as np
import pytest
import warp as wp
from hypothesis import given, settings
from hypothesis import strategies as st

import tensorphys_contact as tc
import tensorphys_sdf as ts
from tensorphys_contact import ShapeType as S
from tensorphys_contact._reference import rotation_matrix
from tensorphys_contact.shapes import PAIR_FAMILY
from tensorphys_contact.testing import unit_quaternions
from tensorphys_contact.testing.truth import Solid

Pose = np.ndarray
PAIRS = sorted(PAIR_FAMILY)
OFFSET = 0.03125
CELLS = 24
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
SQUARES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TRIANGLES = np.array([t for a, b, c, d in SQUARES for t in ((a, b, c), (a, c, d))])
HULL_POINTS = np.random.default_rng(3).normal(size=(12, 3)) * [0.2, 0.15, 0.25]
SPHERES = np.array([[-0.15, 0.0, 0.0, 0.125], [0.1, 0.05, 0.0, 0.2], [0.0, 0.0, 0.25, 0.0625]])
HALF = np.array([0.3, 0.25, 0.2])
HEIGHTS = np.random.default_rng(4).uniform(0.0, 0.1, (5, 5))
SIZES = {
    S.PLANE: (0, 0, 0),
    S.SPHERE: (0.25, 0, 0),
    S.CAPSULE: (0.125, 0.25, 0),
    S.BOX: (0.25, 0.1875, 0.375),
    S.CYLINDER: (0.25, 0.1875, 0),
    S.CONE: (0.25, 0.3125, 0),
    S.ELLIPSOID: (0.3125, 0.1875, 0.25),
}


@functools.lru_cache(maxsize=64)
def geometry(kind: S, scale: float, device: str) -> Any:
    """Cooked geometry of one type."""
    if kind == S.CONVEX_HULL:
        return tc.cook_hull(scale * HULL_POINTS)
    if kind == S.TRIANGLE_MESH:
        return tc.cook_mesh(scale * HALF * CORNERS, TRIANGLES)
    if kind == S.HEIGHT_FIELD:
        return tc.cook_height_field(scale * HEIGHTS, (0.25 * scale, 0.25 * scale))
    if kind == S.SDF:
        parameters = ts.FieldParameters(resolution=CELLS)
        return tc.cook_sdf(HALF * CORNERS, TRIANGLES, parameters=parameters, device=device)
    if kind == S.SPHERES:
        return tc.cook_spheres(SPHERES[:, :3], SPHERES[:, 3])
    return None


@dataclasses.dataclass
class Row:
    """Two shapes of an environment."""

    kinds: tuple[S, S]
    poses: tuple[Pose, Pose]
    scale: float = 1.0


def contacts_of(rows: list[Row], device: str) -> list[dict[str, np.ndarray]]:
    """Contacts of each row, the poses rounded to float32."""
    kinds = [kind for row in rows for kind in row.kinds]
    scales = [row.scale for row in rows for _kind in row.kinds]
    pools: dict[str, list[Any]] = {"hulls": [], "meshes": [], "sdfs": [], "sphere_sets": []}
    columns = {name: [-1] * len(kinds) for name in ("shape_hull", "shape_mesh", "shape_sdf", "shape_spheres")}
    for k, (kind, scale) in enumerate(zip(kinds, scales, strict=True)):
        # Fields and sets of spheres are scaled by their size.
        cooked = geometry(kind, 1.0 if kind >= S.SDF else scale, device)
        for column, pool, some in (
            ("shape_hull", "hulls", (S.CONVEX_HULL,)),
            ("shape_mesh", "meshes", (S.TRIANGLE_MESH, S.HEIGHT_FIELD)),
            ("shape_sdf", "sdfs", (S.SDF,)),
            ("shape_spheres", "sphere_sets", (S.SPHERES,)),
        ):
            if kind in some:
                columns[column][k] = len(pools[pool])
                pools[pool].append(cooked)
    model = tc.build_model(
        shape_type=kinds,
        shape_body=np.arange(len(kinds)),
        shape_pose=[[0, 0, 0, 0, 0, 0, 1]] * len(kinds),
        shape_size=[
            np.full(3, scale) if kind >= S.SDF else scale * np.array(SIZES.get(kind, (0, 0, 0)))
            for kind, scale in zip(kinds, scales, strict=True)
        ],
        shape_environment=np.repeat(np.arange(len(rows)), 2),
        pairs=np.arange(len(kinds)).reshape(-1, 2),
        environment_count=len(rows),
        shape_material=np.zeros(len(kinds), int),
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=OFFSET * np.array(scales),
        rest_offset=np.zeros(len(kinds)),
        device=device,
        **columns,
        **pools,
    )
    contacts = tc.create_contacts(model)
    pose = np.array([p for row in rows for p in row.poses], np.float32)
    tc.collide(model, wp.array(pose, dtype=wp.transform, device=device), contacts)
    start, used = contacts.slot_start.numpy(), contacts.count.numpy()
    names = ("separation", "normal", "anchor0", "anchor1", "key")
    data = {n: getattr(contacts, n).numpy() for n in names}
    # what is next to the least normal number loses digits when it is scaled
    for n in names[:-1]:
        data[n] = np.where(np.abs(data[n]) < 1e-30, np.float32(0.0), data[n])
    return [{n: data[n][s : s + c] for n in names} for s, c in zip(start[:-1], used, strict=True)]


def farthest(kind: S, pose: Pose, n: np.ndarray) -> float:
    """How far a shape reaches along a direction, in float64."""
    turn = rotation_matrix(pose[3:])
    local = n @ turn
    if kind == S.PLANE:
        reach = 0.0 if local[2] > 1.0 - 1e-12 else np.inf
    elif kind == S.SPHERES:
        reach = (SPHERES[:, :3] @ local + SPHERES[:, 3]).max()
    elif kind in (S.TRIANGLE_MESH, S.SDF):
        reach = np.abs(local) @ HALF
    elif kind == S.HEIGHT_FIELD:
        reach = (geometry(kind, 1.0, "cpu").vertices @ local).max()
    else:
        hull = geometry(kind, 1.0, "cpu") if kind == S.CONVEX_HULL else None
        solid = Solid(
            kind, np.array(SIZES.get(kind, (0, 0, 0)), float), np.array([0, 0, 0, 0, 0, 0, 1.0]), hull
        )
        reach = float(local @ solid.farthest(local[None])[0])
    return float(n @ pose[:3] + reach)


def moved(pose: Pose, shift: np.ndarray, q: np.ndarray) -> Pose:
    """A pose after a rigid motion of the world."""
    v, w = q[:3], q[3]
    r, s = pose[3:6], pose[6]
    product = np.append(w * r + s * v + np.cross(v, r), w * s - v @ r)
    return np.concatenate([shift + rotation_matrix(q) @ pose[:3], product])


def rounded(pose: Pose) -> Pose:
    return np.asarray(pose, np.float32).astype(np.float64)


@st.composite
def placements(draw: st.DrawFn) -> tuple[Pose, Pose, np.ndarray, float, np.ndarray]:
    """Two turns, a direction from the first shape to the second, a gap and a shift across the direction."""
    q0, q1 = draw(unit_quaternions()), draw(unit_quaternions())
    d = np.array(draw(st.tuples(*[st.floats(-1, 1, width=32)] * 3)))
    n = d / np.linalg.norm(d) if np.linalg.norm(d) > 0.1 else np.array([0.0, 0.0, 1.0])
    gap = draw(st.floats(0.00390625, 0.0546875, width=32))
    return q0, q1, n, gap, np.array(draw(st.tuples(*[st.floats(-0.03125, 0.03125, width=32)] * 3)))


def placed(kinds: tuple[S, S], drawn: Any, sunk: float) -> Row:
    """Shapes that a plane holds apart by the gap less ``sunk``."""
    q0, q1, n, gap, aside = drawn
    first = np.concatenate([np.zeros(3), q0])
    second = np.concatenate([aside, q1])
    if kinds[0] in (S.PLANE, S.HEIGHT_FIELD):
        n = rotation_matrix(q0)[:, 2]
        if kinds[0] == S.HEIGHT_FIELD:
            second[:3] += rotation_matrix(q0) @ [0.5, 0.5, 0.0]
    elif kinds[1] == S.HEIGHT_FIELD:
        n = -rotation_matrix(q1)[:, 2]
        first[:3] = rotation_matrix(q1) @ [0.5, 0.5, 0.0]
    between = farthest(kinds[0], first, n) + farthest(kinds[1], second, -n)
    second[:3] += n * (between + gap - sunk)
    return Row(kinds, (rounded(first), rounded(second)))


def slack_of(kinds: tuple[S, S]) -> float:
    """Stated error of a distance: rounding, or that of the field."""
    return 0.35 * 0.6 / CELLS if S.SDF in kinds else 2e-6


@pytest.mark.parametrize("kinds", PAIRS, ids=lambda p: f"{p[0].name}-{p[1].name}")
@settings(max_examples=8)
@given(drawn=placements(), turn=unit_quaternions(), shift=st.tuples(*[st.floats(-4, 4, width=32)] * 3))
def test_swapping_moving_scaling_and_separating(
    device: str, kinds: tuple[S, S], drawn: Any, turn: np.ndarray, shift: Any
) -> None:
    apart, sunk = placed(kinds, drawn, 0.0), placed(kinds, drawn, 0.125)
    rows = []
    for row in (apart, sunk):
        elsewhere = tuple(moved(p, np.array(shift), turn) for p in row.poses)
        larger = tuple(p * [2, 2, 2, 1, 1, 1, 1] for p in row.poses)
        rows += [
            row,
            Row(kinds[::-1], row.poses[::-1]),
            Row(kinds, elsewhere),  # type: ignore[arg-type]
            Row(kinds, larger, 2.0),  # type: ignore[arg-type]
        ]
    found = contacts_of(rows, device)
    slack = slack_of(kinds)
    _q0, _q1, _n, gap, _aside = drawn
    for base, swapped, elsewhere, scaled in (found[:4], found[4:]):
        for contacts in (base, swapped, elsewhere, scaled):
            assert (np.abs(np.linalg.norm(contacts["normal"], axis=1) - 1.0) < 1e-5).all()
            assert (np.diff(contacts["key"]) > 0).all()
        if not len(base["key"]):
            # Nothing is near, or only just.
            for other, factor in ((swapped, 1.0), (elsewhere, 1.0), (scaled, 2.0)):
                assert not len(other["key"]) or other["separation"].min() > factor * (2 * OFFSET - 1e-5)
            continue
        least = float(base["separation"].min())
        n = base["normal"][base["separation"].argmin()]
        # Scaling by a power of two is exact.
        assert np.array_equal(scaled["separation"], 2.0 * base["separation"])
        assert np.array_equal(scaled["normal"], base["normal"])
        assert np.array_equal(scaled["key"], base["key"])
        assert len(swapped["key"])
        assert swapped["separation"].min() == pytest.approx(least, abs=1e-5)
        if len(elsewhere["key"]) or least < 2 * OFFSET - 1e-5:
            error = max(slack, 2e-5)
            assert elsewhere["separation"].min() == pytest.approx(least, abs=error)
        # Bitwise the same contacts seen from the other side, where the types tell which shape gives the frame.
        if kinds[0] != kinds[1]:
            assert np.array_equal(swapped["normal"], -base["normal"])
            assert np.array_equal(swapped["separation"], base["separation"])
        else:
            # Equal shapes: of two directions that separate alike either may come first.
            m = swapped["normal"][swapped["separation"].argmin()]
            assert m @ -n > 0.999 or abs(float(swapped["separation"].min()) - least) < 1e-5
    separated = found[:4]
    for contacts, factor in zip(separated, (1.0, 1.0, 1.0, 2.0), strict=True):
        if len(contacts["key"]):
            assert contacts["separation"].min() > factor * (gap - slack) - 4e-6
            if gap > slack + 4e-6:
                assert (contacts["separation"] > 0.0).all()


FLAT = [S.BOX, S.CONVEX_HULL, S.CYLINDER, S.CONE]


def standing(kind: S) -> tuple[Pose, float]:
    """Pose with a flat side down or a line along it, and the height of the origin over that."""
    pose = np.array([0, 0, 0, 0, 0, 0, 1.0])
    if kind == S.CAPSULE:
        pose[3:] = [0, np.sqrt(0.5), 0, np.sqrt(0.5)]
    return pose, -farthest(kind, pose, np.array([0.0, 0.0, -1.0]))


@pytest.mark.parametrize(
    "kinds",
    [
        *itertools.product([S.PLANE], [S.CAPSULE, S.BOX, S.CYLINDER, S.CONE, S.SDF, S.SPHERES]),
        *itertools.product([S.BOX], [S.CAPSULE, S.BOX, S.CYLINDER, S.CONE, S.SDF]),
        (S.CYLINDER, S.CYLINDER),
        (S.CYLINDER, S.CONE),
        (S.CAPSULE, S.CAPSULE),
        *itertools.product([S.TRIANGLE_MESH], [S.CAPSULE, S.BOX, S.CYLINDER, S.CONE, S.SDF]),
    ],
    ids=lambda p: f"{p[0].name}-{p[1].name}",
)
@settings(max_examples=6)
@given(
    yaw=st.floats(0.0625, 1.0, width=32),
    aside=st.tuples(*[st.floats(-0.0625, 0.0625, width=32)] * 2),
    heading=st.floats(0.0, 6.0, width=32),
)
def test_manifolds_stay_while_shapes_move_little(
    device: str, kinds: tuple[S, S], yaw: float, aside: tuple[float, float], heading: float
) -> None:
    """Names persist, and points of one name move with the shapes."""
    step, count = 2e-5, 6
    lower = np.array([0, 0, 0, 0, 0, 0, 1.0])
    top = farthest(kinds[0], lower, np.array([0.0, 0.0, 1.0]))
    upper, height = standing(kinds[1])
    if kinds[0] == S.CAPSULE:
        lower, _height = standing(S.CAPSULE)
        top, yaw = SIZES[S.CAPSULE][0], 0.0
    rows = []
    for k in range(count):
        angle = yaw + k * step * (kinds[0] != S.CAPSULE)
        turn = np.array([0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2)])
        way = k * step * np.array([np.cos(heading), np.sin(heading), 0.0])
        base = np.array([aside[0], aside[1] * (kinds[0] != S.CAPSULE), top - height - 0.0009765625])
        pose = moved(upper, base + way, turn)
        rows.append(Row(kinds, (lower, pose)))
    found = contacts_of(rows, device)
    kept = 0
    for a, b in itertools.pairwise(found):
        assert len(a["key"]) > 0
        names, ia, ib = np.intersect1d(a["key"] & 0xFFFFFFFF, b["key"] & 0xFFFFFFFF, return_indices=True)
        kept += len(names) >= 0.75 * len(a["key"])
        if S.SDF in kinds or S.SPHERES in kinds:
            continue  # the deepest of a cell, which may be any of its samples
        moves = np.linalg.norm(a["anchor0"][ia] - b["anchor0"][ib], axis=1)
        # A corner of two sides that cross flatly moves faster than these.
        assert (moves < 40 * step).all()
    assert kept >= count - 2


@pytest.mark.parametrize("kinds", [(S.BOX, S.BOX), (S.BOX, S.TRIANGLE_MESH)], ids=str)
def test_touching_faces_give_four_points(device: str, kinds: tuple[S, S]) -> None:
    """Faces of boxes, and a box on a face of two triangles, anywhere over it."""
    rng = np.random.default_rng(1)
    rows = []
    for _k in range(20):
        angle = rng.uniform(-np.pi, np.pi)
        half = SIZES[S.BOX][2] if kinds[1] == S.BOX else HALF[2]
        pose = [*rng.uniform(-0.1, 0.1, 2), half + 0.375 - 1e-4, 0, 0, np.sin(angle / 2), np.cos(angle / 2)]
        rows.append(Row((S.BOX, kinds[1]), (np.array(pose), np.array([0, 0, 0, 0, 0, 0, 1.0]))))
    for found in contacts_of(rows, device):
        assert len(found["key"]) >= 4
        np.testing.assert_allclose(found["normal"], np.tile([0, 0, 1.0], (len(found["key"]), 1)), atol=1e-6)
        np.testing.assert_allclose(found["separation"], -1e-4, atol=1e-6)
        if kinds[1] == S.BOX:
            assert len(found["key"]) == 4
            assert np.ptp(found["anchor0"][:, :2], axis=0).min() > 0.2
