"""One model of the corpus: a value that a model proposes, what a person does to its form, and what must arrive."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import AfterValidator, BaseModel

Json = Any
Path = tuple[str | int, ...]
Place = str | int | Path
Step = tuple[str, Path, Any]
"""What a person does, where, and with what: ("write", ("home", "street"), "Main St 2")."""


class _Gone:
    """Stands for a field that was left out, and for a value that is not compared."""

    def __repr__(self) -> str:
        return "GONE"


GONE: Any = _Gone()


@dataclass(frozen=True)
class Edit:
    """What a person does to one leaf, the JSON that it is then, and what the kernel makes of it."""

    path: Path
    steps: tuple[Step, ...]
    value: Json
    python: Any


@dataclass(frozen=True)
class Refused:
    """What a person does that the kernel refuses, the value it makes, and the place its problem is shown on.

    `here` says that the browser knows it, too, and does not even send it (W2.8).
    """

    steps: tuple[Step, ...]
    path: Path
    value: Json
    at: Path
    here: bool


@dataclass(frozen=True)
class Case:
    """A model by its name, with everything that is tried on it."""

    name: str
    type: Any
    sample: Json
    edits: tuple[Edit, ...]
    refused: Refused
    takes: Callable[[Any], Any] = field(default=lambda made: made)
    """Where in what was decoded the values lie; the whole of it unless it says so."""

    @property
    def is_object(self) -> bool:
        return isinstance(self.sample, dict)

    @property
    def edited(self) -> Json:
        """The sample after all edits."""
        value = copy.deepcopy(self.sample)
        for edit in self.edits:
            value = put(value, edit.path, edit.value)
        return value

    @property
    def wrong(self) -> Json:
        """The sample with what is refused in it."""
        return put(copy.deepcopy(self.sample), self.refused.path, self.refused.value)


def path_of(place: Place) -> Path:
    return place if isinstance(place, tuple) else (place,)


def never(*values: Any) -> AfterValidator:
    """A rule that only Python knows: these values are refused."""

    def check(value: Any) -> Any:
        if any(value == other for other in values):
            raise ValueError("not this one")
        return value

    return AfterValidator(check)


# -- what a person does ----------------------------------------------------------------------------------------------

_SAME: Any = object()


def _edit(steps: Sequence[Step], path: Path, value: Json, python: Any) -> Edit:
    return Edit(path, tuple(steps), value, value if python is _SAME else python)


def write(place: Place, text: str, value: Json = _SAME, python: Any = _SAME) -> Edit:
    """Write a text over what a field holds; `value` is the JSON it stands for, the text itself unless given."""
    path = path_of(place)
    return _edit([("write", path, text)], path, text if value is _SAME else value, python)


def choose(place: Place, words: str, value: Json = _SAME, python: Any = _SAME) -> Edit:
    """Choose one of a field's choices by its words."""
    path = path_of(place)
    return _edit([("choose", path, words)], path, words if value is _SAME else value, python)


def nothing(place: Place) -> Edit:
    """Tick "nothing (null)"."""
    path = path_of(place)
    return _edit([("nothing", path, True)], path, None, None)


def leave_out(place: Place) -> Edit:
    """Press "leave out"; what the kernel puts there is not compared."""
    path = path_of(place)
    return _edit([("leave out", path, None)], path, GONE, GONE)


def do(place: Place, value: Json, *steps: Edit | Step, python: Any = _SAME) -> Edit:
    """Several steps that together make the value of one place."""
    flat = [one for step in steps for one in (step.steps if isinstance(step, Edit) else (step,))]
    return _edit(flat, path_of(place), value, python)


def add(place: Place) -> Step:
    """Press the button that begins what is not there: a group, an item, a constant."""
    return ("add", path_of(place), None)


def remove(place: Place) -> Step:
    """Press "remove" beside an item or a named value."""
    return ("remove", path_of(place), None)


def name(place: Place, key: str) -> Step:
    """Begin a named value."""
    return ("name", path_of(place), key)


def something(place: Place) -> Step:
    """Untick "nothing (null)"."""
    return ("nothing", path_of(place), False)


def kind(place: Place, words: str) -> Step:
    """Pick one of a union's kinds by its name."""
    return ("kind", path_of(place), words)


def refused(edit: Edit, at: Place | None = None) -> Refused:
    """Refused by the kernel alone; its problem is shown on the edited place unless `at` names another."""
    return Refused(edit.steps, edit.path, edit.value, edit.path if at is None else path_of(at), here=False)


def refused_here(edit: Edit, at: Place | None = None) -> Refused:
    """Refused by the kernel, and by the browser before."""
    return Refused(edit.steps, edit.path, edit.value, edit.path if at is None else path_of(at), here=True)


# -- values ----------------------------------------------------------------------------------------------------------


def put(value: Json, path: Path, new: Json) -> Json:
    """The value with another one at a path; GONE takes it out. Changes the value."""
    if not path:
        return new
    holder = value
    for step in path[:-1]:
        holder = holder[step]
    if new is GONE:
        del holder[path[-1]]
    elif isinstance(holder, list) and path[-1] == len(cast(list[Json], holder)):
        cast(list[Json], holder).append(new)
    else:
        holder[path[-1]] = new
    return value


def leaves(value: Json, path: Path = ()) -> Iterator[Path]:
    """The places of a JSON value that hold no other: texts, numbers, null, empty lists and objects."""
    if isinstance(value, dict) and value:
        for key, item in cast(dict[str, Json], value).items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list) and value:
        for at, item in enumerate(cast(list[Json], value)):
            yield from leaves(item, (*path, at))
    else:
        yield path


def at(made: Any, path: Path) -> Any:
    """What lies at a place of a decoded value, found by the names that its JSON has."""
    for step in path:
        made = _step(made, step)
    return made


def missed(case: Case, made: Any) -> list[str]:
    """The edits of a case that are not in what was decoded, as lines."""
    return [
        f"{edit.path}: {at(made, edit.path)!r}, not {edit.python!r}"
        for edit in case.edits
        if edit.python is not GONE
        and not (at(made, edit.path) == edit.python and isinstance(edit.python, bool) == isinstance(at(made, edit.path), bool))
    ]


def _step(made: Any, step: str | int) -> Any:
    if isinstance(made, BaseModel):
        for field_name, info in type(made).model_fields.items():
            alias = info.validation_alias or info.alias
            names = getattr(alias, "choices", [alias])
            if step in (field_name, *names):
                return vars(made)[field_name]
        return (made.model_extra or {})[step]
    if isinstance(made, dict):
        found = cast(dict[Any, Any], made)
        return next(item for key, item in found.items() if key == step or str(getattr(key, "value", key)) == step)
    if isinstance(made, tuple | list):
        return cast(Sequence[Any], made)[cast(int, step)]
    return getattr(made, cast(str, step))
