"""Lists of threads, with what waits in each: one statement, which reads neither a thread's row nor its messages."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import chain, pairwise, repeat
from typing import Any, Final, TypeAlias

from .._clock import all_from_microseconds
from .._types import CheckpointStatus, ThreadSummary, Waiting
from ._entries import text
from ._schema import ALIVE, PARKED, VALUE_HEAD
from ._thread_row import CODES, STATUSES

MOST: Final = 1 << 62  # the largest number a limit or a position needs to be
_AT_ONCE: Final = 10_000  # lines

_LINES = "SELECT t.thread_id, t.graph, t.created_at, t.updated_at, w.name, p.value{merged} FROM llm4s_thread t"
_MERGED = ", {code}, t.id, w.place"  # of several statuses: which one, and what they are ordered by besides
_WAITING = f"""LEFT JOIN llm4s_row w INDEXED BY llm4s_row_waiting
    ON w.thread = t.id AND w.section = '{PARKED}' AND w.died = {ALIVE} AND w.position = {VALUE_HEAD}
    LEFT JOIN llm4s_parked p ON p.id = w.id"""
_BEHIND = "(t.updated_at, t.id) < (:time, :key)"
_SETTLED = f"{_LINES} INDEXED BY llm4s_thread_by_status {_WAITING} WHERE t.status = {{code}} AND t.status > 0 AND {_BEHIND}"
_RUNNING = f"{_LINES} INDEXED BY llm4s_thread_running {_WAITING} WHERE t.status = {{code}} AND {_BEHIND}"
_GRAPH = "SELECT graph_id FROM llm4s_graph WHERE id = ?"

Line: TypeAlias = tuple[Any, ...]
"""A thread's id, graph, when it was created and updated; of one record that waits in it, if any, name and value; and, where statuses are
merged, the thread's status and key and the record's place."""


def lines_of(statuses: Sequence[CheckpointStatus]) -> str:
    """The statement for the threads with these statuses, newest first, each as often as something waits in it, in the order in which
    it was parked.

    One look at the index for each status, and one at what waits for each thread, as far as it is read.
    """
    each: list[str] = []
    for one in statuses:
        merged = _MERGED.format(code=CODES[one]) if len(statuses) > 1 else ""
        each.append((_RUNNING if one is CheckpointStatus.RUNNING else _SETTLED).format(code=CODES[one], merged=merged))
    return f"{' UNION ALL '.join(each)} ORDER BY t.updated_at DESC, t.id DESC, w.place"


LINES: Final[Mapping[CheckpointStatus | None, str]] = {
    None: lines_of(STATUSES),
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
) -> list[ThreadSummary]:
    """Of `limit` threads, newest first, behind the one with that time and key; what waits in each in the order it was parked.

    Raises: TooLong if there are more than `most` lines; Damage, TypeError, OverflowError for a line that cannot be.
    """
    time, key = after or (MOST, MOST)
    with closing(connection.execute(LINES[status], {"time": time, "key": key})) as found:
        lines = _read(found, limit, MOST if most is None else most)
    return _made(connection, status, lines) if lines else []


def _read(found: sqlite3.Cursor, limit: int, most: int) -> list[Line]:
    """All lines of the first `limit` threads; mostly one each, and then they are read at once."""
    few = min(limit, most, _AT_ONCE)
    first = found.fetchmany(few + 1)
    if len(first) <= few:  # all there are
        return first
    if few == limit and len({line[0] for line in first}) == len(first):
        return first[:-1]
    lines: list[Line] = []
    threads, last = 0, None
    for line in chain(first, found):
        if line[0] != last:
            if threads == limit:
                break
            threads, last = threads + 1, line[0]
        if len(lines) == most:
            raise TooLong
        lines.append(line)
    return lines


def _made(connection: sqlite3.Connection, status: CheckpointStatus | None, lines: Sequence[Line]) -> list[ThreadSummary]:
    """A summary of each thread, column by column since there may be thousands."""
    ids, graphs, created, updated, names, values, *codes = zip(*lines, strict=True)
    interrupts: list[tuple[str, ...]]
    waiting: list[tuple[Waiting, ...]]
    if set(map(type, values)) == {bytes}:  # something waits in each; a zip of one column makes tuples of one
        interrupts, waiting = list(zip(names)), list(zip(map(Waiting, names, values)))
    else:
        interrupts = [() if name is None else (name,) for name in names]
        waiting = [
            () if name is None else (Waiting(name, text(value, thread_id)),)
            for thread_id, name, value in zip(ids, names, values, strict=True)
        ]
    if len(set(ids)) < len(ids):  # several wait in one thread: its first line stands for all
        first = [place for place, thread_id in enumerate(ids) if place == 0 or ids[place - 1] != thread_id]
        parts = [slice(*ends) for ends in pairwise((*first, len(ids)))]
        interrupts = [tuple(chain(*interrupts[own])) for own in parts]
        waiting = [tuple(chain(*waiting[own])) for own in parts]
        ids, graphs, created, updated, *codes = [[column[place] for place in first] for column in (ids, graphs, created, updated, *codes)]
    graph_ids = {graph: _graph(connection, graph, ids[graphs.index(graph)]) for graph in set(graphs)}
    return list(
        map(
            ThreadSummary,
            ids,
            map(graph_ids.__getitem__, graphs),
            map(STATUSES.__getitem__, codes[0]) if status is None else repeat(status),
            interrupts,
            all_from_microseconds(created),
            all_from_microseconds(updated),
            waiting,
        )
    )


def _graph(connection: sqlite3.Connection, graph: int, thread_id: str) -> str:
    named = connection.execute(_GRAPH, (graph,)).fetchone()
    if named is None:
        raise TypeError(f"the graph of thread '{thread_id}' is missing")
    return named[0]
