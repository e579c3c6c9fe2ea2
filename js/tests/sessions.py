"""Sessions and messages as the kernel sends them, made with the wire's own models so that none can drift from them."""

from __future__ import annotations

from typing import Any, Literal

from answer_types import Deployment, Region
from pydantic import TypeAdapter

from llm4s_notebook.wire import (
    AnsweredView,
    Approve,
    Cancel,
    ChangeAgent,
    Decision,
    Done,
    Drafts,
    EdgeView,
    Edit,
    EditedAgent,
    EditorView,
    ErrorView,
    GoOn,
    GraphPicture,
    GuardrailRefusal,
    Hello,
    LivePiece,
    LiveView,
    MessageView,
    ModelCallView,
    NodeView,
    PendingCard,
    Pieces,
    Problem,
    Proceed,
    Refusal,
    Reject,
    Reply,
    Request,
    RunView,
    SaveDraft,
    SessionState,
    SetHold,
    StorageView,
    Submit,
    ToolCallView,
    UsageView,
    WayOnView,
    Welcome,
)

NOW = 1_796_040_000_000
MINUTE = 60_000


def card(id: str, kind: str, title: str, **fields: Any) -> PendingCard:
    """A card with every field its kind does not have as None."""
    base: dict[str, Any] = dict.fromkeys(PendingCard.model_fields)
    base |= {"id": id, "kind": kind, "title": title, "agent": "release", "since_ms": NOW - 4 * MINUTE}
    base |= {"lenient": False, "destructive": False} | fields
    return PendingCard(**base)


def cards() -> list[PendingCard]:
    """Five cards of all four kinds; a guardrail's review is a middleware's question."""
    deploy = Deployment.model_json_schema()
    arguments = {"environment": "prod", "version": "2.4.1", "replicas": 3, "flags": {"canary": True}, "notes": "rolls back by itself"}
    return [
        card(
            "2.0",
            "APPROVAL",
            "deploy wants your approval",
            node="release/call-tool",
            tool_name="deploy",
            arguments=arguments,
            arguments_schema=deploy,
            reason="a production deployment needs a person",
            destructive=True,
            source="tool",
            default_reject_reason="a reviewer refused this call; it was not run",
        ),
        card(
            "2.1",
            "APPROVAL",
            "notify wants your approval",
            node="release/call-tool",
            tool_name="notify",
            arguments={"channel": "#releases", "text": "2.4.1 goes out <b>now</b>\nwatch the dashboards"},
            arguments_schema={
                "type": "object",
                "properties": {"channel": {"type": "string"}, "text": {"type": "string", "maxLength": 200}},
                "required": ["channel", "text"],
            },
            reason="it writes to people",
            source="approval",
            default_reject_reason="a reviewer refused this call; it was not run",
        ),
        card(
            "2.2",
            "QUESTION",
            "confirm_window asks",
            node="release/call-tool",
            tool_name="confirm_window",
            arguments={"service": "checkout"},
            question={"service": "checkout", "proposed": ["Tuesday 22:00", "Wednesday 06:00"], "freeze": False},
            answer_schema={
                "type": "object",
                "title": "Window",
                "properties": {
                    "start": {"type": "string", "format": "date-time", "description": "when the window opens"},
                    "minutes": {"type": "integer", "minimum": 5, "maximum": 240, "default": 30},
                    "silent": {"type": "boolean"},
                },
                "required": ["start", "silent"],
            },
            lenient=True,
        ),
        card(
            "2.3",
            "MIDDLEWARE_QUESTION",
            "region asks",
            node="input",
            middleware="region",
            hook="beforeAgent",
            question="Which region is this for?",
            answer_schema=Region.model_json_schema(),
        ),
        card(
            "2.4",
            "MIDDLEWARE_QUESTION",
            "max-length refuses the answer",
            node="release/finish",
            middleware="guardrail-review",
            hook="afterAgent",
            guardrail=GuardrailRefusal(
                phase="output",
                guardrail="max-length",
                reason="312 characters, at most 200",
                text="Release 2.4.1 is out. " + "It went to every region in the order of the plan, and nothing had to be rolled back. " * 3,
            ),
            answer_schema={},
        ),
        card(
            "3.0",
            "BREAKPOINT",
            "release/model is held after it ran",
            node="release/model",
            phase="AFTER",
            message="I will deploy version 2.4.1 to prod.",
        ),
    ]


