"""Another prompt, other options: what the form shows, what it takes, and when it holds (W4.5)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from llm4s_notebook.agent import Agent, Handoff
from llm4s_notebook.checkpoint import Checkpointer, InMemoryCheckpointer
from llm4s_notebook.errors import ConfigError, StoreUnavailable
from llm4s_notebook.models import ModelRequest, ScriptedClient, ToolCall, calls, chat_client
from llm4s_notebook.review import Session
from llm4s_notebook.review._agent_form import FormRefused, changed
from llm4s_notebook.wire import EditorView

from .asking_graph import asking
from .browser import Browser, settled
from .turns import SLOW, Shop, until

FORM = "agent:assistant"


class Failing(InMemoryCheckpointer):
    """A store that can be read no more while `failing`."""

    failing = False

    async def latest(self, thread_id: str) -> Any:
        if self.failing:
            raise StoreUnavailable(path="here", reason="gone")
        return await super().latest(thread_id)


def editor(session: Session) -> EditorView:
    view = session.state().editor
    assert view is not None
    return view


def prompts(agent: Agent) -> list[str]:
    """The system prompt of every request that the agent's client was sent."""
    client: Any = agent.settings.client
    requests: list[ModelRequest] = client.requests
    return [str(request.messages[0].content) for request in requests]


def provider(**options: Any) -> Any:
    return chat_client("openai:gpt-5", api_key="sk-not-to-be-seen", base_url="http://127.0.0.1:1/v1", **options)


async def test_the_form_shows_prompt_and_options_and_no_key():
    session = Session(Agent("assistant", provider(temperature=0.2, stop=["END"]), system_prompt="one"))
    (form,) = editor(session).agents
    assert form.values == {"system_prompt": "one", "options": {"temperature": 0.2, "stop": ["END"]}}
    offered: Any = form.form["properties"]
    assert list(offered["options"]["properties"]) == ["temperature", "top_p", "max_tokens", "seed", "stop", "timeout"]
    assert "sk-not" not in session.state().model_dump_json()
    assert "127.0.0.1" not in editor(session).model_dump_json()


async def test_a_client_without_options_shows_only_the_prompt_and_says_so():
    session = Session(Shop().agent("hi", system_prompt="one"))
    (form,) = editor(session).agents
    assert form.values == {"system_prompt": "one"}
    assert list(form.form["properties"]) == ["system_prompt"]  # type: ignore[arg-type]
    assert form.about == "Model: scripted (ScriptedClient). It has no options to set here."


async def test_a_client_whose_options_cannot_be_read_has_none_to_set():
    """W4.5: somebody's own client does not take the document with it."""

    class Broken(ScriptedClient):
        def option_schema(self) -> dict[str, Any]:
            raise RuntimeError("no schema")

        def option_values(self) -> dict[str, Any]:
            return {}

        def with_options(self, **changes: Any) -> Broken:
            return self

    session = Session(Agent("assistant", Broken("hi"), system_prompt="one"))
    assert editor(session).agents[0].values == {"system_prompt": "one"}


async def test_on_a_new_thread_a_change_simply_applies():
    agent = Shop().agent("hi", system_prompt="one")
    session = Session(agent, "t")
    browser = Browser(session)
    reply = await browser.ask(kind="change_agent", agent="assistant", value={"system_prompt": "two"})
    assert (reply.kind, reply.said) == ("done", "applied")
    assert (editor(session).offer, editor(session).said) == (None, "changed")
    assert isinstance(session.target, Agent)
    assert session.target.settings.system_prompt == "two"
    await session.run("hello")
    assert prompts(agent) == ["two"]


async def test_other_options_apply_on_any_thread_and_keep_model_and_key(store: Checkpointer):
    """2.4.10: options are no part of the version."""
    shop = Shop()
    await Session(shop.agent("hi", store=store), "t").run("hello")
    session = Session(Agent("assistant", provider(temperature=0.2), tools=shop.tools(), runtime=store), "t")
    await session.refresh()
    browser = Browser(session)
    value = {"options": {"temperature": 0.9, "max_tokens": 50}}
    assert (await browser.ask(kind="change_agent", agent="assistant", value=value)).said == "applied"
    assert isinstance(session.target, Agent)
    assert repr(session.target.settings.client) == (
        "chat_client('openai:gpt-5', temperature=0.9, max_tokens=50, base_url='http://127.0.0.1:1/v1')"
    )
    assert editor(session).agents[0].code == (
        "agent = agent.with_(\n    client=agent.settings.client.with_options(temperature=0.9, max_tokens=50),\n)"
    )


