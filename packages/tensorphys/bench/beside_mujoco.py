"""Environment-steps a second beside MuJoCo, one core each, in one run: cartpole, ant, humanoid, Panda with a cube, piles.

python packages/tensorphys/bench/beside_mujoco.py [--scenes cartpole,ant,humanoid,panda,pile2000,pile20000]
    [--count 64] [--seconds 2] [--device cpu]

MuJoCo's models are made from the very scenes that are simulated here: bodies, masses, joints, limits, damping, shapes and
friction. Robots step at 1/240 s in both, without actuation, one environment of MuJoCo beside `--count` of ours; piles at
1/60 s here (8 substeps) and 1/240 s there, and are timed while they fall and lie. Options of MuJoCo are its defaults.
Time is thread time of this process on the CPU, and wall time on a GPU. `rate` is environment-steps a second, `realtime`
how much simulated time a second of it gives.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import warp as wp
from robot_steps import load

from tensorphys_engine import Simulation
from tensorphys_engine.testing import pile_scene
from tensorphys_scene import Bodies, JointType, Scene, Shapes, ShapeType, replicate

ROBOT_STEP, PILE_STEP = 1.0 / 240.0, 1.0 / 60.0
GRIDS = {"pile2000": (20, 10, 10), "pile20000": (32, 25, 25)}
CARTPOLE = """#usda 1.0
(metersPerUnit = 1
 upAxis = "Z")
def PhysicsScene "scene" {
}
def Xform "cartpole" (prepend apiSchemas = ["PhysicsArticulationRootAPI"]) {
    def Xform "rail" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
        double3 xformOp:translate = (0, 0, 1)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        float physics:mass = 1
        float3 physics:diagonalInertia = (1, 1, 1)
    }
    def Xform "cart" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
        double3 xformOp:translate = (0, 0, 1)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        float physics:mass = 1
        float3 physics:diagonalInertia = (0.01, 0.01, 0.01)
    }
    def Xform "pole" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"]) {
        double3 xformOp:translate = (0, 0, 1)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        float physics:mass = 0.1
        float3 physics:diagonalInertia = (0.003, 0.003, 0.0001)
        point3f physics:centerOfMass = (0, 0, 0.3)
    }
    def PhysicsFixedJoint "base" {
        rel physics:body1 = </cartpole/rail>
    }
    def PhysicsPrismaticJoint "slider" {
        rel physics:body0 = </cartpole/rail>
        rel physics:body1 = </cartpole/cart>
        uniform token physics:axis = "X"
        float physics:lowerLimit = -2
        float physics:upperLimit = 2
    }
    def PhysicsRevoluteJoint "hinge" {
        rel physics:body0 = </cartpole/cart>
        rel physics:body1 = </cartpole/pole>
        uniform token physics:axis = "Y"
    }
}
"""


def robot(name: str) -> Scene:
    """A robot on a plane; the Panda has a cube beside it."""
    if name == "cartpole":
        from pxr import Usd

        import tensorphys_usd

        stage = Usd.Stage.CreateInMemory()
        stage.GetRootLayer().ImportFromString(CARTPOLE)
        return tensorphys_usd.parse_stage(stage)
    scene = load(name)
    if name != "panda":
        return scene
    template = scene.templates[0]
    cube = Bodies(
        path=("/panda/cube",),
        pose=[[0.5, 0.0, 0.025, 0.0, 0.0, 0.0, 1.0]],
        mass=[0.5],
        inertia=[np.eye(3) * 0.5 * 0.05**2 / 6],
    )
    box = Shapes(
        path=("/panda/cube/box",), body=[template.bodies.count], type=[int(ShapeType.BOX)], size=[[0.025] * 3]
    )
    joined = template.replace(bodies=join(template.bodies, cube), shapes=join(template.shapes, box))
    return scene.replace(templates=(joined.replace(prims=()),))


def join(table: Any, other: Any) -> Any:
    """Rows of two tables of one kind."""
    columns = {}
    for name in type(table).__dataclass_fields__:
        first, second = getattr(table, name), getattr(other, name)
        columns[name] = first + second if isinstance(first, tuple) else np.concatenate((first, second))
    return type(table)(**columns)


def times(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of two quaternions xyzw."""
    return np.append(a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3]), a[3] * b[3] - a[:3] @ b[:3])


