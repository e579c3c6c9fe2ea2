"""A file of JSON lines that several processes and threads append to.

Every writer holds the file's lock from its look at the last line to the end of its `fsync`, so lines never mix. Only a
process that died in between leaves a line without an end; the next writer keeps what is there of it as a line of its own,
`{"torn": "…"}`, and nothing is glued to it.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from ..errors import StoreUnavailable

LOCK_SECONDS = 10.0
"""How long a lock that somebody else holds is waited for; a writer holds it for one write."""

_POLL = 0.005
_BLOCK = 65536

if sys.platform == "win32":
    import msvcrt

    _FAR = 1 << 62  # a byte no file has: locking one that has been written would keep readers out

    def _try_lock(descriptor: int, shared: bool) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _unlock(descriptor: int) -> None:
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int, shared: bool) -> None:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)

    def _unlock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the file, numbered from 1, without its end. `torn` where the file ends before the line does."""

    number: int
    data: bytes
    torn: bool = False


class LineFile:
    """The lines of one file. The file is opened for each call, so it may be moved away and another put in its place."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, lines: list[bytes]) -> None:
        """Append whole lines in one write, durable when this returns; all of them, or none.

        Raises: StoreUnavailable naming the file and what the system said; the file is as it was.
        """
        data = b"".join(line + b"\n" for line in lines)
        with self._opened(os.O_RDWR | os.O_CREAT, shared=False) as descriptor:
            end = os.fstat(descriptor).st_size
            torn = _last_line(descriptor, end)
            start = end - len(torn)
            if torn:
                data = _kept(torn) + data
            try:
                _write(descriptor, start, data)
                os.fsync(descriptor)
                if end == 0:
                    _sync_folder(self.path.parent)
            except OSError:
                with contextlib.suppress(OSError):
                    _write(descriptor, start, torn)
                with contextlib.suppress(OSError):  # half a line would stay; the next writer puts it aside then
                    os.truncate(descriptor, end)
                raise

    def lines(self) -> list[Line]:
        """All lines in the order of the file; none where there is no file. Raises: StoreUnavailable."""
        if not self.exists():
            return []
        with self._opened(os.O_RDONLY, shared=True) as descriptor:
            data = _read(descriptor, 0, os.fstat(descriptor).st_size)
        parts = data.split(b"\n")
        rest = parts.pop()
        lines = [Line(number, part) for number, part in enumerate(parts, 1)]
        return [*lines, Line(len(lines) + 1, rest, torn=True)] if rest else lines

    def exists(self) -> bool:
        """Whether there is a file. Raises: StoreUnavailable where the system does not let anybody look."""
        try:
            return self.path.exists()
        except OSError as error:
            raise self.unavailable(error.strerror or str(error), "reading") from error

    def check_writable(self) -> None:
        """Create the file where there is none. Raises: StoreUnavailable where nothing could be appended."""
        with self._opened(os.O_RDWR | os.O_CREAT, shared=False):
            pass

    @contextlib.contextmanager
    def _opened(self, flags: int, *, shared: bool) -> Generator[int]:
        try:
            descriptor = os.open(self.path, flags | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0), 0o644)
            try:
                self._lock(descriptor, shared)
                try:
                    yield descriptor
                finally:
                    _unlock(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise self.unavailable(error.strerror or str(error), "reading" if flags == os.O_RDONLY else "writing") from error

    def _lock(self, descriptor: int, shared: bool) -> None:
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                return _try_lock(descriptor, shared)
            except OSError as held:
                if not isinstance(held, BlockingIOError | PermissionError):
                    raise
                if time.monotonic() >= until:
                    raise TimeoutError(0, f"another process has held its lock for {LOCK_SECONDS:g} s") from held
            time.sleep(_POLL)

    def unavailable(self, reason: str, doing: str = "writing") -> StoreUnavailable:
        """The error for a file that cannot be used."""
        return StoreUnavailable(
            path=str(self.path),
            reason=f"{doing} the decision log failed: {reason}",
            next_step="mend that, or give the log another path",
        )


def _sync_folder(folder: Path) -> None:
    """A file just made is there after a power cut only when its folder says so. A system without the call does without."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _last_line(descriptor: int, end: int) -> bytes:
    """What stands after the last line's end: nothing, unless a writer died."""
    found = b""
    while end > 0:
        start = max(0, end - _BLOCK)
        block = _read(descriptor, start, end - start)
        at = block.rfind(b"\n")
        if at >= 0:
            return block[at + 1 :] + found
        found, end = block + found, start
    return found


def _kept(torn: bytes) -> bytes:
    """A line that says what was left of one that was never finished."""
    text = torn.decode("utf-8", "backslashreplace")
    return json.dumps({"torn": text}, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _read(descriptor: int, start: int, size: int) -> bytes:
    os.lseek(descriptor, start, os.SEEK_SET)
    parts: list[bytes] = []
    while size > 0 and (part := os.read(descriptor, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(descriptor: int, start: int, data: bytes) -> None:
    os.lseek(descriptor, start, os.SEEK_SET)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
