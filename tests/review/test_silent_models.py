"""A model that keeps a person waiting: which one, for how long, and that cancel is safe (W4.8). The clock is turned by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentMiddleware, tool
from llm4s_notebook.errors import RunCancelled
from llm4s_notebook.graph import RunContext
from llm4s_notebook.models import Completion, Delta, ModelRequest, Retry, ScriptedClient, ToolCall
from llm4s_notebook.review import Session
from llm4s_notebook.testing import ManualClock

from .writing import Gate, Page, Typing, done, until

SAFE = "cancel is safe: nothing of this call is stored"
each_way = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])


class Waiting:
    """A turn that is under way, under a clock of its own."""

    def __init__(self, client: Any, *, stream: bool = True, **settings: Any) -> None:
        self.clock = ManualClock()
        self.session = Session(Agent("support", client, stream=stream, **settings), "t", clock=self.clock)
        self.page = Page(self.session)
        self.turn = asyncio.create_task(self.session.run("go"))

    @property
    def line(self) -> str | None:
        return self.page.live.waiting

    @property
    def heard(self) -> bool:
        """Whether the session has heard of a call: from then on it counts the seconds."""
        return bool(self.session._conductor.board.live._written)  # pyright: ignore[reportPrivateUsage]  # nothing else shows it before ten seconds

    async def after(self, seconds: float, line: str | None) -> None:
        """Turn the clock on and wait until the line is this one."""
        self.clock.advance(seconds)
        await until(lambda: self.line == line)


async def called(waiting: Waiting, client: Typing) -> None:
    await until(lambda: client.calls == 1 and waiting.heard)


@each_way
async def test_a_model_that_has_not_answered_is_named_from_ten_seconds_on(stream: bool) -> None:
    """W4.8: streamed or not; it goes when the answer is there."""
    gate = Gate()
    client = Typing([gate, "hi", done("hi")])
    waiting = Waiting(client, stream=stream)
    await called(waiting, client)
    waiting.clock.advance(9.5)
    await asyncio.sleep(0.4)  # more than a tick
    assert waiting.line is None
    await waiting.after(0.5, f"model of 'support' has not answered for 10 s; {SAFE}")
    await waiting.after(2, f"model of 'support' has not answered for 12 s; {SAFE}")
    await waiting.after(113, f"model of 'support' has not answered for 2 min 5 s; {SAFE}")
    assert waiting.session.state().live.waiting == waiting.line  # also without a front end
    gate.set()
    await waiting.turn
    assert waiting.line is None
    assert waiting.session.state().live.waiting is None


async def test_a_stream_that_stalls_is_named_and_a_word_takes_the_line_away() -> None:
    """W4.8: the seconds are those since the last word."""
    stall, again = Gate(), Gate()
    client = Typing(["Once ", stall, "upon ", again, "a time", done("Once upon a time")])
    waiting = Waiting(client)
    await until(lambda: waiting.page.last == "Once ")
    await waiting.after(12, f"model of 'support' has written nothing more for 12 s; {SAFE}")
    stall.set()
    await until(lambda: waiting.page.last == "Once upon ")
    assert waiting.line is None
    await waiting.after(11, f"model of 'support' has written nothing more for 11 s; {SAFE}")
    again.set()
    await waiting.turn
    assert waiting.line is None


async def test_the_scripted_client_with_a_delay_is_a_silent_model_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """W4.8."""
    first, second = delays = [Gate(), Gate()]
    coming = iter(delays)
    monkeypatch.setattr("llm4s_notebook.models._scripted.asyncio", SimpleNamespace(sleep=lambda _seconds: next(coming).wait()))
    waiting = Waiting(ScriptedClient("slow words", chunk_size=5, delay=0.6))
    await until(lambda: waiting.heard)
    await waiting.after(15, f"model of 'support' has not answered for 15 s; {SAFE}")
    first.set()
    await until(lambda: waiting.page.last == "slow ")
    assert waiting.line is None
    second.set()
    await waiting.turn


@each_way
async def test_cancel_ends_the_waiting_and_nothing_of_the_call_is_stored(stream: bool) -> None:
    """W4.8: it is as safe as it says."""
    client = Typing([Gate()])
    waiting = Waiting(client, stream=stream)
    await called(waiting, client)
    await waiting.after(12, f"model of 'support' has not answered for 12 s; {SAFE}")
    await waiting.session.cancel()
    with pytest.raises(RunCancelled):
        await waiting.turn
    assert waiting.line is None
    assert [message.role for message in waiting.session.state().messages] == ["user"]
    state = waiting.session.state()
    assert state.can_recover
    assert isinstance(waiting.session.error, RunCancelled)
    assert (state.error, state.status_text) == (None, "cancelled: recover continues it")  # as wanted, and no error to look at


@each_way
async def test_a_wait_to_send_again_is_said_at_once_with_its_cause(stream: bool) -> None:
    """W4.8, M3.5: how long it still takes, then the new attempt's own silence."""
    waits, sent = Gate(), Gate()
    script: Sequence[Any] = [waits, Retry(2, 4.0, "rate-limit"), sent, *([Delta(again=True)] if stream else []), done("hi")]
    client = Typing(script)
    waiting = Waiting(client, stream=stream)
    await called(waiting, client)
    waits.set()
    await waiting.after(0, f"model of 'support' is asked again in 4 s: attempt 2 after rate limit; {SAFE}")
    await waiting.after(2, f"model of 'support' is asked again in 2 s: attempt 2 after rate limit; {SAFE}")
    await waiting.after(2, None)
    await waiting.after(11, f"model of 'support' has not answered for 11 s, attempt 2 after rate limit; {SAFE}")
    sent.set()
    await waiting.turn
    assert waiting.line is None


async def test_a_wrapper_that_works_after_the_call_is_not_taken_for_a_silent_model() -> None:
    """W4.8: the call is over, whatever it came to; and a call that failed is not waited for either."""
    checks, tries = Gate(), Gate()

    class Careful(AgentMiddleware):
        id = "careful"

        async def wrap_model_call(self, request: ModelRequest, context: RunContext, next: Any) -> Completion:
            try:
                return await next(request)
            except Exception:
                await tries.wait()
            made = await next(request)
            await checks.wait()
            return made

    client = Typing(["half ", ConnectionError("cut")], ["whole", done("whole")])
    waiting = Waiting(client, middleware=[Careful()])
    await called(waiting, client)
    await until(lambda: not waiting.page.live.messages)
    waiting.clock.advance(60)
    await asyncio.sleep(0.4)
    assert waiting.line is None
    tries.set()
    await until(lambda: waiting.page.last == "whole")
    waiting.clock.advance(60)
    await asyncio.sleep(0.4)
    assert waiting.line is None
    assert waiting.page.written.note == "not stored yet"
    checks.set()
    await waiting.turn


async def test_a_tool_that_takes_its_time_is_no_silent_model() -> None:
    """W4.8: the line is about model calls; a tool is named by its node (W4.3)."""
    gate = Gate()

    @tool
    async def wait() -> str:
        """Wait."""
        await gate.wait()
        return "waited"

    waiting = Waiting(Typing([done(None, ToolCall("c1", "wait", {}))], [done("so be it")]), tools=[wait])
    await until(lambda: waiting.page.documents[-1].run is not None and "support/call-tool" in waiting.page.documents[-1].run.nodes)
    waiting.clock.advance(60)
    await asyncio.sleep(0.4)
    assert waiting.line is None
    gate.set()
    await waiting.turn
