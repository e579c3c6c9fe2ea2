"""Too much and too nasty, in a real JupyterLab with a real kernel: a thousand waits, ten views, hostile texts, a message too long."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Locator, expect

from .agents import AGENT
from .console_page import ConsolePage
from .driver import Lab, Notebook

# Keeps what browsers asked of the session `s`, without their hellos.
COUNTED = """
asked = []
_handle = s.handle
def handle(content, reply, **settings):
    if content["body"]["kind"] != "hello":
        asked.append(content["body"])
    return _handle(content, reply, **settings)
s.handle = handle
"""

THOUSAND = """
from llm4s_notebook import *
from llm4s_notebook.models import ToolMessage

ran = []

@tool
async def note(number: int) -> str:
    "Note a number."
    ran.append(number)
    return "noted"

client = ScriptedClient(calls(*(ToolCall(f"c{at}", "note", {"number": at}) for at in range(1000))), "all noted")
s = Session(Agent("assistant", client, tools=note, middleware=ApprovalMiddleware(lambda request: "each is asked for")), "t")
"""

DRAWN = "[data-card]"
AT_MOST = 60


def requests(notebook: Notebook, kind: str) -> list[dict[str, Any]]:
    """What the kernel was asked, of one kind."""
    return notebook.kernel(f"[body for body in asked if body['kind'] == {kind!r}]")


def ended(notebook: Notebook) -> None:
    """Wait until the session runs nothing."""
    for _ in range(600):
        if not notebook.kernel("s.running"):
            return
        notebook.lab.page.wait_for_timeout(100)
    raise AssertionError("the run does not end")


def set_text(field: Locator, text: str) -> None:
    """Put a text into a field at once, as pasting does; typing so many letters would take minutes."""
    field.evaluate("(field, text) => { field.value = text; field.dispatchEvent(new Event('input', { bubbles: true })); }", text)


def test_a_thousand_approvals_are_drawn_in_part_counted_whole_and_answered_by_one_submit(lab: Lab) -> None:
    """W2.12, W2.6: the turn ends, every call ran once, the model was asked twice."""
    notebook = lab.new("thousand.ipynb", THOUSAND + COUNTED, 'await s.run("note them")\nReviewPanel(s)')
    notebook.run(0)
    notebook.send(1)
    panel = notebook.cell(1).get_by_test_id("panel")
    expect(panel.locator(".llm4s-heading").first).to_have_text("Waiting for you 1000")
    expect(panel.locator(".llm4s-group-head")).to_have_text("Approvals 1000")
    assert 0 < panel.locator(DRAWN).count() <= AT_MOST
    panel.get_by_test_id("card-list").evaluate("list => { list.scrollTop = list.scrollHeight; }")
    expect(panel.locator(f"{DRAWN}[aria-posinset='1000']")).to_be_visible()
    assert panel.locator(DRAWN).count() <= AT_MOST

    panel.get_by_test_id("approve-all").click()
    confirm = panel.get_by_test_id("confirm")
    expect(confirm).to_have_text("Approve 1000")
    expect(confirm).not_to_have_attribute("aria-disabled", "true")
    confirm.click()
    expect(panel.locator(DRAWN)).to_have_count(0)
    ended(notebook)
    notebook_says = notebook.kernel("[s.state().status, s.result.answer, sorted(ran) == list(range(1000)), len(client.requests)]")
    assert notebook_says == ["completed", "all noted", True, 2]
    assert [len(body["decisions"]) for body in requests(notebook, "submit")] == [1000]
    assert lab.complaints == []


def test_one_answer_leaves_all_of_ten_views(lab: Lab) -> None:
    """W1.2: five displays of one widget and five widgets, of two kinds, in one cell; what is typed in one is in all."""
    (lab.server.root / "ten").mkdir()
    (lab.server.root / "ten" / "enough.txt").write_text("yes")
    show = """
for _ in range(5):
    display(panel)
for kind in (ReviewPanel, Console, ReviewPanel, Console, ReviewPanel):
    display(kind(s))
"""
    cells = (AGENT, 's = Session(agent(), "t")' + COUNTED, 'await s.run("go")\npanel = ReviewPanel(s)' + show)
    notebook = lab.new("ten/n.ipynb", *cells)
    notebook.run(0)
    notebook.run(1)
    notebook.send(2)
    panels = notebook.cell(2).get_by_test_id("panel")
    expect(panels).to_have_count(10)
    approvals = notebook.cell(2).locator("[data-card][data-kind='APPROVAL']")
    questions = notebook.cell(2).locator("[data-card][data-kind='QUESTION']")
    expect(approvals).to_have_count(10)
    ids = """cell => {
      const ids = [...cell.querySelectorAll('.llm4s-root [id]')].map(one => one.id);
      return [ids.length > 30, new Set(ids).size - ids.length];
    }"""
    assert notebook.cell(2).evaluate(ids) == [True, 0], "two views share an id"
    panels.nth(8).get_by_label("start", exact=False).first.fill("10:00")
    for at in range(10):
        expect(panels.nth(at).get_by_label("start", exact=False).first).to_have_value("10:00")
    button = panels.nth(3).get_by_test_id("approve")
    expect(button).not_to_have_attribute("aria-disabled", "true")
    button.click()
    expect(approvals).to_have_count(0)
    expect(questions).to_have_count(10)
    assert len(requests(notebook, "submit")) == 1
    send = panels.nth(6).get_by_test_id("submit-card")
    expect(send).not_to_have_attribute("aria-disabled", "true")
    send.click()
    expect(questions).to_have_count(0)
    ended(notebook)
    assert notebook.kernel("[s.state().status, s.result.answer]") == ["completed", "done, guaranteed"]
    assert len(requests(notebook, "submit")) == 2
    assert lab.complaints == []


HOSTILE = r"""
from llm4s_notebook import *
from pydantic import BaseModel
from llm4s_notebook.models import ToolMessage

