"""Puts the actuator models of this package, each standing alone, under Isaac Lab's suites of them.

Copied beside the suites as ``conftest.py``. A model here belongs to the collection of an articulation; the suites make one from
joint names and hand it commands and state as tensors, so that a bench stands for the collection.
"""

from __future__ import annotations

from typing import Any

import isaaclab.utils
import numpy as np
import torch
import warp as wp
from isaaclab.actuators import ActuatorBaseCfg
from isaaclab.utils.types import ArticulationActions

import tensorphys_assets as ta
from tensorphys_assets.actuators.collection import _PROPERTIES, _model_of, _value
from tensorphys_assets.actuators.models import resolve
from tensorphys_assets.selection import Axis

_original = isaaclab.utils.instantiate


class Bench:
    """What a model asks of its collection."""

    model_limits = staticmethod(ta.ActuatorCollection.model_limits)

    def __init__(self, names: list[str], count: int, device: str, given: dict[str, Any]) -> None:
        self.joint_names, self.num_instances, self.num_joints = names, count, len(names)
        self.device = str(device)
        self.axis = Axis(count, self.device, "env")
        self.all_instances, self.all_mask = self.axis.choose(), self.axis.mask
        self.commands, self.outputs, self.joint_state = self._arrays(3), self._arrays(3), self._arrays(2)
        self.properties = {
            name: self._full(value).reshape((count, len(names), 1)) for name, value in given.items()
        }

    def _full(self, value: Any) -> wp.array:
        host = np.broadcast_to(np.asarray(value, np.float32), (self.num_instances, self.num_joints))
        return wp.array(np.ascontiguousarray(host), dtype=wp.float32, device=self.device)

    def _arrays(self, number: int) -> list[wp.array]:
        return [self._full(0.0) for _ in range(number)]

    def given_properties(self, places: list[int]) -> dict[str, Any]:
        return {name: array.numpy()[:, places, 0] for name, array in self.properties.items()}

    def property_of_joints(self, quantity: str) -> wp.array:
        return self.properties[quantity]


class Alone:
    """A model on its bench, called as the suites call theirs; what is read is a tensor."""

    def __init__(
        self, cfg: Any, joint_names: list[str], num_envs: int, device: str, given: dict[str, Any]
    ) -> None:
        infinite = float("inf")
        names = {"stiffness": "joint_stiffness", "damping": "joint_damping"}
        names |= {"actuator_effort_limit": "joint_effort_limits", "joint_effort_limit": "joint_effort_limits"}
        names |= {"actuator_velocity_limit": "joint_vel_limits", "joint_velocity_limit": "joint_vel_limits"}
        values = {
            "joint_stiffness": 0.0,
            "joint_damping": 0.0,
            "joint_effort_limits": infinite,
            "joint_vel_limits": infinite,
        }
        values |= dict.fromkeys(_PROPERTIES.values(), 0.0) | {
            "joint_effort_limits": infinite,
            "joint_vel_limits": infinite,
        }
        for name, value in given.items():
            if value is not None and name in names:
                values[names[name]] = value.numpy() if isinstance(value, torch.Tensor) else value
        self.bench = Bench(joint_names, num_envs, device, values)
        places = list(range(len(joint_names)))
        self.model = _model_of("group", cfg)("group", cfg, self.bench, places)
        for field, quantity in _PROPERTIES.items():
            value = _value(cfg, field)
            if value is not None:
                host = resolve(value, joint_names, self.bench.properties[quantity].numpy()[..., 0], field)
                self.bench.properties[quantity].assign(host[..., None])

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.model, name)
        return value.torch if hasattr(value, "torch") else value

    def compute(
        self, action: ArticulationActions, joint_pos: torch.Tensor, joint_vel: torch.Tensor
    ) -> ArticulationActions:
        given = (action.joint_positions, action.joint_velocities, action.joint_efforts)
        for array, tensor in zip(
            self.bench.commands + self.bench.joint_state, (*given, joint_pos, joint_vel), strict=True
        ):
            wp.to_torch(array).copy_(torch.zeros_like(joint_pos) if tensor is None else tensor)
        self.model.compute(0.01)
        action.joint_efforts = wp.to_torch(self.bench.outputs[2]).clone()
        return action

    def _clip_effort(self, effort: torch.Tensor, joint_vel: torch.Tensor | None = None) -> torch.Tensor:
        """The limits of the model alone: zero gains, and the effort as the command."""
        gains = [self.model.stiffness.torch, self.model.damping.torch]
        kept = [gain.clone() for gain in gains]
        for gain in gains:
            gain.zero_()
        zeros = torch.zeros_like(effort)
        action = ArticulationActions(joint_efforts=effort.clone())
        result = self.compute(action, zeros, zeros if joint_vel is None else joint_vel).joint_efforts
        for gain, value in zip(gains, kept, strict=True):
            gain.copy_(value)
        return result


def instantiate(cfg: Any, *arguments: Any, **options: Any) -> Any:
    """A model of this package for a configuration of an actuator."""
    if not isinstance(cfg, ActuatorBaseCfg):
        return _original(cfg, *arguments, **options)
    fields = ("joint_names", "num_envs", "device")
    named = {name: options.pop(name) for name in fields}
    options.pop("joint_ids", None)
    return Alone(cfg, *(named[name] for name in fields), options)


isaaclab.utils.instantiate = instantiate
