"""The path that is parallel inside a body against the one that solves a body in one group."""

from __future__ import annotations

import os
import pathlib

import numpy as np
import pytest
import warp as wp

import tensorphys_fem as tf


def _bodies(mesh, other, scheme):
    laws = list(tf.Elasticity)
    bodies = [
        tf.Body(
            mesh,
            tf.Material(
                10.0**exponent, poisson, elasticity=laws[exponent % 2], damping=0.002 * (exponent % 3)
            ),
            scheme=scheme,
        )
        for exponent, poisson in ((4, 0.3), (5, 0.42), (6, 0.48), (7, 0.2))
    ]
    return [*bodies, tf.Body(other, position=(1, 1, 1), scheme=scheme)]


# What the path "body" gave on a CPU, in float32: a CUDA machine need not be able to compile for its CPU.
# `python -m pytest packages/fem/tests/test_fem_paths.py -k agree` with TENSORPHYS_RECORD=1 writes it.
_RECORD = pathlib.Path(__file__).parent / "data" / "fem_paths.npz"


def _hanging(make_scene, scheme, patches, path, device):
    """Bodies of several chunks and of one, hanging and falling, soft and stiff, after five steps."""
    mesh, other = tf.box_mesh((8, 4, 4), 0.1), tf.box_mesh((2, 2, 2), 0.1)
    scene = make_scene(
        _bodies(mesh, other, scheme),
        device=device,
        path=path,
        nodal_dilatation=patches,
        settings=tf.SolverSettings(tolerance=1e-6),
    )
    assert scene.solver.path == path
    scene.hold(np.flatnonzero(scene.x[:, 0] < 1e-9))
    scene.run(5, 1 / 60)
    return scene.x, scene.v, scene.solver.status.numpy().copy()


@pytest.mark.parametrize("scheme", list(tf.Scheme))
@pytest.mark.parametrize("patches", [False, True])
def test_paths_agree(make_scene, device, scheme, patches) -> None:
    """Sums differ in rounding alone; on CUDA, where the one kernel of the path "body" takes the compiler minutes, the
    path "parallel" is compared with the record of a CPU."""
    parallel = _hanging(make_scene, scheme, patches, "parallel", device)
    name = f"{scheme.name}{int(patches)}"
    others = []
    if device == "cpu":
        others.append(_hanging(make_scene, scheme, patches, "body", device))
        if os.environ.get("TENSORPHYS_RECORD"):
            _record(name, others[0])
    with np.load(_RECORD) as file:
        others.append([file[f"{name}_{key}"] for key in ("x", "v", "status")])
    for x, v, status in others:
        assert np.abs(parallel[0] - x).max() < 1e-5 * np.abs(x).max()
        assert np.abs(parallel[1] - v).max() < 1e-4 * np.abs(v).max()
        assert (parallel[2] == status).all()


def _record(name, results) -> None:
    arrays = {}
    if _RECORD.exists():
        with np.load(_RECORD) as file:
            arrays = dict(file)
    for key, values in zip(("x", "v", "status"), results, strict=True):
        arrays[f"{name}_{key}"] = values.astype(np.float32) if key != "status" else values
    _RECORD.parent.mkdir(exist_ok=True)
    np.savez_compressed(_RECORD, **arrays)


def test_parallel_path_replaces_a_scheme_that_finds_no_solution(make_scene, device) -> None:
    """A crumpled stiff body: the conserving scheme gives way to the damped one, in both paths."""
    mesh = tf.box_mesh((2, 2, 2), 0.1)
    start = np.random.default_rng(0).uniform(-0.15, 0.15, mesh.points.shape)
    for path in ("body", "parallel") if device == "cpu" else ("parallel",):
        body = tf.Body(mesh, tf.Material(1e7, 0.3), scheme=tf.Scheme.CONSERVING)
        scene = make_scene([body], device=device, path=path, gravity=(0, 0, 0))
        scene.place(start)
        energy = scene.energy()
        seen = set()
        for _ in range(6):
            scene.run(1, 1 / 60)
            seen.add(int(scene.solver.status.numpy()[0]))
        assert np.isfinite(scene.x).all()
        assert scene.energy() < 1.01 * energy
        assert seen & {tf.Status.REPLACED, tf.Status.UNSOLVED}


