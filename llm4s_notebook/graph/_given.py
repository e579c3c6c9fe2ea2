"""What callers give in place of ids, lists and schema versions, and what is wrong with it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from ..errors import half_character


def text_problem(name: str, given: object) -> str | None:
    """Why a value is no text that a store takes."""
    if not isinstance(given, str):
        return f"{name} is a text, not {given!r}"
    at = half_character(given)
    return None if at is None else f"{name} holds half a character, at position {at}"


def several(given: object, single: tuple[type, ...], what: str, problems: list[str]) -> tuple[Any, ...]:
    """One thing of these types, or those of an iterable; anything else is a problem, and nothing."""
    if isinstance(given, single):
        return (given,)
    try:
        return tuple(cast("Iterable[Any]", given))
    except TypeError:
        problems.append(f"{what}: {given!r} is neither one nor several")
        return ()


def usable_id(given: object, what: str, problems: list[str]) -> str:
    """The id; for one that is no text, which is a problem, something that can stand in its place until the problem is told."""
    problem = text_problem(what, given)
    if problem is None:
        return cast(str, given)
    problems.append(problem)
    return f"<{given!r}>"


def schema_problems(version: object, migrations: object) -> list[str]:
    """What is wrong with a schema version and the steps that lead to it (R1.38)."""
    problems: list[str] = []
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        problems.append(f"its version is {version!r}; versions are whole numbers from 1")
    if not isinstance(migrations, Mapping):
        problems.append(f"its migrations are {migrations!r}, and must be a mapping from a version to a function")
    else:
        steps = cast(Mapping[object, object], migrations)
        problems += [
            f"its migration from version {step!r} is {made!r}, which cannot be called" for step, made in steps.items() if not callable(made)
        ]
    return problems
