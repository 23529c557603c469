"""Models of a group of joints that are networks of torch."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import warp as wp

from tensorphys_arrays import import_torch
from tensorphys_assets._kernels import actuators as kernels
from tensorphys_assets.actuators.models import DCMotor
from tensorphys_assets.selection import Choice

if TYPE_CHECKING:
    from tensorphys_assets.actuators.collection import ActuatorCollection

__all__ = ["ActuatorNetLSTM", "ActuatorNetMLP"]


class _Network(DCMotor):
    """What networks have in common: position errors and velocities in, efforts out."""

    def __init__(self, name: str, cfg: Any, collection: ActuatorCollection, places: list[int]) -> None:
        super().__init__(name, cfg, collection, places)
        self._torch = import_torch("network actuators")
        device = wp.device_to_torch(self.device)
        self._network = self._torch.jit.load(cfg.network_file, map_location=device).eval()
        self._places = self._torch.as_tensor(places, device=device)
        self._effort = wp.zeros((collection.num_instances, len(places)), dtype=wp.float32, device=self.device)
        self._effort_torch = wp.to_torch(self._effort)

    def _inputs(self) -> tuple[Any, Any]:
        """Position errors and velocities of the group, shape [instances, joints]."""
        c = self._collection
        position, velocity = (wp.to_torch(array)[:, self._places] for array in c.joint_state)
        return wp.to_torch(c.commands[0])[:, self._places] - position, velocity

    def compute(self, dt: float) -> None:
        """Make efforts by the network.

        Args:
            dt: Time of a step [s].
        """
        c = self._collection
        with self._torch.inference_mode():
            self._effort_torch.copy_(self._infer(*self._inputs()))
        limits = [self.actuator_effort_limit.warp, self.actuator_velocity_limit.warp, self._stall.warp]
        wp.launch(
            kernels.network_efforts,
            self._effort.shape,
            [self.joint_indices.warp, self._effort, c.joint_state[1], *limits],
            c.outputs,
            device=self.device,
        )

    @abstractmethod
    def _infer(self, error: Any, velocity: Any) -> Any:
        """Efforts by errors of position and velocities."""


class ActuatorNetMLP(_Network):
    """Network over the position errors and velocities of some steps of the past."""

    def __init__(self, name: str, cfg: Any, collection: ActuatorCollection, places: list[int]) -> None:
        super().__init__(name, cfg, collection, places)
        depth = max(cfg.input_idx) + 1
        shape = (collection.num_instances, depth, len(places))
        device = wp.device_to_torch(self.device)
        self._errors = self._torch.zeros(shape, device=device)
        self._velocities = self._torch.zeros(shape, device=device)

    def reset(self, rows: Choice) -> None:
        """Forget the past of instances."""
        chosen = self._torch.as_tensor(
            rows.host().tolist(), device=self._errors.device, dtype=self._torch.int64
        )
        for history in (self._errors, self._velocities):
            history[chosen] = 0.0

    def _infer(self, error: Any, velocity: Any) -> Any:
        for history, now in ((self._errors, error), (self._velocities, velocity)):
            history.copy_(history.roll(1, dims=1))
            history[:, 0] = now
        count, joints = error.shape
        past = list(self.cfg.input_idx)
        parts = [self._errors[:, past] * self.cfg.pos_scale, self._velocities[:, past] * self.cfg.vel_scale]
        if self.cfg.input_order == "vel_pos":
            parts.reverse()
        # One row a joint: its numbers of each chosen step.
        rows = self._torch.cat([part.transpose(1, 2).reshape(count * joints, -1) for part in parts], dim=1)
        return self._network(rows).reshape(count, joints) * self.cfg.torque_scale


class ActuatorNetLSTM(_Network):
    """Recurrent network with an attribute ``lstm``; each joint of each instance has a state of its own."""

    def __init__(self, name: str, cfg: Any, collection: ActuatorCollection, places: list[int]) -> None:
        super().__init__(name, cfg, collection, places)
        weights = self._network.lstm.state_dict()
        layers = sum(key.startswith("weight_hh_l") for key in weights)
        width = weights["weight_hh_l0"].shape[1]
        shape = (layers, collection.num_instances * len(places), width)
        device = wp.device_to_torch(self.device)
        self._hidden = self._torch.zeros(shape, device=device)
        self._cell = self._torch.zeros(shape, device=device)

    def reset(self, rows: Choice) -> None:
        """Forget the state of instances."""
        count, joints = self._effort.shape
        chosen = self._torch.as_tensor(
            rows.host().tolist(), device=self._hidden.device, dtype=self._torch.int64
        )
        for memory in (self._hidden, self._cell):
            memory.view(memory.shape[0], count, joints, -1)[:, chosen] = 0.0

    def _infer(self, error: Any, velocity: Any) -> Any:
        inputs = self._torch.stack((error, velocity), dim=-1).reshape(-1, 1, 2)
        effort, (hidden, cell) = self._network(inputs, (self._hidden, self._cell))
        self._hidden.copy_(hidden)
        self._cell.copy_(cell)
        return effort.reshape(error.shape)
