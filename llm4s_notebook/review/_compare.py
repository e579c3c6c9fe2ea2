"""`compare`: the same queries and the same answers on two agents, side by side (M5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from typing import Any

from ..agent import Agent, AgentResult
from ..agent import events as told
from ..agent._display import as_html
from ..agent._visible import visible
from ..errors import ConfigError, PendingInterrupts, text_of
from ..graph import RunConfig
from ..graph.events import Custom
from ..models import is_blank
from ._pandas import pandas_for_a_frame
from ._review import Given, answered_from, checked_answers
from ._session import Session

COLUMNS = (
    *("query", "side", "agent", "status", "answer", "error", "model_calls", "input_tokens", "output_tokens", "cost"),
    *("seconds", "first_token", "thread_id"),
)


@dataclass(frozen=True, slots=True)
class ComparedTurn:
    """One query on one side ("a" or "b"): its result, what its model calls took in all and until the first piece, in seconds.

    `error` is what ended a turn that failed; a turn that waits for an answer that was not given has a suspended result.
    """

    query: str
    side: str
    agent: str
    thread_id: str
    result: AgentResult | None
    error: Exception | None = None
    seconds: float = 0.0
    first_token: float | None = None
    calls: tuple[told.ModelCallCompleted, ...] = field(default=(), repr=False)

    @property
    def status(self) -> str:
        """The class of the status, such as "Completed" or "Suspended"; "Failed" where the turn failed."""
        return "Failed" if self.error is not None or self.result is None else type(self.result.status).__name__

    def record(self) -> dict[str, Any]:
        """The turn as a flat row; see COLUMNS."""
        usage = None if self.result is None else self.result.usage
        values = (
            *(self.query, self.side, self.agent, self.status),
            None if self.result is None else self.result.answer,
            None if self.error is None else f"{type(self.error).__name__}: {text_of(self.error)}",
            *((0, 0, 0, None) if usage is None else (usage.requests, usage.input_tokens, usage.output_tokens, usage.cost)),
            *(self.seconds, self.first_token, self.thread_id),
        )
        return dict(zip(COLUMNS, values, strict=True))


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """What two agents made of the same queries, in pairs; the value of a cell shows them side by side."""

    pairs: tuple[tuple[ComparedTurn, ComparedTurn], ...]

    def to_records(self) -> list[dict[str, Any]]:
        """Two rows a query, a before b, each with the names of COLUMNS."""
        return [turn.record() for pair in self.pairs for turn in pair]

    def to_dataframe(self) -> Any:
        """The rows as a `pandas.DataFrame`. Raises: ConfigError where pandas, which is no dependency, is not installed."""
        return pandas_for_a_frame().DataFrame(self.to_records(), columns=list(COLUMNS))

    def __str__(self) -> str:
        lines: list[str] = []
        for a, b in self.pairs:
            lines.append(f"query: {visible(a.query)}")
            for turn in (a, b):
                shown = visible(str(turn.error)) if turn.error is not None else str(turn.result)
                lines += [f"  {turn.side}: {turn.agent} - {_took(turn)}", *(f"    {line}" for line in shown.splitlines())]
        return "\n".join(lines)

    __repr__ = __str__  # what a front end without HTML shows of a cell's value

    def _repr_html_(self) -> str:
        rows = "".join(_pair_html(a, b) for a, b in self.pairs)
        # Side by side is the point, so a narrow cell scrolls; tabindex lets the keyboard scroll too.
        table = "width:100%;min-width:42em;table-layout:fixed;border-collapse:collapse;color:inherit;font:inherit"
        return (
            '<div role="group" aria-label="compared turns" tabindex="0" style="overflow-x:auto">'
            f'<table style="{table}">{rows}</table></div>'
        )


async def compare(
    a: Agent,
    b: Agent,
    queries: Iterable[str],
    *,
    answers: Given = None,
    config: RunConfig = RunConfig(),  # noqa: B008 - frozen, the same for all
) -> Comparison:
    """Run each query on both agents, a before b, one turn at a time, each on a thread of its own (M5.1).

    What waits is answered from `answers`, as `review` takes them, anew for each turn: of a decision log the turn that was
    recorded with the same query. A turn that still waits is shown as it waits, one that fails with its error, and the others go on.

    Raises: ConfigError for anything but two agents, a list of queries, and answers as `review` takes them; CancelledError.
    """
    if not isinstance(queries, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
        raise ConfigError(field="compare", problems=[f"queries are a list of texts, not {type(queries).__name__}"])
    asked = [queries] if isinstance(queries, str) else list(queries)
    problems = [f"{name} is no Agent but {type(one).__name__}" for name, one in (("a", a), ("b", b)) if not isinstance(one, Agent)]  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
    problems += [f"query {at} is no text with something in it" for at, query in enumerate(asked, 1) if not _is_query(query)]
    if not asked:
        problems.append("there is no query")
    if problems:
        raise ConfigError(field="compare", problems=problems)
    if not isinstance(config, RunConfig):  # pyright: ignore[reportUnnecessaryIsInstance]  # as above
        raise ConfigError(field="config", problems=[f"a RunConfig is wanted, not {type(config).__name__}"])
    prepared = checked_answers(answers)
    pairs = [(await _turn(a, "a", query, prepared, config), await _turn(b, "b", query, prepared, config)) for query in asked]
    return Comparison(tuple(pairs))


def _is_query(query: object) -> bool:
    return isinstance(query, str) and not is_blank(query)


async def _turn(agent: Agent, side: str, query: str, answers: Any, config: RunConfig) -> ComparedTurn:
    session = Session(agent, config=config)
    error: Exception | None = None
    try:
        await answered_from(session, query, answers)
    except PendingInterrupts:
        pass  # it waits, and its result says for what
    except Exception as raised:
        error = raised
    records = await agent.runtime.checkpointer.events_after(session.thread_id, 0)
    events = [told.decode(one.event.name, one.event.payload) for one in records if isinstance(one.event, Custom)]
    calls = tuple(event for event in events if isinstance(event, told.ModelCallCompleted))
    return ComparedTurn(
        query,
        side,
        agent.id,
        session.thread_id,
        session.result,
        error,
        sum(call.seconds for call in calls),
        next((call.first_token for call in calls), None),
        calls,
    )


def _took(turn: ComparedTurn) -> str:
    first = "" if turn.first_token is None else f", the first word after {turn.first_token:.2f} s"
    usage = None if turn.result is None else turn.result.usage
    spent = "" if usage is None else f", {usage.input_tokens} + {usage.output_tokens} tokens"
    cost = "" if usage is None or usage.cost is None else f", ${usage.cost:.4f}"
    count = len(turn.calls)
    return f"{count} model call{'s' if count != 1 else ''} in {turn.seconds:.2f} s{first}{spent}{cost}"


_CELL = "text-align:left;vertical-align:top;padding:6px 12px 12px;white-space:normal;overflow-wrap:anywhere;max-width:none"
_ROW = '<tr style="background:none">'  # a notebook shades every second row, and a pair is two


def _pair_html(a: ComparedTurn, b: ComparedTurn) -> str:
    query = f'<bdi dir="auto">{escape(visible(a.query))}</bdi>'
    head = f'<th colspan="2" scope="rowgroup" style="{_CELL};border-top:1px solid currentColor;white-space:pre-wrap">{query}</th>'
    line = "border-left:1px solid var(--jp-border-color1,#bdbdbd)"
    return f"<tbody>{_ROW}{head}</tr>{_ROW}{_turn_html(a, _CELL)}{_turn_html(b, f'{_CELL};{line}')}</tr></tbody>"


def _turn_html(turn: ComparedTurn, style: str) -> str:
    if turn.error is not None or turn.result is None:
        said = "" if turn.error is None else escape(visible(f"{type(turn.error).__name__}: {text_of(turn.error)}"))
        shown = f'<strong>Failed</strong><div style="white-space:pre-wrap"><bdi dir="auto">{said}</bdi></div>'
    else:
        shown = as_html(turn.result, below=turn.query)
    name = f'<div style="margin-bottom:6px"><strong>{turn.side}: {escape(turn.agent)}</strong> <small>{escape(_took(turn))}</small></div>'
    return f'<td style="{style}">{name}{shown}</td>'
