"""The widgets against a front end in the process: what is sent, what is taken, and the twins without a front end."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, SecretStr

from llm4s_notebook.agent import Agent, ApprovalMiddleware, tool
from llm4s_notebook.errors import ConfigError
from llm4s_notebook.graph import BreakpointPhase
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session, _observers
from llm4s_notebook.widgets import Console, GraphView, ReviewPanel, Transcript

from ..review.turns import Region, Shop, deployment, deployments, guarded, until
from .front_end import FakeFrontEnd


async def waiting(*versions: str, **settings: Any) -> tuple[Shop, Session]:
    shop = Shop()
    session = Session(shop.agent(deployments(*versions or ("1.0",)), "out", **settings), "t")
    await session.run("ship")
    return shop, session


def approve(id: str) -> dict[str, Any]:
    return {"kind": "submit", "decisions": [{"decision": "approve", "id": id}]}


@pytest.mark.parametrize(
    ("make", "view", "read_only"),
    [
        (Console, "console", False),
        (ReviewPanel, "panel", False),
        (lambda session: ReviewPanel(session, read_only=True), "panel", True),
        (GraphView, "graph", False),
        (Transcript, "transcript", False),
    ],
)
async def test_every_widget_sends_the_sessions_document_and_what_it_draws(front: FakeFrontEnd, make: Any, view: str, read_only: bool):
    """W1.1: one document for all of them; the forms of its editor and which view it is are traits of their own."""
    _, session = await waiting()
    widget = make(session)
    assert front.states[widget.model_id]["options"] == {"read_only": read_only, "view": view}
    assert front.document(widget) == widget.state
    assert front.document(widget)["pending"][0]["title"] == "deploy wants your approval"
    assert front.states[widget.model_id]["_esm"]
    await session.answer(session.result.pending[0].approve())
    assert front.document(widget)["status"] == "completed"
    whole = session.state().model_dump(mode="json") | {"updated_at_ms": front.document(widget)["updated_at_ms"]}
    assert front.states[widget.model_id]["agents"] == whole["editor"].pop("agents")
    assert front.document(widget) == whole


@pytest.mark.parametrize("make", [Console, ReviewPanel, Transcript, GraphView])
def test_what_is_no_session_is_refused_before_a_widget_is_there(front: FakeFrontEnd, make: Any, monkeypatch: pytest.MonkeyPatch):
    """W1.1: the error says what to write; what is half made is closed without a word."""
    gc.collect()  # what earlier tests left is theirs to tell of
    said: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", said.append)
    with pytest.raises(ConfigError, match=r"it shows a Session.*, not str"):
        make("ship")
    gc.collect()
    assert [one for one in said if "widget" in f"{one.object!r}".lower()] == []
    assert front.states == {}


def test_an_agent_is_not_yet_a_session(front: FakeFrontEnd):
    """W1.1."""
    agent: Any = Shop().agent("x")
    with pytest.raises(ConfigError, match=r"give it one: Console\(Session\(agent\)\)"):
        Console(agent)


async def test_a_request_is_answered_by_exactly_one_message(front: FakeFrontEnd):
    """W1.5: over the widget's own comm."""
    shop, session = await waiting("1.0", "2.0")
    console = Console(session)
    hello = front.ask(console, {"kind": "hello"})
    click = front.ask(console, approve("2.0"))
    bad = front.ask(console, {"kind": "nothing"})
    await until(lambda: all(front.reply(id) for id in (hello, click, bad)) and not session.running)
    assert [len(front.replies(id)) for id in (hello, click, bad)] == [1, 1, 1]
    assert [front.replies(id)[0]["kind"] for id in (hello, click, bad)] == ["welcome", "done", "refused"]
    assert shop.ran == ["deploy prod 1.0"]


