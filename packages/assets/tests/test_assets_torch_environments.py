"""Vectorised environments: Gymnasium's interface, episodes, and what each task says of itself."""

from __future__ import annotations

import importlib.util
import math
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tensorphys_assets.environments import (
    AntEnv,
    CartpoleEnv,
    PandaReachEnv,
    QuadrupedEnv,
    VectorEnvironment,
)
from tensorphys_assets.errors import ConfigurationError

PANDA = pathlib.Path(__file__).parents[3] / "examples" / "panda" / "panda.usdc"
Make = Callable[..., VectorEnvironment]


def _panda(num_envs: int, **options: Any) -> PandaReachEnv:
    return PandaReachEnv(num_envs, stage=str(PANDA), **options)


TASKS: dict[str, Make] = {"cartpole": CartpoleEnv, "ant": AntEnv, "quadruped": QuadrupedEnv, "panda": _panda}


@pytest.fixture(params=sorted(TASKS))
def make(request: pytest.FixtureRequest) -> Make:
    return TASKS[request.param]


def _random(env: VectorEnvironment, generator: torch.Generator) -> torch.Tensor:
    numbers = torch.rand((env.num_envs, env.action_size), generator=generator)
    return (2.0 * numbers - 1.0).to(env.device)


def test_the_interface_is_that_of_gymnasium(make: Make, device: str) -> None:
    env = make(3, device=device, max_episode_steps=4)
    if importlib.util.find_spec("gymnasium"):
        import gymnasium

        assert isinstance(env, gymnasium.vector.VectorEnv)
        assert env.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
        assert env.unwrapped is env
        assert env.single_action_space.contains(np.zeros(env.action_size, np.float32))
    assert env.observation_space.shape == (3, env.observation_size)
    assert env.single_observation_space.shape == (env.observation_size,)
    assert env.action_space.shape == (3, env.action_size)
    observation, info = env.reset(seed=5)
    assert info == {}
    generator = torch.Generator().manual_seed(0)
    for number in range(1, 7):
        observation, reward, terminated, truncated, info = env.step(_random(env, generator))
        assert observation.shape == info["final_obs"].shape == (3, env.observation_size)
        for values in (reward, terminated, truncated, info["episode_return"], info["episode_steps"]):
            assert values.shape == (3,)
            assert values.device == env.device
        assert terminated.dtype == truncated.dtype == torch.bool
        assert bool(torch.isfinite(observation).all())
        assert bool(torch.isfinite(reward).all())
        over = terminated | truncated
        assert torch.equal(info["_final_obs"], over)
        if not bool(terminated.any()):
            assert bool(truncated.all()) == (number == 4)
        # Where nothing ended the last observation and the next one are the same.
        assert torch.equal(observation[~over], info["final_obs"][~over])
        assert bool((env.episode_steps[over] == 0).all())
        assert bool((env.episode_return[over] == 0).all())
    env.close()
    assert env.closed


