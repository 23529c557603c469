"""The cartpole of the examples obeys its equation of motion and its rules."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from types import ModuleType

import numpy as np
import pytest
import torch


@pytest.fixture(scope="module")
def cartpole() -> ModuleType:
    path = pathlib.Path(__file__).parents[1] / "examples" / "cartpole.py"
    spec = importlib.util.spec_from_file_location("cartpole_example", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["cartpole_example"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_push_accelerates_cart_and_pole_as_the_equation_says(cartpole: ModuleType) -> None:
    env = cartpole.CartpoleEnv(2)
    env.robot.write_joint_position_to_sim_index(position=np.zeros((2, 2), np.float32))
    env.advance(torch.tensor([[0.1], [-0.1]]))
    t, force, cart, pole, length, inertia = 2 / 120, 10.0, 1.0, 0.5, 0.47, 0.0367
    # Upright and at rest: (M + m) x'' + m l a = F and m l x'' + (I + m l²) a = 0.
    matrix = np.array([[cart + pole, -pole * length], [-pole * length, inertia + pole * length**2]])
    acceleration = np.linalg.solve(matrix, [force, 0.0])
    velocity = env.observe()[0, 2:].numpy()
    np.testing.assert_allclose(np.abs(velocity), np.abs(acceleration) * t, rtol=0.02)
    torch.testing.assert_close(env.observe()[0], -env.observe()[1])


def test_episodes_end_by_rule_and_start_anew(cartpole: ModuleType) -> None:
    env = cartpole.CartpoleEnv(8)
    env.max_episode_length = 40
    seen = 0
    for _ in range(90):
        reward, done, late = env.advance(torch.ones(8, 1))
        assert not (late & (reward == 0)).any()
        state = env.observe()
        # Those that ended stand near the centre again.
        assert (state[done, 0].abs() <= 0.5).all()
        assert (state[done, 2:] == 0).all()
        assert (env.episode_length_buf[done] == 0).all()
        seen += int(done.sum())
    assert seen == len(env.finished)
    assert seen >= 16
    assert max(env.finished) <= 40
