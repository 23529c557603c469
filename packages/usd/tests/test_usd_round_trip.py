"""A scene written to a stage and read again is the same scene."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade

from tensorphys_scene import AxisType, DriveType, JointType, Scene, Settings, ShapeType, Table, Template
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
        for name in ("materials", "bodies", "shapes", "joints", "face_materials", "fixed_tendons"):
            table: Table = getattr(self.template, name)
            rows.update({path: (name, row) for row, path in enumerate(table.path)})
        for path in self.template.prims[1:]:
            if path == scene.settings.path:
                gravity = np.array(scene.settings.gravity)
                magnitude = float(np.linalg.norm(gravity))
                made = UsdPhysics.Scene.Define(self.stage, path)
                made.CreateGravityMagnitudeAttr(magnitude)
                made.CreateGravityDirectionAttr(Gf.Vec3f(*(gravity / max(magnitude, 1e-9)).tolist()))
                self._settings(made.GetPrim(), scene.settings)
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

        for row, path in enumerate(self.template.body_forces.path):
            self._force(path, row)

    def _settings(self, prim: Usd.Prim, settings: Settings) -> None:
        self._set(prim, "physxScene:solverType", Sdf.ValueTypeNames.Token, settings.solver)
        self._set(prim, "physxScene:enableStabilization", Sdf.ValueTypeNames.Bool, settings.stabilization)
        self._set(
            prim,
            "physxScene:maxPositionIterationCount",
            Sdf.ValueTypeNames.UInt,
            settings.max_position_iterations,
        )
        self._number(prim, "physxScene:frictionOffsetThreshold", settings.friction_offset_threshold)

    def _force(self, path: str, row: int) -> None:
        table = self.template.body_forces
        prim = self.stage.GetPrimAtPath(path)
        prim.AddAppliedSchema("PhysxForceAPI")
        if path not in self.template.bodies.path:
            self._place(prim, np.concatenate((table.position[row], table.rotation[row])))
        unit = _DEGREE if table.acceleration[row] else 1.0
        vector = Sdf.ValueTypeNames.Vector3f
        self._set(prim, "physxForce:force", vector, Gf.Vec3f(*table.force[row].tolist()))
        self._set(prim, "physxForce:torque", vector, Gf.Vec3f(*(table.torque[row] * unit).tolist()))
        mode = "acceleration" if table.acceleration[row] else "force"
        self._set(prim, "physxForce:mode", Sdf.ValueTypeNames.Token, mode)
        for name, value in (("worldFrameEnabled", table.world[row]), ("forceEnabled", table.enabled[row])):
            self._set(prim, f"physxForce:{name}", Sdf.ValueTypeNames.Bool, bool(value))

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
        self._number(prim, "physxRigidBody:contactSlopCoefficient", table.contact_slop_coefficient[row])
        self._set(
            prim, "physxRigidBody:lockedPosAxis", Sdf.ValueTypeNames.Int, int(table.locked_axes[row]) & 7
        )
        self._set(
            prim, "physxRigidBody:lockedRotAxis", Sdf.ValueTypeNames.Int, int(table.locked_axes[row]) >> 3
        )
        self._set(
            prim, "physxRigidBody:solveContact", Sdf.ValueTypeNames.Bool, bool(table.solve_contact[row])
        )
        if np.isfinite(table.cfm_scale[row]):
            self._number(prim, "physxRigidBody:cfmScale", table.cfm_scale[row])
        prim.AddAppliedSchema("PhysxSurfaceVelocityAPI")
        prefix, vector = "physxSurfaceVelocity:surface", Sdf.ValueTypeNames.Vector3f
        self._set(prim, f"{prefix}Velocity", vector, Gf.Vec3f(*table.surface_velocity[row].tolist()))
        turning = table.surface_angular_velocity[row] * _DEGREE
        self._set(prim, f"{prefix}AngularVelocity", vector, Gf.Vec3f(*turning.tolist()))
        local = bool(table.surface_velocity_local[row])
        self._set(prim, f"{prefix}VelocityLocalSpace", Sdf.ValueTypeNames.Bool, local)

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
            ShapeType.ELLIPSOID: "Sphere",
            ShapeType.TRIANGLE_MESH: "Mesh",
            ShapeType.CONVEX_HULL: "Mesh",
        }
        rows = np.flatnonzero(np.array(table.path) == path)
        prim = self.stage.DefinePrim(path, "Points" if len(rows) > 1 else names[kind])
        scaled = kind in (ShapeType.BOX, ShapeType.ELLIPSOID, ShapeType.TRIANGLE_MESH, ShapeType.CONVEX_HULL)
        if len(rows) > 1:
            self._points(prim, rows)
        else:
            self._place(prim, table.pose[row], size if scaled else (1.0, 1.0, 1.0))
        if len(rows) > 1:
            pass
        elif table.mesh[row] >= 0:
            self._mesh(prim, int(table.mesh[row]), kind)
        elif kind is ShapeType.ELLIPSOID:
            prim.GetAttribute("radius").Set(1.0)
        elif kind is ShapeType.BOX:
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

    def _points(self, prim: Usd.Prim, rows: Any) -> None:
        """A prim of spheres, or of ellipsoids that its scale makes of them."""
        table = self.template.shapes
        size = np.where(table.size[rows] > 0.0, table.size[rows], table.size[rows, :1])
        scale = size[0] / size[0].max()
        x, y, z, w = (float(value) for value in table.pose[rows[0], 3:])
        turn = np.array(Gf.Matrix3d(Gf.Rotation(Gf.Quatd(w, x, y, z)))).T
        self._place(prim, np.array([0.0, 0.0, 0.0, x, y, z, w]), scale)
        centers = table.pose[rows, :3] @ turn / scale
        prim.GetAttribute("points").Set([Gf.Vec3f(*center) for center in centers.tolist()])
        prim.GetAttribute("widths").Set((2.0 * size[:, 0] / scale[0]).tolist())

    def _mesh(self, prim: Usd.Prim, index: int, kind: ShapeType) -> None:
        mesh = self.template.meshes[index]
        prim.GetAttribute("points").Set([Gf.Vec3f(*point) for point in mesh.points.tolist()])
        prim.GetAttribute("faceVertexCounts").Set([3] * len(mesh.triangles))
        prim.GetAttribute("faceVertexIndices").Set(mesh.triangles.ravel().tolist())
        api = UsdPhysics.MeshCollisionAPI.Apply(prim)
        api.CreateApproximationAttr("none" if kind is ShapeType.TRIANGLE_MESH else "convexHull")

    def face_materials(self, path: str, row: int) -> None:
        table = self.template.face_materials
        mesh = self.template.meshes[int(self.template.shapes.mesh[table.shape[row]])]
        subset = UsdGeom.Subset.Define(self.stage, path)
        subset.CreateElementTypeAttr("face")
        subset.CreateFamilyNameAttr("materialBind")
        subset.CreateIndicesAttr(np.flatnonzero(mesh.groups == table.group[row]).tolist())
        material = UsdShade.Material.Get(self.stage, self.template.materials.path[table.material[row]])
        UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(material, materialPurpose="physics")

    def fixed_tendons(self, path: str, row: int) -> None:
        table, parts, axes = self.template.fixed_tendons, self.template.fixed_tendon_axes, self.template.axes
        prim = self.stage.DefinePrim(path, "MjcTendon")
        rows = np.flatnonzero(parts.tendon == row)
        joints = [axes.path[axis] for axis in parts.axis[rows]]
        array, double = Sdf.ValueTypeNames.DoubleArray, Sdf.ValueTypeNames.Double
        self._set(prim, "mjc:type", Sdf.ValueTypeNames.Token, "fixed")
        prim.CreateRelationship("mjc:path").SetTargets(joints)
        self._set(prim, "mjc:path:coef", array, parts.gearing[rows].tolist())
        rest = float(table.rest_length[row])
        self._set(prim, "mjc:springlength", array, [rest, rest + float(table.dead_band[row])])
        for name, column in (
            ("stiffness", table.stiffness),
            ("damping", table.damping),
            ("frictionloss", table.friction),
            ("armature", table.armature),
        ):
            self._set(prim, f"mjc:{name}", double, float(column[row]))
        if table.hard_limits[row]:
            self._set(prim, "mjc:range:min", double, float(table.lower[row]))
            self._set(prim, "mjc:range:max", double, float(table.upper[row]))

    def materials(self, path: str, row: int) -> None:
        table = self.template.materials
        prim = UsdShade.Material.Define(self.stage, path).GetPrim()
        material = UsdPhysics.MaterialAPI.Apply(prim)
        material.CreateStaticFrictionAttr(float(table.static_friction[row]))
        material.CreateDynamicFrictionAttr(float(table.dynamic_friction[row]))
        material.CreateRestitutionAttr(float(table.restitution[row]))
        self._number(prim, "newton:torsionalFriction", table.torsional_friction[row])
        self._number(prim, "newton:rollingFriction", table.rolling_friction[row])
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
            ("physics:lowerLimit", axes.lower + axes.source_offset, unit),
            ("physics:upperLimit", axes.upper + axes.source_offset, unit),
            ("mjc:springref", axes.spring_reference + axes.source_offset, unit),
            ("mjc:ref", axes.source_offset, unit),
            ("mjc:stiffness", axes.passive_stiffness, 1.0),
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
    assert len(first.meshes) == len(second.meshes)
    for one_mesh, other_mesh in zip(first.meshes, second.meshes, strict=True):
        np.testing.assert_allclose(one_mesh.points, other_mesh.points, rtol=2e-6)
        np.testing.assert_array_equal(one_mesh.triangles, other_mesh.triangles)
        np.testing.assert_array_equal(one_mesh.groups, other_mesh.groups)
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
    kinds = ["Sphere", "Cube", "Capsule", "Cylinder", "Cone", "Points", "Mesh"]
    kind = data.draw(st.sampled_from(kinds))
    prim = stage.DefinePrim(path, kind)
    _xform(prim, data)
    if kind in ("Points", "Mesh", "Sphere") and data.draw(st.booleans()):
        UsdGeom.Xformable(prim).AddScaleOp().Set(Gf.Vec3f(*data.draw(st.tuples(*[_floats(0.25, 2.0)] * 3))))
    if kind == "Points":
        count = data.draw(st.integers(2, 3))
        prim.GetAttribute("points").Set([Gf.Vec3f(*data.draw(_VECTOR)) for _ in range(count)])
        prim.GetAttribute("widths").Set([data.draw(_floats(0.25, 2.0)) for _ in range(count)])
    elif kind == "Mesh":
        _mesh(stage, prim, data, materials)
        return
    elif kind == "Cube":
        UsdGeom.Xformable(prim).AddScaleOp().Set(Gf.Vec3f(*data.draw(st.tuples(*[_floats(0.25, 2.0)] * 3))))
    elif kind != "Sphere":
        prim.GetAttribute("axis").Set(data.draw(st.sampled_from("XYZ")))
        prim.GetAttribute("height").Set(data.draw(_floats(0.5, 2.0)))
    UsdPhysics.CollisionAPI.Apply(prim)
    if materials and data.draw(st.booleans()):
        UsdShade.MaterialBindingAPI.Apply(prim).Bind(
            data.draw(st.sampled_from(materials)), materialPurpose="physics"
        )


def _mesh(stage: Usd.Stage, prim: Usd.Prim, data: st.DataObject, materials: list[UsdShade.Material]) -> None:
    """A tetrahedron as it is or as its hull; where there are two materials, some faces have the second one."""
    prim.GetAttribute("points").Set([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)])
    prim.GetAttribute("faceVertexCounts").Set([3, 3, 3, 3])
    prim.GetAttribute("faceVertexIndices").Set([0, 2, 1, 0, 3, 2, 0, 1, 3, 1, 2, 3])
    UsdPhysics.CollisionAPI.Apply(prim)
    approximation = data.draw(st.sampled_from(["none", "convexHull"]))
    UsdPhysics.MeshCollisionAPI.Apply(prim).CreateApproximationAttr(approximation)
    if len(materials) < 2:
        return
    UsdShade.MaterialBindingAPI.Apply(prim).Bind(materials[0], materialPurpose="physics")
    on_body = stage.GetPrimAtPath(prim.GetPath().GetParentPath()).HasAPI(UsdPhysics.RigidBodyAPI)
    if approximation == "none" and not on_body:
        subset = UsdGeom.Subset.Define(stage, prim.GetPath().AppendChild("faces"))
        subset.CreateElementTypeAttr("face")
        subset.CreateFamilyNameAttr("materialBind")
        subset.CreateIndicesAttr(sorted(data.draw(st.sets(st.integers(0, 3), min_size=1))))
        UsdShade.MaterialBindingAPI.Apply(subset.GetPrim()).Bind(materials[1], materialPurpose="physics")


def _force(prim: Usd.Prim, data: st.DataObject) -> None:
    prim.AddAppliedSchema("PhysxForceAPI")
    kinds = Sdf.ValueTypeNames
    for name in ("force", "torque"):
        prim.CreateAttribute(f"physxForce:{name}", kinds.Vector3f).Set(Gf.Vec3f(*data.draw(_VECTOR)))
    mode = data.draw(st.sampled_from(["force", "acceleration"]))
    prim.CreateAttribute("physxForce:mode", kinds.Token).Set(mode)
    prim.CreateAttribute("physxForce:worldFrameEnabled", kinds.Bool).Set(data.draw(st.booleans()))


def _vendor(body: Usd.Prim, data: st.DataObject) -> None:
    """Vendor settings of a body, a load on it or on a prim below it."""
    kinds = Sdf.ValueTypeNames
    body.CreateAttribute("physxRigidBody:lockedRotAxis", kinds.Int).Set(data.draw(st.integers(0, 7)))
    body.CreateAttribute("physxRigidBody:cfmScale", kinds.Float).Set(data.draw(_floats(0.0, 1.0)))
    body.CreateAttribute("physxRigidBody:solveContact", kinds.Bool).Set(data.draw(st.booleans()))
    body.AddAppliedSchema("PhysxSurfaceVelocityAPI")
    prefix = "physxSurfaceVelocity:surface"
    body.CreateAttribute(f"{prefix}Velocity", kinds.Vector3f).Set(Gf.Vec3f(*data.draw(_VECTOR)))
    body.CreateAttribute(f"{prefix}AngularVelocity", kinds.Vector3f).Set(Gf.Vec3f(*data.draw(_VECTOR)))
    if data.draw(st.booleans()):
        _force(body, data)
    if data.draw(st.booleans()):
        jet = UsdGeom.Xform.Define(body.GetStage(), body.GetPath().AppendChild("jet")).GetPrim()
        _xform(jet, data)
        _force(jet, data)


def _tendon(stage: Usd.Stage, joints: list[str], data: st.DataObject) -> None:
    prim = stage.DefinePrim("/robot/tendon", "MjcTendon")
    kinds = Sdf.ValueTypeNames
    prim.CreateAttribute("mjc:type", kinds.Token).Set("fixed")
    prim.CreateRelationship("mjc:path").SetTargets(joints)
    prim.CreateAttribute("mjc:path:coef", kinds.DoubleArray).Set(
        [data.draw(_floats(0.5, 2.0)) for _ in joints]
    )
    prim.CreateAttribute("mjc:stiffness", kinds.Double).Set(data.draw(_floats(0.0, 8.0)))
    prim.CreateAttribute("mjc:frictionloss", kinds.Double).Set(data.draw(_floats(0.0, 8.0)))
    low, band = data.draw(_floats(0.0, 2.0)), data.draw(_floats(0.0, 2.0))
    prim.CreateAttribute("mjc:springlength", kinds.DoubleArray).Set([low, low + band])
    if data.draw(st.booleans()):
        prim.CreateAttribute("mjc:range:min", kinds.Double).Set(data.draw(_floats(-2.0, -0.5)))
        prim.CreateAttribute("mjc:range:max", kinds.Double).Set(data.draw(_floats(0.5, 2.0)))


def _generate(data: st.DataObject) -> Usd.Stage:
    """A tree of links on a base that floats or is fixed, free bodies, static colliders."""
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdGeom.SetStageUpAxis(stage, data.draw(st.sampled_from("YZ")))
    made = UsdPhysics.Scene.Define(stage, "/Scene").GetPrim()
    solver = data.draw(st.sampled_from(["TGS", "PGS"]))
    made.CreateAttribute("physxScene:solverType", Sdf.ValueTypeNames.Token).Set(solver)
    count = data.draw(st.integers(1, 255))
    made.CreateAttribute("physxScene:maxPositionIterationCount", Sdf.ValueTypeNames.UInt).Set(count)
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
        _vendor(body, data)
        if data.draw(st.booleans()):
            UsdPhysics.MassAPI.Apply(body).CreateMassAttr(data.draw(_floats(0.5, 8.0)))
        for index in range(data.draw(st.integers(1, 2))):
            _collider(stage, f"{path}/shape{index}", data, materials)
    moving = []
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
            moving.append(str(prim.GetPath()))
            if data.draw(st.booleans()):
                prim.CreateAttribute("mjc:ref", Sdf.ValueTypeNames.Double).Set(data.draw(_floats(-2.0, 2.0)))
            prim.GetAttribute("physics:axis").Set(data.draw(st.sampled_from("XYZ")))
            if data.draw(st.booleans()):
                prim.GetAttribute("physics:lowerLimit").Set(data.draw(_floats(-2.0, 0.0)))
                prim.GetAttribute("physics:upperLimit").Set(data.draw(_floats(0.0, 2.0)))
            if data.draw(st.booleans()):
                drive = UsdPhysics.DriveAPI.Apply(prim, "angular" if kind == "Revolute" else "linear")
                drive.CreateStiffnessAttr(data.draw(_floats(0.0, 64.0)))
                drive.CreateTypeAttr(data.draw(st.sampled_from(["force", "acceleration"])))
    if moving and data.draw(st.booleans()):
        _tendon(stage, moving, data)
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
    settings = dataclasses.replace(second.settings, gravity=first.settings.gravity, bounce_threshold=0.0)
    assert dataclasses.replace(first.settings, bounce_threshold=0.0) == settings
    np.testing.assert_allclose(first.settings.gravity, second.settings.gravity, rtol=1e-6)
