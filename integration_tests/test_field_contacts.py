"""Colliders with approximation ``sdf``, ``sphereFill`` and ``convexDecomposition`` of a stage collide as what they say."""

import numpy as np
import pytest

CORNERS = [(x, y, z) for x in (-0.05, 0.05) for y in (-0.05, 0.05) for z in (-0.05, 0.05)]
SQUARES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]


def cube(path: str, place: tuple[float, float, float], approximation: str) -> str:
    points = ", ".join(map(str, CORNERS))
    indices = ", ".join(str(k) for square in SQUARES for k in square)
    return f"""
    def Xform "{path}" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {{
        double3 xformOp:translate = {place}
        uniform token[] xformOpOrder = ["xformOp:translate"]
        float physics:mass = 1
        point3f physics:centerOfMass = (0, 0, 0)
        float3 physics:diagonalInertia = (0.001, 0.001, 0.001)
        def Mesh "mesh" (prepend apiSchemas = ["PhysicsCollisionAPI", "PhysicsMeshCollisionAPI"]) {{
            uniform token physics:approximation = "{approximation}"
            int physxSDFMeshCollision:sdfResolution = 32
            float physxCollision:contactOffset = 0.005
            float physxCollision:restOffset = 0
            point3f[] points = [{points}]
            int[] faceVertexCounts = [4, 4, 4, 4, 4, 4]
            int[] faceVertexIndices = [{indices}]
        }}
    }}"""


def stage_of(*prims: str, gravity: float):
    from pxr import Usd

    layer = f"""#usda 1.0
(
    metersPerUnit = 1
    kilogramsPerUnit = 1
    upAxis = "Z"
    defaultPrim = "World"
)
def Xform "World" {{
    def PhysicsScene "Scene" {{
        float physics:gravityMagnitude = {gravity}
        vector3f physics:gravityDirection = (0, 0, -1)
    }}
    def Plane "Ground" (prepend apiSchemas = ["PhysicsCollisionAPI"]) {{
        uniform token axis = "Z"
    }}
    {"".join(prims)}
}}"""
    stage = Usd.Stage.CreateInMemory()
    stage.GetRootLayer().ImportFromString(layer)
    return stage


@pytest.mark.parametrize(("gap", "touching"), [(0.005, True), (0.02, False)])
def test_case_119_contacts_in_a_gap_carry_no_force(gap: float, touching: bool, device: str) -> None:
    """Two cubes as fields, faces parallel: within the offsets there are contacts at the gap's distance, beyond none."""
    import tensorphys

    stage = stage_of(cube("A", (0, 0, 1), "sdf"), cube("B", (0.1 + gap, 0, 1), "sdf"), gravity=0.0)
    view = tensorphys.create_simulation_view("numpy", stage=stage, device=device)
    sensors = view.create_rigid_contact_view(["/World/A"], [["/World/B"]], 64)
    bodies = view.create_rigid_body_view("/World/[AB]")
    before = bodies.get_transforms().copy()
    for _ in range(10):
        view.step(1.0 / 240.0)
    contacts = view.simulation.contacts
    count = int(contacts.count.numpy()[0])
    assert (count >= 4) == touching
    assert touching or count == 0
    np.testing.assert_allclose(contacts.separation.numpy()[:count], gap, atol=5e-4)
    normal = contacts.normal.numpy()[:count]
    np.testing.assert_allclose(normal, np.tile([-1.0, 0.0, 0.0], (count, 1)), atol=1e-3)
    # Nothing moves, so nothing presses: the view has no force to tell of.
    assert not np.asarray(sensors.get_contact_force_matrix(1.0 / 240.0)).any()
    np.testing.assert_allclose(bodies.get_transforms(), before, atol=1e-7)


@pytest.mark.parametrize("approximation", ["sdf", "convexDecomposition", "sphereFill"])
def test_cubes_of_each_kind_rest_on_the_ground(approximation: str, device: str) -> None:
    import tensorphys

    if approximation == "convexDecomposition":
        pytest.importorskip("coacd")
    stage = stage_of(cube("A", (0, 0, 0.06), approximation), gravity=9.81)
    view = tensorphys.create_simulation_view("numpy", stage=stage, device=device)
    body = view.create_rigid_body_view("/World/A")
    for _ in range(120):
        view.step(1.0 / 240.0)
    height = float(body.get_transforms()[0, 2])
    # Spheres fill the cube from within, and do not reach into its corners.
    assert height == pytest.approx(0.05, abs=5e-3 if approximation == "sphereFill" else 5e-4)