async def test_prompts_are_sent_when_they_change_and_not_with_each_document(front: FakeFrontEnd):
    """W4.5: the forms of a family are most of a document; both arrive in one message."""
    shop = Shop()
    session = Session(shop.agent(calls(deployment()), "out", system_prompt="a long prompt"), "t")
    console = Console(session)
    updates: list[dict[str, Any]] = []
    front.heard = lambda data: updates.append(data["state"]) if data.get("method") == "update" else None
    assert front.states[console.model_id]["agents"][0]["values"]["system_prompt"] == "a long prompt"
    await session.run("ship")
    assert updates
    assert "a long prompt" not in json.dumps(updates)
    assert isinstance(session.target, Agent)
    await session.use(session.target.with_(system_prompt="a new prompt"))
    changed = [update for update in updates if "a new prompt" in json.dumps(update)]
    assert [sorted(update) for update in changed] == [["agents", "state"]]
    assert "agents" not in changed[0]["state"]["editor"]
    assert front.states[console.model_id]["agents"][0]["values"]["system_prompt"] == "a new prompt"
    assert Transcript(session).agents == console.agents  # a view that comes later has them too


async def test_a_document_from_the_browser_is_not_taken(front: FakeFrontEnd):
    """F25: a trait update that a browser sends changes nothing in the kernel, nor in the other views."""
    _, session = await waiting()
    console = Console(session)
    before = console.state
    front.deliver(console, {"method": "update", "state": {"state": {"pending": []}, "options": {"read_only": True}}, "buffer_paths": []})
    assert console.state == before
    assert console.options == {"read_only": False, "view": "console"}
    front.deliver(console, {"method": "request_state"})
    assert front.document(console) == before


async def test_a_read_only_panel_takes_no_answer(front: FakeFrontEnd):
    """api.md, W2.13: it only shows; every request but hello is refused in the kernel."""
    shop, session = await waiting()
    panel = ReviewPanel(session, read_only=True)
    before = session.state().model_dump(exclude={"updated_at_ms", "revision"})
    bodies: list[dict[str, Any]] = [
        approve("2.0"),
        {"kind": "run", "query": "more"},
        {"kind": "cancel"},
        {"kind": "recover"},
        {"kind": "abandon"},
        {"kind": "set_hold", "node": "assistant/model", "phase": "BEFORE", "on": True},
        {"kind": "save_draft", "id": "2.0", "draft": {"decision": "approve"}},
    ]
    clicks = [front.ask(panel, body) for body in bodies]
    hello = front.ask(panel, {"kind": "hello"})
    await until(lambda: all(front.reply(id) is not None for id in (*clicks, hello)))
    assert [front.replies(id)[0]["kind"] for id in clicks] == ["refused"] * len(bodies)
    assert "read-only" in front.replies(clicks[0])[0]["error"]["what"]
    assert front.replies(hello)[0]["drafts"] == {}
    assert session.state().model_dump(exclude={"updated_at_ms", "revision"}) == before
    assert shop.ran == []


async def test_ten_views_of_a_session_show_one_answer_each_at_the_same_revision(front: FakeFrontEnd):
    """W1.2: a click in one of them leaves the card in none."""
    shop, session = await waiting("1.0", "2.0")
    panels = [ReviewPanel(session) for _ in range(10)]
    click = front.ask(panels[7], approve("2.0"))
    await until(lambda: front.reply(click) is not None and not session.running)
    documents = [front.document(panel) for panel in panels]
    assert {document["revision"] for document in documents} == {session.state().revision}
    assert {tuple(card["id"] for card in document["pending"]) for document in documents} == {("2.1",)}
    assert len(front.replies(click)) == 1
    assert shop.ran == ["deploy prod 1.0"]


async def test_a_result_of_five_million_letters_reaches_the_widget_whole(front: FakeFrontEnd):
    """W2.12: nothing is cut on the way; the browser draws a part of it."""

    @tool
    async def dump() -> str:
        """Dump."""
        return "r" * 5_000_000

    agent = Agent("assistant", ScriptedClient(calls(ToolCall("c1", "dump", {})), "out"), tools=dump)
    session = Session(agent, "t")
    await session.run("go")
    panels = [Transcript(session) for _ in range(2)]
    for panel in panels:
        (result,) = [message for message in front.document(panel)["messages"] if message["role"] == "tool"]
        assert len(result["text"]) == 5_000_000


