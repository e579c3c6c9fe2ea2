"""One model step: the client inside its wrappers, and a question from any of them (4.1, 4.4, D3)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import cast

from ..checkpoint import Value
from ..errors import ConfigError, Llm4sError, MiddlewareFailed, ModelFailed
from ..graph import RunContext
from ..models import (
    AssistantMessage,
    Completion,
    Delta,
    ModelRequest,
    Retry,
    StreamingChatClient,
    conversation_problems,
    message_problems,
)
from ..models._retrying import retry_listener
from . import events
from ._asked import Asked
from ._boundary import check_asker
from ._cancel import CancelWatch, superstep_forgets
from ._context import HookContext
from ._decision import GivenAnswer
from ._family import Member
from ._streamed import Streamed, told_wait
from .events import announce


class _QuestionRaised(BaseException):
    """A question on its way out through the wrappers around it. The step has noted it already; nobody can swallow it (D3)."""


class Called(Value, frozen=True, gc=True):
    """One client call that gave a completion: its attempt number, and the seconds until the first piece and until the end.

    `first` is None where the answer came as a whole.
    """

    attempt: int
    completion: Completion
    seconds: float
    first: float | None


@dataclass(slots=True)
class _Sent:
    """A client call under way: its attempt number, the highest that was told, when it began and when its first piece came.

    `numbers` counts the attempt numbers it has had; a call beside it has others.
    """

    attempt: int
    begun: float
    told: int = 0
    numbers: int = 1
    first: float | None = None


@dataclass(slots=True)
class ModelStep:
    """What one task of a model node does with its wrappers; used once.

    `called` are the client calls that gave a completion; `asked` is the question that ends the step,
    and once it is noted nothing is called again.
    """

    member: Member
    context: RunContext
    answers: Sequence[GivenAnswer]
    checked: int
    """Messages of the built request that need no check: they were part of an earlier valid one (D17)."""
    attempts: int = 0
    called: list[Called] = field(default_factory=list[Called])
    asked: Asked | None = None
    _misasked: ConfigError | None = None
    _built: ModelRequest | None = None
    _watch: CancelWatch = field(init=False)
    _own: HookContext = field(init=False)

    async def run(self, request: ModelRequest) -> Completion | None:
        """The completion to store; None when a wrapper asked.

        Raises: ModelFailed for the client, its message or the request; MiddlewareFailed or a wrapper's own refusal;
        ConfigError for a question that belongs to nobody here; CancelledError.
        """
        self._built = request
        plain = not self.member.stack.model and superstep_forgets(self.context)
        completion = await (self._client(request) if plain else self._wrapped(request))
        if completion is not None and (problems := message_problems(completion.message)):
            raise self._model_failed(ConfigError(field="model message", problems=problems))
        return completion

    async def _wrapped(self, request: ModelRequest) -> Completion | None:
        """The client inside its wrappers; None when one of them asked."""
        self._watch = CancelWatch(self.context)
        self._own = HookContext(self.context, self.member.id, self.answers)
        completion: Completion | None = None
        with self._watch:
            try:
                completion = await self._layer(0, request)
            except asyncio.CancelledError:
                if self._watch.final() or self.asked is None:
                    raise
            except BaseException:
                self._watch.check_seen()
                if self._misasked is not None:
                    raise self._misasked from None
                if self.asked is None:
                    raise
            self._watch.check_seen()
        return None if self.asked is not None else completion

    def _over(self) -> None:
        """Raises: whatever ended the step, so that no wrapper makes something else of it."""
        self._watch.check_seen()
        if self.asked is not None or self._misasked is not None:
            raise _QuestionRaised

    def times_of(self, completion: Completion) -> tuple[float, float | None]:
        """Seconds the call took that gave this completion, and until its first piece; a changed one counts as the last call's."""
        for one in reversed(self.called):
            if one.completion is completion:
                return one.seconds, one.first
        return (self.called[-1].seconds, self.called[-1].first) if self.called else (0.0, None)

    async def _layer(self, depth: int, request: ModelRequest) -> Completion:
        if depth == len(self.member.stack.model):
            try:
                return await self._client(request)
            except asyncio.CancelledError:
                self._watch.note()
                raise
        middleware = self.member.stack.model[depth]
        passing: list[BaseException] = []

        async def following(request: ModelRequest) -> Completion:
            if self._watch.over or self.asked is not None:
                await asyncio.sleep(0)  # a wrapper that tries again for ever must not keep the loop
            self._watch.check()
            self._over()
            try:
                return await self._layer(depth + 1, request)
            except BaseException as raised:
                passing.append(raised)
                raise

        try:
            made: object = await middleware.wrap_model_call(request, self._own, following)
        except asyncio.CancelledError:
            # After a question a wrapper may meet a cancellation of its own making, such as a second attempt it gave up (D3).
            if self.asked is None or self.context.cancelled:
                self._watch.note()
            raise
        except Exception as raised:
            self._over()
            if isinstance(raised, Llm4sError) or any(raised is one for one in passing):
                raise
            raise self._failed(middleware.id, raised) from raised
        self._over()
        if isinstance(made, Asked):
            self._note(made)
        if not isinstance(made, Completion):
            raise self._failed(middleware.id, TypeError(f"wrap_model_call returned {type(made).__name__}, not a completion or a question"))
        if not isinstance(made.message, AssistantMessage):  # pyright: ignore[reportUnnecessaryIsInstance]  # wrappers are not always typed
            wrong = TypeError(f"wrap_model_call returned a completion of a {type(made.message).__name__}, not of an AssistantMessage")
            raise self._failed(middleware.id, wrong)
        return made

    def _note(self, asked: Asked) -> None:
        """Raises: _QuestionRaised, once the question is noted."""
        try:
            check_asker(self.member, asked)
        except ConfigError as error:
            self._misasked = error
        else:
            self.asked = asked
        raise _QuestionRaised

    async def _client(self, request: ModelRequest) -> Completion:
        first = self.checked if request is self._built else 0
        if problems := conversation_problems(request.messages, first=first):
            raise self._model_failed(ConfigError(field="conversation", problems=problems))
        self.attempts += 1
        attempt = self.attempts
        followed = self.context.followed
        if followed:
            announce(self.context, events.ModelCallStarted(self.member.id, attempt))
        sent = _Sent(attempt, perf_counter())
        made: object = None
        try:
            made = await (self._told(request, sent) if followed else self._complete(request, sent))
        except Exception as cause:
            raise self._model_failed(cause) from cause
        finally:
            if followed:
                failed = not isinstance(made, Completion)
                announce(self.context, events.ModelCallEnded(self.member.id, max(sent.attempt, sent.told), failed))
        if not isinstance(made, Completion) or not isinstance(made.message, AssistantMessage):  # pyright: ignore[reportUnnecessaryIsInstance]  # clients are not always typed
            raise self._model_failed(TypeError(f"the client returned {type(made).__name__}, not a Completion"))
        if made.attempts > sent.numbers:  # requests that were not told one by one
            self.attempts += made.attempts - sent.numbers
        seconds = perf_counter() - sent.begun
        self.called.append(Called(self.attempts, made, seconds, None if sent.first is None else sent.first - sent.begun))
        return made

    async def _told(self, request: ModelRequest, sent: _Sent) -> Completion | None:
        """The client's answer; who follows hears when it waits to send the request again (M3.5)."""
        begun_as, latest = sent.attempt, 1

        def waits(retry: Retry) -> None:
            nonlocal latest
            mine = max(sent.attempt, sent.told)
            if self.attempts > mine:  # a later call beside this one is what is seen
                return
            if retry.attempt > latest:  # else it tells of the same attempt once more
                latest = retry.attempt
                sent.told = self.attempts = max(begun_as - 1 + latest, mine + 1)
                sent.numbers += sent.told - mine
                mine = sent.told
            announce(self.context, told_wait(self.member, mine, retry))

        hearing = retry_listener.set(waits)
        try:
            return await self._complete(request, sent)
        finally:
            retry_listener.reset(hearing)

    async def _complete(self, request: ModelRequest, sent: _Sent) -> Completion | None:
        client = self.member.client
        if not self.member.stream or not isinstance(client, StreamingChatClient):
            return await client.complete(request)
        completion: Completion | None = None
        streamed = Streamed(self.member)
        pieces = client.stream(request)
        try:
            async for delta in pieces:
                if delta.again:  # what came before is void, its first piece and its completion too
                    if sent.told <= sent.attempt:
                        sent.told = self.attempts = self.attempts + 1
                        sent.numbers += 1
                    sent.attempt, sent.first, completion = sent.told, None, None
                    streamed.again()
                    announce(self.context, events.ModelCallStarted(self.member.id, sent.attempt))
                if self.context.followed:
                    for event in streamed.told(sent.attempt, delta):
                        announce(self.context, event)
                if sent.first is None and not delta.again:
                    sent.first = perf_counter()
                completion = delta.completion or completion
        finally:
            if isinstance(pieces, AsyncGenerator):  # closed now and not when it is collected, so that the connection ends here (M3.4)
                await cast("AsyncGenerator[Delta]", pieces).aclose()
        return completion

    def _model_failed(self, cause: Exception) -> ModelFailed:
        return ModelFailed(cause=cause, node_id=self.context.node_id, task_id=self.context.task_id)

    def _failed(self, middleware: str, cause: Exception) -> MiddlewareFailed:
        return MiddlewareFailed(middleware=middleware, cause=cause, node_id=self.context.node_id, task_id=self.context.task_id)
