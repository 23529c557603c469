"""Scenes built by hand, for tests of this package and of what stands on it."""

from tensorphys_engine.testing.scenes import ball_scene, pendulum_scene, pile_scene, walker_scene

__all__ = ["ball_scene", "pendulum_scene", "pile_scene", "walker_scene"]