@pytest.mark.parametrize("scheme", list(tf.Scheme))
def test_momenta_survive_a_coarse_residual(make_scene, device, scheme, measured) -> None:
    """Of a free body of several chunks, far from the origin: linear momentum in both schemes, both in the conserving."""
    mesh = tf.box_mesh((6, 6, 6), 0.1, origin=(-0.3, -0.3, -0.3))
    body = tf.Body(mesh, tf.Material(1e5, 0.3), scheme=scheme, position=(5, 0, 0))
    scene = make_scene(
        [body], device=device, path="parallel", gravity=(0, 0, 0), settings=tf.SolverSettings(tolerance=1e-2)
    )
    scene.throw(np.cross((0.3, 0.5, 0.8), mesh.points) + (1, 2, 3))
    before = scene.bodies()[2:]
    scene.run(30, 1 / 60)
    lost = [np.abs(b - a).max() / np.abs(a).max() for a, b in zip(before, scene.bodies()[2:], strict=True)]
    measured(f"momentum and angular momentum lost in 30 steps, {scheme.name}, parallel path", lost)
    assert lost[0] < 1e-6
    assert lost[1] < (1e-6 if scheme is tf.Scheme.CONSERVING else 1e-3)


@pytest.mark.cuda
def test_captured_step(make_scene) -> None:
    """One graph, replayed: the same bits as steps from the host, and a new dt and new loads take effect."""
    device = "cuda:0"
    mesh = tf.box_mesh((4, 2, 2), 0.1)
    scenes = [make_scene([tf.Body(mesh, tf.Material(1e6, 0.3))], device=device) for _ in range(2)]
    dts = [wp.full(1, 1 / 60, dtype=wp.float32, device=device) for _ in scenes]
    for scene, dt in zip(scenes, dts, strict=True):
        scene.solver.step(scene.state, scene.control, dt)
    with wp.ScopedCapture(device) as capture:
        scenes[0].solver.step(scenes[0].state, scenes[0].control, dts[0])
    for step in range(6):
        for scene, dt in zip(scenes, dts, strict=True):
            dt.fill_(1 / 60 if step < 3 else 1 / 240)
            scene.control.gravity.fill_(wp.vec3(0.0, float(step), -9.81))
        wp.capture_launch(capture.graph)
        scenes[1].solver.step(scenes[1].state, scenes[1].control, dts[1])
    assert np.array_equal(scenes[0].x, scenes[1].x)
    assert np.array_equal(scenes[0].v, scenes[1].v)


def test_settings_are_checked() -> None:
    with pytest.raises(tf.SettingsError, match="tolerance"):
        tf.SolverSettings(tolerance=0.0)
    with pytest.raises(tf.SettingsError, match="newton_iterations"):
        tf.SolverSettings(newton_iterations=0)


def test_wrong_arrays_and_partners_are_refused(make_scene, device) -> None:
    mesh = tf.box_mesh((1, 1, 1), 0.1)
    scene, other = (make_scene([tf.Body(mesh)], device=device) for _ in range(2))
    with pytest.raises(tf.ModelError, match="model of the solver"):
        scene.solver.step(other.state, scene.control, 0.01)
    with pytest.raises(tf.SettingsError, match="dt"):
        scene.solver.step(scene.state, scene.control, 0.0)
    with pytest.raises(tf.ArrayError, match="values: expected vec3f"):
        scene.state.set_positions(wp.zeros(3, dtype=wp.vec3, device=device))
    with pytest.raises(tf.ArrayError, match="dt: expected float32"):
        scene.solver.step(scene.state, scene.control, wp.zeros(1, dtype=wp.float64, device=device))
    with pytest.raises(tf.SettingsError, match="path"):
        tf.FemSolver(scene.model, path="fast")
    with pytest.raises(tf.ModelError, match="thickness"):
        tf.Body(tf.ShellMesh.from_arrays([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)]), thickness=0.0)


def test_masked_writes_reach_their_bodies_alone(make_scene, device) -> None:
    mesh = tf.box_mesh((1, 1, 1), 0.1)
    scene = make_scene([tf.Body(mesh), tf.Body(mesh, position=(1, 0, 0))], device=device)
    before = scene.x
    values = wp.array(before.astype(np.float32) + 5.0, dtype=wp.vec3, device=device)
    mask = wp.array(np.array((0, 1), dtype=np.int32), dtype=wp.int32, device=device)
    scene.state.set_positions(values, mask)
    scene.state.set_velocities(values, mask)
    rows = scene.model.nodes_of(1)
    assert np.array_equal(scene.x[: rows.start], before[: rows.start])
    assert np.allclose(scene.x[rows], before[rows] + 5.0, atol=1e-6)
    assert (scene.v[: rows.start] == 0).all() and (scene.v[rows] != 0).all()
