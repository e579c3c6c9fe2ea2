"""A provider with OpenAI's interface on this machine, behind which a function answers: for lessons, demos and tests (M6)."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable
from typing import Self

from pydantic import ValidationError

from ..errors import ConfigError, text_of
from ..models import AssistantMessage, Completion, ModelRequest, ScriptedClient, compact
from ..models._options import fits_a_header
from ._openai_chat import CHAT_REQUEST, Answer, ChatRequest, chat_body, chat_chunks, openai_error, sse
from ._provider_server import ProviderServer, Reply, Request, said, streamed

_PATH = "/v1/chat/completions"
_KINDS = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
_LETTERS_A_TOKEN = 4


class MockProvider(ProviderServer):
    """Serves Chat Completions, streamed or whole, with tools and usage, to `chat_client("openai:…", base_url=provider.url)` and to
    every other client of that interface on this machine.

    `answer` is given each request as a `ModelRequest` and returns what a step of `ScriptedClient` may be: a text, `calls(…)`, a
    `Completion`. What it raises is told to the client as HTTP 500. It runs in a thread of its own, several at once where several
    clients ask. With a `key` every other key is refused as OpenAI refuses it. A streamed answer goes out word by word, `pause`
    seconds before each. Where `answer` gives no usage, four letters count as a token.

    Listens between `start` and `stop`; nothing outside this machine reaches it. `requests` holds what it was sent.

    Raises: ConfigError for a pause that is no number of seconds of at least 0, or a key that no client can send.
    """

    def __init__(self, answer: Callable[[ModelRequest], object], *, key: str | None = None, pause: float = 0.0) -> None:
        if not _is_number(pause) or not 0 <= pause < math.inf:
            raise ConfigError(field="pause", problems=["pause is a number of seconds of at least 0"])
        if key is not None and not (isinstance(key, str) and fits_a_header(key)):  # pyright: ignore[reportUnnecessaryIsInstance]  # not every caller is typed
            raise ConfigError(field="key", problems=["a key is ASCII text without spaces"])
        super().__init__()
        self.answer = answer
        self.key = key
        self.pause = pause

    def __repr__(self) -> str:
        return f"MockProvider at {self.url}"

    @property
    def url(self) -> str:
        """The `base_url` of a client that talks to it."""
        return f"{super().url}/v1"

    def fail_next(self, status: int, message: str = "the mock was told to fail", *, retry_after: int | None = None) -> Self:
        """Answer the next request with an HTTP error, such as 429 with a Retry-After in seconds. Raises: ConfigError for a status
        that is no error, and for seconds that are no whole number of at least 0."""
        if type(status) is not int or not 400 <= status <= 599:
            raise ConfigError(field="fail_next", problems=[f"{status!r} is no HTTP error; they are 400 to 599"])
        if retry_after is not None and (type(retry_after) is not int or retry_after < 0):
            raise ConfigError(field="fail_next", problems=["retry_after is a whole number of seconds of at least 0"])
        return self.script(_failed(status, message, **({} if retry_after is None else {"retry_after": str(retry_after)})))

    def reply_to(self, request: Request) -> Reply:
        """The answer to a request, or the error that OpenAI would give for it."""
        if request.path != _PATH:
            return _failed(404, f"there is no {request.path} here, only {_PATH}")
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return _failed(401, "Incorrect API key provided.")
        try:
            asked = CHAT_REQUEST.validate_python(request.body)
            question = asked.ours()
        except ValidationError as error:
            return _failed(400, "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()))
        except (ValueError, RecursionError) as error:
            return _failed(400, f"the arguments of a call are not JSON: {error}")
        try:
            completion = asyncio.run(ScriptedClient(self.answer, usage=None).complete(question))
        except BaseException as error:  # in this thread nobody else would say so
            return _failed(500, f"{type(error).__name__}: {text_of(error)}")
        answer = _said(completion, asked, _given(question))
        if not asked.stream:
            return said(chat_body(answer))
        return streamed([*(sse(chunk) for chunk in chat_chunks(answer)), sse("[DONE]")], pause=self.pause)


def _said(completion: Completion, asked: ChatRequest, given: int) -> Answer:
    """The completion as the provider says it, cut where the request allows no more."""
    message, usage = completion.message, completion.usage
    words = tuple(re.findall(r"\s*\S+\s*", message.content or ""))
    calls = tuple((call.id, call.name, compact(call.arguments)) for call in message.tool_calls)
    made = _tokens(message.content or "", *(part for call in calls for part in call))
    if asked.longest is not None and made > asked.longest:
        letters = "".join(words)[: asked.longest * _LETTERS_A_TOKEN]
        return Answer((letters,) if letters else (), finish="length", tokens=(given, asked.longest), model=asked.model)
    return Answer(words, calls, tokens=(given, made) if usage is None else (usage.input_tokens, usage.output_tokens), model=asked.model)


def _given(question: ModelRequest) -> int:
    """The tokens of a request: its texts, its calls and the tools on offer, whatever the client wraps around them."""
    texts: list[str] = []
    for message in question.messages:
        texts.append(message.content or "")
        if isinstance(message, AssistantMessage):
            texts += [part for call in message.tool_calls for part in (call.id, call.name, compact(call.arguments))]
    for tool in question.tools:
        texts += [tool.name, tool.description, compact(tool.parameters)]
    return _tokens(*texts)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tokens(*texts: str) -> int:
    return -(-sum(map(len, texts)) // _LETTERS_A_TOKEN)


def _failed(status: int, message: str, **headers: str) -> Reply:
    kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return said(openai_error(status, kind, message), status, **headers)
