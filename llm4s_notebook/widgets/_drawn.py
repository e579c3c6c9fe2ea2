"""What every widget is: a document as one synced trait, pushes out, plain twins where no script runs.

Which state lives where: the document is the kernel's and is only ever sent, never taken from the browser; what the person
does comes as messages, because a trait change sent during an awaiting cell is lost for good.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import anywidget
import traitlets
from pydantic import BaseModel

from ._bundle import styles


class DrawnWidget(anywidget.AnyWidget):
    """Draws documents; `close()` ends that."""

    _css = styles()

    _stops: tuple[Callable[[], None], ...] = ()  # also of one whose arguments were refused, which is closed all the same

    state = traitlets.Dict().tag(sync=True)

    def _draw(self, document: BaseModel) -> None:
        self.state = document.model_dump(mode="json")

    def _say(self, message: BaseModel) -> None:
        self.send(message.model_dump(mode="json"))  # pyright: ignore[reportUnknownMemberType]  # ipywidgets is not typed

    def set_state(self, sync_data: Any) -> None:
        """Take no trait from the browser: the document is the kernel's alone (F25)."""

    def _twins(self) -> dict[str, str]:
        """What stands in its place where no script runs, by mime type (W5.3)."""
        raise NotImplementedError

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        widget = cast(Any, super())  # ipywidgets and anywidget are not typed
        bundle: tuple[dict[str, Any], dict[str, Any]] | None = widget._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle
        return {**data, **self._twins()}, metadata

    def close(self) -> None:
        """Stop drawing; every view of the widget disappears."""
        for stop in self._stops:
            stop()
        self._stops = ()
        super().close()
