"""A call's arguments as its tool takes them: secrets in their places, decoded strictly (3.3, 3.8, D4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from ..graph import value_path
from ..models import Json, compact, json_bytes, thaw
from ._argument_faults import ArgumentFault, InvalidArguments, faults_in, mistaken_choice
from ._codec import Codec
from ._secrets import NO_VALUE, SecretPlaces

if TYPE_CHECKING:
    from ._tool import AgentTool

_NO_PLACE = "a secret of this call has no place in the tool's arguments any more, because the tool has changed"


def arguments_for(tool: AgentTool, places: SecretPlaces | None, shown: Json, secrets: Mapping[str, Json]) -> Json:
    """A call's arguments as its tool decodes them: nothing stands for no arguments (3.3.4), and secrets are in their places (3.8).

    Raises: InvalidArguments for dots that stand for nothing known, and for a secret that has no place any more.
    """
    if shown is None and tool.accepts_nothing():
        return {}
    if places is None:
        if secrets:
            raise InvalidArguments([ArgumentFault((), _NO_PLACE)])
        return shown
    revealed = places.reveal(shown, secrets)
    problems = [ArgumentFault(path, NO_VALUE) for path in revealed.unknown]
    if revealed.lost:
        problems.append(ArgumentFault((), _NO_PLACE))
    if problems:
        raise InvalidArguments(problems)
    return revealed.value


def decode_arguments(codec: Codec[Any], arguments: Json) -> Any:
    """Validate strictly; only a whole-valued float may stand for an integer (3.3.3).

    Raises: InvalidArguments; and whatever else a validator of the user's raises (3.2.1).
    """
    adapter: TypeAdapter[Any] = codec.adapter
    try:
        made = adapter.validate_json(json_bytes(arguments), strict=True)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    else:
        return _with_its_choices(made, codec, arguments)
    whole = _whole_floats_as_ints(arguments, errors)
    if whole is not None:
        try:
            made = adapter.validate_json(compact(whole), strict=True)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        else:
            return _with_its_choices(made, codec, arguments)
    raise InvalidArguments(faults_in(errors, arguments, codec.schema()))


def _with_its_choices(made: Any, codec: Codec[Any], arguments: Json) -> Any:
    """What was decoded, if no boolean stands for a number among choices or the other way round: to Python `True` is 1.

    Raises: InvalidArguments.
    """
    if codec.numbers_to_choose_from:
        leaves = [(path, given) for path, given in _leaves(arguments, ()) if isinstance(given, bool | int | float)]
        wrong = [fault for path, given in leaves if (fault := mistaken_choice(codec.schema(), path, given)) is not None]
        if wrong:
            raise InvalidArguments(wrong)
    return made


def _leaves(value: Json, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Json]]:
    if isinstance(value, dict):
        for name, item in cast(dict[str, Json], value).items():
            yield from _leaves(item, (*path, name))
    elif isinstance(value, list):
        for at, item in enumerate(cast(list[Json], value)):
            yield from _leaves(item, (*path, at))
    else:
        yield path, value


def _whole_floats_as_ints(arguments: Json, errors: Sequence[ErrorDetails]) -> Json:
    """A copy with an int for each whole float that an integer was wanted for; None when there is none."""
    changed = False
    copy = thaw(arguments)
    for error in errors:
        given: Json = error["input"]
        if error["type"] not in ("int_type", "int_from_float") or not isinstance(given, float) or not given.is_integer():
            continue
        path = value_path(arguments, error["loc"], missing=False)
        if not path:
            return int(given)
        holder = copy
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = int(given)
        changed = True
    return copy if changed else None
