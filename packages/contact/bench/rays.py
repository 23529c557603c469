"""Time a million rays against a mesh of 100,000 triangles.

python bench/rays.py --rays 1000000 --device cpu
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import warp as wp

import tensorphys_contact as tc
from tensorphys_contact import ShapeType


def main() -> None:
    """Print one line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rays", type=int, default=1_000_000)
    parser.add_argument("--cells", type=int, default=224)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    x = np.arange(options.cells + 1)
    field = tc.cook_height_field(np.sin(x[:, None] * 0.2) * np.cos(x[None] * 0.17), (1.0, 1.0))
    model = tc.build_model(
        shape_type=[ShapeType.HEIGHT_FIELD],
        shape_body=[-1],
        shape_pose=[[0, 0, 0, 0, 0, 0, 1]],
        shape_size=[[0, 0, 0]],
        shape_environment=[0],
        pairs=np.zeros((0, 2), int),
        environment_count=1,
        shape_material=[0],
        materials=tc.Materials([0.5], [0.5], [0.0], [0], [0]),
        contact_offset=[0.0],
        rest_offset=[0.0],
        shape_mesh=[0],
        meshes=[field],
        device=options.device,
    )
    origin = np.column_stack([rng.uniform(0, options.cells, (options.rays, 2)), np.full(options.rays, 5.0)])
    direction = np.column_stack([rng.normal(size=(options.rays, 2)) * 0.5, -np.ones(options.rays)])
    body = wp.zeros(0, dtype=wp.transform, device=options.device)
    tree = tc.create_query_tree(model, body)
    hits = tc.create_ray_hits(options.rays, options.device)
    arrays = {
        "environment": wp.zeros(options.rays, dtype=wp.int32, device=options.device),
        "origin": wp.array(origin.astype(np.float32), dtype=wp.vec3, device=options.device),
        "direction": wp.array(direction.astype(np.float32), dtype=wp.vec3, device=options.device),
        "longest": wp.full(options.rays, 100.0, dtype=wp.float32, device=options.device),
    }
    tc.cast_rays(model, tree, body, hits, **arrays)
    wp.synchronize_device(options.device)
    times = []
    for _ in range(options.repeat):
        start = time.perf_counter()
        tc.cast_rays(model, tree, body, hits, **arrays)
        wp.synchronize_device(options.device)
        times.append(time.perf_counter() - start)
    best = min(times)
    print(
        f"{options.device}: {options.rays} rays, {len(field.triangles)} triangles, "
        f"{int((hits.shape.numpy() >= 0).sum())} hits, {1e3 * best:.1f} ms, {options.rays / best / 1e6:.2f} M rays/s"
    )


if __name__ == "__main__":
    main()
