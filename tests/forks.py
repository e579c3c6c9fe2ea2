"""Children of a process that is warmed up once: forked one for each job, so that many can be killed in the time that one takes to start.

A module that has such children says `serve(child)` when it is run; its tests open the `Forks` that it defines. Between them goes one JSON
line for each job, and one exit code back when that child is dead.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self


def serve(child: Callable[[dict[str, Any]], Coroutine[Any, Any, None]]) -> None:
    """Fork a child for each line; the server itself never opens a store and has one thread only."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            try:
                asyncio.run(child(json.loads(line)))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


class Forks:
    """The test's side of it; a subclass says what its jobs are, in the module whose children they are for."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def fork(self, job: dict[str, Any]) -> int:
        """One child's exit code: 0 when it came to its end, minus the signal that killed it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(job), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    @classmethod
    @contextmanager
    def open(cls) -> Iterator[Self]:
        """The module of this class as a server; it ends with the block, and well."""
        command = [sys.executable, "-m", cls.__module__]
        root = Path(__file__).parents[1]
        with subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            yield cls(process)
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(60) == 0
