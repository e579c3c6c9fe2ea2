"""Handoffs and the family: agent.md 10.8 and section 7."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.agent import Agent, AgentMiddleware, AgentNode, Blocked, Completed, GuardrailMiddleware, Handoff, StepLimitReached
from llm4s_notebook.agent import events as agent_events
from llm4s_notebook.agent._handoff import MIXED_BATCH
from llm4s_notebook.agent._turn import TRANSFER
from llm4s_notebook.checkpoint import Checkpointer
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.graph import RunContext
from llm4s_notebook.guardrails import WordList
from llm4s_notebook.models import AssistantMessage, ModelRequest, ScriptedClient, SystemMessage, UserMessage, calls, compact

from .support import ConfirmTool, Wrap, call, deploy_into, echo, gated_into, policy, roles, tool_texts, waiting

TO_PHYSICS = calls(call("h1", "handoff_to_physics", reason="it is about light"))


def family(store: Checkpointer | None = None, *, root: ScriptedClient, physics: ScriptedClient, **more: object) -> Agent:
    expert = Agent("physics", physics, system_prompt="You know physics.", tools=echo, description="knows physics")
    return Agent("triage", root, system_prompt="You sort.", handoffs=[Handoff(expert, **more)], runtime=store)  # type: ignore[arg-type]  # settings of Handoff


async def test_a_handoff_is_answered_by_the_target_with_its_own_prompt_and_tools(store: Checkpointer):
    """HO-01, HO-02, 7.1, 7.3."""
    root, physics = ScriptedClient(TO_PHYSICS), ScriptedClient("light is a wave", "and a particle")
    agent = family(store, root=root, physics=physics)
    result = await agent.run("what is light?", thread_id="t")
    assert (result.status, result.active_agent) == (Completed("light is a wave"), "physics")
    assert roles(result.messages) == ["user", "assistant", "tool", "assistant"]
    assert tool_texts(result.messages) == ["Transferred to physics"]
    assert physics.requests[0].messages[0] == SystemMessage("You know physics.")
    assert [spec.name for spec in physics.requests[0].tools] == ["echo"]
    (offered,) = root.requests[0].tools
    assert offered.name == "handoff_to_physics"
    assert "knows physics" in offered.description
    assert offered.parameters["required"] == ["reason"]
    second = await agent.run("really?", thread_id="t")
    assert second.answer == "and a particle"
    assert (len(root.requests), len(physics.requests)) == (1, 2)


async def test_a_handoff_beside_other_calls_runs_nothing_and_asks_the_same_agent_again():
    """HO-03, 7.2, 8.7.1: every call gets the rule; two steps."""
    ran: list[str] = []
    expert = Agent("physics", ScriptedClient())
    message = calls(call("c1", "deploy", what="x"), call("h1", "handoff_to_physics", reason="r"), call("c2", "nothing"))
    client = ScriptedClient(message, "done")
    agent = Agent("triage", client, tools=deploy_into(ran), handoffs=expert, max_steps=2)
    result = await agent.run("go", thread_id="t")
    rule = '{"error":"A handoff must be the only tool call in a message; no call in this message was run"}'
    assert tool_texts(result.messages) == [rule] * 3
    assert (ran, result.active_agent, result.answer) == ([], "triage", "done")
    assert not result.state.is_set(TRANSFER)
    records = await agent.runtime.checkpointer.events_after("t", 0)
    told = [agent_events.decode(one.event.name, one.event.payload) for one in records if type(one.event).__name__ == "Custom"]
    assert [(one.call_id, one.tool, one.outcome) for one in told if isinstance(one, agent_events.ToolExecuted)] == [
        ("c1", "deploy", "Errored"),
        ("c2", "<unknown>", "Errored"),
    ]


async def test_two_handoffs_in_one_message_are_refused_too():
    """HO-04, 7.2: every call gets the rule, no transfer is recorded, and the refusal costs a step."""
    message = calls(call("h1", "handoff_to_a", reason="r"), call("h2", "handoff_to_b", reason="r"))
    client = ScriptedClient(message, message, "never")
    agent = Agent("root", client, handoffs=[Agent("a", ScriptedClient()), Agent("b", ScriptedClient())], max_steps=2)
    result = await agent.run("go")
    assert tool_texts(result.messages) == [compact({"error": MIXED_BATCH})] * 4
    assert (result.active_agent, result.state.is_set(TRANSFER)) == ("root", False)
    assert (result.status, len(client.requests)) == (StepLimitReached(), 2)


async def test_without_context_the_target_is_sent_the_last_question_and_the_transfer_only():
    """HO-05, 7.8: the history stays whole; the next turn too."""
    root, physics = ScriptedClient("hello", TO_PHYSICS), ScriptedClient("a wave", "yes")
    agent = family(root=root, physics=physics, preserve_context=False)
    await agent.run("hi", thread_id="t")
    result = await agent.run("what is light?", thread_id="t")
    assert roles(result.messages) == ["user", "assistant", "user", "assistant", "tool", "assistant"]
    assert physics.requests[0].messages == (SystemMessage("You know physics."), *result.messages[2:5])
    second = await agent.run("really?", thread_id="t")
    assert physics.requests[1].messages == (SystemMessage("You know physics."), *second.messages[2:7])


async def test_an_approval_inside_the_target_waits_at_the_targets_node(store: Checkpointer):
    """HO-06."""
    ran: list[str] = []
    target = Agent("target", ScriptedClient(calls(call("c1", "gated", what="x")), "done"), tools=gated_into(ran))
    root = Agent("root", ScriptedClient(calls(call("h1", "handoff_to_target", reason="r"))), handoffs=target, runtime=store)
    result = await root.run("go", thread_id="t")
    pending = await root.runtime.pending("t", root.graph)
    assert pending is not None
    assert [one.resume_node for one in pending.interrupts] == ["target/approval"]
    assert result.pending[0].owner == "target"
    done = await root.resume("t", [review.approve() for review in result.pending])
    assert (done.status, ran) == (Completed("done"), ["x"])


async def test_the_step_count_is_the_turns_and_each_agent_applies_its_own_limit():
    """HO-07, 1.4.3: a target with a used-up limit makes no call."""
    physics = ScriptedClient("never")
    target = Agent("physics", physics, max_steps=1)
    root = Agent("triage", ScriptedClient(TO_PHYSICS), handoffs=target)
    result = await root.run("go", thread_id="t")
    assert (result.status, physics.requests, result.answer) == (StepLimitReached(), [], None)
    assert await root.result("t") == result


async def test_an_answer_on_the_last_allowed_step_completes():
    """HO-09."""
    agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="a")), "done"), tools=echo, max_steps=2)
    assert (await agent.run("go")).status == Completed("done")


async def test_each_turn_has_its_own_steps():
    """HO-10, 1.4.3: exactly three model calls per turn."""
    endless = [calls(call(f"c{n}", "echo", text="x")) for n in range(6)]
    client = ScriptedClient(*endless)
    agent = Agent("assistant", client, tools=echo, max_steps=3)
    for turn in (1, 2):
        result = await agent.run("go", thread_id="t")
        assert result.status == StepLimitReached()
        assert len(client.requests) == 3 * turn
    run = await agent.with_(client=ScriptedClient(*endless)).start("go")
    assert (await run).status == StepLimitReached()


async def test_the_system_prompt_is_first_in_every_request_and_never_stored():
    """HO-11, 1.3.4."""
    client = ScriptedClient(calls(call("c1", "echo", text="a")), "done", "again")
    agent = Agent("assistant", client, system_prompt="Be brief.", tools=echo)
    await agent.run("go", thread_id="t")
    result = await agent.run("more", thread_id="t")
    assert [request.messages[0] for request in client.requests] == [SystemMessage("Be brief.")] * 3
    assert all(message.role != "system" for message in result.messages)


async def test_usage_over_several_calls_is_summed():
    """HO-15, 1.5.1."""
    client = ScriptedClient(calls(call("c1", "echo", text="a")), calls(call("c2", "echo", text="b")), "done")
    usage = (await Agent("assistant", client, tools=echo).run("go")).usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens, list(usage.by_model)) == (3, 30, 60, ["scripted"])


async def test_a_handoff_the_agent_does_not_have_is_an_unknown_tool():
    """HO-16."""
    agent = Agent("assistant", ScriptedClient(calls(call("h1", "handoff_to_triage", reason="r")), "done"), tools=echo)
    assert tool_texts((await agent.run("go")).messages) == ['{"error":"Unknown tool \'handoff_to_triage\'"}']


async def test_two_agents_may_hand_over_to_each_other():
    """api.md: a callable lets two agents name each other; one graph for both."""
    ping: Agent
    pong = Agent("pong", ScriptedClient(calls(call("h2", "handoff_to_ping", reason="r"))), handoffs=Handoff(lambda: ping))
    ping = Agent("ping", ScriptedClient(calls(call("h1", "handoff_to_pong", reason="r")), "done"), handoffs=Handoff(lambda: pong))
    result = await ping.run("go")
    assert (result.status, result.active_agent) == (Completed("done"), "ping")
    assert ping.family == ("ping", "pong")
    assert pong.family == ("pong", "ping")
    assert ping.graph.id == "ping"


def test_what_is_wrong_with_a_family_is_told_at_once():
    """1.1.8, 7.1: bad ids, two agents of one id, two handoffs to one target, a tool with a handoff's name."""
    with pytest.raises(ConfigError, match=r"\[a-zA-Z0-9_-\]\{1,52\}"):
        Agent("a b", ScriptedClient())
    with pytest.raises(ConfigError, match="must match"):
        Agent("a" * 53, ScriptedClient())
    from llm4s_notebook.agent import tool

    @tool
    async def handoff_to_x() -> str:
        """Not a handoff."""
        return ""

    one, other = Agent("x", ScriptedClient()), Agent("x", ScriptedClient())
    with pytest.raises(ConfigError) as refused:
        Agent("root", ScriptedClient(), tools=handoff_to_x, handoffs=[one, other])
    assert refused.value.problems == (
        "agent 'root': tool 'handoff_to_x' has the name of a handoff",
        "agent 'root' hands over to 'x' twice",
    )
    with pytest.raises(ConfigError, match="two different agents of the family have the id 'x'"):
        Agent("root", ScriptedClient(), handoffs=[one, Agent("y", ScriptedClient(), handoffs=other)])
    with pytest.raises(ConfigError, match="neither an Agent nor a Handoff"):
        Agent("root", ScriptedClient(), handoffs=["x"])  # type: ignore[list-item]  # the mistake under test


