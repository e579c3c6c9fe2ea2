"""What providers do wrong, over HTTP with their own SDKs: sent again by the policy, or told so that a person knows what to do (M4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from llm4s_notebook.errors import ProviderFailed
from llm4s_notebook.models import AssistantMessage, Completion, Delta, ProviderClient, RetryPolicy, ToolCall, Usage
from llm4s_notebook.testing._openai_chat import Answer
from llm4s_notebook.testing._provider_server import SILENCE, ProviderServer, Reply, streamed

from ..review.writing import until
from .dialects import ANTHROPIC, DIALECTS, GOOGLE, OPENAI, RESPONSES, Dialect
from .test_providers import REQUEST, answered, client_of, each_provider, each_way

GOOD = Answer(("All ", "good"))
RIGHT = Completion(AssistantMessage("All good"), Usage(17, 5), "model-2026-01-01")

CAUSED: dict[str, dict[str, tuple[int, str, str]]] = {
    "rate-limit": {
        "openai": (429, "rate_limit_exceeded", "Rate limit reached for gpt-4o in organization org-abc on requests per min."),
        "anthropic": (429, "rate_limit_error", "This request would exceed your account's rate limit. Please try again later."),
        "google": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    },
    "overloaded": {
        "openai": (503, "service_unavailable", "The engine is currently overloaded, please try again later"),
        "anthropic": (529, "overloaded_error", "Overloaded"),
        "google": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    },
    "server": {
        "openai": (500, "server_error", "The server had an error while processing your request"),
        "anthropic": (500, "api_error", "Internal server error"),
        "google": (500, "INTERNAL", "An internal error has occurred."),
    },
    "context-window": {
        "openai": (400, "context_length_exceeded", "This model's maximum context length is 8192 tokens. However, you requested 9000."),
        "anthropic": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        "google": (400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    },
    "authentication": {
        "openai": (401, "invalid_api_key", "Incorrect API key provided."),
        "anthropic": (401, "authentication_error", "invalid x-api-key"),
        "google": (403, "PERMISSION_DENIED", "Your API key doesn't have the required permissions."),
    },
    "not-found": {
        "openai": (404, "model_not_found", "The model `some-model` does not exist or you do not have access to it."),
        "anthropic": (404, "not_found_error", "model: some-model"),
        "google": (404, "NOT_FOUND", "models/some-model is not found for API version v1beta."),
    },
    "rejected": {
        "openai": (400, "invalid_value", "Invalid value: 'temperature'."),
        "anthropic": (400, "invalid_request_error", "messages: at least one message is required"),
        "google": (400, "INVALID_ARGUMENT", "Invalid value at 'generation_config.top_p'."),
    },
}
PASSING = ("rate-limit", "overloaded", "server")
LASTING = ("context-window", "authentication", "not-found", "rejected")
"""Sent once: the same request would fail the same way."""


def failing(dialect: Dialect, fault: str, **headers: str) -> Reply:
    """The provider's own error of this kind; what its documentation of errors shows."""
    status, kind, message = CAUSED[fault]["openai" if dialect is RESPONSES else dialect.name]
    return dialect.fails(status, kind, message, **headers)


