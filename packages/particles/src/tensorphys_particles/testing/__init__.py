"""For tests: planes and spheres that satisfy the protocol of obstacles, and strategies."""

from tensorphys_particles.testing.obstacles import Plane, SolidObstacles, Sphere

__all__ = ["Plane", "SolidObstacles", "Sphere"]
