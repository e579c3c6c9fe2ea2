"""What goes to a provider and what comes back, over HTTP on loopback with the providers' own SDKs (M2, M3)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from llm4s_notebook.errors import ConfigError
from llm4s_notebook.models import (
    AssistantMessage,
    Completion,
    Delta,
    Message,
    ModelRequest,
    ProviderClient,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    Usage,
    UserMessage,
    chat_client,
    thaw,
)
from llm4s_notebook.testing._openai_chat import Answer
from llm4s_notebook.testing._provider_server import ProviderServer, said, streamed

from .dialects import ANTHROPIC, DIALECTS, GOOGLE, OPENAI, RESPONSES, Dialect, chat_body, chat_events

each_provider = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
each_way = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])

SCHEMA = {
    "type": "object",
    "properties": {
        "version": {"type": "string", "minLength": 1, "pattern": "^\\d", "description": "Like 1.4.0"},
        "wait": {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "null"}], "default": None},
    },
    "required": ["version"],
    "additionalProperties": False,
}
DEPLOY = ToolSpec("deploy", "Deploy a version.", SCHEMA)
TURN: tuple[Message, ...] = (
    SystemMessage("Be brief.\n"),
    UserMessage("Release <1.4.0> & “2.0”  "),
    AssistantMessage("Two steps:", (ToolCall("c1", "deploy", {"version": "1.4.0"}), ToolCall("c2", "deploy", {"version": "2", "wait": 3}))),
    ToolMessage("1.4.0 is live", "c1"),
    ToolMessage('{"error":"no such version"}', "c2", True, "errored"),
    AssistantMessage("Half done."),
    UserMessage("Try again"),
)
REQUEST = ModelRequest(TURN, (DEPLOY,))
BOTH = Answer(("Now ", "2.1"), (("c3", "deploy", '{"version": "2.1", "wait": 1}'), ("c4", "deploy", '{"version": "é👍"}')))
WANTED = AssistantMessage(
    "Now 2.1", (ToolCall("c3", "deploy", {"version": "2.1", "wait": 1}), ToolCall("c4", "deploy", {"version": "é👍"}))
)


def client_of(dialect: Dialect, server: ProviderServer, **options: Any) -> ProviderClient:
    return chat_client(f"{dialect.name}:some-model", **{**dialect.options(server), **options})


async def answered(client: ProviderClient, request: ModelRequest, *, stream: bool) -> Completion:
    if not stream:
        return await client.complete(request)
    return [delta async for delta in client.stream(request)][-1].completion or pytest.fail("no completion came last")


async def exchanged(dialect: Dialect, server: ProviderServer, request: ModelRequest, answer: Answer, *, stream: bool, **options: Any):
    """The completion, and the body that the server was sent."""
    client = client_of(dialect, server.script(dialect.reply(answer, stream=stream)), **options)
    completion = await answered(client, request, stream=stream)
    await client.aclose()
    [sent] = server.requests
    return completion, sent.body


@each_way
@each_provider
async def test_an_answer_comes_as_it_was_said(dialect: Dialect, server: ProviderServer, stream: bool) -> None:
    """M2.3, M3.2: text, calls with their ids, tokens and the model's own name; the same streamed or whole."""
    completion, _ = await exchanged(dialect, server, REQUEST, BOTH, stream=stream)
    assert completion == Completion(WANTED, Usage(17, 5), "model-2026-01-01")


@each_way
@each_provider
async def test_a_plain_text_has_no_calls_and_calls_need_no_text(dialect: Dialect, server: ProviderServer, stream: bool) -> None:
    """M2.3."""
    client = client_of(dialect, server)
    server.script(dialect.reply(Answer(("a\n", "  b")), stream=stream))
    assert (await answered(client, REQUEST, stream=stream)).message == AssistantMessage("a\n  b")
    server.script(dialect.reply(Answer(calls=(("c9", "now", "{}"),)), stream=stream))
    assert (await answered(client, REQUEST, stream=stream)).message == AssistantMessage(None, (ToolCall("c9", "now", {}),))
    await client.aclose()


