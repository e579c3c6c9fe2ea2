"""Drive one page of JupyterLab or Notebook 7: open a notebook, run its cells, look at what they show. Everything waits for a condition."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import nbformat
from playwright.sync_api import Locator, Page, expect

from .server import LabServer

AXE = Path(__file__).parents[2] / "js" / "node_modules" / "axe-core" / "axe.min.js"
SECONDS = 1000
_DONE = re.compile(r"^\s*\[\d+\]:\s*$")
_SENT = re.compile(r"^\s*\[(\*|\d+)\]:\s*$")
_PANEL = "const panel = window.jupyterapp.shell.currentWidget;"


class Lab:
    """A browser page on a Lab server."""

    def __init__(self, server: LabServer, page: Page) -> None:
        self.server = server
        self.page = page
        self.complaints: list[str] = []  # errors of the page's own scripts
        page.on("pageerror", lambda error: self.complaints.append(f"{error}\n{error.stack}"))
        self._drafts: list[bytes] = []  # what the page has told the kernel of what is half typed
        page.on("websocket", lambda socket: socket.on("framesent", self._note))

    def _note(self, frame: str | bytes) -> None:
        sent = frame.encode() if isinstance(frame, str) else frame
        if b"save_draft" in sent:
            self._drafts.append(sent)

    def wait_for_draft(self, text: str) -> None:
        """Wait until the page has sent a draft that holds the text; that is, until typing has paused."""
        for _ in range(600):
            if any(text.encode() in draft for draft in self._drafts):
                return
            self.page.wait_for_timeout(50)
        raise AssertionError(f"no draft with {text!r} was sent")

    def write(self, name: str, cells: Iterable[str]) -> str:
        """Write a notebook of code cells into the server's folder; return its name."""
        notebook = nbformat.v4.new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}})
        notebook.cells = [nbformat.v4.new_code_cell(source) for source in cells]
        nbformat.write(notebook, self.server.root / name)
        return name

    def open(self, name: str) -> Notebook:
        """Open a notebook of the server's folder in a clean workspace, with its kernel ready."""
        self.page.goto(self.server.address(name))
        self._ready()
        return Notebook(self, name)

    def new(self, name: str, *cells: str) -> Notebook:
        """Write and open a notebook in one go."""
        return self.open(self.write(name, cells))

    def reload(self) -> None:
        """Reload the page as the person's browser would, unsaved changes lost; the kernel lives on, and may be running a cell."""
        self.page.once("dialog", lambda dialog: dialog.accept())
        self.page.reload()
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=60 * SECONDS)
        # A kernel that runs a cell answers no question, so only the connection is waited for.
        self.page.wait_for_function(
            "() => window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.connectionStatus === 'connected'",
            timeout=60 * SECONDS,
        )

    def command(self, name: str, **arguments: Any) -> None:
        """Start a Lab command; it may end later."""
        self.page.evaluate("([name, arguments]) => { window.jupyterapp.commands.execute(name, arguments); }", [name, arguments])

    def command_done(self, name: str, **arguments: Any) -> None:
        """Run a Lab command to its end."""
        self.page.evaluate("async ([name, arguments]) => { await window.jupyterapp.commands.execute(name, arguments); }", [name, arguments])

    def theme(self, name: Literal["light", "dark"]) -> None:
        """Switch Lab's theme and wait until it is painted."""
        self.command("apputils:change-theme", theme=f"JupyterLab {name.capitalize()}")
        self.page.wait_for_selector(f"body[data-jp-theme-light={'true' if name == 'light' else 'false'}]", state="attached")

    def axe(self, selector: str, *, without: Iterable[str] = ()) -> list[dict[str, Any]]:
        """Return axe's violations below ``selector``, rules about whole pages left out: those belong to the host."""
        if not self.page.evaluate("() => 'axe' in window"):
            # An AMD loader on the page would take axe for itself, so it is evaluated instead of added as a script.
            self.page.evaluate(f"() => {{ const define = undefined, module = undefined, exports = undefined; {AXE.read_text()} }}")
        rules = {rule: {"enabled": False} for rule in ("page-has-heading-one", "region", "landmark-one-main", "bypass", *without)}
        return self.page.evaluate(
            "async ([selector, rules]) => (await window.axe.run(selector, { rules, resultTypes: ['violations'] })).violations",
            [selector, rules],
        )

    def picture(self, selector: str, file: Path) -> None:
        """Write what one element looks like now."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self.page.locator(selector).first.screenshot(path=file, animations="disabled")

    def _ready(self) -> None:
        self.page.wait_for_selector(".jp-NotebookPanel .jp-Cell", timeout=60 * SECONDS)
        # The page calls the kernel idle before there is one; a command sent then opens a dialog that asks for a kernel.
        self.page.evaluate(
            f"""async () => {{
                {_PANEL}
                await panel.context.ready; await panel.sessionContext.ready; await panel.sessionContext.session.kernel.info;
            }}"""
        )
        self.page.wait_for_selector(".jp-NotebookPanel-notebook.jp-Notebook .jp-Cell .jp-InputPrompt", state="attached")


class Notebook:
    """The notebook that is open on the page."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.lab = lab
        self.name = name

    @property
    def file(self) -> Path:
        return self.lab.server.root / self.name

    def cell(self, index: int) -> Locator:
        return self.lab.page.locator(".jp-Notebook .jp-Cell").nth(index)

    def send(self, index: int) -> None:
        """Run a cell; return when it was sent to the kernel, not when it is done."""
        self.select(index)
        # A new kernel counts from one again, so an old number must not pass for the new one.
        self.lab.page.evaluate(f"index => {{ {_PANEL} panel.content.widgets[index].model.executionCount = null; }}", index)
        self.lab.command("notebook:run-cell")
        expect(self.cell(index).locator(".jp-InputPrompt")).to_have_text(_SENT)

    def run(self, index: int, *, timeout: float = 60) -> str:
        """Run a cell to its end (seconds); return the text of its output."""
        self.send(index)
        self.wait_done(index, timeout=timeout)
        return self.output(index)

    def select(self, index: int) -> None:
        """Make a cell the active one, in command mode, without a click that something may cover."""
        self.lab.page.evaluate(
            f"index => {{ {_PANEL} panel.content.activeCellIndex = index; panel.content.deselectAll(); panel.content.mode = 'command'; }}",
            index,
        )

    def run_all(self) -> None:
        self.lab.command("notebook:run-all-cells")

    def append(self, source: str) -> int:
        """Put a new code cell at the end of the unsaved notebook; return its index."""
        return self.lab.page.evaluate(
            f"""source => {{
                {_PANEL}
                const shared = panel.content.model.sharedModel;
                return shared.insertCell(shared.cells.length, {{ cell_type: 'code', source, metadata: {{}} }}) && shared.cells.length - 1;
            }}""",
            source,
        )

    def is_done(self, index: int) -> bool:
        return bool(_DONE.match(self._prompt(index)))

    def wait_done(self, index: int, *, timeout: float = 60) -> None:
        """Wait until a cell has ended, well or badly (seconds)."""
        expect(self.cell(index).locator(".jp-InputPrompt")).to_have_text(_DONE, timeout=timeout * SECONDS)

    def output(self, index: int) -> str:
        """What a cell's output shows as text, widgets included."""
        return "\n".join(self.cell(index).locator(".jp-OutputArea-output").all_inner_texts())

    def wait_output(self, index: int, text: str | re.Pattern[str], *, timeout: float = 60) -> None:
        """Wait until a cell's output contains a text (seconds)."""
        expect(self.cell(index).locator(".jp-OutputArea").first).to_contain_text(text, timeout=timeout * SECONDS)

    def interrupt(self) -> None:
        self.lab.page.evaluate(f"async () => {{ {_PANEL} await panel.sessionContext.session.kernel.interrupt(); }}")

    def restart(self) -> None:
        """Restart the kernel and wait until the new one answers."""
        self.lab.page.evaluate(
            f"""async () => {{
                {_PANEL}
                const kernel = panel.sessionContext.session.kernel;
                await kernel.restart(); await kernel.info; await kernel.requestKernelInfo();
            }}"""
        )

    def save(self) -> None:
        self.lab.page.evaluate(f"async () => {{ {_PANEL} await panel.context.save(); }}")

    def stop(self) -> None:
        """End the kernel, so that the session-wide server carries no more than one test at a time."""
        self.lab.page.evaluate(f"async () => {{ {_PANEL} await panel.sessionContext.shutdown(); }}")

    def sources(self) -> list[str]:
        """The cells' texts as the page holds them now: what a stray keyboard shortcut would have changed."""
        cells = "panel.content.model.sharedModel.cells.map(cell => cell.cell_type + ':' + cell.source)"
        return self.lab.page.evaluate(f"() => {{ {_PANEL} return {cells}; }}")

    def kernel(self, code: str, *, timeout: float = 60) -> Any:
        """Evaluate a Python expression in the kernel, outside any cell, and return it as JSON. Waits behind a running cell."""
        source = f"import json as _json; print(_json.dumps({code}))"
        text = self.lab.page.evaluate(
            f"""async ([code, limit]) => {{
                {_PANEL}
                let text = '';
                const future = panel.sessionContext.session.kernel.requestExecute({{ code, store_history: false, silent: false }});
                future.onIOPub = message => {{
                    if (message.header.msg_type === 'stream') text += message.content.text;
                    if (message.header.msg_type === 'error') text += 'ERROR ' + message.content.evalue;
                }};
                const late = new Promise((_, reject) => setTimeout(() => reject(new Error('the kernel did not answer')), limit));
                await Promise.race([future.done, late]);
                return text;
            }}""",
            [source, timeout * SECONDS],
        )
        if text.startswith("ERROR "):
            raise AssertionError(text)
        return json.loads(text)

    def _prompt(self, index: int) -> str:
        return self.cell(index).locator(".jp-InputPrompt").inner_text()
