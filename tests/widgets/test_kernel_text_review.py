"""A text review in a real kernel: cells that run and wait, verdicts that come as messages meanwhile, interrupts."""

from __future__ import annotations

from .front_end import KernelFrontEnd

SETUP = """
import asyncio
from llm4s_notebook import TextReview, WordList

class Slow:
    name = "slow"
    passing = 2
    seen = 0
    async def check(self, text):
        Slow.seen += 1
        if Slow.seen > Slow.passing:
            await asyncio.sleep(3600)
        return text

texts = ["fine", "guaranteed", "guaranteed too", "fine too"]
"""
DECIDE = {"kind": "decide", "position": 1, "verdict": "block", "text": None, "note": None}


def shown(kernel: KernelFrontEnd, guardrails: str) -> str:
    """Make the review and show it; its model."""
    kernel.run(SETUP)
    kernel.run(f"check = TextReview(texts, {guardrails}, concurrency=1)\ncheck")
    [model] = [model for model, state in kernel.states.items() if "total" in state.get("state", {})]
    return model


def test_a_waiting_cell_takes_verdicts_and_ends_with_the_last(kernel: KernelFrontEnd) -> None:
    """T2.7, W5.1: no deadlock between the cell that waits and the messages it waits for."""
    model = shown(kernel, "[WordList(['guaranteed'])]")
    kernel.run("check = await check.run()")
    cell = kernel.execute("await check.reviewed()\nprint(check.left, [given.mark for given in check.verdicts.values()])")
    assert kernel.reply(kernel.ask(model, DECIDE))["said"] == "blocked, 1 left"
    assert cell not in kernel.idle
    assert kernel.reply(kernel.ask(model, {**DECIDE, "position": 2, "verdict": "allow"}))["said"] == "allowed, 0 left"
    kernel.finish(cell)
    assert kernel.printed(cell) == "0 ['block', 'allow']\n"
    kernel.pump(lambda: kernel.document(model)["totals"]["undecided"] == 0)


def test_verdicts_are_taken_while_a_cell_runs_the_guardrails_and_an_interrupt_keeps_what_is_checked(kernel: KernelFrontEnd) -> None:
    """T1.3, T1.4: a person reads the first refusals while the rest is checked; the next run goes on."""
    model = shown(kernel, "[WordList(['guaranteed']), Slow()]")
    cell = kernel.execute("await check.run()")
    kernel.pump(lambda: kernel.document(model)["checked"] == 2)
    assert kernel.document(model)["running"]
    assert kernel.reply(kernel.ask(model, DECIDE))["kind"] == "decided"
    kernel.interrupt()
    kernel.finish(cell)
    assert len(kernel.error_names(cell)) == 1
    kernel.pump(lambda: not kernel.document(model)["running"])
    assert (
        kernel.run("Slow.passing = 99; await check.run(); print(check.table().total.numbers(), Slow.seen)") == "[2, 1, 0, 0, 1, 0, 0] 5\n"
    )


def test_an_interrupt_of_the_waiting_ends_nothing_else(kernel: KernelFrontEnd) -> None:
    """T2.7: the review goes on taking verdicts."""
    model = shown(kernel, "[WordList(['guaranteed'])]")
    kernel.run("check = await check.run()")
    cell = kernel.execute("await check.reviewed()")
    kernel.quiet(0.5)
    kernel.interrupt()
    kernel.finish(cell)
    assert kernel.reply(kernel.ask(model, DECIDE))["said"] == "blocked, 1 left"


def test_the_button_runs_the_guardrails_with_no_cell_at_work(kernel: KernelFrontEnd) -> None:
    """T1.3: and stops them."""
    model = shown(kernel, "[Slow()]")
    assert kernel.reply(kernel.ask(model, {"kind": "run", "again": False}))["said"] == "checking"
    kernel.pump(lambda: kernel.document(model)["checked"] == 2)
    assert kernel.reply(kernel.ask(model, {"kind": "cancel"}))["kind"] == "done"
    kernel.pump(lambda: not kernel.document(model)["running"])
    assert kernel.document(model)["checked"] == 2


def test_where_nobody_can_answer_the_function_does(kernel: KernelFrontEnd) -> None:
    """T2.7: a cell of a run that allows no input."""
    shown(kernel, "[WordList(['guaranteed'])]")
    code = "await check.run()\nawait check.reviewed(unattended=lambda refusal: 'block')\nprint(check.left)"
    assert kernel.run(code, allow_stdin=False) == "0\n"
