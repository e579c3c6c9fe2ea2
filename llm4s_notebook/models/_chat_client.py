"""A chat client over the provider library: one request at a time, sent again by a stated policy (M1 - M4)."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Self

from pydantic import SecretBytes, SecretStr

from ..errors import ConfigError
from ._client import Completion, Delta, ModelRequest, ToolCallDelta
from ._connections import Connections
from ._conversation import message_problems
from ._google import responses_opened
from ._json import Json, compact
from ._options import Options, Sampling, option_schema
from ._provider_faults import Failure, failure_of
from ._provider_messages import AnswerUnfit, received, sent_messages, sent_tools
from ._providers import Access, Provider, provider_of
from ._reasoning import ReasoningInText
from ._retrying import Retry, tell_retry

if TYPE_CHECKING:
    from pydantic_ai import messages as theirs


def chat_client(model: str, **options: Any) -> ProviderClient:
    """A client for "provider:model", such as "openai:gpt-5" or "anthropic:claude-sonnet-4-5" (M1).

    `base_url` names another server with that provider's interface: `chat_client("openai:llama3.2", base_url="http://localhost:11434/v1")`
    for Ollama, vLLM or llama.cpp. `api_key` is read from the environment where it is not given; with a `base_url` it is not.
    Further options: `temperature`, `top_p`, `max_tokens`, `seed`, `stop`, `timeout` (seconds without a byte from the server, 600)
    and `retry`, a RetryPolicy. The provider library is imported here, not before.

    Raises: ConfigError for an unknown provider or option, a wrong value, a missing extra or a missing key.
    """
    if isinstance(options.get("api_key"), str | bytes):  # a traceback may show what this frame holds
        options["api_key"] = SecretStr(options["api_key"]) if isinstance(options["api_key"], str) else SecretBytes(options["api_key"])
    provider, name = provider_of(model)
    checked = Options.of(options)
    provider.check(options)
    access = provider.access(checked.base_url, checked.api_key)
    provider.load()
    return ProviderClient(provider, name, access, checked.without_key())


class ProviderClient:
    """A model of a provider; made by `chat_client`. May be used from several loops and threads: each loop has its own connections.

    Its `repr` shows the model, the address and the options, never the key.
    """

    def __init__(self, provider: Provider, name: str, access: Access, options: Options) -> None:
        self.model = f"{provider.name}:{name}"
        self.options = options
        self._provider = provider
        self._name = name
        self._access = access
        self._connections = Connections(lambda: provider.make(name, access))
        self._sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
        self._chance: Callable[[], float] = random.random

    def __repr__(self) -> str:
        given = {name: value for name, value in self.options if name in self.options.model_fields_set}
        return f"chat_client({', '.join([repr(self.model), *(f'{name}={value!r}' for name, value in given.items())])})"

    def __reduce__(self) -> str | tuple[Any, ...]:
        raise TypeError("a chat client holds a key and is not pickled or copied; make another with chat_client(…)")

    # -- options that a person may change (M1.7) -----------------------------------------------------------------------

    def option_schema(self) -> dict[str, Json]:
        """The JSON Schema of the options that `with_options` takes from a form, without those that the provider lacks."""
        return option_schema(self._provider.lacks)

    def option_values(self) -> dict[str, Json]:
        """Those that were given; of the others the defaults hold."""
        given: dict[str, Json] = self.options.model_dump(
            mode="json", include=set(Sampling.model_fields), exclude_unset=True, exclude_none=True
        )
        return given

    def with_options(self, **changes: Any) -> ProviderClient:
        """The same model with some options changed; None takes one back to its default. It shares this client's connections.

        Raises: ConfigError for a wrong value, an unknown option, or one that says where the model is or what opens it.
        """
        fixed = [
            f"{name}: belongs to the client; make another one with chat_client(…)" for name in ("base_url", "api_key") if name in changes
        ]
        changes.pop("api_key", None)  # a traceback may show what this frame holds
        if fixed:
            raise ConfigError(field="options", problems=fixed)
        given = {name: value for name, value in self.options if name in self.options.model_fields_set} | changes
        kept = {name: value for name, value in given.items() if value is not None}
        checked = Options.of(kept)
        self._provider.check(kept)
        other = ProviderClient(self._provider, self._name, self._access, checked)
        other._connections = self._connections
        other._sleep, other._chance = self._sleep, self._chance
        return other

    async def complete(self, request: ModelRequest) -> Completion:
        """Answer the request with one assistant message.

        Raises: ProviderFailed (M4.1), once the request is not sent again.
        """
        attempt = 1
        while True:
            made = await self._attempt(request, attempt)
            if isinstance(made, Completion):
                return made
            await self._wait(made, attempt)
            attempt += 1

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta, None]:
        """The answer in pieces, the completion last; a piece with `again` voids those before it (M3).

        Raises: ProviderFailed (M4.1), once the request is not sent again.
        """
        attempt = 1
        while True:
            failure: Failure | None = None
            try:
                async with contextlib.aclosing(self._pieces(request, attempt)) as pieces:
                    async for piece in pieces:
                        yield piece
            except Exception as error:
                failure = failure_of(error, self._access.key.get_secret_value())
            if failure is None:
                return
            await self._wait(failure, attempt)
            attempt += 1
            yield Delta(again=True)

    async def aclose(self) -> None:
        """Close the connections of the loop that this is called on; the client may be used again.

        The end of `async with client:` does the same. Left undone, the connections are closed when the loop ends, as asyncio.run ends it.
        """
        await self._connections.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _attempt(self, request: ModelRequest, attempt: int) -> Completion | Failure:
        from pydantic_ai import direct

        try:
            response = await direct.model_request(
                await self._connections.model(),
                sent_messages(request.messages, marks_errors=self._provider.marks_errors),
                model_settings=self._settings(),
                model_request_parameters=sent_tools(request.tools),
            )
            return self._checked(response, attempt, streamed=False)
        except Exception as error:
            return failure_of(error, self._access.key.get_secret_value())

    async def _pieces(self, request: ModelRequest, attempt: int) -> AsyncGenerator[Delta, None]:
        from pydantic_ai import direct

        async with contextlib.AsyncExitStack() as stack:
            with responses_opened() as opened:
                response = await stack.enter_async_context(
                    direct.model_request_stream(
                        await self._connections.model(),
                        sent_messages(request.messages, marks_errors=self._provider.marks_errors),
                        model_settings=self._settings(),
                        model_request_parameters=sent_tools(request.tools),
                    )
                )
            calls: dict[int, ToolCallDelta] = {}
            reasoning = ReasoningInText() if self._provider.tags_reasoning else None
            try:
                async for event in response:
                    piece = _piece(event, calls)
                    if piece is None:
                        continue
                    if reasoning is None or not piece.text:
                        yield piece
                        continue
                    for part in reasoning.told_apart(piece.text):
                        yield part
                for part in () if reasoning is None else reasoning.rest():
                    yield part
            finally:
                # Not every SDK closes the connection of a stream that is left (M3.4); what is already closed may say so.
                for close in (response.cancel, *(one.aclose for one in opened)):
                    with contextlib.suppress(Exception):
                        await close()
            completion = self._checked(response.get(), attempt, streamed=True)
        yield Delta(completion=completion)

    def _checked(self, response: theirs.ModelResponse, attempt: int, *, streamed: bool) -> Completion:
        priced = self._access.base_url is None  # the list knows the providers' own models, not who else serves one of that name
        completion = received(
            response,
            model=self._name,
            streamed=streamed,
            attempts=attempt,
            priced=priced,
            tags_reasoning=self._provider.tags_reasoning,
        )
        if problems := message_problems(completion.message):
            raise AnswerUnfit("bad-answer", "; ".join(problems))
        return completion

    async def _wait(self, failure: Failure, attempt: int) -> None:
        """Wait before the next request. Raises: ProviderFailed when there is none."""
        seconds = self.options.retry.wait_before(attempt + 1, failure.retry_after, self._chance) if failure.passing else None
        if seconds is None:
            raise failure.error(self.model, attempt)
        tell_retry(Retry(attempt + 1, seconds, failure.fault))
        await self._sleep(seconds)

    def _settings(self) -> Any:
        return self.options.settings()


def _piece(event: object, calls: dict[int, ToolCallDelta]) -> Delta | None:
    """What one event of the library adds; `calls` holds the calls begun so far, by the library's index."""
    from pydantic_ai import messages as theirs

    match event:
        case theirs.PartStartEvent(part=theirs.TextPart(content=text)):
            return Delta(text=text) if text else None
        case theirs.PartDeltaEvent(delta=theirs.TextPartDelta(content_delta=text)):
            return Delta(text=text) if text else None
        case theirs.PartStartEvent(part=theirs.ThinkingPart(content=text)):
            return Delta(thinking=text) if text else None
        case theirs.PartDeltaEvent(delta=theirs.ThinkingPartDelta(content_delta=text)):
            return Delta(thinking=text) if text else None
        case theirs.PartStartEvent(index=at, part=theirs.ToolCallPart() as part):
            number = calls[at].index if at in calls else len(calls)
            calls[at] = ToolCallDelta(number, part.tool_call_id, part.tool_name)
            return Delta(tool_call=_continued(calls[at], part.args))
        case theirs.PartDeltaEvent(index=at, delta=theirs.ToolCallPartDelta(args_delta=args)) if at in calls and args:
            return Delta(tool_call=_continued(calls[at], args))
        case _:
            return None


def _continued(call: ToolCallDelta, args: Json) -> ToolCallDelta:
    text = args if isinstance(args, str) else compact(args) if args else ""
    return ToolCallDelta(call.index, call.id, call.name, text)
