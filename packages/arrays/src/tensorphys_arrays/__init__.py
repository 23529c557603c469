"""Array frontends (NumPy, PyTorch, Warp) behind one protocol, and rules of dtypes, devices and indices."""

from .dtypes import ScalarType, scalar_type
from .errors import (
    ArrayDeviceError,
    ArrayError,
    ArrayIndexError,
    ArrayTypeError,
    ArrayValueError,
    FrontendDeviceError,
    FrontendNotInstalledError,
    UnknownFrontendError,
)
from .frontends import FRONTEND_NAMES, get_frontend
from .indices import resolve_host_indices
from .protocols import Buffer, Frontend
from .rows import IndexFlag, RowSelection
from .torch_frontend import import_torch

__all__ = [
    "FRONTEND_NAMES",
    "ArrayDeviceError",
    "ArrayError",
    "ArrayIndexError",
    "ArrayTypeError",
    "ArrayValueError",
    "Buffer",
    "Frontend",
    "FrontendDeviceError",
    "FrontendNotInstalledError",
    "IndexFlag",
    "RowSelection",
    "ScalarType",
    "UnknownFrontendError",
    "get_frontend",
    "import_torch",
    "resolve_host_indices",
    "scalar_type",
]
