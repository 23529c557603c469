"""Time fields: building, memory and queries, beside Warp's own grids and mesh queries and trimesh.

The shape is a closed bumpy torus of 99,856 triangles in a cube of side 3. All grids cover that cube with cells
of equal size. Query points are random in the cube or near the surface, in random or in Morton order.

    python bench/fields.py --device cuda:0 --json results.json
    python bench/fields.py --device cpu --points 200000 --cells 64 128 --json results.json
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp

import tensorphys_sdf as ts
from tensorphys_sdf.testing import torus_mesh

wp.set_module_options({"enable_backward": False})

SIDE = 3.0
EXTENT = 2.7  # longest side of the torus
MESH_POINTS = 1 << 20


@wp.kernel
def stream(points: wp.array[wp.vec3], field_out: wp.array[wp.vec4]):
    """Floor: reads 12 and writes 16 bytes a point."""
    tid = wp.tid()
    p = points[tid]
    field_out[tid] = wp.vec4(p[0], p[1], p[2], p[0])


@wp.kernel
def sample_dense(
    values: wp.array3d[wp.float32],
    origin: wp.vec3,
    inv: float,
    points: wp.array[wp.vec3],
    field_out: wp.array[wp.vec4],
):
    """Peer: a plain dense array, 8 taps, value and gradient."""
    tid = wp.tid()
    u = (points[tid] - origin) * inv
    x = wp.clamp(int(u[0]), 0, values.shape[0] - 2)
    y = wp.clamp(int(u[1]), 0, values.shape[1] - 2)
    z = wp.clamp(int(u[2]), 0, values.shape[2] - 2)
    fx = u[0] - float(x)
    fy = u[1] - float(y)
    fz = u[2] - float(z)
    a00 = values[x + 1, y, z] - values[x, y, z]
    a01 = values[x + 1, y, z + 1] - values[x, y, z + 1]
    a10 = values[x + 1, y + 1, z] - values[x, y + 1, z]
    a11 = values[x + 1, y + 1, z + 1] - values[x, y + 1, z + 1]
    c00 = values[x, y, z] + a00 * fx
    c01 = values[x, y, z + 1] + a01 * fx
    b0 = values[x, y + 1, z] + a10 * fx - c00
    b1 = values[x, y + 1, z + 1] + a11 * fx - c01
    d0 = c00 + b0 * fy
    gz = c01 + b1 * fy - d0
    gy = b0 + (b1 - b0) * fz
    e0 = a00 + (a10 - a00) * fy
    gx = e0 + (a01 + (a11 - a01) * fy - e0) * fz
    field_out[tid] = wp.vec4(d0 + gz * fz, gx * inv, gy * inv, gz * inv)


@wp.kernel
def sample_volume(volume: wp.uint64, points: wp.array[wp.vec3], field_out: wp.array[wp.vec4]):
    """Peer: NanoVDB, value and gradient."""
    tid = wp.tid()
    g = wp.vec3()
    d = wp.volume_sample_grad_f(volume, wp.volume_world_to_index(volume, points[tid]), wp.Volume.LINEAR, g)
    field_out[tid] = wp.vec4(d, g[0], g[1], g[2])


@wp.kernel
def query_normal(mesh: wp.uint64, points: wp.array[wp.vec3], field_out: wp.array[wp.vec4]):
    """Peer: mesh query with the sign of the nearest normal."""
    tid = wp.tid()
    p = points[tid]
    q = wp.mesh_query_point_sign_normal(mesh, p, 1.0e6)
    away = p - wp.mesh_eval_position(mesh, q.face, q.u, q.v)
    d = wp.length(away)
    g = away * (q.sign / wp.max(d, 1.0e-12))
    field_out[tid] = wp.vec4(q.sign * d, g[0], g[1], g[2])


@wp.kernel
def query_winding(mesh: wp.uint64, points: wp.array[wp.vec3], field_out: wp.array[wp.vec4]):
    """Peer: mesh query with the sign of the winding number."""
    tid = wp.tid()
    p = points[tid]
    q = wp.mesh_query_point_sign_winding_number(mesh, p, 1.0e6)
    away = p - wp.mesh_eval_position(mesh, q.face, q.u, q.v)
    d = wp.length(away)
    g = away * (q.sign / wp.max(d, 1.0e-12))
    field_out[tid] = wp.vec4(q.sign * d, g[0], g[1], g[2])


def measure(action: Callable[[], None], device: Any, repeats: int) -> dict[str, float]:
    """Median seconds of an action and its spread: replays of a graph on CUDA, calls on the CPU."""
    action()
    times = []
    if device.is_cuda:
        with wp.ScopedCapture(device=device) as capture:
            action()
        for _ in range(3):
            wp.capture_launch(capture.graph)
        for _ in range(repeats):
            start, end = wp.Event(device, enable_timing=True), wp.Event(device, enable_timing=True)
            stream_of_device = wp.get_stream(device)
            stream_of_device.record_event(start)
            wp.capture_launch(capture.graph)
            stream_of_device.record_event(end)
            times.append(wp.get_event_elapsed_time(start, end) * 1e-3)
    else:
        for _ in range(repeats):
            begin = time.perf_counter()
            action()
            times.append(time.perf_counter() - begin)
    middle = statistics.median(times)
    return {"seconds": middle, "spread": (max(times) - min(times)) / middle}


def morton_order(points: np.ndarray) -> np.ndarray:
    """Points sorted along a space-filling curve of 1024 cells an axis."""
    cell = np.clip((points / SIDE + 0.5) * 1024.0, 0, 1023).astype(np.uint64)
    code = np.zeros(len(points), dtype=np.uint64)
    for axis in range(3):
        v = cell[:, axis]
        for shift, mask in ((16, 0x030000FF), (8, 0x0300F00F), (4, 0x030C30C3), (2, 0x09249249)):
            v = (v | (v << np.uint64(shift))) & np.uint64(mask)
        code |= v << np.uint64(2 - axis)
    return points[np.argsort(code, kind="stable")]


def point_sets(mesh: tuple[np.ndarray, np.ndarray], count: int) -> dict[str, np.ndarray]:
    """Random points in the cube and near the surface, each also in Morton order."""
    rng = np.random.default_rng(0)
    box = rng.uniform(-0.5 * SIDE, 0.5 * SIDE, (count, 3)).astype(np.float32)
    corners = mesh[0][mesh[1][rng.integers(len(mesh[1]), size=count)]]
    near = np.einsum("ij,ijk->ik", rng.dirichlet((1, 1, 1), count), corners)
    near = (near + rng.normal(scale=0.01, size=near.shape)).astype(np.float32)
    return {"box": box, "box_morton": morton_order(box), "near": near, "near_morton": morton_order(near)}


def build_report(
    mesh: tuple[np.ndarray, np.ndarray], parameters: ts.FieldParameters, device: Any
) -> tuple[Any, dict]:
    """A field, and how long its making took."""
    times = []
    for _ in range(3 if device.is_cuda else 1):
        wp.synchronize()
        begin = time.perf_counter()
        field = ts.field_from_mesh(*mesh, parameters=parameters, device=device)
        wp.synchronize()
        times.append(time.perf_counter() - begin)
    begin = time.perf_counter()
    ts.Surface(*mesh, device=device)
    wp.synchronize()
    report = {
        "seconds": min(times),
        "first_seconds": times[0],
        "surface_seconds": time.perf_counter() - begin,
        "bytes": field.byte_count,
        "bricks": field.grid.brick_count,
        "blocks": field.grid.layout.blocks,
    }
    return field, report


def run(arguments: argparse.Namespace) -> dict[str, Any]:
    """All measurements."""
    device = wp.get_device(arguments.device)
    mesh = torus_mesh(1.0, 0.3, around=158, along=316, bumps=0.1)
    mesh = (mesh[0] * (EXTENT / np.ptp(mesh[0], axis=0).max()), mesh[1])
    sets = point_sets(mesh, arguments.points)
    points = {name: wp.array(p, dtype=wp.vec3, device=device) for name, p in sets.items()}
    out = wp.empty(arguments.points, dtype=wp.vec4, device=device)
    results: dict[str, Any] = {"build": {}, "queries": {}}

    def note(grid: str, kind: str, name: str, action: Callable[[], None], count: int) -> None:
        timing = measure(action, device, arguments.repeats)
        timing["points_per_second"] = count / timing["seconds"]
        results["queries"].setdefault(grid, {}).setdefault(kind, {})[name] = timing
        print(
            f"{grid:>6} {kind:28} {name:12} {timing['points_per_second'] / 1e6:12.3f} M/s  spread {timing['spread']:.0%}"
        )

    def launch(kernel: Any, inputs: list[Any], p: Any) -> Callable[[], None]:
        return lambda: wp.launch(kernel, dim=len(p), inputs=[*inputs, p], outputs=[out], device=device)

    for name, p in points.items():
        if name == "box_morton":
            note("none", "stream 28 B a point", name, launch(stream, [], p), len(p))
    for n in arguments.cells:
        parameters = ts.FieldParameters(resolution=round(n * EXTENT / SIDE), background=0.5)
        sparse, report = build_report(mesh, parameters, device)
        results["build"][str(n)] = report
        print(f"{n:>6} build: {report['seconds']:.3f} s, {report['bytes'] / 1e6:.1f} MB")
        grid, step = dense_values(sparse, n)
        dense = ts.field_from_voxels(grid, 3 * [-0.5 * SIDE], step, device=device)
        for form, field in (("sparse", sparse), ("dense", dense)):
            for name, p in points.items():
                note(
                    str(n),
                    f"tensorphys {form}",
                    name,
                    lambda f=field, q=p: f.distance_and_gradient(q, out=out),
                    len(p),
                )
        low = wp.vec3(*(3 * [-0.5 * SIDE]))
        values = wp.array(grid, dtype=wp.float32, device=device)
        volume = wp.Volume.load_from_numpy(
            grid, min_world=tuple(low), voxel_size=step, bg_value=1.0, device=device
        )
        for name, p in points.items():
            note(str(n), "warp dense array", name, launch(sample_dense, [values, low, 1.0 / step], p), len(p))
            note(str(n), "warp NanoVDB", name, launch(sample_volume, [volume.id], p), len(p))
    exact_queries(sparse, points, out, note, device, arguments)
    if not device.is_cuda:
        results["trimesh"] = trimesh_queries(mesh, sets)
    results["machine"] = {
        "device": device.name,
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "warp": wp.config.version,
        "numpy": np.__version__,
        "points": arguments.points,
    }
    return results


def dense_values(field: ts.SignedDistanceField, n: int) -> tuple[np.ndarray, float]:
    """Distances at the nodes of n cells an axis over the cube, for the peers."""
    axis = np.linspace(-0.5 * SIDE, 0.5 * SIDE, n + 1, dtype=np.float32)
    rows = [field.distance(np.stack(np.meshgrid([x], axis, axis, indexing="ij"), -1))[0] for x in axis]
    return np.stack(rows), SIDE / n


def exact_queries(
    field: Any, points: Any, out: Any, note: Any, device: Any, arguments: argparse.Namespace
) -> None:
    """Queries of the surface itself, beside those of Warp's mesh."""
    surface = field.surface
    mesh = surface.mesh
    winding = wp.Mesh(mesh.points, mesh.indices, support_winding_number=True)
    count = min(arguments.points, MESH_POINTS if device.is_cuda else 20_000)
    for name, p in points.items():
        some = (
            p[:count]
            if "morton" not in name
            else wp.array(
                morton_order(p.numpy()[:: max(len(p) // count, 1)][:count]), dtype=wp.vec3, device=device
            )
        )
        result = wp.empty(count, dtype=wp.vec4, device=device)
        note(
            "none",
            "tensorphys exact",
            name,
            lambda q=some, r=result: field.distance_and_gradient(q, mode="exact", out=r),
            count,
        )
        for kind, kernel, peer in (
            ("warp mesh sign_normal", query_normal, mesh),
            ("warp mesh sign_winding", query_winding, winding),
        ):
            note(
                "none",
                kind,
                name,
                lambda k=kernel, m=peer, q=some, r=result: wp.launch(
                    k, dim=count, inputs=[m.id, q], outputs=[r], device=device
                ),
                count,
            )


def trimesh_queries(mesh: tuple[np.ndarray, np.ndarray], sets: dict[str, np.ndarray]) -> dict[str, Any]:
    """trimesh on a few points: it takes about a millisecond for each."""
    try:
        import trimesh
        import trimesh.proximity
    except ImportError:
        return {}
    body = trimesh.Trimesh(*mesh, process=False)
    result: dict[str, Any] = {"version": trimesh.__version__}
    for name in ("box", "near"):
        p = sets[name][:500]
        trimesh.proximity.signed_distance(body, p[:10])
        begin = time.perf_counter()
        trimesh.proximity.signed_distance(body, p)
        result[name] = {"points_per_second": len(p) / (time.perf_counter() - begin)}
        print(
            f"  none trimesh signed_distance      {name:12} {result[name]['points_per_second'] / 1e6:12.6f} M/s"
        )
    return result


def main() -> None:
    """Parse arguments, run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda:0" if wp.get_cuda_device_count() else "cpu")
    parser.add_argument("--points", type=int, default=0, help="16 Mi on CUDA, 1 Mi on the CPU")
    parser.add_argument("--cells", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", default="")
    arguments = parser.parse_args()
    if arguments.points == 0:
        arguments.points = 1 << (24 if wp.get_device(arguments.device).is_cuda else 20)
    results = run(arguments)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
