"""Shapes and poses to contacts: cooking, broad phase, narrow phase, manifolds, filtering."""

__all__: list[str] = []
