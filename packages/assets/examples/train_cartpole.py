"""Learns to balance a pole with the PPO of rsl-rl-lib, on one core of a CPU.

python packages/assets/examples/train_cartpole.py --seed 1 --curve curve_1.json
python packages/assets/examples/plot_curves.py curve_1.json curve_2.json curve_3.json --out curve.png
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time

import torch
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict

from tensorphys_assets.environments import CartpoleEnv


class Adapter(VecEnv):
    """The environment as rsl-rl-lib wants it."""

    def __init__(self, env: CartpoleEnv) -> None:
        self.env, self.cfg = env, {}
        self.num_envs, self.num_actions = env.num_envs, env.action_size
        self.max_episode_length, self.device = env.max_episode_steps, env.device
        self.observation, _ = env.reset()
        self.finished: list[float] = []

    @property
    def episode_length_buf(self) -> torch.Tensor:
        """Steps of the episodes."""
        return self.env.episode_steps

    @episode_length_buf.setter
    def episode_length_buf(self, steps: torch.Tensor) -> None:
        self.env.episode_steps.copy_(steps)

    def get_observations(self) -> TensorDict:
        """Observations by group."""
        return TensorDict({"policy": self.observation}, batch_size=[self.num_envs])

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        """Advance and hand over what the runner wants."""
        self.observation, reward, terminated, truncated, info = self.env.step(actions)
        over = terminated | truncated
        self.finished += info["episode_return"][over].tolist()
        return self.get_observations(), reward, over.long(), {"time_outs": truncated}


def settings(seed: int) -> dict:
    """Settings of the runner; those of the algorithm are the usual ones for this task."""
    model = {"class_name": "MLPModel", "hidden_dims": [32, 32], "activation": "elu"}
    return {
        "seed": seed,
        "num_steps_per_env": 32,
        "save_interval": 10_000,
        "obs_groups": {"actor": ["policy"], "critic": ["policy"]},
        "actor": {**model, "distribution_cfg": {"class_name": "GaussianDistribution", "init_std": 1.0}},
        "critic": model,
        "algorithm": {
            "class_name": "PPO", "num_learning_epochs": 5, "num_mini_batches": 4, "clip_param": 0.2,
            "gamma": 0.99, "lam": 0.95, "learning_rate": 1e-3, "schedule": "adaptive", "desired_kl": 0.01,
            "entropy_coef": 0.005, "value_loss_coef": 1.0, "use_clipped_value_loss": True, "max_grad_norm": 1.0,
        },
    }  # fmt: skip


def evaluate(runner: OnPolicyRunner, env: Adapter) -> float:
    """Mean return of one episode in each environment, with the mean of the policy."""
    policy = runner.get_inference_policy()
    env.observation, _ = env.env.reset()
    total = torch.zeros(env.num_envs, device=env.device)
    alive = torch.ones_like(total, dtype=torch.bool)
    with torch.inference_mode():
        for _ in range(env.max_episode_length):
            _, reward, done, _ = env.step(policy(env.get_observations()))
            total += reward * alive
            alive &= done == 0
    return float(total.mean())


def main() -> None:
    """Train, and write the mean return of finished episodes after each iteration."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--curve", type=pathlib.Path, help="JSON file for the learning curve")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(options.seed)
    env = Adapter(CartpoleEnv(options.envs, device=options.device, seed=options.seed))
    runner = OnPolicyRunner(env, settings(options.seed), device=str(env.device))
    curve = []
    clock = time.process_time()
    for number in range(options.iterations):
        env.finished.clear()
        runner.learn(1)
        if env.finished:
            mean = sum(env.finished) / len(env.finished)
            steps = (number + 1) * 32 * env.num_envs
            curve.append({"steps": steps, "seconds": time.process_time() - clock, "return": mean})
            print(
                f"{steps} steps, {curve[-1]['seconds']:.0f} s of the CPU: return {mean:.0f} of {env.max_episode_length}"
            )
    final = evaluate(runner, env)
    print(f"mean of the policy: return {final:.0f} of {env.max_episode_length}")
    if options.curve:
        record = {"curve": curve, "final": final, "most": env.max_episode_length}
        options.curve.write_text(json.dumps(record), encoding="utf-8")


if __name__ == "__main__":
    main()
