"""Rigid bodies and reduced-coordinate articulations with joints, drives, limits and the constraint solver."""

__all__: list[str] = []
