"""The plain-text twin of each view: what an exported notebook and a terminal show (W5.3). Pure; drafts are left out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Literal, cast

from ..wire import GraphPicture, Json, JsonObject, MessageView, NodeView, PendingCard, SessionState

View = Literal["console", "panel", "graph", "transcript"]

HIDDEN = "(hidden)"


def as_text(state: SessionState, view: View) -> str:
    """The whole twin of one view."""
    match view:
        case "console":
            lines = [headline(state), *_turn(state), *_pending(state)]
        case "panel":
            lines = [headline(state), *_pending(state)]
        case "transcript":
            lines = [headline(state), *_messages(state.messages)]
        case "graph":
            lines = [headline(state), *graph_lines(state.graph)]
    return "\n".join(lines)


def headline(state: SessionState) -> str:
    """Whose thread, which, and how it stands."""
    return f"{state.title} · thread {state.thread_id} · {state.status_text}"


def _turn(state: SessionState) -> list[str]:
    lines = [f"query: {state.query}"] if state.query else []
    lines += [f"answer: {state.answer}"] if state.answer else []
    if state.error is not None:
        lines += [part for part in (f"{state.error.type}: {state.error.what}", state.error.where, state.error.next_step) if part]
    lines += [state.editor.offer] if state.editor is not None and state.editor.offer is not None else []
    return lines + ([state.notice] if state.notice else [])


def _pending(state: SessionState) -> list[str]:
    return [line for card in state.pending for line in card_lines(card)]


def card_lines(card: PendingCard) -> list[str]:
    """What waits, as a headline and indented details."""
    lines = [f"{card.kind} {card.id}: {card.title}"]
    if card.reason:
        lines.append(f"  reason: {card.reason}")
    if card.guardrail is not None:
        lines += [
            f"  refused by {card.guardrail.guardrail} ({card.guardrail.phase}): {card.guardrail.reason}",
            f"  text: {card.guardrail.text}",
        ]
    elif card.kind in ("QUESTION", "MIDDLEWARE_QUESTION"):
        lines.append(f"  question: {compact(card.question)}")
    if card.arguments is not None:
        lines.append(f"  arguments: {compact(shown_arguments(card))}")
    lines += [f"  result: {card.result}"] if card.result is not None else []
    lines += [f"  message: {card.message}"] if card.message is not None else []
    return lines


def compact(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def shown_arguments(card: PendingCard) -> JsonObject:
    """The arguments without what their schema marks as secret."""
    arguments = card.arguments or {}
    schema = card.arguments_schema
    return arguments if schema is None else cast(JsonObject, without_secrets(arguments, schema, schema))


def without_secrets(value: Json, schema: Json, root: JsonObject) -> Json:
    """The value with HIDDEN in place of every part whose schema is write-only."""
    if not isinstance(schema, dict):
        return value
    reference = schema.get("$ref")
    if isinstance(reference, str):
        definitions = root.get("$defs")
        schema = definitions.get(reference.rpartition("/")[2], {}) if isinstance(definitions, dict) else {}
        if not isinstance(schema, dict):
            return value
    if schema.get("writeOnly") is True:
        return HIDDEN
    members = [member for keyword in ("anyOf", "oneOf", "allOf") for member in _list(schema.get(keyword))]
    for member in members:
        value = without_secrets(value, member, root)
    if isinstance(value, dict):
        properties = schema.get("properties")
        known: JsonObject = properties if isinstance(properties, dict) else {}
        rest = schema.get("additionalProperties")
        return {name: without_secrets(item, known.get(name, rest), root) for name, item in value.items()}
    if isinstance(value, list):
        return [without_secrets(item, schema.get("items"), root) for item in value]
    return value


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _messages(messages: Iterable[MessageView]) -> list[str]:
    lines: list[str] = []
    for message in messages:
        note = " (not run)" if message.not_run else " (error)" if message.is_error else ""
        if message.text or not message.tool_calls:
            lines.append(f"{message.role}{note}: {message.text}")
        for call in message.tool_calls:
            edited = ", edited by a person" if call.edited else ""
            lines.append(f"{message.role} calls {call.name} {compact(call.arguments)} ({call.state.replace('_', ' ')}{edited})")
    return lines


def graph_lines(graph: GraphPicture) -> list[str]:
    """Nodes with their marks, then edges; a node that continues a step is listed under its step (W3.4)."""
    lines = ["nodes:"]
    for node in graph.nodes:
        if node.folded_into is None:
            lines.append(f"  {_node_line(node)}")
            lines += [f"    {_node_line(inner)}" for inner in graph.nodes if inner.folded_into == node.id]
    lines.append("edges:")
    for edge in graph.edges:
        lines.append(f"  {edge.source} -> {edge.target} ({edge.kind.replace('_', ' ')}{', taken' if edge.taken else ''})")
    return lines


def _node_line(node: NodeView) -> str:
    marks = [node.status] if node.status != "idle" else []
    marks += [f"hold {side} ({hold})" for side, hold in (("before", node.hold_before), ("after", node.hold_after)) if hold != "off"]
    marks += [f"{node.held} held"] if node.held else []
    marks += [f"{node.waiting} waiting"] if node.waiting else []
    return node.id + (f" [{', '.join(marks)}]" if marks else "")
