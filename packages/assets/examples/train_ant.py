"""Learns to run as an ant, with the PPO of ppo.py.

python packages/assets/examples/train_ant.py --device cuda:0 --envs 4096 --seconds 240 --curve ant.json --csv ant.csv
"""

from __future__ import annotations

import argparse
import csv
import json
import pathlib
import time

import torch
import warp as wp
from ppo import Learner, Settings, clock, evaluate

from tensorphys_assets.environments import AntEnv


def main() -> None:
    """Train for a while, and write speed and return over time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--envs", type=int, default=4096)
    parser.add_argument(
        "--seconds", type=float, default=240.0, help="when to stop, counted from the start of all"
    )
    parser.add_argument("--iterations", type=int, default=100_000)
    parser.add_argument("--horizon", type=int, default=16)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--every", type=int, default=10, help="updates between two lines")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--curve", type=pathlib.Path, help="JSON file for the learning curve")
    parser.add_argument("--csv", type=pathlib.Path, help="the same as a table")
    options = parser.parse_args()
    wp.config.log_level = wp.LOG_WARNING
    if options.device == "cpu":
        torch.set_num_threads(1)
    begin = time.perf_counter()
    env = AntEnv(options.envs, device=options.device, seed=options.seed)
    env.step(torch.zeros((options.envs, 8), device=env.device))
    built = time.perf_counter() - begin
    print(f"{options.envs} ants on {env.device}, ready after {built:.0f} s", flush=True)
    learner = Learner(env, Settings(horizon=options.horizon, batches=options.batches), options.seed)
    curve: list[dict[str, float]] = []
    episodes = returns = 0.0
    start = clock(env.device)
    for number in range(1, options.iterations + 1):
        found = learner.collect()
        episodes, returns = episodes + found["episodes"], returns + found["returns"]
        learner.update()
        if number % options.every and number != options.iterations:
            continue
        ended = float(episodes)
        row = {
            "iteration": number,
            "steps": number * options.horizon * options.envs,
            "seconds": clock(env.device) - start,
            "speed": float(env.forward_speed.mean()),
            "reward": float(learner.rewards.mean()) / learner.settings.reward_scale,
            "return": float(returns) / ended if ended else float("nan"),
            "episodes": ended,
            "deviation": float(learner.agent.log_std.detach().exp().mean()),
            "rate": learner.rate,
        }
        curve.append(row)
        episodes = returns = 0.0
        print(" ".join(f"{key} {value:.4g}" for key, value in row.items()), flush=True)
        if time.perf_counter() - begin > options.seconds:
            break
    learned = clock(env.device) - start
    speed = float(evaluate(learner, 600, lambda env: env.forward_speed))
    print(
        f"speed of the policy's mean, second half of 600 steps: {speed:.2f} m/s after {learned:.0f} s of learning"
    )
    record = {
        "curve": curve,
        "final_speed": speed,
        "learned_s": learned,
        "built_s": built,
        "envs": options.envs,
    }
    if options.curve:
        options.curve.write_text(json.dumps(record), encoding="utf-8")
    if options.csv:
        with options.csv.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(curve[0]))
            writer.writeheader()
            writer.writerows(curve)


if __name__ == "__main__":
    main()
