"""Methods that write: made from what they write, with the names and parameters that the interface has.

Each factory gives a function whose signature can be inspected; an asset class binds it to the name of the interface.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, Literal

__all__ = [
    "deprecated_writer",
    "name_writers",
    "object_writer",
    "property_writer",
    "property_writers",
    "state_writer",
    "state_writers",
]

Form = Literal["index", "mask"]
Method = Callable[..., Any]

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_EITHER = inspect.Parameter.POSITIONAL_OR_KEYWORD
_EMPTY = inspect.Parameter.empty


def _signature(*parameters: tuple[str, Any], kind: Any = _KEYWORD) -> inspect.Signature:
    own = [inspect.Parameter("self", _EITHER)]
    return inspect.Signature(
        [*own, *(inspect.Parameter(name, kind, default=value) for name, value in parameters)]
    )


def _selectors(items: str, form: Form) -> tuple[tuple[str, Any], ...]:
    suffix = "ids" if form == "index" else "mask"
    return (*(((f"{items}_{suffix}", None),) if items else ()), (f"env_{suffix}", None))


def _finish(method: Method, signature: inspect.Signature, doc: str) -> Method:
    method.__signature__ = signature  # type: ignore[attr-defined]
    method.__doc__ = doc
    return method


def _take(given: dict[str, Any], signature: inspect.Signature, name: str) -> dict[str, Any]:
    """Arguments by name, defaults filled in; the errors are those of a plain function."""
    unknown = [key for key in given if key not in signature.parameters or key == "self"]
    if unknown:
        raise TypeError(f"{name}() got an unexpected keyword argument {unknown[0]!r}")
    values = {}
    for key, parameter in signature.parameters.items():
        if key == "self":
            continue
        if key not in given and parameter.default is _EMPTY:
            raise TypeError(f"{name}() missing a required keyword-only argument: {key!r}")
        values[key] = given.get(key, parameter.default)
    return values


def state_writer(quantity: str, payload: str, *, items: str = "", form: Form, doc: str) -> Method:
    """Writer of poses or velocities, which others depend on.

    Args:
        quantity: What is written; the asset has a method ``_write_state``.
        payload: Name of the parameter with the numbers.
        items: ``joint`` or ``body``, nothing for one element an instance.
        form: Whether ids or masks choose.
        doc: What it writes.
    """
    signature = _signature((payload, _EMPTY), *_selectors(items, form), ("skip_forward", False))

    def write(self: Any, **given: Any) -> None:
        values = _take(given, signature, write.__name__)
        skip = values.pop("skip_forward")
        numbers = values.pop(payload)
        self._write_state(
            quantity, numbers, values, items, skip, f"{type(self).__name__}.{write.__name__}({payload})"
        )

    return _finish(write, signature, doc)


def property_writer(
    quantity: str,
    payload: str,
    *,
    items: str,
    form: Form,
    doc: str,
    scalar: bool = True,
    extra: tuple[tuple[str, Any], ...] = (),
    hook: str = "_write_property",
) -> Method:
    """Writer of a property.

    Args:
        quantity: What is written; the asset has a method ``hook`` that gets it.
        payload: Name of the parameter with the numbers.
        items: ``joint``, ``body``, ``fixed_tendon`` or ``spatial_tendon``.
        form: Whether ids or masks choose.
        doc: What it writes.
        scalar: Whether one number for all is taken, too.
        extra: Further parameters with their defaults, which the hook gets by name.
        hook: Method of the asset that writes.
    """
    at_end = tuple(entry for entry in extra if entry[0].startswith(("warn", "full")))
    between = tuple(entry for entry in extra if entry not in at_end)
    signature = _signature((payload, _EMPTY), *between, *_selectors(items, form), *at_end)

    def write(self: Any, **given: Any) -> None:
        values = _take(given, signature, write.__name__)
        options = {name: values.pop(name) for name, _ in extra}
        numbers = values.pop(payload)
        what = f"{type(self).__name__}.{write.__name__}({payload})"
        if isinstance(numbers, (int, float)) and not scalar:
            raise ValueError(f"{what}: expected an array, given the number {numbers}")
        getattr(self, hook)(quantity, numbers, values, items, what, **options)

    return _finish(write, signature, doc)


def state_writers(quantity: str, payload: str, **options: Any) -> tuple[Method, Method]:
    """Both forms of :func:`state_writer`: by ids, by masks."""
    return (
        state_writer(quantity, payload, form="index", **options),
        state_writer(quantity, payload, form="mask", **options),
    )


def property_writers(quantity: str, payload: str, **options: Any) -> tuple[Method, Method]:
    """Both forms of :func:`property_writer`: by ids, by masks."""
    return (
        property_writer(quantity, payload, form="index", **options),
        property_writer(quantity, payload, form="mask", **options),
    )


def deprecated_writer(
    target: str, *names: str, defaults: dict[str, Any] | None = None, first: int = 1, advice: str = ""
) -> Method:
    """Method of an earlier version that forwards to another one by position or name, with a warning.

    Args:
        target: Method that does the work.
        names: Parameters, in order; the first ones have no default, the others ``None``.
        defaults: Other defaults.
        first: How many have no default.
        advice: What to use instead, where that is not the target.
    """
    given_defaults = defaults or {}
    parameters = [
        (name, given_defaults.get(name, _EMPTY if place < first else None))
        for place, name in enumerate(names)
    ]
    signature = _signature(*parameters, kind=_EITHER)

    def write(self: Any, *arguments: Any, **given: Any) -> Any:
        bound = signature.bind(self, *arguments, **given)
        values = dict(bound.arguments)
        values.pop("self")
        warnings.warn(
            f"{type(self).__name__}.{write.__name__} is deprecated; use {advice or target}",
            DeprecationWarning,
            stacklevel=2,
        )
        return getattr(self, target)(**values)

    return _finish(write, signature, f"Deprecated; use ``{advice or target}``.")


def object_writer(target: str, old_payload: str, payload: str) -> Method:
    """Method of Isaac Lab 2 on objects, which forwards to one on bodies, with a warning.

    Args:
        target: Method that does the work.
        old_payload, payload: First parameter here and there.
    """
    signature = _signature((old_payload, _EMPTY), ("env_ids", None), ("object_ids", None), kind=_EITHER)

    def write(self: Any, *arguments: Any, **given: Any) -> Any:
        values = dict(signature.bind(self, *arguments, **given).arguments)
        advice = target if not target.startswith("_") else "the methods on poses and velocities of bodies"
        warnings.warn(
            f"{type(self).__name__}.{write.__name__} is deprecated; use {advice}",
            DeprecationWarning,
            stacklevel=2,
        )
        chosen = {"env_ids": values.get("env_ids"), "body_ids": values.get("object_ids")}
        return getattr(self, target)(**{payload: values[old_payload]}, **chosen)

    return _finish(write, signature, "Deprecated; use the method on bodies.")


def name_writers(cls: type) -> type:
    """Give made methods the names that they are bound to."""
    for name, value in vars(cls).items():
        if inspect.isfunction(value) and value.__name__ == "write":
            value.__name__ = name
            value.__qualname__ = f"{cls.__qualname__}.{name}"
    return cls
