"""Authored contact margins are distances that shapes keep at rest; gaps are not.

The schema of `newton:contactMargin` calls it an outward offset of the surface and adds those of two shapes; its
`newton:contactGap` only says how early contacts are looked for. The converter from MuJoCo writes a geom's margin and
gap into the two, and MuJoCo itself holds geoms apart by the sum of their margins.
"""

import numpy as np
import pytest

RADIUS = 0.1
CASES = [(0.0, 0.0, 0.0), (0.05, 0.0, 0.0), (0.05, 0.03, 0.0), (0.05, 0.0, 0.04), (0.0, 0.0, 0.05)]


def resting_height(author, host, device, ball, ground, gap):
    """Height of the lowest point of a ball at rest above the ground [m], its margin and that of the ground given."""
    from pxr import Sdf

    stage = author()
    stage.ball_body("/ball", (0.0, 0.0, RADIUS + 0.1), RADIUS)
    colliders = {stage.stage.GetPrimAtPath("/ball/shape"): ball, stage.ground(): ground}
    for prim, margin in colliders.items():
        for name, value in (("contactMargin", margin), ("contactGap", gap)):
            prim.CreateAttribute(f"newton:{name}", Sdf.ValueTypeNames.Float).Set(value)
    view = stage.view(device)
    body = view.create_rigid_body_view("/ball")
    for _ in range(240):
        view.step(1.0 / 120.0)
    assert np.abs(host(body.get_velocities())).max() < 1e-3
    return host(body.get_transforms())[0, 2] - RADIUS


@pytest.mark.parametrize(("ball", "ground", "gap"), CASES)
def test_shapes_rest_apart_by_their_margins(author, host, measure, device, ball, ground, gap):
    height = resting_height(author, host, device, ball, ground, gap)
    measure(f"margins {ball}, {ground}, gap {gap}: height at rest", abs(height - ball - ground), 5e-4, "m")


@pytest.mark.peers
@pytest.mark.parametrize(("ball", "ground", "gap"), CASES)
def test_mujoco_rests_at_the_same_height(author, host, measure, ball, ground, gap):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><worldbody>
            <geom type="plane" size="5 5 .1" margin="{ground}" gap="{gap}"/>
            <body pos="0 0 {RADIUS + 0.1}"><freejoint/>
                <geom type="sphere" size="{RADIUS}" mass="1" margin="{ball}" gap="{gap}"/></body>
        </worldbody></mujoco>"""
    )
    data = mujoco.MjData(model)
    for _ in range(3000):
        mujoco.mj_step(model, data)
    height = resting_height(author, host, "cpu", ball, ground, gap)
    # Its contacts give way by 0.4 mm under this weight.
    measure(
        f"margins {ball}, {ground}, gap {gap}: to MuJoCo", abs(height - (data.qpos[2] - RADIUS)), 1e-3, "m"
    )
