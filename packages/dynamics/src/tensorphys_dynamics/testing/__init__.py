"""Random articulations and obstacles for tests of this package and of those that build on it."""

from tensorphys_dynamics.testing.bodies import bodies_model, link_energies, link_energy
from tensorphys_dynamics.testing.obstacles import SpheresOnPlane
from tensorphys_dynamics.testing.replay import History, run_steps
from tensorphys_dynamics.testing.trees import model_of, random_ball_tree, random_state, random_tree

__all__ = [
    "History",
    "SpheresOnPlane",
    "bodies_model",
    "link_energies",
    "link_energy",
    "model_of",
    "random_ball_tree",
    "random_state",
    "random_tree",
    "run_steps",
]
