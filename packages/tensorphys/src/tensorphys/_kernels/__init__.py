"""Gather and scatter kernels between the flat arrays of the engine and the arrays of views."""
