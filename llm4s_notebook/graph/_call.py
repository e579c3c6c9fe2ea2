"""How a node's function is called: which parameter gets the input, which the state, which the context."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from ._context import RunContext
from ._plan import Behaviour
from ._state import ThreadState

_EMPTY = inspect.Parameter.empty
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


@dataclass(frozen=True, slots=True)
class Signature:
    """A function made ready to be called with (input, state, context). `input` is the declared input type, None where it has no payload;
    `state` and `context` say whether it has parameters for these."""

    call: Behaviour
    threaded: bool
    input: Any
    problems: tuple[str, ...] = ()
    state: bool = True
    context: bool = True


def read_signature(function: Callable[..., Any], localns: Mapping[str, Any]) -> Signature:
    """Bind a function's parameters: `ThreadState` and `RunContext` by annotation in any order, the one left is the input.

    Without annotations up to three parameters are `(input, state, context)`. `localns` are names that annotations may use
    besides the function's globals and closure.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return Signature(function, True, types.NoneType, ("its signature cannot be read",))
    hints, problems = _hints(function, localns)
    roles: dict[str, int] = {}
    left: list[inspect.Parameter] = []
    given = _given_already(function)
    for parameter in parameters:
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD) or parameter.name in given:
            continue
        hint = hints.get(parameter.name, _EMPTY)
        role = _role(hint)
        if role is None:
            left.append(parameter)
        else:
            roles[parameter.name] = role
    required = [parameter for parameter in left if parameter.default is _EMPTY]
    own = required if required or len(left) != 1 else left
    if not roles and len(own) > 1 and all(parameter.name not in hints for parameter in own[1:]) and len(own) <= 3:
        for role, parameter in enumerate(own):
            roles[parameter.name] = role
        own = own[:1]
    elif len(own) == 1:
        roles[own[0].name] = 0
    elif len(own) > 1:
        names = ", ".join(parameter.name for parameter in own)
        problems.append(f"parameters {names} are left for one input; annotate the others as ThreadState or RunContext")
    declared = hints.get(own[0].name, types.NoneType) if own else types.NoneType
    positional = [roles[p.name] for p in parameters if p.name in roles and p.kind in _POSITIONAL]
    named = {p.name: roles[p.name] for p in parameters if p.name in roles and p.kind not in _POSITIONAL}
    call, taken = _arranged(function, tuple(positional), named), {*positional, *named.values()}
    return Signature(call, not _is_async(function), declared, tuple(problems), 1 in taken, 2 in taken)


def _given_already(function: Callable[..., Any]) -> set[str]:
    """Parameters that a `functools.partial` has named: they keep that value."""
    names: set[str] = set()
    while isinstance(function, functools.partial):
        names.update(function.keywords)
        function = function.func
    return names


def _role(hint: Any) -> int | None:
    if isinstance(hint, type):
        if issubclass(hint, ThreadState):
            return 1
        if issubclass(hint, RunContext):
            return 2
    return None


def _arranged(function: Callable[..., Any], order: tuple[int, ...], named: Mapping[str, int]) -> Behaviour:
    """The function as one of (input, state, context); the usual orders without another call in between."""
    if named:

        def by_name(*given: Any) -> Any:
            return function(*(given[at] for at in order), **{name: given[at] for name, at in named.items()})

        return by_name
    if order == (0, 1, 2):
        return function
    ready: dict[tuple[int, ...], Behaviour] = {
        (): lambda _input, _state, _context: function(),
        (0,): lambda given, _state, _context: function(given),
        (1,): lambda _input, state, _context: function(state),
        (2,): lambda _input, _state, context: function(context),
        (0, 1): lambda given, state, _context: function(given, state),
        (0, 2): lambda given, _state, context: function(given, context),
        (1, 2): lambda _input, state, context: function(state, context),
    }

    def in_order(*given: Any) -> Any:
        return function(*(given[at] for at in order))

    return ready.get(order, in_order)


def _is_async(function: Callable[..., Any]) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - asked for its kind, not whether it is there


def _hints(function: Callable[..., Any], localns: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Resolved annotations, one by one, so that one unknown name spoils one parameter only."""
    while isinstance(function, functools.partial):
        function = function.func
    owner: Any = function
    if not isinstance(function, (types.FunctionType, types.MethodType)) and not inspect.isbuiltin(function):
        owner = getattr(function, "__call__", function)  # noqa: B004 - a callable object's method carries the annotations
    annotations: dict[str, Any] = dict(getattr(owner, "__annotations__", {}))
    annotations.pop("return", None)
    names = {**localns, **_closure(owner)}
    hints: dict[str, Any] = {}
    problems: list[str] = []
    for name, annotation in annotations.items():
        holder = types.SimpleNamespace(__annotations__={name: annotation})
        try:
            hints[name] = get_type_hints(holder, globalns=getattr(owner, "__globals__", {}), localns=names, include_extras=True)[name]
        except Exception as error:
            problems.append(f"the annotation of parameter '{name}' cannot be resolved: {error}")
    return hints, problems


def _closure(function: Any) -> dict[str, Any]:
    """Names of the function's enclosing scopes that it uses."""
    function = getattr(function, "__func__", function)
    code, cells = getattr(function, "__code__", None), getattr(function, "__closure__", None)
    if code is None or not cells:
        return {}
    found: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, cells, strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            continue
    return found
