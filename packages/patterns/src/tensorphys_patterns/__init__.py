"""Prim-path patterns over any tree of names: glob segments, lists, sensor and filter pairing."""

__all__: list[str] = []
