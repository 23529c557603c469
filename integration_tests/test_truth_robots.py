"""Robots that others made, ten seconds on a ground plane: penetration, speed, energy.

Penetration is measured on the geometry of the stage and its hulls, not on the contacts of the simulation.
"""

import dataclasses
import pathlib
import warnings

import numpy as np
import pytest

from tensorphys_contact import cook_hull

DT = 1.0 / 240.0
PANDA = pathlib.Path(__file__).resolve().parents[1] / "examples" / "panda" / "panda.usdc"


@dataclasses.dataclass(frozen=True)
class Robot:
    """How a robot stands at the start.

    Attributes:
        dofs: Degrees of freedom, counted in the model.
        fixed: Whether its base stays welded to the world.
        lift: Height of its lowest point above the ground at the start [m]; None leaves it where it is authored.
    """

    dofs: int
    fixed: bool = False
    lift: float | None = None


ROBOTS = {
    "panda": Robot(9, fixed=True),
    # Starts half a metre up, with its ankles 30° outside of their limits.
    "nv_ant": Robot(8),
    "mjwarp_humanoid": Robot(21),
    # These two are authored with the ground through their bodies, welded to the world.
    "quadruped": Robot(12, lift=0.05),
    "g1": Robot(29, lift=0.05),
}


def place(author, data, name):
    """A stage with the robot, its base freed, on the ground plane of the stage instead of its own."""
    from pxr import UsdGeom, UsdPhysics

    stage = author()
    file = PANDA if name == "panda" else data / "robot_models" / f"{name}.usdc"
    stage.stage.DefinePrim("/robot").GetReferences().AddReference(str(file))
    for prim in list(stage.stage.Traverse()):
        # The ant's floor is an upright wall through its centre.
        own_floor = prim.IsA(UsdGeom.Plane)
        weld = prim.IsA(UsdPhysics.FixedJoint) and prim.GetName() == "root_joint"
        if own_floor or (weld and not ROBOTS[name].fixed):
            prim.SetActive(False)
    stage.ground()
    return stage