async def test_an_error_in_the_handler_is_drawn_and_the_next_click_works(front: FakeFrontEnd, monkeypatch: pytest.MonkeyPatch):
    """F33: nothing vanishes."""
    _, session = await waiting()
    console = Console(session)

    def broken(*given: Any, **named: Any) -> None:
        raise RuntimeError("the handler broke")

    with monkeypatch.context() as patch:
        patch.setattr(session, "handle", broken)
        front.ask(console, approve("2.0"))
    await until(lambda: front.document(console)["error"] is not None)
    assert front.document(console)["error"]["what"] == "the handler broke"
    click = front.ask(console, approve("2.0"))
    await until(lambda: front.reply(click) is not None)
    assert front.replies(click)[0]["kind"] == "done"


async def test_a_closed_widget_is_told_nothing_more_and_the_session_lives_on(front: FakeFrontEnd):
    """Who closes a view has no part in the session."""
    _, session = await waiting()
    console, panel = Console(session), ReviewPanel(session)
    model = console.model_id
    console.close()
    console.close()
    assert front.closed == [model]
    await session.answer(session.result.pending[0].approve())
    assert front.document(panel)["status"] == "completed"
    assert front.states[model]["state"]["status"] == "suspended"


async def test_a_console_with_a_query_begins_the_turn_and_made_again_does_not(front: FakeFrontEnd):
    """W5.4: the cell run twice; the second console draws the same turn."""
    shop = Shop()
    client = ScriptedClient(deployments("1.0"), "out")
    agent = shop.agent(client)
    first = Console(Session(agent, "t"), "ship")
    await until(lambda: len(front.document(first)["pending"]) == 1)
    second = Console(Session(agent, "t"), "ship")
    third = Console(first.session, "ship")
    await until(lambda: all(len(front.document(widget)["pending"]) == 1 for widget in (second, third)))
    assert len(client.requests) == 1
    click = front.ask(second, approve("2.0"))
    await until(lambda: front.reply(click) is not None and not second.session.running)
    await until(lambda: front.document(first)["status"] == "completed")
    assert first.result.answer == "out"
    assert len(client.requests) == 2


async def test_a_turn_that_cannot_begin_is_drawn_as_an_error(front: FakeFrontEnd):
    """F33: the background task's refusal is nobody else's to see."""
    console = Console(Session(Shop().agent("x"), "t"), "   ")
    await until(lambda: front.document(console)["error"] is not None)
    assert front.document(console)["error"]["type"] == "ConfigError"
    assert not front.document(console)["running"]


async def test_drafts_are_pushed_to_every_widget_and_are_in_no_trait(front: FakeFrontEnd):
    """W1.4: they go by message and are never part of what a saved notebook holds."""
    _, session = await waiting()
    console, panel = Console(session), ReviewPanel(session)
    front.ask(console, {"kind": "save_draft", "id": "2.0", "draft": {"decision": "reject", "reason": "half typed"}})
    await until(lambda: sum(message["kind"] == "drafts" for _, message in front.messages) == 2)
    assert {model for model, message in front.messages if message["kind"] == "drafts"} == {console.model_id, panel.model_id}
    assert "half typed" not in str(front.states)
    assert "half typed" not in str(console._repr_mimebundle_())


async def test_the_twins_show_what_waits_without_a_front_end(front: FakeFrontEnd):
    """W5.3, F31: labels, arguments, reasons and questions as plain text and as HTML."""
    shop = Shop()
    mixed = calls(ToolCall("c1", "deploy", {"environment": "prod", "version": "1.0"}), ToolCall("c2", "order", {"item": "tea"}))
    session = Session(shop.agent(mixed, "out"), "t")
    await session.run("ship")
    data, _ = Console(session)._repr_mimebundle_() or ({}, {})
    assert data["text/plain"] == "\n".join(
        [
            "assistant · thread t · waits for 2 answers",
            "query: ship",
            "APPROVAL 2.0: deploy wants your approval",
            "  reason: 1.0 would reach prod",
            '  arguments: {"environment": "prod", "version": "1.0"}',
            "QUESTION 2.1: order asks",
            '  question: {"prompt": "order tea?"}',
            '  arguments: {"item": "tea"}',
        ]
    )
    for shown in ("deploy wants your approval", "1.0 would reach prod", "order tea?", "in memory: gone when the kernel stops"):
        assert shown in data["text/html"]
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"]


