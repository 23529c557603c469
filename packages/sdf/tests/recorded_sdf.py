"""Results of the CPU that a CUDA machine compares with, since it need not be able to compile for its CPU.

python packages/sdf/tests/recorded_sdf.py    writes tests/data/sdf_cpu_results.npz and sdf_cpu_field.npz
"""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np

import tensorphys_sdf as ts
from tensorphys_sdf.testing import slotted_mesh

DATA = pathlib.Path(__file__).parent / "data"
RESULTS = DATA / "sdf_cpu_results.npz"
FIELD = DATA / "sdf_cpu_field.npz"
PARAMETERS = ts.FieldParameters(resolution=24)
COUNT = 1000
POSE = np.array([0.3, -0.2, 0.1, 0.1, -0.2, 0.3, np.sqrt(0.86)])


def compute(field: ts.SignedDistanceField, points: np.ndarray, ways: np.ndarray) -> dict[str, np.ndarray]:
    """Every query of a field at every point."""
    results: dict[str, np.ndarray] = {}
    for mode in ("sampled", "exact"):
        results[f"{mode}_field"] = field.distance_and_gradient(points, mode=mode)
        results[f"{mode}_posed"] = field.distance_and_gradient(points, mode=mode, pose=POSE)
        results[f"{mode}_inside"] = field.inside(points, mode=mode)
    results["bound"] = field.distance(points, conservative=True)
    results["closest"] = field.closest_point(points)
    results["normal"] = field.normal(points)
    results["way"], results["hit_normal"] = field.ray_march(points, ways)
    results["row"] = ts.FieldSet([field]).distance_and_gradient(points[None], unit=True)[0]
    results["table"] = ts.FieldTable([field]).distance_and_gradient(np.zeros(len(points), int), points)
    return results


def steady(field: ts.SignedDistanceField, points: np.ndarray, ways: np.ndarray) -> np.ndarray:
    """Points at which rounding decides nothing: all results change little with a change of the point."""
    base = compute(field, points, ways)
    # the direction to a surface nearby is a difference of nearly equal positions
    good = (np.abs(base["exact_field"][:, 0]) > 0.05) & (np.abs(base["exact_posed"][:, 0]) > 0.05)
    rng = np.random.default_rng(1)
    for _ in range(6):
        moved = (points + rng.choice([-4e-6, 4e-6], points.shape)).astype(np.float32)
        for name, values in compute(field, moved, ways).items():
            if values.dtype == bool:
                good &= values == base[name]
            else:
                with np.errstate(invalid="ignore"):
                    change = np.abs(values - base[name]).reshape(len(points), -1)
                same = (change < 2e-5) | ~np.isfinite(base[name].reshape(len(points), -1))
                good &= same.all(axis=1) & (np.isfinite(values) == np.isfinite(base[name])).reshape(
                    len(points), -1
                ).all(axis=1)
    return good


def record(device: str = "cpu") -> tuple[dict[str, Any], ts.SignedDistanceField]:
    """Mesh, points, rays and results, and the field that they are of."""
    vertices, triangles = slotted_mesh(0.8)
    field = ts.field_from_mesh(vertices, triangles, parameters=PARAMETERS, device=device)
    rng = np.random.default_rng(0)
    points = rng.uniform(-2.2, 2.2, (16 * COUNT, 3)).astype(np.float32)
    ways = rng.normal(size=points.shape).astype(np.float32)
    good = np.flatnonzero(steady(field, points, ways))[:COUNT]
    assert len(good) == COUNT
    points, ways = points[good], ways[good]
    results = compute(field, points, ways)
    asked = field.grid.bricks()[1]
    assert asked.any() and results["sampled_inside"].any() and np.isfinite(results["way"]).any()
    return {"vertices": vertices, "triangles": triangles, "points": points, "ways": ways, **results}, field


def main() -> None:
    """Write both files."""
    results, field = record()
    DATA.mkdir(exist_ok=True)
    np.savez_compressed(RESULTS, **results)
    field.save(FIELD)
    with np.load(FIELD) as file:
        arrays = dict(file)
    np.savez_compressed(FIELD, **arrays)


if __name__ == "__main__":
    main()