def test_a_seed_makes_the_same_run(make: Make, device: str) -> None:
    env = make(2, device=device)
    runs = []
    for seed in (3, 3, 4):
        first, _ = env.reset(seed=seed)
        generator = torch.Generator().manual_seed(1)
        for _ in range(5):
            last, reward, *_ = env.step(_random(env, generator))
        runs.append((first, last.clone(), reward))
    for a, b in zip(runs[0], runs[1], strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(runs[0][0], runs[2][0])


def test_a_mask_starts_chosen_episodes_and_leaves_the_others(device: str) -> None:
    env = AntEnv(3, device=device)
    generator = torch.Generator().manual_seed(1)
    for _ in range(5):
        before, *_ = env.step(_random(env, generator))
    mask = torch.tensor([False, True, False], device=env.device)
    after, _ = env.reset(options={"reset_mask": mask})
    assert torch.equal(after[~mask], before[~mask])
    assert not torch.equal(after[mask], before[mask])
    assert env.episode_steps.tolist() == [5, 0, 5]
    with pytest.raises(ConfigurationError, match=r"reset_mask of shape \[3\], given \[2\]"):
        env.reset(options={"reset_mask": mask[:2]})
    with pytest.raises(ConfigurationError, match="one seed"):
        env.reset(seed=[1, 2, 3])
    with pytest.raises(ConfigurationError, match=r"shape \[3, 8\], given \[3, 7\]"):
        env.step(torch.zeros((3, 7), device=env.device))
    with pytest.raises(ConfigurationError, match="num_envs: expected at least 1"):
        AntEnv(0, device=device)


def test_a_push_accelerates_cart_and_pole_as_the_equation_says(device: str) -> None:
    env = CartpoleEnv(2, device=device)
    env.robot.write_joint_position_to_sim_index(position=np.zeros((2, 2), np.float32))
    env.step(torch.tensor([[0.1], [-0.1]], device=env.device))
    t, force, cart, pole, length, inertia = env.step_dt, 10.0, 1.0, 0.5, 0.47, 0.0367
    # Upright and at rest: (M + m) x'' + m l a = F and m l x'' + (I + m l²) a = 0.
    matrix = np.array([[cart + pole, -pole * length], [-pole * length, inertia + pole * length**2]])
    acceleration = np.linalg.solve(matrix, [force, 0.0])
    observation = env.observe()
    np.testing.assert_allclose(np.abs(observation[0, 2:].cpu().numpy()), np.abs(acceleration) * t, rtol=0.02)
    torch.testing.assert_close(observation[0], -observation[1])


def test_lost_carts_end_and_start_anew(device: str) -> None:
    env = CartpoleEnv(8, device=device, max_episode_steps=40)
    seen = 0
    for _ in range(90):
        state, reward, terminated, truncated, info = env.step(torch.ones((8, 1), device=env.device))
        over = terminated | truncated
        assert not bool((truncated & (reward == 0)).any())
        assert bool((reward[terminated] == 0).all())
        assert bool((state[over, 0].abs() <= 0.5).all())
        assert bool((state[over, 2:] == 0).all())
        # A step is worth 1 but the one in which all is lost.
        expected = info["episode_steps"] - terminated.int()
        assert torch.equal(info["episode_return"][over], expected[over].float())
        seen += int(over.sum())
    assert seen >= 16


def test_an_ant_is_paid_for_its_way_along_x(device: str) -> None:
    env = AntEnv(2, device=device)
    velocity = torch.zeros((2, 6), device=env.device)
    velocity[0, 0], velocity[1, 1] = 1.5, 1.5
    env.robot.write_root_velocity_to_sim_index(root_velocity=velocity)
    before = env.robot.data.root_pos_w.torch.clone()
    _, reward, *_ = env.step(torch.zeros((2, 8), device=env.device))
    way = env.robot.data.root_pos_w.torch - before
    # The same but for the direction: the first is ahead by its speed.
    torch.testing.assert_close(
        reward[0] - reward[1], (way[0, 0] - way[1, 0]) / env.step_dt, rtol=0.02, atol=0
    )
    assert float(reward[0] - reward[1]) > 1.0
    pose = env.robot.data.root_pose_w.torch.clone()
    # On its back, so that the torso can lie on the ground.
    pose[0, 2:] = torch.tensor([0.28, 1.0, 0.0, 0.0, 0.0])
    env.robot.write_root_pose_to_sim_index(root_pose=pose)
    _, reward, terminated, *_ = env.step(torch.zeros((2, 8), device=env.device))
    assert terminated.tolist() == [True, False]
    assert float(reward[0]) == -2.0


def test_a_quadruped_stands_and_trots_forward(device: str) -> None:
    env = QuadrupedEnv(2, device=device)
    names = env.robot.joint_names
    for _ in range(50):
        _, _, terminated, *_ = env.step(torch.zeros((2, 12), device=env.device))
        assert not bool(terminated.any())
    data = env.robot.data
    torch.testing.assert_close(data.root_pos_w.torch[:, 2].cpu(), torch.full((2,), 0.3), rtol=0, atol=0.02)
    assert bool((data.projected_gravity_b.torch[:, 2] < -0.99).all())
    start = data.root_pos_w.torch[:, 0].clone()
    for number in range(200):
        action = torch.zeros((2, 12))
        for leg, offset in (("FL", 0.0), ("RR", 0.0), ("FR", math.pi), ("RL", math.pi)):
            phase = 4.0 * math.pi * number * env.step_dt + offset
            lift = max(0.0, math.sin(phase))
            action[:, names.index(f"{leg}_thigh")] = 0.5 * math.cos(phase) + 0.8 * lift
            action[:, names.index(f"{leg}_knee")] = -lift
        _, _, terminated, *_ = env.step(action.to(env.device))
        assert not bool(terminated.any())
    assert bool((data.root_pos_w.torch[:, 0] - start > 0.15).all())


def test_a_panda_reaches_its_targets_by_the_jacobian(device: str) -> None:
    env = _panda(2, device=device)
    rows = [env.robot.data.body_names.index("panda_hand") - 1]
    identity = 0.01 * torch.eye(3, device=env.device)
    before = env.way().norm(dim=1)
    for _ in range(90):
        jacobian = env.robot.data.body_link_jacobian_w.torch[:, rows[0], :3, :7]
        solved = torch.linalg.solve(jacobian @ jacobian.mT + identity, env.way()[:, :, None])
        wanted = env.observe()[:, :7] + (jacobian.mT @ solved).squeeze(-1)
        _, reward, *_ = env.step(wanted / env.reach)
    after = env.way().norm(dim=1)
    assert bool((before > 0.05).any())
    assert bool((after < 0.01).all())
    assert bool((reward > 0.85).all())
