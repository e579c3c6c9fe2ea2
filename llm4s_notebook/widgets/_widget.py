"""What the widgets of a session have in common: its document and pushes out, requests in, replies out."""

from __future__ import annotations

from typing import Any

import traitlets

from ..agent import Agent
from ..errors import ConfigError
from ..review import Session
from ..wire import SessionState, for_browser
from ._drawn import DrawnWidget
from ._html import as_html
from ._text import View, as_text, headline


class SessionWidget(DrawnWidget):
    """Draws one session; close it with `close()`, the session lives on. Raises: ConfigError for what is no session."""

    _view: View = "console"

    options = traitlets.Dict().tag(sync=True)
    agents = traitlets.Any().tag(sync=True)  # a list, as JSON
    """The forms of the document's editor. They hold every prompt of a family and seldom change, so they are not sent with each document."""

    def __init__(self, session: Session, *, read_only: bool = False) -> None:
        if not isinstance(session, Session):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            name = type(self).__name__
            given = "agent" if isinstance(session, Agent) else "…"
            raise ConfigError(
                field=name,
                problems=[f"it shows a Session, not {type(session).__name__}"],
                next_step=f"give it one: {name}(Session({given})); nothing was changed",
            )
        self._session = session
        self._read_only = read_only
        state, agents = _apart(session.state())
        super().__init__(state=state, agents=agents, options={"read_only": read_only, "view": self._view})
        self.on_msg(self._on_message)  # pyright: ignore[reportUnknownMemberType]  # ipywidgets is not typed
        self._stops = (session.observe(self._draw_state), session.observe_drafts(self._say), session.observe_writing(self._say))

    @property
    def session(self) -> Session:
        """The session it draws."""
        return self._session

    @property
    def result(self) -> Any:
        """The session's last result, for the next cell to read."""
        return self._session.result

    def _draw_state(self, document: SessionState) -> None:
        with self.hold_sync():  # one message: no view sees the one without the other
            self.state, self.agents = _apart(document)

    # -- from the browser --------------------------------------------------------------------------------------------

    def _on_message(self, _widget: object, content: object, _buffers: object) -> None:
        try:
            self._session.handle(content, self._say, read_only=self._read_only)
        except Exception as error:  # an exception in a message handler is printed nowhere (F33)
            self._session.show(error)

    # -- without a front end -----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"{type(self).__name__}({headline(self._session.state())})"

    def _twins(self) -> dict[str, str]:
        document = self._session.state()
        return {"text/plain": as_text(document, self._view), "text/html": as_html(document, self._view)}


def _apart(document: SessionState) -> tuple[dict[str, Any], list[Any]]:
    """The document without its editor's forms, and these."""
    state = for_browser(document)
    return state, [] if state["editor"] is None else state["editor"].pop("agents")
