"""Array frontends (NumPy, PyTorch, Warp) behind one protocol, with dtype, device, shape and index checks."""

__all__: list[str] = []
