"""The prompt and the options of an agent as a form: drawn, checked and turned back into an agent (W4.5). Pure."""

from __future__ import annotations

import json
import keyword
import logging
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ..agent import Agent
from ..errors import ConfigError
from ..models import ClientWithOptions, is_blank
from ..wire import EditedAgent, Json, JsonObject, as_numbers

PROMPT, OPTIONS = "system_prompt", "options"
Fault = tuple[tuple[str, ...], str]
_log = logging.getLogger(__name__)


class FormRefused(ConfigError):
    """What a person has filled in cannot be an agent; `faults` are pairs of a place in the form and what is wrong there."""

    def __init__(self, agent: str, faults: Sequence[Fault]) -> None:
        self.agent = agent
        self.faults = tuple(faults)
        problems = [": ".join([".".join(path), message]) if path else message for path, message in faults]
        next_step = "correct it and apply it again; nothing was changed"
        super().__init__(field=f"the form of agent '{agent}'", problems=problems, next_step=next_step)


def forms(agent: Agent, given: Agent) -> list[EditedAgent]:
    """A form for each agent of the family; `given` is the one that the session was made with."""
    return [
        EditedAgent(id=id, about=_about(agent, id), form=_schema(agent, id), values=values(agent, id), code=code_of(agent, given))
        for id in agent.family
    ]


def values(agent: Agent, id: str) -> JsonObject:
    """What the form of one agent holds. A key is none of a client's options."""
    member = agent.member(id)
    if member is None:
        return {}
    found: JsonObject = {} if member.system_prompt is None else {PROMPT: member.system_prompt}
    options = _options(member.client)
    return found if options is None else {**found, OPTIONS: options[1]}


def _options(client: object) -> tuple[JsonObject, JsonObject] | None:
    """A client's schema of its options and what was given of them; None where it has none, or what it says of them is no JSON.

    What it holds beside its schema is none of the form's, and an option that is None was not given.
    """
    if not isinstance(client, ClientWithOptions):
        return None
    try:
        schema: Json = json.loads(json.dumps(client.option_schema(), allow_nan=False))
        held: Json = json.loads(json.dumps(client.option_values(), allow_nan=False))
    except Exception:  # somebody's own client; the prompt can be edited all the same
        _log.exception("the options of %s cannot be read", type(client).__name__)
        return None
    if not isinstance(schema, dict) or not isinstance(schema.get("properties"), dict) or not isinstance(held, dict):
        return None
    names = cast(JsonObject, schema["properties"])
    return schema, {name: value for name, value in held.items() if name in names and value is not None}


def _schema(agent: Agent, id: str) -> JsonObject:
    member = agent.member(id)
    properties: JsonObject = {PROMPT: {"type": "string"}}
    options = None if member is None else _options(member.client)
    if options is not None:
        properties[OPTIONS] = options[0]
    required: list[Json] = [name for name in properties if name == OPTIONS]
    return {"type": "object", "title": id, "properties": properties, "required": required, "additionalProperties": False}


def _about(agent: Agent, id: str) -> str:
    member = agent.member(id)
    client = None if member is None else member.client
    name = str(getattr(client, "model", "") or "")
    kind = type(client).__name__
    if _options(client) is not None:
        return f"Model: {name or kind}."
    return f"Model: {name} ({kind}). It has no options to set here." if name else f"{kind} has no options to set here."


def changed(agent: Agent, id: str, value: Mapping[str, Any]) -> Agent:
    """The family with one agent's prompt and options as the form holds them; a blank prompt is none.

    Raises: ConfigError for an agent that is not in the family; FormRefused naming every field that is wrong.
    """
    member = agent.member(id)
    if member is None:
        raise ConfigError(field="the form", problems=[f"agent '{id}' is not in the family of '{agent.id}'"])
    value = cast("Mapping[str, Any]", as_numbers(cast(JsonObject, value), _schema(agent, id)))
    prompt = value.get(PROMPT, "")
    faults: list[Fault] = [((name,), "there is no such field") for name in value if name not in (PROMPT, OPTIONS)]
    if not isinstance(prompt, str):
        faults.append(((PROMPT,), "must be text"))
    client: Any = member.client
    options = _options(client)
    if options is not None:
        client = _with_options(client, options, value.get(OPTIONS, {}), faults)
    elif OPTIONS in value:
        faults.append(((OPTIONS,), f"{type(client).__name__} has no options to set here"))
    if faults:
        raise FormRefused(id, faults)
    changes = {PROMPT: None if is_blank(prompt) else prompt, "client": client}
    try:
        return agent.with_(agent=id, **changes)
    except ConfigError as refused:
        place = (PROMPT,) if refused.field == PROMPT else ()
        raise FormRefused(id, [(place, problem) for problem in refused.problems]) from refused


def _with_options(client: ClientWithOptions, of: tuple[JsonObject, JsonObject], given: Any, faults: list[Fault]) -> Any:
    names = cast(JsonObject, of[0]["properties"])
    if not isinstance(given, Mapping):
        faults.append(((OPTIONS,), "must be an object"))
        return client
    options = cast("Mapping[str, Any]", given)
    unknown = [name for name in options if name not in names]
    faults += [((OPTIONS, name), "there is no such option") for name in unknown]
    faults += [((OPTIONS, name), "must be left out where it is not given") for name, value in options.items() if value is None]
    if dict(options) == of[1] or unknown:
        return client  # nothing to change: also where somebody's own client gives what it would not take
    try:
        return client.with_options(**{name: options.get(name) for name in names})
    except ConfigError as refused:
        for problem in refused.problems:
            name, colon, message = problem.partition(": ")
            faults.append(((OPTIONS, name), message) if colon and name in names else ((OPTIONS,), problem))
        return client


# -- as code ---------------------------------------------------------------------------------------------------------


def code_of(agent: Agent, given: Agent) -> str | None:
    """The lines that make this agent from the one given, called `agent` as in the lessons; None where nothing is changed."""
    lines: list[str] = []
    for id in agent.family:
        arguments = _arguments(values(given, id), values(agent, id), _client_name(agent, id))
        if arguments:
            named = [f"agent={id!r}"] if len(agent.family) > 1 else []
            lines += ["agent = agent.with_(", *(f"    {argument}," for argument in [*named, *arguments]), ")"]
    return "\n".join(lines) if lines else None


def _client_name(agent: Agent, id: str) -> str:
    return "agent.settings.client" if id == agent.id else f"agent.member({id!r}).client"


def _arguments(before: JsonObject, after: JsonObject, client: str) -> list[str]:
    found: list[str] = []
    if before.get(PROMPT) != after.get(PROMPT):
        found.append(f"{PROMPT}={_literal(after.get(PROMPT))}")
    old, new = (cast(JsonObject, one.get(OPTIONS) or {}) for one in (before, after))
    changes = [f"{name}={new.get(name)!r}" for name in dict.fromkeys([*old, *new]) if old.get(name) != new.get(name)]
    if changes and all(name.partition("=")[0].isidentifier() and not keyword.iskeyword(name.partition("=")[0]) for name in changes):
        found.append(f"client={client}.with_options({', '.join(changes)})")
    elif changes:
        found.append(f"client={client}.with_options(**{ {name: new.get(name) for name in [*old, *new]}!r})")
    return found


def _literal(text: Json) -> str:
    """A text as Python: one of several lines as it is read, where three quotes hold it unchanged."""
    if not isinstance(text, str) or "\n" not in text:
        return repr(text)
    plain = '"""' not in text and "\\" not in text and "\r" not in text and not text.endswith('"') and text.replace("\n", "").isprintable()
    return f'"""{text}"""' if plain else repr(text)
