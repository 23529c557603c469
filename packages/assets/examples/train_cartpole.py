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
from cartpole import CartpoleEnv
from rsl_rl.env import VecEnv
from rsl_rl.runners import OnPolicyRunner
from tensordict import TensorDict


class Adapter(CartpoleEnv, VecEnv):
    """The environment as rsl-rl-lib wants it."""

    def get_observations(self) -> TensorDict:
        """Observations by group."""
        return TensorDict({"policy": self.observe().clone()}, batch_size=[self.num_envs])

    def step(self, actions: torch.Tensor) -> tuple[TensorDict, torch.Tensor, torch.Tensor, dict]:
        """Advance and hand over what the runner wants."""
        reward, done, late = self.advance(actions)
        return self.get_observations(), reward, done.long(), {"time_outs": late}


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
    env._start(torch.ones(env.num_envs, dtype=torch.bool, device=env.device))
    total = torch.zeros(env.num_envs, device=env.device)
    alive = torch.ones_like(total, dtype=torch.bool)
    with torch.inference_mode():
        for _ in range(env.max_episode_length):
            reward, done, _ = env.advance(policy(env.get_observations()))
            total += reward * alive
            alive &= ~done
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
    env = Adapter(options.envs, options.device, options.seed)
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
