"""`@tool`: a tool made of a function, its arguments read off the annotated parameters (D20)."""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Generic, ParamSpec, TypeVar, Union, cast, get_args, get_origin, get_type_hints, overload

from docstring_parser import ParseError
from docstring_parser import parse as parse_docstring
from pydantic import ConfigDict, Field

from ..errors import ConfigError
from ..graph import StateKey
from ..models import FrozenDict, Json
from ._argument_faults import InvalidArguments
from ._arguments import decode_arguments
from ._codec import ArgumentsCodec, Codec
from ._context import ToolContext
from ._outcome import OUTCOMES, Success, ToolOutcome
from ._tool import AgentTool, checked_name
from ._worker import call_hook

P = ParamSpec("P")
R = TypeVar("R")


class FunctionTool(AgentTool, Generic[P, R]):
    """A function as a tool. Calling it calls the function."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        read_only: bool = False,
        destructive: bool = True,
        idempotent: bool = False,
        open_world: bool = True,
        writes: Iterable[StateKey[Any, Any]] | StateKey[Any, Any] = (),
        check: Callable[..., object] | None = None,
        namespace: Mapping[str, Any] | None = None,
    ) -> None:
        """Raises: ConfigError for a bad name, or naming each parameter that cannot be read from JSON."""
        self.function = function
        inner = _inner(function)
        self.name = checked_name(name if name is not None else getattr(inner, "__name__", type(inner).__name__))
        self.read_only, self.destructive, self.idempotent, self.open_world = read_only, destructive, idempotent, open_world
        self.writes = frozenset({writes} if isinstance(writes, StateKey) else writes)
        self.check = check
        called = _routine(inner)
        if inspect.isgeneratorfunction(called) or inspect.isasyncgenfunction(called):
            problem = "it is a generator, which gives no result when it is called; return a value, such as a list"
            raise ConfigError(field=f"tool '{self.name}'", problems=[problem])
        documented = _documentation(inner)
        self.description = description if description is not None else documented[0]
        self._context_parameters, fields = _parameters(function, self.name, documented[1], namespace or {})
        self._codec = _codec(self.name, fields)
        self._names = tuple(field[0] for field in fields)
        self._on_the_loop = inspect.iscoroutinefunction(function)
        schema = {keyword: value for keyword, value in self._codec.schema().items() if keyword != "title"}
        self._parameters = FrozenDict(schema)
        self.__doc__ = inner.__doc__
        self.__name__ = getattr(inner, "__name__", self.name)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    @property
    def parameters(self) -> dict[str, Json]:
        return self._parameters

    def decode(self, arguments: Json) -> Mapping[str, Any]:
        """The keyword arguments of the function. Raises: InvalidArguments, or what a validator or the check raises."""
        decoded = decode_arguments(self._codec, arguments)
        given = {name: getattr(decoded, name) for name in self._names}
        if self.check is not None:
            refused = self.check(**given)
            if isinstance(refused, str):
                raise InvalidArguments([refused])
        return given

    async def execute(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        given = {**args, **dict.fromkeys(self._context_parameters, context)} if self._context_parameters else args
        function: Callable[..., Any] = self.function
        made = await function(**given) if self._on_the_loop else await call_hook(function, **given)
        return made if isinstance(made, OUTCOMES) else Success(made)


def _inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """What a `functools.partial` is made of, which has the name and the docstring; anything else is itself."""
    return _inner(function.func) if isinstance(function, functools.partial) else function


def _bound(function: object) -> Mapping[str, Any]:
    """The arguments that a partial was given by name."""
    return cast("functools.partial[Any]", function).keywords if isinstance(function, functools.partial) else {}


def _routine(called: Callable[..., Any]) -> Callable[..., Any]:
    """What runs when this is called: of an object that is no function itself its class's `__call__`."""
    return called if inspect.isroutine(called) else type(called).__call__  # pyright: ignore[reportFunctionMemberAccess]


def _documentation(function: Callable[..., Any]) -> tuple[str, Mapping[str, str]]:
    """The tool's and its parameters' descriptions, from the docstring (Google, NumPy, reST or Epydoc style)."""
    text = inspect.getdoc(function) or ""
    try:
        parsed = parse_docstring("\n" + text)  # it cleans the text again, which would take the indents below a first line
    except ParseError:
        return text, {}
    described = "\n".join(part for part in (parsed.short_description, parsed.long_description) if part)
    params = [(param.arg_name, param.description) for param in parsed.params if param.description]
    return described or text, {name.strip(" `*"): told for names, told in params for name in names.split(",")}  # "x, y : int"


def _parameters(
    function: Callable[..., Any], tool_name: str, described: Mapping[str, str], namespace: Mapping[str, Any]
) -> tuple[tuple[str, ...], list[tuple[str, Any, Any]]]:
    """The names of the context parameters, and the others as dataclass fields. Raises: ConfigError naming each that cannot be one."""
    context: list[str] = []
    fields: list[tuple[str, Any, Any]] = []
    problems: list[str] = []
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError) as error:
        raise ConfigError(field=f"tool '{tool_name}'", problems=[f"its parameters cannot be read: {error}"]) from error
    bound = _bound(function)
    for parameter in signature.parameters.values():
        name = parameter.name
        if name in bound:  # given already, and not the model's to give
            continue
        try:
            hint = _hint(function, parameter, namespace)
        except Exception as error:  # an annotation in quotes may hold anything
            problems.append(f"parameter '{name}': its annotations cannot be read: {error}")
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            problems.append(f"parameter '{name}': a tool's parameters are given by name")
        elif parameter.annotation is parameter.empty:
            problems.append(f"parameter '{name}' has no annotation to read its type from")
        elif _is_context(hint):
            context.append(name)
        elif ToolContext in _named_in(hint):
            problems.append(f"parameter '{name}': a ToolContext is handed in and no part of an argument; annotate with ToolContext alone")
        else:
            fields.append((name, _annotation(hint, described.get(name)), _default(parameter.default)))
    if problems:
        raise ConfigError(field=f"tool '{tool_name}'", problems=problems)
    return tuple(context), fields


