"""Runs of the guardrails, one at a time: started from a cell or by a click, joined, cancelled, continued (T1.3, T1.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from ...checkpoint import Clock
from ...errors import ConfigError
from .._home import Home, in_spite_of_cancels, ticking
from ._check import Checked, Labelled
from ._results import Results
from ._run import TextRun


class Runner:
    """`progressed` is called on the home loop whenever a text is checked, `changed` when a run begins, is cancelled or ends."""

    def __init__(
        self,
        home: Home,
        results: Results,
        guardrails: Sequence[Labelled],
        concurrency: int,
        clock: Clock,
        *,
        progressed: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        self.error: Exception | None = None
        self._home = home
        self._results = results
        self._guardrails = guardrails
        self._concurrency = concurrency
        self._clock = clock
        self._progressed = progressed
        self._changed = changed
        self._run: TextRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._last_rate: float | None = None

    @property
    def running(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def cancelling(self) -> bool:
        return self.running and self._run is not None and self._run.cancelling

    @property
    def per_second(self) -> float | None:
        """Texts checked each second by the run under way, or by the last one."""
        return self._run.per_second if self.running and self._run is not None else self._last_rate

    def moved(self) -> None:
        """The loop that a run was on has ended, and the run with it."""
        self._task = self._run = None

    async def run(self, *, again: bool) -> None:
        """Check what is not checked yet, with `again` everything anew, and return when that is done or was cancelled.

        While a run is under way it is joined. Cancelling this cancels the run it has started, and waits for it.
        Raises: what ended the run badly.
        """
        await self._home.call(lambda: self._run_here(again))

    async def _run_here(self, again: bool) -> None:
        joined = self._task if self.running else None
        task = joined or self._start(again)
        try:
            await ticking(task)
        except asyncio.CancelledError:
            if joined is None:
                self.cancel()
                await in_spite_of_cancels(task)
            raise
        task.result()

    def begin(self, *, again: bool) -> None:
        """The same in the background. Raises: ConfigError where no event loop runs."""
        if not self._home.post(lambda: None if self.running else self._start(again)):
            raise ConfigError(field="run", problems=["no event loop runs here; use `await review.run()` instead"])

    def cancel(self) -> bool:
        """Ask the run under way to stop; what it has checked stays. False where none is. From any thread."""
        run = self._run
        if not self.running or run is None:
            return False
        run.cancelling = True
        self._home.post(lambda: self._cancel_here(run))
        return True

    def _cancel_here(self, run: TextRun) -> None:
        run.cancel()
        self._changed()

    def _start(self, again: bool) -> asyncio.Task[None]:
        self.error = None
        if again and self._results.checked:
            self._results.start_anew()
        self._run = TextRun(self._guardrails, self._results.texts.values, self._concurrency, self._clock)
        self._task = asyncio.get_running_loop().create_task(self._go(self._run), name="llm4s text review runs")
        self._task.add_done_callback(self._ended)
        self._changed()
        return self._task

    async def _go(self, run: TextRun) -> None:
        try:
            await run.go(self._results.unchecked(), self._put)
        except Exception as error:
            self.error = error
            raise
        finally:
            self._last_rate = run.per_second

    def _put(self, position: int, checked: Checked) -> None:
        self._results.put(position, checked)
        self._progressed()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # seen: whoever awaits gets it, the views show it
        self._changed()