@each_way
async def test_an_openai_request_holds_the_conversation_word_for_word(server: ProviderServer, stream: bool) -> None:
    """M2.1, M2.2."""
    _, sent = await exchanged(OPENAI, server, REQUEST, BOTH, stream=stream)
    calls = [
        {"id": "c1", "type": "function", "function": {"name": "deploy", "arguments": '{"version":"1.4.0"}'}},
        {"id": "c2", "type": "function", "function": {"name": "deploy", "arguments": '{"version":"2","wait":3}'}},
    ]
    assert sent["messages"] == [
        {"role": "system", "content": "Be brief.\n"},
        {"role": "user", "content": "Release <1.4.0> & “2.0”  "},
        {"role": "assistant", "content": "Two steps:", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "1.4.0 is live"},
        {"role": "tool", "tool_call_id": "c2", "content": '{"error":"no such version"}'},
        {"role": "assistant", "content": "Half done."},
        {"role": "user", "content": "Try again"},
    ]
    assert sent["tools"] == [{"type": "function", "function": {"name": "deploy", "description": "Deploy a version.", "parameters": SCHEMA}}]
    assert (sent["model"], bool(sent["stream"])) == ("some-model", stream)


async def test_an_openai_responses_request_holds_the_conversation_word_for_word(server: ProviderServer) -> None:
    """M2.1, M2.2."""
    _, sent = await exchanged(RESPONSES, server, REQUEST, BOTH, stream=False)
    assert sent["input"][:3] == [
        {"role": "system", "content": "Be brief.\n"},
        {"role": "user", "content": "Release <1.4.0> & “2.0”  "},
        {"role": "assistant", "content": "Two steps:"},
    ]
    assert [(item["call_id"], json.loads(item["arguments"])) for item in sent["input"] if item.get("type") == "function_call"] == [
        ("c1", {"version": "1.4.0"}),
        ("c2", {"version": "2", "wait": 3}),
    ]
    assert [(item["call_id"], item["output"]) for item in sent["input"] if item.get("type") == "function_call_output"] == [
        ("c1", "1.4.0 is live"),
        ("c2", '{"error":"no such version"}'),
    ]
    assert sent["tools"] == [
        {"type": "function", "name": "deploy", "description": "Deploy a version.", "parameters": SCHEMA, "strict": False}
    ]


async def test_an_anthropic_request_holds_the_conversation_word_for_word(server: ProviderServer) -> None:
    """M2.1, M2.2: all results in one user message, errors marked."""
    _, sent = await exchanged(ANTHROPIC, server, REQUEST, BOTH, stream=False)
    assert sent["system"] == "Be brief.\n"
    assert [message["role"] for message in sent["messages"]] == ["user", "assistant", "user", "assistant", "user"]
    first, calling, results, *_ = (message["content"] for message in sent["messages"])
    assert first == [{"type": "text", "text": "Release <1.4.0> & “2.0”  "}]
    assert [(one["id"], one["input"]) for one in calling[1:]] == [("c1", {"version": "1.4.0"}), ("c2", {"version": "2", "wait": 3})]
    assert [(one["tool_use_id"], one["content"][0]["text"], one["is_error"]) for one in results] == [
        ("c1", "1.4.0 is live", False),
        ("c2", '{"error":"no such version"}', True),
    ]
    assert sent["tools"] == [{"name": "deploy", "description": "Deploy a version.", "input_schema": SCHEMA}]


