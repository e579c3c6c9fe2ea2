"""Looking a checkpoint's row up by its id."""

from __future__ import annotations

import sqlite3

from ._naming import id_of, names, number_in
from ._schema import MASK, SHIFT

_NUMBERED = "SELECT c.name, r.run_id FROM llm4s_checkpoint c JOIN llm4s_run r ON r.id = c.run WHERE c.id = ? AND c.status IS NOT NULL"
_NAMED = """SELECT c.id, r.run_id FROM llm4s_checkpoint c INDEXED BY llm4s_checkpoint_by_name JOIN llm4s_run r ON r.id = c.run
    WHERE c.name = ? AND c.id BETWEEN ? AND ? AND c.status IS NOT NULL"""


def find(connection: sqlite3.Connection, key: int, checkpoint_id: str) -> int | None:
    """The row of the thread's checkpoint of that id, or None."""
    base = key << SHIFT
    number = number_in(checkpoint_id)
    if number is not None and number <= MASK:
        row = connection.execute(_NUMBERED, (base | number,)).fetchone()
        if row is not None and row[0] is None and id_of(row[1], number, None) == checkpoint_id:
            return base | number
    for name in names(checkpoint_id):
        for at, run_id in connection.execute(_NAMED, (name, base, base | MASK)).fetchall():
            if id_of(run_id, at, name) == checkpoint_id:
                return at
    return None
