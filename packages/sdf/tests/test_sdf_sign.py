"""Inside and outside of whole, damaged and open meshes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tensorphys_sdf as ts
from tensorphys_sdf._reference import signed_distances
from tensorphys_sdf.mesh import winding_number_reference
from tensorphys_sdf.testing import (
    box_mesh,
    damaged_mesh,
    join_meshes,
    knot_mesh,
    slotted_mesh,
    sphere_mesh,
    torus_mesh,
)

RESOLUTION = 32
MESHES = {
    "torus": lambda: torus_mesh(bumps=0.1, around=20, along=40),
    "knot": lambda: knot_mesh(around=12, along=96),
}


SIGN_MESHES = {
    **MESHES,
    "slot": lambda: slotted_mesh(),
    "box": lambda: box_mesh(cuts=8),
    "sphere": lambda: sphere_mesh(cuts=12),
}


def random_points(vertices: np.ndarray, count: int = 20_000) -> np.ndarray:
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    room = 0.1 * float((high - low).max())
    return np.random.default_rng(0).uniform(low - room, high + room, (count, 3)).astype(np.float32)


def quiet_field(
    vertices: np.ndarray, triangles: np.ndarray, device: str, *, resolution: int = RESOLUTION
) -> ts.SignedDistanceField:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ts.SdfWarning)
        parameters = ts.FieldParameters(resolution=resolution)
        return ts.field_from_mesh(vertices, triangles, parameters=parameters, device=device)


@pytest.mark.parametrize("name", MESHES)
def test_watertight_against_all_triangles(device: str, name: str) -> None:
    vertices, triangles = MESHES[name]()
    p = random_points(vertices, 200)
    truth = signed_distances(p, vertices[triangles])
    surface = ts.Surface(vertices, triangles, device=device)
    assert surface.report.closed and surface.sign == "winding" and surface.report.turned_count == 0
    clear = np.abs(truth) > 1e-5
    w = surface.winding_number(p)
    np.testing.assert_allclose(w[clear], (truth < 0.0)[clear], atol=0.1)


DAMAGE = {
    "removed": {"removed": 0.05},
    "flipped": {"flipped": 0.05},
    "doubled": {"doubled": 0.1},
    "all": {"removed": 0.05, "flipped": 0.05, "doubled": 0.1},
}


def judged_points(
    mesh: tuple[np.ndarray, np.ndarray], gone: np.ndarray, p: np.ndarray, cell: float, device: str
) -> np.ndarray:
    """Points farther than two cells from what is missing."""
    if not len(gone):
        return np.ones(len(p), dtype=bool)
    holes = ts.field_from_mesh(
        mesh[0],
        gone,
        sign="unsigned",
        repair=False,
        parameters=ts.FieldParameters(resolution=8),
        device=device,
    )
    far: np.ndarray = holes.distance(p, mode="exact") > 2.0 * cell
    assert far.mean() > 0.5
    return far


@pytest.mark.parametrize("name", SIGN_MESHES)
@pytest.mark.parametrize("damage", DAMAGE)
def test_exact_sign_of_damaged_copies(device: str, name: str, damage: str) -> None:
    mesh = SIGN_MESHES[name]()
    p = random_points(mesh[0])
    truth = ts.Surface(*mesh, device=device).winding_number(p) > 0.5
    (vertices, triangles), gone = damaged_mesh(mesh, **DAMAGE[damage], seed=1)
    field = quiet_field(vertices, triangles, device)
    judged = judged_points(mesh, gone, p, float(field.grid.layout.fine_cell[0]), device)
    assert np.mean(field.inside(p, mode="exact")[judged] == truth[judged]) >= 0.999


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torus", "knot", "slot"])
def test_sampled_sign_of_damaged_copies(device: str, name: str) -> None:
    """5 % of the faces removed, 5 % turned and 10 % doubled in one copy; no point near the surface is left out."""
    mesh = SIGN_MESHES[name]()
    p = random_points(mesh[0], 40_000)
    truth = ts.Surface(*mesh, device=device).winding_number(p) > 0.5
    (vertices, triangles), gone = damaged_mesh(mesh, **DAMAGE["all"], seed=1)
    field = quiet_field(vertices, triangles, device, resolution=96)
    judged = judged_points(mesh, gone, p, float(field.grid.layout.fine_cell[0]), device)
    assert np.mean(field.inside(p)[judged] == truth[judged]) >= 0.999


@pytest.mark.parametrize("name", ["torus", "slot"])
def test_two_copies_that_overlap(device: str, name: str) -> None:
    vertices, triangles = SIGN_MESHES[name]()
    shift = np.array([0.2, 0.1, 0.05])
    p = random_points(np.concatenate([vertices, vertices + shift]), 40_000)
    one = ts.Surface(vertices, triangles, device=device)
    truth = (one.winding_number(p) > 0.5) | (one.winding_number(p - shift) > 0.5)
    both = join_meshes((vertices, triangles), (vertices + shift, triangles))
    field = quiet_field(*both, device, resolution=128)
    assert np.mean(field.inside(p, mode="exact") == truth) >= 0.9999
    assert np.mean(field.inside(p) == truth) >= 0.999


def test_inverted_faces_and_cavities(device: str) -> None:
    outer, inner = sphere_mesh(1.0, cuts=6), sphere_mesh(0.5, cuts=6)
    cavity = (inner[0], inner[1][:, ::-1])
    hollow = join_meshes(outer, cavity)
    p = [(0.0, 0.0, 0.0), (0.75, 0.0, 0.0), (1.5, 0.0, 0.0)]
    assert ts.Surface(*hollow, device=device).winding_number(p).round().tolist() == [0.0, 1.0, 0.0]
    inside_out = (hollow[0], hollow[1][:, ::-1])
    with pytest.warns(ts.MeshRepairWarning, match="turned"):
        turned = ts.Surface(*inside_out, device=device)
    assert turned.winding_number(p).round().tolist() == [0.0, 1.0, 0.0]
    # a part that is inside out, beside a larger whole one
    away = (inner[0] + (3.0, 0.0, 0.0), inner[1][:, ::-1])
    with pytest.warns(ts.MeshRepairWarning, match="turned"):
        both = ts.Surface(*join_meshes(outer, away), device=device)
    assert both.winding_number([(0, 0, 0), (3, 0, 0), (2, 0, 0)]).round().tolist() == [1.0, 1.0, 0.0]


def test_thin_closed_plate_and_soup_of_corners(device: str) -> None:
    vertices, triangles = box_mesh((1.0, 1.0, 1e-3), cuts=4)
    soup = vertices[triangles].reshape(-1, 3)
    surface = ts.Surface(soup, np.arange(len(soup)).reshape(-1, 3), device=device)
    assert surface.report.closed and len(surface.vertices) == len(vertices)
    w = surface.winding_number([(0.3, 0.2, 0.0), (0.3, 0.2, 2e-3), (0.3, 0.2, -2e-3)])
    np.testing.assert_allclose(w, [1.0, 0.0, 0.0], atol=0.02)


def open_box() -> tuple[np.ndarray, np.ndarray]:
    vertices, triangles = box_mesh()
    return vertices, triangles[~(vertices[triangles][:, :, 2] > 0).all(axis=1)]


def test_case_111_tetrahedron(device: str) -> None:
    vertices = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], dtype=float)
    triangles = np.array([(0, 2, 1), (0, 3, 2), (0, 1, 3), (1, 2, 3)])
    points = [(0.1, 0.1, 0.1), (0.4, 0.4, 0.4), (1.5, -0.5, -0.5), (-1, 2, -1), (2, 2, 2), (-0.2, -0.2, -0.2)]
    points += [(0.5, 0.5, -0.01), (1.2, 0, 0), (0, 0, 1.5), (-0.3, 1.4, -0.3)]
    expected = [
        -0.1,
        0.1154700538,
        0.8660254038,
        1.7320508076,
        2.8867513459,
        0.3464101615,
        0.01,
        0.2,
        0.5,
        0.5830951895,
    ]
    random = np.random.default_rng(0).uniform(-2, 3, (20_000, 3)).astype(np.float32)
    inside = (random >= 0).all(1) & (random.sum(1) <= 1)
    for rule in ("winding", "normal"):
        field = ts.field_from_mesh(
            vertices, triangles, sign=rule, parameters=ts.FieldParameters(resolution=16), device=device
        )
        np.testing.assert_allclose(field.distance(points, mode="exact"), expected, atol=1e-5)
        clear = np.abs(field.distance(random, mode="exact")) > 1e-5
        assert np.array_equal(field.inside(random, mode="exact")[clear], inside[clear])


def test_case_112_open_box(device: str) -> None:
    vertices, triangles = open_box()
    with pytest.warns(ts.OpenMeshWarning, match="4 boundary edges"):
        field = ts.field_from_mesh(
            vertices, triangles, parameters=ts.FieldParameters(resolution=32), device=device
        )
    points = [(0, 0, 0), (0, 0, 0.9), (0, 0, 1.5)]
    expected = [0.833333, 0.544829, 0.295167]
    np.testing.assert_allclose(field.surface.winding_number(points), expected, atol=1e-5)
    reference = [winding_number_reference(np.array(p), vertices[triangles]) for p in points]
    np.testing.assert_allclose(reference, expected, atol=1e-6)
    d = field.distance([(0, 0, 0), (0, 0, 1.5), (1.5, 0, 0)], mode="exact")
    np.testing.assert_allclose(d, [-1.0, np.sqrt(1.25), 0.5], atol=1e-5)


def test_case_112_sheet(device: str) -> None:
    vertices = np.array([(-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)], dtype=float)
    triangles = np.array([(0, 1, 2), (0, 2, 3)])
    parameters = ts.FieldParameters(resolution=32)
    with pytest.warns(ts.NoInsideWarning, match="encloses nothing"):
        field = ts.field_from_mesh(vertices, triangles, parameters=parameters, device=device)
    p = np.random.default_rng(0).uniform((-0.9, -0.9, 0.01), (0.9, 0.9, 1.0), (1000, 3))
    for mode in ("sampled", "exact"):
        np.testing.assert_allclose(
            field.distance([(0, 0, 0.3), (0, 0, -0.3)], mode=mode), [0.3, -0.3], atol=2e-3
        )
        assert (field.distance(p, mode=mode) > 0.0).all()
        assert (field.distance(p * (1, 1, -1), mode=mode) < 0.0).all()
    far = field.distance([(0.1, 0.2, 9.0), (0.1, 0.2, -9.0)])
    np.testing.assert_allclose(far, [9.0, -9.0], rtol=1e-5)
    plain = ts.field_from_mesh(vertices, triangles, sign="unsigned", parameters=parameters, device=device)
    assert (plain.distance(p * (1, 1, -1)) > 0.0).all()


def test_repeated_reversed_faces_count_once(device: str) -> None:
    vertices, triangles = sphere_mesh(cuts=4)
    both = np.concatenate([triangles, triangles[:, ::-1]])
    with pytest.warns(ts.MeshRepairWarning, match="192 repeated faces"):
        surface = ts.Surface(vertices, both, device=device)
    assert surface.report.closed
    np.testing.assert_allclose(surface.winding_number([(0, 0, 0), (2, 0, 0)]), [1.0, 0.0], atol=0.05)


def test_report_counts() -> None:
    vertices, triangles = box_mesh(cuts=2)
    (v, f), _ = damaged_mesh((vertices, triangles), flipped=0.1, doubled=0.2, seed=2)
    f = np.concatenate([f, [[0, 0, 1]]])
    _, cleaned, report = ts.clean_mesh(v, f)
    assert (report.degenerate_count, report.duplicate_count, report.turned_count) == (1, 10, 5)
    assert report.closed and report.orientable and report.part_count == 1 and len(cleaned) == len(triangles)


@pytest.mark.parametrize(
    ("vertices", "triangles", "message"),
    [
        (np.zeros((3, 2)), [[0, 1, 2]], r"vertices: expected shape \(count, 3\)"),
        (np.eye(3), [[0, 1, 3]], "run from 0 to 3, there are 3 vertices"),
        (np.eye(3), [[0.0, 1.0, 2.0]], "expected integers"),
        (np.full((3, 3), np.nan), [[0, 1, 2]], "row 0 is not finite"),
        (np.zeros((3, 3)), [[0, 1, 2]], "no face has an area"),
        (np.eye(3), np.zeros((0, 3), dtype=int), "the mesh has none"),
    ],
)
def test_what_is_no_mesh(vertices: np.ndarray, triangles: object, message: str) -> None:
    with pytest.raises(ts.MeshError, match=message):
        ts.field_from_mesh(vertices, triangles, device="cpu")


def wrong_signs(field: ts.SignedDistanceField, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points whose sampled sign is wrong, and those farther from the surface than the bound of the error there.

    The bound is half the diagonal of a fine cell and half a stored unit: nearer to the surface, interpolation may
    move a point to the other side.
    """
    exact = field.distance(p, mode="exact")
    bound = 0.5 * float(np.linalg.norm(field.grid.layout.fine_cell)) + 0.51 * field.grid.fine_scale
    return field.inside(p) != (exact < 0.0), np.abs(exact) > bound


