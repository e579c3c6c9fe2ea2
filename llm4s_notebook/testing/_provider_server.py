"""A provider on loopback: it answers one scripted reply after the other and notes what it was sent and when it was left.

Made of plain sockets, so that a test decides where a connection stalls, ends early or is reset, and sees when the client
closes it.
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, Any, Literal, Self

from ..errors import ConfigError

JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass(frozen=True)
class Reply:
    """One answer: `pieces` go out one after the other, `pause` seconds before each, then it ends as `ending` says.

    "end" is a complete answer, "cut" closes the connection before the last chunk, "reset" does so with a reset, and "hold"
    sends nothing more and waits until the client leaves.
    """

    pieces: Sequence[bytes]
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    content_type: str = JSON
    ending: Literal["end", "cut", "reset", "hold"] = "end"
    pause: float = 0.0


SILENCE = Reply((), ending="hold", status=0)
"""Not even a status line."""


def said(body: Any, status: int = 200, **headers: str) -> Reply:
    """A JSON answer; `retry_after="3"` becomes the header Retry-After."""
    return Reply((json.dumps(body).encode(),), status, {name.replace("_", "-"): value for name, value in headers.items()})


def streamed(
    events: Sequence[bytes], ending: Literal["end", "cut", "reset", "hold"] = "end", first: int | None = None, pause: float = 0.0
) -> Reply:
    """A stream of server-sent events; with `first` only so many of them."""
    return Reply(events if first is None else events[:first], content_type=EVENTS, ending=ending, pause=pause)


@dataclass(frozen=True)
class Request:
    """What one request brought. `body` is the decoded JSON, or the text where it is none. Its `repr` shows no headers: one is the key."""

    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: Any


class ProviderServer:
    """Replies to each request with the next of `replies`; without any left it answers 500.

    It listens on a free port of 127.0.0.1, and on nothing that another machine reaches, from `start` to `stop`; as a context
    manager for as long as its block lasts.
    """

    def __init__(self) -> None:
        self.replies: list[Reply] = []
        self.requests: list[Request] = []
        self.held = threading.Event()
        """Set once a reply holds."""
        self.left = threading.Event()
        """Set once the client closed the connection of a reply that holds."""
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._address = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def url(self) -> str:
        """Where it listens, without a path."""
        return self._address

    def script(self, *replies: Reply) -> Self:
        """Add replies for the next requests."""
        self.replies += replies
        return self

    def start(self) -> Self:
        """Begin to listen. Raises: ConfigError for a server that was started before: it is started once."""
        if self._threads[0].ident is not None:
            raise ConfigError(field="server", problems=["it was started before, and is started once"], next_step="make another one")
        self._threads[0].start()
        return self

    def stop(self) -> None:
        """Close every connection, free the port and wait for the threads; what is sent then finds nobody. May be called again."""
        with self._lock:
            opened = [self._listener, *self._open]
        for one in opened:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(timeout=10)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def reply_to(self, request: Request) -> Reply:
        """What a request is answered where the script has nothing for it; called in the thread of its connection."""
        return said({"error": {"message": "the script is used up"}}, 500)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            with self._lock:
                self._open.append(connection)
                self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with connection, connection.makefile("rb") as incoming:
                while (request := _read(incoming)) is not None:
                    with self._lock:
                        self.requests.append(request)
                        reply = self.replies.pop(0) if self.replies else None
                    if not self._send(connection, reply or self.reply_to(request)):
                        return
        except OSError:
            pass

    def _send(self, connection: socket.socket, reply: Reply) -> bool:
        """Whether the connection goes on."""
        if reply.status:
            head = [f"HTTP/1.1 {reply.status} scripted", f"content-type: {reply.content_type}", "transfer-encoding: chunked"]
            head += [f"{name}: {value}" for name, value in reply.headers.items()]
            connection.sendall("\r\n".join([*head, "", ""]).encode())
        try:
            for piece in reply.pieces:
                time.sleep(reply.pause)
                connection.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        except ConnectionError:  # whoever left does not wait for the last piece
            self.left.set()
            raise
        if reply.ending == "end":
            connection.sendall(b"0\r\n\r\n")
            return True
        if reply.ending == "hold":
            self.held.set()
            try:
                gone = connection.recv(1) == b""
            except ConnectionError:
                gone = True
            if gone:
                self.left.set()
        if reply.ending == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
        return False


def _read(incoming: IO[bytes]) -> Request | None:
    """The next request of a connection; None where the client has left, or sent what is no request."""
    first = incoming.readline().decode("latin-1").split()
    if len(first) != 3:
        return None
    headers: dict[str, str] = {}
    while (line := incoming.readline().decode("latin-1").strip()) != "":
        name, _, value = line.partition(":")
        headers[name.lower()] = value.strip()
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdecimal()):
        return None
    body = incoming.read(int(length))
    return Request(first[1], headers, _decoded(body) if body else None)


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # the latter for what is nested too deep
        return body.decode("utf-8", "replace")