async def test_a_guardrail_on_the_root_guards_the_targets_answer():
    """6.1.6: the answering agent's hooks, then the root's."""
    root = Agent(
        "triage",
        ScriptedClient(TO_PHYSICS),
        handoffs=Agent("physics", ScriptedClient("bad")),
        middleware=GuardrailMiddleware(output=[WordList(["bad"])]),
    )
    assert isinstance((await root.run("go")).status, Blocked)


async def test_a_target_with_a_question_of_its_own_is_answered_at_its_own_node():
    """1.1.3: node ids begin with the agent's id."""
    target = Agent("target", ScriptedClient(calls(call("c1", "confirm", text="x")), "done"), tools=ConfirmTool())
    root = Agent("root", ScriptedClient(calls(call("h1", "handoff_to_target", reason="r"))), handoffs=target)
    result = await root.run("go", thread_id="t")
    pending = await root.runtime.pending("t", root.graph)
    assert pending is not None
    assert pending.interrupts[0].resume_node == "target/ask/confirm"
    assert result.pending[0].answer_schema["properties"]["ok"] == {"type": "boolean"}
    done = await root.resume("t", [review.reply({"ok": True}) for review in result.pending])
    assert done.answer == "done"
    assert waiting(result).questions


async def test_an_imported_history_of_calls_and_results_is_checked():
    """1.4.1: a valid conversation, no system message, only into a new thread; before any thread is touched."""
    agent = Agent("assistant", ScriptedClient("done", "again"))
    for history, problem in (
        ([SystemMessage("s")], "system messages are not imported; prompts belong to agents"),
        ([UserMessage("u"), calls(call("c1", "echo", text="a"))], "tool call 'c1' has no result"),
    ):
        with pytest.raises(ConfigError, match=problem) as refused:
            await agent.run("go", thread_id="t", history=history)
        assert refused.value.field == "history"
    assert (await agent.runtime.checkpointer.head("t")).checkpoint_id is None
    result = await agent.run("go", thread_id="t", history=[UserMessage("u"), AssistantMessage("a")])
    assert roles(result.messages) == ["user", "assistant", "user", "assistant"]
    before = await agent.runtime.checkpointer.head("t")
    with pytest.raises(ConfigError, match="history is imported only into a new thread"):
        await agent.run("go", thread_id="t", history=[UserMessage("u")])
    assert await agent.runtime.checkpointer.head("t") == before


