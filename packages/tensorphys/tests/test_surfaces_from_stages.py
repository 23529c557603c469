"""Belts, constant loads, patches, bounds and held axes that a stage authors, down to the motion that views report."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from pxr import Gf, Sdf, UsdPhysics, UsdShade

G = 9.81
FLOAT, VECTOR, INT = Sdf.ValueTypeNames.Float, Sdf.ValueTypeNames.Vector3f, Sdf.ValueTypeNames.Int
BOOL, TOKEN = Sdf.ValueTypeNames.Bool, Sdf.ValueTypeNames.Token


def author(prim: Any, schema: str, **values: tuple[Any, Any]) -> None:
    """Apply a vendor schema and author attributes, given as name = (type, value); `__` stands for a colon."""
    prim.AddAppliedSchema(schema)
    for name, (kind, value) in values.items():
        prim.CreateAttribute(name.replace("__", ":"), kind).Set(value)


def test_a_conveyor_belt(stages: SimpleNamespace, arrays: Any) -> None:
    """A box on a kinematic body with a surface velocity gains μ g and then has the speed of the belt."""
    stage = stages.Author.new()
    belt = stage.body("/World/belt", (0, 0, 0), kinematic=True)
    stage.collider("/World/belt/shape", "cube", 4.0, (0, 0, -2))
    velocity = (VECTOR, Gf.Vec3f(0.8, 0, 0))
    author(belt, "PhysxSurfaceVelocityAPI", physxSurfaceVelocity__surfaceVelocity=velocity)
    stage.body("/World/box", (0, 0, 0.1), inertia=(0.01, 0.01, 0.01))
    stage.collider("/World/box/shape", "cube", 0.2)
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view("/World/box")
    for _ in range(3):
        sim.step(1 / 240)
    before = arrays.host(view.get_velocities())[0, 0]
    for _ in range(20):
        sim.step(1 / 240)
    gained = arrays.host(view.get_velocities())[0, 0] - before
    assert abs(gained / (20 / 240) / (0.5 * G) - 1.0) < 1e-2
    for _ in range(120):
        sim.step(1 / 240)
    np.testing.assert_allclose(arrays.host(view.get_velocities())[0], [0.8, 0, 0, 0, 0, 0], atol=2e-3)


def test_forces_of_prims(stages: SimpleNamespace, arrays: Any) -> None:
    """A force in world axes, an acceleration in those of a turned body, and a jet below a body that turns it."""
    stage = stages.Author.new(gravity=0.0)
    push = stage.body("/World/push", (0, 0, 5), mass=2.0)
    author(
        push,
        "PhysxForceAPI",
        physxForce__force=(VECTOR, Gf.Vec3f(0, 4, 0)),
        physxForce__mode=(TOKEN, "force"),
        physxForce__worldFrameEnabled=(BOOL, True),
    )
    stage.body("/World/jets", (5, 0, 5), mass=2.0, inertia=(0.5, 0.5, 0.5))
    jet = stage.xform("/World/jets/jet", (0, 0.25, 0))
    author(
        jet, "PhysxForceAPI", physxForce__force=(VECTOR, Gf.Vec3f(1, 0, 0)), physxForce__mode=(TOKEN, "force")
    )
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view(["/World/push", "/World/jets"])
    for _ in range(24):
        sim.step(1 / 240)
    velocity = arrays.host(view.get_velocities())
    np.testing.assert_allclose(velocity[0], [0, 0.2, 0, 0, 0, 0], atol=1e-5)
    # 1 N at a lever of 0.25 m: 0.5 rad/s² about −z
    np.testing.assert_allclose(velocity[1, [0, 5]], [0.05, -0.05], rtol=2e-3)


def test_a_ball_that_spins_on_the_ground(stages: SimpleNamespace, arrays: Any) -> None:
    """The least patch of its collider slows it by μ m g r / I."""
    stage = stages.Author.new()
    stage.ground()
    ball = stage.body("/World/ball", (0, 0, 0.2), inertia=(0.016, 0.016, 0.016), radius=0.2)
    ball.GetAttribute("physics:angularVelocity").Set(Gf.Vec3f(0, 0, 1200.0))
    collider = stage.stage.GetPrimAtPath("/World/ball/collider")
    radius = (FLOAT, 0.02)
    author(collider, "PhysxCollisionAPI", physxCollision__minTorsionalPatchRadius=radius)
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view("/World/ball")
    for _ in range(20):
        sim.step(1 / 240)
    before = arrays.host(view.get_velocities())[0, 5]
    for _ in range(60):
        sim.step(1 / 240)
    rate = (before - arrays.host(view.get_velocities())[0, 5]) * 240 / 60
    assert abs(rate * 0.016 / (0.5 * G * 0.02) - 1.0) < 2e-3


def test_held_axes_and_bounded_impulses(stages: SimpleNamespace, arrays: Any) -> None:
    """A body held along z and about x and y does not fall; one whose contacts bear half of its weight sinks with g / 2."""
    stage = stages.Author.new()
    stage.ground()
    held = stage.body("/World/held", (0, 0, 1), radius=0.1)
    locks = {"physxRigidBody__lockedPosAxis": (INT, 4), "physxRigidBody__lockedRotAxis": (INT, 3)}
    author(held, "PhysxRigidBodyAPI", **locks)
    weak = stage.body("/World/weak", (3, 0, 0.2), radius=0.2)
    bound = (FLOAT, 0.5 * G / 240)
    author(weak, "PhysxRigidBodyAPI", physxRigidBody__maxContactImpulse=bound)
    sim = stages.view(arrays, stage)
    view = sim.create_rigid_body_view(["/World/held", "/World/weak"])
    for _ in range(24):
        sim.step(1 / 240)
    velocity = arrays.host(view.get_velocities())
    assert np.abs(velocity[0]).max() == 0.0
    assert abs(velocity[1, 2] + 0.5 * G * 0.1) < 0.03
    assert arrays.host(view.get_transforms())[0, 2] == np.float32(1.0)


def test_what_is_not_simulated_is_told_by_prim(stages: SimpleNamespace) -> None:
    stage = stages.Author.new()
    body = stage.body("/World/body", (0, 0, 1), radius=0.1)
    author(
        body,
        "PhysxRigidBodyAPI",
        physxRigidBody__cfmScale=(FLOAT, 0.1),
        physxRigidBody__contactSlopCoefficient=(FLOAT, 0.2),
        physxRigidBody__solveContact=(BOOL, False),
    )
    scene = stage.stage.GetPrimAtPath("/physicsScene")
    author(scene, "PhysxSceneQuasistaticAPI", physxSceneQuasistatic__enableQuasistatic=(BOOL, True))
    material = UsdShade.Material.Define(stage.stage, "/World/material").GetPrim()
    UsdPhysics.MaterialAPI.Apply(material)
    author(material, "PhysxMaterialAPI", newton__rollingFriction=(FLOAT, 0.1))
    told = {}
    for path, text in stages.view("numpy", stage)._core.simulation.findings:
        told.setdefault(path, []).append(text)
    assert len(told["/World/body"]) == 3
    assert any("quasi-static" in text for text in told["/physicsScene"])
    assert any("rolling" in text for text in told["/World/material"])
