"""Tetrahedral and shell deformables: meshing, elasticity, implicit integration, stresses, on CPU and CUDA."""

__all__: list[str] = []