async def test_a_gate_and_a_model_wrapper_belong_to_the_agent_they_were_given_to(store: Checkpointer):
    """7.4: the root's approvals do not gate the target's tools; its boundary hooks guard the family."""
    ran: list[str] = []
    seen: list[str] = []

    async def model(request: ModelRequest, context: RunContext, next: Any) -> Any:
        seen.append(context.node_id)
        return await next(request)

    async def text(text: str, _context: Any) -> str:
        return f"{text}!"

    def target(*middleware: AgentMiddleware) -> Agent:
        client = ScriptedClient(calls(call("c1", "deploy", what="x")), "done")
        return Agent("target", client, tools=deploy_into(ran), middleware=middleware)

    def root(target: Agent) -> Agent:
        return Agent(
            "root",
            ScriptedClient(calls(call("h1", "handoff_to_target", reason="r"))),
            handoffs=target,
            middleware=[policy("deploy"), Wrap("wrap", model=model, before=text, after=text)],
            runtime=store,
        )

    result = await root(target()).run("go", thread_id="t")
    assert (result.answer, ran, seen) == ("done!", ["x"], ["root/model"])
    assert result.messages[0].content == "go!"  # type: ignore[union-attr]  # a user message
    gated = await root(target(policy("deploy"))).run("go", thread_id="u")
    ((_, request),) = waiting(gated).approvals.items()
    assert (request.source, ran) == ("policy", ["x"])


