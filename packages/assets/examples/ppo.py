"""Proximal policy optimisation on the environments of this package, in plain PyTorch [Schulman et al. 2017].

The step size follows the divergence of the policy between updates; advantages are those of [Schulman et al. 2016].
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from tensorphys_assets.environments import VectorEnvironment


@dataclasses.dataclass(frozen=True)
class Settings:
    """Numbers of the algorithm.

    Attributes:
        horizon: Steps of each environment between two updates.
        epochs, batches: Passes over what was collected, and parts in each.
        discount, trace: Factors of future rewards, and of the estimates of advantages, per step.
        clip: Bound of the change of probabilities.
        rate: First step size.
        divergence: Wanted divergence of the policy in an update.
        entropy: Weight of the entropy.
        reward_scale: Factor of rewards.
        hidden: Widths of the layers.
    """

    horizon: int = 16
    epochs: int = 4
    batches: int = 4
    discount: float = 0.99
    trace: float = 0.95
    clip: float = 0.2
    rate: float = 5e-4
    divergence: float = 0.01
    entropy: float = 0.0
    reward_scale: float = 0.1
    hidden: tuple[int, ...] = (256, 128, 64)


def _network(inputs: int, outputs: int, hidden: tuple[int, ...], gain: float) -> nn.Sequential:
    layers: list[nn.Module] = []
    for width in hidden:
        layer = nn.Linear(inputs, width)
        nn.init.orthogonal_(layer.weight, 2.0**0.5)
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.ELU()]
        inputs = width
    last = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(last.weight, gain)
    nn.init.zeros_(last.bias)
    return nn.Sequential(*layers, last)


class Agent(nn.Module):
    """A Gaussian policy and the value of states, over observations that are scaled to unit variance."""

    def __init__(self, observations: int, actions: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        self.policy = _network(observations, actions, hidden, 0.01)
        self.value = _network(observations, 1, hidden, 1.0)
        self.log_std = nn.Parameter(torch.full((actions,), -0.2))
        self.register_buffer("mean", torch.zeros(observations))
        self.register_buffer("variance", torch.ones(observations))
        self.register_buffer("seen", torch.tensor(1e-4))

    def scale(self, observation: torch.Tensor) -> torch.Tensor:
        """Scaled observations, within ten deviations."""
        return ((observation - self.mean) * torch.rsqrt(self.variance + 1e-5)).clamp(-10.0, 10.0)

    def look(self, observation: torch.Tensor) -> None:
        """Take observations into mean and variance [Chan et al. 1979]."""
        count = float(observation.shape[0])
        mean, variance = observation.mean(0), observation.var(0, unbiased=False)
        total = self.seen + count
        step = mean - self.mean
        self.variance.copy_(
            (self.variance * self.seen + variance * count + step**2 * self.seen * count / total) / total
        )
        self.mean += step * count / total
        self.seen.copy_(total)

    def act(self, observation: torch.Tensor) -> torch.Tensor:
        """Means of the policy."""
        return self.policy(self.scale(observation))


def _log_probability(action: torch.Tensor, mean: torch.Tensor, log_std: torch.Tensor) -> torch.Tensor:
    # The constant of the Gaussian cancels in ratios.
    return -(0.5 * ((action - mean) * torch.exp(-log_std)) ** 2 + log_std).sum(-1)


class Learner:
    """Collects steps of all environments and updates the policy.

    Args:
        env: The environments.
        settings: Numbers of the algorithm.
        seed: Seed of the networks and of the noise.
    """

    def __init__(self, env: VectorEnvironment, settings: Settings, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.env, self.settings = env, settings
        device = env.device
        self.agent = Agent(env.observation_size, env.action_size, settings.hidden).to(device)
        self.optimizer = torch.optim.Adam(self.agent.parameters(), lr=settings.rate, eps=1e-5)
        self.rate = settings.rate
        shape = (settings.horizon, env.num_envs)
        self.observations = torch.zeros((*shape, env.observation_size), device=device)
        self.actions = torch.zeros((*shape, env.action_size), device=device)
        self.means = torch.zeros_like(self.actions)
        self.values, self.rewards, self.done, self.logs = (
            torch.zeros(shape, device=device) for _ in range(4)
        )
        self.observation, _ = env.reset()

    @torch.no_grad()
    def collect(self) -> dict[str, torch.Tensor]:
        """Steps of all environments; sums over the episodes that ended, on the device."""
        env, agent, s = self.env, self.agent, self.settings
        ended, total = (torch.zeros((), device=env.device) for _ in range(2))
        for place in range(s.horizon):
            observation = self.observation
            agent.look(observation)
            mean = agent.act(observation)
            action = mean + torch.exp(agent.log_std) * torch.randn_like(mean)
            self.observations[place] = observation
            self.actions[place], self.means[place] = action, mean
            self.values[place] = agent.value(agent.scale(observation)).squeeze(-1)
            self.logs[place] = _log_probability(action, mean, agent.log_std)
            self.observation, reward, terminated, truncated, info = env.step(action)
            # An episode that is cut off would have gone on: its rest is what the value says.
            rest = agent.value(agent.scale(info["final_obs"])).squeeze(-1)
            self.rewards[place] = s.reward_scale * reward + s.discount * rest * truncated
            over = terminated | truncated
            self.done[place] = over.float()
            ended += over.sum()
            total += (info["episode_return"] * over).sum()
        return {"episodes": ended, "returns": total}

    @torch.no_grad()
    def advantages(self) -> torch.Tensor:
        """Generalised advantage estimates."""
        s = self.settings
        result = torch.zeros_like(self.rewards)
        later = self.agent.value(self.agent.scale(self.observation)).squeeze(-1)
        trace = torch.zeros_like(later)
        for place in reversed(range(s.horizon)):
            alive = 1.0 - self.done[place]
            error = self.rewards[place] + s.discount * alive * later - self.values[place]
            trace = error + s.discount * s.trace * alive * trace
            result[place] = trace
            later = self.values[place]
        return result

    def update(self) -> None:
        """Passes over what was collected."""
        s, agent = self.settings, self.agent
        advantages = self.advantages()
        targets = (advantages + self.values).flatten()
        advantages = advantages.flatten()
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        observations = agent.scale(self.observations.flatten(0, 1))
        actions, means, logs = self.actions.flatten(0, 1), self.means.flatten(0, 1), self.logs.flatten()
        old_std = agent.log_std.detach().clone()
        for _ in range(s.epochs):
            divergence = torch.zeros((), device=actions.device)
            for rows in self._batches(len(targets)):
                mean = agent.policy(observations[rows])
                ratio = torch.exp(_log_probability(actions[rows], mean, agent.log_std) - logs[rows])
                gain = advantages[rows]
                surrogate = torch.min(ratio * gain, ratio.clamp(1 - s.clip, 1 + s.clip) * gain).mean()
                error = (agent.value(observations[rows]).squeeze(-1) - targets[rows]).square().mean()
                loss = error - surrogate - s.entropy * agent.log_std.sum()
                self.optimizer.zero_grad(set_to_none=True)
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 1.0)
                self.optimizer.step()
                with torch.no_grad():
                    spread = torch.exp(2 * (old_std - agent.log_std))
                    moved = (means[rows] - mean).square() * torch.exp(-2 * agent.log_std)
                    kl = (agent.log_std - old_std + 0.5 * (spread + moved - 1.0)).sum(-1).mean()
                    divergence += kl / s.batches
            self._adapt(float(divergence))

    def _batches(self, count: int) -> Iterator[torch.Tensor]:
        order = torch.randperm(count, device=self.env.device)
        return iter(order.chunk(self.settings.batches))

    def _adapt(self, divergence: float) -> None:
        if divergence > 2.0 * self.settings.divergence:
            self.rate = max(1e-5, self.rate / 1.5)
        elif divergence < 0.5 * self.settings.divergence:
            self.rate = min(1e-2, self.rate * 1.5)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate


@torch.no_grad()
def evaluate(learner: Learner, steps: int, measure: Any) -> torch.Tensor:
    """Mean over environments and steps of a number, with the means of the policy and from new episodes.

    Args:
        learner: The learner.
        steps: Steps, the first half of which is not counted.
        measure: Called with the environment after each step.
    """
    env = learner.env
    observation, _ = env.reset()
    total = torch.zeros((), device=env.device)
    for number in range(steps):
        observation, *_ = env.step(learner.agent.act(observation))
        if number >= steps // 2:
            total += measure(env).mean()
    learner.observation = observation
    return total / (steps - steps // 2)


def clock(device: torch.device) -> float:
    """Seconds: of the processor on a CPU, of the wall on a GPU."""
    if device.type == "cpu":
        return time.process_time()
    torch.cuda.synchronize(device)
    return time.perf_counter()
