"""Lists of threads, with what waits in each: one statement, which reads neither a thread's row nor its messages."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from operator import itemgetter
from typing import Any, Final, TypeAlias

from .._clock import from_microseconds
from .._types import CheckpointStatus, ThreadSummary, Waiting
from ._schema import ALIVE, PARKED, VALUE_HEAD
from ._thread_row import CODES, STATUSES

MOST: Final = 1 << 62  # the largest number a limit or a position needs to be

_LINES = "SELECT t.id, t.thread_id, t.graph, {code}, t.created_at, t.updated_at, w.place, w.name, p.value FROM llm4s_thread t"
_WAITING = f"""LEFT JOIN llm4s_row w INDEXED BY llm4s_row_waiting
    ON w.thread = t.id AND w.section = '{PARKED}' AND w.died = {ALIVE} AND w.position = {VALUE_HEAD}
    LEFT JOIN llm4s_parked p ON p.id = w.id"""
_BEHIND = "(t.updated_at, t.id) < (:time, :key)"
_SETTLED = f"{_LINES} INDEXED BY llm4s_thread_by_status {_WAITING} WHERE t.status = {{code}} AND t.status > 0 AND {_BEHIND}"
_RUNNING = f"{_LINES} INDEXED BY llm4s_thread_running {_WAITING} WHERE t.status = {{code}} AND {_BEHIND}"
_GRAPH = "SELECT graph_id FROM llm4s_graph WHERE id = ?"

Line: TypeAlias = tuple[int, str, int, int, int, int, int | None, str | None, Any]
"""A thread's key, id, graph, status, when it was created and updated; and of one record that waits in it, if any: place, name, value."""


def lines_of(statuses: Iterable[CheckpointStatus]) -> str:
    """The statement for the threads with these statuses, newest first, each as often as something waits in it.

    One look at the index for each status, and one at what waits for each thread, as far as it is read.
    """
    each = [(_RUNNING if one is CheckpointStatus.RUNNING else _SETTLED).format(code=CODES[one]) for one in statuses]
    return f"{' UNION ALL '.join(each)} ORDER BY t.updated_at DESC, t.id DESC"


LINES: Final[Mapping[CheckpointStatus | None, str]] = {
    None: lines_of(CheckpointStatus),
    **{one: lines_of((one,)) for one in CheckpointStatus},
}


class TooLong(Exception):
    """A read that must not hold up its caller."""


def summaries(
    connection: sqlite3.Connection,
    status: CheckpointStatus | None,
    after: tuple[int, int] | None,
    limit: int,
    most: int | None,
    data: Callable[[Any, str], bytes],
) -> list[ThreadSummary]:
    """Of `limit` threads, newest first, behind the one with that time and key; what waits in each in the order it was parked.

    `data` makes a stored value of a thread bytes, or raises.

    Raises: TooLong if there are more than `most` lines; TypeError, OverflowError for a line that cannot be.
    """
    time, key = after or (MOST, MOST)
    with closing(connection.execute(LINES[status], {"time": time, "key": key})) as found:
        return _made(connection, found, limit, MOST if most is None else most, data)


def _made(
    connection: sqlite3.Connection, found: Iterable[Line], limit: int, most: int, data: Callable[[Any, str], bytes]
) -> list[ThreadSummary]:
    graphs: dict[int, str] = {}
    made: list[ThreadSummary] = []
    several: dict[int, list[Line]] = {}  # the lines of a thread in which more than one waits, by its place in the list
    last = first = None
    for count, line in enumerate(found):
        key, thread_id, graph, code, created_at, updated_at, _, name, value = line
        if len(made) == limit and key != last:
            break
        if count == most:
            raise TooLong
        if key == last and first is not None:
            several.setdefault(len(made) - 1, [first]).append(line)
            continue
        last, first = key, line
        graph_id = graphs.get(graph)
        if graph_id is None:
            graph_id = graphs[graph] = _graph(connection, graph, thread_id)
        ids: tuple[str, ...] = ()
        waiting: tuple[Waiting, ...] = ()
        if name is not None:
            ids = (name,)
            waiting = (Waiting(name, value if type(value) is bytes else data(value, thread_id)),)
        created, updated = from_microseconds(created_at), from_microseconds(updated_at)
        made.append(ThreadSummary(thread_id, graph_id, STATUSES[code], ids, created, updated, waiting))
    for place, own in several.items():
        own.sort(key=_parked)
        parked = tuple([Waiting(str(line[7]), data(line[8], line[1])) for line in own])
        made[place] = made[place].replaced(interrupts=tuple([one.id for one in parked]), waiting=parked)
    return made


def _graph(connection: sqlite3.Connection, graph: int, thread_id: str) -> str:
    named = connection.execute(_GRAPH, (graph,)).fetchone()
    if named is None:
        raise TypeError(f"the graph of thread '{thread_id}' is missing")
    return named[0]


_parked = itemgetter(6)
