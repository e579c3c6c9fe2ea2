"""The mock provider that the package brings: what a real SDK gets from it, and what it refuses (M6)."""

from __future__ import annotations

import itertools
import json
import math
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from math import ceil
from typing import Any, cast

import pytest

from llm4s_notebook.agent import Agent, Completed, tool
from llm4s_notebook.checkpoint import InMemoryCheckpointer
from llm4s_notebook.errors import ConfigError, ModelFailed, ProviderFailed
from llm4s_notebook.models import (
    AssistantMessage,
    Completion,
    ModelRequest,
    ProviderClient,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
    calls,
    chat_client,
)
from llm4s_notebook.testing import MockProvider

from .test_faults import Waits
from .test_providers import answered, each_way

KEY = "mock-key"
CALLING = calls(ToolCall("c1", "add", {"a": 2, "b": 3}), text="Let me see: äöü")


def sums(request: ModelRequest) -> str | AssistantMessage:
    """Calls the tool, then says what it gave."""
    last = request.messages[-1]
    return f"It is {last.content}, says the tool." if isinstance(last, ToolMessage) else CALLING


@pytest.fixture
def provider() -> Iterator[MockProvider]:
    with MockProvider(sums, key=KEY) as running:
        yield running


def client_of(provider: MockProvider, **options: Any) -> ProviderClient:
    client = chat_client("openai:mock", **{"base_url": provider.url, "api_key": KEY, **options})
    Waits(client)
    return client


@tool
async def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@each_way
async def test_a_turn_with_a_tool_goes_through_the_real_sdk(provider: MockProvider, stream: bool) -> None:
    """M2, M3.2: text, calls, results and usage, the same streamed or whole; the function sees the conversation as a client is asked it."""
    asked: list[ModelRequest] = []
    provider.answer = lambda request: (asked.append(request), sums(request))[1]
    agent = Agent("adder", client_of(provider), system_prompt="Add.", tools=[add], runtime=InMemoryCheckpointer(), stream=stream)
    result = await agent.run("2 + 3?")
    assert result.status == Completed("It is 5, says the tool.")
    assert asked[1].messages == (SystemMessage("Add."), UserMessage("2 + 3?"), CALLING, ToolMessage("5", "c1"))
    [offered] = asked[1].tools
    assert (offered.name, offered.description) == ("add", "Add two numbers.")
    assert isinstance(offered.parameters, dict)
    assert offered.parameters["required"] == ["a", "b"]
    assert (result.usage.requests, list(result.usage.by_model)) == (2, ["mock"])
    offer = len("add" + "Add two numbers." + json.dumps(offered.parameters, separators=(",", ":")))
    sent, call, said = (
        len("Add." + "2 + 3?") + offer,
        len("Let me see: äöü" + "c1" + "add" + '{"a":2,"b":3}'),
        len("It is 5, says the tool."),
    )
    assert result.usage.input_tokens == ceil(sent / 4) + ceil((sent + call + len("5")) / 4)
    assert result.usage.output_tokens == ceil(call / 4) + ceil(said / 4)


async def test_a_streamed_answer_comes_word_by_word(provider: MockProvider) -> None:
    """M3.1: nothing of the white space is lost."""
    provider.answer = lambda request: " One  two\n\nthree. "
    pieces = [piece async for piece in client_of(provider).stream(ModelRequest((UserMessage("go"),)))]
    assert [piece.text for piece in pieces if piece.text] == [" One  ", "two\n\n", "three. "]
    assert pieces[-1].completion is not None
    assert pieces[-1].completion.message.content == " One  two\n\nthree. "


@each_way
async def test_the_functions_own_usage_is_told_and_a_coroutine_may_answer(provider: MockProvider, stream: bool) -> None:
    """M6.1: as a step of ScriptedClient."""

    async def answer(request: ModelRequest) -> Completion:
        return Completion(AssistantMessage("yes"), Usage(7, 8))

    provider.answer = answer
    completion = await answered(client_of(provider), ModelRequest((UserMessage("go"),)), stream=stream)
    assert (completion.message.content, completion.usage) == ("yes", Usage(7, 8))


