"""Running the tasks of one superstep (3.1). A failing task never stops its siblings (R3.18), so this is no TaskGroup.

A superstep of one task runs in the caller's own asyncio task. Of several, each gets an asyncio task of its own, at most
`max_concurrency` at once; all of them are out before `run` ends, however it ends.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from msgspec import Struct

from ..errors import InvalidRoute
from ._breakpoint import held_before
from ._check import check_result, failure_of, route_problems
from ._config import RunConfig
from ._context import RunContext, RunVoice
from ._execution import Execution, Task
from ._outcome import Ending, TaskResult
from ._plan import NodeSpec
from ._siblings import Siblings
from ._state import ThreadState

_NO_CONTEXT: Final = RunContext(RunVoice(RunConfig()), "", "", "", 0)
_NO_STATE: Final = ThreadState({}, {})
"""For functions that have no parameter for it."""
_MAX_THREADS = 512
_THREADS_EXIST = sys.platform != "emscripten"


@functools.cache
def _workers() -> ThreadPoolExecutor:
    """The threads plain functions run in; the loop's own few could all be taken by functions that wait."""
    return ThreadPoolExecutor(_MAX_THREADS, thread_name_prefix="llm4s-node")


class Superstep(Struct, eq=False):
    """One superstep's tasks. `results` fills while they run and stays readable when `run` was cancelled.

    `own` is the caller's asyncio task, in which a single task runs; None where there is none, and then it cannot be stopped.
    `owned` says that this is the run's own. `recorded` are results that need no running (R8.10). `finished` hears of each result of a
    superstep of several tasks. `running` holds the asyncio tasks that a stop has to cancel.
    """

    execution: Execution
    voice: RunVoice
    checkpoint_id: str
    own: asyncio.Task[Any] | None
    owned: bool = False
    recorded: Mapping[str, TaskResult] = {}
    finished: Callable[[TaskResult], None] | None = None
    running: set[asyncio.Task[Any]] = set()
    results: dict[str, TaskResult] = {}
    _siblings: Siblings | None = None
    _crash: BaseException | None = None

    async def run(self) -> list[TaskResult]:
        """Run what has to run; results in frontier order whatever finished first (R3.2).

        Raises: CancelledError when the caller's task was cancelled, after every task is out; a BaseException that is neither
        an Exception nor a cancellation and that a node let escape.
        """
        frontier = self.execution.frontier
        if len(frontier) == 1:
            [task] = frontier
            usual = not self.recorded and task.replay is None and not self.voice.config.interrupt_before
            if usual or not self._settled(task):
                self.results[task.id] = await self._alone(task)
            return [self.results[task.id]]
        all_run = not self.recorded and not self.voice.config.interrupt_before
        due = [task for task in frontier if (all_run and task.replay is None) or not self._settled(task)]
        if len(due) == 1:
            [task] = due
            self.results[task.id] = await self._alone(task)
        elif due:
            limit = self.voice.config.budgets.max_concurrency
            self._siblings = Siblings(due, limit, self.running, self._one, self._never_ran)
            try:
                await self._siblings.run()
            finally:
                self._siblings = None  # which knows this superstep
        if self._crash is not None:
            raise self._crash
        return self.ordered()

    def ordered(self) -> list[TaskResult]:
        """The results there are, in frontier order."""
        results = self.results
        return [results[task.id] for task in self.execution.frontier if task.id in results]

    def _settled(self, task: Task) -> bool:
        """Results that need no call: recorded ones, replays, and tasks held before they run (R5.30)."""
        if task.id in self.recorded:
            self.results[task.id] = self.recorded[task.id]
        elif task.replay is not None:
            self.results[task.id] = self._replay(task)
        elif self.voice.config.interrupt_before and held_before(task, self.voice.config):
            self.results[task.id] = TaskResult(task, Ending.HELD)
        else:
            return False
        return True

    def _replay(self, task: Task) -> TaskResult:
        """Complete a task held after it ran with its stored routes, checked again as if just returned (R5.16, R5.22)."""
        routes = task.replay or ()
        problems = route_problems(self.execution.plan, routes)
        if problems:
            return TaskResult(task, Ending.FAILED, error=InvalidRoute(node_id=task.node, task_id=task.id, reason="; ".join(problems)))
        return TaskResult(task, Ending.COMPLETED, routes=routes)

    async def _alone(self, task: Task) -> TaskResult:
        own = self.own
        if own is None:
            return await self._attempt(task)
        asked = own.cancelling()
        self.running.add(own)
        try:
            result = await self._attempt(task)
        finally:
            self.running.discard(own)
        if own.cancelling() <= asked:
            return result
        # what is asked of a task that is the caller's may have been asked by anybody, and is not ours to forget
        cancelled = not self.owned or await self._cancelled(own, asked)
        return TaskResult(task, Ending.CANCELLED) if cancelled else result

    async def _one(self, task: Task) -> None:
        """One of several tasks."""
        siblings, id = self._siblings, task.id
        assert siblings is not None
        siblings.unseen.pop(id, None)
        try:
            if self.voice.cancelled():
                self._never_ran(task)
                return
            try:
                result = await self._attempt(task)
            except BaseException as error:  # neither failure nor cancellation: raised once every sibling is out
                self._crash = self._crash or error
                return
            own = siblings.tasks.get(id) or asyncio.current_task()  # not there yet where the loop runs new tasks at once
            if own is not None and own.cancelling() and await self._cancelled(own, 0):
                result = TaskResult(task, Ending.CANCELLED)
            self.results[id] = result
            if self.finished is not None:
                self.finished(result)
        finally:
            siblings.ended()

    def _never_ran(self, task: Task) -> None:
        self.results[task.id] = TaskResult(task, Ending.CANCELLED)

    async def _cancelled(self, own: asyncio.Task[Any], asked: int) -> bool:
        """Whether a call that is over was cancelled, also one that returned with the cancellation still showing (R8.5).

        Before Python 3.13 a TaskGroup whose child failed leaves a request behind that has been met already. Nobody cancelled
        the run then, and the request is forgotten.
        """
        if self._stopped():
            return True
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:  # it was still on its way: the node cancelled itself
            return True
        while own.cancelling() > asked:
            own.uncancel()
        return self._stopped()

    def _stopped(self) -> bool:
        return self.voice.cancelled() or (self._siblings is not None and self._siblings.interrupted)

    async def _attempt(self, task: Task) -> TaskResult:
        """One call of the task's node, and its checked result."""
        execution, voice, id, node = self.execution, self.voice, task.id, task.node
        plan = execution.plan
        spec = plan.nodes[node]
        context = RunContext(voice, self.checkpoint_id, id, node, execution.superstep) if spec.takes_context else _NO_CONTEXT
        voice.active[id] = node
        try:
            given = None if spec.codec.unit else spec.codec.decode(task.input)
            state = ThreadState(plan.keys, execution.slots) if spec.takes_state else _NO_STATE
            if spec.threaded:
                returned = await call_in_thread(spec, given, state, context)
            else:
                returned = await spec.call(given, state, context)
            return check_result(plan, spec, task, returned, context)
        except asyncio.CancelledError:
            return TaskResult(task, Ending.CANCELLED)
        except Exception as error:
            return failure_of(spec, task, error)
        finally:
            del voice.active[id]


async def call_in_thread(spec: NodeSpec, given: Any, state: ThreadState, context: RunContext) -> Any:
    """Call a plain function in a worker thread; a cancelled caller still waits for it and drops its result (D24)."""
    if not _THREADS_EXIST:
        returned = spec.call(given, state, context)
        return await returned if inspect.isawaitable(returned) else returned
    run = contextvars.copy_context().run
    future = asyncio.get_running_loop().run_in_executor(_workers(), lambda: run(_in_thread, spec, given, state, context))
    interrupted = False
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                break
            interrupted = True
        except Exception:
            break
    if interrupted:
        future.exception()
        raise asyncio.CancelledError
    returned = future.result()
    return await returned if inspect.isawaitable(returned) else returned


def _in_thread(spec: NodeSpec, given: Any, state: ThreadState, context: RunContext) -> Any:
    """The call itself; the two exceptions that must not cross into an event loop are translated."""
    try:
        return spec.call(given, state, context)
    except StopIteration as error:
        raise RuntimeError("the node raised StopIteration") from error
    except (SystemExit, KeyboardInterrupt) as error:
        raise RuntimeError(f"the node raised {type(error).__name__} in a worker thread") from error
