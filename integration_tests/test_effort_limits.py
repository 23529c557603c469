"""Effort limits that converters wrote bound actuation once they are asked for."""

import numpy as np
import pytest

GRAVITY_FREE = 0.0


def speeds(author, host, device, limited):
    """Speeds of two slides after half a second under 20 N each, the first one with an effort limit of 5 N."""
    from pxr import Sdf

    import tensorphys
    import tensorphys_scene
    import tensorphys_usd

    stage = author(GRAVITY_FREE)
    stage.fixed_base("/base")
    for name in ("weak", "strong"):
        stage.body(f"/{name}")
        stage.joint(f"/{name}_slide", "Prismatic", "/base", f"/{name}", axis="X")
    weak = stage.stage.GetPrimAtPath("/weak_slide")
    weak.CreateAttribute("urdf:limit:effort", Sdf.ValueTypeNames.Double).Set(5.0)
    scene = tensorphys_usd.parse_stage(stage.stage)
    if limited:
        scene = tensorphys_scene.limit_efforts(scene)
    frontend = "numpy" if device == "cpu" else "warp"
    view = tensorphys.create_simulation_view(frontend, scene=scene, device=device)
    arm = view.create_articulation_view("/base")
    forces = np.full((1, 2), 20.0, np.float32)
    rows = np.zeros(1, np.int32)
    if device != "cpu":
        import warp as wp

        forces, rows = (wp.array(values, device=device) for values in (forces, rows))
    arm.set_dof_actuation_forces(forces, rows)
    for _ in range(60):
        view.step(1.0 / 120.0)
    return dict(zip(arm.shared_metatype.dof_names, host(arm.get_dof_velocities())[0], strict=True))


@pytest.mark.parametrize(("limited", "weak"), [(False, 10.0), (True, 2.5)])
def test_a_limit_bounds_actuation_on_request(author, host, measure, device, limited, weak):
    found = speeds(author, host, device, limited)
    measure("speed of the slide with a limit, relative error", abs(found["weak_slide"] / weak - 1), 1e-3)
    measure("speed of the slide without one, relative error", abs(found["strong_slide"] / 10.0 - 1), 1e-3)