async def test_context_is_left_out_only_of_what_a_target_is_sent_after_that_handoff(store: Checkpointer):
    """7.8: another agent that hands over to it with context sends all; the last user message before the transfer is kept."""
    expert = ScriptedClient("one", calls(call("h3", "handoff_to_helper", reason="r")), "two")
    helper = ScriptedClient(calls(call("h4", "handoff_to_expert", reason="r")))
    agents: dict[str, Agent] = {}
    agents["helper"] = Agent("helper", helper, handoffs=Handoff(lambda: agents["expert"]))
    agents["expert"] = Agent("expert", expert, handoffs=Handoff(lambda: agents["helper"]))
    client = ScriptedClient("hello", calls(call("h1", "handoff_to_expert", reason="r")))
    root = Agent("root", client, handoffs=Handoff(agents["expert"], preserve_context=False), runtime=store)
    await root.run("first question", thread_id="t")
    result = await root.run("second question", thread_id="t")
    assert [message.content for message in expert.requests[0].messages] == ["second question", None, "Transferred to expert"]  # type: ignore[union-attr]  # all have content
    assert len(result.messages) == 6
    done = await root.run("third question", thread_id="t")
    assert done.answer == "two"
    sent = [[message.content for message in request.messages] for request in expert.requests]  # type: ignore[union-attr]  # all have content
    assert sent[1] == ["second question", None, "Transferred to expert", "one", "third question"]
    assert sent[2] == [message.content for message in done.messages[:-1]]  # type: ignore[union-attr]  # all have content
    assert sent[2][:2] == ["first question", "hello"]


async def test_a_handoff_ends_with_the_turn_only_when_the_turn_is_taken_back(store: Checkpointer):
    """7.3, 7.7: given up while the target waits, the root is active again; otherwise the target begins the next turn."""
    target = Agent("target", ScriptedClient(calls(call("c1", "gated", what="x")), "hello", "again"), tools=gated_into([]))
    handoff = calls(call("h1", "handoff_to_target", reason="r"))
    root = Agent("root", ScriptedClient(handoff, handoff), handoffs=target, runtime=store)
    waits = await root.run("go", thread_id="t")
    assert waits.active_agent == "target"
    given_up = await root.abandon("t")
    assert (given_up.active_agent, given_up.state.is_set(TRANSFER)) == ("root", False)
    first = await root.run("go", thread_id="t")
    second = await root.run("more", thread_id="t")
    assert (first.answer, second.answer, second.active_agent) == ("hello", "again", "target")


async def test_no_breakpoint_and_no_gate_arises_from_a_refused_batch():
    """7.2: no call of it reaches its tool's node."""
    message = calls(call("c1", "deploy", what="x"), call("h1", "handoff_to_physics", reason="r"))
    agent = Agent(
        "triage",
        ScriptedClient(message, "done"),
        tools=deploy_into([]),
        middleware=policy("deploy"),
        handoffs=Agent("physics", ScriptedClient()),
        interrupt_before=AgentNode.TOOL,
    )
    assert (await agent.run("go")).status == Completed("done")


async def test_a_turn_that_is_taken_back_leaves_the_handoff_it_began_with(store: Checkpointer):
    """7.7, 6.1.4: an earlier turn's transfer is still the last one, and what the target is sent still begins there (7.8)."""
    expert = ScriptedClient("good", calls(call("h2", "handoff_to_root", reason="r")), "fine")
    agents: dict[str, Agent] = {}
    agents["expert"] = Agent("expert", expert, handoffs=Handoff(lambda: agents["root"]))
    client = ScriptedClient("hello", calls(call("h1", "handoff_to_expert", reason="r")), "bad")
    agents["root"] = root = Agent(
        "root",
        client,
        handoffs=Handoff(agents["expert"], preserve_context=False),
        middleware=GuardrailMiddleware(output=[WordList(["bad"])]),
        runtime=store,
    )
    await root.run("one", thread_id="t")
    before = await root.run("two", thread_id="t")
    blocked = await root.run("three", thread_id="t")
    assert isinstance(blocked.status, Blocked)
    assert (blocked.active_agent, blocked.state[TRANSFER]) == ("expert", before.state[TRANSFER])
    assert before.state[TRANSFER] is not None
    done = await root.run("four", thread_id="t")
    assert done.answer == "fine"
    sent = [message.content for message in expert.requests[2].messages]  # type: ignore[union-attr]  # all have content
    assert sent == ["two", None, "Transferred to expert", "good", "four"]