def _hint(function: Callable[..., Any], parameter: inspect.Parameter, namespace: Mapping[str, Any]) -> Any:
    """The parameter's annotation with names in quotes looked up; the function's other annotations do not matter."""
    if parameter.annotation is parameter.empty:
        return parameter.empty
    inner = _routine(inspect.unwrap(_inner(function)))
    names = getattr(getattr(inner, "__func__", inner), "__globals__", {})
    holder = type("Annotated", (), {"__annotations__": {parameter.name: parameter.annotation}})
    return get_type_hints(holder, globalns=names, localns=dict(namespace), include_extras=True)[parameter.name]


def _is_context(hint: Any) -> bool:
    """Whether the parameter asks for the call's context, optional or annotated."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, types.UnionType):
        members = [one for one in get_args(hint) if one is not types.NoneType]
        return len(members) == 1 and _is_context(members[0])
    return hint is ToolContext


def _codec(tool_name: str, fields: Sequence[tuple[str, Any, Any]]) -> Codec[Any]:
    """The codec of the arguments, whose schema is made. Raises: ConfigError naming each parameter that no JSON can be read as."""
    try:
        return _codec_of(tool_name, fields)
    except ConfigError as together:
        problems: list[str] = []
        for field in fields:
            try:
                _codec_of(tool_name, [field])
            except ConfigError as alone:
                # pydantic's advice on its own settings is of no use here
                reasons = [problem.partition("\n")[0].partition(". Set `")[0] for problem in alone.problems]
                shown = "; ".join(_PREFIX.sub("", reason) for reason in reasons)
                problems.append(f"parameter '{field[0]}': {field[1]!r} is not a type pydantic can read and write: {shown}")
        raise ConfigError(field=f"tool '{tool_name}'", problems=problems or together.problems) from together


_PREFIX = re.compile(r".*?(is not a type pydantic can read and write|has no JSON Schema): ")


def _codec_of(tool_name: str, fields: Sequence[tuple[str, Any, Any]]) -> Codec[Any]:
    if any(_says_of_a_class(hint) for _, hint, _ in fields):
        raise ConfigError(field=f"tool '{tool_name}'", problems=["it tells how a class is made, not what an argument is"])
    settings = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    shape = dataclasses.make_dataclass("Arguments", fields, kw_only=True, namespace={"__pydantic_config__": settings})
    codec = ArgumentsCodec[Any](shape, what=f"tool '{tool_name}'")
    codec.schema()
    return codec


def _says_of_a_class(hint: Any) -> bool:
    """Whether a dataclass would make no field of the annotation."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return ClassVar in (hint, get_origin(hint)) or dataclasses.InitVar in (hint, type(hint)) or hint is dataclasses.KW_ONLY


def _named_in(hint: Any) -> Iterator[Any]:
    yield hint
    for inner in get_args(hint):
        yield from _named_in(inner)


def _annotation(hint: Any, description: str | None) -> Any:
    """The parameter's type with the docstring's description, unless the annotation brings its own: of two the later one counts."""
    if description is None:
        return hint
    bare, *own = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    return Annotated[tuple([bare, Field(description=description), *own])]  # type: ignore[return-value]  # made at run time


def _changeable(value: object) -> bool:
    if isinstance(value, tuple):
        return copy.deepcopy(cast(object, value)) is not value
    return type(value).__hash__ is None


def _default(value: Any) -> Any:
    if value is inspect.Parameter.empty:
        return dataclasses.field()
    if not _changeable(value):
        return dataclasses.field(default=value)
    # Whatever can be changed is made anew for each call: what one does to it is not in the next (D12).
    return dataclasses.field(default_factory=functools.partial(copy.deepcopy, value))


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    read_only: bool = False,
    destructive: bool = True,
    idempotent: bool = False,
    open_world: bool = True,
    writes: Iterable[StateKey[Any, Any]] | StateKey[Any, Any] = (),
    check: Callable[..., object] | None = None,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **settings: Any) -> Any:
    """Make a tool of a function.

    Its arguments are the annotated parameters, checked strictly; a `ToolContext` parameter, optional or not, is handed in and
    is no argument.
    The description and those of the parameters come from the docstring. It returns a plain value, which is a success, or
    one of `Success`, `ToolError`, `NeedsApproval`, `Fatal`. A plain function runs in a worker thread.

    `check` is called with the decoded arguments by name; raise, or return a text, to refuse them (3.2 step 4).

    Raises: ConfigError.
    """
    namespace = sys._getframe(1).f_locals  # pyright: ignore[reportPrivateUsage]  # the only way to see a caller's locals: names that annotations in quotes may use, such as a class of the calling function
    if function is not None:
        return FunctionTool(function, namespace=namespace)

    def decorate(made: Callable[..., Any]) -> FunctionTool[..., Any]:
        return FunctionTool(made, namespace=namespace, **settings)

    return decorate
