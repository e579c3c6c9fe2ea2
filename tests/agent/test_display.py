"""How a result shows itself in a notebook: W5.2, W5.7."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from llm4s_notebook.agent import Agent, AgentNode, AskingTool, GuardrailMiddleware, ToolContext, ToolOutcome
from llm4s_notebook.agent._sketch import sketch
from llm4s_notebook.agent._visible import cut, lines_of, visible
from llm4s_notebook.errors import EncodeError, ModelFailed
from llm4s_notebook.guardrails import WordList
from llm4s_notebook.models import ScriptedClient, calls

from .support import ConfirmTool, GoArgs, Region, call, echo, gated_into, policy


class Page(HTMLParser):
    """What a browser would make of the HTML: tags, and the text a person sees."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.text += "\n" if tag in ("br", "li", "tr", "div", "pre", "td") else ""

    def handle_data(self, data: str) -> None:
        self.text += data


HARMLESS = {"div", "strong", "bdi", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "code", "pre", "small", "br"}


def pages(result: Any) -> tuple[str, str]:
    """The plain text, and the text of the HTML, which is harmless."""
    page = Page(result._repr_html_())
    assert set(page.tags) <= HARMLESS
    assert page.attributes <= {"class", "style", "dir", "scope"}
    return repr(result), page.text


async def test_a_waiting_result_says_what_happened_what_waits_and_how_to_answer() -> None:
    """W5.2: in both forms."""
    message = calls(call("c1", "gated", what="x"), call("c2", "confirm", text="y"), call("c3", "echo", text="z"), text="Let me see.")
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=[gated_into([]), ConfirmTool(), echo])
    result = await agent.run("go", thread_id="t")
    text, html = pages(result)
    assert text.splitlines() == [
        "Suspended: waits for 2 answers",
        "happened:",
        "  user: go",
        "  assistant: Let me see.",
        '  gated {"what":"x"} - waits',
        '  confirm {"text":"y"} - waits',
        '  echo {"text":"z"} - ran: z',
        "waits:",
        '  2.0  approval of gated {"what":"x"} (the tool: it is dangerous)',
        "       result.approve('2.0')  |  result.reject('2.0', 'why')  |  result.edit('2.0', {'what': ...})",
        '  2.1  question of confirm {"text":"y"}: {"prompt":"really y?"}',
        "       result.reply('2.1', {'ok': ...})",
        "answer some or all:",
        "  result = await agent.resume('t', [result.approve('2.0'), result.reply('2.1', {'ok': ...})])",
        "thread t · 2 messages · 1 model call, 10 + 20 tokens",
    ]
    for line in text.splitlines():
        for part in line.strip().removesuffix(":").split("  "):
            assert part.strip(" |") in html


async def test_the_code_it_shows_runs_and_answers() -> None:
    """W5.2: the line can be pasted; what is to be filled in sends nothing as it stands."""
    message = calls(call("c1", "gated", what="x"), call("c2", "confirm", text="y"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=[gated_into([]), ConfirmTool()])
    result = await agent.run("go", thread_id="t")
    line = next(line for line in repr(result).splitlines() if "agent.resume" in line).strip().removeprefix("result = await ")
    with pytest.raises(EncodeError):
        await eval(line, {"agent": agent, "result": result})
    done = await eval(line.replace("...", "True"), {"agent": agent, "result": result})
    assert done.answer == "done"


async def test_what_became_of_each_call_is_told() -> None:
    """W5.2, W4.1: run, failed, not run, edited; the answer is the headline."""
    message = calls(call("c1", "gated", what="a"), call("c2", "gated", what="b"), call("c3", "echo", text=1), call("c4", "nope"))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=[gated_into([]), echo])
    result = await agent.run("go", thread_id="t")
    one, two = result.pending
    done = await agent.resume("t", [one.edit({"what": "c"}), two.reject("not today")])
    text, html = pages(done)
    assert text.splitlines() == [
        "Completed: done",
        "happened:",
        "  user: go",
        '  gated {"what":"c"} - edited by a person, ran: did c',
        '  gated {"what":"b"} - not run: Rejected: not today',
        "  echo {\"text\":1} - failed: Invalid arguments for 'echo': $.text: expected string, got integer",
        "  nope {} - failed: Unknown tool 'nope'",
        "thread t · 7 messages · 2 model calls, 20 + 40 tokens",
    ]
    assert "edited by a person, ran: did c" in html


