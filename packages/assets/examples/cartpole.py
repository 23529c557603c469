"""A cart with a pole as a vectorised environment on assets: 10 s of balance are the most that can be had."""

from __future__ import annotations

import math

import torch
import warp as wp
from pxr import Gf, Usd, UsdGeom, UsdPhysics

import tensorphys_assets as ta

ENVS = "/World/envs/env_.*"
CART_LIMIT, POLE_LIMIT = 3.0, 0.5 * math.pi
FORCE = 100.0


def author_stage(count: int) -> Usd.Stage:
    """Carts on rails along y, each in an environment of its own.

    Args:
        count: Number of environments.
    """
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    UsdPhysics.Scene.Define(stage, "/physicsScene")
    for number in range(count):
        origin = Gf.Vec3d(4.0 * (number % 32), 8.0 * (number // 32), 0.0)
        root = f"/World/envs/env_{number}"
        UsdGeom.Xform.Define(stage, root).AddTranslateOp().Set(origin)
        robot = UsdGeom.Xform.Define(stage, f"{root}/Robot").GetPrim()
        UsdPhysics.ArticulationRootAPI.Apply(robot)
        for name, height, mass, inertia in (
            ("rail", 2.0, 1.0, (1.0, 1.0, 1.0)),
            ("cart", 2.0, 1.0, (0.1, 0.1, 0.1)),
            ("pole", 2.47, 0.5, (0.0367, 0.0367, 0.001)),
        ):
            body = UsdGeom.Xform.Define(stage, f"{root}/Robot/{name}")
            body.AddTranslateOp().Set(Gf.Vec3d(0, 0, height))
            UsdPhysics.RigidBodyAPI.Apply(body.GetPrim())
            api = UsdPhysics.MassAPI.Apply(body.GetPrim())
            api.CreateMassAttr(mass)
            api.CreateDiagonalInertiaAttr(Gf.Vec3f(*inertia))
        path = f"{root}/Robot"
        anchor = UsdPhysics.FixedJoint.Define(stage, f"{path}/anchor")
        anchor.CreateBody1Rel().SetTargets([f"{path}/rail"])
        anchor.CreateLocalPos0Attr(Gf.Vec3f(origin + Gf.Vec3d(0, 0, 2)))
        slider = UsdPhysics.PrismaticJoint.Define(stage, f"{path}/slider_to_cart")
        slider.CreateBody0Rel().SetTargets([f"{path}/rail"])
        slider.CreateBody1Rel().SetTargets([f"{path}/cart"])
        slider.CreateAxisAttr("Y")
        slider.CreateLowerLimitAttr(-4.0)
        slider.CreateUpperLimitAttr(4.0)
        hinge = UsdPhysics.RevoluteJoint.Define(stage, f"{path}/cart_to_pole")
        hinge.CreateBody0Rel().SetTargets([f"{path}/cart"])
        hinge.CreateBody1Rel().SetTargets([f"{path}/pole"])
        hinge.CreateAxisAttr("X")
        hinge.CreateLocalPos1Attr(Gf.Vec3f(0, 0, -0.47))
    return stage


class CartpoleEnv:
    """Carts that are pushed so that their poles stay up; observations and actions stay on the device.

    A reward of 1 is given for each step in which the pole is up and the cart on its rail, so that an episode of
    ``max_episode_length`` steps is worth as much at most.

    Args:
        count: Number of environments.
        device: Warp device.
        seed: Seed of the starts.
    """

    def __init__(self, count: int, device: str = "cpu", seed: int = 0) -> None:
        motor = ta.IdealPDActuatorCfg(
            joint_names_expr=[".*"], stiffness=0.0, damping=0.0, actuator_effort_limit=400.0
        )
        cfg = ta.ArticulationCfg(prim_path=f"{ENVS}/Robot", actuators={"all": motor})
        with ta.AssetScene(author_stage(count), environments=ENVS, device=device, dt=1 / 120) as self.scene:
            self.robot = ta.Articulation(cfg)
        self.scene.reset()
        self.cfg: dict[str, object] = {}
        self.num_envs, self.num_actions, self.num_observations = count, 1, 4
        self.decimation, self.max_episode_length = 2, 600
        self.device = wp.device_to_torch(device)
        self.generator = torch.Generator(device=self.device).manual_seed(seed)
        self.episode_length_buf = torch.zeros(count, dtype=torch.int64, device=self.device)
        self.returns = torch.zeros(count, device=self.device)
        self.finished: list[float] = []
        data = self.robot.data
        self.position, self.velocity = data.joint_pos.torch, data.joint_vel.torch
        self._start(torch.ones(count, dtype=torch.bool, device=self.device))

    def observe(self) -> torch.Tensor:
        """Positions and velocities of cart and pole [m, rad, m/s, rad/s], shape [count, 4]."""
        data = self.robot.data
        data.joint_pos, data.joint_vel  # noqa: B018 - bring the tensors up to date
        return torch.cat((self.position, self.velocity), dim=1)

    def advance(self, actions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Push, simulate, and start anew what has ended.

        Args:
            actions: Pushes, shape [count, 1]; 1 is 100 N.

        Returns:
            Rewards, whether episodes have ended, and whether that was for lack of time, each of shape [count].
        """
        command = self.robot.actuators.target_command
        command.set_effort_index(value=FORCE * actions.detach().clamp(-1.0, 1.0), joint_ids=[0])
        self.scene.step(self.decimation)
        state = self.observe()
        self.episode_length_buf += 1
        lost = (state[:, 0].abs() > CART_LIMIT) | (state[:, 1].abs() > POLE_LIMIT)
        late = self.episode_length_buf >= self.max_episode_length
        reward = (~lost).float()
        self.returns += reward
        done = lost | late
        self.finished += self.returns[done].tolist()
        self._start(done)
        return reward, done, late & ~lost

    def _start(self, done: torch.Tensor) -> None:
        """Put the cart to rest at the centre with a pole that leans, in chosen environments."""
        shape = (self.num_envs, 2)
        noise = 2.0 * torch.rand(shape, generator=self.generator, device=self.device) - 1.0
        start = noise * torch.tensor([0.5, 0.25 * math.pi], device=self.device)
        mask = wp.from_torch(done)
        self.robot.write_joint_position_to_sim_mask(position=start, env_mask=mask)
        self.robot.write_joint_velocity_to_sim_mask(velocity=torch.zeros_like(start), env_mask=mask)
        self.episode_length_buf[done] = 0
        self.returns[done] = 0.0
