"""An M16 nut on its bolt, both signed distance fields, at default settings and 60 Hz: it rests, and screws without jamming."""

import numpy as np
import pytest
import warp as wp

from tensorphys_contact.testing.threads import bolt_mesh, nut_mesh

DT = 1.0 / 60.0
PITCH, RADIUS, DEPTH, CLEARANCE = 2e-3, 8e-3, 1.0825e-3, 0.1e-3  # M16 [m]
MASS, OUTER = 0.02, 12e-3
AXIAL = 0.5 * MASS * (RADIUS**2 + OUTER**2)
FRICTION = 0.3


@pytest.fixture
def nut(author, device):
    """View and nut, three pitches up on a bolt of six turns.

    The two have different numbers of facets: with equal ones they would lock into each other like keys.
    """
    from pxr import Sdf, UsdGeom, UsdPhysics, Vt

    stage = author(9.81)
    thread = {"pitch": PITCH, "depth": DEPTH, "count": 2}
    bolt = bolt_mesh(major_radius=RADIUS, turns=6, around=96, **thread)
    inner = nut_mesh(major_radius=RADIUS + CLEARANCE, outer_radius=OUTER, turns=2, around=80, **thread)
    inertia = [0.6 * AXIAL, 0.6 * AXIAL, AXIAL]
    stage.body("/nut", (0, 0, 3 * PITCH), mass=MASS, inertia=inertia, com=(0, 0, 1.5 * PITCH))
    material = stage.material("/material", friction=FRICTION)
    for path, (points, triangles) in (("/bolt", bolt), ("/nut/shape", inner)):
        mesh = UsdGeom.Mesh.Define(stage.stage, path)
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(points.astype(np.float32)))
        mesh.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(triangles.astype(np.int32).ravel()))
        mesh.CreateFaceVertexCountsAttr([3] * len(triangles))
        prim = mesh.GetPrim()
        UsdPhysics.CollisionAPI.Apply(prim)
        UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr("sdf")
        prim.CreateAttribute("physxSDFMeshCollision:sdfResolution", Sdf.ValueTypeNames.Int).Set(128)
        prim.CreateAttribute("physxCollision:contactOffset", Sdf.ValueTypeNames.Float).Set(5e-5)
        stage.bind(material, prim)
    view = stage.view(device)
    return view, view.create_rigid_body_view("/nut")


def place(body, host):
    """Position, and turn about the axis within half a turn."""
    pose = host(body.get_transforms())[0].astype(np.float64)
    return pose[:3], 2.0 * np.arctan2(pose[5], pose[6])


def test_a_nut_rests_on_its_bolt(nut, host, measure):
    view, body = nut
    start, _ = place(body, host)
    farthest = 0.0
    for _ in range(600):
        view.step(DT)
        farthest = max(farthest, np.linalg.norm(place(body, host)[0] - start))
    measure("M16 nut at rest for 10 s, friction 0.3, drift", farthest, 1e-4, "m")


def test_a_nut_screws_two_turns_in_five_seconds(nut, host, measure, device):
    """A wrench turns at two turns in 5 s, on a torsion spring of 5 mN m/rad that gives way where the nut jams."""
    view, body = nut
    speed = -2.0 * 2.0 * np.pi / 5.0
    _, angle = place(body, host)
    first = None
    lag = off = 0.0
    index = wp.array([0], dtype=wp.int32, device=device)
    for step in range(300):
        torque = np.zeros((1, 3), np.float32)
        torque[0, 2] = 5e-3 * (speed * DT * (step + 1) - angle)
        body.apply_forces_and_torques_at_position(
            None, wp.array(torque, dtype=wp.float32, device=device), None, index, True
        )
        view.step(DT)
        position, now = place(body, host)
        angle += (now - angle + np.pi) % (2.0 * np.pi) - np.pi
        lag = max(lag, abs(angle - speed * DT * (step + 1)))
        if step == 30:
            first = (position[2], angle)
        elif step > 30:
            off = max(off, abs(position[2] - first[0] - PITCH * (angle - first[1]) / (2.0 * np.pi)))
    measure("M16 nut screwed two turns in 5 s, missing at the end", 1.0 + angle / (4.0 * np.pi), 0.02)
    measure("M16 nut screwed two turns in 5 s, farthest behind the wrench", lag, 0.5, "rad")
    measure("M16 nut screwed two turns in 5 s, farthest from the helix", off, 1e-4, "m")
