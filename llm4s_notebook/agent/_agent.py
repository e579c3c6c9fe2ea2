"""An agent: a model with tools and middleware, run turn by turn on threads (1.1, 1.4, 2.4)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ..checkpoint import Checkpointer
from ..errors import ConfigError, PendingInterrupts, RestoreRejected, ThreadNotFound
from ..graph import Answers, BreakpointPhase, GraphRuntime, RunConfig, RunHandle, bare, given_answers
from ..models import ChatClient, Message, is_blank
from ._abandon import abandon_turn
from ._argument_faults import ArgumentFault
from ._build import Problems, Settings, settings_problems, version_of
from ._compile import AgentGraph, compile_family
from ._edit import edit_problems
from ._family import Family, Member
from ._given import many_given, plain_problems, steps_given, tools_given
from ._handoff import Handoff
from ._lineage import is_open, trace
from ._listening import Listening
from ._middleware import AgentMiddleware
from ._node_ids import AgentNode, breakpoint_nodes
from ._read import Reader, schemas_of
from ._rebuild import agents_of, rebuilt
from ._refusals import StoredVersion, explained, naming
from ._result import AgentResult
from ._run import AgentRun
from ._status import Suspended
from ._sync import run_blocking
from ._tool import AgentTool
from ._turn_input import TurnInput, check_history, check_query

T = TypeVar("T")
_CONFIG = RunConfig()


class Agent:
    """A model with tools and middleware. Every agent it can hand over to is compiled with it into one graph, its `graph`.

    Without a `runtime` its threads live in memory and end with the process. `version` fixes the graph's version, which
    otherwise is a digest of the settings (2.4.11). `description` tells other agents what this one is for.
    """

    def __init__(
        self,
        id: str,
        client: ChatClient,
        *,
        system_prompt: str | None = None,
        tools: Iterable[AgentTool | Callable[..., Any]] | AgentTool | Callable[..., Any] = (),
        middleware: Iterable[AgentMiddleware] | AgentMiddleware = (),
        handoffs: Iterable[Agent | Handoff] | Agent | Handoff = (),
        max_steps: int = 50,
        stream: bool = False,
        interrupt_before: Iterable[AgentNode] | AgentNode = (),
        interrupt_after: Iterable[AgentNode] | AgentNode = (),
        runtime: GraphRuntime | Checkpointer | None = None,
        version: str | None = None,
        description: str | None = None,
    ) -> None:
        """Raises: ConfigError listing every problem. Where a handoff names its target by a callable, what concerns the family
        is checked when the agent is first used."""
        problems = Problems()
        plain_problems(problems, system_prompt, description, version, max_steps, stream)
        if isinstance(system_prompt, str) and is_blank(system_prompt):
            system_prompt = None
        self.id = id
        self.description = description
        self._version = version
        self._given: dict[str, Any] = {
            "id": id,
            "client": client,
            "system_prompt": system_prompt,
            "tools": tools_given(tools, problems),
            "middleware": many_given("middleware", middleware, problems, AgentMiddleware),
            "handoffs": many_given("handoffs", handoffs, problems, Agent, Handoff),
            "max_steps": max_steps,
            "stream": stream,
            "interrupt_before": steps_given("interrupt_before", interrupt_before, problems),
            "interrupt_after": steps_given("interrupt_after", interrupt_after, problems),
            "version": version,
            "description": description,
        }
        strangers: list[object] = [one for one in self._given["handoffs"] if not isinstance(one, Agent | Handoff)]
        self.settings = Settings(
            id=id,
            client=client,
            system_prompt=system_prompt,
            tools=self._given["tools"],
            middleware=self._given["middleware"],
            max_steps=max_steps,
            stream=stream,
            handoffs=tuple(Handoff(one) if isinstance(one, Agent) else one for one in self._given["handoffs"]),
            interrupt_before=self._given["interrupt_before"],
            interrupt_after=self._given["interrupt_after"],
            description=description,
        )
        settings_problems(self.settings, problems)
        problems.add("handoffs", [f"{one!r} is neither an Agent nor a Handoff" for one in strangers])
        if runtime is not None and not isinstance(runtime, GraphRuntime | Checkpointer):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
            problems.add("runtime", [f"{runtime!r} is neither a GraphRuntime nor a Checkpointer"])
        problems.check()
        self.runtime = (
            runtime if isinstance(runtime, GraphRuntime) else GraphRuntime(runtime) if runtime is not None else GraphRuntime.in_memory()
        )
        self._given["runtime"] = self.runtime
        self._built: Reader | None = None
        self._held: tuple[frozenset[str], frozenset[str]] = (frozenset(), frozenset())
        if not is_open(self.settings):
            self._build()

    def __repr__(self) -> str:
        return f"Agent({self.id!r})"

    # -- what it is made of ------------------------------------------------------------------------------------------

    @property
    def graph(self) -> AgentGraph:
        """The agent and its family as one compiled graph, named after the agent."""
        return self._build().graph

    @property
    def family(self) -> tuple[str, ...]:
        """The ids of the agents in its graph, this one first."""
        return tuple(self._build().family.members)

    def with_(self, *, agent: str | None = None, **changes: Any) -> Agent:
        """The same agent with some constructor arguments changed; it shares the runtime unless that is changed.

        `agent` names the agent of its family whose arguments they are; the family around it stays as it is. Raises: ConfigError.
        """
        unknown = [name for name in changes if name not in self._given]
        if unknown:
            raise ConfigError(field="with_", problems=[f"an agent has no setting '{name}'" for name in unknown])
        if agent is None:
            return Agent(**{**self._given, **changes})
        family = agents_of(self)
        if agent not in family:
            raise ConfigError(field="with_", problems=[f"agent '{agent}' is not in the family of '{self.id}'"])
        return rebuilt(self, family, agent, changes)

    def breakpoint_nodes(self, node: AgentNode, phase: BreakpointPhase, agent: str | None = None) -> frozenset[str]:
        """The node ids that a breakpoint on a step of an agent of the family holds (5.2). Raises: ConfigError for an unknown agent."""
        family = self._build().family
        at = agent or self.id
        if at not in family.members:
            raise ConfigError(field="agent", problems=[f"agent '{at}' is not in the family of '{self.id}'"])
        return breakpoint_nodes(family, at, AgentNode(node), BreakpointPhase(phase))

    @property
    def held(self) -> tuple[frozenset[str], frozenset[str]]:
        """The node ids that its own breakpoints and its family's hold, before and after (5.2)."""
        self._build()
        return self._held

    def tool(self, agent: str, name: str) -> AgentTool | None:
        """A tool of an agent of the family, its middleware's included; None where there is none of that name."""
        member = self._build().family.members.get(agent)
        return None if member is None else member.tools.get(name)

    def member(self, agent: str) -> Member | None:
        """An agent of the family as the loop sees it: its prompt, its client, its tools; None where there is none of that id."""
        return self._build().family.members.get(agent)

    def middleware(self, agent: str, id: str) -> AgentMiddleware | None:
        """A middleware of an agent of the family; None where there is none of that id."""
        member = self._build().family.members.get(agent)
        return None if member is None else next((one for one in member.stack.all if one.id == id), None)

    # -- turns -------------------------------------------------------------------------------------------------------

    async def run(
        self, query: str, *, thread_id: str | None = None, config: RunConfig = _CONFIG, history: Iterable[Message] = ()
    ) -> AgentResult:
        """Start a turn and wait for it; without `thread_id` on a fresh thread. When cancelled, the turn is cancelled (D2).

        Raises: ConfigError for a blank query, a bad or unexpected history, or an unknown breakpoint node; PendingInterrupts,
        IncompleteRun, ThreadBusy, RestoreRejected; what ended the turn.
        """
        return await (await self._started(query, thread_id, config, history)).finished()

    async def resume(self, thread_id: str, answers: Answers, config: RunConfig = _CONFIG) -> AgentResult:
        """Answer some or all of what a turn waits for, and wait until it ends or waits again.

        Raises: InvalidResume naming every bad answer, and then none was taken; NotSuspended, ThreadBusy, RestoreRejected,
        ConfigError; what ended the turn.
        """
        return await (await self._resumed(thread_id, answers, config)).finished()

    async def recover(self, thread_id: str, config: RunConfig = _CONFIG) -> AgentResult:
        """Continue a turn that failed, was cancelled or lost its process; what finished is not run again.

        Raises: NothingToRecover, PendingInterrupts, ThreadBusy, RestoreRejected, ConfigError; what ended the turn.
        """
        return await (await self._recovered(thread_id, config)).finished()

    async def start(
        self, query: str, *, thread_id: str | None = None, config: RunConfig = _CONFIG, history: Iterable[Message] = ()
    ) -> AgentRun:
        """Start a turn and return once it is admitted. Raises: as `run`, but not what ends the turn."""
        return await self._started(query, thread_id, config, history, listening=True)

    async def start_resume(self, thread_id: str, answers: Answers, config: RunConfig = _CONFIG) -> AgentRun:
        """Answer and return once the answers are taken. Raises: as `resume`, but not what ends the turn."""
        return await self._resumed(thread_id, answers, config, listening=True)

    async def start_recover(self, thread_id: str, config: RunConfig = _CONFIG) -> AgentRun:
        """Continue and return once admitted. Raises: as `recover`, but not what ends the turn."""
        return await self._recovered(thread_id, config, listening=True)

    def run_sync(
        self, query: str, *, thread_id: str | None = None, config: RunConfig = _CONFIG, history: Iterable[Message] = ()
    ) -> AgentResult:
        """`run` for a script, a thread, or a cell without await."""
        return run_blocking("run_sync", self.run(query, thread_id=thread_id, config=config, history=history))

    def resume_sync(self, thread_id: str, answers: Answers, config: RunConfig = _CONFIG) -> AgentResult:
        """`resume` for a script, a thread, or a cell without await."""
        return run_blocking("resume_sync", self.resume(thread_id, answers, config))

    def recover_sync(self, thread_id: str, config: RunConfig = _CONFIG) -> AgentResult:
        """`recover` for a script, a thread, or a cell without await."""
        return run_blocking("recover_sync", self.recover(thread_id, config))

    # -- threads -----------------------------------------------------------------------------------------------------

    async def result(self, thread_id: str) -> AgentResult:
        """The thread as stored, whatever version of the agent stored it (D14).

        Raises: ThreadNotFound; RestoreRejected for a thread of another agent.
        """
        latest = await self.runtime.checkpointer.latest(thread_id)
        if latest is None:
            raise ThreadNotFound(thread_id=thread_id)
        return self._build().stored(latest.checkpoint)

    async def opened(self, thread_id: str) -> tuple[AgentResult, RestoreRejected | None]:
        """The thread as stored, and why this agent could not go on with it: None where it can (D14).

        Raises: ThreadNotFound; RestoreRejected for a thread of another agent.
        """
        latest = await self.runtime.checkpointer.latest(thread_id)
        if latest is None:
            raise ThreadNotFound(thread_id=thread_id)
        built, header = self._build(), latest.checkpoint.header
        result = built.stored(latest.checkpoint)
        if (header.graph_version, header.fingerprint) == (built.graph.version, built.graph.fingerprint):
            return result, None
        try:
            built.graph.restore(latest.checkpoint)
        except RestoreRejected as rejected:
            return result, await self._explained(rejected, thread_id)
        return result, None

    def settled(self, result: AgentResult) -> tuple[Message, ...]:
        """The messages before the turn that is open, all where none is: what a new thread may begin with (1.4.1)."""
        return result.messages[: self._build().settled_messages(result)]

    async def abandon(self, thread_id: str) -> AgentResult:
        """Give up a waiting or unfinished turn: it is retracted, and the thread is usable at once. Usage stays.

        Raises: ThreadNotFound; NothingToRecover when no turn is open; ThreadBusy; RestoreRejected.
        """
        built = self._build()
        try:
            await abandon_turn(self.runtime, built, thread_id)
        except RestoreRejected as rejected:
            raise await self._explained(rejected, thread_id) from rejected
        return await self.result(thread_id)

    async def forget(self, thread_id: str) -> None:
        """Delete the thread; an unknown one is fine. Raises: ThreadBusy while a turn runs on it (1.4.5)."""
        await self.runtime.delete_thread(thread_id)

    def check_edit(self, result: AgentResult, id: str, arguments: Mapping[str, Any]) -> tuple[ArgumentFault, ...]:
        """What is wrong with other arguments for an approval of this result; `str()` of each is a "path: reason" line (3.3.6, D25).

        Dots that were left stand for the secrets they stand for in the call (3.8.4). Empty where the tool takes them, and where
        there is nothing to check: no approval of that id, or a tool that the agent no longer has.
        """
        request = result.status.approvals.get(id) if isinstance(result.status, Suspended) else None
        owner = next((review.owner for review in result.pending if review.id == id), None)
        if request is None or owner is None:
            return ()
        return edit_problems(self._build().family.members[owner], request, arguments, result.state)

    # -- admission: `listening` keeps what the run tells from its beginning for whoever asks for its events ----------

    async def _started(
        self, query: str, thread_id: str | None, config: RunConfig, history: Iterable[Message], *, listening: bool = False
    ) -> AgentRun:
        built = self._build()
        check_query(query)
        imported = tuple(history)
        if imported:
            await check_history(imported, thread_id, self.runtime.checkpointer)
            imported = built.without_secrets(imported)
        at = thread_id if thread_id is not None else str(uuid.uuid4())
        admission = self.runtime.start(at, built.graph, TurnInput(query, imported), self._config(config))
        return await self._admitted(at, admission, listening)

    async def _resumed(self, thread_id: str, answers: Answers, config: RunConfig, *, listening: bool = False) -> AgentRun:
        graph = self._build().graph
        given = [(id, bare(value)) for id, value in given_answers(answers)]
        return await self._admitted(thread_id, self.runtime.resume(thread_id, graph, given, self._config(config)), listening)

    async def _recovered(self, thread_id: str, config: RunConfig, *, listening: bool = False) -> AgentRun:
        graph = self._build().graph
        return await self._admitted(thread_id, self.runtime.recover(thread_id, graph, self._config(config)), listening)

    async def _admitted(self, thread_id: str, admission: Any, listening: bool) -> AgentRun:
        built = self._build()
        early = Listening(self.runtime, thread_id) if listening else None
        try:
            handle: RunHandle = await admission
        except BaseException as refused:
            if early is not None:
                early.close()
            if isinstance(refused, PendingInterrupts):
                raise await self._what_waits(refused) from None
            if isinstance(refused, RestoreRejected):
                raise await self._explained(refused, thread_id) from refused
            raise
        return AgentRun(handle, built, self.runtime, early)

    # -- inner -------------------------------------------------------------------------------------------------------

    async def _explained(self, rejected: RestoreRejected, thread_id: str) -> RestoreRejected:
        """The same refusal with the ways on, which depend on what has changed (D14)."""
        latest = await self.runtime.checkpointer.latest(thread_id)
        if latest is None or rejected.damaged or latest.checkpoint.graph_id != self.id:
            return explained(rejected, thread_id, None)
        header = latest.checkpoint.header
        graph = self._compiled(header.graph_version).graph
        built = self._build()
        settled = built.settled_messages(built.stored(latest.checkpoint))
        return explained(rejected, thread_id, StoredVersion(header.graph_version, graph.fingerprint == header.fingerprint, settled))

    async def _what_waits(self, waiting: PendingInterrupts) -> PendingInterrupts:
        """The same refusal, naming what waits (F23)."""
        try:
            stored = await self.result(waiting.thread_id)
        except RestoreRejected:
            return waiting
        return naming(waiting, stored)

    def _config(self, config: RunConfig) -> RunConfig:
        """The run's own breakpoints with those of every agent of the family (5.1.1, 5.3.1)."""
        before, after = self._held
        if not before and not after:
            return config
        return replace(config, interrupt_before=config.interrupt_before | before, interrupt_after=config.interrupt_after | after)

    def _build(self) -> Reader:
        """The compiled family; made once. Raises: ConfigError for what is wrong with the family."""
        if self._built is None:
            self._built = self._compiled(self._version)
        return self._built

    def _compiled(self, version: str | None) -> Reader:
        """The family under a version, or under the digest of its parts."""
        lineage = trace(self.settings)
        family = Family(self.id, lineage.members())
        parts = lineage.parts()
        graph = compile_family(family, version=version or version_of(parts), parts=parts)
        self._held = lineage.held_nodes(family)
        return Reader(family, graph, schemas_of(family))
