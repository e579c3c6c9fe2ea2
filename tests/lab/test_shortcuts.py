"""F30: no key pressed in a widget reaches the notebook's own commands, in JupyterLab and in Notebook 7."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from .console_page import ConsolePage
from .driver import Lab

CELL = '''
from typing import Literal
from pydantic import BaseModel
from llm4s_notebook import *

class Where(BaseModel):
    zone: Literal["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e1", "e2", "f1", "f2"]
    note: str = ""
    sure: bool = False

class Ask(BaseModel):
    what: str

class Choose(AskingTool[Ask, Ask, Where]):
    name = "choose"
    description = "Choose."

    async def execute(self, args, context):
        return self.ask(args)

    async def resume(self, args, question, answer, context):
        return Success(answer.zone)

@tool
async def deploy(version: str, context: ToolContext) -> str | NeedsApproval:
    """Deploy."""
    return version if context.approved else NeedsApproval("it reaches customers")

script = ScriptedClient(calls(ToolCall("c1", "deploy", {"version": "1.0"}), ToolCall("c2", "choose", {"what": "where?"})), "out")
s = Session(Agent("assistant", script, tools=[deploy, Choose()]), "t")
Console(s, query="go")
'''
KEYS = ("a", "b", "d", "d", "m", "1", "x", "z", "0", "0", "y", "Escape", "Shift+Enter")


@pytest.mark.parametrize("host", ["lab", "notebook_7"])
def test_keys_in_a_field_a_select_a_button_and_a_card_change_no_cell_and_send_nothing(request: pytest.FixtureRequest, host: str) -> None:
    """F30, F42: cells are neither added, deleted, moved, cut nor turned to text; nothing is run, the kernel is not restarted."""
    lab: Lab = request.getfixturevalue(host)
    notebook = lab.new("shortcuts.ipynb", CELL, "1 + 1", "2 + 2")
    notebook.run(0)
    console = ConsolePage(notebook, 0).wait()
    console.expect_cards(2)
    before = notebook.sources()
    question = console.card("QUESTION")
    approval = console.card("APPROVAL")
    places = {
        "a text field": question.root.get_by_label("note").first,
        "a select": question.root.locator("select").first,
        "a check box": question.root.locator('input[type="checkbox"], input[type="radio"]').first,
        "a button": question.by("submit-card"),
        "a copy button": approval.by("copy-arguments"),
        "a card": question.root,
        "a node of the graph": console.node("assistant/model"),
        "the messages": console.root.locator(".llm4s-messages"),
        "the panel": console.by("panel"),
    }
    for place, element in places.items():
        for key in KEYS:
            element.focus()
            lab.page.keyboard.press(key)
        assert notebook.sources() == before, place
    lab.page.wait_for_timeout(300)
    console.expect_cards(2)
    assert [notebook.cell(index).locator(".jp-InputPrompt").inner_text().strip() for index in (1, 2)] == ["[ ]:", "[ ]:"]
    expect(lab.page.locator(".jp-Dialog")).to_have_count(0)
    assert notebook.kernel("len(s.result.pending)") == 2