def graph(status: dict[str, tuple[str, int, int]], interrupts: dict[str, list[str]], taken: set[tuple[str, str]]) -> GraphPicture:
    """The agent `release` with two review steps folded into its tool node."""

    def node(id: str, role: Any, folded_into: str | None = None, before: Any = "off", after: Any = "off") -> NodeView:
        state, held, waiting = status.get(id, ("idle", 0, 0))
        return NodeView.model_validate(
            {
                "id": id,
                "label": id.removeprefix("release/"),
                "agent": None if id == "input" else "release",
                "role": role,
                "folded_into": folded_into,
                "hold_before": before,
                "hold_after": after,
                "can_hold": role in ("model", "tool", "finish", "node"),
                "status": state,
                "held": held,
                "waiting": waiting,
                "interrupts": interrupts.get(id, []),
            }
        )

    nodes = [
        node("input", "input"),
        node("release/model", "model", after="on"),
        node("release/call-tool", "tool", before="fixed"),
        node("release/approval", "continuation", "release/call-tool"),
        node("release/ask/confirm_window", "continuation", "release/call-tool"),
        node("release/collect", "collect"),
        node("release/finish", "finish"),
        node("release/asked/guardrail-review/afterAgent", "continuation", "release/finish"),
    ]
    kinds: list[tuple[str, str, Literal["static", "route", "fan_out", "join"]]] = [
        ("input", "release/model", "route"),
        ("release/model", "release/call-tool", "fan_out"),
        ("release/model", "release/finish", "route"),
        ("release/call-tool", "release/collect", "join"),
        ("release/call-tool", "release/approval", "route"),
        ("release/approval", "release/collect", "join"),
        ("release/call-tool", "release/ask/confirm_window", "route"),
        ("release/ask/confirm_window", "release/collect", "join"),
        ("release/collect", "release/model", "route"),
        ("release/finish", "release/asked/guardrail-review/afterAgent", "route"),
    ]
    edges = [EdgeView(source=a, target=b, kind=kind, taken=(a, b) in taken) for a, b, kind in kinds]
    return GraphPicture(graph_id="release", topology="topology-1", entry="input", nodes=nodes, edges=edges)


def messages() -> list[MessageView]:
    """A turn so far: one call that ran, one a person stopped, one whose arguments a person edited and that waits."""

    def call(id: str, name: str, arguments: Any, state: Any, edited: bool = False) -> ToolCallView:
        return ToolCallView(id=id, name=name, arguments=arguments, edited=edited, state=state)

    def message(
        id: str,
        role: Any,
        text: str,
        calls: list[ToolCallView] | None = None,
        of: str | None = None,
        not_run: bool = False,
        note: str | None = None,
    ) -> MessageView:
        return MessageView(id=id, role=role, text=text, tool_calls=calls or [], tool_call_id=of, is_error=False, not_run=not_run, note=note)

    return [
        message("m1", "user", "Please release 2.4.1 to production."),
        message(
            "m2",
            "assistant",
            "First I look at the checks and clear the old cache.",
            [call("c1", "checks", {"version": "2.4.1"}, "done"), call("c2", "purge", {"path": "/"}, "not_run")],
            note="1.2 s, first word after 0.4 s, 912 in, 88 out",
        ),
        message("m3", "tool", "42 checks passed, 0 failed", of="c1"),
        message("m4", "tool", "rejected: a reviewer refused this call; it was not run", of="c2", not_run=True),
        message(
            "m5",
            "assistant",
            "I will deploy version 2.4.1 to prod.",
            [call("c3", "deploy", {"environment": "prod", "version": "2.4.1"}, "waiting", True)],
        ),
    ]


PROMPT = "You release software.\nAsk before you deploy to production."