async def test_a_google_request_holds_the_conversation_word_for_word(server: ProviderServer) -> None:
    """M2.1, M2.2."""
    _, sent = await exchanged(GOOGLE, server, REQUEST, BOTH, stream=False)
    assert sent["systemInstruction"]["parts"] == [{"text": "Be brief.\n"}]
    assert [one["role"] for one in sent["contents"]] == ["user", "model", "user", "model", "user"]
    results = [part["functionResponse"] for part in sent["contents"][2]["parts"]]
    assert [(one["id"], one["name"], one["response"]) for one in results] == [
        ("c1", "deploy", {"return_value": "1.4.0 is live"}),
        ("c2", "deploy", {"error": '{"error":"no such version"}'}),
    ]
    [declared] = sent["tools"][0]["functionDeclarations"]
    assert (declared["name"], declared["description"], declared["parameters_json_schema"]) == ("deploy", "Deploy a version.", SCHEMA)


@each_provider
async def test_a_stream_brings_text_and_calls_piece_by_piece(dialect: Dialect, server: ProviderServer) -> None:
    """M3.1: the pieces make up the answer; exactly the last one carries it."""
    client = client_of(dialect, server.script(dialect.reply(BOTH, stream=True)))
    deltas = [delta async for delta in client.stream(REQUEST)]
    await client.aclose()
    assert [delta.text for delta in deltas if delta.text] == ["Now ", "2.1"]
    written: dict[int, tuple[str, str, str]] = {}
    for delta in deltas:
        if (piece := delta.tool_call) is not None:
            assert delta == Delta(tool_call=piece)
            written[piece.index] = (piece.id, piece.name, written.get(piece.index, ("", "", ""))[2] + piece.arguments)
    assert [(id, name, json.loads(text)) for id, name, text in written.values()] == [
        (call.id, call.name, call.arguments) for call in WANTED.tool_calls
    ]
    assert [delta.completion is not None for delta in deltas] == [False] * (len(deltas) - 1) + [True]


SPELLED = {
    "openai": {"temperature": "temperature", "max_tokens": "max_completion_tokens", "top_p": "top_p", "stop": "stop", "seed": "seed"},
    "openai-responses": {"temperature": "temperature", "max_tokens": "max_output_tokens", "top_p": "top_p"},
    "anthropic": {"temperature": "temperature", "max_tokens": "max_tokens", "top_p": "top_p", "stop": "stop_sequences"},
    "google": {"temperature": "temperature", "max_tokens": "maxOutputTokens", "top_p": "topP", "stop": "stopSequences", "seed": "seed"},
}
GIVEN = {"temperature": 0.5, "max_tokens": 77, "top_p": 0.25, "stop": ["END"], "seed": 7}


@pytest.mark.parametrize("option", GIVEN)
@each_provider
async def test_an_option_reaches_the_provider_or_is_refused(dialect: Dialect, server: ProviderServer, option: str) -> None:
    """M1.4: none is dropped in silence."""
    given = {option: GIVEN[option]}
    if option not in SPELLED[dialect.name]:
        with pytest.raises(ConfigError, match=f"{option}: '{dialect.name}' has no such option"):
            client_of(dialect, server, **given)
        return
    _, sent = await exchanged(dialect, server, REQUEST, BOTH, stream=False, **given)
    assert sent.get("generationConfig", sent)[SPELLED[dialect.name][option]] == GIVEN[option]


@each_provider
async def test_arguments_of_any_json_are_sent_back(dialect: Dialect, server: ProviderServer) -> None:
    """M2.1: a model may have called with something that is no object; the conversation goes on with it."""
    odd = tuple(ToolCall(f"c{at}", "deploy", value) for at, value in enumerate((None, [1, "x"], "text", 2.5, {})))
    results = tuple(ToolMessage("bad", call.id, True, "errored") for call in odd)
    completion, _ = await exchanged(
        dialect, server, ModelRequest((UserMessage("go"), AssistantMessage(None, odd), *results), (DEPLOY,)), BOTH, stream=False
    )
    assert completion.message == WANTED


