"""Builds device arrays from a scene, owns the state, steps, replicates, resets and captures graphs."""

__all__: list[str] = []
