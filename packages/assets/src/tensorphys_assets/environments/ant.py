"""A four-legged ant that runs along x."""

from __future__ import annotations

from typing import Any

from tensorphys_assets.actuator_configs import IdealPDActuatorCfg
from tensorphys_assets.articulation import Articulation
from tensorphys_assets.configs import ArticulationCfg
from tensorphys_assets.environments.vector import ROBOTS, Tensor, VectorEnvironment

__all__ = ["AntEnv"]


class AntEnv(VectorEnvironment):
    """Ants that are paid for their speed along x.

    Observed are the height of the torso, its velocity and angular velocity in its own axes, the direction of gravity there,
    the direction of x in the horizontal, joint positions between their limits, joint velocities, and the last action. The
    action is a torque, 1 is 7.5 N m. A step is rewarded with the speed along x [m/s], 0.5 for being alive, what is left of
    uprightness and heading, less the cost of actions; one that leaves the torso below 0.31 m costs 2 and ends the episode.

    Args:
        num_envs: Number of environments.
        stage: A stage with an ant at ``/Robot`` and a plane, instead of one of capsules.
        options: What :class:`VectorEnvironment` takes.
    """

    observation_size, action_size = 36, 8
    torque = 7.5
    lowest = 0.31

    def __init__(self, num_envs: int, *, stage: Any = None, **options: Any) -> None:
        self._stage = stage
        options.setdefault("max_episode_steps", 900)
        super().__init__(num_envs, **options)

    def author(self) -> Any:
        """An ant on a plane."""
        return str(ROBOTS / "ant.usda") if self._stage is None else self._stage

    def add_assets(self) -> None:
        """The ant."""
        motors = IdealPDActuatorCfg(
            joint_names_expr=[".*"], stiffness=0.0, damping=0.0, actuator_effort_limit=15.0
        )
        cfg = ArticulationCfg(
            prim_path="/World/envs/env_.*/Robot",
            init_state=ArticulationCfg.InitialStateCfg(
                pos=(0.0, 0.0, 0.62), joint_pos={"hip_.*": 0.0, "ankle_.*": 1.0}
            ),
            actuators={"legs": motors},
        )
        self.robot = Articulation(cfg)

    def prepare(self) -> None:
        """Limits of the joints, and where episodes start."""
        data = self.robot.data
        limits = data.joint_pos_limits.torch
        self._middle = 0.5 * (limits[..., 0] + limits[..., 1])
        self._half = 0.5 * (limits[..., 1] - limits[..., 0])
        self._pose = data.default_root_pose.torch.clone()
        self._joints = data.default_joint_pos.torch.clone()
        self._still = self.torch.zeros((self.num_envs, 6), device=self.device)

    @property
    def forward_speed(self) -> Tensor:
        """Speed of the torso along x [m/s], shape [num_envs]."""
        return self.robot.data.root_lin_vel_w.torch[:, 0]

    def act(self, actions: Tensor) -> None:
        """Turn the joints."""
        self.robot.actuators.target_command.set_effort_index(value=self.torque * actions)

    def _heading(self) -> Tensor:
        """Part of the torso's x axis along x."""
        q = self.robot.data.root_quat_w.torch
        return 1.0 - 2.0 * (q[:, 1] ** 2 + q[:, 2] ** 2)

    def observe(self) -> Tensor:
        """What an ant feels."""
        torch, data = self.torch, self.robot.data
        yaw = data.heading_w.torch
        return torch.cat(
            (
                data.root_pos_w.torch[:, 2:3],
                data.root_lin_vel_b.torch,
                0.25 * data.root_ang_vel_b.torch,
                data.projected_gravity_b.torch,
                torch.stack((yaw.cos(), yaw.sin()), dim=1),
                (data.joint_pos.torch - self._middle) / self._half,
                0.1 * data.joint_vel.torch,
                self.actions,
            ),
            dim=1,
        )

    def judge(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Speed, less what it costs."""
        torch, data = self.torch, self.robot.data
        fallen = data.root_pos_w.torch[:, 2] < self.lowest
        upright = -data.projected_gravity_b.torch[:, 2]
        power = (actions * data.joint_vel.torch).abs().sum(dim=1)
        reward = (
            self.forward_speed
            + 0.5
            + 0.1 * (upright > 0.93).float()
            + 0.5 * (self._heading() / 0.8).clamp(max=1.0)
            - 0.005 * actions.square().sum(dim=1)
            - 0.01 * power
        )
        return torch.where(fallen, torch.full_like(reward, -2.0), reward), fallen

    def restart(self, mask: Tensor) -> None:
        """At rest, with legs moved a little."""
        start = self._joints + 0.2 * self.uniform(8)
        limit = 0.98 * self._half
        start = self._middle + (start - self._middle).clamp(-limit, limit)
        self.robot.write_root_pose_to_sim_mask(root_pose=self._pose, env_mask=mask)
        self.robot.write_root_velocity_to_sim_mask(root_velocity=self._still, env_mask=mask)
        self.robot.write_joint_state_to_sim_mask(
            position=start, velocity=self.torch.zeros_like(start), env_mask=mask
        )
