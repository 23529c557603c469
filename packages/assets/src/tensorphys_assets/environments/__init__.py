"""Vectorised environments over assets, with Gymnasium's interface; they need PyTorch."""

from tensorphys_assets.environments.ant import AntEnv
from tensorphys_assets.environments.cartpole import CartpoleEnv
from tensorphys_assets.environments.quadruped import QuadrupedEnv
from tensorphys_assets.environments.reach import PandaReachEnv
from tensorphys_assets.environments.vector import VectorEnvironment

__all__ = ["AntEnv", "CartpoleEnv", "PandaReachEnv", "QuadrupedEnv", "VectorEnvironment"]
