"""Loads, materials of faces, defaults of the columns, what a parser says of its reading."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import numpy as np
import pytest

from tensorphys_scene import (
    Axes,
    AxisType,
    Bodies,
    BodyForces,
    FaceMaterials,
    FixedTendons,
    Joints,
    JointType,
    Materials,
    Mesh,
    Scene,
    SceneValueError,
    Settings,
    Shapes,
    ShapeType,
    SoftData,
    SpatialTendons,
    Template,
    equal,
    replicate,
)

_POINTS = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 1.0, 0.0)])
_FACES = np.array([(0, 1, 2), (1, 3, 2)], np.int32)


def template(**changes: Any) -> Template:
    """A body under a load, and a floor with a wet triangle."""
    tables: dict[str, Any] = {
        "prims": ("", "/ball", "/floor", "/floor/wet", "/ice"),
        "bodies": Bodies(path=("/ball",), mass=[1.0], inertia=np.eye(3)[None]),
        "shapes": Shapes(
            path=("/floor",), body=[-1], type=[ShapeType.TRIANGLE_MESH], size=np.ones((1, 3)), mesh=[0]
        ),
        "materials": Materials(path=("/ice",)),
        "meshes": (Mesh(_POINTS, _FACES, np.array([-1, 0], np.int32)),),
        "face_materials": FaceMaterials(path=("/floor/wet",), shape=[0], material=[0], group=[0]),
        "body_forces": BodyForces(path=("/ball",), body=[0], force=[[0.0, 0.0, 2.0]]),
    }
    return Template(**{**tables, **changes})


def test_tables_survive_a_pickle() -> None:
    made = template()
    copied: Template = pickle.loads(pickle.dumps(made))
    for item in dataclasses.fields(Template):
        if hasattr(getattr(made, item.name), "path"):
            assert equal(getattr(made, item.name), getattr(copied, item.name)), item.name
    np.testing.assert_array_equal(copied.meshes[0].groups, (-1, 0))
    scene = Scene(
        templates=(made,), findings=(("/a", "b"),), corrected=(("/a", "b"),), read=(("/a", ("x",)),)
    )
    again: Scene = pickle.loads(pickle.dumps(scene))
    assert (again.findings, again.corrected, again.read) == (scene.findings, scene.corrected, scene.read)


def test_what_is_not_given_is_as_before() -> None:
    """A scene that was built by hand for an earlier version says nothing of what is new."""
    bodies = Bodies(path=("/b",), mass=[1.0], inertia=np.eye(3)[None])
    assert (bodies.surface_velocity.tolist(), bodies.solve_contact.tolist()) == ([[0.0, 0.0, 0.0]], [True])
    assert np.isnan(bodies.cfm_scale).all()
    shapes = Shapes(path=("/s",), body=[0], type=[ShapeType.SPHERE])
    assert (shapes.sdf_resolution[0], shapes.decomposition_max_hulls[0], shapes.sphere_fill_count[0]) == (
        256,
        32,
        128,
    )
    assert Materials(path=("/m",)).torsional_friction.tolist() == [0.0]
    axes = Axes(path=("/j",), joint=[0], axis=[AxisType.ROT_X], names=("j",))
    assert axes.source_offset.tolist() == [0.0]
    for tendons in (FixedTendons(path=("/t",), names=("t",)), SpatialTendons(path=("/t",), names=("t",))):
        assert (tendons.dead_band[0], tendons.friction[0], tendons.hard_limits[0]) == (0.0, 0.0, False)
    assert Mesh(_POINTS, _FACES).groups.size == 0
    settings = Settings()
    assert (settings.solver, settings.sleeping, settings.max_position_iterations) == ("TGS", True, 255)
    assert (Template().face_materials.count, Template().body_forces.count) == (0, 0)
    assert (Scene().corrected, Scene().read) == ((), ())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"face_materials": FaceMaterials(path=("/f",), shape=[1], material=[0], group=[0])},
            "face_materials.shape of /f is 1, expected 0 to 0",
        ),
        (
            {"face_materials": FaceMaterials(path=("/f",), shape=[0], material=[-1], group=[0])},
            "face_materials.material of /f is -1, expected 0 to 0",
        ),
        (
            {"body_forces": BodyForces(path=("/f",), body=[-1])},
            "body_forces.body of /f is -1, expected 0 to 0",
        ),
        (
            {"materials": Materials(path=("/ice",), friction_combine=[9])},
            "materials.friction_combine of /ice is 9, which is no CombineMode",
        ),
        (
            {
                "joints": Joints(path=("/j",), type=[JointType.REVOLUTE], body0=[-1], body1=[0]),
                "axes": Axes(path=("/j",), joint=[0], axis=[7], names=("j",)),
            },
            "axes.axis of /j is 7, which is no AxisType",
        ),
        (
            {"joints": Joints(path=("/j",), type=[44], body0=[-1], body1=[0])},
            "joints.type of /j is 44, which is no JointType",
        ),
    ],
)
def test_rows_that_cannot_be_name_themselves(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(SceneValueError, match=f"^{message}$"):
        template(**changes)


def test_groups_belong_to_triangles() -> None:
    with pytest.raises(
        SceneValueError, match=r"^mesh.groups: expected one for each of 2 triangles, given \(3,\)$"
    ):
        Mesh(_POINTS, _FACES, np.zeros(3, np.int32))


def test_copies_of_a_prim_take_its_loads_and_leave_the_floor_its_materials() -> None:
    scene = replicate(Scene(templates=(template(),), read=(("/ball", ("physics:mass",)),)), "/ball", 3)
    (own,) = scene.templates
    assert (own.body_forces.path, own.body_forces.body.tolist()) == (("",), [0])
    assert own.face_materials.count == 0
    assert scene.shared.face_materials.path == ("/floor/wet",)
    assert scene.shared.materials.path == ("/ice",)
    assert scene.read == (("/ball", ("physics:mass",)),)


def test_values_of_soft_prims_fall_back_on_their_schemas() -> None:
    data = SoftData(values={"physxDeformable:sleepThreshold": 0.5})
    assert data.value("physxDeformable:sleepThreshold") == 0.5
    assert data.value("physxDeformable:solverPositionIterationCount") == 16
    assert data.value("physxPBDMaterial:friction") == 0.2
    with pytest.raises(SceneValueError, match=r"^physxDeformable:odd is not authored"):
        data.value("physxDeformable:odd")
