"""The graph, with its breakpoints and where the turn stands (W3)."""

from __future__ import annotations

from typing import Any

from ..agent import Agent
from ..errors import ConfigError
from ..graph import CompiledGraph, GraphRuntime
from ..review import GraphThread, Session
from ._bundle import script
from ._widget import SessionWidget


class GraphView(SessionWidget):
    """The diagram of a session, whose clicks set the session's breakpoints; or of an agent or a compiled graph, only to look at."""

    _esm = script("graph_view")
    _view = "graph"

    def __init__(self, shown: Session | Agent | CompiledGraph[Any, Any]) -> None:
        if isinstance(shown, Session):
            super().__init__(shown)
        elif isinstance(shown, Agent):
            super().__init__(Session(shown), read_only=True)
        elif isinstance(shown, CompiledGraph):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            super().__init__(Session(GraphThread(GraphRuntime.in_memory(), shown)), read_only=True)
        else:
            problem = f"it shows a Session, an Agent or a CompiledGraph, not {type(shown).__name__}"
            raise ConfigError(field="GraphView", problems=[problem])