async def test_an_option_left_out_goes_back_to_its_default():
    session = Session(Agent("assistant", provider(temperature=0.2, timeout=5.0)))
    await Browser(session).ask(kind="change_agent", agent="assistant", value={"options": {}})
    assert editor(session).agents[0].values == {"options": {}}
    assert editor(session).agents[0].code == (
        "agent = agent.with_(\n    client=agent.settings.client.with_options(temperature=None, timeout=None),\n)"
    )


WRONG: dict[str, tuple[dict[str, Any], list[tuple[list[str], str]]]] = {
    "out of range": ({"options": {"temperature": 3}}, [(["options", "temperature"], "less than or equal to 2")]),
    "several": (
        {"system_prompt": 7, "options": {"top_p": 0, "max_tokens": "5"}},
        [(["system_prompt"], "must be text"), (["options", "top_p"], "greater than 0"), (["options", "max_tokens"], "valid integer")],
    ),
    "a key": ({"options": {"api_key": "x"}}, [(["options", "api_key"], "no such option")]),
    "an address": ({"options": {"base_url": "http://elsewhere"}}, [(["options", "base_url"], "no such option")]),
    "null": ({"options": {"seed": None}}, [(["options", "seed"], "left out")]),
    "a stranger": ({"tools": []}, [(["tools"], "no such field")]),
    "no object": ({"options": [1]}, [(["options"], "must be an object")]),
}


@pytest.mark.parametrize("kind", list(WRONG))
async def test_every_problem_is_told_on_its_field_and_nothing_is_changed(kind: str):
    """W4.5, W2.7, D4."""
    agent = Agent("assistant", provider(temperature=0.2), system_prompt="one")
    session = Session(agent)
    browser = Browser(session)
    await browser.ask(kind="save_draft", id=FORM, draft={"value": WRONG[kind][0]})
    reply = await browser.ask(kind="change_agent", agent="assistant", value=WRONG[kind][0])
    assert (reply.kind, reply.error.type) == ("refused", "FormRefused")
    found = [(problem.path, problem.message) for problem in reply.problems]
    assert [path for path, _ in found] == [path for path, _ in WRONG[kind][1]]
    assert all(part in message for (_, message), (_, part) in zip(found, WRONG[kind][1], strict=True))
    assert {problem.interrupt_id for problem in reply.problems} == {FORM}
    assert session.target is agent
    assert session.drafts.all() == {FORM: {"value": WRONG[kind][0]}}


async def test_half_a_character_is_told_on_the_prompt():
    """W4.5: a message may carry it though no field writes it; the agent says what is wrong, and where is the form's to say."""
    agent = Agent("assistant", provider(), system_prompt="one")
    with pytest.raises(FormRefused) as refused:
        changed(agent, "assistant", {"system_prompt": "a\ud800", "options": {}})
    assert refused.value.faults == ((("system_prompt",), "system_prompt holds half a character, at position 1"),)


async def test_options_of_a_client_that_has_none_are_refused():
    reply = await Browser(Session(Shop().agent("hi"))).ask(kind="change_agent", agent="assistant", value={"options": {"temperature": 1}})
    assert [(problem.path, problem.message) for problem in reply.problems] == [(["options"], "ScriptedClient has no options to set here")]


async def test_an_agent_that_is_not_in_the_family_is_refused():
    reply = await Browser(Session(Shop().agent("hi"))).ask(kind="change_agent", agent="other", value={})
    assert (reply.kind, reply.error.type) == ("refused", "ConfigError")


@pytest.mark.parametrize("prompt", ["  \n", "\u200b"], ids=ascii)
async def test_a_blank_prompt_is_none(prompt: str):
    session = Session(Shop().agent("hi", system_prompt="one"))
    await Browser(session).ask(kind="change_agent", agent="assistant", value={"system_prompt": prompt})
    assert editor(session).agents[0].values == {}
    assert editor(session).agents[0].code == "agent = agent.with_(\n    system_prompt=None,\n)"


