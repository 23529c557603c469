"""A quadruped that walks on a plane as it is told."""

from __future__ import annotations

from typing import Any

from tensorphys_assets.actuator_configs import IdealPDActuatorCfg
from tensorphys_assets.articulation import Articulation
from tensorphys_assets.configs import ArticulationCfg
from tensorphys_assets.environments.vector import ROBOTS, Tensor, VectorEnvironment

__all__ = ["QuadrupedEnv"]


class QuadrupedEnv(VectorEnvironment):
    """Robots with four legs of three joints that follow a velocity.

    Observed are velocity, angular velocity and direction of gravity in the axes of the trunk, the command (velocity along
    and across [m/s], rate of turning [rad/s]), joint positions from the stance, joint velocities, and the last action. The
    action moves the targets of the joints by 0.3 rad at most from the stance. Rewarded is how well the command is followed, less
    what is lost to bouncing, rolling, effort and haste; a robot whose trunk is low or leans over 60° costs 1 and ends.

    Args:
        num_envs: Number of environments.
        stage: A stage with a robot at ``/Robot`` whose trunk is its root and whose joints are named
            ``.*_abduction``, ``.*_thigh``, ``.*_knee``, and a plane, instead of the one that comes with the package.
        speeds: Ranges of the commands: along, across [m/s], turning [rad/s].
        options: What :class:`VectorEnvironment` takes.
    """

    observation_size, action_size = 48, 12
    reach = 0.3
    lowest = 0.18

    def __init__(
        self,
        num_envs: int,
        *,
        stage: Any = None,
        speeds: tuple[tuple[float, float], ...] = ((0.3, 1.0), (0.0, 0.0), (0.0, 0.0)),
        **options: Any,
    ) -> None:
        self._stage, self._speeds = stage, speeds
        options = {"dt": 1.0 / 200.0, "decimation": 4, "max_episode_steps": 1000, **options}
        super().__init__(num_envs, **options)

    def author(self) -> Any:
        """A robot on a plane."""
        return str(ROBOTS / "quadruped.usda") if self._stage is None else self._stage

    def add_assets(self) -> None:
        """The robot."""
        motors = IdealPDActuatorCfg(
            joint_names_expr=[".*"], stiffness=100.0, damping=2.0, actuator_effort_limit=35.0
        )
        cfg = ArticulationCfg(
            prim_path="/World/envs/env_.*/Robot",
            init_state=ArticulationCfg.InitialStateCfg(
                pos=(0.0, 0.0, 0.32), joint_pos={".*_abduction": 0.0, ".*_thigh": 0.8, ".*_knee": -1.5}
            ),
            actuators={"legs": motors},
        )
        self.robot = Articulation(cfg)

    def prepare(self) -> None:
        """The stance, and room for commands."""
        torch, data = self.torch, self.robot.data
        self._pose = data.default_root_pose.torch.clone()
        self._stance = data.default_joint_pos.torch.clone()
        self._still = torch.zeros((self.num_envs, 6), device=self.device)
        bounds = torch.tensor(self._speeds, device=self.device)
        self._low, self._width = bounds[:, 0], bounds[:, 1] - bounds[:, 0]
        self.command = torch.zeros((self.num_envs, 3), device=self.device)
        self._last = torch.zeros_like(self.actions)

    def act(self, actions: Tensor) -> None:
        """Move the targets of the joints."""
        target = self._stance + self.reach * actions
        self.robot.actuators.target_command.set_position_index(value=target)

    def observe(self) -> Tensor:
        """What a robot feels, and what it is told."""
        data = self.robot.data
        return self.torch.cat(
            (
                data.root_lin_vel_b.torch,
                0.25 * data.root_ang_vel_b.torch,
                data.projected_gravity_b.torch,
                self.command,
                data.joint_pos.torch - self._stance,
                0.05 * data.joint_vel.torch,
                self.actions,
            ),
            dim=1,
        )

    def judge(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """How well the command is followed, less what it costs."""
        torch, data = self.torch, self.robot.data
        speed, turning = data.root_lin_vel_b.torch, data.root_ang_vel_b.torch
        lean = data.projected_gravity_b.torch
        fallen = (data.root_pos_w.torch[:, 2] < self.lowest) | (lean[:, 2] > -0.5)
        off = (speed[:, :2] - self.command[:, :2]).square().sum(dim=1)
        turn = (turning[:, 2] - self.command[:, 2]).square()
        reward = (
            torch.exp(-off / 0.25)
            + 0.5 * torch.exp(-turn / 0.25)
            - 1.0 * speed[:, 2].square()
            - 0.05 * turning[:, :2].square().sum(dim=1)
            - 1.0 * lean[:, :2].square().sum(dim=1)
            - 1e-4 * self.robot.actuators.applied_effort.torch.square().sum(dim=1)
            - 0.01 * (actions - self._last).square().sum(dim=1)
        )
        self._last.copy_(actions)
        return torch.where(fallen, torch.full_like(reward, -1.0), reward), fallen

    def restart(self, mask: Tensor) -> None:
        """Standing, with a new command."""
        start = self._stance + 0.1 * self.uniform(12)
        self.robot.write_root_pose_to_sim_mask(root_pose=self._pose, env_mask=mask)
        self.robot.write_root_velocity_to_sim_mask(root_velocity=self._still, env_mask=mask)
        self.robot.write_joint_state_to_sim_mask(
            position=start, velocity=self.torch.zeros_like(start), env_mask=mask
        )
        command = self._low + self._width * self.uniform(3, 0.0, 1.0)
        self.command.copy_(self.torch.where(mask[:, None], command, self.command))
        self._last.masked_fill_(mask[:, None], 0.0)
