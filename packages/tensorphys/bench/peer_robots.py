"""The robots of the comparison as scenes: where they come from, how they are driven, what is edited.

Contacts have sliding friction alone; passive springs and dampers of joints are left out in favour of drives.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tensorphys_scene import (
    DriveType,
    Materials,
    MimicJoints,
    Scene,
    Shapes,
    ShapeType,
    Template,
)

ROOT = Path(__file__).resolve().parents[3]
MODELS = ROOT / "integration_tests" / "data" / "robot_models"
FRICTION = 1.0
Array = npt.NDArray[Any]

# Masses, lengths and axes are those of cartpole_single_pendulum.usda of the newton package; inertias are of its boxes.
CARTPOLE = """#usda 1.0
(
    metersPerUnit = 1
    upAxis = "Z"
)
def PhysicsScene "scene"
{
}
def Xform "cartpole" (prepend apiSchemas = ["PhysicsArticulationRootAPI"])
{
    def Xform "rail" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 1
        float3 physics:diagonalInertia = (1, 1, 1)
    }
    def Xform "cart" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        float physics:mass = 1
        float3 physics:diagonalInertia = (0.0085417, 0.0066667, 0.0085417)
    }
    def Xform "pole" (prepend apiSchemas = ["PhysicsRigidBodyAPI", "PhysicsMassAPI"])
    {
        double3 xformOp:translate = (0.12, 0, 0)
        uniform token[] xformOpOrder = ["xformOp:translate"]
        float physics:mass = 1
        point3f physics:centerOfMass = (0, 0, 0.47)
        float3 physics:diagonalInertia = (0.0836333, 0.0834667, 0.0004333)
    }
    def PhysicsFixedJoint "base"
    {
        rel physics:body1 = </cartpole/rail>
    }
    def PhysicsPrismaticJoint "slider"
    {
        uniform token physics:axis = "Y"
        rel physics:body0 = </cartpole/rail>
        rel physics:body1 = </cartpole/cart>
        float physics:lowerLimit = -4
        float physics:upperLimit = 4
    }
    def PhysicsRevoluteJoint "hinge"
    {
        uniform token physics:axis = "X"
        rel physics:body0 = </cartpole/cart>
        rel physics:body1 = </cartpole/pole>
        point3f physics:localPos0 = (0.12, 0, 0)
    }
}
"""


@dataclass(frozen=True)
class Robot:
    """Where a robot comes from and how it is driven.

    Attributes:
        stage: File, None for the text above.
        removed: Prims that are switched off: planes that the model brings.
        free_base: Patterns of roots whose joint to the world is taken out.
        height: Height added to all bodies [m].
        stiffness, damping: Gains of all drives [N m/rad, N m s/rad, or N/m, N s/m].
        effort: Bound of a drive's effort; None for that of the source.
        amplitude: Largest distance of a target from the start [rad or m].
        limits: Limits in place of those of the source, which has none for the quadruped [rad].
        armature: Least armature [kg m²].
        has_ground, self_contacts: Whether there is a plane, and whether links collide with each other.
        passive: Names of joints without a drive.
        contacts, rows: Room of MuJoCo Warp for contacts and constraint rows of a world.
    """

    stage: Path | None
    removed: tuple[str, ...] = ()
    free_base: tuple[str, ...] = ()
    height: float = 0.0
    stiffness: float = 0.0
    damping: float = 0.0
    effort: float | None = None
    amplitude: float = 0.3
    limits: tuple[float, float] | None = None
    armature: float = 0.01
    has_ground: bool = True
    self_contacts: bool = False
    passive: tuple[str, ...] = ()
    contacts: int = 64
    rows: int = 256


ROBOTS = {
    "cartpole": Robot(
        None, stiffness=50, damping=10, effort=100.0, amplitude=1.0, armature=0.1, has_ground=False,
        passive=("hinge",), contacts=1, rows=8,
    ),
    "ant": Robot(
        MODELS / "nv_ant.usdc", ("/ant/Geometry/floor",), stiffness=3, damping=0.2, amplitude=0.4,
        contacts=32, rows=144,
    ),
    "quadruped": Robot(
        MODELS / "quadruped.usdc", free_base=("*",), height=0.62, stiffness=80, damping=2, limits=(-2.0, 2.0),
        contacts=64, rows=288,
    ),
    "humanoid": Robot(
        MODELS / "nv_humanoid.usdc", ("/humanoid/Geometry/floor",), height=1.33, stiffness=100, damping=5,
        contacts=48, rows=216,
    ),
    "panda": Robot(
        ROOT / "examples" / "panda" / "panda.usdc", stiffness=400, damping=40, amplitude=0.5, has_ground=False,
        self_contacts=True, contacts=48, rows=216,
    ),
}  # fmt: skip


def load(name: str, *, self_contacts: bool | None = None, mimic: bool = True) -> Scene:
    """The scene of one robot, edited as its entry says.

    Args:
        name: Key of `ROBOTS`.
        self_contacts: In place of the robot's own.
        mimic: Whether joints that follow others do so; without it they are driven by themselves.
    """
    from pxr import Usd

    import tensorphys_usd

    robot = ROBOTS[name]
    if robot.stage is None:
        stage = Usd.Stage.CreateInMemory()
        stage.GetRootLayer().ImportFromString(CARTPOLE)
    else:
        stage = Usd.Stage.Open(str(robot.stage))
        stage.SetEditTarget(stage.GetSessionLayer())
    for prim in robot.removed:
        stage.GetPrimAtPath(prim).SetActive(False)
    scene = tensorphys_usd.parse_stage(stage, free_base=robot.free_base)
    template = scene.templates[0]
    bodies, shapes, axes = template.bodies, template.shapes, template.axes
    pose = bodies.pose.copy()
    pose[:, 2] += robot.height
    count = len(axes.joint)
    driven = np.array([axis not in robot.passive for axis in axes.names])
    followers = template.mimic_joints.axis if mimic else np.zeros(0, np.int32)
    driven[followers] = False
    lower, upper = (axes.lower, axes.upper) if robot.limits is None else np.full((2, count), np.inf)
    if robot.limits is not None:
        lower, upper = (np.full(count, value) for value in robot.limits)
    effort = axes.effort_limit if robot.effort is None else np.full(count, robot.effort)
    kinds = int(DriveType.FORCE) * driven
    axes = axes.replace(
        lower=lower, upper=upper, armature=np.maximum(axes.armature, robot.armature),
        max_velocity=np.full(count, np.inf), passive_damping=np.zeros(count), passive_stiffness=np.zeros(count),
        drive_type=kinds, stiffness=robot.stiffness * driven, damping=robot.damping * driven,
        max_force=np.where(np.isfinite(effort), effort, 1e4),
    )  # fmt: skip
    collides = robot.self_contacts if self_contacts is None else self_contacts
    articulations = template.articulations.replace(self_collisions=[collides] * template.articulations.count)
    edited = template.replace(
        prims=(), bodies=bodies.replace(pose=pose), axes=axes, articulations=articulations,
        shapes=shapes.replace(material=np.zeros(shapes.count, np.int32),
            rest_offset=np.zeros(shapes.count), contact_offset=np.full(shapes.count, np.nan)),
        materials=Materials(path=("/material",), static_friction=[FRICTION], dynamic_friction=[FRICTION]),
        mimic_joints=template.mimic_joints if mimic else MimicJoints(),
    )  # fmt: skip
    return scene.replace(
        templates=(edited,), shared=ground() if robot.has_ground else Template(), findings=()
    )


def ground() -> Template:
    """One plane that belongs to all environments."""
    shapes = Shapes(path=("/ground",), body=[-1], type=[int(ShapeType.PLANE)], material=[0])
    friction = Materials(path=("/material",), static_friction=[FRICTION], dynamic_friction=[FRICTION])
    return Template(shapes=shapes, materials=friction)
