"""Errors of the tensor API. All derive from :class:`TensorApiError`."""

from __future__ import annotations

__all__ = [
    "ContactDataOverflowError",
    "ContactDataOverflowWarning",
    "DataError",
    "FrontendError",
    "InvalidViewError",
    "MissingPackageError",
    "StageSelectionError",
    "TensorApiError",
    "ViewError",
]


class TensorApiError(Exception):
    """Base of every error of this package."""


class InvalidViewError(TensorApiError, RuntimeError):
    """A simulation view, or a view made from it, is used after it was invalidated."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}: the simulation view is no longer valid (invalidate(), reset(), or an error in a "
            "step); create a new one with create_simulation_view()"
        )


class ViewError(TensorApiError, ValueError):
    """A request does not fit the view: a property of homogeneous views only, a row that cannot be written."""


class DataError(TensorApiError, ValueError):
    """Values that no simulation can take: a zero quaternion, a mass that is not positive, NaN."""


class ContactDataOverflowError(TensorApiError, RuntimeError):
    """More contact points than ``max_contact_data_count``; the text names the needed number."""


class ContactDataOverflowWarning(UserWarning):
    """More contact points than ``max_contact_data_count``; those that did not fit are left out."""


class StageSelectionError(TensorApiError, ValueError):
    """``create_simulation_view`` was given no stage or scene, several, or one that cannot be found."""


class FrontendError(TensorApiError, ValueError):
    """The array frontend does not exist, or does not work on the simulation device."""


class MissingPackageError(TensorApiError, ImportError):
    """A feature needs a package that is not installed.

    Attributes:
        package: Distribution that is missing.
    """

    def __init__(self, feature: str, package: str, hint: str) -> None:
        super().__init__(
            f"{feature} needs the package {package}, which is not installed: {hint}", name=package
        )
        self.package = package