@each_provider
async def test_what_one_model_made_up_does_not_shut_out_the_next(dialect: Dialect, server: ProviderServer) -> None:
    """M2.1: a tool's name that no provider takes, and white space before a call; stored as it came, sent as it is taken."""
    made_up = AssistantMessage(
        "\n\n", (ToolCall("c1", "functions.deploy it", {}), ToolCall("c2", "x" * 70, {}), ToolCall("c3", "ok-1_A", {}))
    )
    results = tuple(ToolMessage("unknown tool", call.id, True, "errored") for call in made_up.tool_calls)
    _, sent = await exchanged(dialect, server, ModelRequest((UserMessage("go"), made_up, *results), (DEPLOY,)), BOTH, stream=False)
    told = json.dumps(sent)
    assert [name for name in ("functions.deploy", "x" * 65, "\\n\\n") if name in told] == []
    assert [name for name in ("functions_deploy_it", "x" * 64, "ok-1_A") if name not in told] == []


@each_way
async def test_an_answer_without_usage_has_none(server: ProviderServer, stream: bool) -> None:
    """1.5.3, M2.4: some servers with OpenAI's interface tell no tokens."""
    body = chat_body(Answer(("hi",)))
    events = chat_events(Answer(("hi",)))
    server.script(streamed([*events[:-2], events[-1]]) if stream else said({name: body[name] for name in body if name != "usage"}))
    client = client_of(OPENAI, server)
    completion = await answered(client, REQUEST, stream=stream)
    await client.aclose()
    assert completion == Completion(AssistantMessage("hi"), None, "model-2026-01-01")


async def test_the_request_is_not_changed_by_sending_it(server: ProviderServer) -> None:
    """D12: what the wrappers hold stays as it was."""
    before = thaw(DEPLOY.parameters)
    await exchanged(GOOGLE, server, REQUEST, BOTH, stream=False)
    assert (thaw(DEPLOY.parameters), REQUEST) == (before, ModelRequest(TURN, (DEPLOY,)))


# -- options changed by a person (M1.7) -------------------------------------------------------------------------------


def spelled(body: Any) -> Any:
    return body.get("generationConfig", body)


@each_provider
async def test_changed_options_reach_the_provider_over_the_same_connections(dialect: Dialect, server: ProviderServer) -> None:
    """M1.7: the client they were changed in keeps its own."""
    reply = dialect.reply(BOTH, stream=False)
    first = client_of(dialect, server.script(reply, reply), temperature=0.5)
    second = first.with_options(temperature=0.25, max_tokens=77)
    for client in (first, second):
        await client.complete(REQUEST)
    await second.aclose()
    place = SPELLED[dialect.name]
    assert [spelled(sent.body)[place["temperature"]] for sent in server.requests] == [0.5, 0.25]
    assert spelled(server.requests[1].body)[place["max_tokens"]] == 77
    assert (first.option_values(), second.option_values()) == ({"temperature": 0.5}, {"temperature": 0.25, "max_tokens": 77})
    assert second.with_options(temperature=None, max_tokens=None).option_values() == {}


@each_provider
def test_the_form_of_the_options_leaves_out_what_the_provider_lacks_and_never_has_a_key(dialect: Dialect, server: ProviderServer) -> None:
    """M1.7, M1.4, M1.5."""
    client = client_of(dialect, server)
    offered = set(client.option_schema()["properties"])  # type: ignore[arg-type]
    assert offered == {*SPELLED[dialect.name], "timeout"}
    for name in ("seed", "stop"):
        if name not in offered:
            with pytest.raises(ConfigError, match=f"{name}: '{dialect.name}' has no such option"):
                client.with_options(**{name: GIVEN[name]})
    for name in ("api_key", "base_url"):
        with pytest.raises(ConfigError, match=f"{name}: belongs to the client"):
            client.with_options(**{name: "https://elsewhere"})
    with pytest.raises(ConfigError, match="temperature: "):
        client.with_options(temperature=3)
