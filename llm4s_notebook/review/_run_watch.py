"""A run of the session's own while it is under way: what it does, stores and writes is drawn (W4.3, W4.7)."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from ..errors import Llm4sError
from ..graph.events import CheckpointCommitted
from ._board import Board, Underway
from ._home import TICK
from ._reader import ThreadReader
from ._thread import Run

_log = logging.getLogger(__name__)


class RunWatch:
    """Draws an admitted run on the board until it ends; what it has come to is read and drawn by whoever drives it. On the home loop.

    `talks` says whether it has messages to draw, as an agent's has.
    """

    def __init__(self, run: Run, underway: Underway, reader: ThreadReader, board: Board, *, talks: bool) -> None:
        self._run = run
        self._underway = underway
        self._reader = reader
        self._board = board
        self._talks = talks

    async def until(self, outcome: asyncio.Future[Any]) -> None:
        """Wait for the end; draw which nodes run whenever that has changed, what is stored by now, and who keeps us waiting (W4.3)."""
        drawn: tuple[str, ...] = ()
        while not outcome.done():
            await asyncio.wait({outcome}, timeout=TICK)
            if self._run.running_nodes != drawn:
                drawn = self._run.running_nodes
                self._board.touch()
            if not outcome.done():
                self._board.tick()
                await self._draw_stored()

    async def listen(self) -> None:
        """Take in the run's events as they come, until they end."""
        try:
            async for record in self._run.events():
                self._reader.see((record,))
                if isinstance(record.event, CheckpointCommitted):
                    self._underway.committed = True
                self._board.hear(record)
        except Exception as lagged:  # the log has everything; only the live picture is late
            self._board.live.clear()
            self._board.touch()
            _log.info("live events of run %s ended: %s", self._run.run_id, lagged)

    async def _draw_stored(self) -> None:
        """Draw the messages of the turn under way. While something waits no model is asked, so there is none to come."""
        if not self._underway.committed or self._reader.stored.cards or not self._talks:
            return
        self._underway.committed = False
        try:
            await self._reader.read_messages()
        except Llm4sError as error:  # what is stored is read again when the run ends
            _log.info("the messages of run %s could not be read: %s", self._run.run_id, error)
            return
        self._board.live.stored(message.id for message in self._reader.stored.messages)
        self._board.touch()
