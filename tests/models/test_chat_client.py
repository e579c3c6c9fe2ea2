"""Making a client: what is refused, with what to do; and that a key is never shown (M1)."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import logging
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from llm4s_notebook.errors import ConfigError, ProviderFailed
from llm4s_notebook.models import ProviderClient, RetryPolicy, chat_client
from llm4s_notebook.models._provider_messages import received
from llm4s_notebook.models._providers import PROVIDERS
from llm4s_notebook.models._scrub import DOTS, without_key
from llm4s_notebook.testing._openai_chat import Answer
from llm4s_notebook.testing._provider_server import ProviderServer, said

from .dialects import ANTHROPIC, DIALECTS, OPENAI, Dialect
from .test_providers import REQUEST, answered, client_of, each_provider, each_way

KEY = "sk-proj-9fQ2vX7LmT4bW8cZ1yR6"
HELLO = Answer(("hello",))


def newest(server: ProviderServer) -> threading.Thread:
    """The thread of the newest connection, which ends with it."""
    return server._threads[-1]  # pyright: ignore[reportPrivateUsage]


def refused(model: Any, **options: Any) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        chat_client(model, **options)
    return raised.value


@pytest.mark.parametrize("model", ["gpt-5", "", ":gpt-5", "mistral:large", "OpenAI:gpt-5", None, 5])
def test_an_unknown_provider_is_refused_with_the_known_ones(model: Any) -> None:
    """M1.1."""
    error = refused(model, api_key=KEY)
    assert error.field == "model"
    assert "openai, openai-responses, anthropic, google" in error.what


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("opnai:gpt-5", "did you mean 'openai'?"),
        ("OpenAI:gpt-5", "did you mean 'openai'?"),
        (" anthropic:m", "did you mean 'anthropic'?"),
        ("gemini:m", "did you mean 'google'?"),
        ("claude:m", "did you mean 'anthropic'?"),
        ("mistral:large", "for any other server with OpenAI's interface"),
        ("ollama:llama3.2", "chat_client('openai:<model>', base_url="),
        ("gpt-5", "chat_client('openai:<model>')"),
        ("claude-sonnet-4-5", "chat_client('anthropic:<model>')"),
        ("gemini-2.5-pro", "chat_client('google:<model>')"),
    ],
)
def test_what_was_probably_meant_is_the_next_step(given: str, meant: str) -> None:
    """M1.1: a slip of the pen, a provider's other name, a model without its provider."""
    assert meant in refused(given, api_key=KEY).next_step


@pytest.mark.parametrize("model", ["openai: gpt-5", "openai:gpt-5\n", "openai:\u200bgpt-5", "openai:\ud800"])
def test_a_models_name_is_what_is_seen_of_it(model: str) -> None:
    """M1.1: as it is pasted; a provider would only say that it does not know it."""
    assert "white space around it" in refused(model, api_key=KEY).what


@pytest.mark.parametrize("model", ["openai:", "openai:  "])
def test_a_model_needs_a_name(model: str) -> None:
    """M1.1."""
    assert "names no model" in refused(model, api_key=KEY).what


def test_a_model_name_may_have_colons() -> None:
    """M1.1: as Ollama's have; only the first one parts provider and model."""
    assert chat_client("openai:qwen3:4b", base_url="http://127.0.0.1:9/v1").model == "openai:qwen3:4b"


def test_a_key_given_in_place_of_a_model_is_not_repeated() -> None:
    """M1.5."""
    assert KEY not in str(refused(KEY))


