"""An environment among others moves as a single one at the origin, bit for bit, contacts included."""

import numpy as np
import pytest

import tensorphys
import tensorphys_scene
import tensorphys_usd

DT = 1.0 / 240.0
SPACING = 2.0

# Rigid bodies in numbers of one row each, and arrays of the articulation.
STATE = (
    "root_transforms",
    "root_velocities",
    "link_transforms",
    "link_velocities",
    "dof_positions",
    "dof_velocities",
)


def furnish(stage, data, path):
    """A quadruped with a free base on its feet, a box that slides beside it, and a ball that rolls into the box."""
    from pxr import Usd, UsdGeom, UsdPhysics

    robot = UsdGeom.Xform.Define(stage.stage, f"{path}/robot")
    robot.GetPrim().GetReferences().AddReference(str(data / "robot_models" / "quadruped.usdc"))
    robot.AddTranslateOp().Set((0.0, 0.0, 0.502))
    for prim in Usd.PrimRange(robot.GetPrim()):
        if prim.IsA(UsdPhysics.FixedJoint) and prim.GetName() == "root_joint":
            prim.SetActive(False)
    stage.box_body(f"{path}/box", (0.8, 0.1, 0.101), velocity=(0.0, 0.3, 0.0))
    stage.ball_body(f"{path}/ball", (0.8, 0.305, 0.1), velocity=(0.0, -0.5, 0.0))


def authored(author, data, count):
    """Environments in a row on the stage, the first at the origin, over one ground outside of them."""
    stage = author()
    stage.ground("/ground")
    for number in range(count):
        stage.xform(f"/envs/env_{number}", (SPACING * number, 0.0, 0.0))
        stage.xform(f"/envs/env_{number}/World")
        furnish(stage, data, f"/envs/env_{number}/World")
    scene = tensorphys_usd.parse_stage(stage.stage, environments="/envs/*")
    return scene, [f"/envs/env_{number}" for number in range(count)]


def replicated(author, data, count):
    """Copies of a stage on a grid, or the stage itself."""
    stage = author()
    stage.ground("/World/ground")
    furnish(stage, data, "/World")
    scene = tensorphys_usd.parse_stage(stage.stage)
    if count == 1:
        return scene, [""]
    scene = tensorphys_scene.replicate(scene, count, spacing=SPACING)
    return scene, list(scene.environments.path)


class Reader:
    """A simulation and its views, in the world and in the frames of the environments."""

    def __init__(self, scene, roots, device):
        frontend = "numpy" if device == "cpu" else "warp"
        self.sim = tensorphys.create_simulation_view(frontend, scene=scene, device=device)
        self._roots = roots
        self.world = self._views()
        if roots != [""]:
            self.sim.set_subspace_roots(roots)
        self.local = self._views()

    def _views(self):
        return {
            "robot": self.sim.create_articulation_view(
                [f"{r}/World/robot/Geometry/base" for r in self._roots]
            ),
            "box": self.sim.create_rigid_body_view([f"{r}/World/box" for r in self._roots]),
            "ball": self.sim.create_rigid_body_view([f"{r}/World/ball" for r in self._roots]),
        }

    def step(self, steps):
        for _ in range(steps):
            self.sim.step(DT)


def read(views, row, host):
    """All state of one row."""
    found = {name: host(getattr(views["robot"], f"get_{name}")())[row] for name in STATE}
    for name in ("box", "ball"):
        found[f"{name} transforms"] = host(views[name].get_transforms())[row]
        found[f"{name} velocities"] = host(views[name].get_velocities())[row]
    return found


@pytest.mark.filterwarnings("ignore:shapes of which some pairs have no contacts")
@pytest.mark.parametrize(
    ("make", "count", "row", "steps"),
    [(authored, 7, 3, 240), (replicated, 7, 3, 240), (replicated, 4096, 4095, 12)],
    ids=["authored 3 of 7", "replicated 3 of 7", "last of 4096"],
)
def test_an_environment_equals_a_single_one(author, data, host, measure, device, make, count, row, steps):
    alone = Reader(*make(author, data, 1), device)
    scene, roots = make(author, data, count)
    crowd = Reader(scene, roots, device)
    before = read(alone.local, 0, host)
    alone.step(steps)
    crowd.step(steps)
    expected = read(alone.local, 0, host)
    # Something happened: the ball hit the box, and the robot's feet took its weight.
    assert expected["ball velocities"][1] != before["ball velocities"][1]
    assert alone.sim.simulation.contacts.count.numpy()[0] > 8
    local = read(crowd.local, row, host)
    different = sum(not np.array_equal(local[name], expected[name]) for name in expected)
    measure(f"environment {row} of {count}, {make.__name__}: quantities that differ by a bit", different, 0)
    origin = scene.environments.origin[row]
    assert np.linalg.norm(origin[:2]) >= SPACING
    world = read(crowd.world, row, host)
    for name in ("root_transforms", "link_transforms", "box transforms", "ball transforms"):
        exact = expected[name][..., :3] + origin
        # Half a unit in the last place is one rounding.
        rounding = 0.5 * np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
        error = np.abs(world[name][..., :3] - exact)
        measure(f"the same, {name} in the world: error over one rounding", (error / rounding).max(), 1.0)
        assert np.array_equal(world[name][..., 3:], expected[name][..., 3:])
