"""A cart that is pushed so that its pole stays up."""

from __future__ import annotations

import math
from typing import Any

from tensorphys_assets.actuator_configs import IdealPDActuatorCfg
from tensorphys_assets.articulation import Articulation
from tensorphys_assets.configs import ArticulationCfg
from tensorphys_assets.environments.vector import ROBOTS, Tensor, VectorEnvironment

__all__ = ["CartpoleEnv"]


class CartpoleEnv(VectorEnvironment):
    """Carts on rails, each with a pole.

    Observed are the positions and velocities of cart and pole [m, rad, m/s, rad/s]; the action 1 is a push of 100 N. A step
    in which the pole is above the horizontal and the cart within 3 m is rewarded with 1, another one ends the episode. So the
    maximum return is ``max_episode_steps``. Episodes start within 0.5 m, with a pole that leans by 45° at most.

    Args:
        num_envs: Number of environments.
        options: What :class:`VectorEnvironment` takes.
    """

    observation_size, action_size = 4, 1
    force = 100.0
    cart_limit, pole_limit = 3.0, 0.5 * math.pi

    def __init__(self, num_envs: int, **options: Any) -> None:
        super().__init__(num_envs, **options)

    def author(self) -> Any:
        """A cart on its rail."""
        return str(ROBOTS / "cartpole.usda")

    def add_assets(self) -> None:
        """The cart."""
        motor = IdealPDActuatorCfg(
            joint_names_expr=[".*"], stiffness=0.0, damping=0.0, actuator_effort_limit=400.0
        )
        cfg = ArticulationCfg(prim_path="/World/envs/env_.*/Robot", actuators={"all": motor})
        self.robot = Articulation(cfg)

    def prepare(self) -> None:
        """Ranges of the starts."""
        self._range = self.torch.tensor([0.5, 0.25 * math.pi], device=self.device)

    def act(self, actions: Tensor) -> None:
        """Push the carts."""
        self.robot.actuators.target_command.set_effort_index(value=self.force * actions, joint_ids=[0])

    def observe(self) -> Tensor:
        """Positions and velocities."""
        data = self.robot.data
        return self.torch.cat((data.joint_pos.torch, data.joint_vel.torch), dim=1)

    def judge(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """One for each step in which nothing is lost."""
        position = self.robot.data.joint_pos.torch
        lost = (position[:, 0].abs() > self.cart_limit) | (position[:, 1].abs() > self.pole_limit)
        return (~lost).float(), lost

    def restart(self, mask: Tensor) -> None:
        """Carts at rest near the centre, poles that lean."""
        start = self.uniform(2) * self._range
        self.robot.write_joint_state_to_sim_mask(
            position=start, velocity=self.torch.zeros_like(start), env_mask=mask
        )
