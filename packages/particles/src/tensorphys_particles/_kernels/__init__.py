"""Kernels of the package.

Particles are worked on in the order of their cells ("slots"), so that neighbours lie near each other in memory;
everything that callers see keeps the order of the model ("particles"). All sums gather in a fixed order: no
floating-point atomics, so a run repeats bit for bit.
"""
