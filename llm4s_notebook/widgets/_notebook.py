"""The notebook as the place where a person sits: whether one can answer there, and where a cell can wait for it."""

from __future__ import annotations

import sys
from importlib import import_module, metadata
from typing import Any

from ..review import Session
from ._console import Console

_INSTEAD = "show the widget in one cell, `console = Console(session, query)`, and read `console.result` in the next"

# From this version on a message from a widget is handled beside the cell that awaits it.
_AWAITING_KERNEL = 7


class Notebook:
    """The front end that `review` is handed. Looks at what is loaded and imports nothing: outside a notebook it finds nothing."""

    def somebody_there(self) -> bool:
        """Whether the running request allows input - a run by nbconvert or papermill does not (F27)."""
        if _cannot_wait_host() is not None:
            return True  # a person, but no cell may wait for them
        kernel = _kernel()
        if kernel is None:
            return False
        request: Any = kernel.get_parent("shell")
        return bool(request) and bool(request.get("content", {}).get("allow_stdin", False))

    def cannot_wait(self) -> str | None:
        host = _cannot_wait_host()
        if host is not None:
            return f"a cell cannot wait in {host}: {_INSTEAD}"
        version = metadata.version("ipykernel")
        if int(version.partition(".")[0]) < _AWAITING_KERNEL:
            return f"a cell cannot wait with ipykernel {version}, it takes {_AWAITING_KERNEL}.4 or later: {_INSTEAD}"
        return None

    def show(self, session: Session) -> None:
        import_module("IPython.display").display(Console(session))


def _cannot_wait_host() -> str | None:
    if sys.platform == "emscripten":
        return "a browser's own Python (JupyterLite)"
    marimo = sys.modules.get("marimo")
    if marimo is not None and marimo.running_in_notebook():
        return "marimo"
    return None


def _kernel() -> Any:
    """The kernel this code runs in; None in a script or a terminal."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return getattr(shell, "kernel", None)