@each_way
async def test_a_fault_is_played_once_and_the_request_sent_again(provider: MockProvider, stream: bool) -> None:
    """M6.2, M4.2: the next request only, with the Retry-After that was asked for."""
    provider.fail_next(429, "slow down", retry_after=2)
    client = chat_client("openai:mock", base_url=provider.url, api_key=KEY)
    waits = Waits(client)
    completion = await answered(client, ModelRequest((UserMessage("go"),)), stream=stream)
    assert completion.attempts == 2
    assert waits.seconds == [2.0]


@pytest.mark.parametrize(
    ("status", "fault"), [(400, "rejected"), (404, "not-found"), (429, "rate-limit"), (500, "server"), (503, "overloaded")]
)
async def test_each_status_is_the_fault_that_it_is_with_openai(provider: MockProvider, status: int, fault: str) -> None:
    """M4.2, M4.3."""
    for _ in range(3):
        provider.fail_next(status, "because the test says so")
    with pytest.raises(ProviderFailed, match="because the test says so") as raised:
        await client_of(provider).complete(ModelRequest((UserMessage("go"),)))
    assert (raised.value.fault, raised.value.status) == (fault, status)


async def test_another_key_is_refused_and_the_right_one_goes_on(provider: MockProvider) -> None:
    """M4.3: the thread is left for recover; the key is in no text of the server either (M1.5)."""
    agent = Agent("adder", client_of(provider, api_key="another-key"), tools=[add], runtime=InMemoryCheckpointer())
    with pytest.raises(ModelFailed, match="does not accept the key"):
        await agent.run("2 + 3?", thread_id="t")
    assert (await agent.with_(client=client_of(provider)).recover("t")).answer == "It is 5, says the tool."
    assert KEY not in repr(provider) + repr(provider.requests)


async def test_an_answer_longer_than_it_may_be_is_cut(provider: MockProvider) -> None:
    """M6.1, M4.3: as a real provider cuts it."""
    provider.answer = lambda request: "word " * 50
    with pytest.raises(ProviderFailed) as raised:
        await client_of(provider, max_tokens=10).complete(ModelRequest((UserMessage("go"),)))
    assert raised.value.fault == "max-tokens"


async def test_what_the_function_raises_or_gives_wrongly_is_told(provider: MockProvider) -> None:
    """M6.1: with its own words, as the provider's failure."""
    for answer, told in ((lambda request: 1 / 0, "ZeroDivisionError: division by zero"), (lambda request: 7, "a script step is a str")):
        provider.answer = answer
        with pytest.raises(ProviderFailed, match=told):
            await client_of(provider).complete(ModelRequest((UserMessage("go"),)))


def asked(provider: MockProvider, body: bytes, path: str = "/chat/completions") -> tuple[int, str]:
    """What a request of somebody's own gets: the status, and the error's message."""
    request = urllib.request.Request(provider.url + path, body, {"authorization": f"Bearer {KEY}"})
    with pytest.raises(urllib.error.HTTPError) as raised, urllib.request.urlopen(request, timeout=10):
        raise AssertionError("it was answered")
    with raised.value as told:
        return told.code, json.loads(told.read())["error"]["message"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"not json", "Input should be a valid dictionary"),
        (b"{}", "model: Field required"),
        (b"[" * 100_000, "Input should be a valid dictionary"),
        (b'{"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 0}', "max_tokens: Input should be greater"),
        (b'{"model": "m", "messages": []}', "messages: List should have at least 1 item"),
        (b'{"model": "m", "messages": [{"role": "robot", "content": "x"}]}', "messages.0.role"),
        (
            b'{"model": "m", "messages": [{"role": "assistant", "tool_calls": '
            b'[{"id": "c", "function": {"name": "f", "arguments": "{"}}]}]}',
            "arguments of a call are not JSON",
        ),
    ],
    ids=["no JSON", "nothing", "nested too deep", "no tokens", "no message", "a role that there is not", "arguments that are no JSON"],
)
def test_a_body_that_is_none_is_refused_by_name(provider: MockProvider, body: bytes, told: str) -> None:
    """M6.2: HTTP 400, and the server goes on serving."""
    status, message = asked(provider, body)
    assert status == 400
    assert told in message
    assert asked(provider, b"{}", "/models") == (404, "there is no /v1/models here, only /v1/chat/completions")


