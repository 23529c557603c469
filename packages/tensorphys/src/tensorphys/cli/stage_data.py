"""What a scene holds, as plain data that JSON can carry."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tensorphys_scene import AxisType, CombineMode, DriveType, JointType, Scene, ShapeType, Template

Data = dict[str, Any]


def kind_name(code: Any, kinds: Any) -> str:
    """Name of a code in words."""
    return str(kinds(int(code)).name).lower().replace("_", " ")


def _number(value: Any) -> float | None:
    """A number, None where it is not finite."""
    number = float(value)
    return number if math.isfinite(number) else None


def _numbers(values: Any) -> list[float | None]:
    return [_number(value) for value in np.asarray(values).ravel()]


def _name(table: Any, row: int) -> str | None:
    return table.path[row] if row >= 0 else None


def scene_data(scene: Scene, findings: tuple[tuple[str, str], ...]) -> Data:
    """Everything that ``tensorphys inspect --json`` prints.

    Args:
        scene: The scene.
        findings: Remarks about its prims, those of the simulation included.
    """
    settings, environments = scene.settings, scene.environments
    corrected = set(scene.corrected)
    return {
        "settings": {
            "scene": settings.path,
            "gravity": list(settings.gravity),
            "meters_per_unit": settings.meters_per_unit,
            "kilograms_per_unit": settings.kilograms_per_unit,
            "up_axis": settings.up_axis,
            "steps_per_second": settings.steps_per_second,
            "bounce_threshold": _number(settings.bounce_threshold),
        },
        "environments": [
            {"path": path or "/", "template": int(template), "origin": origin.tolist()}
            for path, template, origin in zip(
                environments.path, environments.template, environments.origin, strict=True
            )
        ],
        "templates": [template_data(template) for template in scene.templates],
        "shared_shapes": _shapes(scene.shared),
        "findings": [
            {"path": path, "text": text, "kind": "corrected" if (path, text) in corrected else "ignored"}
            for path, text in findings
        ],
        "read": [{"path": path, "properties": list(names)} for path, names in scene.read],
    }


def template_data(template: Template) -> Data:
    """Tables of one template; paths are relative to its environments."""
    return {
        "bodies": _bodies(template),
        "articulations": [_articulation(template, row) for row in range(template.articulations.count)],
        "loose_joints": _loose_joints(template),
        "shapes": _shapes(template),
        "materials": _materials(template),
    }


def _bodies(template: Template) -> list[Data]:
    bodies, links = template.bodies, template.links
    linked = set(links.body.tolist())

    def role(row: int) -> str:
        if not bodies.enabled[row]:
            return "static"
        if row in linked:
            return "link"
        return "kinematic" if bodies.kinematic[row] else "free"

    return [
        {
            "path": path,
            "role": role(row),
            "mass": _number(bodies.mass[row]),
            "center_of_mass": _numbers(bodies.com[row]),
            "pose": _numbers(bodies.pose[row]),
        }
        for row, path in enumerate(bodies.path)
    ]


def _articulation(template: Template, row: int) -> Data:
    links, bodies = template.links, template.bodies
    own = np.flatnonzero(links.articulation == row)
    rows = [
        joint
        for link in own
        if links.joint[link] >= 0
        for joint in range(int(links.joint[link]), int(links.joint[link] + links.joint_count[link]))
    ]
    return {
        "path": template.articulations.path[row],
        "fixed_base": bool(template.articulations.fixed_base[row]),
        "self_collisions": bool(template.articulations.self_collisions[row]),
        "links": [bodies.path[body] for body in links.body[own]],
        "joints": [_joint(template, joint) for joint in rows],
        "dofs": [dof for joint in rows for dof in _dofs(template, joint)],
    }


def _joint(template: Template, row: int) -> Data:
    joints, bodies = template.joints, template.bodies
    return {
        "path": joints.path[row],
        "type": kind_name(joints.type[row], JointType),
        "body0": _name(bodies, int(joints.body0[row])),
        "body1": _name(bodies, int(joints.body1[row])),
    }


def _dofs(template: Template, joint: int) -> list[Data]:
    axes = template.axes
    return [
        {
            "name": axes.names[row],
            "joint": template.joints.path[joint],
            "motion": "rotation" if axes.axis[row] >= AxisType.ROT_X else "translation",
            "axis": kind_name(axes.axis[row], AxisType)[-1],
            "lower": _number(axes.lower[row]),
            "upper": _number(axes.upper[row]),
            "drive": kind_name(axes.drive_type[row], DriveType),
            "stiffness": float(axes.stiffness[row]),
            "damping": float(axes.damping[row]),
            "max_force": _number(axes.max_force[row]),
            "armature": float(axes.armature[row]),
        }
        for row in np.flatnonzero(axes.joint == joint)
    ]


def _loose_joints(template: Template) -> list[Data]:
    """Joints outside of the trees of articulations."""
    links = template.links
    tree = {
        joint
        for first, count in zip(links.joint.tolist(), links.joint_count.tolist(), strict=True)
        if first >= 0
        for joint in range(first, first + count)
    }
    rows = [row for row in range(template.joints.count) if row not in tree and template.joints.enabled[row]]
    return [_joint(template, row) for row in rows]


def _shapes(template: Template) -> list[Data]:
    shapes = template.shapes
    return [
        {
            "path": path,
            "type": kind_name(shapes.type[row], ShapeType),
            "size": _numbers(shapes.size[row]),
            "body": _name(template.bodies, int(shapes.body[row])),
            "material": _name(template.materials, int(shapes.material[row])),
            "collides": bool(shapes.enabled[row]),
        }
        for row, path in enumerate(shapes.path)
    ]


def _materials(template: Template) -> list[Data]:
    materials = template.materials
    return [
        {
            "path": path,
            "static_friction": float(materials.static_friction[row]),
            "dynamic_friction": float(materials.dynamic_friction[row]),
            "restitution": float(materials.restitution[row]),
            "density": _number(materials.density[row]),
            "friction_combine": kind_name(materials.friction_combine[row], CombineMode),
        }
        for row, path in enumerate(materials.path)
    ]
