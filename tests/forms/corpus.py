"""All cases of this folder."""

from __future__ import annotations

from . import (
    aliases_and_titles,
    any_and_json,
    constrained,
    dataclasses_and_typed_dicts,
    dates_and_times,
    decimals,
    defaults_and_factories,
    dicts,
    discriminated_unions,
    enums_and_literals,
    extras,
    field_names,
    lists,
    nested,
    numbers,
    optionals,
    recursive,
    root_models,
    schema_extras,
    secrets,
    sets_and_tuples,
    texts,
    unions,
)
from .case import Case

KINDS = {
    module.__name__.rpartition(".")[2]: tuple(module.CASES)
    for module in (
        texts,
        numbers,
        decimals,
        dates_and_times,
        enums_and_literals,
        optionals,
        nested,
        lists,
        dicts,
        sets_and_tuples,
        unions,
        discriminated_unions,
        recursive,
        defaults_and_factories,
        constrained,
        aliases_and_titles,
        field_names,
        extras,
        any_and_json,
        secrets,
        dataclasses_and_typed_dicts,
        root_models,
        schema_extras,
    )
}
CORPUS: dict[str, Case] = {case.name: case for cases in KINDS.values() for case in cases}
