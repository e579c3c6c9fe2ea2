"""A family of agents as one graph (1.1): nodes are declared, then given what they do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..graph import Answer, Block, Command, CompiledGraph, GraphBuilder, NodeRef, ResumeRef, RunContext, StateKey, Suspend, ThreadState
from ._asking_middleware import AskingMiddleware
from ._call import CallTask, CallWork
from ._call_input import CallInput
from ._codec import Codec
from ._collect import COLLECT_WRITES, collect
from ._decision import Approve, Decision, Edit, GivenAnswer, Reject
from ._edit import edited_work
from ._ends import FINISH_WRITES, INPUT_WRITES, let_out, take_in
from ._family import Family, Member, MemberNodes
from ._messages import MESSAGES, TOOL_RESULTS
from ._model_node import MODEL_WRITES, call_model
from ._node_ids import INPUT, approval_node, ask_node, asked_node, batch_join, call_tool_node, collect_node, finish_node, model_node
from ._request import ApprovalRequest, MiddlewareHook, MiddlewareQuestionRequest, ToolQuestionRequest
from ._turn import LOOP_KEYS, TURN, Outcome
from ._turn_input import TurnInput

DEFAULT_REJECTION: str = Answer.reject("").value["reason"]
AgentGraph = CompiledGraph[TurnInput, Outcome | None]
_Result = Command | Suspend[Any, Any] | Block | None


def compile_family(family: Family, *, version: str, parts: Mapping[str, str]) -> AgentGraph:
    """Compile the family; `family.nodes` is filled on the way. The graph's id is the root's (1.1.1)."""
    builder = GraphBuilder(family.root, version=version, parts=parts)
    entry: NodeRef[TurnInput] = builder.declare(INPUT, input=TurnInput)
    family.nodes = {id: _declared(builder, member) for id, member in family.members.items()}
    models = [nodes.model for nodes in family.nodes.values()]
    members = family.members.values()
    builder.reads(*LOOP_KEYS, *family.secret_keys)

    @builder.implement(entry, writes=INPUT_WRITES, routes=models, bookkeeping=not any(member.stack.before for member in members))
    async def take(given: TurnInput, state: ThreadState, context: RunContext) -> _Result:
        return await take_in(family, given, (), state, context)

    assert take is entry
    for member in members:
        _implement(builder, family, member)
    return builder.compile(entry, output=lambda state: state[TURN].outcome)


def _declared(builder: GraphBuilder, member: Member) -> MemberNodes:
    agent = member.id
    collect_ref: NodeRef[None] = builder.declare(collect_node(agent))
    return MemberNodes(
        model=builder.declare(model_node(agent)),
        call_tool=builder.declare(call_tool_node(agent), input=CallInput),
        approval=builder.declare_resume(approval_node(agent), question=ApprovalRequest, answer=cast(Any, Decision)),
        ask={
            tool.name: builder.declare_resume(ask_node(agent, tool.name), question=ToolQuestionRequest, answer=cast(Any, Any))
            for tool in member.tools.values()
            if tool.question_type is not None
        },
        asked={
            (middleware.id, hook): builder.declare_resume(
                asked_node(agent, middleware.id, hook), question=MiddlewareQuestionRequest, answer=_answers_of(middleware).checked_json()
            )
            for middleware in member.stack.asking.values()
            for hook in MiddlewareHook
        },
        collect=collect_ref,
        finish=builder.declare(finish_node(agent)),
        batch=builder.dynamic_join(batch_join(agent), collect_ref),
    )


def _answers_of(middleware: AskingMiddleware[Any, Any]) -> Codec[Any]:
    codec = middleware.answer_codec
    assert codec is not None  # the stack was checked
    return codec


def _implement(builder: GraphBuilder, family: Family, member: Member) -> None:
    nodes = family.nodes[member.id]
    targets = [family.nodes[route.target].model for route in member.handoffs.values()]
    model_routes = [nodes.call_tool, nodes.batch, nodes.finish, *targets, *([nodes.model] if targets else [])]
    call_writes: tuple[StateKey[Any, Any], ...] = (MESSAGES, TOOL_RESULTS, *family.secret_keys, *member.all_writes())
    model_writes = (*MODEL_WRITES, *family.secret_keys)
    guarded = any(one.stack.after for one in family.guards(member.id))

    async def model(_none: None, state: ThreadState, context: RunContext) -> _Result:
        return await call_model(family, member, (), state, context)

    async def call_tool(given: CallInput, state: ThreadState, context: RunContext) -> _Result:
        return await CallTask(family, member, CallWork(given.call, given.message_id), state, context).run()

    async def finish(_none: None, state: ThreadState, context: RunContext) -> _Result:
        return await let_out(family, (), state, context)

    async def gather(_none: None, state: ThreadState, context: RunContext) -> _Result:
        return collect(nodes, state, context)

    builder.implement(nodes.model, writes=model_writes, routes=model_routes)(model)
    builder.implement(nodes.call_tool, writes=call_writes)(call_tool)
    builder.implement(nodes.finish, writes=FINISH_WRITES, bookkeeping=not guarded)(finish)
    builder.implement(nodes.collect, writes=(*COLLECT_WRITES, *family.secret_keys), routes=nodes.model, bookkeeping=True)(gather)
    _implement_approval(builder, family, member, call_writes)
    for ref in nodes.ask.values():
        _implement_ask(builder, family, member, ref, call_writes)
    for (middleware, hook), ref in nodes.asked.items():
        _implement_asked(builder, family, member, middleware, hook, ref, call_writes, model_routes)


def _implement_approval(builder: GraphBuilder, family: Family, member: Member, writes: tuple[StateKey[Any, Any], ...]) -> None:
    async def approval(given: Any, state: ThreadState, context: RunContext) -> _Result:
        request: ApprovalRequest = given.question
        decision: Decision = given.answer
        match decision:
            case Approve():
                work = CallWork(request.call, request.message_id, approved=True, answers=request.answers)
            case Edit(arguments=arguments):
                work = edited_work(member, request, arguments, state)
            case Reject(reason=reason):
                said = reason if reason.strip() else DEFAULT_REJECTION  # a blank one would not say that a person decided (F14)
                return CallTask(family, member, CallWork(request.call, request.message_id), state, context).rejected(said)
        return await CallTask(family, member, work, state, context).run()

    builder.implement(family.nodes[member.id].approval, writes=writes)(approval)


def _implement_ask(
    builder: GraphBuilder,
    family: Family,
    member: Member,
    ref: ResumeRef[ToolQuestionRequest, Any],
    writes: tuple[StateKey[Any, Any], ...],
) -> None:
    async def ask(given: Any, state: ThreadState, context: RunContext) -> _Result:
        asked: ToolQuestionRequest = given.question
        work = CallWork(asked.call, asked.message_id, asked.approved, asked.answers, question=asked, reply=given.answer)
        return await CallTask(family, member, work, state, context).run()

    builder.implement(ref, writes=writes)(ask)


def _implement_asked(
    builder: GraphBuilder,
    family: Family,
    member: Member,
    middleware: str,
    hook: MiddlewareHook,
    ref: ResumeRef[MiddlewareQuestionRequest, Any],
    call_writes: tuple[StateKey[Any, Any], ...],
    model_routes: list[Any],
) -> None:
    async def again(given: Any, state: ThreadState, context: RunContext) -> _Result:
        asked: MiddlewareQuestionRequest = given.question
        answers = (*asked.answers, GivenAnswer(asked.agent, asked.middleware, asked.question, given.answer))
        match hook:
            case MiddlewareHook.BEFORE_AGENT:
                return await take_in(family, TurnInput(asked.input or "", asked.history), answers, state, context)
            case MiddlewareHook.WRAP_MODEL_CALL:
                return await call_model(family, member, answers, state, context)
            case MiddlewareHook.AFTER_AGENT:
                return await let_out(family, answers, state, context)
            case MiddlewareHook.WRAP_TOOL_CALL:
                assert asked.call is not None  # a tool wrapper's question names its call
                work = CallWork(asked.call, asked.message_id, asked.approved, answers)
                return await CallTask(family, member, work, state, context).run()

    writes: Mapping[MiddlewareHook, tuple[StateKey[Any, Any], ...]] = {
        MiddlewareHook.BEFORE_AGENT: INPUT_WRITES,
        MiddlewareHook.WRAP_MODEL_CALL: (*MODEL_WRITES, *family.secret_keys),
        MiddlewareHook.WRAP_TOOL_CALL: call_writes,
        MiddlewareHook.AFTER_AGENT: FINISH_WRITES,
    }
    routes: Mapping[MiddlewareHook, list[Any]] = {
        MiddlewareHook.BEFORE_AGENT: [nodes.model for nodes in family.nodes.values()],
        MiddlewareHook.WRAP_MODEL_CALL: model_routes,
        MiddlewareHook.WRAP_TOOL_CALL: [],
        MiddlewareHook.AFTER_AGENT: [],
    }
    builder.implement(ref, writes=writes[hook], routes=routes[hook])(again)
