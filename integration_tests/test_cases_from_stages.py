"""What becomes of stages that others had trouble with, once they are simulated.

How they are parsed is tested in `packages/usd/tests/test_usd_cases.py`, by the same numbers; the table of both is in
`docs/verification.md`.
"""

import pathlib

import numpy as np
import pytest

CASES = pathlib.Path(__file__).resolve().parents[1] / "packages" / "usd" / "tests" / "data" / "cases"


@pytest.fixture
def simulated(device):
    """View of a case's stage, and the stage."""

    def view(number, **options):
        from pxr import Usd

        import tensorphys

        (path,) = CASES.glob(f"{number}_*.usda")
        stage = Usd.Stage.Open(str(path))
        frontend = "numpy" if device == "cpu" else "warp"
        return tensorphys.create_simulation_view(frontend, stage=stage, device=device, **options), stage

    return view


def run(view, seconds, dt=1.0 / 240.0):
    for _ in range(round(seconds / dt)):
        view.step(dt)


def test_001_a_body_below_a_scale_falls_without_a_spin(simulated, host, measure):
    view, _ = simulated("001")
    bodies = view.create_rigid_body_view("/World/*/Body")
    np.testing.assert_allclose(np.sort(host(bodies.get_coms())[:, 0]), [0.3, 0.6], atol=1e-6)
    assert host(bodies.get_coms())[:, 3:].tolist() == [[0, 0, 0, 1]] * 2
    start = host(bodies.get_transforms())
    run(view, 0.5)
    measure("001: spin", np.abs(host(bodies.get_velocities())[:, 3:]).max(), 1e-6, "rad/s")
    end = host(bodies.get_transforms())
    measure("001: way aside", np.abs(end[:, :2] - start[:, :2]).max(), 1e-6, "m")
    assert (end[:, 2] < start[:, 2] - 1.0).all()


def test_002_unauthored_mass_properties_stay_finite(simulated, host):
    view, _ = simulated("002")
    bodies = view.create_rigid_body_view("/World/*")
    np.testing.assert_allclose(host(bodies.get_masses())[:, 0], 8.0, rtol=1e-5)
    run(view, 10.0 / 240.0)
    for values in (bodies.get_transforms(), bodies.get_velocities(), bodies.get_inertias()):
        assert np.isfinite(host(values)).all()


def test_006_centimetres_stay_centimetres(simulated, host, measure):
    view, _ = simulated("006")
    bodies = view.create_rigid_body_view("/World/*")
    run(view, 0.5)
    fallen = 500.0 - host(bodies.get_transforms())[0, 2]
    measure("006: fall in centimetres, relative error", abs(fallen / 122.625 - 1.0), 0.005)


def test_008_gravity_points_down_along_y(simulated, host, measure):
    view, _ = simulated("008")
    bodies = view.create_rigid_body_view("/World/*")
    run(view, 1.0)
    place = host(bodies.get_transforms())[0, :3]
    measure("008: drop, relative error", abs((5.0 - place[1]) / 4.905 - 1.0), 0.01)
    measure("008: way aside", np.abs(place[[0, 2]]).max(), 1e-6, "m")


def test_010_a_mirrored_body_turns_about_its_hinge(simulated, host, measure):
    view, _ = simulated("010")
    body = view.create_rigid_body_view("/World/GB/B")
    start = host(body.get_transforms())[0]
    speeds = host(body.get_velocities())
    speeds[0, 3:] = (0.0, 0.0, 2.0)
    # About the hinge the centre of mass moves along.
    com = rotated(start[3:], host(body.get_coms())[0, :3])
    speeds[0, :3] = np.cross(speeds[0, 3:], com)
    body.set_velocities(copied(body, speeds), copied(body, np.array([0], np.int32)))
    run(view, 0.5)
    end = host(body.get_transforms())[0]
    assert np.linalg.norm(end[3:] - start[3:]) > 0.2
    turn = product(end[3:], start[3:] * [-1, -1, -1, 1])
    aside = 2.0 * np.degrees(np.arcsin(np.linalg.norm(turn[:2])))
    measure("010: hinge axis after half a radian and more", aside, 0.01, "degree")
    measure("010: hinge point", np.abs(end[:3] - start[:3]).max(), 1e-4, "m")