def turned(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A vector turned by a quaternion."""
    return np.asarray(v + 2.0 * np.cross(q[:3], np.cross(q[:3], v) + q[3] * v))


def place(body: Any, position: np.ndarray, quaternion: np.ndarray) -> None:
    """Set a pose; MuJoCo's quaternions start with w."""
    body.pos, body.quat = position, np.roll(quaternion, 1)


def add_shape(spec: Any, body: Any, scene: Scene, row: int) -> None:
    """Add one shape of the template to a body of MuJoCo."""
    import mujoco

    template = scene.templates[0]
    shapes = template.shapes
    kind, size = int(shapes.type[row]), shapes.size[row].copy()
    kinds = {
        ShapeType.PLANE: mujoco.mjtGeom.mjGEOM_PLANE,
        ShapeType.SPHERE: mujoco.mjtGeom.mjGEOM_SPHERE,
        ShapeType.CAPSULE: mujoco.mjtGeom.mjGEOM_CAPSULE,
        ShapeType.BOX: mujoco.mjtGeom.mjGEOM_BOX,
        ShapeType.CYLINDER: mujoco.mjtGeom.mjGEOM_CYLINDER,
        ShapeType.CONVEX_HULL: mujoco.mjtGeom.mjGEOM_MESH,
    }
    material = int(shapes.material[row])
    slide = float(template.materials.dynamic_friction[material]) if material >= 0 else 0.5
    geom = body.add_geom(type=kinds[ShapeType(kind)], friction=[slide, 0.005, 0.0001])
    place(geom, shapes.pose[row, :3], shapes.pose[row, 3:])
    geom.mass = 0.0
    if kind == ShapeType.CONVEX_HULL:
        mesh = spec.add_mesh(name=f"mesh{row}")
        mesh.uservert = (template.meshes[int(shapes.mesh[row])].points * size).ravel()
        geom.meshname = mesh.name
    else:
        geom.size = size if kind != ShapeType.PLANE else [0.0, 0.0, 1.0]


def mujoco_model(scene: Scene, dt: float) -> Any:
    """The scene as a model of MuJoCo: trees over revolute, prismatic and fixed joints, free bodies, a plane."""
    import mujoco

    template = scene.templates[0]
    bodies, joints, axes = template.bodies, template.joints, template.axes
    spec = mujoco.MjSpec()
    spec.option.timestep = dt
    if scene.shared is not None and scene.shared.shapes.count:
        plane = mujoco.mjtGeom.mjGEOM_PLANE
        spec.worldbody.add_geom(type=plane, size=[0.0, 0.0, 1.0], friction=[0.5, 0.005, 0.0001])
    above = {int(joints.body1[j]): j for j in range(joints.count) if joints.enabled[j]}
    made: dict[int, Any] = {-1: spec.worldbody}

    def make(body: int) -> Any:
        if body in made:
            return made[body]
        joint = above.get(body)
        parent = int(joints.body0[joint]) if joint is not None else -1
        owner = make(parent)
        position, quaternion = bodies.pose[body, :3], bodies.pose[body, 3:]
        if parent >= 0:
            back = bodies.pose[parent, 3:] * np.array([-1.0, -1.0, -1.0, 1.0])
            position = turned(back, position - bodies.pose[parent, :3])
            quaternion = times(back, quaternion)
        result = made[body] = owner.add_body(name=f"body{body}")
        place(result, position, quaternion)
        inertia = bodies.inertia[body]
        result.mass, result.ipos, result.explicitinertial = bodies.mass[body], bodies.com[body], True
        result.fullinertia = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        if joint is None:
            result.add_freejoint()
        elif int(joints.type[joint]) != JointType.FIXED:
            add_joint(result, joint)
        return result

    def add_joint(body: Any, joint: int) -> None:
        frame = joints.frame1[joint]
        for row in np.flatnonzero(axes.joint == joint):
            axis = int(axes.axis[row])
            slides = axis < 3
            limited = np.isfinite([axes.lower[row], axes.upper[row]]).all()
            added = body.add_joint(
                type=mujoco.mjtJoint.mjJNT_SLIDE if slides else mujoco.mjtJoint.mjJNT_HINGE,
                axis=turned(frame[3:], np.eye(3)[axis % 3]),
                pos=frame[:3],
                armature=axes.armature[row],
                damping=[axes.passive_damping[row], 0.0, 0.0],
                limited=bool(limited),
            )
            if limited:
                added.range = [axes.lower[row], axes.upper[row]]

    for body in range(bodies.count):
        make(body)
    for row in range(template.shapes.count):
        if template.shapes.enabled[row]:
            add_shape(spec, made[int(template.shapes.body[row])], scene, row)
    return spec.compile()


def timed(step: Callable[[], object], wait: Callable[[], object], seconds: float, on_cpu: bool) -> float:
    """Calls a second: the median of five blocks."""
    clock = time.thread_time if on_cpu else time.perf_counter
    rates = []
    for _ in range(5):
        calls, start = 0, clock()
        while clock() - start < seconds / 5:
            step()
            calls += 1
            if not on_cpu and calls % 10 == 0:
                wait()
        wait()
        rates.append(calls / (clock() - start))
    return float(np.median(rates))


def ours(scene: Scene, count: int, dt: float, options: argparse.Namespace) -> dict[str, Any]:
    """Rate of this library."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        simulation = Simulation(
            replicate(scene, count) if count > 1 else scene, device=options.device, ignore_unsupported=True
        )
    simulation.step(dt)
    for _ in range(round(options.settle / dt)):
        simulation.step()
    rate = timed(
        simulation.step,
        lambda: wp.synchronize_device(options.device),
        options.seconds,
        simulation.device.is_cpu,
    )
    contacts = float(simulation.contacts.count.numpy().mean())
    return {
        "environments": count,
        "dt": dt,
        "rate": rate * count,
        "realtime": rate * dt,
        "contacts": contacts,
    }


def theirs(scene: Scene, dt: float, options: argparse.Namespace) -> dict[str, Any]:
    """Rate of MuJoCo, one environment."""
    import mujoco

    model = mujoco_model(scene, dt)
    data = mujoco.MjData(model)
    for _ in range(round(options.settle / dt)):
        mujoco.mj_step(model, data)
    rate = timed(lambda: mujoco.mj_step(model, data), lambda: None, options.seconds, True)
    return {"environments": 1, "dt": dt, "rate": rate, "realtime": rate * dt, "contacts": float(data.ncon)}


def main() -> None:
    """Measure and print one row for each scene."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenes", default="cartpole,ant,humanoid,panda,pile2000")
    parser.add_argument("--count", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--settle", type=float, default=1.0, help="simulated seconds before timing")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--alone", action="store_true", help="without MuJoCo")
    options = parser.parse_args()
    rows = {}
    for name in options.scenes.split(","):
        pile = name in GRIDS
        scene = pile_scene(GRIDS[name]) if pile else robot(name)
        dt = PILE_STEP if pile else ROBOT_STEP
        row = {"ours": ours(scene, 1 if pile else options.count, dt, options)}
        if not pile:
            row["ours, one"] = ours(scene, 1, dt, options)
        if not options.alone:
            try:
                row["MuJoCo"] = theirs(scene, ROBOT_STEP, options)
            except ValueError as error:  # it stops where a model does not fit its memory
                sys.stdout.write(f"{name:10s} MuJoCo     none: {error}\n")
        rows[name] = row
        for who, found in row.items():
            sys.stdout.write(
                f"{name:10s} {who:10s} {found['rate']:12.4g} environment-steps/s of {found['dt']:.4f} s, "
                f"{found['realtime']:9.4g} s/s, {found['contacts']:.0f} contacts\n"
            )
            sys.stdout.flush()
    kept = os.environ.get("TENSORPHYS_BENCH_JSON")
    if kept:
        Path(kept).write_text(json.dumps(rows, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