EVIL = (
    '<script>window.owned = 1</script><img src=x onerror="window.owned = 1"><svg onload="window.owned = 1">'
    '<a href="javascript:window.owned=1">here</a> [here](javascript:window.owned=1) javascript:window.owned=1 '
    '<button data-testid="approve" class="llm4s-button llm4s-primary" onclick="window.owned = 1">Approve</button> '
    "pay \u202e0001\u202c ad\u200bmin \x1b[2J\x1b[31mred\x1b[0m\x07 "
)
LINE = "x" * 100_000
HUGE = (EVIL + "all work and no play\n") * (5_000_000 // len(EVIL))

@tool
async def dump(text: str, context: ToolContext) -> str | NeedsApproval:
    "Dump."
    return HUGE if context.approved else NeedsApproval(EVIL + LINE)

class Ask(BaseModel):
    prompt: str

class Say(BaseModel):
    text: str

class Asks(AskingTool[Say, Ask, Say]):
    name = "ask"
    description = EVIL

    async def execute(self, args, context):
        return self.ask(Ask(prompt=args.text))

    async def resume(self, args, question, answer, context):
        return Success(f"{len(answer.text)} letters. {EVIL}")

batch = calls(
    ToolCall("c1", "dump", {"text": EVIL + LINE}), ToolCall("c2", "ask", {"text": EVIL + LINE}), ToolCall("c3", EVIL, {EVIL: EVIL}),
    text=EVIL + LINE,
)
s = Session(Agent("assistant", ScriptedClient(batch, EVIL + LINE), tools=[dump, Asks()]), "t")
"""

# What a text could have become in what we draw; the rest of the cell is Lab's own.
BECAME = """cell => {
  const ours = [...cell.querySelectorAll('.llm4s-root, .llm4s-result:not(.llm4s-block)')];
  const count = selector => ours.reduce((sum, one) => sum + one.querySelectorAll(selector).length, 0);
  return {
    drawn: ours.length,
    owned: window.owned ?? null,
    elements: count('script, img, a, iframe, object, embed, form, [onerror], [onload], [onclick], [href], [src]'),
    controls: count('.llm4s-plain :is(button, input, [role], [tabindex], [data-testid])'),
    approves: count('[data-testid=approve]'),
    unseen: ours.some(one => /[\\u202a-\\u202e\\u200b\\u001b\\u0007]/.test(one.textContent)),
  };
}"""
NOTHING = {"owned": None, "elements": 0, "controls": 0, "unseen": False}


def test_hostile_texts_stay_texts_and_what_is_too_long_is_not_sent_and_not_lost(lab: Lab) -> None:
    """W5.7, W2.12, W1.4: in model text, a call's name, arguments, a reason, a question, a result of 5 MB and the answer."""
    show = "await s.run(EVIL)\ndisplay(s.result)\nConsole(s)"
    notebook = lab.new("hostile.ipynb", HOSTILE + COUNTED, show, "s.result")
    notebook.run(0)
    notebook.send(1)
    console = ConsolePage(notebook, 1).wait()
    console.expect_cards(2)
    assert notebook.cell(1).evaluate(BECAME) == {**NOTHING, "drawn": 2, "approves": 1}
    approval, question = console.card("APPROVAL"), console.card("QUESTION")
    for card in (approval, question):
        assert card.root.evaluate("card => card.clientHeight") < 1000, "a long text makes the card long"
    approval.click("approve").gone()

    field = question.root.get_by_label("text", exact=False).first
    answer = ("all work and no play makes a long answer" * 2 + "\n") * 62_500
    set_text(field, answer)
    question.click("submit-card")
    expect(console.by("refusal")).to_contain_text("5.0 MB at most, so nothing was sent")
    assert field.evaluate("field => field.value.length") == len(answer) > 5_000_000
    assert [len(body["decisions"]) for body in requests(notebook, "submit")] == [1]
    assert all(body["kind"] == "submit" or len(str(body)) < 5_000_000 for body in notebook.kernel("asked"))
    set_text(field, "short")
    question.send()
    console.expect_status("completed")
    length = notebook.kernel("len(HUGE) if HUGE in [message.text for message in s.state().messages] else 0")
    expect(console.by("transcript")).to_contain_text(f"20,000 of {length:,} characters")
    assert length > 4_900_000
    assert notebook.run(2).count("<script>") >= 1
    for cell, drawn in ((1, 2), (2, 1)):
        assert notebook.cell(cell).evaluate(BECAME) == {**NOTHING, "drawn": drawn, "approves": 0}
    assert lab.complaints == []
