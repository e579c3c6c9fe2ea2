"""Read the types an asking class was given in its brackets, when the class is made: `class Region(AskingMiddleware[Need, Info])`."""

from __future__ import annotations

import sys
import typing
from typing import Any, ForwardRef, TypeVar, get_args, get_origin

from ..errors import ConfigError


def type_arguments(cls: type, base: type) -> tuple[Any, ...] | None:
    """What `cls` gives for the type parameters of `base`; None while one of them is still open.

    Raises: ConfigError for a name in quotes that cannot be found.
    """
    for klass in cls.__mro__:
        for written in getattr(klass, "__orig_bases__", ()):
            origin = get_origin(written)
            if isinstance(origin, type) and issubclass(origin, base):
                given = get_args(written)
                if origin is not base:
                    given = _through(origin, given, base)
                if given is None or any(isinstance(one, TypeVar) for one in given):
                    return None
                return tuple(_resolved(one, klass) for one in given)
    return None


def _through(origin: type, given: tuple[Any, ...], base: type) -> tuple[Any, ...] | None:
    """Follow a generic class in between: `class Half(AskingMiddleware[Need, A])`, then `Half[Info]`."""
    parameters: tuple[Any, ...] = getattr(origin, "__parameters__", ())
    values = dict(zip(parameters, given, strict=False))
    for written in getattr(origin, "__orig_bases__", ()):
        over = get_origin(written)
        if isinstance(over, type) and issubclass(over, base):
            inner = tuple(values.get(one, one) if isinstance(one, TypeVar) else one for one in get_args(written))
            return inner if over is base else _through(over, inner, base)
    return None


def _resolved(one: Any, cls: type) -> Any:
    if isinstance(one, str):
        one = ForwardRef(one)
    if not isinstance(one, ForwardRef):
        return one
    holder = type("_Holder", (), {"__annotations__": {"it": one.__forward_arg__}, "__module__": cls.__module__})
    try:
        return typing.get_type_hints(holder, vars(sys.modules.get(cls.__module__, typing)), include_extras=True)["it"]
    except Exception as error:  # an annotation in quotes may hold anything
        raise ConfigError(field=cls.__name__, problems=[f"the type '{one.__forward_arg__}' cannot be found: {error}"]) from error