def turned_plate() -> tuple[np.ndarray, np.ndarray]:
    """A plate with sharp edges that lie in no plane of the grid, as thick as 1.5 cells at 64."""
    vertices, triangles = box_mesh((1.0, 0.6, 0.024))
    axes, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))
    return vertices @ axes.T, triangles if np.linalg.det(axes) > 0.0 else triangles[:, ::-1]


@pytest.mark.parametrize("name", ["slot", "knot", "plate"])
def test_sampled_sign_is_right_beyond_the_error_bound(device: str, name: str) -> None:
    vertices, triangles = turned_plate() if name == "plate" else SIGN_MESHES[name]()
    field = quiet_field(vertices, triangles, device, resolution=64)
    rng = np.random.default_rng(2)
    corners = vertices[triangles][rng.integers(len(triangles), size=100_000)]
    near = np.einsum("ij,ijk->ik", rng.dirichlet((1, 1, 1), len(corners)), corners)
    near += rng.normal(scale=2.0 * field.grid.layout.fine_cell[0], size=near.shape)
    wrong, judged = wrong_signs(field, np.concatenate([near, random_points(vertices)]).astype(np.float32))
    assert judged.mean() > 0.3 and not wrong[judged].any()
    assert wrong.any()  # there is something to leave out


@pytest.mark.slow
@pytest.mark.parametrize("name", ["torus", "knot", "slot", "sphere"])
def test_sampled_sign_at_the_default_resolution(device: str, name: str) -> None:
    vertices, triangles = SIGN_MESHES[name]()
    field = ts.field_from_mesh(vertices, triangles, device=device)
    p = random_points(vertices, 200_000)
    wrong, judged = wrong_signs(field, p)
    assert 0.01 < field.inside(p, mode="exact").mean() < 0.9
    assert wrong.mean() <= 1e-4 and not wrong[judged].any()
