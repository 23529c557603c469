"""The scenes of the benchmarks in other libraries: boxes, capsules and spheres over a plane, one or many worlds."""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import warp as wp
from timing import measure, recorded

Shapes = list[tuple[int, list[float]]]
"""Type code of ``tensorphys_contact.ShapeType`` and size of each shape."""


def with_coal(
    shapes: Shapes,
    pose: np.ndarray,
    worlds: int,
    filtered: set[tuple[int, int]],
    options: argparse.Namespace,
    offset: float,
) -> dict[str, Any]:
    """A broad phase manager for each world with coal's own callback, in C++; filters cannot be given to it."""
    import coal

    make: dict[int, Callable[[list[float]], Any]] = {
        1: lambda s: coal.Sphere(s[0]),
        2: lambda s: coal.Capsule(s[0], 2.0 * s[1]),
        3: lambda s: coal.Box(2.0 * s[0], 2.0 * s[1], 2.0 * s[2]),
    }
    managers = []
    for _ in range(worlds):
        manager = coal.DynamicAABBTreeCollisionManager()
        for (kind, size), row in zip(shapes, pose, strict=True):
            x, y, z, w = row[3:]
            turn = np.array(
                [
                    [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                    [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                    [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
                ]
            )
            manager.registerObject(coal.CollisionObject(make[kind](size), turn, row[:3]))
        manager.registerObject(
            coal.CollisionObject(coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), np.eye(3), np.zeros(3))
        )
        manager.setup()
        managers.append(manager)
    found = [0]

    def step() -> None:
        found[0] = 0
        for manager in managers:
            callback = coal.CollisionCallBackDefault()
            callback.data.request.num_max_contacts = 1_000_000
            callback.data.request.enable_contact = True
            callback.data.request.security_margin = 2.0 * offset
            manager.update()
            manager.collide(callback)
            found[0] += callback.data.result.numContacts()

    result = measure(step, "cpu", repeat=min(options.repeat, 5))
    return {
        **result,
        "worlds": worlds,
        "contacts": found[0],
        "note": f"one contact a pair of convex shapes; filtered pairs collide too ({len(filtered)} a world)",
    }


def with_newton(
    shapes: Shapes,
    pose: np.ndarray,
    worlds: int,
    filtered: set[tuple[int, int]],
    options: argparse.Namespace,
    offset: float,
) -> dict[str, Any]:
    """Newton's collision pipeline."""
    import newton

    one = newton.ModelBuilder()
    one.rigid_gap = offset
    numbers = []
    for (kind, size), row in zip(shapes, pose, strict=True):
        body = one.add_body(xform=wp.transform(*map(float, row)), mass=1.0)
        add = {
            1: lambda b, s: one.add_shape_sphere(b, radius=s[0]),
            2: lambda b, s: one.add_shape_capsule(b, radius=s[0], half_height=s[1]),
            3: lambda b, s: one.add_shape_box(b, hx=s[0], hy=s[1], hz=s[2]),
        }[kind]
        numbers.append(add(body, size))
    for a, b in filtered:
        one.add_shape_collision_filter_pair(numbers[a], numbers[b])
    builder = one
    if worlds > 1:
        builder = newton.ModelBuilder()
        builder.rigid_gap = offset
        builder.replicate(one, worlds)
    builder.add_ground_plane()
    model = builder.finalize(device=options.device)
    state = model.state()
    pipeline = newton.CollisionPipeline(
        model,
        broad_phase="explicit" if worlds > 1 else "sap",
        rigid_contact_max=16 * len(shapes) * worlds,
    )
    contacts = pipeline.contacts()
    step = recorded(functools.partial(pipeline.collide, state, contacts), options.device)
    result = measure(step, options.device, repeat=options.repeat)
    return {**result, "worlds": worlds, "contacts": int(contacts.rigid_contact_count.numpy()[0])}


def with_mujoco_warp(
    shapes: Shapes,
    pose: np.ndarray,
    worlds: int,
    filtered: set[tuple[int, int]],
    options: argparse.Namespace,
    offset: float,
) -> dict[str, Any]:
    """The collision stage of MuJoCo Warp."""
    import mujoco
    import mujoco_warp

    spec = mujoco.MjSpec()
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], margin=offset)
    types = {
        1: mujoco.mjtGeom.mjGEOM_SPHERE,
        2: mujoco.mjtGeom.mjGEOM_CAPSULE,
        3: mujoco.mjtGeom.mjGEOM_BOX,
    }
    for k, ((kind, size), row) in enumerate(zip(shapes, pose, strict=True)):
        body = spec.worldbody.add_body(name=f"b{k}", pos=row[:3], quat=row[[6, 3, 4, 5]])
        body.add_freejoint()
        body.add_geom(type=types[kind], size=size, margin=offset)
    for a, b in filtered:
        spec.add_exclude(bodyname1=f"b{a}", bodyname2=f"b{b}")
    mjm = spec.compile()
    mjd = mujoco.MjData(mjm)
    mujoco.mj_kinematics(mjm, mjd)
    with wp.ScopedDevice(options.device):
        model = mujoco_warp.put_model(mjm)
        data = mujoco_warp.put_data(mjm, mjd, nworld=worlds, nconmax=16 * len(shapes), njmax=1)
        mujoco_warp.kinematics(model, data)
        step = recorded(functools.partial(mujoco_warp.collision, model, data), options.device)
        result = measure(step, options.device, repeat=options.repeat)
        found = int(data.nacon.numpy()[0])
    return {**result, "worlds": worlds, "contacts": found}


def peer_runs(
    shapes: Shapes,
    pose: np.ndarray,
    worlds: int,
    filtered: set[tuple[int, int]],
    options: argparse.Namespace,
    *,
    offset: float,
    coal_worlds: int | None = None,
) -> dict[str, Callable[[], dict[str, Any]]]:
    """One call for each peer; ``offset`` is the contact offset of every shape [length]."""
    scene = (shapes, pose, worlds, filtered, options, offset)
    return {
        "coal": functools.partial(with_coal, shapes, pose, coal_worlds or worlds, filtered, options, offset),
        "newton": functools.partial(with_newton, *scene),
        "mujoco_warp": functools.partial(with_mujoco_warp, *scene),
    }
