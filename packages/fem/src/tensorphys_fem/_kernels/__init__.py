"""Warp kernels, private to the package.

Sums over elements at a node and over nodes of a body run in a fixed order, never through atomics, so that a run
repeats bit for bit. States, residuals and sums are float64 (a force is a small difference of large ones, and at
1e9 Pa one rounding of a float32 position is a stress of 100 Pa); tangents and the linear solver are float32.
"""
