"""Kernels of tensorphys_sdf, private to the package."""
