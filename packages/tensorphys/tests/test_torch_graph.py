"""A policy in PyTorch, getters, setters and steps in one CUDA graph of PyTorch."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tensorphys

REPLAYS = 1000


def _ants(stages: SimpleNamespace) -> tuple[tensorphys.SimulationView, tensorphys.ArticulationView]:
    """Three ants in the air: their joints move, and nothing touches."""
    stage = stages.Author.new()
    stage.environments(3, lambda path, _: stage.ant(f"{path}/ant", (0, 0, 50)), spacing=5.0)
    sim = tensorphys.create_simulation_view(
        "torch", stage=stage.stage, environments="/envs/*", device="cuda:0"
    )
    return sim, sim.create_articulation_view("/envs/*/ant/torso")


def _run(torch: Any, stages: SimpleNamespace, *, captured: bool) -> dict[str, np.ndarray]:
    """State after get, policy, set and step, called a thousand times or replayed as often."""
    sim, view = _ants(stages)
    torch.manual_seed(0)
    weights = (0.2 * torch.randn(8, 16)).cuda()

    def loop() -> None:
        seen = torch.cat((view.get_dof_positions(), view.get_dof_velocities()), dim=1)
        view.set_dof_actuation_forces(0.2 * torch.tanh(seen @ weights.T), None)
        sim.step(stages.DT)

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        loop()  # kernels are compiled and buffers made outside of the graph
        if captured:
            graph = torch.cuda.CUDAGraph()
            stream.synchronize()
            with torch.cuda.graph(graph, stream=stream):
                loop()
            for _ in range(REPLAYS):
                graph.replay()
        else:
            for _ in range(REPLAYS):
                loop()
    stream.synchronize()
    names = ("dof_positions", "dof_velocities", "root_transforms", "root_velocities")
    return {name: getattr(view, f"get_{name}")().cpu().numpy() for name in names}


@pytest.mark.cuda
def test_a_thousand_replays_of_a_captured_policy_equal_the_plain_loop(stages: SimpleNamespace) -> None:
    torch = pytest.importorskip("torch")
    direct, replayed = (_run(torch, stages, captured=captured) for captured in (False, True))
    for name in direct:
        np.testing.assert_array_equal(direct[name], replayed[name], err_msg=name)
    assert np.abs(direct["dof_velocities"]).max() > 0.01
    assert np.isfinite(direct["root_transforms"]).all()
