"""A stage that asks for continuous collision detection, through the tensor API: a bullet, a wall of 1 mm, and its edge."""

import numpy as np
import pytest

RADIUS = 0.005
HALF = 0.0005
SPEED = 300.0


def shot(author, host, device, scene_asks, body_asks, height):
    """Positions of a bullet and its velocities [m, m/s] over 3 steps at 60 Hz, fired from 2 m at a wall that is 1 m high."""
    from pxr import Gf, Sdf, UsdGeom

    stage = author(gravity=0.0)
    bullet = stage.ball_body("/bullet", (-2.0, 0.0, height), RADIUS, velocity=(SPEED, 0.0, 0.0))
    wall = stage.cube("/wall", 1.0)
    UsdGeom.Xformable(wall).AddTranslateOp().Set(Gf.Vec3d(0.0, 0.0, 0.5))
    UsdGeom.Xformable(wall).AddScaleOp().Set(Gf.Vec3f(2 * HALF, 2.0, 1.0))
    scene = stage.stage.GetPrimAtPath("/physicsScene")
    scene.CreateAttribute("physxScene:enableCCD", Sdf.ValueTypeNames.Bool).Set(scene_asks)
    bullet.AddAppliedSchema("PhysxRigidBodyAPI")
    bullet.CreateAttribute("physxRigidBody:enableCCD", Sdf.ValueTypeNames.Bool).Set(body_asks)
    bullet.CreateAttribute("physxRigidBody:angularDamping", Sdf.ValueTypeNames.Float).Set(0.0)
    view = stage.view(device)
    body = view.create_rigid_body_view("/bullet")
    positions, velocities = [], []
    for _ in range(3):
        view.step(1.0 / 60.0)
        positions.append(host(body.get_transforms())[0, :3].astype(float))
        velocities.append(host(body.get_velocities())[0].astype(float))
    return np.array(positions), np.array(velocities)


@pytest.mark.parametrize("asks", [(True, True), (True, False), (False, True), (False, False)])
def test_a_bullet_does_not_pass_the_wall(author, host, device, asks):
    """Whoever does not ask has contacts that look ahead by one step, which stop it as well where it meets the wall."""
    position, velocity = shot(author, host, device, *asks, 0.4)
    np.testing.assert_allclose(position[:, 0], -HALF - RADIUS, atol=1e-5)
    assert np.abs(velocity[:, :3]).max() < 1e-3


def test_a_bullet_passes_above_the_wall(author, host, device, measure):
    position, velocity = shot(author, host, device, True, True, 1.0 + RADIUS + 0.001)
    free = -2.0 + SPEED / 60.0 * np.arange(1, 4)
    measure("bullet past an edge: position", np.abs(position[:, 0] - free).max(), 4e-6, "m")
    measure("bullet past an edge: velocity", np.abs(velocity[:, 1:]).max(), 1e-6, "m/s")