@pytest.mark.parametrize(
    ("model", "variables"),
    [
        ("openai:m", ["OPENAI_API_KEY"]),
        ("openai-responses:m", ["OPENAI_API_KEY"]),
        ("anthropic:m", ["ANTHROPIC_API_KEY"]),
        ("google:m", ["GOOGLE_API_KEY", "GEMINI_API_KEY"]),
    ],
)
def test_a_missing_key_is_named_by_its_variable(model: str, variables: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """M1.3: a blank one counts as missing."""
    monkeypatch.setenv(variables[0], "  ")
    error = refused(model)
    assert (error.field, f"environment variable {' or '.join(variables)}, or give api_key=" in error.next_step) == ("api_key", True)
    monkeypatch.setenv(variables[-1], KEY)
    assert KEY not in repr(chat_client(model))


@pytest.mark.parametrize("wrong", [f"{KEY}\n{KEY}", f"{KEY} and more", f"“{KEY}”"])
def test_a_key_that_cannot_be_sent_is_refused_by_its_variable(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """M1.3, M1.5: a transport that refuses it later would quote it."""
    monkeypatch.setenv("OPENAI_API_KEY", wrong)
    error = refused("openai:m")
    assert (error.field, KEY in str(error)) == ("OPENAI_API_KEY", False)


@each_provider
def test_a_missing_extra_is_named_with_its_pip_line(dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    """M1.2: the library is missing, or the provider's SDK is."""
    sdk = {"anthropic": "anthropic", "google": "google.genai"}.get(dialect.name, "openai")
    adapter = f"pydantic_ai.models.{sdk.removesuffix('.genai')}"
    for name in [name for name in sys.modules if name == adapter or name.startswith(f"{adapter}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, adapter, None)  # pyright: ignore[reportArgumentType]  # what an import takes for missing
    error = refused(f"{dialect.name}:m", api_key=KEY)
    assert "extra 'models'" in error.what
    assert 'pip install "llm4s-notebook[models]"' in error.next_step


@pytest.mark.parametrize(
    ("raises", "what", "next_step"),
    [
        ("ModuleNotFoundError('no', name='anthropic')", "(no module 'anthropic')", 'run pip install "llm4s-notebook[models]"'),
        ("ImportError(\"cannot import name 'Omit'\")", "imported: cannot import name 'Omit'", "run pip install --upgrade"),
    ],
)
def test_what_is_missing_of_the_extra_is_told_in_our_words(
    raises: str, what: str, next_step: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """M1.2: the library advises another pip line where an SDK is missing; and one that is there and broken is not missing."""
    (tmp_path / "broken_adapter.py").write_text(
        f"try:\n    raise {raises}\nexcept ModuleNotFoundError as error:\n    raise ImportError('pip install other') from error\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    provider = replace(PROVIDERS["anthropic"], module="broken_adapter")
    with pytest.raises(ConfigError) as refused_:
        provider.load()
    assert what in refused_.value.what
    assert next_step in refused_.value.next_step
    assert "other" not in str(refused_.value)


def test_the_library_is_imported_when_a_client_is_made_and_not_before() -> None:
    """D19."""
    program = (
        "import sys, llm4s_notebook as n\n"
        "n.chat_client, n.Agent, n.ScriptedClient\n"
        "heavy = {'pydantic_ai', 'openai', 'anthropic', 'httpx', 'httpx2', 'google.genai'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
        "n.chat_client('openai:m', base_url='http://127.0.0.1:9/v1')\n"
        "print('pydantic_ai' in sys.modules, 'anthropic' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == ("[]\nTrue False\n", "")


BAD_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"temprature": 0.5}, "temprature: no such option; there are temperature, top_p, max_tokens"),
    ({"temperature": "0.5"}, "temperature"),
    ({"temperature": 2.5}, "temperature"),
    ({"temperature": float("nan")}, "temperature"),
    ({"top_p": 0}, "top_p"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"max_tokens": 1.5}, "max_tokens"),
    ({"max_tokens": True}, "max_tokens"),
    ({"timeout": 0}, "timeout"),
    ({"timeout": float("inf")}, "timeout"),
    ({"stop": "END"}, "stop"),
    ({"stop": ["END", ""]}, "stop"),
    ({"stop": ["\ud800"]}, "stop"),
    ({"seed": "1"}, "seed"),
    ({"retry": 3}, "retry"),
    ({"base_url": "localhost:11434"}, "base_url: an address begins with http:// or https://"),
    ({"base_url": "http://me:secret-word@host/v1"}, "base_url: an address holds no user name or password"),
    ({"base_url": "http://host/v1?key=secret-word"}, "base_url: an address has no query"),
    *(
        ({"base_url": f"http://{end}"}, "base_url: an address is http://host:port/path")
        for end in ("", "/v1", "h:99999/v1", "h:a/v1", "[::1")
    ),
    *(({"base_url": f"http://h{end}/v1"}, "base_url: an address has no spaces") for end in (" ", "\n", "\u200b")),
    ({"api_key": f"{KEY}\n"}, "api_key: a key is ASCII text without spaces"),
    ({"api_key": SecretStr(f"{KEY}\n")}, "api_key: a key is ASCII text without spaces"),
    ({"api_key": f" {KEY}"}, "api_key: a key is ASCII text without spaces"),
    ({"api_key": KEY.encode()}, "api_key"),
]


@pytest.mark.parametrize(("options", "says"), BAD_OPTIONS, ids=[f"{at}-{says[:12]}" for at, (_, says) in enumerate(BAD_OPTIONS)])
def test_a_wrong_option_is_refused_by_name(options: dict[str, Any], says: str) -> None:
    """M1.4, M1.5: never with what may be a secret."""
    error = refused("openai:m", **{"api_key": KEY, **options})
    assert says in error.what
    assert [text for text in (KEY, "secret-word") if text in str(error)] == []


def test_all_wrong_options_are_told_at_once() -> None:
    """M1.4."""
    assert len(refused("openai:m", api_key=KEY, temperature=9, max_tokens=0, size=3).problems) == 3


@pytest.mark.parametrize(
    "wrong", [{"attempts": 0}, {"attempts": True}, {"attempts": 1.5}, {"first_wait": -1}, {"jitter": 2}, {"longest_wait": float("nan")}]
)
def test_a_policy_that_cannot_be_is_refused(wrong: dict[str, Any]) -> None:
    """M4.2."""
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        RetryPolicy(**wrong)


@each_provider
async def test_the_environments_key_does_not_go_to_another_server(
    dialect: Dialect, server: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M1.3: an address given in code gets a key given in code, or none."""
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.setenv(name, KEY)
    client = chat_client(f"{dialect.name}:m", base_url=server.script(dialect.reply(HELLO, stream=False)).url + dialect.path)
    await client.complete(REQUEST)
    await client.aclose()
    assert KEY not in str(server.requests)


async def test_the_environments_key_goes_to_the_provider(server: ProviderServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """M1.3: also where the provider's own variable names the address."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url + "/v1")
    client = chat_client("openai:m")
    server.script(OPENAI.reply(HELLO, stream=False))
    await client.complete(REQUEST)
    await client.aclose()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_a_client_shows_its_options_and_no_key() -> None:
    """M1.5: nor can it be pickled, which would write the key to a file."""
    client = chat_client("openai:m", api_key=KEY, base_url="http://127.0.0.1:9/v1", temperature=0.5)
    assert repr(client) == "chat_client('openai:m', temperature=0.5, base_url='http://127.0.0.1:9/v1')"
    assert repr(client) == repr(chat_client("openai:m", api_key=SecretStr(KEY), base_url="http://127.0.0.1:9/v1", temperature=0.5))
    shown = [repr(client), str(client), repr(vars(client)), repr(client.options), client.options.model_dump_json()]
    assert [text for text in shown if KEY in text] == []
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="holds a key"):
            attempt(client)


@pytest.mark.parametrize(
    "made",
    [
        lambda: chat_client("openai:m", api_key=KEY, temprature=1),
        lambda: chat_client("opnai:m", api_key=KEY),
        lambda: chat_client("openai:m", api_key=KEY.encode()),
        lambda: chat_client("openai:m", api_key=f"{KEY} "),
        lambda: chat_client("openai:m", api_key="sk-another").with_options(api_key=KEY),
        lambda: chat_client("anthropic:m"),
    ],
    ids=["option", "provider", "bytes", "space", "with_options", "environment"],
)
def test_a_traceback_that_shows_what_its_frames_hold_shows_no_key(made: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """M1.5: `%xmode Verbose`, `pytest -l` and rich print the locals of every frame, ours among them."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", f"{KEY}\n{KEY}")
    with pytest.raises(ConfigError) as raised:
        made()
    frames = traceback.TracebackException.from_exception(raised.value, capture_locals=True).stack
    ours = [frame for frame in frames if "llm4s_notebook" in frame.filename and "/tests/" not in frame.filename]
    assert ours
    assert [frame.name for frame in ours if KEY in str(frame.locals)] == []


def test_what_a_client_is_made_of_cannot_take_the_key_along() -> None:
    """M1.5: its options are what a person set, and what opens the provider is not pickled on its own either."""
    client = chat_client("openai:m", api_key=KEY, base_url="http://127.0.0.1:9/v1", temperature=0.5)
    assert KEY.encode() not in pickle.dumps(client.options)
    assert KEY.encode() not in pickle.dumps(client.with_options(seed=1).options)
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(client._access)  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize("quoted", ["{key}", "Bearer {key}", "?key={key}&alt=sse", "{start}*****", "*****{end}"])
@each_way
@each_provider
async def test_an_error_that_quotes_the_key_is_shown_without(
    dialect: Dialect, server: ProviderServer, stream: bool, quoted: str, caplog: pytest.LogCaptureFixture
) -> None:
    """M1.5: neither the error, nor its traceback, nor any log, at any level."""
    caplog.set_level(logging.DEBUG)
    kind = "authentication_error" if dialect is ANTHROPIC else "invalid_api_key"
    server.script(dialect.fails(401, kind, "Incorrect API key: " + quoted.format(key=KEY, start=KEY[:12], end=KEY[-12:])))
    client = client_of(dialect, server, api_key=KEY)
    with pytest.raises(ProviderFailed) as raised:
        await answered(client, REQUEST, stream=stream)
    await client.aclose()
    assert KEY in str([dict(request.headers) for request in server.requests])  # it was sent
    shown = ["".join(traceback.format_exception(raised.value)), repr(raised.value), str(vars(raised.value)), repr(client)]
    pieces = [KEY, KEY[:12], KEY[-12:]]
    assert [text for text in shown if any(piece in text for piece in pieces)] == []
    assert KEY not in caplog.text
    assert raised.value.fault == "authentication"


def test_every_spelling_of_a_key_is_taken_out() -> None:
    """M1.5: in an address, in JSON, in part; ordinary words stay."""
    key = "a/b+c=d'e\"f-0123456789"
    for text in (key, "a%2Fb%2Bc%3Dd%27e%22f-0123456789", "a/b+c=d'e\\\"f-0123456789", "f-01234567"):
        assert without_key(f"<{text}>", key) == f"<{DOTS}>"
    assert without_key("the key f-0123 is short", key) == "the key f-0123 is short"
    assert without_key("no-key and the model", "no-key") == f"{DOTS} and the model"
    assert without_key("key x exceeds the context", "x") == f"key {DOTS} exceeds the context"


def test_one_client_serves_several_loops_and_threads(server: ProviderServer) -> None:
    """D23: connections belong to a loop; what one loop opened is not used by the next."""
    client: ProviderClient = client_of(OPENAI, server.script(*(OPENAI.reply(HELLO, stream=False) for _ in range(6))))

    async def twice() -> list[str | None]:
        made = [(await client.complete(REQUEST)).message.content for _ in range(2)]
        await client.aclose()
        return made

    heard: list[str | None] = asyncio.run(twice()) + asyncio.run(twice())
    thread = threading.Thread(target=lambda: heard.extend(asyncio.run(twice())))
    thread.start()
    thread.join(timeout=120)
    assert heard == ["hello"] * 6


@each_provider
def test_a_loop_that_ends_closes_its_connections(dialect: Dialect, server: ProviderServer) -> None:
    """M1.6: a script that makes a loop for each call leaves nothing behind; the server sees every connection closed."""
    client = client_of(dialect, server.script(*(dialect.reply(HELLO, stream=False) for _ in range(3))))
    for _ in range(3):
        assert asyncio.run(client.complete(REQUEST)).message.content == "hello"
        served = newest(server)
        served.join(30)
        assert not served.is_alive()
    assert len(client._connections._opened) == 1  # pyright: ignore[reportPrivateUsage]  # loops that are over do not pile up


@each_provider
async def test_a_client_that_nobody_holds_has_left_the_server(dialect: Dialect, server: ProviderServer) -> None:
    """M1.6: while its loop goes on, once another is used there, and not before the last of those that share its connections is let go."""
    client = client_of(dialect, server.script(*(dialect.reply(HELLO, stream=False) for _ in range(3))))
    assert await client.complete(REQUEST)
    served = newest(server)
    client = client.with_options(max_tokens=5)
    assert await client.complete(REQUEST)
    assert newest(server) is served
    del client
    gc.collect()
    assert await client_of(dialect, server).complete(REQUEST)
    await asyncio.to_thread(served.join, 30)
    assert not served.is_alive()


async def test_the_end_of_a_block_closes_the_clients_connections(server: ProviderServer) -> None:
    """M1.6: also when the block ends with an error, which goes on."""
    client = client_of(OPENAI, server.script(OPENAI.reply(HELLO, stream=False), OPENAI.fails(401, "invalid_api_key", "no")))

    async def asked_twice() -> None:
        async with client as entered:
            assert entered is client
            for _ in range(2):
                await client.complete(REQUEST)

    with pytest.raises(ProviderFailed):
        await asked_twice()
    served = newest(server)
    await asyncio.to_thread(served.join, 30)
    assert not served.is_alive()
    server.script(OPENAI.reply(HELLO, stream=False))
    async with client:
        assert await client.complete(REQUEST)


@pytest.mark.filterwarnings("ignore:asynchronous generator .* was scheduled after:ResourceWarning")
def test_a_loop_that_goes_on_after_its_end_is_served(server: ProviderServer) -> None:
    """M1.6: as one whose owner ran `shutdown_asyncgens` and then had it work on."""
    client = client_of(OPENAI, server.script(*(OPENAI.reply(HELLO, stream=False) for _ in range(2))))
    with contextlib.closing(asyncio.new_event_loop()) as loop:
        for _ in range(2):
            assert loop.run_until_complete(client.complete(REQUEST)).message.content == "hello"
            loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(client.aclose())


async def test_a_closed_client_has_left_the_server_and_may_be_used_again(server: ProviderServer) -> None:
    """M1.6: the server sees its connection closed."""
    for dialect in DIALECTS:
        client = client_of(dialect, server.script(dialect.reply(HELLO, stream=False), dialect.reply(HELLO, stream=False)))
        for _ in range(2):
            assert (await client.complete(REQUEST)).message.content == "hello"
            served = newest(server)
            assert served.is_alive()
            await client.aclose()
            await asyncio.to_thread(served.join, 30)
            assert not served.is_alive()
        await client.aclose()


def test_a_listed_model_has_a_price_and_another_server_has_none() -> None:
    """M2.4: the library's list, in US dollars."""
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.usage import RequestUsage

    def cost(model: str, *, priced: bool = True) -> float | None:
        usage = RequestUsage(input_tokens=1_000_000, output_tokens=0)
        response = ModelResponse([TextPart("x")], usage=usage, model_name=model, provider_name="openai", finish_reason="stop")
        made = received(response, model=model, streamed=False, attempts=1, priced=priced)
        assert made.usage is not None
        return made.usage.cost

    assert (cost("gpt-4o"), cost("gpt-4o", priced=False), cost("no-such-model")) == (2.5, None, None)


async def test_a_providers_sentence_is_cut_short(server: ProviderServer) -> None:
    """M4.1: an error is read by a person; a page of HTML is not."""
    server.script(said({"error": {"message": "word " * 5000}}, 400))
    with pytest.raises(ProviderFailed) as raised:
        await client_of(ANTHROPIC, server).complete(REQUEST)
    assert len(raised.value.what) < 400
    assert "\n" not in raised.value.what
