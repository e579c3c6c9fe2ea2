"""What the widgets have in common: a session's document as one synced trait, requests in, replies and pushes out.

Which state lives where: the document is the session's and is only ever sent, never taken from the browser; what the person
does comes as messages, because a trait change sent during an awaiting cell is lost for good.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import anywidget
import traitlets
from pydantic import BaseModel

from ..agent import Agent
from ..errors import ConfigError
from ..review import Session
from ..wire import SessionState
from ._bundle import styles
from ._html import as_html
from ._text import View, as_text, headline


class SessionWidget(anywidget.AnyWidget):
    """Draws one session; close it with `close()`, the session lives on. Raises: ConfigError for what is no session."""

    _css = styles()
    _view: View = "console"

    _stops: tuple[Callable[[], None], ...] = ()  # also of one whose session was refused, which is closed all the same

    state = traitlets.Dict().tag(sync=True)
    options = traitlets.Dict().tag(sync=True)

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
        super().__init__(state=session.state().model_dump(mode="json"), options={"read_only": read_only, "view": self._view})
        self.on_msg(self._on_message)  # pyright: ignore[reportUnknownMemberType]  # ipywidgets is not typed
        self._stops = (session.observe(self._draw), session.observe_drafts(self._say), session.observe_writing(self._say))

    @property
    def session(self) -> Session:
        """The session it draws."""
        return self._session

    @property
    def result(self) -> Any:
        """The session's last result, for the next cell to read."""
        return self._session.result

    # -- to the browser ----------------------------------------------------------------------------------------------

    def _draw(self, document: SessionState) -> None:
        self.state = document.model_dump(mode="json")

    def _say(self, message: BaseModel) -> None:
        self.send(message.model_dump(mode="json"))  # pyright: ignore[reportUnknownMemberType]  # as above

    # -- from the browser --------------------------------------------------------------------------------------------

    def _on_message(self, _widget: object, content: object, _buffers: object) -> None:
        try:
            self._session.handle(content, self._say, read_only=self._read_only)
        except Exception as error:  # an exception in a message handler is printed nowhere (F33)
            self._session.show(error)

    def set_state(self, sync_data: Any) -> None:
        """Take no trait from the browser: the document is the kernel's alone (F25)."""

    # -- without a front end -----------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return f"{type(self).__name__}({headline(self._session.state())})"

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        widget = cast(Any, super())  # ipywidgets and anywidget are not typed
        bundle: tuple[dict[str, Any], dict[str, Any]] | None = widget._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        document = self._session.state()
        twins = {"text/plain": as_text(document, self._view), "text/html": as_html(document, self._view)}
        return {**data, **twins}, metadata

    def close(self) -> None:
        """Stop drawing; every view of the widget disappears."""
        for stop in self._stops:
            stop()
        self._stops = ()
        super().close()
