"""The pipeline of one tool call, first time and whenever it is continued (3.2-3.7, 4.6)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import ConfigError, DecodeError, EncodeError, ToolFailed, printable
from ..graph import Command, RunContext, Suspend, ThreadState
from ..models import Json, ToolCall, ToolMessage, ToolResultOutcome
from . import events
from ._argument_faults import InvalidArguments
from ._arguments import arguments_for
from ._asking_middleware import AskingMiddleware
from ._asking_tool import AskingTool
from ._call_secrets import CALL_SECRETS, CallSecrets, secrets_of
from ._codec import Codec, json_path, to_json
from ._conceal import NOTHING_SECRET, Concealer
from ._context import ToolContext, idempotency_key
from ._decision import GivenAnswer
from ._family import Family, Member, MemberNodes
from ._messages import MESSAGES, TOOL_RESULTS, EditCall, RecordedResult, error_text, result_text
from ._outcome import DENIED, Ask, Fatal, NeedsApproval, Success, ToolError, ToolOutcome
from ._request import ApprovalRequest, MiddlewareHook, MiddlewareQuestionRequest, ToolQuestionRequest
from ._secrets import NO_VALUE
from ._tool import AgentTool
from ._tool_chain import Made, ToolChain, said
from .events import ExecutedOutcome, announce

_OUTCOMES: dict[ToolResultOutcome, ExecutedOutcome] = {
    "succeeded": "Succeeded",
    "errored": "Errored",
    "denied": "Denied",
    "rejected": "Rejected",
}


@dataclass(frozen=True, slots=True)
class CallWork:
    """One call as a task finds it. `edited` says that the history must get its arguments, and `secrets` are those the edit
    came with; `question` and `reply` belong to a tool that goes on after its own question."""

    call: ToolCall
    message_id: str
    approved: bool = False
    answers: tuple[GivenAnswer, ...] = ()
    edited: bool = False
    secrets: Mapping[str, Json] | None = field(default=None, repr=False)
    question: ToolQuestionRequest | None = None
    reply: Json = field(default=None, repr=False)


def _question_codecs(tool: AgentTool) -> tuple[Codec[Any] | None, Codec[Any] | None]:
    """The types of a tool's questions and answers; none for a tool that asks none."""
    return (tool.question_codec, tool.answer_codec) if isinstance(tool, AskingTool) else (None, None)