@pytest.mark.parametrize("status", ["blocked", "steps", "unfinished", "before", "second turn"])
async def test_every_status_says_how_it_stands_and_how_to_go_on(status: str) -> None:
    """W5.2."""
    match status:
        case "blocked":
            agent = Agent("assistant", ScriptedClient("bad"), middleware=GuardrailMiddleware(output=[WordList(["bad"], name="words")]))
            result = await agent.run("go", thread_id="t")
            expected = ["Blocked by words: ", "thread t · 0 messages"]
        case "steps":
            agent = Agent("assistant", ScriptedClient(calls(call("c1", "echo", text="a"))), tools=echo, max_steps=1)
            result = await agent.run("go", thread_id="t")
            expected = ["Step limit reached", "ran: a", "go on with:", "agent.run('go on', thread_id='t')"]
        case "unfinished":
            agent = Agent("assistant", ScriptedClient(OSError("down")))
            with pytest.raises(ModelFailed):
                await agent.run("go", thread_id="t")
            result = await agent.result("t")
            expected = ["Unfinished at checkpoint", "user: go", "agent.recover('t')", "agent.abandon('t')"]
        case _:
            agent = Agent("assistant", ScriptedClient("first", "second"), middleware=Region())
            if status == "second turn":
                await agent.run("the region eu", thread_id="t")
            result = await agent.run("deploy", thread_id="t")
            expected = ["user: deploy", 'question of middleware region: {"what":"region"}', "{'value': ...}"]
    text, html = pages(result)
    assert [part for part in expected if part.rstrip(":") not in text or part.rstrip(":") not in html] == []
    if status == "second turn":
        assert "the region eu" not in text


EVIL = {
    "script": "<script>alert(1)</script>",
    "handler": '"><img src=x onerror="alert(1)">',
    "close": "</bdi></div></table><button>approve</button>",
    "entity": "&lt;b&gt;&#x3c;script&#x3e;",
    "ansi": "\x1b[31mred\x1b[0m\x1b]8;;http://x\x07link\x1b]8;;\x07",
    "order": "safe\u202egnp.exe\u202c \u2066x\u2069",
    "nothing": "pass\u200bword\u200d\u2060\ufeff\u00ad",
    "lines": "a\nSuspended: waits for 0 answers\n  result.approve('2.0')\r\x0b\x0c\x85\u2028\u2029",
    "half a pair": "x\udc80",
    "null": "a\x00\x08",
    "template": "${alert(1)} {{7*7}} $$x$$ `x`",
    "tags": "t\U000e0041\U000e0042",
}
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]")