def editor(**fields: Any) -> EditorView:
    """A family of two: one on a provider's model, one on a client that has no options."""
    options = {
        "type": "object",
        "properties": {
            "temperature": {"type": "number", "minimum": 0, "maximum": 2},
            "max_tokens": {"type": "integer", "minimum": 1},
            "stop": {"type": "array", "items": {"type": "string"}},
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "default": 600.0,
                "description": "seconds without a byte from the server",
            },
        },
        "additionalProperties": False,
    }
    prompt = {"type": "string"}

    def form(**properties: Any) -> dict[str, Any]:
        return {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name == "options"],
            "additionalProperties": False,
        }

    release = EditedAgent(
        id="release",
        about="Model: openai:gpt-5.",
        form=form(system_prompt=prompt, options=options),
        values={"system_prompt": PROMPT, "options": {"temperature": 0.2}},
        code=None,
    )
    support = EditedAgent(
        id="support", about="ScriptedClient has no options to set here.", form=form(system_prompt=prompt), values={}, code=None
    )
    base: dict[str, Any] = {"agents": [release, support], "said": "", "offer": None, "ways": [], "suggested": None}
    return EditorView(**(base | fields))


def offered() -> EditorView:
    """After a prompt was changed while the turn waits."""
    release = editor().agents[0].model_copy(update={"code": "agent = agent.with_(\n    system_prompt='Release it.',\n)"})
    stays = " What waits is not answered: it stays on this thread."
    return editor(
        agents=[release, editor().agents[1]],
        said="changed",
        offer="This thread waits under another version of the agent (system prompt). How do you want to go on?",
        ways=[
            WayOnView(
                way="old_agent",
                label="Finish with the old agent",
                about="This thread goes on as it began; the change is kept for a new one.",
            ),
            WayOnView(way="new_thread", label="New thread with this history", about=f"It begins with the 4 messages so far.{stays}"),
            WayOnView(way="empty_thread", label="New empty thread", about=f"To ask the same again, with nothing said before.{stays}"),
        ],
    )


def live() -> LiveView:
    """An answer that is being written, with a call after its text; nothing has come for a while."""
    call = ToolCallView(id="c4", name="announce", arguments='{"channel": "#releases", "te', edited=False, state="writing")
    message = MessageView(
        id="m6",
        role="assistant",
        text="Version 2.4.1 is deployed. Now I tell the others:",
        tool_calls=[call],
        tool_call_id=None,
        is_error=False,
        not_run=False,
        note="writing …",
    )
    waiting = "model of 'release' has written nothing more for 12 s; cancel is safe: nothing of this call is stored"
    return LiveView(number=3, waiting=waiting, messages=[message])


def session(**fields: Any) -> SessionState:
    """A waiting session, with what differs."""
    base: dict[str, Any] = {
        "revision": 7,
        "thread_id": "release-2.4.1",
        "title": "release",
        "is_agent": True,
        "storage": StorageView(kind="file", path="reviews.sqlite", text="in reviews.sqlite"),
        "status": "suspended",
        "status_text": "waiting for a person: 6 things",
        "query": "Please release 2.4.1 to production.",
        "answer": None,
        "running": False,
        "run": None,
        "pending": cards(),
        "answered": [AnsweredView(id="1.1", at_ms=NOW - 9 * MINUTE, by="Ana", summary="rejected purge")],
        "messages": messages(),
        "graph": graph(
            {
                "input": ("done", 0, 0),
                "release/model": ("held", 1, 0),
                "release/call-tool": ("held", 0, 3),
                "release/collect": ("done", 0, 0),
            },
            {"release/model": ["3.0"], "release/call-tool": ["2.0", "2.1", "2.2"], "input": ["2.3"], "release/finish": ["2.4"]},
            {
                ("input", "release/model"),
                ("release/model", "release/call-tool"),
                ("release/call-tool", "release/collect"),
                ("release/collect", "release/model"),
            },
        ),
        "holds_apply_next_run": False,
        "usage": UsageView(requests=2, input_tokens=1840, output_tokens=212, cost=None, calls=[_call()]),
        "error": None,
        "notice": None,
        "editor": editor(),
        "can_run": False,
        "can_cancel": False,
        "can_recover": False,
        "updated_at_ms": NOW,
    }
    return SessionState(**(base | fields))


def _call() -> ModelCallView:
    return ModelCallView(
        message_id="m2",
        agent="release",
        model="scripted",
        attempts=1,
        seconds=1.2,
        first_token=0.4,
        input_tokens=912,
        output_tokens=88,
        cost=None,
    )