class CallTask:
    """One task that works on one call; used once."""

    def __init__(self, family: Family, member: Member, work: CallWork, state: ThreadState, context: RunContext) -> None:
        self._member = member
        self._nodes: MemberNodes = family.nodes[member.id]
        self._timer = family.timer
        self._work = work
        self._call = work.call
        self._secrets = work.secrets if work.secrets is not None else secrets_of(state, work.message_id, work.call.id)
        self._conceal = NOTHING_SECRET
        if self._secrets or work.question is not None:
            self._conceal = Concealer({**self._secrets, **self._reply_secrets(work.question)})
        self._run = context
        self._tool_context = ToolContext(
            call_id=work.call.id,
            approved=work.approved,
            state=state,
            run=context,
            idempotency_key=idempotency_key(context.birth_id, work.message_id, work.call.id),
            agent=member.id,
            answers=work.answers,
        )

    async def run(self) -> Command | Suspend[Any, Any]:
        """The call's recorded result, or its suspension. Raises: ToolFailed, MiddlewareFailed, a wrapper's refusal, CancelledError."""
        tool = self._member.tools.get(self._call.name)
        if tool is None:
            return self._result(error_text(f"Unknown tool '{self._call.name}'"), "errored", tool=events.UNKNOWN_TOOL)
        prepared = self._prepare(tool)
        if isinstance(prepared, ToolError):
            return self._result(error_text(prepared.message), "errored")
        if self._run.followed:
            announce(self._run, events.ToolCallStarted(self._call.id, tool.name, self._call.arguments))
        started = self._timer()
        made = await ToolChain(self._member, tool, self._call, self._tool_context, prepared, self._conceal.outcome).run()
        return self._map(tool, made, self._timer() - started)

    def rejected(self, reason: str) -> Command:
        """A reviewer refused the call: nothing runs (3.5.3)."""
        name = self._call.name if self._call.name in self._member.tools else events.UNKNOWN_TOOL
        return self._result(error_text(f"Rejected: {reason}"), "rejected", tool=name)

    # -- before the chain --------------------------------------------------------------------------------------------

    def _prepare(self, tool: AgentTool) -> Callable[[], Awaitable[ToolOutcome]] | ToolError:
        """What to run at the centre of the chain, or why the call is refused before it."""
        if self._work.question is not None:
            return self._prepare_resume(tool, self._work.question)
        try:
            arguments = self._arguments(tool)
            first = [tool.decode(arguments)]
        except asyncio.CancelledError:
            raise
        except Exception as error:  # a validator or check of the tool's may raise anything (3.2.1)
            return self._invalid(tool, error)

        async def body() -> ToolOutcome:
            # A wrapper may run the tool again; what the tool did to its arguments the first time must not show then (D12).
            return await tool.execute(first.pop() if first else tool.decode(arguments), self._tool_context)

        return body

    def _prepare_resume(self, tool: AgentTool, asked: ToolQuestionRequest) -> Callable[[], Awaitable[ToolOutcome]] | ToolError:
        """The first of arguments, question and answer that does not decode is the call's error result (3.7.3)."""
        questions, replies = _question_codecs(tool)
        if questions is None or replies is None:
            return ToolError(f"Invalid question for '{tool.name}': the tool asks no questions any more")
        asking = cast(AskingTool[Any, Any, Any], tool)
        try:
            arguments = self._arguments(tool)
            args: Any = asking.decode_again(arguments)
        except Exception as error:  # as in _prepare
            return self._invalid(asking, error)
        try:
            question = questions.decode(asked.question)
        except DecodeError as error:
            return ToolError(f"Invalid question for '{tool.name}': {'; '.join(error.problems)}")
        try:
            reply = replies.decode(self._work.reply)
        except DecodeError as error:
            return ToolError(self._conceal.text(f"Invalid answer for '{tool.name}': {'; '.join(error.problems)}"))
        if unknown := replies.unknown_secrets(self._work.reply):
            problems = [f"{json_path(path)}: {NO_VALUE}" for path in unknown]
            return ToolError(f"Invalid answer for '{tool.name}': {'; '.join(problems)}")
        first = [(args, question, reply)]

        async def body() -> ToolOutcome:  # as in _prepare
            given = (
                first.pop()
                if first
                else (asking.decode_again(arguments), questions.decode(asked.question), replies.decode(self._work.reply))
            )
            return await asking.resume(*given, self._tool_context)

        return body

    def _arguments(self, tool: AgentTool) -> Json:
        """The arguments as the tool is to have them, secrets included. Raises: InvalidArguments."""
        return arguments_for(tool, self._member.secret_places.get(tool.name), self._call.arguments, self._secrets)

    def _reply_secrets(self, asked: ToolQuestionRequest | None) -> Mapping[str, Json]:
        """What is secret of the answer that a tool goes on with."""
        tool = self._member.tools.get(self._call.name)
        if asked is None or tool is None or (replies := _question_codecs(tool)[1]) is None:
            return {}
        places = replies.secret_places()
        return {} if places is None else places.hide(self._work.reply, self._secrets).values

    def _invalid(self, tool: AgentTool, error: Exception) -> ToolError:
        detail = str(error) if isinstance(error, InvalidArguments) else said(error)
        return ToolError(self._conceal.text(f"Invalid arguments for '{tool.name}': {detail}"))

    # -- after the chain ---------------------------------------------------------------------------------------------

    def _map(self, tool: AgentTool, made: Made, duration: float) -> Command | Suspend[Any, Any]:
        match made.outcome:
            case Success():
                return self._succeeded(tool, made.outcome, duration)
            case ToolError(message=message):
                denied = str(message).startswith(DENIED)
                return self._result(error_text(message), "denied" if denied else "errored", duration)
            case NeedsApproval(reason=reason):
                return self._needs_approval(tool, made, printable(str(reason)), duration)
            case Ask(question=question):
                return self._asks(tool, made, question, duration)
            case Fatal(error=error):
                if isinstance(error, asyncio.CancelledError):
                    raise error
                raise self._failed(tool, error if isinstance(error, BaseException) else RuntimeError(str(error)))  # pyright: ignore[reportUnnecessaryIsInstance]  # as a text it says as much

    def _succeeded(self, tool: AgentTool, outcome: Success, duration: float) -> Command:
        if not isinstance(outcome.update, Command):  # pyright: ignore[reportUnnecessaryIsInstance]  # tools are not always typed
            problem = f"a tool's update is a Command, not {type(outcome.update).__name__}"
            raise self._failed(tool, ConfigError(field="update", problems=[problem]))
        if outcome.update.routes:
            raise self._failed(tool, ConfigError(field="update", problems=["a tool's update may not carry routes"]))
        if outcome.update.updates and (undeclared := self._undeclared(tool, outcome.update)):
            named = ", ".join(f"'{key}'" for key in undeclared)
            problem = f"it updates {named}, which neither the tool nor a middleware of agent '{self._member.id}' declares"
            raise self._failed(tool, ConfigError(field="writes", problems=[problem]))
        try:
            content = result_text(to_json(outcome.content))
        except (EncodeError, ValueError, RecursionError) as error:
            detail = "; ".join(error.problems) if isinstance(error, EncodeError) else said(error)
            return self._result(error_text(f"Tool '{tool.name}' failed: its result has no JSON form: {detail}"), "errored", duration)
        return self._result(content, "succeeded", duration).combine(outcome.update)

    def _undeclared(self, tool: AgentTool, update: Command) -> list[str]:
        """Ids of keys that an update may not touch."""
        allowed = self._member.may_write(tool)
        return list(dict.fromkeys(op.key.id for op in update.updates if op.key not in allowed))

    def _needs_approval(self, tool: AgentTool, made: Made, reason: str, duration: float) -> Command | Suspend[Any, Any]:
        asker = f"Tool '{tool.name}'" if made.source is None else f"Middleware '{made.source.id}'"
        if self._work.question is not None:
            return self._result(error_text(f"{asker} asked for approval after a question: {reason}"), "errored", duration)
        if self._work.approved:
            return self._result(error_text(f"{asker} asked for approval again: {reason}"), "errored", duration)
        source = "tool" if made.source is None else made.source.id
        request = ApprovalRequest(self._call, reason, source, self._work.message_id, self._work.answers)
        self._executed("NeedsApproval", duration)
        return Suspend(request, self._nodes.approval, self._edit())

    def _asks(self, tool: AgentTool, made: Made, question: object, duration: float) -> Command | Suspend[Any, Any]:
        if made.source is not None:
            return self._middleware_asks(tool, made.source, question, duration)
        node = self._nodes.ask.get(tool.name)
        questions, _ = _question_codecs(tool)
        if questions is None or node is None:
            raise self._failed(tool, ConfigError(field="question", problems=[f"tool '{tool.name}' asked a question it does not declare"]))
        encoded = self._encoded(tool, questions, question, f"tool '{tool.name}'")
        request = ToolQuestionRequest(self._call, encoded, self._work.approved, self._work.message_id, self._work.answers)
        self._executed("Asked", duration)
        return Suspend(request, node, self._edit())

    def _middleware_asks(self, tool: AgentTool, source: object, question: object, duration: float) -> Command | Suspend[Any, Any]:
        id = getattr(source, "id", "")
        if not isinstance(source, AskingMiddleware) or source.question_codec is None:
            raise self._failed(tool, ConfigError(field="question", problems=[f"middleware '{id}' asked a question it does not declare"]))
        encoded = self._encoded(tool, source.question_codec, question, f"middleware '{id}'")
        if self._work.question is not None:
            return self._result(error_text(f"Middleware '{id}' asked a question after a tool question"), "errored", duration)
        request = MiddlewareQuestionRequest(
            agent=self._member.id,
            middleware=id,
            hook=MiddlewareHook.WRAP_TOOL_CALL,
            question=encoded,
            call=self._call,
            approved=self._work.approved,
            answers=self._work.answers,
            message_id=self._work.message_id,
        )
        self._executed("Asked", duration)
        return Suspend(request, self._nodes.asked[id, MiddlewareHook.WRAP_TOOL_CALL], self._edit())

    def _encoded(self, tool: AgentTool, codec: Codec[Any], question: object, asker: str) -> Json:
        try:
            return self._conceal.json(codec.encode(question))
        except EncodeError as error:
            problem = f"{asker} asked a question of another type: {'; '.join(error.problems)}"
            raise self._failed(tool, ConfigError(field="question", problems=[problem])) from error

    # -- what is recorded --------------------------------------------------------------------------------------------

    def _edit(self) -> Command:
        """The history's share of an edit, committed with whatever the call comes to (3.5.4)."""
        command = Command()
        if self._work.edited:
            command = command.update(MESSAGES, EditCall(self._work.message_id, self._call.id, self._call.arguments))
        if self._work.secrets is not None:
            command = command.update(CALL_SECRETS, CallSecrets(self._work.message_id, self._call.id, self._work.secrets))
        return command

    def _result(self, content: str, outcome: ToolResultOutcome, duration: float = 0.0, *, tool: str | None = None) -> Command:
        is_error = outcome != "succeeded"
        id = f"{self._run.task_id}/tool/{self._call.id}"
        message = ToolMessage(content, self._call.id, is_error, outcome, id)
        self._executed(_OUTCOMES[outcome], duration, tool)
        if self._run.followed:
            announce(self._run, events.ToolCallResult(self._call.id, content, is_error))
        return self._edit().update(TOOL_RESULTS, RecordedResult(self._work.message_id, self._run.task_id, message))

    def _executed(self, outcome: ExecutedOutcome, duration: float, tool: str | None = None) -> None:
        announce(self._run, events.ToolExecuted(self._member.id, self._call.id, tool or self._call.name, duration, outcome))

    def _failed(self, tool: AgentTool, cause: BaseException) -> ToolFailed:
        failed = ToolFailed(tool=tool.name, call_id=self._call.id, cause=cause, node_id=self._run.node_id, task_id=self._run.task_id)
        failed.what = self._conceal.text(failed.what)
        return failed.placed(failed.where, failed.next_step)
