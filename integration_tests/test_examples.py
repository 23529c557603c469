"""Examples do what their pictures show."""

from __future__ import annotations

import pathlib
import re

import numpy as np

import tensorphys

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"


def test_a_cloth_hangs_over_a_sphere() -> None:
    """It lies on the ball, hangs beside it without touching the ground, and its springs hardly stretch."""
    sim = tensorphys.create_simulation_view(
        "numpy", stage=str(EXAMPLES / "cloth" / "cloth_over_sphere.usda"), device="cpu"
    )
    cloth = sim.create_particle_cloth_view("/World/Cloth")
    for _ in range(90):
        sim.step(1.0 / 60.0)
    points = cloth.get_positions().reshape(-1, 3).astype(float)
    apart = np.linalg.norm(points - [0.0, 0.0, 0.5], axis=1) - 0.3
    rest = 0.99 * 0.02
    assert apart.min() > rest - 1e-3
    assert (apart < rest + 2e-3).sum() > 100
    assert 0.05 < points[:, 2].min() < 0.4
    assert abs(points[:, :2].mean(axis=0)).max() < 0.02
    springs = sim.simulation.particles.plan.systems[0].cloths[0].mesh.springs
    stiff = springs.stiffnesses == 1.0e4
    ends = points[springs.indices[stiff]]
    stretch = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1) / springs.rest_lengths[stiff] - 1.0
    assert np.quantile(stretch, 0.99) < 0.01 and stretch.max() < 0.02


def test_the_program_of_the_readme_runs() -> None:
    """As it stands but for eight environments on the CPU, and NumPy where PyTorch is not to be had."""
    text = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    program = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert program is not None
    code = program.group(1).replace("replicate=4096", "replicate=8").replace("cuda:0", "cpu")
    code = code.replace("import torch, tensorphys", "import numpy as np, tensorphys").replace(
        '"torch"', '"numpy"'
    )
    code = code.replace("torch.zeros(", "np.zeros(").replace(
        ', device="cpu")\nfor', ", dtype=np.float32)\nfor"
    )
    code = code.replace('"examples/', f'"{EXAMPLES}/')
    scope: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), scope)
    links = scope["links"]
    assert isinstance(links, np.ndarray) and links.shape[0] == 8 and links.shape[2] == 7
    assert np.isfinite(links).all() and np.array_equal(links[0], links[7])
