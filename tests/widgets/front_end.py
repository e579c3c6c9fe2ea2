"""Front ends without a browser: one in the process, and one over a real ipykernel. Each is what a browser would hold."""

from __future__ import annotations

import json
import os
import queue
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import comm
from jupyter_client.manager import KernelManager

PATIENCE = 60.0
"""Seconds after which something that was to happen is taken not to come."""


class FakeComm(comm.base_comm.BaseComm):
    """A comm whose other end is a `FakeFrontEnd`."""

    front: FakeFrontEnd

    def publish_msg(self, msg_type: str, data: Any = None, metadata: Any = None, buffers: Any = None, **keys: Any) -> None:
        self.front.receive(self, msg_type, data or {})


class FakeFrontEnd:
    """In the process: the state of each model, the custom messages, the closed ids."""

    def __init__(self) -> None:
        self.states: dict[str, dict[str, Any]] = {}
        self.messages: list[tuple[str, dict[str, Any]]] = []
        self.closed: list[str] = []
        self.heard: Callable[[dict[str, Any]], object] = lambda data: None
        """Is told of everything that is sent, as it is."""
        self._numbers = count(1)

    def receive(self, sender: FakeComm, msg_type: str, data: dict[str, Any]) -> None:
        json.dumps(data)  # what a kernel could not send fails here too
        self.heard(data)
        if msg_type == "comm_open":
            self.states[sender.comm_id] = dict(data["state"])
        elif msg_type == "comm_close":
            self.closed.append(sender.comm_id)
        elif data.get("method") == "update":
            self.states[sender.comm_id].update(data["state"])
        elif data.get("method") == "custom":
            self.messages.append((sender.comm_id, data["content"]))

    def deliver(self, widget: Any, data: dict[str, Any]) -> None:
        """Hand the widget a message, where a kernel's comm manager would."""
        widget.comm.handle_msg({"content": {"comm_id": widget.model_id, "data": data}, "buffers": [], "metadata": {}})

    def send(self, widget: Any, content: Any) -> None:
        """What `model.send` does."""
        self.deliver(widget, {"method": "custom", "content": content})

    def ask(self, widget: Any, body: dict[str, Any], request_id: str | None = None) -> str:
        """Send a request; its id."""
        request_id = request_id or f"r{next(self._numbers)}"
        self.send(widget, {"request_id": request_id, "body": body})
        return request_id

    def document(self, widget: Any) -> dict[str, Any]:
        """The document the widget's views draw."""
        return self.states[widget.model_id]["state"]

    def replies(self, request_id: str) -> list[dict[str, Any]]:
        """Every message that names this request."""
        return [message for _, message in self.messages if message.get("request_id") == request_id]

    def reply(self, request_id: str) -> dict[str, Any] | None:
        found = self.replies(request_id)
        return found[0] if found else None


