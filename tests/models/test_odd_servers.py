"""What servers with a provider's interface say in their own way: errors, reasons to end, answers not formed as they should be (M4)."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from llm4s_notebook.models import AssistantMessage, RetryPolicy, ToolCall
from llm4s_notebook.models._error_bodies import message_in, one_line
from llm4s_notebook.models._provider_faults import failure_of
from llm4s_notebook.testing._openai_chat import Answer, sse
from llm4s_notebook.testing._provider_server import ProviderServer, Reply, said, streamed

from .dialects import ANTHROPIC, GOOGLE, OPENAI, RESPONSES, Dialect
from .test_faults import GOOD, Waits, failure
from .test_providers import REQUEST, answered, client_of, each_provider, each_way

CALL = Answer(calls=(("c1", "deploy", "{}"),))

ERRORS: dict[str, tuple[Any, str | None]] = {
    "a provider's": ({"error": {"message": "no such model", "type": "x"}}, "no such model"),
    "Ollama's": ({"error": "model 'm' not found, try pulling it first"}, "model 'm' not found, try pulling it first"),
    "vLLM's": ({"object": "error", "message": "too long", "code": 400}, "too long"),
    "FastAPI's": ({"detail": "Not Found"}, "Not Found"),
    "FastAPI's of a field": ({"detail": [{"loc": ["body", "stop"], "msg": "field required"}]}, "field required"),
    "in a list": ([{"error": {"message": "first"}}, {"error": {"message": "second"}}], "first"),
    "a text": ("plain words", "plain words"),
    "a page": ("<html><style>h1 {}</style><title>502 Bad Gateway</title><h1>nginx &amp; co</h1></html>", "502 Bad Gateway nginx & co"),
    "nothing": (None, None),
    "an empty object": ({}, None),
    "blank": ({"error": {"message": " "}, "detail": ""}, None),
    "a number": ({"error": 5}, None),
}


@pytest.mark.parametrize("kind", ERRORS)
def test_the_sentence_of_an_error_is_found_in_every_form(kind: str) -> None:
    """M4.1."""
    body, sentence = ERRORS[kind]
    assert message_in(body) == sentence


@pytest.mark.parametrize("around", ["error", "a list"])
def test_an_error_nested_however_deep_is_looked_at_as_far_as_anybody_nests_one(around: str) -> None:
    """M4.1: a hostile body is no second error on top of the first."""
    body: Any = "down"
    for _ in range(5000):
        body = {"error": body} if around == "error" else [body]
    assert message_in(body) is None
    error: Any = RuntimeError("x")
    error.body, error.status_code = body, 500
    assert failure_of(error, "a-key-of-some-length").said == "it did not say why"


@pytest.mark.parametrize("page", ["<style ", "<script>", "<", "exceeds ", " ", "word "])
def test_of_a_long_body_the_beginning_is_looked_at(page: str) -> None:
    """M4.1: what a page takes to be read does not grow with the square of its length."""
    error: Any = RuntimeError("x")
    error.body, error.status_code = page * (5_000_000 // len(page)), 400
    assert len(failure_of(error, "a-key-of-some-length").said) <= 302


def test_a_time_out_of_the_system_that_says_nothing_hides_no_sentence() -> None:
    """M4.1: under the SDK's error lies the system's, which is told where it says more."""
    for first, told in ((TimeoutError(), "RuntimeError: Request timed out."), (ConnectionRefusedError(111, "Refused"), "Refused")):
        error = RuntimeError("Request timed out.")
        error.__cause__ = first
        assert told in failure_of(error, "a-key-of-some-length").said


def test_what_would_steer_a_terminal_is_taken_out() -> None:
    """M4.1: an error is printed in a terminal too; other scripts and pictures stay."""
    assert one_line("bad\x1b[31m\u202eevil\r\nline", 300) == "bad [31m evil line"
    assert one_line("שלום 👩\u200d🚀", 300) == "שלום 👩\u200d🚀"
    assert one_line("x" * 301, 300) == "x" * 300 + " …"


@pytest.mark.parametrize("kind", ["Ollama's", "FastAPI's", "nothing"])
@each_way
@each_provider
async def test_the_sentence_is_told_without_the_librarys_frame(dialect: Dialect, server: ProviderServer, stream: bool, kind: str) -> None:
    """M4.1: status and sentence, not how a library prints its error."""
    body, sentence = ERRORS[kind]
    error = await failure(client_of(dialect, server.script(said(body, 404))), stream=stream)
    assert (error.fault, error.what) == (
        "not-found",
        f"the provider does not know this model or address (HTTP 404): {sentence or 'it did not say why'}",
    )


@each_way
@each_provider
async def test_a_context_that_is_exceeded_is_known_in_llama_cpps_words(dialect: Dialect, server: ProviderServer, stream: bool) -> None:
    """M4.3: the next step is another than for a request that is wrong."""
    words = "the request exceeds the available context size. try increasing the context size or enable context shift"
    reply = said({"error": {"code": 400, "message": words, "type": "exceed_context_size_error"}}, 400)
    error = await failure(client_of(dialect, server.script(reply)), stream=stream)
    assert (error.fault, "larger window" in error.next_step) == ("context-window", True)


# -- reasons to end --------------------------------------------------------------------------------------------------


def rewritten(reply: Reply, old: str, new: object) -> Reply:
    """The reply with one value replaced; what the replaced one was shows that it was there."""
    found = [piece for piece in reply.pieces if json.dumps(old).encode() in piece]
    assert found
    return replace(reply, pieces=[piece.replace(json.dumps(old).encode(), json.dumps(new).encode()) for piece in reply.pieces])


@pytest.mark.parametrize(
    ("dialect", "old", "reason", "fault"),
    [
        (OPENAI, "stop", "error", "bad-answer"),
        (OPENAI, "stop", "abort", "bad-answer"),
        (ANTHROPIC, "end_turn", "model_context_window_exceeded", "context-window"),
        (GOOGLE, "STOP", "MALFORMED_FUNCTION_CALL", "bad-answer"),
    ],
)
@each_way
async def test_an_answer_that_says_it_is_not_whole_is_none(
    dialect: Dialect, server: ProviderServer, stream: bool, old: str, reason: str, fault: str
) -> None:
    """M4.3, M4.4: each of them came with a text that could be taken for an answer."""
    client = client_of(dialect, server.script(rewritten(dialect.reply(GOOD, stream=stream), old, reason)), retry=RetryPolicy(attempts=1))
    assert (await failure(client, stream=stream)).fault == fault


@pytest.mark.parametrize(("dialect", "old"), [(OPENAI, "stop"), (ANTHROPIC, "end_turn"), (GOOGLE, "STOP")])
@each_way
async def test_a_reason_that_nobody_knows_yet_ends_an_answer(dialect: Dialect, server: ProviderServer, stream: bool, old: str) -> None:
    """M2.3: a new word of a provider is no fault."""
    client = client_of(dialect, server.script(rewritten(dialect.reply(GOOD, stream=stream), old, "brand_new")))
    assert (await answered(client, REQUEST, stream=stream)).message == AssistantMessage("All good")
    await client.aclose()


# -- answers that are not formed as they should be -------------------------------------------------------------------


def _no_choices(body: Any) -> None:
    body["choices"] = []


def _no_output(body: Any) -> None:
    body["output"] = None


def _no_content(body: Any) -> None:
    body["content"] = None


def _a_part_of_text(body: Any) -> None:
    body["candidates"][0]["content"]["parts"] = [{}]


@pytest.mark.parametrize(
    ("dialect", "spoil"),
    [(OPENAI, _no_choices), (RESPONSES, _no_output), (ANTHROPIC, _no_content), (GOOGLE, _a_part_of_text)],
    ids=["openai", "openai-responses", "anthropic", "google"],
)
async def test_an_answer_that_lacks_what_it_must_have_is_asked_for_again(
    dialect: Dialect, server: ProviderServer, spoil: Callable[[Any], None]
) -> None:
    """M4.2, M4.4: an SDK that does not look, and a library that stumbles, are no reason to give up at once."""
    body = dialect.body(GOOD)
    spoil(body)
    client = client_of(dialect, server.script(said(body), dialect.reply(GOOD, stream=False)))
    Waits(client)
    assert (await client.complete(REQUEST)).attempts == 2
    server.script(*(said(body) for _ in range(3)))
    error = await failure(client, stream=False)
    assert (error.fault, error.recoverable) == ("bad-answer", True)


@pytest.mark.parametrize("name", [None, 5, [], ""], ids=repr)
@pytest.mark.parametrize("dialect", [RESPONSES, ANTHROPIC], ids=lambda dialect: dialect.name)
async def test_a_call_whose_tool_is_no_name_is_not_stored(dialect: Dialect, server: ProviderServer, name: object) -> None:
    """M4.4: these SDKs pass on whatever stands there."""
    reply = rewritten(dialect.reply(CALL, stream=False), "deploy", name)
    error = await failure(client_of(dialect, server.script(reply), retry=RetryPolicy(attempts=1)), stream=False)
    assert error.fault == "bad-answer"


# -- reasoning in the text -------------------------------------------------------------------------------------------

REASONED = "<think>\nA < B, so </thin… no.\n</think>\n\nB is more, by <think>ing</think>."
CUTS = {
    "whole": [REASONED],
    "letter by letter": list(REASONED),
    "tags alone": ["<think>", "\nA < B, so </thin… no.\n", "</think>", "\n\n", "B is more, by <think>ing</think>."],
    "tags with their neighbours": ["<think>\nA", " < B, so </thin… no.\n</think>\n\nB", " is more, by <think>ing</think>."],
    "tags in halves": ["<thi", "nk>\nA < B, so </thin", "… no.\n</th", "ink>\n", "\nB is more, by <th", "ink>ing</think>."],
}


async def heard(server: ProviderServer, pieces: list[str], stream: bool) -> tuple[AssistantMessage, str, str]:
    """The message, and the text and the reasoning that were streamed."""
    client = client_of(OPENAI, server.script(OPENAI.reply(Answer(tuple(pieces)), stream=stream)))
    text, thinking, message = "", "", None
    if stream:
        async for delta in client.stream(REQUEST):
            text, thinking = text + delta.text, thinking + delta.thinking
            message = delta.completion.message if delta.completion else message
    else:
        message = (await client.complete(REQUEST)).message
    await client.aclose()
    assert message is not None
    return message, text, thinking


@pytest.mark.parametrize("cut", CUTS)
async def test_reasoning_in_the_text_is_streamed_as_such_and_not_stored(server: ProviderServer, cut: str) -> None:
    """M2.3, M3.2: however the server cuts its pieces, live and stored and not streamed at all are the same."""
    answer = "B is more, by <think>ing</think>."
    message, text, thinking = await heard(server, CUTS[cut], stream=True)
    assert (message, text, thinking) == (AssistantMessage(answer), answer, "\nA < B, so </thin… no.\n")
    assert (await heard(server, CUTS[cut], stream=False))[0] == message


@pytest.mark.parametrize("text", ["a <think>b</think> c", "<think>never ends", "<thinking>no tag", "<th", "  spaced <think>", "x<"])
@pytest.mark.parametrize("letters", [True, False], ids=["letters", "whole"])
async def test_a_text_that_only_looks_like_it_stays(server: ProviderServer, text: str, letters: bool) -> None:
    """M2.3: only a block that the answer begins with, and that ends, is reasoning."""
    message, live, thinking = await heard(server, list(text) if letters else [text], stream=True)
    assert (message.content, (await heard(server, [text], stream=False))[0].content) == (text, text)
    assert live + thinking == text or (live, thinking) == ("", "never ends")


@each_way
async def test_reasoning_before_a_call_leaves_no_text(server: ProviderServer, stream: bool) -> None:
    """M2.3."""
    said_so = replace(CALL, text=("<think>now</think>\n",))
    client = client_of(OPENAI, server.script(OPENAI.reply(said_so, stream=stream)))
    assert (await answered(client, REQUEST, stream=stream)).message == AssistantMessage(None, (ToolCall("c1", "deploy", {}),))
    await client.aclose()


async def test_letters_of_several_bytes_are_whole_wherever_the_network_cuts_them(server: ProviderServer) -> None:
    """M3.2: a chunk of HTTP ends within a letter, and within the arguments of a call."""
    answer = Answer(("žluťoučký ", "👩\u200d🚀"), (("c1", "deploy", json.dumps({"version": "é👍" * 3}, ensure_ascii=False)),))
    events = [json.loads(event.decode().removeprefix("data: ")) for event in OPENAI.events(answer)[:-1]]
    raw = b"".join(f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode() for event in events) + sse("[DONE]")
    client = client_of(OPENAI, server.script(streamed([raw[at : at + 1] for at in range(len(raw))])))
    message = (await answered(client, REQUEST, stream=True)).message
    await client.aclose()
    assert message == AssistantMessage("žluťoučký 👩\u200d🚀", (ToolCall("c1", "deploy", {"version": "é👍" * 3}),))
