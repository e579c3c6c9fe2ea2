"""JupyterLab on the lessons: on the first free port, in a browser where there is one, with the address printed in any case."""

from __future__ import annotations

import logging
import os
import signal
import sys
import webbrowser
from pathlib import Path
from typing import Any, cast

from ._lessons import copy_lessons, shipped_lessons

PORTS_TRIED = 50


def lab(folder: Path, port: int, *, browser: bool) -> int:
    """Copy the lessons into ``folder`` and serve them until interrupted or terminated. Raises: OSError."""
    copied = copy_lessons(shipped_lessons(), folder)
    for lesson in copied:
        if lesson.remark:
            print(lesson.remark)
    opens = browser and _has_browser()
    server = _start(folder, port, copied[0].file if copied else "", opens)
    for lesson in copied:
        if not lesson.remark:
            _trust(server, folder / lesson.file)
    # Where stdin is no terminal the server leaves Ctrl-C to Python, whose exception tears its loop apart and can leave threads behind.
    signal.signal(signal.SIGINT, signal.getsignal(signal.SIGTERM))
    # Printed by the server's loop, behind its own first callback, in which it begins to listen: the address answers once it is read.
    server.log.addFilter(_not_the_servers_own_banner)
    server.io_loop.add_callback(_announce, server, folder, port, browser, opens)
    server.start()
    return 0


def _not_the_servers_own_banner(record: logging.LogRecord) -> bool:
    """The address is said once, by us; should the server word its banner anew, it is said twice."""
    return "To access the server, open" not in record.getMessage()


def _trust(server: Any, lesson: Path) -> None:
    """Vouch for a lesson that is as it was shipped: its widgets come back when the page is reloaded before every cell was run."""
    import nbformat  # heavy, and only this command needs it

    server.contents_manager.notary.sign(nbformat.read(lesson, as_version=4))  # pyright: ignore[reportUnknownMemberType]  # nbformat ships no types


def _announce(server: Any, folder: Path, port: int, browser: bool, opens: bool) -> None:
    print(f"The lessons are in {folder.resolve()}")
    if server.port != port:
        print(f"Port {port} is taken; this is {server.port}.")
    if opens:
        print("JupyterLab opens in your browser. Its address:")
    else:
        print(f"{'No browser can be opened here. ' if browser else ''}Open this address:")
    print(f"\n    {server.display_url.splitlines()[0].strip()}\n")
    print("Ctrl-C here ends it.", flush=True)


def _start(folder: Path, port: int, lesson: str, opens: bool) -> Any:
    # heavy, and only this command needs it
    from jupyterlab.labapp import LabApp  # pyright: ignore[reportMissingTypeStubs]  # JupyterLab ships no types

    options: dict[str, object] = {
        "ServerApp.root_dir": folder.resolve(),
        "ServerApp.port": port,
        "ServerApp.port_retries": PORTS_TRIED,
        "ServerApp.open_browser": opens,
        "ServerApp.log_level": "WARN",
        "LabApp.log_level": "ERROR",  # it would warn that there is no Node, which nothing here needs
        "LabApp.default_url": f"/lab/tree/{lesson}" if lesson else "/lab",
        # The lessons speak; news about JupyterLab and its updates do not.
        "LabApp.news_url": "None",  # the empty text would still ask whether one wants them
        "LabApp.check_for_updates_class": "jupyterlab.handlers.announcements.NeverCheckForUpdate",
    }
    arguments = [f"--{name}={value}" for name, value in options.items()] + ["-y"]  # -y: Ctrl-C asks nothing
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        arguments.append("--allow-root")
    return cast(Any, LabApp).initialize_server(argv=arguments)


def _has_browser() -> bool:
    """Whether a graphical browser is there; a text browser would take the terminal and cannot draw a notebook."""
    if sys.platform not in ("win32", "darwin") and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
