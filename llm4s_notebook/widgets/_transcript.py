"""The messages of the thread (W4.1)."""

from __future__ import annotations

from ..review import Session
from ._bundle import script
from ._widget import SessionWidget


class Transcript(SessionWidget):
    """Messages, tool calls and results, edited and refused ones marked."""

    _esm = script("transcript")
    _view = "transcript"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