class KernelFrontEnd:
    """Over a real kernel, speaking as a notebook does."""

    def __init__(self, manager: KernelManager, client: Any, folder: tempfile.TemporaryDirectory[str]) -> None:
        self.manager, self.client, self._folder = manager, client, folder
        self.states: dict[str, dict[str, Any]] = {}
        self.messages: list[tuple[str, dict[str, Any]]] = []
        self.outputs: list[tuple[str, str, dict[str, Any]]] = []
        self.idle: set[str] = set()
        self.asked_for_input = False
        self._cells: list[str] = []
        self._numbers = count(1)

    @classmethod
    def start(cls) -> KernelFrontEnd:
        """A kernel of this interpreter. It is spoken to over files: a port that is free now may be taken when the kernel opens it."""
        folder = tempfile.TemporaryDirectory(prefix="kernel-")
        manager = KernelManager(kernel_name="python3", transport="ipc", connection_file=f"{folder.name}/k.json")
        manager.start_kernel(env=_environment())
        client = manager.client()
        client.start_channels()
        client.wait_for_ready(timeout=PATIENCE)
        return cls(manager, client, folder)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self._folder.cleanup()

    def emptied(self) -> bool:
        """Close every widget and empty the namespace; False where the kernel does not come to it."""
        if self.waiting_cells():
            return False
        cell = self.execute(_EMPTY)
        try:
            self.pump(lambda: cell in self.idle, patience=5)
        except AssertionError:
            return False
        self.states.clear()
        self.messages.clear()
        self.outputs.clear()
        return self.errors(cell) == []

    def waiting_cells(self) -> list[str]:
        """Cells that were started and have not ended."""
        return [cell for cell in self._cells if cell not in self.idle]

    # -- cells -------------------------------------------------------------------------------------------------------

    def execute(self, code: str, *, allow_stdin: bool = True) -> str:
        """Start a cell; its message id."""
        cell = self.client.execute(textwrap.dedent(code), allow_stdin=allow_stdin)
        self._cells.append(cell)
        return cell

    def run(self, code: str, *, allow_stdin: bool = True) -> str:
        """Run a cell to its end; what it printed. A cell that raises fails the test."""
        cell = self.execute(code, allow_stdin=allow_stdin)
        self.finish(cell)
        assert self.errors(cell) == [], "\n".join(self.errors(cell))
        return self.printed(cell)

    def finish(self, cell: str) -> None:
        """Wait until a cell has ended."""
        self.pump(lambda: cell in self.idle)

    def printed(self, cell: str) -> str:
        return "".join(content["text"] for kind, parent, content in self.outputs if parent == cell and kind == "stream")

    def errors(self, cell: str) -> list[str]:
        return ["\n".join(content["traceback"]) for kind, parent, content in self.outputs if parent == cell and kind == "error"]

    def error_names(self, cell: str) -> list[str]:
        return [content["ename"] for kind, parent, content in self.outputs if parent == cell and kind == "error"]

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()

    def restart(self) -> None:
        self.manager.restart_kernel(now=True)
        self.client.wait_for_ready(timeout=PATIENCE)
        self.states.clear()
        self._cells.clear()

    # -- comms -------------------------------------------------------------------------------------------------------

    def ask(self, model: str, body: dict[str, Any], request_id: str | None = None) -> str:
        """Send a request to a widget's model, as `model.send` does; its id."""
        request_id = request_id or f"r{next(self._numbers)}"
        self.send(model, {"method": "custom", "content": {"request_id": request_id, "body": body}})
        return request_id

    def send(self, model: str, data: dict[str, Any]) -> None:
        self.client.shell_channel.send(self.client.session.msg("comm_msg", {"comm_id": model, "data": data}))

    def answer(self, model: str, *decisions: dict[str, Any], request_id: str | None = None) -> str:
        return self.ask(model, {"kind": "submit", "decisions": list(decisions)}, request_id)

    def open_panel(self, target: str) -> Panel:
        """Open a comm from this side, on a subshell: a thread with a loop of its own in the kernel."""
        asked = self.client.session.msg("create_subshell_request", {})
        self.client.control_channel.send(asked)
        while True:
            reply = self.client.control_channel.get_msg(timeout=PATIENCE)
            if reply["parent_header"].get("msg_id") == asked["header"]["msg_id"]:
                return Panel(self, reply["content"]["subshell_id"], target)

    def fresh_id(self) -> str:
        return f"r{next(self._numbers)}"

    def reply(self, request_id: str) -> dict[str, Any]:
        """The reply to a request, waited for."""
        self.pump(lambda: bool(self.replies(request_id)))
        return self.replies(request_id)[0]

    def replies(self, request_id: str) -> list[dict[str, Any]]:
        return [message for _, message in self.messages if message.get("request_id") == request_id]

    def models(self, view: str = "console") -> list[str]:
        """The models of that view, in the order in which they were made."""
        return [model for model, state in self.states.items() if state.get("options", {}).get("view") == view]

    def document(self, model: str) -> dict[str, Any]:
        return self.states[model]["state"]

    def until(self, model: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until the model's document is as wanted."""
        self.pump(lambda: condition(self.document(model)), shows=lambda: self.document(model))
        return self.document(model)

    def console(self, number: int = 0) -> str:
        """The model of the console made as that many-th, waited for."""
        self.pump(lambda: len(self.models()) > number)
        return self.models()[number]

    def waiting(self, number: int = 0, cards: int = 1) -> str:
        """The console, once it shows that many cards and nothing runs."""
        model = self.console(number)
        self.until(model, lambda document: len(document["pending"]) == cards and not document["running"])
        return model

    # -- messages ----------------------------------------------------------------------------------------------------

    def pump(self, condition: Callable[[], bool], *, patience: float = PATIENCE, shows: Callable[[], object] = lambda: "") -> None:
        """Take in what the kernel says until the condition holds; fails the test when it does not come."""
        end = time.monotonic() + patience
        while not condition():
            assert time.monotonic() < end, f"it did not come: {shows()}\n{self.outputs}"
            self._take()

    def quiet(self, seconds: float) -> None:
        """Take in what the kernel says for so long, for something that must not happen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self._take()

    def _take(self) -> None:
        if self.client.stdin_channel.msg_ready():
            self.client.get_stdin_msg(timeout=0)
            self.asked_for_input = True
            self.client.input("")
        try:
            message = self.client.get_iopub_msg(timeout=0.05)
        except queue.Empty:
            return
        kind, content, parent = message["msg_type"], message["content"], message["parent_header"].get("msg_id", "")
        if kind == "comm_open" and content["target_name"] == "jupyter.widget":
            self.states[content["comm_id"]] = dict(content["data"]["state"])
        elif kind == "comm_msg" and content["data"].get("method") == "update":
            self.states.setdefault(content["comm_id"], {}).update(content["data"]["state"])
        elif kind == "comm_msg" and content["data"].get("method") == "custom":
            self.messages.append((content["comm_id"], content["data"]["content"]))
        elif kind == "comm_msg" and "request_id" in content["data"]:
            self.messages.append((content["comm_id"], content["data"]))
        elif kind == "status" and content["execution_state"] == "idle":
            self.idle.add(parent)
        elif kind in ("stream", "execute_result", "display_data", "error"):
            self.outputs.append((kind, parent, content))


class Panel:
    """A comm that the front end opened, its messages sent on a subshell."""

    def __init__(self, front: KernelFrontEnd, subshell: str, target: str) -> None:
        self._front, self._subshell, self._comm_id = front, subshell, f"comm-{target}"
        self._send("comm_open", {"comm_id": self._comm_id, "target_name": target, "data": {}})

    def submit(self, *decisions: dict[str, Any]) -> str:
        """Submit decisions; the request's id."""
        request_id = self._front.fresh_id()
        request = {"request_id": request_id, "body": {"kind": "submit", "decisions": list(decisions)}}
        self._send("comm_msg", {"comm_id": self._comm_id, "data": request})
        return request_id

    def _send(self, kind: str, content: dict[str, Any]) -> None:
        message = self._front.client.session.msg(kind, content)
        message["header"]["subshell_id"] = self._subshell
        self._front.client.shell_channel.send(message)


class KernelPool:
    """Keeps one kernel for the tests that need no fresh one: starting a process and importing the package takes most of a test."""

    def __init__(self) -> None:
        self._kernel: KernelFrontEnd | None = None

    def take(self) -> KernelFrontEnd:
        kernel, self._kernel = self._kernel, None
        return kernel or KernelFrontEnd.start()

    def give_back(self, kernel: KernelFrontEnd) -> None:
        """Keep it if it can be emptied; one in which a cell still waits, or that has died, is ended."""
        if kernel.emptied():
            self._kernel = kernel
        else:
            kernel.close()

    def close(self) -> None:
        if self._kernel is not None:
            self._kernel.close()


_EMPTY = """
import ipywidgets
ipywidgets.Widget.close_all()
%reset -f
"""


def _environment() -> dict[str, str]:
    path = os.pathsep.join(path for path in sys.path if path)
    return {**os.environ, "PYTHONPATH": path, "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
