"""Broken stages give an error or a finding, never a crash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pxr import Gf, Usd

from tensorphys_scene import Scene
from tensorphys_usd import StageError, parse_stage

_FILES = sorted((Path(__file__).parent / "data").glob("*/*.usda"))
_NUMBERS = st.sampled_from([float("nan"), float("inf"), float("-inf"), -1.0, 0.0, 1e30])


def _changed(value: object, number: float, index: int) -> object:
    """The value with one number in it replaced, None where it holds none."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return number
    if isinstance(value, (Gf.Vec3f, Gf.Vec3d)):
        copy = type(value)(value)
        copy[index % 3] = number
        return copy
    if isinstance(value, (Gf.Quatf, Gf.Quatd)):
        return type(value)(number, number, 0.0, 0.0)
    if isinstance(value, str):
        return "odd"
    return None


def _break(stage: Usd.Stage, data: st.DataObject) -> None:
    prims = list(stage.Traverse())
    if not prims:
        return
    prim = data.draw(st.sampled_from(prims), label="prim")
    kind = data.draw(
        st.sampled_from(["value", "value", "value", "target", "inactive", "type", "schema"]), label="kind"
    )
    if kind == "inactive":
        prim.SetActive(False)
    elif kind == "type":
        prim.SetTypeName(
            data.draw(st.sampled_from(["Xform", "Cube", "Mesh", "PhysicsRevoluteJoint", "PhysicsScene"]))
        )
    elif kind == "schema":
        schemas = ["PhysicsRigidBodyAPI", "PhysicsArticulationRootAPI", "PhysicsMassAPI"]
        prim.AddAppliedSchema(data.draw(st.sampled_from(schemas)))
    elif kind == "target" and prim.GetAuthoredRelationships():
        relationship = data.draw(st.sampled_from(prim.GetAuthoredRelationships()))
        other = data.draw(st.sampled_from(prims)).GetPath()
        relationship.SetTargets(data.draw(st.sampled_from([[], ["/Nowhere"], [other]])))
    elif kind == "value" and prim.GetAuthoredAttributes():
        attribute = data.draw(st.sampled_from(prim.GetAuthoredAttributes()), label="attribute")
        value = _changed(attribute.Get(), data.draw(_NUMBERS), data.draw(st.integers(0, 2)))
        if value is not None:
            attribute.Set(value)


def _parsed(stage: Usd.Stage) -> Scene | str:
    """The scene, or the text of the error."""
    try:
        return parse_stage(stage)
    except StageError as error:
        return str(error)


@given(data=st.data())
def test_broken_stages(data: st.DataObject) -> None:
    stage = Usd.Stage.Open(Usd.Stage.Open(str(data.draw(st.sampled_from(_FILES)))).Flatten())
    for _ in range(data.draw(st.integers(1, 3))):
        _break(stage, data)
    scene = _parsed(stage)
    if isinstance(scene, str):
        assert scene
        assert "\n" not in scene
        return
    for template in scene.templates:
        assert np.isfinite(template.bodies.inertia).all()
        moving = template.bodies.enabled & ~template.bodies.kinematic
        assert (template.bodies.mass[moving] > 0.0).all()
