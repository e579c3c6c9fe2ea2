"""Another prompt by keyboard: edited, applied, and a new thread with the history so far, while a cell waits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from .console_page import ConsolePage
from .driver import Lab

SETUP = '''
from llm4s_notebook import *
from llm4s_notebook.models import ToolMessage, UserMessage


@tool
async def deploy(version: str, context: ToolContext) -> str | NeedsApproval:
    """Deploy a version."""
    if not context.approved:
        return NeedsApproval(f"{version} reaches customers")
    return f"{version} runs"


def turn(request):
    asked = [message.content for message in request.messages if isinstance(message, UserMessage)]
    if asked[-1] == "ship" and "never" not in request.messages[0].content:
        return calls(ToolCall("c1", "deploy", {"version": "1.4.0"}))
    return f"told: {request.messages[0].content} | asked: {', '.join(asked)}"


agent = Agent("assistant", ScriptedClient(*[turn] * 9), tools=[deploy], system_prompt="be brief", runtime=SqliteCheckpointer("threads.db"))
await agent.run("hello", thread_id="t")
'''
REVIEW = 'r = await review(agent, "ship", thread_id="t")\nprint("ended with", r.answer)'


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_keyboard_alone_changes_the_prompt_and_goes_on_with_the_history(lab: Lab, theme: str) -> None:
    """W4.5, W4.6, W5.1, W5.6: the model gets the new prompt, what waited stays on its thread, the cell ends with the new one's result."""
    folder = f"prompt-{theme}"
    (lab.server.root / folder).mkdir()
    notebook = lab.new(f"{folder}/n.ipynb", SETUP, REVIEW)
    notebook.run(0)
    lab.theme("dark" if theme == "dark" else "light")
    notebook.send(1)
    console = ConsolePage(notebook, 1).wait()
    console.card("APPROVAL", "deploy")
    before = notebook.sources()
    keys = lab.page.keyboard

    summary = console.by("agent-editor").locator("summary")
    expect(summary).to_have_text("Prompt and options")
    summary.focus()
    keys.press("Enter")
    field = console.by("agent-editor").get_by_role("textbox", name="system_prompt")
    expect(field).to_have_value("be brief")
    _tab_to(field)
    keys.press("Control+a")
    keys.type("never deploy, dd m x")
    keys.press("Enter")  # a new line, and no command of the notebook
    expect(console.by("agent-editor").locator('[data-testid="diff"]')).to_contain_text("deploy, dd m x")
    _picture(lab, console, f"edited-{theme}")
    _tab_to(console.by("apply"))
    keys.press("Enter")

    offer = console.by("offer")
    expect(offer).to_contain_text("This thread waits under another version of the agent (system prompt).")
    expect(summary).to_be_focused()
    _picture(lab, console, f"offered-{theme}")
    keys.press("Tab")
    expect(console.by("old_agent")).to_be_focused()
    keys.press("Tab")
    expect(console.by("new_thread")).to_be_focused()
    keys.press("Enter")

    expect(console.by("prompt")).to_have_value("ship")
    expect(console.by("prompt")).to_be_focused()
    console.expect_cards(0)
    expect(console.by("notice")).to_contain_text("Thread t is as it was")
    _picture(lab, console, f"new-{theme}")
    assert not notebook.is_done(1)
    keys.press("Control+Enter")
    notebook.wait_done(1)
    assert "ended with told: never deploy, dd m x" in notebook.output(1)
    assert "asked: hello, ship" in notebook.output(1)
    assert notebook.sources() == before
    assert notebook.kernel("[p.kind.name for p in (await agent.result('t')).pending]") == ["APPROVAL"]
    serious = [one["id"] for one in lab.axe(".llm4s-root") if one["impact"] in ("serious", "critical")]
    assert serious == []


def _tab_to(element: Locator, at_most: int = 20) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(at_most):
        if element.evaluate("it => document.activeElement === it"):
            return
        element.page.keyboard.press("Tab")
    raise AssertionError("the element is not reached with Tab")


def _picture(lab: Lab, console: ConsolePage, name: str) -> None:
    if "SHOTS" in os.environ:
        console.root.screenshot(path=str(Path(os.environ["SHOTS"]) / f"prompt-{name}.png"))
