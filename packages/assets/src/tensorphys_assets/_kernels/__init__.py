"""Warp kernels of this package."""