def session_fixtures() -> dict[str, Any]:
    """The sessions that tests and the development page draw."""
    failure = ErrorView(
        type="ModelFailed",
        what="the model did not answer: connection reset",
        where="release/model, superstep 4, run r-17",
        next_step="recover continues from the last checkpoint; nothing that ran is run again",
        at_ms=NOW,
    )
    running = {
        "status": "running",
        "status_text": "running",
        "running": True,
        "pending": cards()[2:3],
        "run": RunView(started_at_ms=NOW - 12_000, superstep=4, nodes=["release/model"], cancelling=False),
        "graph": graph(
            {"input": ("done", 0, 0), "release/model": ("running", 0, 0), "release/call-tool": ("done", 0, 1)},
            {},
            {("input", "release/model")},
        ),
        "holds_apply_next_run": True,
        "can_cancel": True,
    }
    quiet = {"pending": [], "can_run": True, "graph": graph({}, {}, set())}
    states = {
        "waiting": session(),
        "offered": session(editor=offered()),
        "running": session(**running),
        "writing": session(**running | {"pending": [], "live": live()}),
        "new": session(status="new", status_text="nothing has run yet", query=None, messages=[], answered=[], revision=0, **quiet),
        "completed": session(status="completed", status_text="finished", answer="Release 2.4.1 is out.", **quiet),
        "blocked": session(status="blocked", status_text="blocked by max-length: 312 characters, at most 200", messages=[], **quiet),
        "failed": session(
            status="unfinished",
            status_text="stopped by an error",
            error=failure,
            can_recover=True,
            notice="Run the cell again to wait here, or recover.",
            pending=[],
        ),
    }
    return {name: state.model_dump(mode="json") for name, state in states.items()}


def message_fixtures() -> dict[str, Any]:
    """One golden sample of every message kind, in both directions."""
    error = ErrorView(
        type="InvalidResume", what="1 answer is not accepted", where="release, 2.0", next_step="change it and send again", at_ms=NOW
    )
    problem = Problem(
        interrupt_id="2.0",
        path=["arguments", "replicas"],
        code="invalid",
        message="Input should be greater than or equal to 1",
        answered_at_ms=None,
        answered_by=None,
    )
    answered = Problem(
        interrupt_id="1.1", path=[], code="answered", message="1.1 was answered", answered_at_ms=NOW - 9 * MINUTE, answered_by="Ana"
    )
    kernel = {
        "done": Done(kind="done", request_id="r1", said="approved deploy, 2 left"),
        "welcome": Welcome(
            kind="welcome", request_id="r2", revision=7, drafts={"2.0": {"decision": "reject", "reason": "not today"}}, live=live()
        ),
        "refused": Refusal(kind="refused", request_id="r3", error=error, problems=[problem, answered]),
        "live": Pieces(
            kind="live",
            number=4,
            waiting=None,
            pieces=[LivePiece(id="m6", note="writing …", text="", arguments=['xt": "2.4.1 is out"}'])],
        ),
        "drafts": Drafts(kind="drafts", origin="r4", drafts={"2.0": {"decision": "approve", "chosen": True}}),
    }
    decisions: list[Decision] = [
        Approve(decision="approve", id="2.0"),
        Reject(decision="reject", id="2.1", reason="not today"),
        Edit(decision="edit", id="2.5", arguments={"version": "2.4.2"}),
        Reply(decision="reply", id="2.2", value=None),
        Proceed(decision="proceed", id="3.0"),
    ]
    browser = {
        "hello": Request(request_id="b1", body=Hello(kind="hello")),
        "submit": Request(request_id="b2", body=Submit(kind="submit", decisions=decisions)),
        "set_hold": Request(request_id="b3", body=SetHold(kind="set_hold", node="release/model", phase="AFTER", on=True)),
        "save_draft": Request(request_id="b4", body=SaveDraft(kind="save_draft", id="2.0", draft={"decision": "edit"})),
        "cancel": Request(request_id="b5", body=Cancel(kind="cancel")),
        "change_agent": Request(request_id="b6", body=ChangeAgent(kind="change_agent", agent="release", value={"system_prompt": "two"})),
        "go_on": Request(request_id="b7", body=GoOn(kind="go_on", way="new_thread", thread_id="release-2.4.1")),
    }
    kernel_json = {name: message.model_dump(mode="json") for name, message in kernel.items()}
    browser_json = {f"request_{name}": TypeAdapter(Request).dump_python(request, mode="json") for name, request in browser.items()}
    return kernel_json | browser_json
