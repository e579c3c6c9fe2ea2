"""Opening the file: everything that can be wrong with it is found here and said clearly, before it is changed (R6.43)."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ...errors import ConfigError, StoreUnavailable
from ._mounts import network_filesystem
from ._schema import PAGE_SIZE, check_tables, check_version, upgrade
from ._trouble import damaged, unavailable

Synchronous = Literal["full", "normal"]
_LOG: Final[Mapping[Synchronous, int]] = {"full": 512 << 10, "normal": 4 << 20}
"""How many bytes long the write-ahead log grows before it is moved into the file, and then overwritten from its beginning.

With "full" each commit waits for the disk, and longer where the log grows: then the file system writes down its new size as well. With
"normal" nothing waits for the disk but that moving.
"""

_CACHE: Final = 8 << 20
"""How many bytes of the file a connection keeps at hand at most. SQLite's own 2 MiB hold a thread of 400 messages of 1 kB; of a longer one
each page would be read again, since those read first are dropped first."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the file is and how it is used; `busy_timeout` in seconds."""

    path: str
    synchronous: Synchronous
    busy_timeout: float


def settings(path: str | os.PathLike[str], synchronous: Synchronous, busy_timeout: float) -> Settings:
    """Raises: ConfigError for arguments that cannot be meant."""
    try:
        text = os.fsdecode(path)
    except TypeError as error:
        raise ConfigError(field="path", problems=[f"{path!r} is no path of a file"]) from error
    if text in ("", ":memory:") or text.startswith("file::memory:"):
        raise ConfigError(field="path", problems=[f"{text!r} is no file; for a store in memory use InMemoryCheckpointer()"])
    if "\0" in text:
        raise ConfigError(field="path", problems=["a path has no NUL character"])
    if synchronous not in ("full", "normal"):
        raise ConfigError(field="synchronous", problems=[f"'full' or 'normal', not {synchronous!r}"])
    if not isinstance(busy_timeout, (int, float)) or not 0 <= busy_timeout <= 86_400:  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
        raise ConfigError(field="busy_timeout", problems=[f"seconds from 0 to a day, not {busy_timeout!r}"])
    return Settings(os.path.abspath(os.path.expanduser(text)), synchronous, busy_timeout)


def check_place(path: str) -> None:
    """Raises: StoreUnavailable when the file cannot be created or written where it is said to be."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise StoreUnavailable(
            path=path, reason=f"there is no folder '{folder}'", next_step="create the folder, or name a file in another one"
        )
    if os.path.isdir(path):
        raise StoreUnavailable(path=path, reason="that is a folder, not a file", next_step="name a file in it")
    kind = network_filesystem(path)
    if kind:
        raise StoreUnavailable(
            path=path,
            reason=f"the file lies on a '{kind}' file system, where SQLite's write-ahead log is not safe",
            next_step="use a path on a local disk",
        )
    if not _writable(folder):
        raise StoreUnavailable(path=path, reason=f"the folder '{folder}' cannot be written", next_step="use a folder you may write to")
    if os.path.exists(path) and not _writable(path):
        raise StoreUnavailable(path=path, reason="the file is read-only", next_step="make it writable, or open a copy")


def _writable(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def connect(given: Settings, *, prepare: bool) -> sqlite3.Connection:
    """A connection; whoever shares it takes turns. With `prepare` the file is checked and brought up to date first.

    Raises: StoreUnavailable.
    """
    if sqlite3.sqlite_version_info < (3, 35):
        raise StoreUnavailable(
            path=given.path,
            reason=f"SQLite {sqlite3.sqlite_version} is too old; 3.35 is needed",
            next_step="use a Python that is linked to a newer SQLite",
        )
    try:
        connection = sqlite3.connect(
            given.path, timeout=given.busy_timeout, isolation_level=None, cached_statements=256, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise unavailable(error, given.path, given.busy_timeout) from error
    try:
        if prepare:
            check_tables(connection, given.path, check_version(connection, given.path))
            connection.execute(f"PRAGMA page_size = {PAGE_SIZE}")  # of a file that is made now
        page: int = connection.execute("PRAGMA page_size").fetchone()[0]
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG[given.synchronous] // page}")
        connection.execute(f"PRAGMA synchronous = {given.synchronous.upper()}")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(f"PRAGMA cache_size = -{_CACHE >> 10}")
        if prepare:
            enter_wal(connection, given.path, given.busy_timeout)
            upgrade(connection, given.path)
    except sqlite3.Error as error:
        connection.close()
        raise unavailable(error, given.path, given.busy_timeout) from error
    except UnicodeDecodeError as error:
        connection.close()
        raise damaged(given.path, str(error)) from error
    except BaseException:
        connection.close()
        raise
    return connection


def enter_wal(connection: sqlite3.Connection, path: str, busy_timeout: float) -> None:
    """Raises: StoreUnavailable when the file cannot have a write-ahead log."""
    end = time.monotonic() + busy_timeout
    while True:
        try:
            mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            break
        except sqlite3.OperationalError as error:
            # SQLite does not wait here by itself when two processes create one file at the same moment
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
            time.sleep(0.01)
    if mode != "wal":
        raise StoreUnavailable(
            path=path,
            reason=f"the file cannot use a write-ahead log here (its journal mode stays '{mode}')",
            next_step="use a path on a local disk",
        )
