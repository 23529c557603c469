"""Small stages: boxes, arms with revolute joints, breakable joints and a cloth, Z up, metres and kilograms."""

from __future__ import annotations

from collections.abc import Sequence

from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

__all__ = ["add_arm", "add_box", "add_box_mesh", "add_cloth", "empty_stage", "fix_to_world", "room_stage"]

_ARM_LENGTH = 0.4


def empty_stage() -> Usd.Stage:
    """A stage with a physics scene and nothing else."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.Xform.Define(stage, "/World")
    UsdPhysics.Scene.Define(stage, "/World/physicsScene")
    return stage


def add_box(
    stage: Usd.Stage,
    path: str,
    position: Sequence[float],
    *,
    half: Sequence[float] = (0.1, 0.1, 0.1),
    mass: float = 1.0,
    moves: bool = True,
) -> Usd.Prim:
    """Add a box by a scaled cube.

    Args:
        stage: The stage.
        path: Prim of the body; its collider is ``collision`` below.
        position: Centre [m].
        half: Half extents [m].
        mass: [kg].
        moves: Whether it is a rigid body; otherwise it is static.
    """
    body = UsdGeom.Xform.Define(stage, path)
    UsdGeom.XformCommonAPI(body).SetTranslate(Gf.Vec3d(*position))
    cube = UsdGeom.Cube.Define(stage, f"{path}/collision")
    cube.CreateSizeAttr(2.0)
    UsdGeom.XformCommonAPI(cube).SetScale(Gf.Vec3f(*half))
    UsdPhysics.CollisionAPI.Apply(cube.GetPrim())
    if moves:
        UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
        UsdPhysics.MassAPI.Apply(body.GetPrim()).CreateMassAttr(mass)
    return body.GetPrim()


def add_box_mesh(
    stage: Usd.Stage, path: str, position: Sequence[float], half: float, *, collides: bool = True
) -> str:
    """Add a box as a mesh of triangles, which never moves.

    Args:
        stage: The stage.
        path: Its prim.
        position: Centre [m].
        half: Half of its edge [m].
        collides: Whether it is a collider, by its triangles.

    Returns:
        The path.
    """
    mesh = UsdGeom.Mesh.Define(stage, path)
    UsdGeom.XformCommonAPI(mesh).SetTranslate(Gf.Vec3d(*position))
    mesh.CreatePointsAttr([half * Gf.Vec3f(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    mesh.CreateFaceVertexCountsAttr([4] * 6)
    faces = [0, 1, 3, 2, 4, 6, 7, 5, 0, 4, 5, 1, 2, 3, 7, 6, 0, 2, 6, 4, 1, 5, 7, 3]
    mesh.CreateFaceVertexIndicesAttr(faces)
    if collides:
        UsdPhysics.CollisionAPI.Apply(mesh.GetPrim())
        UsdPhysics.MeshCollisionAPI.Apply(mesh.GetPrim()).CreateApproximationAttr("none")
    return path


def add_arm(stage: Usd.Stage, path: str, position: Sequence[float], joints: int) -> Usd.Prim:
    """Add a fixed arm of thin rods that hang below each other, turned by revolute joints about Y with drives.

    Args:
        stage: The stage.
        path: Prim with the articulation root; its links are ``link_0`` (the base), ``link_1``, ... below.
        position: Place of the base [m].
        joints: Revolute joints.
    """
    root = UsdGeom.Xform.Define(stage, path)
    UsdGeom.XformCommonAPI(root).SetTranslate(Gf.Vec3d(*position))
    UsdPhysics.ArticulationRootAPI.Apply(root.GetPrim())
    for link in range(joints + 1):
        prim = add_box(
            stage,
            f"{path}/link_{link}",
            (0.0, 0.0, -_ARM_LENGTH * link),
            half=(0.03, 0.03, 0.15),
            mass=1.0 / (1 + link),
        )
        if link == 0:
            base = UsdPhysics.FixedJoint.Define(stage, f"{path}/link_0/base_joint")
            base.CreateBody1Rel().SetTargets([prim.GetPath()])
            base.CreateLocalPos0Attr(Gf.Vec3f(*position))
            continue
        joint = UsdPhysics.RevoluteJoint.Define(stage, f"{path}/link_{link - 1}/joint_{link}")
        joint.CreateAxisAttr("Y")
        joint.CreateBody0Rel().SetTargets([Sdf.Path(f"{path}/link_{link - 1}")])
        joint.CreateBody1Rel().SetTargets([prim.GetPath()])
        joint.CreateLocalPos0Attr(Gf.Vec3f(0.0, 0.0, -_ARM_LENGTH / 2))
        joint.CreateLocalPos1Attr(Gf.Vec3f(0.0, 0.0, _ARM_LENGTH / 2))
        joint.CreateLowerLimitAttr(-90.0)
        joint.CreateUpperLimitAttr(90.0)
        drive = UsdPhysics.DriveAPI.Apply(joint.GetPrim(), "angular")
        drive.CreateStiffnessAttr(1.0)
        drive.CreateDampingAttr(0.1)
        drive.CreateMaxForceAttr(100.0)
    return root.GetPrim()


def fix_to_world(
    stage: Usd.Stage, path: str, body: Usd.Prim, position: Sequence[float], force: float
) -> Usd.Prim:
    """Fix a free body to the world by a joint that breaks.

    Args:
        stage: The stage.
        path: Prim of the joint.
        body: The body.
        position: Place of the joint in the world, and the body's centre [m].
        force: Force beyond which it breaks [N].
    """
    joint = UsdPhysics.FixedJoint.Define(stage, path)
    joint.CreateBody1Rel().SetTargets([body.GetPath()])
    joint.CreateLocalPos0Attr(Gf.Vec3f(*position))
    joint.CreateBreakForceAttr(force)
    joint.CreateExcludeFromArticulationAttr(True)
    return joint.GetPrim()


def add_cloth(stage: Usd.Stage, path: str, position: Sequence[float], cells: int = 4) -> Usd.Prim:
    """Add a square cloth of 0.1 m cells with springs made from its mesh, and a particle system for it.

    Args:
        stage: The stage.
        path: Prim of the mesh.
        position: Place of its first corner [m].
        cells: Cells along each side.
    """
    system = stage.DefinePrim(f"{path}_system", "PhysxParticleSystem")
    for name, value in (("particleContactOffset", 0.02), ("solidRestOffset", 0.01), ("restOffset", 0.01)):
        system.CreateAttribute(name, Sdf.ValueTypeNames.Float, False).Set(value)
    side = cells + 1
    mesh = UsdGeom.Mesh.Define(stage, path)
    points = [Gf.Vec3f(0.1 * i, 0.1 * j, 0.0) for j in range(side) for i in range(side)]
    mesh.CreatePointsAttr(points)
    corners: list[int] = []
    for j in range(cells):
        for i in range(cells):
            a = j * side + i
            corners += [a, a + 1, a + side + 1, a, a + side + 1, a + side]
    mesh.CreateFaceVertexIndicesAttr(corners)
    mesh.CreateFaceVertexCountsAttr([3] * (len(corners) // 3))
    UsdGeom.XformCommonAPI(mesh).SetTranslate(Gf.Vec3d(*position))
    prim = mesh.GetPrim()
    for schema in ("PhysxParticleClothAPI", "PhysxAutoParticleClothAPI"):
        prim.AddAppliedSchema(schema)
    prim.CreateRelationship("physxParticle:particleSystem", False).SetTargets([system.GetPath()])
    for name, number in (("springStretchStiffness", 100.0), ("springShearStiffness", 50.0)):
        prim.CreateAttribute(f"physxAutoParticleCloth:{name}", Sdf.ValueTypeNames.Float, False).Set(number)
    prim.CreateAttribute("physxAutoParticleCloth:springBendStiffness", Sdf.ValueTypeNames.Float, False).Set(
        10.0
    )
    prim.CreateAttribute("physxAutoParticleCloth:springDamping", Sdf.ValueTypeNames.Float, False).Set(0.2)
    material = UsdShade.Material.Define(stage, f"{path}_material")
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(material)
    return prim


def room_stage() -> Usd.Stage:
    """Two boxes (one above the other's side), a static wall, and two arms of one and two joints, without ground."""
    stage = empty_stage()
    add_box(stage, "/World/scene_0/box/base_link", (0.0, 0.0, 1.0))
    add_box(stage, "/World/scene_0/crate/base_link", (1.0, 0.0, 0.1), mass=2.0)
    add_box(stage, "/World/scene_0/wall/base_link", (3.0, 0.0, 0.5), half=(0.1, 1.0, 0.5), moves=False)
    add_arm(stage, "/World/scene_0/short_arm", (0.0, 2.0, 2.0), 1)
    add_arm(stage, "/World/scene_0/long_arm", (1.0, 2.0, 2.0), 2)
    return stage
