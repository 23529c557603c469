"""Signed distance fields of meshes, functions and voxels: robust sign, sparse grids, batched queries, on CPU and CUDA."""

__all__: list[str] = []
