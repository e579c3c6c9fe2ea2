"""Where in a value a fault lies that pydantic names: its own steps without the members of unions (R4.10). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

Path = tuple[str | int, ...]
_NOWHERE = object()


def value_path(value: Any, loc: Sequence[str | int], *, missing: bool) -> Path:
    """The steps of `loc` that lead through a JSON value. With `missing` the last one names what is not there.

    pydantic also names members of unions, which are no steps. A member may be called like a field beside it, so the way is the
    first that arrives at the last step; where none does - the last step is a member, too - it goes as deep as it can.
    """
    dead: set[tuple[int, int]] = set()

    def arrives(here: Any, index: int) -> Path | None:
        if index == len(loc):
            return None
        if (id(here), index) in dead:
            return None
        step, last = loc[index], index == len(loc) - 1
        below = _below(here, step)
        if last and (below is not _NOWHERE or (missing and isinstance(here, dict | list))):
            return (step,)
        if below is not _NOWHERE and (rest := arrives(below, index + 1)) is not None:
            return (step, *rest)
        if (rest := arrives(here, index + 1)) is not None:
            return rest
        dead.add((id(here), index))
        return None

    found = arrives(value, 0)
    if found is not None:
        return found
    path: list[str | int] = []
    for step in loc:
        below = _below(value, step)
        if below is not _NOWHERE:
            path.append(step)
            value = below
    return tuple(path)


def _below(value: Any, step: str | int) -> Any:
    if isinstance(value, dict) and isinstance(step, str):
        return cast(dict[str, Any], value).get(step, _NOWHERE)
    if isinstance(value, list) and isinstance(step, int):
        items = cast(list[Any], value)
        return items[step] if 0 <= step < len(items) else _NOWHERE
    return _NOWHERE
