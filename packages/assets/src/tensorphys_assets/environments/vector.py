"""The step and the restart that all environments have in common."""

from __future__ import annotations

import abc
import importlib
import importlib.util
import pathlib
from collections.abc import Mapping
from typing import Any, ClassVar

import warp as wp

from tensorphys_arrays import import_torch
from tensorphys_assets.environments.spaces import make_box
from tensorphys_assets.errors import ConfigurationError
from tensorphys_assets.scene import AssetScene

__all__ = ["ROBOTS", "VectorEnvironment"]

# Stages of the robots that come with the package; examples/make_robots.py writes them.
ROBOTS = pathlib.Path(__file__).parent / "robots"

# Tensors of torch, which is imported only when an environment is made.
Tensor = Any


def _gymnasium_base() -> Any:
    """Gymnasium's interface of vectorised environments, ``None`` where it is not installed."""
    if importlib.util.find_spec("gymnasium") is None:
        return None
    return importlib.import_module("gymnasium.vector").VectorEnv


_Base: Any = _gymnasium_base() or object


def _metadata() -> dict[str, Any]:
    if _Base is object:
        return {"autoreset_mode": "SameStep"}
    return {"autoreset_mode": importlib.import_module("gymnasium.vector").AutoresetMode.SAME_STEP}