@pytest.mark.parametrize("kind", list(EVIL))
@pytest.mark.parametrize("size", [1, 100_000])
async def test_what_models_tools_and_people_wrote_is_only_text(kind: str, size: int) -> None:
    """W5.7: arguments, reasons, questions, results, answers, names, the query and the thread's id."""
    evil = EVIL[kind] * max(1, size // len(EVIL[kind]))
    stored = evil.replace("\udc80", "?")  # half a pair cannot be stored, and is refused where it comes from

    class Ask(AskingTool[GoArgs, str, str]):
        name = "ask"

        async def execute(self, args: Any, context: ToolContext) -> ToolOutcome:
            return self.ask(stored)

        async def resume(self, args: Any, question: str, answer: str, context: ToolContext) -> Any:
            return evil

    message = calls(call("c1", "gated", what=stored), call("c2", "ask", text=stored), call("c3", stored[:50]), text=stored)
    agent = Agent(
        "assistant",
        ScriptedClient(message, stored),
        tools=[gated_into([]), Ask()],
        middleware=policy("ask"),
        interrupt_after=AgentNode.FINISH,
    )
    thread = stored[:60]
    result = await agent.run(stored, thread_id=thread)
    for _ in range(4):
        text, html = pages(result)
        assert UNSEEN.findall(text + html) == []
        assert len(text) < 40_000
        assert len(result._repr_html_()) < 80_000
        if size > 1:
            assert " more characters)" in text
        # nothing that was written can begin a line as one of the display's own
        own = ("Suspended", "Completed", "happened:", "waits:", "  ", "answer some or all:", "go on with:", "thread ")
        assert [line for line in text.splitlines() if not line.startswith(own)] == []
        assert sum(line.startswith(("Suspended", "Completed")) for line in text.splitlines()) == 1
        if not result.pending:
            break
        result = await agent.resume(
            thread,
            [
                one.approve() if "gated" in str(one) or one.reason else (one.reply("x") if one.question else one.proceed())
                for one in result.pending
            ],
        )
    assert not result.pending


async def test_a_long_answer_is_shown_with_its_lines_and_a_note_of_the_rest() -> None:
    """W5.2, W5.7."""
    answer = "\n".join(["first", "x" * 100_000, *(f"line {n}" for n in range(200))])
    done = await Agent("assistant", ScriptedClient(answer)).run("go")
    text, html = pages(done)
    lines = text.splitlines()
    assert lines[:3] == ["Completed:", "  | first", f"  | {'x' * 1000}… (99,000 more characters)"]
    assert lines[101] == "  | … (102 more lines)"
    assert "… (99,000 more characters)" in html
    assert "… (102 more lines)" in html


async def test_many_things_are_shown_in_part_with_a_note_of_the_rest() -> None:
    """W5.2: 50 waiting calls, and a turn of 40 messages."""
    message = calls(*(call(f"c{n}", "gated", what=f"n{n}") for n in range(50)))
    agent = Agent("assistant", ScriptedClient(message, "done"), tools=gated_into([]))
    text, html = pages(await agent.run("go", thread_id="t"))
    assert "… and 30 more in result.pending" in text
    assert "… and 30 more in result.pending" in html
    assert "  user: go\n  … 31 more in result.messages\n" in text
    assert "result.approve('2.2'), …])" in text
    assert text.count("- waits") == 19


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢字 👍 שלום", "plain é 漢字 👍 שלום"),
        ("👩\u200d👩\u200d👧 ש\u200cש", "👩\u200d👩\u200d👧 ש\u200cש"),
        ("pass\u200dword\u200c", "pass<U+200D>word<U+200C>"),
        ("é\u200d\u200dé", "é<U+200D><U+200D>é"),
        ("a\x1b\u202e\u2066\u200b", "a<U+001B><U+202E><U+2066><U+200B>"),
        ("tab\tnew\nline", "tab\tnew\nline"),
        ("\U000e0041", "<U+E0041>"),
    ],
)
def test_what_is_not_seen_is_shown_by_its_number(text: str, shown: str) -> None:
    """W5.7: joiners stay where scripts and emoji are written with them."""
    assert visible(text) == shown


@given(st.text())
def test_every_text_can_be_displayed(text: str) -> None:
    """W5.7: in one line and in many; whatever it holds it can be written as UTF-8."""
    assert len(cut(text, 10).splitlines()) <= 1
    for line in (cut(text, 10), cut(text), *lines_of(text)):
        line.encode()
        assert UNSEEN.sub("", line) == line or set(UNSEEN.findall(line)) <= {"\u200c", "\u200d"}


class Inner(BaseModel):
    a: int
    b: str = ""


class Outer(BaseModel):
    inner: Inner
    level: Literal["low", "high"]
    many: list[Inner]
    maybe: Inner | None
    any: Inner | Outer | None


def test_a_schema_is_sketched_to_be_filled_in() -> None:
    """W5.2: required fields by name, choices where they are texts; recursion and unions are left open."""
    assert sketch(Outer.model_json_schema()) == (
        "{'inner': {'a': ...}, 'level': 'low' | 'high', 'many': [...], 'maybe': {'a': ...}, 'any': ...}"
    )
    for schema in ({}, {"type": "string"}, {"enum": [1, 2]}, {"$ref": "#/$defs/none"}, {"anyOf": [{"type": "null"}]}):
        assert sketch(schema) == "..."
