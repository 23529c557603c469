"""Kernels of this package."""
