"""What a running task knows of its run (R1.28), and what it may say to the outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ._codec import plain
from ._config import RunConfig


def _never() -> bool:
    return False


class RunVoice(Struct, eq=False):
    """What all tasks of a run share: where they are, whether it is being stopped, and who hears live progress."""

    config: RunConfig
    thread_id: str = ""
    run_id: str = ""
    birth_id: str = ""
    cancelled: Callable[[], bool] = _never
    progress: Callable[[RunContext, str, int, Any], None] | None = None
    followed: Callable[[], bool] = _never
    active: dict[str, str] = {}
    """task id -> node id of the calls under way."""


class RunContext:
    """What a node, a hook and a tool know of their run.

    `checkpoint_id` is the checkpoint whose frontier the task belongs to, and the empty string outside a runtime (R1.29).
    `birth_id` is the thread's: random, made with the thread, new in a fork (D13).
    """

    __slots__ = ("_voice", "checkpoint_id", "emitted", "node_id", "superstep", "task_id")

    def __init__(self, voice: RunVoice, checkpoint_id: str, task_id: str, node_id: str, superstep: int) -> None:
        self._voice = voice
        self.checkpoint_id = checkpoint_id
        self.task_id = task_id
        self.node_id = node_id
        self.superstep = superstep
        self.emitted: list[tuple[str, int, Any]] = []

    @property
    def config(self) -> RunConfig:
        return self._voice.config

    @property
    def thread_id(self) -> str:
        return self._voice.thread_id

    @property
    def run_id(self) -> str:
        return self._voice.run_id

    @property
    def birth_id(self) -> str:
        return self._voice.birth_id

    @property
    def cancelled(self) -> bool:
        """True once the run is being cancelled or has timed out; a plain function should look at it (D24)."""
        return self._voice.cancelled()

    @property
    def followed(self) -> bool:
        """True while somebody in this process follows the thread; live progress reaches nobody else."""
        return self._voice.followed()

    def emit(self, name: str, payload: Any, version: int = 1) -> None:
        """Record a durable custom event, committed with the task's result and dropped if it fails (R7.4). Raises: EncodeError."""
        self.emitted.append((name, version, plain(payload, f"the payload of event '{name}'")))

    def progress(self, name: str, payload: Any, version: int = 1) -> None:
        """Tell live listeners something; never stored (R7.10). May be called from a worker thread. Raises: EncodeError."""
        copied = plain(payload, f"the payload of progress '{name}'")
        if self._voice.progress is not None:
            self._voice.progress(self, name, version, copied)
