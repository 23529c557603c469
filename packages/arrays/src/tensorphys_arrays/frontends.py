"""Frontends by name."""

from __future__ import annotations

from .errors import UnknownFrontendError
from .protocols import Frontend

__all__ = ["FRONTEND_NAMES", "get_frontend"]

FRONTEND_NAMES: dict[str, str] = {
    "numpy": "numpy",
    "np": "numpy",
    "torch": "torch",
    "pytorch": "torch",
    "warp": "warp",
    "wp": "warp",
}
"""Accepted names and the canonical name of each."""


def get_frontend(name: str) -> Frontend:
    """A new frontend; its library is imported now and not before.

    Args:
        name: ``numpy`` or ``np``, ``torch`` or ``pytorch``, ``warp`` or ``wp``.

    Returns:
        The frontend.

    Raises:
        UnknownFrontendError: Another name; the text lists the choices. TensorFlow is among them.
        FrontendNotInstalledError: The library is not installed (an ``ImportError``).
    """
    if name in ("tensorflow", "tf"):
        raise UnknownFrontendError(
            f"the frontend {name!r} does not exist here: use 'numpy', whose arrays tensorflow reads "
            "(tf.convert_to_tensor)"
        )
    canonical = FRONTEND_NAMES.get(name) if isinstance(name, str) else None
    if canonical is None:
        raise UnknownFrontendError(
            f"no frontend is named {name!r}: expected one of {', '.join(map(repr, FRONTEND_NAMES))}"
        )
    if canonical == "numpy":
        from .numpy_frontend import NumpyFrontend

        return NumpyFrontend()
    if canonical == "warp":
        from .warp_frontend import WarpFrontend

        return WarpFrontend()
    from .torch_frontend import TorchFrontend

    return TorchFrontend()