async def test_the_graphs_text_twin_lists_nodes_edges_and_marks(front: FakeFrontEnd):
    """W3.4: continuations under their step."""
    _, session = await waiting()
    session.breakpoints.hold("assistant/finish", BreakpointPhase.BEFORE)
    data, _ = GraphView(session)._repr_mimebundle_() or ({}, {})
    lines = data["text/plain"].splitlines()
    assert "  assistant/call-tool [held, 1 waiting]" in lines
    assert lines[lines.index("  assistant/call-tool [held, 1 waiting]") + 1].startswith("    assistant/approval")
    assert "  assistant/finish [hold before (on)]" in lines
    assert "  input -> assistant/model (route, taken)" in lines
    assert "  assistant/model -> assistant/call-tool (fan out, taken)" in lines
    assert "  assistant/call-tool -> assistant/collect (join)" in lines
    await session.answer(session.result.pending[0].approve())
    data, _ = GraphView(session)._repr_mimebundle_() or ({}, {})
    assert "  assistant/call-tool -> assistant/collect (join, taken)" in data["text/plain"].splitlines()


async def test_the_transcripts_twin_marks_what_did_not_run_and_what_a_person_edited(front: FakeFrontEnd):
    """W4.1."""
    _, session = await waiting("1.0", "2.0")
    first, second = session.result.pending
    await session.answer([first.edit({"environment": "staging", "version": "1.5"}), second.reject("no")])
    data, _ = Transcript(session)._repr_mimebundle_() or ({}, {})
    text = data["text/plain"]
    assert "user: ship" in text
    assert 'assistant calls deploy {"environment": "staging", "version": "1.5"} (done, edited by a person)' in text
    assert "(not run)" in text
    assert "tool (not run): " in text


async def test_a_secret_argument_is_in_no_twin(front: FakeFrontEnd):
    """W5.3: SecretStr fields are left out, also inside models and lists."""

    class Login(BaseModel):
        user: str
        password: SecretStr

    @tool
    async def sign_in(logins: list[Login], token: Annotated[SecretStr, Field(description="x")]) -> str:
        """Sign in."""
        return "in"

    call = ToolCall("c1", "sign_in", {"logins": [{"user": "ana", "password": "hunter2"}], "token": "tok3n"})
    agent = Agent("assistant", ScriptedClient(calls(call), "out"), tools=sign_in, middleware=ApprovalMiddleware(lambda request: "always"))
    session = Session(agent, "t")
    await session.run("go")
    bundle = str(Console(session)._repr_mimebundle_())
    assert "ana" in bundle
    assert "hunter2" not in bundle
    assert "tok3n" not in bundle


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)


@pytest.mark.parametrize("kind", [Console, ReviewPanel, GraphView, Transcript])
async def test_text_of_models_and_tools_is_no_html_in_a_twin(front: FakeFrontEnd, kind: Any):
    """W5.7: data is never interpreted."""
    evil = '<script>alert(1)</script><img src=x onerror="y">'
    shop = Shop()
    session = Session(shop.agent(calls(ToolCall("c1", "deploy", {"environment": "prod", "version": evil})), evil), "t")
    await session.run(evil)
    for _ in ("while it waits", "when it has ended"):
        data, _ = kind(session)._repr_mimebundle_() or ({}, {})
        parser = Tags()
        parser.feed(data["text/html"])
        assert parser.tags <= {"div", "p", "br", "strong", "ol", "li", "pre"}
        if session.result.pending:
            await session.answer(session.result.pending[0].approve())


