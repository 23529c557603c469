"""The Panda lifts a soft cube of a stage and holds it."""

from __future__ import annotations

import pathlib

import numpy as np

from tensorphys_engine import Simulation
from tensorphys_fem import box_mesh
from tensorphys_scene import DriveType
from tensorphys_usd import parse_stage

PANDA = pathlib.Path(__file__).resolve().parents[1] / "examples" / "panda" / "panda.usdc"
# The hand points down over (0.4336, 0, 0.54), its fingers open along y.
READY = np.array([0.0, -0.4, 0.0, -2.2, 0.0, 1.8, 0.785, 0.04, 0.04], np.float32)
PLACE = (0.4336, 0.0, 0.439)
EDGE = 0.05


def _stage():
    from pxr import Gf, Sdf, Usd, UsdGeom, UsdPhysics, UsdShade, Vt

    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/scene")
    stage.DefinePrim("/panda").GetReferences().AddReference(str(PANDA))

    def apply(prim, *names):
        prim.SetMetadata("apiSchemas", Sdf.TokenListOp.CreateExplicit(list(names)))

    mesh = box_mesh((3,) * 3, EDGE / 3, origin=(-EDGE / 2,) * 3)
    cube = UsdGeom.TetMesh.Define(stage, "/cube")
    cube.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(mesh.points.astype(np.float32)))
    cube.CreateTetVertexIndicesAttr(Vt.Vec4iArray.FromNumpy(mesh.tets.astype(np.int32)))
    cube.AddTranslateOp().Set(Gf.Vec3d(*PLACE))
    apply(
        cube.GetPrim(),
        "OmniPhysicsDeformableBodyAPI",
        "OmniPhysicsVolumeDeformableSimAPI",
        "MaterialBindingAPI",
    )
    cube.GetPrim().CreateAttribute("omniphysics:mass", Sdf.ValueTypeNames.Float).Set(0.2)
    rubber = UsdShade.Material.Define(stage, "/rubber")
    apply(rubber.GetPrim(), "OmniPhysicsDeformableMaterialAPI")
    for name, value in (("youngsModulus", 5e4), ("poissonsRatio", 0.4), ("dynamicFriction", 0.7)):
        rubber.GetPrim().CreateAttribute(f"omniphysics:{name}", Sdf.ValueTypeNames.Float).Set(value)
    UsdShade.MaterialBindingAPI(cube.GetPrim()).Bind(rubber, materialPurpose="physics")
    table = UsdGeom.Cube.Define(stage, "/table")
    table.CreateSizeAttr(1.0)
    table.AddTranslateOp().Set(Gf.Vec3d(PLACE[0], PLACE[1], PLACE[2] - EDGE / 2 - 0.01))
    table.AddScaleOp().Set(Gf.Vec3f(0.1, 0.1, 0.02))
    UsdPhysics.CollisionAPI.Apply(table.GetPrim())
    return stage


def _in_frame(pose, points):
    """Points in the frame of a pose."""
    axis, w = -pose[3:6], pose[6]
    v = points - pose[:3]
    first = 2.0 * np.cross(axis, v)
    return v + w * first + np.cross(axis, first)


def test_panda_lifts_a_soft_cube_and_holds_it(device, measure):
    simulation = Simulation(parse_stage(_stage()), device=device)
    assert simulation.soft.paths == ("/cube",)
    model = simulation.model
    simulation.contact_model.dynamic_friction.fill_(0.7)
    simulation.contact_model.static_friction.fill_(0.7)
    model.dof_drive_type.fill_(int(DriveType.FORCE))
    model.dof_stiffness.assign(np.array([4000.0] * 7 + [2000.0] * 2, np.float32))
    model.dof_damping.assign(np.array([400.0] * 7 + [100.0] * 2, np.float32))
    # The fingers press with the bound of their force.
    model.dof_max_force.assign(np.array([87.0] * 4 + [40.0] * 3 + [10.0] * 2, np.float32))
    simulation.state.dof_position.assign(READY)
    simulation.state.fresh.fill_(1)
    simulation.refresh()
    hand = simulation.articulation_info(0).link_paths.index(
        next(p for p in simulation.articulation_info(0).link_paths if p.endswith("panda_hand"))
    )
    target, soft, held = READY.copy(), simulation.soft, None
    for step in range(round(6.2 * 60)):
        time = (step + 1) / 60.0
        target[7:] = 0.0 if time > 0.1 else 0.04
        target[1] = READY[1] - 0.1 * np.clip((time - 0.4) / 0.4, 0.0, 1.0)
        simulation.control.position_target.assign(target)
        simulation.step()
        if held is None and time >= 1.2:
            held = _in_frame(
                simulation.state.link_pose.numpy()[hand].astype(float), soft.state.position.numpy()
            )
            assert soft.state.position.numpy()[:, 2].min() > PLACE[2] - EDGE / 2 + 0.02
    after = _in_frame(simulation.state.link_pose.numpy()[hand].astype(float), soft.state.position.numpy())
    slip = np.linalg.norm(after - held, axis=1).max()
    measure("slip of a soft cube of 0.2 kg in the Panda's hand in 5 s at 60 Hz [m]", slip, 2e-3)
    given = soft.contact_force.numpy().astype(float).sum(axis=0)
    taken = soft.coupling.ends.total.numpy()[:, :3].astype(float) / simulation.time_step
    measure("force of the fingers on the cube, of its weight", abs(given[2] / (0.2 * 9.81) - 1.0), 1e-3)
    apart = np.abs(given + taken.sum(axis=0)).max() / np.abs(taken).max()
    measure("difference of the forces on cube and fingers, of the grip", apart, 1e-4)
