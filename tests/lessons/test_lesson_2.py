"""Lesson 2 tells a story about two prompts: what its stand-in for a model does is what the prose says, with a key it asks the real one."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import nbformat
import pytest

from llm4s_notebook.errors import ConfigError
from llm4s_notebook.examples.shop_model import ORDERS, shop_model
from llm4s_notebook.models import AssistantMessage, Message, ModelRequest, SystemMessage, ToolCall, ToolMessage, UserMessage, calls

LESSON = nbformat.read(str(Path(__file__).parents[2] / "notebooks" / "02_your_own_model.ipynb"), as_version=4)
CODE = [cell for cell in LESSON.cells if cell.cell_type == "code"]
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY")
KETTLE = "My kettle, order A-1001, arrived broken. I want my 60 euros back!"
LAMP = "I want my 25 euros back for order A-1002."


def said(prompt: str, asked: str, *results: str) -> str | AssistantMessage:
    """What the stand-in does once its tools gave these results."""
    messages: list[Message] = [SystemMessage(prompt), UserMessage("an older question about A-1003"), ToolMessage("an older result", "c0")]
    messages.append(UserMessage(asked))
    for at, result in enumerate(results, 1):
        messages += [calls(ToolCall(f"c{at}", "some_tool", {})), ToolMessage(result, f"c{at}")]
    return shop_model(ModelRequest(tuple(messages)))


def refund(id: str, number: str, euros: int) -> AssistantMessage:
    return calls(ToolCall(id, "refund", {"number": number, "euros": euros}))


def test_the_stand_in_believes_the_customer_unless_it_is_told_to_look_up() -> None:
    """The sum is the customer's, or the order's."""
    assert said("Be short.", KETTLE) == refund("call-2", "A-1001", 60)
    assert said("Look orders up.", KETTLE) == calls(ToolCall("call-2", "find_order", {"number": "A-1001"}))
    assert said("Look orders up.", KETTLE, str(ORDERS["A-1001"])) == refund("call-3", "A-1001", 39)
    assert said("Be short.", "Where is A-1003?") == "It left our warehouse this morning and will certainly be with you tomorrow."
    assert said("Be short. Look it up.", "Where is A-1003?", str(ORDERS["A-1003"])) == "Your backpack arrived yesterday."


def test_the_stand_in_keeps_a_limit_of_days_that_the_prompt_names() -> None:
    """Which it can only where it looked up."""
    old = str(ORDERS["A-1002"])
    assert (
        said("Look it up; short. Within 30 days.", LAMP, old) == "I am sorry, the desk lamp arrived 80 days ago; we refund within 30 days."
    )
    assert said("Look it up; short. Within 90 days.", LAMP, old) == refund("call-3", "A-1002", 25)
    assert said("Look it up; short.", LAMP, old) == refund("call-3", "A-1002", 25)
    assert said("Short. Within 30 days.", LAMP) == refund("call-2", "A-1002", 25)


@pytest.mark.parametrize("prompt", ["Be brief.", "Keep it short.", "At most two sentences."])
def test_the_stand_in_is_polite_at_length_unless_it_is_told_to_be_short(prompt: str) -> None:
    """And passes on what its tools gave, a reviewer's reason included."""
    paid, rejected = "39 euros are on their way", '{"error":"Rejected: the kettle cost 39 euros"}'
    assert said(prompt, KETTLE, paid) == "39 euros are on their way."
    assert said(prompt, KETTLE, rejected) == "I am sorry, I cannot do that: the kettle cost 39 euros."
    long = said("", KETTLE, paid)
    assert isinstance(long, str)
    assert long.startswith("Thank you so much for writing to us! 39 euros are on their way. Is there anything else")
    assert said(prompt, "I am cross.") == "Which order is it about? Its number is on the invoice, like A-1001."
    assert said(f"{prompt} Look it up.", "Where is Z-9999?", "there is no order Z-9999") == "There is no order Z-9999."


def test_the_prose_says_what_the_cells_show() -> None:
    """The first prompt pays nobody, the second one customer of two; it needs more calls and fewer words."""
    prose = "\n".join(cell.source for cell in LESSON.cells if cell.cell_type == "markdown")
    assert "the first prompt pays nobody" in prose
    assert "The second pays the 39 euros, declines the lamp by itself, knows where the backpack is" in prose
    assert "in fewer words. It costs more model calls" in prose
    [shown] = [cell.outputs[0].text for cell in CODE if "comparison.to_records()" in cell.source]
    heads, answers = [line.split() for line in shown.splitlines()[::2]], [line.strip() for line in shown.splitlines()[1::2]]
    assert [head[0] for head in heads] == ["a:", "b:"] * 3
    assert [answer for answer in answers if "on their way" in answer] == ["39 euros are on their way for order A-1001."]
    assert sum("I cannot do that" in answer for answer in answers[::2]) == 2
    assert "will certainly be with you tomorrow" in answers[4]
    assert answers[5] == "Your backpack arrived yesterday."
    totals = [tuple(sum(int(head[at].strip(",")) for head in heads[side::2]) for at in (3, 7)) for side in (0, 1)]
    (calls_a, words_a), (calls_b, words_b) = totals
    assert calls_b > calls_a
    assert words_b < words_a


class TestWhichModel:
    """The cell that chooses the client; nothing in it is sent anywhere."""

    @pytest.fixture(autouse=True)
    def no_keys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in KEYS:
            monkeypatch.delenv(name, raising=False)

    def chosen(self) -> tuple[dict[str, Any], str]:
        """The cell's names, and what it prints."""
        scope: dict[str, Any] = {}
        printed = io.StringIO()
        with redirect_stdout(printed):
            for cell in CODE[:2]:
                exec(cell.source, scope)
        scope["provider"].stop()
        return scope, printed.getvalue()

    def test_without_a_key_it_is_the_mock_and_says_so(self) -> None:
        scope, printed = self.chosen()
        assert scope["client"].model == "openai:mock"
        assert scope["client"].options.base_url == scope["provider"].url
        assert "OPENAI_API_KEY" in printed
        assert "talks to the mock provider on this machine" in printed

    def test_with_a_key_it_is_the_model_that_the_first_line_names(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """M1.3, M1.5: at the provider's own address, and the key is not printed."""
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-0123456789abcdef")
        scope, printed = self.chosen()
        assert scope["client"].model == scope["MODEL"]
        assert scope["client"].options.base_url is None
        assert f"talks to {scope['MODEL']}" in printed
        assert "sk-test" not in printed

    def test_without_the_extra_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """M1.2."""
        for name in [name for name in sys.modules if name.startswith("pydantic_ai.models.openai")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "pydantic_ai.models.openai", None)  # pyright: ignore[reportArgumentType]  # what an import takes for missing
        with pytest.raises(ConfigError, match=r"the extra 'models', which is not installed.*llm4s-notebook\[models\]"):
            self.chosen()
