"""Looking a checkpoint up by its id."""

from __future__ import annotations

import sqlite3

from ._naming import id_of, names, number_in

_NUMBERED = """SELECT c.name, r.run_id FROM llm4s_checkpoint c JOIN llm4s_run r ON r.id = c.run
    WHERE c.thread = ? AND c.number = ? AND c.status IS NOT NULL"""
_NAMED = """SELECT c.number, r.run_id FROM llm4s_checkpoint c INDEXED BY llm4s_checkpoint_by_name JOIN llm4s_run r ON r.id = c.run
    WHERE c.thread = ? AND c.name = ? AND c.status IS NOT NULL"""


def find(connection: sqlite3.Connection, key: int, checkpoint_id: str) -> int | None:
    """The number of the thread's checkpoint of that id, or None."""
    if not isinstance(checkpoint_id, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
        return None
    try:
        checkpoint_id.encode()
    except UnicodeEncodeError:  # what is not Unicode is nothing's id
        return None
    number = number_in(checkpoint_id)
    if number is not None:
        row = connection.execute(_NUMBERED, (key, number)).fetchone()
        if row is not None and row[0] is None and id_of(row[1], number, None) == checkpoint_id:
            return number
    for name in names(checkpoint_id):
        for at, run_id in connection.execute(_NAMED, (key, name)).fetchall():
            if id_of(run_id, at, name) == checkpoint_id:
                return at
    return None
