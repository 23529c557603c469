"""A flat floor of triangles is flat: what rolls or slides over it does not feel its edges."""

import numpy as np

import tensorphys_usd
from tensorphys_engine import Simulation

DT = 1.0 / 240.0


def floor(stage, cell=0.13):
    """A square floor of 8 m, of triangles that share no line with the paths of the tests."""
    from pxr import UsdGeom, UsdPhysics

    cells = int(8.0 / cell)
    mesh = UsdGeom.Mesh.Define(stage.stage, "/floor")
    place = (np.arange(cells + 1) - 0.3) * cell - 1.0
    x, y = np.meshgrid(place, place, indexing="ij")
    mesh.CreatePointsAttr(np.stack([x.ravel(), y.ravel(), 0.0 * x.ravel()], axis=1).tolist())
    index = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    a, b, c, d = index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]
    triangles = np.concatenate(
        [np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)]
    )
    mesh.CreateFaceVertexIndicesAttr(triangles.ravel().tolist())
    mesh.CreateFaceVertexCountsAttr([3] * len(triangles))
    UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
    UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim()).CreateApproximationAttr("none")


def test_a_ball_rolls_as_on_a_plane(author, device: str, measure) -> None:
    stage = author()
    floor(stage)
    speed = np.array([2.0 * np.cos(0.3), 2.0 * np.sin(0.3), 0.0])
    spin = np.degrees(np.cross([0.0, 0.0, 1.0], speed) / 0.1)
    stage.ball_body("/ball", (0.0, 0.0, 0.1), velocity=tuple(speed), angular_velocity=tuple(spin))
    simulation = Simulation(tensorphys_usd.parse_stage(stage.stage), device=device)
    heights, speeds = [], []
    for _ in range(720):
        simulation.step(DT)
        heights.append(float(simulation.state.root_pose.numpy()[0, 2]))
        speeds.append(float(np.linalg.norm(simulation.state.velocity.numpy()[:3])))
    measure("height of the ball", max(abs(h - 0.1) for h in heights), 1e-4, "m")
    measure("speed of the ball", max(abs(s / 2.0 - 1.0) for s in speeds), 1e-4)


def test_a_box_slides_as_on_a_plane(author, device: str, measure) -> None:
    """The same slide as over a plane, to half a percent of its length, and level all the time."""
    ends = []
    for triangles in (True, False):
        stage = author()
        if triangles:
            floor(stage)
        else:
            stage.ground()
        stage.box_body("/box", (0.0, 0.0, 0.1), velocity=(1.9, 0.6, 0.0))
        simulation = Simulation(tensorphys_usd.parse_stage(stage.stage), device=device)
        lean = 0.0
        for _ in range(240):
            simulation.step(DT)
            q = simulation.state.root_pose.numpy()[0, 3:]
            lean = max(lean, float(np.hypot(q[0], q[1])))
        ends.append(simulation.state.root_pose.numpy()[0, :3])
        measure(f"lean of the box, {triangles}", lean, 5e-3)
    length = float(np.linalg.norm(ends[1][:2]))
    measure("difference of the slides", float(np.linalg.norm(ends[0] - ends[1])) / length, 5e-3)