class VectorEnvironment(_Base, metaclass=abc.ABCMeta):
    """Copies of a scene of assets that act, observe and start anew together, on one device.

    It is a ``gymnasium.vector.VectorEnv`` where Gymnasium is installed, and has the same methods where not. Observations,
    rewards and flags are tensors of torch on the device of the simulation, and nothing in a step waits for it. An episode
    that ends starts anew in the same step: the observation returned is the first of the next one, and the last one is
    ``info["final_obs"]`` in the rows of ``info["_final_obs"]``.

    Actions are numbers from -1 to 1; those beyond are clamped.

    Subclasses name a stage, add assets, and say how actions act, what is observed, what is rewarded and how episodes start.

    Args:
        num_envs: Number of environments.
        device: Warp device; default CUDA where there is one.
        dt: Time of a step of the simulation [s].
        decimation: Steps of the simulation in each step of the environment.
        max_episode_steps: Steps after which an episode is truncated.
        seed: Seed of starts and commands, until ``reset`` is given another one.

    Raises:
        ConfigurationError: A count is not positive.
    """

    metadata: ClassVar[dict[str, Any]] = _metadata()
    render_mode = None
    spec = None
    closed = False

    observation_size: ClassVar[int]
    action_size: ClassVar[int]

    def __init__(
        self,
        num_envs: int,
        *,
        device: str | None = None,
        dt: float = 1.0 / 120.0,
        decimation: int = 2,
        max_episode_steps: int = 600,
        seed: int = 0,
    ) -> None:
        for name, value in (
            ("num_envs", num_envs),
            ("decimation", decimation),
            ("max_episode_steps", max_episode_steps),
        ):
            if value < 1:
                raise ConfigurationError(f"{type(self).__name__}.{name}: expected at least 1, given {value}")
        self.torch = import_torch("an environment")
        self.num_envs, self.decimation = num_envs, decimation
        self.max_episode_steps, self.step_dt = max_episode_steps, dt * decimation
        with AssetScene(self.author(), replicate=num_envs, device=device, dt=dt) as self.scene:
            self.add_assets()
        self.scene.reset()
        torch = self.torch
        self.device = torch.device(wp.device_to_torch(self.scene.device))
        self.single_observation_space = make_box(float("inf"), (self.observation_size,))
        self.single_action_space = make_box(1.0, (self.action_size,))
        self.observation_space = make_box(float("inf"), (num_envs, self.observation_size))
        self.action_space = make_box(1.0, (num_envs, self.action_size))
        self.generator = torch.Generator(device=self.device)
        self.episode_steps = torch.zeros(num_envs, dtype=torch.int32, device=self.device)
        self.episode_return = torch.zeros(num_envs, device=self.device)
        self.actions = torch.zeros((num_envs, self.action_size), device=self.device)
        self.prepare()
        self.reset(seed=seed)

    # What Gymnasium asks for.

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Tensor, dict[str, Any]]:
        """Start episodes.

        Args:
            seed: Seed of all starts and commands from now on; one number, since one generator serves all environments.
            options: ``"reset_mask"``: a mask of the environments that start anew, shape [num_envs]; all without it.

        Returns:
            Observations, shape [num_envs, observation_size], and an empty dictionary.

        Raises:
            ConfigurationError: Several seeds, or a mask of another shape.
        """
        if isinstance(seed, (list, tuple)):
            raise ConfigurationError(
                f"{type(self).__name__}.reset: expected one seed, given a list of {len(seed)}"
            )
        if seed is not None:
            self.generator.manual_seed(seed)
        mask = (options or {}).get("reset_mask")
        torch = self.torch
        if mask is None:
            mask = torch.ones(self.num_envs, dtype=torch.bool, device=self.device)
        mask = torch.as_tensor(mask, device=self.device).bool()
        if mask.shape != (self.num_envs,):
            raise ConfigurationError(
                f"{type(self).__name__}.reset: expected a reset_mask of shape [{self.num_envs}], "
                f"given {list(mask.shape)}"
            )
        self._restart(mask)
        return self.observe(), {}

    def step(self, actions: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Act, simulate, and start what has ended anew.

        Args:
            actions: Numbers from -1 to 1, shape [num_envs, action_size]; a tensor, or what torch makes one of.

        Returns:
            Observations [num_envs, observation_size]; rewards, whether episodes terminated, and whether they were
            truncated, [num_envs] each; and information, where ``episode_return`` and ``episode_steps`` are those of the
            episodes that ended, in the rows of ``_final_obs``.

        Raises:
            ConfigurationError: Actions of another shape.
        """
        torch = self.torch
        given = torch.as_tensor(actions, dtype=torch.float32, device=self.device)
        if given.shape != self.actions.shape:
            raise ConfigurationError(
                f"{type(self).__name__}.step: expected actions of shape {list(self.actions.shape)}, "
                f"given {list(given.shape)}"
            )
        self.actions.copy_(given.detach().clamp(-1.0, 1.0))
        self.act(self.actions)
        self.scene.step(self.decimation)
        self.episode_steps += 1
        final = self.observe()
        reward, terminated = self.judge(self.actions)
        truncated = (self.episode_steps >= self.max_episode_steps) & ~terminated
        done = terminated | truncated
        self.episode_return += reward
        info = {
            "final_obs": final,
            "_final_obs": done,
            "episode_return": self.episode_return.clone(),
            "episode_steps": self.episode_steps.clone(),
        }
        self._restart(done)
        return self.observe(), reward, terminated, truncated, info

    def close(self, **options: Any) -> None:
        """Nothing is held that must be given back."""
        self.closed = True

    # What tasks say.

    @abc.abstractmethod
    def author(self) -> Any:
        """The stage of one environment, of which copies are made."""

    @abc.abstractmethod
    def add_assets(self) -> None:
        """Make the assets; the scene is current."""

    def prepare(self) -> None:
        """Allocate what steps need; the simulation exists."""

    @abc.abstractmethod
    def act(self, actions: Tensor) -> None:
        """Make commands of actions.

        Args:
            actions: Numbers from -1 to 1, shape [num_envs, action_size].
        """

    @abc.abstractmethod
    def observe(self) -> Tensor:
        """Observations, a tensor of its own, shape [num_envs, observation_size]."""

    @abc.abstractmethod
    def judge(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Rewards of the last step and whether it ended the episode, shape [num_envs] each.

        Args:
            actions: Those that led here.
        """

    @abc.abstractmethod
    def restart(self, mask: Tensor) -> None:
        """Write the state in which episodes start.

        Args:
            mask: Environments, bool, shape [num_envs].
        """

    # For tasks.

    def uniform(self, size: int, low: float = -1.0, high: float = 1.0) -> Tensor:
        """Random numbers, shape [num_envs, size]."""
        numbers = self.torch.rand((self.num_envs, size), generator=self.generator, device=self.device)
        return low + (high - low) * numbers

    def _restart(self, mask: Tensor) -> None:
        with self.scene.one_pass():
            self.restart(mask)
        self.episode_steps.masked_fill_(mask, 0)
        self.episode_return.masked_fill_(mask, 0.0)
        self.actions.masked_fill_(mask[:, None], 0.0)
