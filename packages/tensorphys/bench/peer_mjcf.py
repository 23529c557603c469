"""A robot of the comparison for other engines: MJCF, and a description for drivers and checks.

Masses, inertias, joint frames, limits, armature, gains, bounds of effort, shapes and friction are written out from the
scene that is simulated here, so that every engine has the same numbers.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from peer_robots import FRICTION, ROBOTS, Array, Robot, load

from tensorphys_scene import DriveType, Scene, ShapeType


def turned(q: Array, v: Array) -> Array:
    """Vectors turned by quaternions xyzw."""
    return np.asarray(v + 2.0 * np.cross(q[..., :3], np.cross(q[..., :3], v) + q[..., 3:] * v))


def product(a: Array, b: Array) -> Array:
    """Product of two quaternions xyzw."""
    return np.append(a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3]), a[3] * b[3] - a[:3] @ b[:3])


def start(scene: Scene) -> Array:
    """Positions of all axes at the start: 0, or a tenth of the range inside of the limits."""
    axes = scene.templates[0].axes
    room = np.where(np.isfinite(axes.upper - axes.lower), 0.1 * (axes.upper - axes.lower), 0.0)
    return np.clip(0.0, axes.lower + room, axes.upper - room)


def description(name: str, scene: Scene) -> dict[str, Any]:
    """What drivers and checks of all engines read; rows of bodies and joints are those of the scene."""
    template, robot = scene.templates[0], ROBOTS[name]
    bodies, joints, axes, shapes = template.bodies, template.joints, template.axes, template.shapes
    q = start(scene)
    driven = axes.drive_type != int(DriveType.NONE)
    finite = (
        np.where(np.isfinite(axes.upper), axes.upper, 1e9),
        np.where(np.isfinite(axes.lower), axes.lower, -1e9),
    )
    held = [j for j in range(joints.count) if joints.enabled[j] and joints.body0[j] >= 0]
    points = [
        (template.meshes[int(shapes.mesh[k])].points * shapes.size[k]).tolist() if shapes.mesh[k] >= 0 else []
        for k in range(shapes.count)
    ]
    return {
        "name": name,
        "dofs": 6 * int(not template.articulations.fixed_base[0]) + len(axes.joint),
        "free_base": not bool(template.articulations.fixed_base[0]),
        "has_ground": robot.has_ground,
        "contacts": robot.contacts,
        "rows": robot.rows,
        "bodies": [f"body{b}" for b in range(bodies.count)],
        "root_pose": bodies.pose[0].tolist(),
        "axes": list(axes.names),
        "start": q.tolist(),
        "driven": [int(k) for k in np.flatnonzero(driven)],
        "amplitude": robot.amplitude,
        "lower": finite[1].tolist(),
        "upper": finite[0].tolist(),
        "joints": [
            {
                "bodies": [int(joints.body0[j]), int(joints.body1[j])],
                "frames": [joints.frame0[j].tolist(), joints.frame1[j].tolist()],
                "slides": [int(a) for a in axes.axis[axes.joint == j] if a < 3],
            }
            for j in held
        ],
        "shapes": [
            {
                "body": int(shapes.body[k]),
                "type": int(shapes.type[k]),
                "pose": shapes.pose[k].tolist(),
                "size": shapes.size[k].tolist(),
                "points": points[k],
            }
            for k in range(shapes.count)
            if shapes.enabled[k] and shapes.body[k] >= 0
        ],
    }


_GEOMS = {
    ShapeType.SPHERE: ("sphere", 1),
    ShapeType.CAPSULE: ("capsule", 2),
    ShapeType.BOX: ("box", 3),
    ShapeType.CYLINDER: ("cylinder", 2),
}


def _text(values: Any) -> str:
    return " ".join(f"{float(v):.9g}" for v in np.ravel(values))


def _wxyz(q: Array) -> Array:
    return np.roll(q, 1)


class _Writer:
    """Writes one template as MJCF."""

    def __init__(self, scene: Scene, robot: Robot) -> None:
        self.template, self.robot, self.lines = scene.templates[0], robot, list[str]()
        self.collides = bool(self.template.articulations.self_collisions[0])
        joints = self.template.joints
        self.above: dict[int, list[int]] = {}
        for j in range(joints.count):
            if joints.enabled[j]:
                self.above.setdefault(int(joints.body1[j]), []).append(j)

    def body(self, body: int, indent: str) -> None:
        bodies, joints = self.template.bodies, self.template.joints
        over = self.above.get(body, [])
        parent = int(joints.body0[over[0]]) if over else -1
        position, quaternion = bodies.pose[body, :3], bodies.pose[body, 3:]
        if parent >= 0:
            back = bodies.pose[parent, 3:] * np.array([-1.0, -1.0, -1.0, 1.0])
            position = turned(back, position - bodies.pose[parent, :3])
            quaternion = product(back, quaternion)
        add = self.lines.append
        add(f'{indent}<body name="body{body}" pos="{_text(position)}" quat="{_text(_wxyz(quaternion))}">')
        inertia = bodies.inertia[body]
        full = [*np.diag(inertia), inertia[0, 1], inertia[0, 2], inertia[1, 2]]
        add(
            f'{indent} <inertial pos="{_text(bodies.com[body])}" mass="{bodies.mass[body]:.9g}" '
            f'fullinertia="{_text(full)}"/>'
        )
        if not over:
            add(f'{indent} <freejoint name="root"/>')
        for joint in over:
            self.axes(joint, indent)
        for shape in np.flatnonzero((self.template.shapes.body == body) & self.template.shapes.enabled):
            self.geom(int(shape), indent)
        for child, over in self.above.items():
            if int(joints.body0[over[0]]) == body:
                self.body(child, indent + " ")
        add(f"{indent}</body>")

    def axes(self, joint: int, indent: str) -> None:
        axes, frame = self.template.axes, self.template.joints.frame1[joint]
        for row in np.flatnonzero(axes.joint == joint):
            kind = "slide" if axes.axis[row] < 3 else "hinge"
            axis = turned(frame[3:], np.eye(3)[int(axes.axis[row]) % 3])
            limited = np.isfinite([axes.lower[row], axes.upper[row]]).all()
            bounds = f' range="{_text([axes.lower[row], axes.upper[row]])}"' if limited else ""
            if axes.drive_type[row] != int(DriveType.NONE):
                bounds += f' actuatorfrcrange="{_text([-axes.max_force[row], axes.max_force[row]])}"'
            self.lines.append(
                f'{indent} <joint name="{axes.names[row]}" type="{kind}" axis="{_text(axis)}" pos="{_text(frame[:3])}" '
                f'armature="{axes.armature[row]:.9g}" limited="{str(bool(limited)).lower()}"{bounds}/>'
            )

    def geom(self, shape: int, indent: str) -> None:
        shapes = self.template.shapes
        kind, pose = ShapeType(int(shapes.type[shape])), shapes.pose[shape]
        if kind == ShapeType.CONVEX_HULL:
            form = f'type="mesh" mesh="mesh{shape}"'
        else:
            name, count = _GEOMS[kind]
            form = f'type="{name}" size="{_text(shapes.size[shape, :count])}"'
        self.lines.append(
            f'{indent} <geom name="geom{shape}" {form} pos="{_text(pose[:3])}" quat="{_text(_wxyz(pose[3:]))}" density="0" '
            f'condim="3" friction="{FRICTION} 0.005 0.0001" contype="{int(self.collides)}" conaffinity="1"/>'
        )

    def write(self, name: str) -> str:
        template = self.template
        add, shapes, joints, axes = self.lines.append, template.shapes, template.joints, template.axes
        add(f'<mujoco model="{name}">')
        add(' <compiler angle="radian" autolimits="true"/>')
        add(' <option timestep="0.005" integrator="implicitfast" cone="pyramidal" solver="Newton"/>')
        add(" <asset>")
        for shape in np.flatnonzero(shapes.type == int(ShapeType.CONVEX_HULL)):
            points = template.meshes[int(shapes.mesh[shape])].points * shapes.size[shape]
            add(f'  <mesh name="mesh{shape}" vertex="{_text(points)}"/>')
        add(" </asset>")
        add(" <worldbody>")
        if self.robot.has_ground:
            add(
                f'  <geom name="floor" type="plane" size="0 0 1" condim="3" friction="{FRICTION} 0.005 0.0001" '
                'contype="1" conaffinity="0"/>'
            )
        roots = [b for b in range(template.bodies.count) if not self.above.get(b)]
        roots += [b for b, over in self.above.items() if joints.body0[over[0]] < 0]
        for root in roots:
            self.body(root, "  ")
        add(" </worldbody>")
        if self.collides:
            add(" <contact>")
            for first, second in self.excluded():
                add(f'  <exclude body1="body{first}" body2="body{second}"/>')
            add(" </contact>")
        add(" <equality>")
        mimic = template.mimic_joints
        for k in range(mimic.count):
            follower, leader = axes.names[mimic.axis[k]], axes.names[mimic.reference[k]]
            coefficients = _text([-mimic.offset[k], -mimic.gearing[k], 0, 0, 0])
            add(f'  <joint joint1="{follower}" joint2="{leader}" polycoef="{coefficients}"/>')
        add(" </equality>")
        add(" <actuator>")
        for row in np.flatnonzero(axes.drive_type != int(DriveType.NONE)):
            bound = float(axes.max_force[row])
            add(
                f'  <position name="{axes.names[row]}" joint="{axes.names[row]}" kp="{axes.stiffness[row]:.9g}" '
                f'kv="{axes.damping[row]:.9g}" forcerange="{-bound:.9g} {bound:.9g}"/>'
            )
        add(" </actuator>")
        add("</mujoco>")
        return "\n".join(self.lines) + "\n"

    def excluded(self) -> list[tuple[int, int]]:
        """Pairs of bodies of which the scene filters all shapes, or that a joint keeps from colliding."""
        template = self.template
        body = template.shapes.body
        filtered = {tuple(sorted(pair)) for pair in np.asarray(template.filtered_pairs).tolist()}
        joints = template.joints
        joined = {
            tuple(sorted((int(joints.body0[j]), int(joints.body1[j]))))
            for j in range(joints.count)
            if joints.enabled[j] and not joints.collision_enabled[j]
        }
        pairs = {(a, b) for a in range(template.bodies.count) for b in range(a)}
        result = []
        for a, b in sorted(pairs):
            both = [
                tuple(sorted((i, j))) for i in np.flatnonzero(body == a) for j in np.flatnonzero(body == b)
            ]
            if (b, a) in joined or (both and all(pair in filtered for pair in both)):
                result.append((b, a))
        return result


def write(name: str, folder: Path, **options: Any) -> None:
    """Write ``NAME.pickle``, ``NAME.xml`` and ``NAME.json``: all that a process of any engine reads.

    Args:
        name: Robot.
        folder: Where to.
        options: Of `load`.
    """
    scene = load(name, **options)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.pickle").write_bytes(pickle.dumps(scene))
    (folder / f"{name}.xml").write_text(_Writer(scene, ROBOTS[name]).write(name), "utf-8")
    (folder / f"{name}.json").write_text(json.dumps(description(name, scene)), "utf-8")