class Waits:
    """Stands for the clock: notes how long the client would have waited."""

    def __init__(self, client: ProviderClient, chance: float = 0.0) -> None:
        self.seconds: list[float] = []
        client._sleep = self._sleep  # pyright: ignore[reportPrivateUsage]  # the seam for tests
        client._chance = lambda: chance  # pyright: ignore[reportPrivateUsage]

    async def _sleep(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def failure(client: ProviderClient, *, stream: bool) -> ProviderFailed:
    with pytest.raises(ProviderFailed) as raised:
        await answered(client, REQUEST, stream=stream)
    await client.aclose()
    assert (raised.value.__cause__, raised.value.__context__) == (None, None)  # an SDK's error may quote what must not be shown
    return raised.value


@pytest.mark.parametrize("fault", PASSING)
@each_way
@each_provider
async def test_a_passing_error_is_waited_out(dialect: Dialect, server: ProviderServer, stream: bool, fault: str) -> None:
    """M4.2: two failures, then the answer, asked for the same way; the waits double."""
    server.script(failing(dialect, fault), failing(dialect, fault), dialect.reply(GOOD, stream=stream))
    client = client_of(dialect, server)
    waits = Waits(client)
    assert await answered(client, REQUEST, stream=stream) == replace(RIGHT, attempts=3)
    await client.aclose()
    assert waits.seconds == [1.0, 2.0]
    assert [request.body for request in server.requests] == [server.requests[0].body] * 3


@pytest.mark.parametrize("fault", PASSING)
@each_provider
async def test_an_error_that_does_not_pass_is_given_up(dialect: Dialect, server: ProviderServer, fault: str) -> None:
    """M4.1, M4.2: after the attempts of the policy, no wait behind the last."""
    server.script(*(failing(dialect, fault) for _ in range(4)))
    client = client_of(dialect, server, retry=RetryPolicy(attempts=4, first_wait=2, longest_wait=5))
    waits = Waits(client)
    error = await failure(client, stream=False)
    status, _, message = CAUSED[fault]["openai" if dialect is RESPONSES else dialect.name]
    assert (error.fault, error.status, error.attempts, error.recoverable) == (fault, status, 4, True)
    assert message in error.what
    assert "asked 4 times" in error.what
    assert "recover(thread_id)" in error.next_step
    assert (waits.seconds, len(server.requests)) == ([2.0, 4.0, 5.0], 4)


@pytest.mark.parametrize("fault", LASTING)
@each_way
@each_provider
async def test_a_lasting_error_is_told_at_once(dialect: Dialect, server: ProviderServer, stream: bool, fault: str) -> None:
    """M4.3: sent once, and the next step is the one that helps."""
    client = client_of(dialect, server.script(failing(dialect, fault)))
    waits = Waits(client)
    error = await failure(client, stream=stream)
    assert (error.fault, error.attempts, error.recoverable, waits.seconds) == (fault, 1, False, [])
    helps = {"context-window": "larger window", "authentication": "valid key", "not-found": "model's name", "rejected": "what it names"}
    assert helps[fault] in error.next_step
    assert CAUSED[fault]["openai" if dialect is RESPONSES else dialect.name][2] in error.what
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("dialect", "status", "kind", "message"),
    [
        (OPENAI, 429, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details."),
        (ANTHROPIC, 400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        (ANTHROPIC, 402, "billing_error", "There's an issue with your billing or payment information."),
    ],
)
async def test_an_empty_account_is_not_waited_for(dialect: Dialect, server: ProviderServer, status: int, kind: str, message: str) -> None:
    """M4.3: it looks like a rate limit and is none."""
    error = await failure(client_of(dialect, server.script(dialect.fails(status, kind, message))), stream=False)
    assert (error.fault, len(server.requests)) == ("quota", 1)
    assert "top up" in error.next_step


@pytest.mark.parametrize(
    ("header", "waited"), [("7", 7.0), ("0", 1.0), ("60", 60.0), ("2.5", 2.5), ("soon", 1.0), ("-5", 1.0), ("nan", 1.0), ("inf", 1.0)]
)
@each_provider
async def test_a_provider_says_when_to_come_back(dialect: Dialect, server: ProviderServer, header: str, waited: float) -> None:
    """M4.2: never sooner than Retry-After; a shorter one, or nonsense, leaves the policy's own wait."""
    server.script(failing(dialect, "rate-limit", retry_after=header), dialect.reply(GOOD, stream=False))
    client = client_of(dialect, server)
    waits = Waits(client)
    assert await client.complete(REQUEST) == replace(RIGHT, attempts=2)
    await client.aclose()
    assert waits.seconds == [waited]


@each_provider
async def test_a_long_wait_is_left_to_the_person(dialect: Dialect, server: ProviderServer) -> None:
    """M4.2: a Retry-After above the cap is told and not waited for."""
    client = client_of(dialect, server.script(failing(dialect, "rate-limit", retry_after="3600")))
    waits = Waits(client)
    error = await failure(client, stream=True)
    assert (error.fault, error.retry_after, error.attempts, waits.seconds) == ("rate-limit", 3600.0, 1, [])
    assert error.next_step.startswith("the provider asks to wait 3600 s")


def test_the_wait_is_shortened_by_chance_and_never_below_the_header() -> None:
    """M4.2: backoff and jitter, to the second."""
    policy = RetryPolicy(attempts=9, first_wait=1, longest_wait=30, jitter=0.5, longest_retry_after=60)
    assert [policy.wait_before(attempt, None, lambda: 0.0) for attempt in range(2, 11)] == [1, 2, 4, 8, 16, 30, 30, 30, None]
    assert [policy.wait_before(attempt, None, lambda: 1.0) for attempt in (2, 3, 7)] == [0.5, 1, 15]
    assert [policy.wait_before(2, header, lambda: 1.0) for header in (0.0, 0.4, 9.0, 60.0, 60.5)] == [0.5, 0.5, 9.0, 60.0, None]


BREAKS: dict[str, Any] = {
    "cut": lambda dialect: streamed(dialect.events(GOOD), "cut", first=-2),
    "reset": lambda dialect: streamed(dialect.events(GOOD), "reset", first=-2),
    "ends early": lambda dialect: streamed(dialect.events(GOOD)[: -dialect.closing]),
    "no events": lambda dialect: streamed([]),
    "broken event": lambda dialect: streamed([*dialect.events(GOOD)[: -dialect.closing], b'data: {"cut\n\n']),
}


@pytest.mark.parametrize("broken", BREAKS)
@each_provider
async def test_a_stream_that_breaks_begins_again(dialect: Dialect, server: ProviderServer, broken: str) -> None:
    """M3.3, M4.2: what came of it is void, and the answer that counts is whole."""
    client = client_of(dialect, server.script(BREAKS[broken](dialect), dialect.reply(GOOD, stream=True)))
    Waits(client)
    deltas = [delta async for delta in client.stream(REQUEST)]
    await client.aclose()
    again = [at for at, delta in enumerate(deltas) if delta.again]
    assert len(again) == 1
    assert [delta.text for delta in deltas[again[0] + 1 :]] == ["All ", "good", ""]
    assert deltas[again[0]] == Delta(again=True)
    assert deltas[-1].completion == replace(RIGHT, attempts=2)
    assert len(server.requests) == 2


@pytest.mark.parametrize("reply", [replace(SILENCE, status=200), SILENCE], ids=["after the head", "from the start"])
@each_way
@each_provider
async def test_a_silent_server_is_not_waited_for_endlessly(dialect: Dialect, server: ProviderServer, stream: bool, reply: Reply) -> None:
    """M4.2: `timeout` seconds without a byte, the last time told as such."""
    client = client_of(dialect, server.script(reply, reply), timeout=0.3, retry=RetryPolicy(attempts=2))
    Waits(client)
    error = await failure(client, stream=stream)
    assert (error.fault, error.attempts, error.recoverable) == ("timeout", 2, True)
    await until(lambda: len(server.requests) == 2)  # it reads in threads of its own
    assert "timeout=" in error.next_step


@each_provider
async def test_a_stream_that_stalls_begins_again(dialect: Dialect, server: ProviderServer) -> None:
    """M4.2: silence in the middle counts like silence at the start."""
    stalling = streamed(dialect.events(GOOD), "hold", first=2)
    client = client_of(dialect, server.script(stalling, dialect.reply(GOOD, stream=True)), timeout=1.5)
    Waits(client)
    assert await answered(client, REQUEST, stream=True) == replace(RIGHT, attempts=2)
    await client.aclose()


@pytest.mark.parametrize("ending", ["cut", "reset"])
@each_provider
async def test_a_body_that_breaks_off_is_asked_for_again(dialect: Dialect, server: ProviderServer, ending: Any) -> None:
    """M4.2."""
    body = dialect.reply(GOOD, stream=False).pieces[0]
    client = client_of(dialect, server.script(Reply((body[:40],), ending=ending), dialect.reply(GOOD, stream=False)))
    Waits(client)
    assert await client.complete(REQUEST) == replace(RIGHT, attempts=2)
    await client.aclose()


async def test_nobody_listens(server: ProviderServer) -> None:
    """M4.2: a refused connection, such as a local server that was not started."""
    for dialect in DIALECTS:
        client = client_of(dialect, server, base_url="http://127.0.0.1:9", retry=RetryPolicy(attempts=2))
        Waits(client)
        error = await failure(client, stream=False)
        assert (dialect.name, error.fault, error.attempts) == (dialect.name, "connection", 2)
        assert "base_url" in error.next_step
        assert "Connect call failed ('127.0.0.1', 9)" in error.what  # what the system says; the SDKs say "Connection error."


MALFORMED = Answer(calls=(("c1", "deploy", '{"version": "1.4'),))
UNFIT = {
    "arguments that are not JSON": (MALFORMED, "its call to 'deploy' are not JSON"),
    "an empty answer": (Answer(), "blank"),
    "a blank answer": (Answer((" ", "\n")), "blank"),
    "one id twice": (Answer(calls=(("c1", "deploy", "{}"), ("c1", "deploy", "{}"))), "'c1' is used more than once"),
}


@pytest.mark.parametrize("unfit", UNFIT)
@each_way
@each_provider
async def test_an_answer_that_cannot_be_stored_is_asked_for_again(
    dialect: Dialect, server: ProviderServer, stream: bool, unfit: str
) -> None:
    """M4.4, 1.3.5: and told when it comes again."""
    bad, says = UNFIT[unfit]
    if bad is MALFORMED and (dialect is GOOGLE or (dialect is ANTHROPIC and not stream)):
        bad, says = UNFIT["one id twice"]  # their arguments come as JSON, so they cannot be malformed
    client = client_of(dialect, server.script(dialect.reply(bad, stream=stream), dialect.reply(GOOD, stream=stream)))
    Waits(client)
    assert await answered(client, REQUEST, stream=stream) == replace(RIGHT, attempts=2)
    server.script(*(dialect.reply(bad, stream=stream) for _ in range(3)))
    error = await failure(client, stream=stream)
    assert (error.fault, error.attempts, error.recoverable) == ("bad-answer", 3, True)
    assert says in error.what


@pytest.mark.parametrize(
    ("finish", "fault", "helps"), [("filter", "content-filter", "change the prompt"), ("length", "max-tokens", "larger")]
)
@each_way
@each_provider
async def test_half_an_answer_is_none(dialect: Dialect, server: ProviderServer, stream: bool, finish: Any, fault: str, helps: str) -> None:
    """M4.3: what a filter withheld or a limit cut is not stored as if it were whole; asking again would end the same way."""
    half = Answer(("Half an",), finish=finish)
    error = await failure(client_of(dialect, server.script(dialect.reply(half, stream=stream))), stream=stream)
    assert (error.fault, error.attempts, len(server.requests)) == (fault, 1, 1)
    assert helps in error.next_step


@each_way
@each_provider
async def test_a_call_of_a_tool_that_was_not_offered_is_passed_on(dialect: Dialect, server: ProviderServer, stream: bool) -> None:
    """M4.4, 3.2.1: the agent tells the model."""
    client = client_of(dialect, server.script(dialect.reply(Answer(calls=(("c1", "nope", '{"a": 1}'),)), stream=stream)))
    made = await answered(client, REQUEST, stream=stream)
    await client.aclose()
    assert made.message == AssistantMessage(None, (ToolCall("c1", "nope", {"a": 1}),))
    assert len(server.requests) == 1
