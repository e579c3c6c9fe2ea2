"""One commit: first all of it is worked out, then the thread's row is taken - if it still is what was worked from - then rows are added."""

from __future__ import annotations

import sqlite3

from ...errors import InvalidCommit
from .._rules import check_commit
from .._types import Commit
from ._bulk import Insert, blob
from ._find import find
from ._heads import Heads
from ._naming import place
from ._new_rows import NewRows
from ._retain import drop_turn, drop_writes
from ._schema import MOST_ENTRIES
from ._thread_row import Lease, ThreadRow

_IF_SAME = "WHERE id = ? AND token IS ? AND latest IS ? AND next_event = ? AND writes = ?"
_STEP = f"UPDATE llm4s_thread SET latest = ?, updated_at = ?, next_event = ?, writes = ?, entries = ?, live = ? {_IF_SAME}"
_TURN = f"""UPDATE llm4s_thread SET latest = ?, updated_at = ?, next_event = ?, writes = ?, entries = ?, live = ?,
    settled = ?, graph = ?, status = ?, created_at = ?, named = ? {_IF_SAME}"""
_CLAIMS = f"""UPDATE llm4s_thread SET latest = ?, updated_at = ?, next_event = ?, writes = ?, entries = ?, live = ?,
    settled = ?, graph = ?, status = ?, created_at = ?, named = ?, token = ?, holder = ?, expires_at = ?, process = ? {_IF_SAME}"""
_FREES = f"""UPDATE llm4s_thread SET latest = ?, updated_at = ?, next_event = ?, writes = ?, entries = ?, live = ?,
    settled = ?, graph = ?, status = ?, created_at = ?, named = ?,
    token = NULL, holder = NULL, expires_at = NULL, process = NULL {_IF_SAME}"""
_WRITE = Insert("llm4s_write (thread, task_id, node_id, body)", "?, ?, ?, ?")


def apply(connection: sqlite3.Connection, row: ThreadRow, given: Commit, lease: Lease | None = None) -> bool:
    """Apply the commit under the row's claim, or under `lease`, which is then taken; `row` is the thread as it is then. False - and
    nothing of the thread is changed in the file, while `row` is spoilt - if its row in the file is not the one that `row` was made from.

    Raises: CheckpointConflict, InvalidCommit, before anything of it is changed but by a retraction.
    """
    latest, settled, checkpoints = row.latest, row.settled, given.checkpoints
    last = newest = latest.number if latest is not None else 0
    named = row.named
    places: list[tuple[int, str | None]] = []
    for draft in checkpoints:
        header = draft.header
        if type(header.id) is not str or type(header.run_id) is not str:  # what a caller should not hand over, but can
            raise InvalidCommit(reason=f"a checkpoint's id and its run's are texts, not {header.id!r}", thread_id=row.thread_id)
        newest, name = at = place(header.run_id, header.id, newest)
        places.append(at)
        if name is not None:
            named = 1

    def known(checkpoint_id: str) -> bool:
        # without names an id is its number's, and all these numbers are new
        return bool(named and row.key) and find(connection, row.key, checkpoint_id) is not None

    check_commit(
        row.thread_id,
        given,
        latest=latest.id if latest is not None else None,
        settled=settled.id if settled is not None else None,
        latest_token=row.latest_token,
        known=known,
    )
    before = (row.key, row.token, last or None, row.next_event, row.writes)
    was = (row.settled, row.graph, row.status, row.created_at, row.named)
    if lease is not None:
        row.take(lease)
    if given.retract:
        row.live = drop_turn(connection, row.key, row.settled.number if row.settled else 0)
        row.forget()
        row.latest, row.run_id = row.settled, None  # whose entries are the base, and whose run need not be this one
        if row.settled is None:
            row.pieces, row.size, row.heads = {}, 0, Heads(none=True)
    dropped = 0
    if checkpoints:
        dropped, row.writes = row.writes, 0
        row.look(connection)
    new = NewRows(connection, row, first=last == 0)
    try:
        for draft, at in zip(checkpoints, places, strict=True):
            new.checkpoint(draft, *at)
    except InvalidCommit as error:
        raise InvalidCommit(reason=error.reason, thread_id=row.thread_id) from None
    row.writes += len(given.writes)
    if given.events:
        new.events(given)

    if row.entries > MOST_ENTRIES:
        raise InvalidCommit(reason="the thread has too many entries", thread_id=row.thread_id)
    latest, settled = row.latest, row.settled
    now = (latest.number if latest is not None else None, row.updated_at, row.next_event, row.writes, row.entries, row.live)
    cursor = connection.cursor()
    if not given.release and lease is None and (settled, row.graph, row.status, row.created_at, row.named) == was:
        changed = cursor.execute(_STEP, (*now, *before)).rowcount
    else:
        rest = (settled.number if settled is not None else None, row.graph, row.status, row.created_at, row.named)
        if given.release:
            row.free()
            changed = cursor.execute(_FREES, (*now, *rest, *before)).rowcount
        elif lease is not None:
            changed = cursor.execute(_CLAIMS, (*now, *rest, *lease, *before)).rowcount
        else:
            changed = cursor.execute(_TURN, (*now, *rest, *before)).rowcount
    if not changed:
        return False
    if dropped:
        drop_writes(connection, row.key)
    new.write(cursor)
    if given.writes:
        _WRITE.add(cursor, [(row.key, write.task_id, write.node_id, blob(write.body)) for write in given.writes])
    return True
