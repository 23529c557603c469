"""Quaternions, transforms, spatial vectors and inertias as Warp functions with NumPy float64 twins."""

__all__: list[str] = []