PROMPTS = {
    "lines": 'Be "brief".\nAsk first.',
    "quotes": 'Say """so""".\nAlways',
    "ends with a quote": 'a\nb"',
    "backslash": "C:\\new\nb",
    "returns": "a\r\nb",
    "one line": "it's",
    "unseen": "a\n\u202eb",
}


@pytest.mark.parametrize("kind", list(PROMPTS))
async def test_as_code_gives_the_same_prompt(kind: str):
    """W4.5: what was found is taken into the notebook unchanged."""
    agent = Shop().agent("hi", system_prompt="one")
    session = Session(agent)
    await Browser(session).ask(kind="change_agent", agent="assistant", value={"system_prompt": PROMPTS[kind]})
    code = editor(session).agents[0].code
    assert code is not None
    names: dict[str, Any] = {"agent": agent}
    exec(code, names)
    assert names["agent"].settings.system_prompt == PROMPTS[kind]
    assert names["agent"].graph.version == session.target.graph.version  # type: ignore[union-attr]


async def test_one_agent_of_a_family_is_changed_and_the_rest_stays():
    """W4.5: also where two hand over to each other."""
    client = ScriptedClient(calls(ToolCall("h1", "handoff_to_support", {"reason": "r"})), "helped")
    front = Agent("front", client, system_prompt="front", handoffs=[Handoff(lambda: support)])
    support = Agent("support", client, system_prompt="support", handoffs=[front])
    session = Session(front)
    assert [form.id for form in editor(session).agents] == ["front", "support"]
    await Browser(session).ask(kind="change_agent", agent="support", value={"system_prompt": "other"})
    assert [form.values["system_prompt"] for form in editor(session).agents] == ["front", "other"]
    code = editor(session).agents[0].code
    assert code == "agent = agent.with_(\n    agent='support',\n    system_prompt='other',\n)"
    await session.run("help")
    assert prompts(front) == ["front", "other"]


async def test_what_is_begun_is_kept_for_other_views_and_a_reload_and_goes_when_it_applies():
    """W1.4."""
    session = Session(Shop().agent("hi", system_prompt="one"))
    first, second = Browser(session), Browser(session)
    draft = {"value": {"system_prompt": "half"}}
    assert (await first.ask(kind="save_draft", id=FORM, draft=draft)).kind == "done"
    assert second.received[-1].drafts == {FORM: draft}
    assert (await second.ask("again", kind="hello")).drafts == {FORM: draft}
    assert (await first.ask(kind="save_draft", id="agent:stranger", draft=draft)).kind == "refused"
    await first.ask(kind="change_agent", agent="assistant", value={"system_prompt": "whole"})
    assert second.received[-1].drafts == {}


async def test_while_a_run_is_under_way_it_applies_afterwards_and_says_so():
    """W3.2, W4.5."""
    shop = Shop()
    agent = shop.agent(SLOW, "out", "next", system_prompt="one", version="1")
    session = Session(agent, "t")
    browser = Browser(session)
    running = asyncio.ensure_future(session.run("go"))
    await shop.started.wait()
    reply = await browser.ask(kind="change_agent", agent="assistant", value={"system_prompt": "two"})
    assert reply.said == "applies when the run under way has ended"
    assert editor(session).said == "applies when the run under way has ended"
    assert editor(session).agents[0].values == {"system_prompt": "two"}
    later = asyncio.ensure_future(session.run("and then"))
    shop.gate.set()
    await running
    await later
    assert prompts(agent) == ["one", "one", "two"]
    assert editor(session).said == "changed"


async def test_a_change_that_does_not_come_about_after_the_run_is_shown_and_a_draft_again():
    """W4.5, W1.4: nothing typed is lost."""
    shop, store = Shop(), Failing()
    agent = shop.agent(SLOW, "out", store=store, system_prompt="one")
    session = Session(agent, "t")
    browser = Browser(session)
    running = asyncio.ensure_future(session.run("go"))
    await shop.started.wait()
    await browser.ask(kind="change_agent", agent="assistant", value={"system_prompt": "two"})
    assert session.drafts.all() == {}
    store.failing = True
    shop.gate.set()
    await running
    await until(lambda: bool(session.drafts.all()))
    assert session.drafts.all() == {FORM: {"value": {"system_prompt": "two"}}}
    assert isinstance(session.error, StoreUnavailable)
    assert (session.target, editor(session).agents[0].values) == (agent, {"system_prompt": "one"})


