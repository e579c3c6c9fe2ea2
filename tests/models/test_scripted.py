from __future__ import annotations

import asyncio
import threading

import pytest

from llm4s_notebook.models import (
    AssistantMessage,
    Completion,
    Delta,
    ModelRequest,
    ScriptedClient,
    ScriptExhausted,
    ToolCall,
    Usage,
    UserMessage,
    calls,
)

_REQUEST = ModelRequest((UserMessage("hi"),))


async def test_each_request_gets_the_next_step_and_is_kept():
    """The script decides what the model says; `requests` is what it was sent."""
    call = ToolCall("c1", "echo", {"text": "a"})
    own = Completion(AssistantMessage("own"), None, "other")
    client = ScriptedClient(calls(call, text="let me see"), "done", own)
    first = await client.complete(_REQUEST)
    assert first == Completion(AssistantMessage("let me see", (call,)), Usage(10, 20), "scripted")
    assert (await client.complete(_REQUEST)).message.content == "done"
    assert await client.complete(_REQUEST) is own
    assert client.requests == [_REQUEST] * 3


async def test_a_step_may_raise_or_be_computed_from_the_request():
    """Exceptions are raised; callables, async or plain, are given the request and may return any step."""

    async def later(request: ModelRequest) -> object:
        return f"async {len(request.messages)}"

    client = ScriptedClient(ValueError("down"), TimeoutError, lambda request: calls(ToolCall("c", request.messages[0].content)), later)
    with pytest.raises(ValueError, match="down"):
        await client.complete(_REQUEST)
    with pytest.raises(TimeoutError):
        await client.complete(_REQUEST)
    assert (await client.complete(_REQUEST)).message.tool_calls[0].name == "hi"
    assert (await client.complete(_REQUEST)).message.content == "async 1"


async def test_after_the_last_step_it_says_how_often_it_was_asked():
    """A model called too often is a fault the test must see."""
    client = ScriptedClient("only")
    await client.complete(_REQUEST)
    with pytest.raises(ScriptExhausted, match="1 step and was asked 2 times") as error:
        await client.complete(_REQUEST)
    assert error.value.calls == 2


async def test_streaming_gives_the_text_in_pieces_and_the_completion_last():
    """One completion at the end, whose text the pieces make up."""
    deltas = [delta async for delta in ScriptedClient("hello world", chunk_size=4).stream(_REQUEST)]
    assert [delta.text for delta in deltas[:-1]] == ["hell", "o wo", "rld"]
    assert deltas[-1] == Delta(completion=Completion(AssistantMessage("hello world"), Usage(10, 20), "scripted"))


async def test_something_else_in_a_script_is_refused():
    """A mistake in a script is told, not sent to the agent."""
    with pytest.raises(TypeError, match="a script step is"):
        await ScriptedClient(3).complete(_REQUEST)  # type: ignore[arg-type]  # the mistake under test


@pytest.mark.parametrize(
    ("step", "shown"),
    [
        ([1] * 66, f"{[1] * 66!r}"),
        ([1] * 67, f"{[1] * 67!r:.200}… (201 characters)"),
        (["x" * 1_000_000], f"['{'x' * 198}… (1,000,004 characters)"),
    ],
    ids=["198 characters", "201 characters", "a million"],
)
async def test_of_a_long_wrong_step_its_beginning_and_length_are_shown(step: object, shown: str):
    """A traceback in a cell stays readable."""
    with pytest.raises(TypeError) as refused:
        await ScriptedClient(step).complete(_REQUEST)  # type: ignore[arg-type]  # the mistake under test
    assert str(refused.value) == f"a script step is a str, calls(…), a Completion, BreaksOff, an exception or a callable, not {shown}"


def test_one_client_serves_several_threads_each_step_once():
    """D23: no step is played twice and none is lost."""
    client = ScriptedClient(*(str(n) for n in range(200)))
    said: list[str] = []

    def work() -> None:
        for _ in range(50):
            said.append(asyncio.run(client.complete(_REQUEST)).message.content or "")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(said, key=int) == [str(n) for n in range(200)]
