"""The rows that a commit brings, ends and changes, but for the thread's own: worked out in memory first, then written."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Final

from ...errors import InvalidCommit
from .._clock import to_microseconds
from .._patch import Append, PatchOp, Set, Unset
from .._shape import MISSING, VALUE, Shape, plan
from .._types import CheckpointDraft, Commit
from . import _small
from ._bulk import blob
from ._copies import LEAST, Texts
from ._event_json import to_text
from ._heads import Head
from ._schema import LIST_HEAD, PARKED, VALUE_HEAD
from ._step import PARKED_VALUE, Step
from ._thread_row import CODES, Mark, ThreadRow

_GRAPH = "SELECT id FROM llm4s_graph WHERE graph_id = ? AND version = ? AND fingerprint = ?"
_NEW_GRAPH = "INSERT INTO llm4s_graph (graph_id, version, fingerprint) VALUES (?, ?, ?)"
_NEW_RUN = "INSERT INTO llm4s_run (run_id, graph) VALUES (?, ?)"
# a column that is NULL nearly always is left out then: a None costs sqlite3 a search for who might adapt it
_OF_CHECKPOINT = """thread, number, run, parent, status, created_at, superstep, format, token, first_event, last_event, body, small,
    events, journal"""
_CHECKPOINT = f"INSERT INTO llm4s_checkpoint ({_OF_CHECKPOINT}) VALUES ({', '.join('?' * 15)})"
_OF_A_RUN = f"INSERT INTO llm4s_checkpoint ({_OF_CHECKPOINT}, parent_run) VALUES ({', '.join('?' * 16)})"
_UNUSUAL = f"INSERT INTO llm4s_checkpoint ({_OF_CHECKPOINT}, parent_run, name, parent_name, refs) VALUES ({', '.join('?' * 19)})"
_BY_LENGTH: Final = {15: _CHECKPOINT, 16: _OF_A_RUN, 19: _UNUSUAL}
_LAST_ROW = "SELECT max(id) FROM llm4s_row"
_EVENT = "INSERT INTO llm4s_event (thread, first, last, run, checkpoint, at, data) VALUES (?, ?, ?, ?, ?, ?, ?)"
_MANY: Final = 64  # a patch of more operations may look all of the thread's entries up at once
_MOST: Final = _small.MOST - _small.LEAST  # bytes: a value that is larger cannot be among the small ones
_LAST_EVENT: Final = 10  # the positions of last_event and events in _OF_CHECKPOINT: they are known after the checkpoint
_EVENTS: Final = 13
_USUAL: Final = {Set, Unset, Append}  # the operations that do not reach into a list


class NewRows:
    """What a commit will write, worked out on `row`, which is brought up to date on the way."""

    def __init__(self, connection: sqlite3.Connection, row: ThreadRow, *, first: bool) -> None:
        """`first`: the thread has had no checkpoint yet."""
        self.connection, self.row = connection, row
        self.pieces: _small.Pieces = row.pieces if row.pieces is not None else {}
        self.first = first
        self.highest: int | None = None  # the largest key in the table, once it was asked for
        self.rows = 0  # how many rows are new
        self.texts: Texts | None = None
        self.checkpoints: list[list[Any]] = []
        self.step: Step
        self.steps: list[Step] = []  # one for each patch, in their order: a later one may end what an earlier one brought
        self.parked: list[tuple[int, bytearray | bytes]] = []
        self.event: tuple[Any, ...] | None = None

    # -- in memory ---------------------------------------------------------------------------------------------------

    def checkpoint(self, draft: CheckpointDraft, number: int, name: str | None) -> None:
        """One checkpoint, stored under that number and name, and its patch. Raises: InvalidCommit."""
        row, header, run_id = self.row, draft.header, draft.header.run_id
        parent = row.latest
        if draft.patch:
            self.step = Step(number)
            self.steps.append(self.step)
            self.patch(draft.patch)
        run = self._run(run_id, (header.graph_id, header.graph_version, header.fingerprint))
        latest = row.latest = Mark(number, run, name, header.id)
        row.latest_token = row.token
        self.first = False
        if name is not None:
            row.named = 1
        created_at = to_microseconds(header.created_at)
        status = CODES[header.status]
        row.status, row.updated_at = status, created_at
        if row.created_at is None:
            row.created_at = created_at
        if status >= 2:  # settled
            row.settled = latest
        journal, refs = self.texts.cut(header.journal) if self.texts else (header.journal, None)
        parent_number = parent_run = parent_name = None
        if parent is not None:
            parent_number, parent_name = parent.number, parent.name
            parent_run = parent.run if parent.run != run else None
        first_event = row.next_event
        values: list[Any] = [
            row.key, number, run, parent_number, status, created_at, header.superstep, header.format, row.token,
            first_event, first_event - 1, blob(header.body), bytearray().join(self.pieces.values()), None, blob(journal),
        ]  # fmt: skip
        if name is not None or parent_name is not None or refs is not None:
            values += (parent_run, name, parent_name, refs)
        elif parent_run is not None:
            values.append(parent_run)
        self.checkpoints.append(values)

    def _run(self, run_id: str, graph_text: tuple[str, str, str]) -> int:
        """The row of the run, a new one where the thread's last checkpoint was of another."""
        row = self.row
        if row.graph_text != graph_text:
            found = self.connection.execute(_GRAPH, graph_text).fetchone()
            row.graph = found[0] if found else self.connection.execute(_NEW_GRAPH, graph_text).lastrowid
            row.graph_text = graph_text
        elif row.run_id == run_id and row.latest is not None:
            return row.latest.run
        row.run_id = run_id
        assert row.graph is not None
        at = self.connection.execute(_NEW_RUN, (run_id, row.graph)).lastrowid
        assert at is not None
        return at

    def patch(self, patch: Sequence[PatchOp]) -> None:
        """What the patch ends dies with its checkpoint, what it brings is born there; all of a first checkpoint goes into rows."""
        row, pieces = self.row, self.pieces
        places = [(op.section, op.name) for op in patch]
        if not _USUAL.issuperset(map(type, patch)) or len({*places}) < len(places):
            self._planned(patch)
            return
        if len(places) > _MANY and len(places) * 4 > row.live:  # most of what lies in rows
            row.heads.gather(self.connection, row.key)
        heads = row.heads.all
        for op, at in zip(patch, places, strict=True):
            if type(op) is not Append:
                if at in pieces:
                    row.size -= len(pieces.pop(at))
                elif heads is None or at in heads:
                    self._end(at)
        for op, at in zip(patch, places, strict=True):
            if type(op) is Set:
                self._set(at, op.value)
            elif type(op) is Append:
                self._append(at, op.items)

    def _planned(self, patch: Iterable[PatchOp]) -> None:
        """The same for a patch that changes one entry more than once, or inside a list."""
        row, connection = self.row, self.connection

        def shape_of(section: str, name: str) -> Shape:
            if (section, name) in self.pieces:
                return VALUE
            head = row.head(connection, (section, name))
            return MISSING if head is None else head.items(connection, row.key)

        changes = plan(patch, shape_of).items()
        for at, change in changes:
            if change.whole:
                piece = self.pieces.pop(at, None)
                if piece is not None:
                    row.size -= len(piece)
                else:
                    self._end(at)
        for at, change in changes:
            if change.whole:
                if change.value is not None:
                    self._set(at, change.value)
                elif change.items is not None:
                    self._append(at, change.items)
                continue
            head = row.head(connection, at)
            assert head is not None
            if change.base is not None and change.kept < change.base:
                self.step.close_tail(row.key, head.row, change.kept)
                row.live -= change.base - change.kept
                head.length = change.kept
            for position, item in change.replaced.items():
                self.step.close_item(row.key, head.row, position)
                row.live -= 1
                self._item(head.row, position, item)
            if change.items:
                self._append(at, change.items)

    def _end(self, at: tuple[str, str]) -> None:
        """Close the entry that is kept in rows, if there is one."""
        row = self.row
        head = row.heads.end(self.connection, row.key, at)
        if head is None:
            return
        key = head.row
        self.step.closed.append(key)
        row.live -= 1
        length = head.items(self.connection, row.key) if head.length is None else head.length
        if length > 0:
            row.live -= length
            self.step.close_tail(row.key, key, 0)
        if key in row.texts:
            if self.texts is None:
                self.texts = Texts()
            self.texts.ended(row.texts.pop(key), key)

    def _set(self, at: tuple[str, str], value: bytes) -> None:
        row, (section, name) = self.row, at
        # What is parked is always a row: lists of threads read it without reading a checkpoint.
        if not self.first and section != PARKED and row.size + len(value) <= _MOST:
            piece = _small.piece(row.entries + 1, section, name, value)
            if piece is not None and (size := row.size + len(piece)) <= _small.MOST:
                row.size = size
                row.entries += 1
                self.pieces[at] = piece
                return
        row.heads.born(at, Head(self._bear(0, section, name, VALUE_HEAD, value), -1))

    def _append(self, at: tuple[str, str], items: Sequence[bytes]) -> None:
        row = self.row
        if at in self.pieces:
            raise InvalidCommit(reason=f"append to {at}, which is one value")
        head = row.head(self.connection, at)
        if head is None:
            head = Head(self._bear(0, *at, LIST_HEAD, None), 0)
            row.heads.born(at, head)
        length = head.items(self.connection, row.key)
        if length < 0:
            raise InvalidCommit(reason=f"append to {at}, which is one value")
        of = head.row
        for position, item in enumerate(items, length):
            self._item(of, position, item)
        head.length = length + len(items)

    def _item(self, of: int, position: int, value: bytes) -> None:
        """A new item of the list whose head has that key."""
        if len(value) < LEAST:
            row, step = self.row, self.step
            self.rows += 1
            row.live += 1
            place = row.entries = row.entries + 1
            step.born.append((row.key, step.at, place, of, position, blob(value)))
        else:
            self._bear(of, "", "", position, value)

    def _bear(self, of: int, section: str, name: str, position: int, value: bytes | None) -> int:
        """A new row; returns its key: they are written in this order, and numbered one behind the other."""
        row, born, born_at = self.row, self.step.born, self.step.at
        if self.highest is None:
            highest: int | None = self.connection.execute(_LAST_ROW).fetchone()[0]
            self.highest = highest or 0
        self.rows += 1
        at = self.highest + self.rows
        place = row.entries = row.entries + 1
        row.live += 1
        key = row.key
        if value is None:
            born.append((at, key, born_at, place, of, section, name, position))
        elif section == PARKED:
            born.append((at, key, born_at, place, of, section, name, position))
            self.parked.append((at, blob(value)))
        elif len(value) < LEAST:
            born.append((at, key, born_at, place, of, section, name, position, blob(value)))
        else:
            if self.texts is None:
                self.texts = Texts()
            part = self.texts.place(value, at)
            if part is not None:
                born.append((at, key, born_at, place, of, section, name, position, *part))
                return at
            born.append((at, key, born_at, place, of, section, name, position, blob(value)))
            if position == VALUE_HEAD:  # a task's input, say
                row.remember(at, value)
        return at

    def events(self, given: Commit) -> None:
        """Number the events inside the commit, one behind the other (R6.21)."""
        row, drafts = self.row, given.events
        first = row.next_event
        since = given.checkpoints[-1].header.created_at if given.checkpoints else drafts[0].timestamp
        at = row.updated_at if given.checkpoints else to_microseconds(since)
        assert at is not None
        number = row.latest.number if row.latest else 0
        try:
            data = to_text(drafts, at, row.run_id, number, since)
        except (TypeError, ValueError) as error:
            if isinstance(error, UnicodeError):
                raise
            raise InvalidCommit(reason=f"the payload of an event is not JSON: {error}", thread_id=row.thread_id) from error
        row.next_event += len(drafts)
        last = row.next_event - 1
        if given.checkpoints:
            self.checkpoints[-1][_LAST_EVENT], self.checkpoints[-1][_EVENTS] = last, data
        else:
            self.event = (row.key, first, last, row.latest.run if row.latest else None, number, at, data)

    # -- into the file -----------------------------------------------------------------------------------------------

    def write(self, cursor: sqlite3.Cursor) -> None:
        """Write all that was worked out."""
        for step in self.steps:
            step.write(cursor)
        if self.parked:
            PARKED_VALUE.add(cursor, self.parked)
        for checkpoint in self.checkpoints:
            cursor.execute(_BY_LENGTH[len(checkpoint)], checkpoint)
        if self.event is not None:
            cursor.execute(_EVENT, self.event)