def matrices(quaternions):
    """Rotation matrices of quaternions xyzw, shape [..., 3, 3]."""
    x, y, z, w = np.moveaxis(quaternions, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def outline(prim):
    """Points of a collider in its own frame, and the radius of balls around them."""
    from pxr import UsdGeom

    if prim.IsA(UsdGeom.Sphere):
        return np.zeros((1, 3)), UsdGeom.Sphere(prim).GetRadiusAttr().Get()
    if prim.IsA(UsdGeom.Cube):
        half = UsdGeom.Cube(prim).GetSizeAttr().Get() / 2
        return half * (2.0 * np.indices((2, 2, 2)).reshape(3, -1).T - 1.0), 0.0
    if prim.IsA(UsdGeom.Mesh):
        return np.array(UsdGeom.Mesh(prim).GetPointsAttr().Get(), float), 0.0
    shape = UsdGeom.Capsule(prim) if prim.IsA(UsdGeom.Capsule) else UsdGeom.Cylinder(prim)
    axis = np.eye(3)["XYZ".index(shape.GetAxisAttr().Get())]
    ends = shape.GetHeightAttr().Get() / 2 * np.array([axis, -axis])
    radius = shape.GetRadiusAttr().Get()
    if prim.IsA(UsdGeom.Capsule):
        return ends, radius
    angle = np.linspace(0.0, 2.0 * np.pi, 90, endpoint=False)[:, None]
    first, second = np.roll(axis, 1), np.roll(axis, 2)
    rim = radius * (np.cos(angle) * first + np.sin(angle) * second)
    return (ends[:, None] + rim).reshape(-1, 3), 0.0


class Body:
    """The articulation of a stage, measured from outside."""

    def __init__(self, stage, view, host):
        from pxr import Usd, UsdGeom, UsdPhysics

        usd = stage.stage
        (root,) = (p for p in usd.Traverse() if p.HasAPI(UsdPhysics.ArticulationRootAPI))
        self.articulation = view.create_articulation_view(str(root.GetPath()))
        self._host = host
        self._mass = host(self.articulation.get_masses())[0]
        self._com = host(self.articulation.get_coms())[0, :, :3]
        self._inertia = host(self.articulation.get_inertias())[0].reshape(-1, 3, 3)
        self._colliders = []
        cache = UsdGeom.XformCache()
        for link, path in enumerate(self.articulation.link_paths[0]):
            prim = usd.GetPrimAtPath(path)
            inverse = cache.GetLocalToWorldTransform(prim).RemoveScaleShear().GetInverse()
            found = iter(Usd.PrimRange(prim, Usd.TraverseInstanceProxies()))
            for part in found:
                if part != prim and part.HasAPI(UsdPhysics.RigidBodyAPI):
                    found.PruneChildren()
                elif part.HasAPI(UsdPhysics.CollisionAPI):
                    points, radius = outline(part)
                    matrix = np.array(cache.GetLocalToWorldTransform(part) * inverse)
                    points = points @ matrix[:3, :3] + matrix[3, :3]
                    collides = (
                        cook_hull(points, vertex_limit=64).vertices if part.IsA(UsdGeom.Mesh) else points
                    )
                    self._colliders.append((link, points, collides, radius))
        assert self._colliders

    def lowest(self, moving_only=False, as_hulls=False):
        """Height of the lowest point of all colliders [m]; of moving links only, and of the hulls of up to 64 corners that
        collide in place of meshes, where asked."""
        pose = self._host(self.articulation.get_link_transforms())[0]
        rotation = matrices(pose[:, 3:])
        return min(
            ((collides if as_hulls else points) @ rotation[link].T + pose[link, :3])[:, 2].min() - radius
            for link, points, collides, radius in self._colliders
            if link > 0 or not moving_only
        )

    def energy_and_speed(self):
        """Kinetic plus potential energy over the ground [J], and the fastest centre of mass [m/s]."""
        pose = self._host(self.articulation.get_link_transforms())[0]
        velocity = self._host(self.articulation.get_link_velocities())[0]
        rotation = matrices(pose[:, 3:])
        height = pose[:, 2] + (rotation[:, 2] * self._com).sum(axis=1)
        spin = np.einsum("nji,nj->ni", rotation, velocity[:, 3:])
        kinetic = 0.5 * (self._mass * (velocity[:, :3] ** 2).sum(axis=1)).sum()
        kinetic += 0.5 * np.einsum("ni,nij,nj->", spin, self._inertia, spin)
        speed = np.linalg.norm(velocity[:, :3], axis=1).max()
        return kinetic + 9.81 * (self._mass * height).sum(), speed


@pytest.mark.parametrize("name", list(ROBOTS))
def test_robot_comes_to_rest_on_the_ground(author, data, host, measure, device, name):
    robot = ROBOTS[name]
    stage = place(author, data, name)
    with warnings.catch_warnings():
        # Shapes whose pairs have no contacts yet, by prim: what is left out is the business of other tests.
        warnings.filterwarnings("ignore", message="shapes of which some pairs have no contacts")
        view = stage.view(device)
    body = Body(stage, view, host)
    articulation = body.articulation
    assert articulation.max_dofs == robot.dofs
    if robot.lift is not None:
        pose = np.array(host(articulation.get_root_transforms()), np.float32)
        pose[:, 2] += robot.lift - body.lowest()
        articulation.set_root_transforms(as_input(view, pose), None)
    start = most = body.energy_and_speed()[0]
    for _ in range(2400):
        view.step(DT)
        energy, speed = body.energy_and_speed()
        most = max(most, energy)
    depth = -body.lowest(moving_only=robot.fixed, as_hulls=True)
    measure(f"{name}: penetration after 10 s", depth, 5e-4, "m")
    # what a hull of 64 corners leaves out of its mesh may lie below
    measure(f"{name}: authored points below the ground", -body.lowest(moving_only=robot.fixed), 5e-3, "m")
    measure(f"{name}: fastest link after 10 s", speed, 5.0, "m/s")
    measure(f"{name}: energy above its start, relative", most / start - 1, 0.01)
    assert start > 0.0


def as_input(view, values):
    """An array that the frontend of the view takes."""
    if "cuda" not in str(view.device):
        return values
    import warp as wp

    return wp.array(values, device=str(view.device))
