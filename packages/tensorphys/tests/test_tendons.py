"""Fixed and spatial tendons: properties through every frontend, views of several kinds, and what they do."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pxr import Gf, Sdf

FIXED = ("stiffnesses", "dampings", "limit_stiffnesses", "limits", "rest_lengths", "offsets")
SPATIAL = ("stiffnesses", "dampings", "limit_stiffnesses", "offsets")


def attribute(prim: Any, name: str, kind: str, value: Any) -> None:
    prim.CreateAttribute(name, getattr(Sdf.ValueTypeNames, kind)).Set(value)


def fixed_tendon(stage: Any, name: str, joints: list[str], **settings: float) -> None:
    """A tendon over joints; the first carries the settings."""
    for number, path in enumerate(joints):
        prim = stage.GetPrimAtPath(path)
        prim.AddAppliedSchema(f"PhysxTendonAxis{'' if number else 'Root'}API:{name}")
        attribute(prim, f"physxTendon:{name}:gearing", "FloatArray", [1.0 if number == 0 else -1.0])
        attribute(prim, f"physxTendon:{name}:forceCoefficient", "FloatArray", [1.0 if number == 0 else -1.0])
        if number == 0:
            for key, value in settings.items():
                attribute(prim, f"physxTendon:{name}:{key}", "Float", value)


def spatial_tendon(stage: Any, root: str, leaf: str, **settings: float) -> None:
    """A tendon from the origin of one body to a point of another."""
    prim = stage.GetPrimAtPath(root)
    prim.AddAppliedSchema("PhysxTendonAttachmentRootAPI:root")
    for key, value in settings.items():
        attribute(prim, f"physxTendon:root:{key}", "Float", value)
    prim = stage.GetPrimAtPath(leaf)
    prim.AddAppliedSchema("PhysxTendonAttachmentLeafAPI:leaf")
    prim.CreateRelationship("physxTendon:leaf:parentLink").SetTargets([Sdf.Path(root)])
    attribute(prim, "physxTendon:leaf:parentAttachment", "Token", "root")
    attribute(prim, "physxTendon:leaf:localPos", "Point3f", Gf.Vec3f(0.0, 0.3, 0.5))


def sliders(stage: Any, path: str, position: Any = (0, 0, 0)) -> None:
    """A fixed base and three bodies that slide along Y: 4 links, 3 degrees of freedom."""
    stage.xform(path, position)
    stage.articulation(path)
    stage.body(f"{path}/base", (0, 0, 2), mass=5.0)
    place = np.asarray(position, float) + [0, 0, 2]
    stage.joint(f"{path}/root", "fixed", None, f"{path}/base", at0=place)
    for k in range(3):
        stage.body(f"{path}/body{k}", (k, 0, 2))
        stage.joint(
            f"{path}/slide{k}", "prismatic", f"{path}/base", f"{path}/body{k}", axis="Y", at0=(k, 0, 0)
        )


@pytest.fixture
def world(stages: SimpleNamespace, arrays: Any) -> SimpleNamespace:
    stage = stages.Author.new()
    sliders(stage, "/World/one")
    sliders(stage, "/World/two", (0, 5, 0))
    sliders(stage, "/World/none", (0, 10, 0))
    usd = stage.stage
    fixed_tendon(
        usd, "t", ["/World/one/slide0", "/World/one/slide1"], stiffness=20.0, damping=1.0, offset=0.1,
        restLength=0.05, limitStiffness=30.0, lowerLimit=-0.5, upperLimit=0.6,
    )  # fmt: skip
    fixed_tendon(usd, "t", ["/World/two/slide0", "/World/two/slide1"], stiffness=2.0)
    fixed_tendon(usd, "s", ["/World/two/slide1", "/World/two/slide2"], stiffness=3.0)
    spatial_tendon(usd, "/World/one/body0", "/World/one/body2", stiffness=40.0, damping=2.0, offset=0.2)
    sim = stages.view(arrays, stage)
    return SimpleNamespace(
        sim=sim,
        all=sim.create_articulation_view(["/World/one", "/World/two", "/World/none"]),
        one=sim.create_articulation_view("/World/one"),
        none=sim.create_articulation_view("/World/none"),
        arrays=arrays,
    )


def read(view: Any, arrays: Any, kind: str, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    return {name: arrays.host(getattr(view, f"get_{kind}_tendon_{name}")()).copy() for name in names}


def test_getters_have_the_authored_values_and_the_widths_of_the_largest(world: SimpleNamespace) -> None:
    view, arrays = world.all, world.arrays
    assert (view.max_fixed_tendons, view.max_spatial_tendons) == (2, 1)
    assert (world.one.max_fixed_tendons, world.none.max_fixed_tendons) == (1, 0)
    fixed = read(view, arrays, "fixed", FIXED)
    np.testing.assert_allclose(fixed["stiffnesses"], [[20.0, 0.0], [2.0, 3.0], [0.0, 0.0]])
    np.testing.assert_allclose(fixed["dampings"][0], [1.0, 0.0])
    np.testing.assert_allclose(fixed["limit_stiffnesses"][0], [30.0, 0.0])
    assert fixed["limits"].shape == (3, 2, 2)
    np.testing.assert_allclose(fixed["limits"][0, 0], [-0.5, 0.6])
    assert (np.abs(fixed["limits"][1]) > 3e38).all()
    assert not fixed["limits"][2].any()
    np.testing.assert_allclose(fixed["rest_lengths"][0], [0.05, 0.0])
    np.testing.assert_allclose(fixed["offsets"][0], [0.1, 0.0])
    spatial = read(view, arrays, "spatial", SPATIAL)
    np.testing.assert_allclose(spatial["stiffnesses"], [[40.0], [0.0], [0.0]])
    np.testing.assert_allclose(spatial["offsets"], [[0.2], [0.0], [0.0]])
    assert arrays.host(world.none.get_fixed_tendon_limits()).shape == (1, 0, 2)


@pytest.mark.parametrize(("kind", "names"), [("fixed", FIXED), ("spatial", SPATIAL)])
def test_set_properties_round_trip_and_leave_other_rows(
    world: SimpleNamespace, kind: str, names: tuple[str, ...]
) -> None:
    view, arrays = world.all, world.arrays
    before = read(view, arrays, kind, names)
    rng = np.random.default_rng(4)
    wanted = {name: rng.uniform(1.0, 2.0, values.shape).astype(np.float32) for name, values in before.items()}
    setter = getattr(view, f"set_{kind}_tendon_properties")
    setter(*[arrays.make(wanted[name]) for name in names], arrays.rows([2, 0]))
    after = read(view, arrays, kind, names)
    for name in names:
        present = {"fixed": [1, 2, 0], "spatial": [1, 0, 0]}[kind]
        expected = before[name].copy()
        expected[0, : present[0]] = wanted[name][0, : present[0]]
        np.testing.assert_array_equal(after[name], expected)
    setter(*[arrays.make(before[name]) for name in names], None)
    for name, values in read(view, arrays, kind, names).items():
        np.testing.assert_array_equal(values, before[name])


def test_wrong_sizes_are_refused_and_nothing_is_written(world: SimpleNamespace) -> None:
    view, arrays = world.all, world.arrays
    before = read(view, arrays, "fixed", FIXED)
    data = [arrays.make(np.full(before[name].shape, 7.0, np.float32)) for name in FIXED]
    data[3] = arrays.make(np.zeros((3, 2), np.float32))
    with pytest.raises(Exception, match=r"set_fixed_tendon_properties\(limits\)"):
        view.set_fixed_tendon_properties(*data, None)
    for name, values in read(view, arrays, "fixed", FIXED).items():
        np.testing.assert_array_equal(values, before[name])


def test_written_properties_change_the_next_step(world: SimpleNamespace) -> None:
    """Slider 0 of the first robot: tension of the fixed tendon before, none after, a spatial pull at the end."""
    view, arrays = world.one, world.arrays

    def accelerations() -> np.ndarray:
        before = arrays.host(view.get_dof_velocities()).copy()
        world.sim.step(1.0 / 240.0)
        return (arrays.host(view.get_dof_velocities()) - before)[0] * 240.0

    pulled = accelerations()
    # k (length − rest) = 20 · 0.05; the first half kick of a fresh state is half of one of four
    np.testing.assert_allclose(pulled[:2], [-1.0, 1.0], rtol=0.15)
    fixed = read(view, arrays, "fixed", FIXED)
    fixed["stiffnesses"][:] = 0.0
    fixed["dampings"][:] = 0.0
    view.set_fixed_tendon_properties(*[arrays.make(fixed[name]) for name in FIXED], None)
    assert np.abs(accelerations()[:2]).max() < 0.05
    spatial = read(view, arrays, "spatial", SPATIAL)
    spatial["offsets"][:] = 0.7
    spatial["dampings"][:] = 0.0
    view.set_spatial_tendon_properties(*[arrays.make(spatial[name]) for name in SPATIAL], None)
    pulled = accelerations()
    # half a metre too long: 40 · 0.5 along the direction from (0, 0, 0) to (2, 0.3, 0.5)
    share = 0.3 / np.linalg.norm([2.0, 0.3, 0.5])
    np.testing.assert_allclose(pulled[[0, 2]], [20.0 * share, -20.0 * share], rtol=0.02)
