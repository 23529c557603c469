"""A Panda that brings its hand to a point."""

from __future__ import annotations

from typing import Any

from tensorphys_assets.actuator_configs import IdealPDActuatorCfg
from tensorphys_assets.articulation import Articulation
from tensorphys_assets.configs import ArticulationCfg
from tensorphys_assets.environments.vector import Tensor, VectorEnvironment

__all__ = ["PandaReachEnv"]


class PandaReachEnv(VectorEnvironment):
    """Arms whose hands are to reach points in front of them.

    Observed are the positions of the seven joints from their rest, their velocities, the target and the way from the hand to
    it, in the axes of the world and from the base [m], and the last action. The action moves the targets of the joints by
    1.2 rad at most from the rest; gravity is compensated. Rewarded is closeness, ``1 - tanh(distance / 0.1)`` less the
    distance, less haste. Episodes do not end but for time.

    Args:
        num_envs: Number of environments.
        stage: A stage with a Franka Panda, its joints named ``panda_joint1`` to ``7`` and ``panda_finger_joint.*``.
        robot: Path of its prim.
        hand: Name of the body that is to reach.
        options: What :class:`VectorEnvironment` takes.
    """

    observation_size, action_size = 27, 7
    reach = 1.2
    rest = (0.0, -0.569, 0.0, -2.81, 0.0, 3.037, 0.741)
    low, high = (0.35, -0.25, 0.15), (0.6, 0.25, 0.5)

    def __init__(
        self,
        num_envs: int,
        *,
        stage: Any,
        robot: str = "/panda",
        hand: str = "panda_hand",
        **options: Any,
    ) -> None:
        self._stage, self._path, self._hand_name = stage, robot, hand
        options = {"dt": 1.0 / 240.0, "decimation": 4, "max_episode_steps": 240, **options}
        super().__init__(num_envs, **options)

    def author(self) -> Any:
        """The stage that was given."""
        return self._stage

    def add_assets(self) -> None:
        """The arm; its fingers stay where they are."""
        limits = {"panda_joint[1-4]": 87.0, "panda_joint[5-7]": 12.0}
        rest = {f"panda_joint{number}": angle for number, angle in enumerate(self.rest, start=1)}
        # Torques that are made once a step must not turn a joint by more than they brake it: a damping of at most the
        # inertia over the step, for which the wrist needs that of its motors.
        arm = IdealPDActuatorCfg(
            joint_names_expr=["panda_joint.*"],
            stiffness={"panda_joint[1-4]": 200.0, "panda_joint[5-7]": 100.0},
            damping={"panda_joint[1-4]": 30.0, "panda_joint[5-7]": 8.0},
            armature=0.1,
            actuator_effort_limit=limits,
        )
        fingers = IdealPDActuatorCfg(
            joint_names_expr=["panda_finger_joint.*"],
            stiffness=200.0,
            damping=10.0,
            actuator_effort_limit=100.0,
        )
        cfg = ArticulationCfg(
            prim_path=f"/World/envs/env_.*{self._path}",
            init_state=ArticulationCfg.InitialStateCfg(joint_pos=rest),
            actuators={"arm": arm, "fingers": fingers},
        )
        self.robot = Articulation(cfg)

    def prepare(self) -> None:
        """Places of joints and hand, and room for targets."""
        torch = self.torch
        joints, _ = self.robot.find_joints("panda_joint.*", preserve_order=True)
        (self._hand,), _ = self.robot.find_bodies(self._hand_name)
        self._arm = torch.tensor(joints, device=self.device)
        self._rest = self.robot.data.default_joint_pos.torch.clone()
        self._goal = self._rest.clone()
        self.target = torch.zeros((self.num_envs, 3), device=self.device)
        self._low = torch.tensor(self.low, device=self.device)
        self._width = torch.tensor(self.high, device=self.device) - self._low
        self._last = torch.zeros_like(self.actions)

    def act(self, actions: Tensor) -> None:
        """Move the targets of the joints, and carry the weight."""
        self._goal[:, self._arm] = self._rest[:, self._arm] + self.reach * actions
        command = self.robot.actuators.target_command
        command.set_position_index(value=self._goal)
        command.set_effort_index(value=self.robot.data.gravity_compensation_forces.torch)

    def way(self) -> Tensor:
        """From the hands to their targets [m], shape [num_envs, 3]."""
        data = self.robot.data
        return self.target - (data.body_pos_w.torch[:, self._hand] - data.root_pos_w.torch)

    def observe(self) -> Tensor:
        """Joints, target, and the way to it."""
        data, arm = self.robot.data, self._arm
        positions = (data.joint_pos.torch - self._rest)[:, arm]
        return self.torch.cat(
            (positions, 0.2 * data.joint_vel.torch[:, arm], self.target, self.way(), self.actions), dim=1
        )

    def judge(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """How close the hand is."""
        torch = self.torch
        distance = self.way().norm(dim=1)
        haste = (actions - self._last).square().sum(dim=1)
        self._last.copy_(actions)
        reward = 1.0 - torch.tanh(distance / 0.1) - distance - 0.01 * haste
        return reward, torch.zeros_like(reward, dtype=torch.bool)

    def restart(self, mask: Tensor) -> None:
        """At rest near the resting joints, with a new target."""
        torch = self.torch
        start = self._rest.clone()
        start[:, self._arm] += 0.1 * self.uniform(7)
        self.robot.write_joint_state_to_sim_mask(
            position=start, velocity=torch.zeros_like(start), env_mask=mask
        )
        target = self._low + self._width * self.uniform(3, 0.0, 1.0)
        self.target.copy_(torch.where(mask[:, None], target, self.target))
        self._last.masked_fill_(mask[:, None], 0.0)
