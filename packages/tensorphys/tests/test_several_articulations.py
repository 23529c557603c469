"""Several articulations in an environment, ones without degrees of freedom and of one link, fixed joints either way round."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf, UsdPhysics

NAMES = ("cartpole", "ant", "post", "stone", "arm")


def author(stage: Any, path: str, name: str) -> None:
    """One articulation, 6 m from its neighbours."""
    at = (6.0 * NAMES.index(name), 0, 0)
    if name == "cartpole":
        stage.cart_pole(path, at, pole={"state": (30.0, 40.0)})
    elif name == "ant":
        stage.ant(path, (at[0], 0, 3))
    elif name == "arm":
        stage.xform(path, at)
        stage.body(f"{path}/base", (0, 0, 2))
        stage.body(f"{path}/link", (0.5, 0, 2), mass=2.0, inertia=(0.02, 0.1, 0.12))
        stage.joint(f"{path}/root", "fixed", None, f"{path}/base", at0=(at[0], 0, 2))
        ball = UsdPhysics.SphericalJoint.Define(stage.stage, f"{path}/ball")
        ball.CreateBody0Rel().SetTargets([Sdf.Path(f"{path}/base")])
        ball.CreateBody1Rel().SetTargets([Sdf.Path(f"{path}/link")])
        ball.CreateLocalPos1Attr(Gf.Vec3f(-0.5, 0, 0))
        stage.articulation(path)
    else:
        stage.xform(path, at)
        stage.body(f"{path}/body", (0, 0, 4), mass=3.0, inertia=(0.2, 0.3, 0.4))
        if name == "post":
            stage.joint(f"{path}/root", "fixed", None, f"{path}/body", at0=(at[0], 0, 4))
            stage.articulation(path)
        else:
            stage.articulation(f"{path}/body")


def path_of(name: str) -> str:
    """Prim with the root schema."""
    return f"/robots/{name}" + {"ant": "/torso", "stone": "/body"}.get(name, "")


def run(
    stages: SimpleNamespace, arrays: Any, names: tuple[str, ...], steps: int
) -> dict[str, dict[str, Any]]:
    """What the views of articulations that stand together say after some steps."""
    stage = stages.Author.new()
    stage.xform("/robots")
    for name in names:
        author(stage, f"/robots/{name}", name)
    sim = stages.view(arrays, stage)
    views = {name: sim.create_articulation_view(path_of(name)) for name in names}
    for view in views.values():
        if view.max_dofs:
            rng = np.random.default_rng(view.max_dofs)
            values = 0.3 * rng.normal(size=(1, view.max_dofs))
            view.set_dof_velocities(arrays.make(values), arrays.rows([0]))
    for _ in range(steps):
        sim.step(stages.DT)
    result = {}
    for name, view in views.items():
        fields = ["link_transforms", "link_velocities", "link_accelerations", "root_transforms"]
        if view.max_dofs:
            fields += ["dof_positions", "dof_velocities", "generalized_mass_matrices", "jacobians"]
            fields += ["gravity_compensation_forces", "dof_projected_joint_forces"]
        result[name] = {field: arrays.host(getattr(view, f"get_{field}")()) for field in fields}
    return result


def test_each_moves_as_if_it_were_alone(stages: SimpleNamespace, arrays: Any) -> None:
    together = run(stages, arrays, NAMES, 40)
    for name in NAMES:
        alone = run(stages, arrays, (name,), 40)[name]
        for field, values in alone.items():
            # accelerations are changes of velocities over a step, 60 times their rounding; joint forces are masses
            # times accelerations, less the weight
            bound = 2e-4 if field in ("link_accelerations", "dof_projected_joint_forces") else 2e-5
            bound *= max(np.abs(values).max(), 1.0)
            np.testing.assert_allclose(together[name][field], values, atol=bound, err_msg=f"{name} {field}")


def test_articulations_without_degrees_of_freedom(stages: SimpleNamespace, arrays: Any) -> None:
    """A post stands, a stone falls."""
    found = run(stages, arrays, ("post", "stone"), 30)
    time = 30 * stages.DT
    np.testing.assert_allclose(found["post"]["link_transforms"][0, 0, :3], [12, 0, 4], atol=1e-6)
    np.testing.assert_array_equal(found["post"]["link_velocities"][0], 0.0)
    np.testing.assert_allclose(found["stone"]["root_transforms"][0, 2], 4 - 0.5 * 9.81 * time**2, atol=1e-4)
    np.testing.assert_allclose(
        found["stone"]["link_velocities"][0, 0], [0, 0, -9.81 * time, 0, 0, 0], atol=1e-4
    )
    np.testing.assert_allclose(found["stone"]["link_accelerations"][0, 0, :3], [0, 0, -9.81], atol=1e-3)


@pytest.mark.parametrize("flipped", [False, True])
def test_a_fixed_joint_carries_its_link(stages: SimpleNamespace, arrays: Any, flipped: bool) -> None:
    """The wrench on body 1 of a weld is the weight, on the link or, the other way round, on what carries it."""
    stage = stages.Author.new()
    stage.xform("/beam")
    stage.body("/beam/base", (0, 0, 2))
    stage.body("/beam/end", (0.5, 0, 2), mass=2.0)
    stage.joint("/beam/root", "fixed", None, "/beam/base", at0=(0, 0, 2))
    stage.joint(
        "/beam/weld", "fixed", "/beam/base", "/beam/end", at0=(0.2, 0, 0), at1=(-0.3, 0, 0), flipped=flipped
    )
    stage.articulation("/beam")
    sim = stages.view(arrays, stage)
    view = sim.create_articulation_view("/beam")
    assert (view.max_links, view.max_dofs) == (2, 0)
    for _ in range(3):
        sim.step(stages.DT)
    np.testing.assert_allclose(arrays.host(view.get_link_transforms())[0, 1, :3], [0.5, 0, 2], atol=1e-6)
    # about the joint, the weight acts 0.3 m along X
    weight, torque = 2.0 * 9.81, -0.3 * 2.0 * 9.81
    sign = -1.0 if flipped else 1.0
    expected = sign * np.array([0, 0, weight, 0, torque, 0])
    np.testing.assert_allclose(arrays.host(view.get_link_incoming_joint_force())[0, 1], expected, atol=1e-3)
