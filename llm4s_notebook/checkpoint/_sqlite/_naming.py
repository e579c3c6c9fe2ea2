"""Checkpoint ids as stored: `<run id>/<n>` is the usual form (R1.5), and then neither part is written with the checkpoint.

A checkpoint is numbered `n` where that number is free; its name is NULL then. Other ids have a name: what follows the
run id, beginning with a slash, or the whole id behind an equals sign.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_LEAP: Final = 1 << 20  # how many numbers an id may skip; a larger one gets a name, so that numbers do not run out
_DIGITS: Final = 10


def place(run_id: str, checkpoint_id: str, last: int) -> tuple[int, str | None]:
    """The number and the name for a new checkpoint of a thread whose newest has number `last` (0: none)."""
    if checkpoint_id == f"{run_id}/{last + 1}":
        return last + 1, None
    number = number_of(run_id, checkpoint_id)
    if number is not None and last < number <= last + _LEAP:
        return number, None
    if checkpoint_id.startswith(run_id + "/"):
        return last + 1, checkpoint_id[len(run_id) :]
    return last + 1, f"={checkpoint_id}"


def id_of(run_id: str, number: int, name: str | None) -> str:
    """The checkpoint's id again."""
    if name is None:
        return f"{run_id}/{number}"
    return name[1:] if name.startswith("=") else run_id + name


def number_in(checkpoint_id: str) -> int | None:
    """The number under which a checkpoint of that id lies, if its name is NULL."""
    return _parts(checkpoint_id)[1]


def names(checkpoint_id: str) -> list[str]:
    """The names that a checkpoint of that id can have."""
    found = [f"={checkpoint_id}"]
    at = checkpoint_id.find("/")
    while at >= 0:
        found.append(checkpoint_id[at:])
        at = checkpoint_id.find("/", at + 1)
    return found


def number_of(run_id: str, checkpoint_id: str) -> int | None:
    """`n` of an id `<run id>/<n>` of that run, None for any other."""
    of, number = _parts(checkpoint_id)
    return number if of == run_id else None


@lru_cache(maxsize=1024)  # one commit asks for the same id several times, and so does the next one for its parent
def _parts(checkpoint_id: str) -> tuple[str, int | None]:
    """What stands before the last slash, and the number behind it if it is one."""
    of, slash, digits = checkpoint_id.rpartition("/")
    if not slash or not digits.isdecimal() or not digits.isascii() or digits[0] == "0" or len(digits) > _DIGITS:
        return of, None
    return of, int(digits)
