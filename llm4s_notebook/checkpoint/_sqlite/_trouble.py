"""SQLite's errors in our words: every one becomes StoreUnavailable naming the file, the reason and what to do."""

from __future__ import annotations

import sqlite3

from ...errors import StoreUnavailable


class Damage(Exception):
    """Rows that do not fit each other; the text says which."""


_REASONS: dict[int, tuple[str, str]] = {
    sqlite3.SQLITE_READONLY: ("the file cannot be written", "make the file and its folder writable, or open another file"),
    sqlite3.SQLITE_FULL: ("the disk is full", "make room; nothing of the failed call was stored"),
    sqlite3.SQLITE_NOTADB: ("the file is not a SQLite database", "name another file; this one was left as it is"),
    sqlite3.SQLITE_CORRUPT: ("the file is damaged", "restore it from a copy, or open another file"),
    sqlite3.SQLITE_CANTOPEN: ("the file cannot be opened", "check that its folder exists and may be written"),
    sqlite3.SQLITE_IOERR: ("reading or writing the file failed", "check the disk; nothing of the failed call was stored"),
    sqlite3.SQLITE_PERM: ("access to the file is denied", "make the file and its folder writable, or open another file"),
    sqlite3.SQLITE_TOOBIG: ("a value is larger than SQLite can store", "keep large data outside the state and store its address"),
}


def unavailable(error: sqlite3.Error, path: str, busy_timeout: float) -> StoreUnavailable:
    """The error to raise instead of `error`, which the caller sets as its cause."""
    primary = _primary(error)
    if is_busy(error):
        return StoreUnavailable(
            path=path,
            reason=f"another process kept the file locked for longer than {busy_timeout:g} s; nothing was changed",
            next_step="try again, or find the program that holds the file open in a transaction",
        )
    if primary in _REASONS:
        reason, next_step = _REASONS[primary]
        return StoreUnavailable(path=path, reason=f"{reason} ({error})", next_step=next_step)
    return StoreUnavailable(path=path, reason=f"the database refused: {error}")


def is_busy(error: sqlite3.Error) -> bool:
    """True if another process's lock is in the way."""
    return _primary(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _primary(error: sqlite3.Error) -> int | None:
    code = getattr(error, "sqlite_errorcode", None)
    return code & 0xFF if isinstance(code, int) else None


def closed(path: str) -> StoreUnavailable:
    return StoreUnavailable(path=path, reason="the store is closed", next_step="open the file again with SqliteCheckpointer(path)")


def gone(path: str) -> StoreUnavailable:
    return StoreUnavailable(
        path=path,
        reason="the file was removed while it was open, and what is written now would go with it",
        next_step="open it again with SqliteCheckpointer(path), which makes a new one, or put the file back from a copy first",
    )


def forked(path: str) -> StoreUnavailable:
    return StoreUnavailable(
        path=path,
        reason="the store was opened before this process was forked off, and a SQLite connection must not cross a fork",
        next_step="open the file again in this process with SqliteCheckpointer(path)",
    )


def damaged(path: str, what: str) -> StoreUnavailable:
    return StoreUnavailable(path=path, reason=f"the file is damaged: {what}", next_step="restore it from a copy, or open another file")
