"""The texts a person brings: a list, a pandas Series, a mapping or pairs of id and text, any iterable (T1.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from ...errors import ConfigError

_MOST_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts in the order given, each with its id. `index` is the Series' own index, for the export."""

    values: tuple[str, ...]
    ids: tuple[Any, ...]
    index: Any = None

    def __len__(self) -> int:
        return len(self.values)


def texts_of(given: Any) -> Texts:
    """Read the texts once, completely. Raises: ConfigError naming each place that holds no text, the first few of them."""
    if isinstance(given, str):
        given = [given]
    if getattr(given, "ndim", 1) == 2:
        raise _refused(['a table has several columns: give one of them, such as frame["answer"]'])
    index: Any = None
    if isinstance(given, Mapping):
        pairs = list(cast("Mapping[Any, Any]", given).items())
    elif _is_series(given):
        index = given.index
        pairs = list(zip(index, given, strict=True))
    elif isinstance(given, Iterable):
        pairs = list(_paired(cast("Iterable[Any]", given)))
    else:
        raise _refused([f"{type(given).__name__} is no collection of texts: give a list, a Series, a mapping of id to text, or pairs"])
    return Texts(_checked(pairs), tuple(label for label, _ in pairs), index)


def _is_series(given: Any) -> bool:
    """A pandas Series, seen without importing pandas: it has an index that is no method."""
    index = getattr(given, "index", None)
    return index is not None and not callable(index) and callable(getattr(given, "items", None))


def _paired(given: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Pairs of id and text as they are; a text alone is numbered by its place."""
    for position, item in enumerate(given):
        yield cast("tuple[Any, Any]", item) if _is_pair(item) else (position, item)


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(cast("tuple[Any, ...]", item)) == 2


def _checked(pairs: list[tuple[Any, Any]]) -> tuple[str, ...]:
    problems: list[str] = []
    for position, (label, text) in enumerate(pairs):
        if not isinstance(text, str):
            problems.append(f"{_place(position, label)} is {type(text).__name__}, not a text: {_short(text)}")
        elif not _is_hashable(label):
            problems.append(f"{_place(position, label)} has an id that cannot be looked up: {type(label).__name__}")
    if problems:
        raise _refused(problems)
    return tuple(str(text) for _, text in pairs)


def _place(position: int, label: Any) -> str:
    """Ids are compared as numbers only: an array's or a missing value's `==` gives no answer."""
    return f"position {position}" if isinstance(label, int) and label == position else f"position {position} (id {_short(label)})"


def _is_hashable(label: Any) -> bool:
    try:
        hash(label)
    except TypeError:
        return False
    return True


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:60] + "…"


def _refused(problems: list[str]) -> ConfigError:
    more = len(problems) - _MOST_PROBLEMS
    listed = problems[:_MOST_PROBLEMS] + ([f"and {more} more"] if more > 0 else [])
    return ConfigError(field="texts", problems=listed)
