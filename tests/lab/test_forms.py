"""Eight models of the corpus in a real JupyterLab: edited by hand, sent, and run with."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect

from ..forms.corpus import CORPUS
from .console_page import ConsolePage
from .driver import Lab
from .form_page import FormOnPage

ROOT = Path(__file__).parents[2]
QUESTION = "anything_of_four"
TOOLS = ["optionals", "money", "moments", "owner", "text_or_model", "dicts", "tree"]

SETUP = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from llm4s_notebook import *
from llm4s_notebook.models import calls
from tests.forms.case import missed
from tests.forms.corpus import CORPUS
from tests.forms.kernel import asker_of, tool_of

ran = {{}}
cases = [CORPUS[name] for name in {TOOLS!r}]
batch = calls(*(ToolCall("c-" + case.name, case.name, case.sample) for case in cases))
agent = Agent(
    "forms",
    ScriptedClient(batch, "done"),
    tools=[tool_of(case, ran) for case in cases],
    middleware=[asker_of(CORPUS[{QUESTION!r}], ran)],
)
session = Session(agent, "t")
"""


def test_eight_models_are_edited_sent_and_run_with_in_jupyterlab(lab: Lab) -> None:
    """W2.3, W2.9, F16: each field says after strict decoding what was entered; the card leaves and the count drops."""
    notebook = lab.new("forms.ipynb", SETUP, 'Console(session, query="go")')
    notebook.run(0)
    notebook.run(1)
    console = ConsolePage(notebook, 1).wait()
    asked = console.card("MIDDLEWARE_QUESTION", QUESTION)
    form = FormOnPage(lab.page, asked.root)
    form.do(("kind", (), "list of whole number"))
    for at, text in enumerate(["3", "0"]):
        form.do(("add", (), None))
        form.do(("write", (at,), text))
    asked.send()
    console.expect_cards(len(TOOLS))
    for left, name in zip(reversed(range(len(TOOLS))), TOOLS, strict=True):
        card = console.card("APPROVAL", f"{name} wants")
        card.click("edit")
        form = FormOnPage(lab.page, card.root)
        for edit in CORPUS[name].edits:
            for step in edit.steps:
                form.do(step)
        card.send()
        console.expect_cards(left)
        if left > 0:
            expect(console.root.locator(".llm4s-panel .llm4s-count").first).to_have_text(str(left))
    console.expect_status("completed")
    assert notebook.kernel("{case.name: missed(case, ran[case.name]) for case in cases}") == {name: [] for name in TOOLS}
    assert notebook.kernel(f"ran[{QUESTION!r}]") == [3, 0]
    assert lab.complaints == []
