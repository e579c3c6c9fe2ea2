"""What a model writes, in a real JupyterLab: seen while it is written, by every view, until a person has had enough (W4.7, W4.8)."""

from __future__ import annotations

from playwright.sync_api import expect

from .console_page import ConsolePage
from .driver import Lab

MODEL = '''
import asyncio
from pathlib import Path
from llm4s_notebook import Agent, Console, Session
from llm4s_notebook.models import AssistantMessage, Completion, Delta, Retry, ToolCallDelta, tell_retry
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.widgets import Transcript


async def until(name):
    while not Path(name).exists():
        await asyncio.sleep(0.02)


class Writer:
    """Writes half an answer, has to send its request again, and stalls in the second one."""

    async def complete(self, request):
        return [delta async for delta in self.stream(request)][-1].completion

    async def stream(self, request):
        yield Delta(text="The first half, <b>not bold</b> ")
        await until("fails.txt")
        tell_retry(Retry(2, 30.0, "rate-limit"))
        await until("again.txt")
        yield Delta(again=True)
        yield Delta(text="The whole of it: ")
        yield Delta(tool_call=ToolCallDelta(0, "c1", "look_up", '{"order": "A'))
        await until("never.txt")
        yield Delta(completion=Completion(AssistantMessage("never")))


clock = ManualClock()
session = Session(Agent("support", Writer(), stream=True), "t", clock=clock)
'''


def test_two_views_see_it_written_retried_and_stalled_and_cancel_leaves_nothing(lab: Lab) -> None:
    """W1.2, W4.7, W4.8, W5.7: the second view is opened in mid-stream; no view ever mixes two attempts."""
    folder = lab.server.root / "writing"
    folder.mkdir()
    notebook = lab.new("writing/n.ipynb", MODEL, 'Console(session, query="Where is A-1?")', "Transcript(session)", "clock.advance(12)")
    notebook.run(0)
    notebook.run(1)
    console = ConsolePage(notebook, 1).wait()
    written = [notebook.cell(cell).locator('[data-testid="transcript"] [aria-busy="true"]') for cell in (1, 2)]
    expect(written[0]).to_contain_text("The first half, <b>not bold</b>")
    notebook.run(2)
    for view in written:
        expect(view).to_contain_text("The first half, <b>not bold</b>")
        expect(view).to_contain_text("writing …")
        expect(view.locator("b")).to_have_count(0)
    assert notebook.kernel("session.state().live.messages[0].text") == "The first half, <b>not bold</b> "

    (folder / "fails.txt").touch()
    for view in written:
        expect(view).to_contain_text("void: attempt 2 after rate limit begins anew")
    expect(console.by("waiting-line")).to_contain_text("model of 'support' is asked again in 30 s: attempt 2 after rate limit")
    (folder / "again.txt").touch()
    for view in written:
        expect(view).to_contain_text("The whole of it:")
        expect(view).to_contain_text('{"order": "A')
        expect(view).not_to_contain_text("first half")
    expect(console.by("waiting-line")).to_have_count(0)

    notebook.run(3)
    expect(console.by("waiting-line")).to_have_text(
        "model of 'support' has written nothing more for 12 s, attempt 2; cancel is safe: nothing of this call is stored"
    )
    assert [one for one in lab.axe(".llm4s-root") if one["impact"] in ("serious", "critical")] == []
    console.by("cancel").focus()
    lab.page.keyboard.press("Enter")
    console.expect_status("unfinished")
    for view in written:
        expect(view).to_have_count(0)
    expect(console.by("waiting-line")).to_have_count(0)
    expect(console.by("recover")).to_be_visible()
    assert notebook.kernel("[message.role for message in session.state().messages]") == ["user"]
    assert lab.complaints == []