async def test_it_may_be_changed_from_another_thread_and_loop():
    """D23."""
    agent = Shop().agent("hi", system_prompt="one")
    session = Session(agent, "t")
    await session.refresh()
    await asyncio.to_thread(lambda: asyncio.run(session.use(agent.with_(system_prompt="two"))))
    assert (await session.run("hello")).answer == "hi"
    assert prompts(agent) == ["two"]


async def test_with_a_fixed_version_it_applies_to_a_thread_that_waits(store: Checkpointer):
    """D14: the one who fixes the version says that the thread may go on."""
    from .turns import deployment

    shop = Shop()
    agent = shop.agent(calls(deployment()), "out", store=store, system_prompt="one", version="1")
    session = Session(agent, "t")
    await session.run("ship")
    reply = await Browser(session).ask(kind="change_agent", agent="assistant", value={"system_prompt": "two"})
    assert (reply.said, session.offer) == ("applied", None)
    await session.answer({session.state().pending[0].id: {"decision": "approve"}})
    assert prompts(agent) == ["one", "two"]
    assert shop.ran == ["deploy prod 1.0"]


async def test_a_view_that_only_shows_changes_nothing():
    """W2.13."""
    agent = Shop().agent("hi", system_prompt="one")
    session = Session(agent, "t")
    await session.run("hello")
    replies: list[Any] = []
    for number, body in enumerate(
        (
            {"kind": "change_agent", "agent": "assistant", "value": {"system_prompt": "two"}},
            {"kind": "go_on", "way": "new_thread", "thread_id": "t"},
        )
    ):
        session.handle({"request_id": f"r{number}", "body": body}, replies.append, read_only=True)
    await until(lambda: len(replies) == 2)
    assert [reply.kind for reply in replies] == ["refused", "refused"]
    assert (session.target, session.thread_id) == (agent, "t")


async def test_a_graph_has_no_editor_and_refuses():
    session = Session(asking()[0])
    assert session.state().editor is None
    bodies: list[dict[str, Any]] = [
        {"kind": "change_agent", "agent": "a", "value": {}},
        {"kind": "go_on", "way": "back", "thread_id": session.thread_id},
    ]
    for body in bodies:
        reply = await Browser(session).ask(f"r {body['kind']}", **body)
        assert (reply.kind, reply.error.type) == ("refused", "ConfigError")
    with pytest.raises(ConfigError):
        await session.use(Shop().agent("hi"))


async def test_in_code_an_agent_of_another_id_or_store_is_refused():
    session = Session(Shop().agent("hi", system_prompt="one"), "t")
    for other in (Shop().agent("hi"), Shop().agent("hi", agent_id="other"), "two"):
        with pytest.raises(ConfigError):
            await session.use(other)  # type: ignore[arg-type]
    assert editor(session).agents[0].values == {"system_prompt": "one"}


async def test_when_the_store_fails_nothing_is_changed_and_it_can_be_applied_again():
    """W4.5: all or nothing."""

    store = Failing()
    agent = Shop().agent("hi", "new", store=store, system_prompt="one")
    session = Session(agent, "t")
    await session.run("hello")
    browser = Browser(session)
    await browser.ask(kind="save_draft", id=FORM, draft={"value": {"system_prompt": "two"}})
    store.failing = True
    reply = await browser.ask(kind="change_agent", agent="assistant", value={"system_prompt": "two"})
    assert (reply.kind, reply.error.type) == ("refused", "StoreUnavailable")
    assert (session.target, session.offer, editor(session).agents[0].values) == (agent, None, {"system_prompt": "one"})
    assert FORM in session.drafts.all()
    store.failing = False
    await browser.ask(kind="change_agent", agent="assistant", value={"system_prompt": "two"})
    assert session.offer is not None
    store.failing = True
    for way in ("old_agent", "new_thread", "empty_thread"):
        assert (await browser.ask(kind="go_on", way=way, thread_id="t")).error.type == "StoreUnavailable"
    assert session.thread_id == "t"
    store.failing = False
    assert (await browser.ask(kind="go_on", way="new_thread", thread_id="t")).kind == "done"
    await settled(session)
