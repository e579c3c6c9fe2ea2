"""What waits, one card per interrupt (W2)."""

from __future__ import annotations

from ..review import Session
from ._bundle import script
from ._widget import SessionWidget


class ReviewPanel(SessionWidget):
    """Cards to answer what waits; with `read_only` they only show it."""

    _esm = script("review_panel")
    _view = "panel"

    def __init__(self, session: Session, *, read_only: bool = False) -> None:
        super().__init__(session, read_only=read_only)
