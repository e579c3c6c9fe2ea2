"""The whole turn in one cell: prompt, transcript, pending reviews, graph, status line (W4.3)."""

from __future__ import annotations

from ..review import Session
from ._bundle import script
from ._widget import SessionWidget


class Console(SessionWidget):
    """Shows a session. With a query it starts that turn in the background, so that other cells can compute while it waits.

    Making it again - a cell run twice - starts nothing where the thread waits, is unfinished, or has just answered this query.
    """

    _esm = script("console")
    _view = "console"

    def __init__(self, session: Session, query: str | None = None) -> None:
        super().__init__(session)
        if query is not None:
            session.begin(query)