def test_texts_in_parts_and_a_developers_word_are_read_as_openai_reads_them(provider: MockProvider) -> None:
    """OpenAI API reference, "Create chat completion": content as an array of parts, the role `developer`."""
    heard: list[ModelRequest] = []
    provider.answer = lambda request: (heard.append(request), "yes")[1]
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    body = {"model": "m", "messages": [{"role": "developer", "content": parts}, {"role": "user", "content": "c"}]}
    request = urllib.request.Request(f"{provider.url}/chat/completions", json.dumps(body).encode(), {"authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        said = json.loads(reply.read())
    assert said["choices"][0]["message"]["content"] == "yes"
    assert heard[0].messages == (SystemMessage("ab"), UserMessage("c"))


def test_it_listens_on_this_machine_only_and_frees_its_port() -> None:
    """M6.1: nothing is served before `start` and after `stop`, which may be called twice; what is no HTTP does no harm."""
    provider = MockProvider(sums).start()
    host, port = provider.url.removeprefix("http://").removesuffix("/v1").split(":")
    assert host == "127.0.0.1"
    with socket.create_connection((host, int(port)), timeout=10) as stranger:
        stranger.sendall(b"\xff\xfe hello\r\n\r\n")
        assert stranger.recv(1) == b""
    provider.stop()
    provider.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=10)
    MockProvider(sums).stop()  # one that was never started has nothing to end


def stopped() -> MockProvider:
    """One that leaves no port open behind a refusal."""
    made = MockProvider(sums)
    made.stop()
    return made


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: MockProvider(sums, pause=-1),
        lambda: MockProvider(sums, pause=math.nan),
        lambda: MockProvider(sums, pause=math.inf),
        lambda: MockProvider(sums, pause=cast(Any, "0.1")),
        lambda: MockProvider(sums, key=""),
        lambda: MockProvider(sums, key="of two words"),
        lambda: MockProvider(sums, key=cast(Any, 5)),
        lambda: stopped().fail_next(200),
        lambda: stopped().fail_next(700),
        lambda: stopped().fail_next(cast(Any, "429")),
        lambda: stopped().fail_next(cast(Any, 429.5)),
        lambda: stopped().fail_next(429, retry_after=-1),
        lambda: stopped().fail_next(429, retry_after=cast(Any, "1\r\nx-other: 2")),
    ],
    ids=map(str, itertools.count()),
)
def test_what_it_cannot_play_is_refused(wrong: Any) -> None:
    with pytest.raises(ConfigError):
        wrong()


def test_it_is_started_once_and_says_so(provider: MockProvider) -> None:
    """M6.1: neither while it serves nor after it was stopped."""
    for _ in range(2):
        with pytest.raises(ConfigError, match="started once"):
            provider.start()
        provider.stop()


@pytest.mark.parametrize("raised", [SystemExit(3), KeyboardInterrupt(), RecursionError("deep"), ValueError("\ud800\r\n")], ids=repr)
async def test_whatever_the_function_raises_is_an_answer(provider: MockProvider, raised: BaseException) -> None:
    """M6.1: HTTP 500; no client is left without a word."""

    def answer(request: ModelRequest) -> str:
        raise raised

    provider.answer = answer
    with pytest.raises(ProviderFailed) as failed:
        await client_of(provider).complete(ModelRequest((UserMessage("go"),)))
    assert (failed.value.status, type(raised).__name__ in str(failed.value)) == (500, True)
