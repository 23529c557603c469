"""For tests: planes and spheres that satisfy the protocol of obstacles, its conformance battery, and strategies."""

from tensorphys_particles.testing.conformance import check_obstacles
from tensorphys_particles.testing.obstacles import Plane, SolidObstacles, Sphere
from tensorphys_particles.testing.strategies import cloth_meshes, particle_materials, particle_systems

__all__ = [
    "Plane",
    "SolidObstacles",
    "Sphere",
    "check_obstacles",
    "cloth_meshes",
    "particle_materials",
    "particle_systems",
]