async def test_the_repr_is_the_same_in_every_run(front: FakeFrontEnd):
    """Facts 5: an address in it would fail every notebook test."""
    reprs = []
    for _ in range(2):
        _, session = await waiting()
        reprs.append([repr(kind(session)) for kind in (Console, ReviewPanel, GraphView, Transcript)])
    assert reprs[0] == reprs[1]
    assert reprs[0][0] == "Console(assistant · thread t · waits for 1 answer)"


async def test_an_agent_and_a_graph_are_drawn_without_a_session(front: FakeFrontEnd):
    """W3.1: to look at; a click changes nothing."""
    agent = Shop().agent("x", middleware=[Region(), guarded()])
    for shown in (agent, agent.graph):
        view = GraphView(shown)
        assert front.states[view.model_id]["options"] == {"read_only": True, "view": "graph"}
        nodes = {node["id"] for node in front.document(view)["graph"]["nodes"]}
        assert {"input", "assistant/model", "assistant/call-tool", "assistant/finish"} <= nodes
        click = front.ask(view, {"kind": "set_hold", "node": "assistant/model", "phase": "BEFORE", "on": True})
        await until(lambda click=click: front.reply(click) is not None)
        assert front.replies(click)[0]["kind"] == "refused"


async def test_a_bundle_that_is_not_built_says_how_to_build_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Any):
    """A checkout without bundles shows one line instead of an empty cell."""
    from llm4s_notebook.widgets import _bundle

    monkeypatch.setattr(_bundle, "STATIC", tmp_path)
    script = _bundle.script("console")
    assert isinstance(script, str)
    assert "npm run build" in script
    assert "export default" in script
    assert _bundle.styles() == ""
    (tmp_path / "console.js").write_text("export default {}")
    assert _bundle.script("console") == tmp_path / "console.js"


async def test_a_document_is_pushed_at_most_every_few_hundredths_of_a_second_while_a_run_talks(
    front: FakeFrontEnd, monkeypatch: pytest.MonkeyPatch
):
    """A run that says much does not flood the browser; the last document always arrives.

    Here the hundredths never pass, so that what is pushed does not depend on how long the run takes.
    """
    shop = Shop()
    loop = asyncio.get_running_loop()
    never = SimpleNamespace(call_later=lambda _seconds, push: loop.call_later(3600, push))
    monkeypatch.setattr(_observers, "asyncio", SimpleNamespace(get_running_loop=lambda: never))
    session = Session(shop.agent(calls(*(ToolCall(f"c{at}", "look", {"topic": str(at)}) for at in range(60))), "out"), "t")
    pushes: list[int] = []
    session.observe(lambda state: pushes.append(state.revision))
    await session.run("go")
    assert 2 <= len(pushes) < 30
    assert pushes[-1] == session.state().revision


async def test_the_console_s_twin_says_that_its_thread_waits_for_a_choice(front: FakeFrontEnd):
    """W5.3, W4.6."""
    _, session = await waiting(system_prompt="one")
    console = Console(session)
    await session.use(session.target.with_(system_prompt="two"))  # type: ignore[union-attr]
    bundle = console._repr_mimebundle_()  # pyright: ignore[reportPrivateUsage]  # what a front end calls
    assert bundle is not None
    for kind in ("text/plain", "text/html"):
        assert "This thread waits under another version of the agent (system prompt)." in bundle[0][kind]


async def test_every_widget_of_the_session_follows_to_a_new_thread(front: FakeFrontEnd):
    """W1.2, W4.6: one that only shows follows too, and takes no choice."""
    _, session = await waiting(system_prompt="one")
    widgets = [Console(session), ReviewPanel(session), ReviewPanel(session, read_only=True), GraphView(session), Transcript(session)]
    await session.use(session.target.with_(system_prompt="two"))  # type: ignore[union-attr]
    body = {"kind": "go_on", "way": "empty_thread", "thread_id": "t"}
    asked = front.ask(widgets[2], body)
    await until(lambda: bool(front.replies(asked)))
    assert (front.replies(asked)[0]["kind"], session.thread_id) == ("refused", "t")
    front.ask(widgets[1], body)
    await until(lambda: session.thread_id != "t")
    await until(lambda: all(front.document(widget)["thread_id"] == session.thread_id for widget in widgets))
