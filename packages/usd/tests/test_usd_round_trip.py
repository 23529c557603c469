"""A scene written to a stage and read again is the same scene."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from tensorphys_scene import AxisType, DriveType, JointType, Scene, ShapeType, Table, Template
from tensorphys_usd import parse_stage

_DEGREE = 180.0 / np.pi
_INF = float("inf")
_COMBINE = ("average", "min", "multiply", "max")


class Author:
    """Writes a template of one world, prim by prim in its own order."""

    def __init__(self, scene: Scene) -> None:
        (self.template,) = scene.templates
        self.stage = Usd.Stage.CreateInMemory()
        UsdGeom.SetStageMetersPerUnit(self.stage, scene.settings.meters_per_unit)
        UsdGeom.SetStageUpAxis(self.stage, scene.settings.up_axis)
        rows: dict[str, tuple[str, int]] = {}
        for name in ("materials", "bodies", "shapes", "joints"):
            table: Table = getattr(self.template, name)
            rows.update({path: (name, row) for row, path in enumerate(table.path)})
        for path in self.template.prims[1:]:
            if path == scene.settings.path:
                gravity = np.array(scene.settings.gravity)
                magnitude = float(np.linalg.norm(gravity))
                made = UsdPhysics.Scene.Define(self.stage, path)
                made.CreateGravityMagnitudeAttr(magnitude)
                made.CreateGravityDirectionAttr(Gf.Vec3f(*(gravity / max(magnitude, 1e-9)).tolist()))
            elif path in rows:
                name, row = rows[path]
                getattr(self, name)(path, row)
            else:
                self.stage.DefinePrim(path, "Xform")
        for row, path in enumerate(self.template.articulations.path):
            prim = self.stage.GetPrimAtPath(path)
            UsdPhysics.ArticulationRootAPI.Apply(prim)
            flag = bool(self.template.articulations.self_collisions[row])
            self._set(prim, "physxArticulation:enabledSelfCollisions", Sdf.ValueTypeNames.Bool, flag)

    def _set(self, prim: Usd.Prim, name: str, kind: Any, value: Any) -> None:
        prim.CreateAttribute(name, kind).Set(value)

    def _number(self, prim: Usd.Prim, name: str, value: float) -> None:
        self._set(prim, name, Sdf.ValueTypeNames.Float, float(value))

    def _place(self, prim: Usd.Prim, pose: Any, scale: Any = (1.0, 1.0, 1.0)) -> None:
        xform = UsdGeom.Xformable(prim)
        xform.AddTranslateOp().Set(Gf.Vec3d(*pose[:3].tolist()))
        xform.AddOrientOp(UsdGeom.XformOp.PrecisionDouble).Set(
            Gf.Quatd(float(pose[6]), *(float(x) for x in pose[3:6]))
        )
        xform.AddScaleOp(UsdGeom.XformOp.PrecisionDouble).Set(Gf.Vec3d(*(float(x) for x in scale)))

    def bodies(self, path: str, row: int) -> None:
        table = self.template.bodies
        prim = self.stage.DefinePrim(path, "Xform")
        self._place(prim, table.pose[row])
        body = UsdPhysics.RigidBodyAPI.Apply(prim)
        body.CreateVelocityAttr(Gf.Vec3f(*table.linear_velocity[row].tolist()))
        body.CreateAngularVelocityAttr(Gf.Vec3f(*(table.angular_velocity[row] * _DEGREE).tolist()))
        body.CreateKinematicEnabledAttr(bool(table.kinematic[row]))
        body.CreateStartsAsleepAttr(bool(table.starts_asleep[row]))
        mass = UsdPhysics.MassAPI.Apply(prim)
        mass.CreateMassAttr(float(table.mass[row]))
        mass.CreateCenterOfMassAttr(Gf.Vec3f(*table.com[row].tolist()))
        x, y, z, w = (float(value) for value in table.principal_rotation[row])
        turn = np.array(Gf.Matrix3d(Gf.Rotation(Gf.Quatd(w, x, y, z)))).T
        mass.CreateDiagonalInertiaAttr(Gf.Vec3f(*np.diag(turn.T @ table.inertia[row] @ turn).tolist()))
        mass.CreatePrincipalAxesAttr(Gf.Quatf(w, x, y, z))
        self._set(
            prim,
            "physxRigidBody:disableGravity",
            Sdf.ValueTypeNames.Bool,
            bool(table.disable_gravity[row]),
        )
        self._number(prim, "physxRigidBody:linearDamping", table.linear_damping[row])

    def shapes(self, path: str, row: int) -> None:
        table = self.template.shapes
        kind, size = ShapeType(int(table.type[row])), table.size[row]
        names = {
            ShapeType.SPHERE: "Sphere",
            ShapeType.BOX: "Cube",
            ShapeType.CAPSULE: "Capsule",
            ShapeType.CYLINDER: "Cylinder",
            ShapeType.CONE: "Cone",
            ShapeType.PLANE: "Plane",
        }
        prim = self.stage.DefinePrim(path, names[kind])
        self._place(prim, table.pose[row], size if kind is ShapeType.BOX else (1.0, 1.0, 1.0))
        if kind is ShapeType.BOX:
            prim.GetAttribute("size").Set(2.0)
        elif kind is ShapeType.PLANE:
            prim.GetAttribute("axis").Set("Z")
        else:
            prim.GetAttribute("radius").Set(float(size[0]))
            if kind is not ShapeType.SPHERE:
                prim.GetAttribute("height").Set(2.0 * float(size[1]))
                prim.GetAttribute("axis").Set("Z")
        UsdPhysics.CollisionAPI.Apply(prim).CreateCollisionEnabledAttr(bool(table.enabled[row]))
        if np.isfinite(table.contact_offset[row]):
            self._number(prim, "physxCollision:contactOffset", table.contact_offset[row])
        self._number(prim, "physxCollision:restOffset", table.rest_offset[row])
        if table.material[row] >= 0:
            material = UsdShade.Material.Get(self.stage, self.template.materials.path[table.material[row]])
            UsdShade.MaterialBindingAPI.Apply(prim).Bind(material, materialPurpose="physics")

    def materials(self, path: str, row: int) -> None:
        table = self.template.materials
        prim = UsdShade.Material.Define(self.stage, path).GetPrim()
        material = UsdPhysics.MaterialAPI.Apply(prim)
        material.CreateStaticFrictionAttr(float(table.static_friction[row]))
        material.CreateDynamicFrictionAttr(float(table.dynamic_friction[row]))
        material.CreateRestitutionAttr(float(table.restitution[row]))
        self._set(
            prim,
            "physxMaterial:frictionCombineMode",
            Sdf.ValueTypeNames.Token,
            _COMBINE[int(table.friction_combine[row])],
        )

    def joints(self, path: str, row: int) -> None:
        table = self.template.joints
        kind = JointType(int(table.type[row]))
        prim = self.stage.DefinePrim(path, f"Physics{kind.name.capitalize()}Joint")
        joint = UsdPhysics.Joint(prim)
        for side in (0, 1):
            body = int(getattr(table, f"body{side}")[row])
            frame = getattr(table, f"frame{side}")[row]
            if body >= 0:
                prim.CreateRelationship(f"physics:body{side}").SetTargets([self.template.bodies.path[body]])
            self._set(
                prim, f"physics:localPos{side}", Sdf.ValueTypeNames.Point3f, Gf.Vec3f(*frame[:3].tolist())
            )
            turn = Gf.Quatf(float(frame[6]), *(float(value) for value in frame[3:6]))
            self._set(prim, f"physics:localRot{side}", Sdf.ValueTypeNames.Quatf, turn)
        joint.CreateExcludeFromArticulationAttr(bool(table.excluded[row]))
        joint.CreateCollisionEnabledAttr(bool(table.collision_enabled[row]))
        for axis in np.flatnonzero(self.template.axes.joint == row):
            self._axis(prim, int(axis))

    def _axis(self, prim: Usd.Prim, row: int) -> None:
        axes = self.template.axes
        kind = AxisType(int(axes.axis[row]))
        turns = kind >= AxisType.ROT_X
        unit, instance = (_DEGREE, "angular") if turns else (1.0, "linear")
        self._set(prim, "physics:axis", Sdf.ValueTypeNames.Token, "XYZ"[int(kind) % 3])
        for name, column, factor in (
            ("physics:lowerLimit", axes.lower, unit),
            ("physics:upperLimit", axes.upper, unit),
            (f"state:{instance}:physics:position", axes.position, unit),
            (f"state:{instance}:physics:velocity", axes.velocity, unit),
            ("physxJoint:armature", axes.armature, 1.0),
            (f"physxLimit:{instance}:stiffness", axes.limit_stiffness, 1.0 / unit),
        ):
            self._number(prim, name, column[row] * factor)
        if axes.drive_type[row] != DriveType.NONE:
            drive = UsdPhysics.DriveAPI.Apply(prim, instance)
            drive.CreateTypeAttr("force" if axes.drive_type[row] == DriveType.FORCE else "acceleration")
            drive.CreateStiffnessAttr(float(axes.stiffness[row] / unit))
            drive.CreateDampingAttr(float(axes.damping[row] / unit))
            drive.CreateTargetPositionAttr(float(axes.target_position[row] * unit))
            drive.CreateMaxForceAttr(float(axes.max_force[row]))


def assert_same(first: Template, second: Template) -> None:
    assert first.prims == second.prims
    np.testing.assert_array_equal(first.filtered_pairs, second.filtered_pairs)
    for item in dataclasses.fields(Template):
        one, other = getattr(first, item.name), getattr(second, item.name)
        if not isinstance(one, Table):
            continue
        assert one.path == other.path, item.name
        assert getattr(one, "names", ()) == getattr(other, "names", ()), item.name
        for column in dataclasses.fields(one):
            if "dtype" not in column.metadata:
                continue
            a, b = getattr(one, column.name), getattr(other, column.name)
            what = f"{item.name}.{column.name}"
            if a.dtype.kind == "f":
                # Attributes of stages are float32; frames and axes are authored through them.
                finite = np.abs(a[np.isfinite(a)])
                scale = max(1.0, float(finite.max())) if finite.size else 1.0
                np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6 * scale, err_msg=what)
            else:
                np.testing.assert_array_equal(a, b, err_msg=what)


def _floats(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, width=32)


_VECTOR = st.tuples(*[_floats(-4.0, 4.0)] * 3)
_ANGLES = st.tuples(*[_floats(-170.0, 170.0)] * 3)


def _xform(prim: Usd.Prim, data: st.DataObject) -> None:
    xform = UsdGeom.Xformable(prim)
    xform.AddTranslateOp().Set(Gf.Vec3d(*data.draw(_VECTOR)))
    xform.AddRotateXYZOp().Set(Gf.Vec3f(*data.draw(_ANGLES)))


def _collider(stage: Usd.Stage, path: str, data: st.DataObject, materials: list[UsdShade.Material]) -> None:
    kind = data.draw(st.sampled_from(["Sphere", "Cube", "Capsule", "Cylinder", "Cone"]))
    prim = stage.DefinePrim(path, kind)
    _xform(prim, data)
    if kind == "Cube":
        UsdGeom.Xformable(prim).AddScaleOp().Set(Gf.Vec3f(*data.draw(st.tuples(*[_floats(0.25, 2.0)] * 3))))
    elif kind != "Sphere":
        prim.GetAttribute("axis").Set(data.draw(st.sampled_from("XYZ")))
        prim.GetAttribute("height").Set(data.draw(_floats(0.5, 2.0)))
    UsdPhysics.CollisionAPI.Apply(prim)
    if materials and data.draw(st.booleans()):
        UsdShade.MaterialBindingAPI.Apply(prim).Bind(
            data.draw(st.sampled_from(materials)), materialPurpose="physics"
        )


def _generate(data: st.DataObject) -> Usd.Stage:
    """A tree of links on a base that floats or is fixed, free bodies, static colliders."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, data.draw(st.sampled_from("YZ")))
    UsdPhysics.Scene.Define(stage, "/Scene")
    materials = []
    for index in range(data.draw(st.integers(0, 2))):
        material = UsdShade.Material.Define(stage, f"/material{index}")
        UsdPhysics.MaterialAPI.Apply(material.GetPrim()).CreateStaticFrictionAttr(
            data.draw(_floats(0.0, 2.0))
        )
        materials.append(material)
    robot = UsdGeom.Xform.Define(stage, "/robot").GetPrim()
    links = data.draw(st.integers(0, 4))
    if links:
        UsdPhysics.ArticulationRootAPI.Apply(robot)
    paths = [f"/robot/link{index}" for index in range(links)]
    paths += [f"/free{index}" for index in range(data.draw(st.integers(0, 2)))]
    for path in paths:
        body = UsdGeom.Xform.Define(stage, path).GetPrim()
        _xform(body, data)
        api = UsdPhysics.RigidBodyAPI.Apply(body)
        api.CreateVelocityAttr(Gf.Vec3f(*data.draw(_VECTOR)))
        api.CreateStartsAsleepAttr(data.draw(st.booleans()))
        if data.draw(st.booleans()):
            UsdPhysics.MassAPI.Apply(body).CreateMassAttr(data.draw(_floats(0.5, 8.0)))
        for index in range(data.draw(st.integers(1, 2))):
            _collider(stage, f"{path}/shape{index}", data, materials)
    for child in range(1, links):
        kind = data.draw(st.sampled_from(["Revolute", "Prismatic", "Fixed"]))
        prim = stage.DefinePrim(f"/robot/joint{child}", f"Physics{kind}Joint")
        ends = [f"/robot/link{data.draw(st.integers(0, child - 1))}", f"/robot/link{child}"]
        if data.draw(st.booleans()):
            ends.reverse()
        joint = UsdPhysics.Joint(prim)
        joint.CreateBody0Rel().SetTargets([ends[0]])
        joint.CreateBody1Rel().SetTargets([ends[1]])
        joint.CreateLocalPos0Attr(Gf.Vec3f(*data.draw(_VECTOR)))
        if kind != "Fixed":
            prim.GetAttribute("physics:axis").Set(data.draw(st.sampled_from("XYZ")))
            if data.draw(st.booleans()):
                prim.GetAttribute("physics:lowerLimit").Set(data.draw(_floats(-2.0, 0.0)))
                prim.GetAttribute("physics:upperLimit").Set(data.draw(_floats(0.0, 2.0)))
            if data.draw(st.booleans()):
                drive = UsdPhysics.DriveAPI.Apply(prim, "angular" if kind == "Revolute" else "linear")
                drive.CreateStiffnessAttr(data.draw(_floats(0.0, 64.0)))
                drive.CreateTypeAttr(data.draw(st.sampled_from(["force", "acceleration"])))
    if links and data.draw(st.booleans()):
        base = UsdPhysics.FixedJoint.Define(stage, "/robot/base")
        base.CreateBody1Rel().SetTargets(["/robot/link0"])
    for index in range(data.draw(st.integers(0, 2))):
        _collider(stage, f"/static{index}", data, materials)
    return stage


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_parse_author_parse_is_the_identity(data: st.DataObject) -> None:
    first = parse_stage(_generate(data))
    author = Author(first)
    second = parse_stage(author.stage)
    assert_same(first.templates[0], second.templates[0])
    assert first.settings.up_axis == second.settings.up_axis
    np.testing.assert_allclose(first.settings.gravity, second.settings.gravity, rtol=1e-6)