def copied(view, values):
    """Values as the frontend of a view takes them."""
    current = view.get_velocities()
    if isinstance(current, np.ndarray):
        return values.astype(np.int32 if values.dtype.kind == "i" else np.float32)
    import warp as wp

    kind = wp.int32 if values.dtype.kind == "i" else wp.float32
    return wp.array(values, dtype=kind, device=current.device)


def product(first, second):
    """Product of two quaternions xyzw."""
    vector = first[3] * second[:3] + second[3] * first[:3] + np.cross(first[:3], second[:3])
    return np.append(vector, first[3] * second[3] - first[:3] @ second[:3])


def rotated(quaternion, vector):
    axis, w = quaternion[:3], quaternion[3]
    return vector + 2.0 * np.cross(axis, np.cross(axis, vector) + w * vector)


def test_014_nested_bodies_fall_together(simulated, host, measure, tmp_path):
    from pxr import Usd, UsdGeom

    import tensorphys_usd

    view, stage = simulated("014")
    scene = tensorphys_usd.parse_stage(stage)
    paths = list(scene.templates[0].bodies.path)
    bodies = view.create_rigid_body_view(paths)
    start = host(bodies.get_transforms())
    with tensorphys_usd.Recorder(tmp_path / "out.usda", stage, scene) as recorder:
        recorder.record(0.0, start)
        run(view, 0.5)
        end = host(bodies.get_transforms())
        recorder.record(0.5, end)
    measure("014: falls, relative error", np.abs((start - end)[:, 2] / 1.22625 - 1.0).max(), 0.01)
    recorded = Usd.Stage.Open(str(tmp_path / "out.usda"))
    cache = UsdGeom.XformCache(30.0)
    prims = [recorded.GetPrimAtPath(path) for path in paths]
    worlds = [np.array(cache.GetLocalToWorldTransform(prim))[3, :3] for prim in prims]
    measure("014: recorded world transforms", np.abs(np.array(worlds) - end[:, :3]).max(), 1e-4, "m")
    (inner,) = [prim for prim in prims if str(prim.GetPath()).endswith("/Inner")]
    local = UsdGeom.Xformable(inner).GetLocalTransformation
    moved = np.abs(np.array(local(30.0)) - np.array(local(0.0))).max()
    measure("014: local transform of the nested body", moved, 1e-4)


def test_016_a_mesh_that_became_a_hull_rests_on_the_ground(simulated, host, measure):
    view, _ = simulated("016")
    mesh, cube = (view.create_rigid_body_view(f"/World/{name}") for name in ("U", "Cube"))
    assert host(mesh.get_masses())[0, 0] == pytest.approx(240.0, rel=1e-4)
    run(view, 3.0)
    measure("016: lowest face of the mesh", abs(host(mesh.get_transforms())[0, 2]), 3e-3, "m")
    measure("016: cube on top of the hull", abs(host(cube.get_transforms())[0, 2] - 0.35), 3e-3, "m")


def test_024_names_of_any_script_are_found_and_come_back(simulated):
    view, _ = simulated("024")
    expected = {
        "/World/arm_1": ["arm_1"],
        "/World/arm_*": ["arm_1", "arm_10"],
        "/World/arm*": ["arm", "arm_1", "arm_10"],
        "/World/W*": ["Würfel"],
        "/World/机器人": ["机器人"],
        "/World/*": ["_1", "Würfel", "机器人", "arm", "arm_1", "arm_10"],
    }
    for pattern, names in expected.items():
        found = view.create_rigid_body_view(pattern).prim_paths
        assert sorted(found) == sorted(f"/World/{name}" for name in names), pattern
