"""`await review(…)` in a cell of a real kernel, answered by comm messages alone, as a browser sends them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .front_end import KernelFrontEnd
from .kernel_cells import approve, reject, setup

TWO = 'calls(deployment("c1", "1.0"), deployment("c2", "2.0")), "both are out"'
ONE = 'calls(deployment("c1", "1.0")), "it is out"'
SLOW = 'calls(ToolCall("c1", "slow", {"name": "a"})), "done"'


def test_a_waiting_cell_is_released_by_an_answer_and_ends_with_the_result(kernel: KernelFrontEnd, tmp_path: Path):
    """W5.1: the cell shows the console and goes on with the turn's result."""
    kernel.run(setup(tmp_path, ONE))
    cell = kernel.execute('result = await review(agent, "ship it", thread_id="t")\nprint(result.answer)')
    console = kernel.waiting()
    document = kernel.document(console)
    assert [card["title"] for card in document["pending"]] == ["deploy wants your approval"]
    assert document["storage"] == {"kind": "file", "path": str(tmp_path / "threads.db"), "text": str(tmp_path / "threads.db")}
    assert cell not in kernel.idle
    reply = kernel.reply(kernel.answer(console, approve(document["pending"][0]["id"])))
    assert (reply["kind"], reply["said"]) == ("done", "approved deploy")
    kernel.finish(cell)
    assert kernel.printed(cell) == "it is out\n"
    assert kernel.document(console)["status"] == "completed"


def test_two_submits_in_one_waiting_cell_both_arrive(kernel: KernelFrontEnd, tmp_path: Path):
    """W2.6: a subset first, the rest later, while the same cell waits."""
    kernel.run(setup(tmp_path, TWO))
    cell = kernel.execute('result = await review(agent, "ship it", thread_id="t")\nprint(result.answer, did())')
    console = kernel.waiting(cards=2)
    first, second = (card["id"] for card in kernel.document(console)["pending"])
    assert kernel.reply(kernel.answer(console, approve(second)))["said"] == "approved deploy, 1 left"
    kernel.until(console, lambda document: [card["id"] for card in document["pending"]] == [first] and not document["running"])
    assert kernel.reply(kernel.answer(console, reject(first)))["said"] == "rejected deploy"
    kernel.finish(cell)
    assert kernel.printed(cell) == "both are out ['deploy-2.0']\n"


def test_two_clicks_on_the_graph_while_a_cell_waits_both_count_from_the_next_resume(kernel: KernelFrontEnd, tmp_path: Path):
    """W3.2: holds set during an await apply from the resume on."""
    kernel.run(setup(tmp_path, ONE))
    cell = kernel.execute('result = await review(agent, "ship it", thread_id="t")\nprint(result.answer)')
    console = kernel.waiting()
    for node, phase in (("assistant/call-tool", "AFTER"), ("assistant/finish", "BEFORE")):
        assert kernel.reply(kernel.ask(console, {"kind": "set_hold", "node": node, "phase": phase, "on": True}))["kind"] == "done"
    holds = {node["id"]: (node["hold_before"], node["hold_after"]) for node in kernel.document(console)["graph"]["nodes"]}
    assert holds["assistant/call-tool"] == ("off", "on")
    assert holds["assistant/approval"] == ("off", "on")
    assert holds["assistant/finish"] == ("on", "off")
    kernel.answer(console, approve(kernel.document(console)["pending"][0]["id"]))
    for node in ("assistant/approval", "assistant/finish"):
        held = [("BREAKPOINT", node)]
        document = kernel.until(console, lambda document, held=held: [(card["kind"], card["node"]) for card in document["pending"]] == held)
        kernel.answer(console, {"decision": "proceed", "id": document["pending"][0]["id"]})
    kernel.finish(cell)
    assert kernel.printed(cell) == "it is out\n"


def test_a_cell_that_applied_nest_asyncio_before_does_not_break_the_wait(fresh_kernel: KernelFrontEnd, tmp_path: Path):
    """Facts 3: nest_asyncio is there for the `*_sync` calls, and many notebooks apply it anyway."""
    kernel = fresh_kernel
    kernel.run("import nest_asyncio\nnest_asyncio.apply()\nprint('applied')")
    kernel.run(setup(tmp_path, ONE))
    cell = kernel.execute('result = await review(agent, "ship it", thread_id="t")\nprint(result.answer)')
    console = kernel.waiting()
    kernel.answer(console, approve(kernel.document(console)["pending"][0]["id"]))
    kernel.finish(cell)
    assert kernel.printed(cell) == "it is out\n"


def test_an_interrupt_while_a_person_is_awaited_ends_the_wait_and_leaves_the_cards(kernel: KernelFrontEnd, tmp_path: Path):
    """The cards stay answerable in the background, and the notice says how to wait again."""
    kernel.run(setup(tmp_path, ONE))
    cell = kernel.execute('result = await review(agent, "ship it", thread_id="t")')
    console = kernel.waiting()
    kernel.interrupt()
    kernel.finish(cell)
    assert kernel.error_names(cell) == ["CancelledError"]
    document = kernel.until(console, lambda document: document["notice"] is not None)
    assert 'await review(agent, "…", thread_id="t")' in document["notice"]
    assert len(document["pending"]) == 1
    assert kernel.run("print(1 + 1)") == "2\n"
    kernel.answer(console, approve(document["pending"][0]["id"]))
    kernel.until(console, lambda document: document["status"] == "completed")
    assert kernel.run('print((await review(agent, "ship it", thread_id="t")).answer, did())') == "it is out ['deploy-1.0']\n"


def test_the_same_thread_is_waited_for_again_after_an_interrupt(kernel: KernelFrontEnd, tmp_path: Path):
    """W5.4: `review` with the thread id shows the waiting turn; the query is ignored."""
    kernel.run(setup(tmp_path, ONE))
    first = kernel.execute('await review(agent, "ship it", thread_id="t")')
    kernel.waiting()
    kernel.interrupt()
    kernel.finish(first)
    again = kernel.execute('print((await review(agent, "…", thread_id="t")).answer, len(client.requests))')
    console = kernel.waiting(1)
    kernel.answer(console, approve(kernel.document(console)["pending"][0]["id"]))
    kernel.finish(again)
    assert kernel.printed(again) == "it is out 2\n"


def test_an_interrupt_while_a_tool_runs_cancels_the_run_and_recover_finishes_it(kernel: KernelFrontEnd, tmp_path: Path):
    """D2: the run is out when the cell has ended; recover runs only what did not finish."""
    kernel.run(setup(tmp_path, SLOW))
    cell = kernel.execute('await review(agent, "take long", thread_id="t")')
    console = kernel.console()
    kernel.until(console, lambda document: document["running"])
    kernel.pump(lambda: (tmp_path / "did.txt").exists())
    kernel.interrupt()
    kernel.finish(cell)
    document = kernel.until(console, lambda document: not document["running"])
    assert document["status"] == "unfinished"
    assert document["can_recover"]
    assert document["status_text"] == "cancelled: recover continues it"
    assert document["error"] is None
    recover = kernel.ask(console, {"kind": "recover"})
    assert kernel.reply(recover)["kind"] == "done"
    kernel.pump(lambda: (tmp_path / "did.txt").read_text().count("slow-a") == 2)
    kernel.reply(kernel.ask(console, {"kind": "cancel"}))
    kernel.until(console, lambda document: not document["running"])


CALLS = ['await agent.run("go", thread_id="t")', 'await Session(agent, "t").run("go")', 'agent.run_sync("go", thread_id="t")']


@pytest.mark.parametrize("call", CALLS)
def test_an_interrupted_cell_cancels_the_run_it_waits_for_whatever_call_it_used(fresh_kernel: KernelFrontEnd, tmp_path: Path, call: str):
    """D2, F26: the run is out and the thread free when the cell has ended; a tool that sleeps an hour does not hold it up."""
    kernel = fresh_kernel
    kernel.run(setup(tmp_path, SLOW))
    cell = kernel.execute(call)
    kernel.pump(lambda: (tmp_path / "did.txt").exists())
    kernel.interrupt()
    kernel.finish(cell)
    assert kernel.error_names(cell) in (["CancelledError"], ["KeyboardInterrupt"])
    shown = kernel.run('print(type((await agent.result("t")).status).__name__, (await store.head("t")).claim)')
    assert shown == "Unfinished None\n"


def test_an_interrupt_while_a_click_s_own_run_is_under_way_cancels_it_too(kernel: KernelFrontEnd, tmp_path: Path):
    """D2, W5.1: what a cell awaits is the turn, whoever began its run."""
    script = 'calls(deployment("c1", "1.0")), calls(ToolCall("c2", "slow", {"name": "b"})), "done"'
    kernel.run(setup(tmp_path, script))
    cell = kernel.execute('await review(agent, "both", thread_id="t")')
    console = kernel.waiting()
    kernel.answer(console, approve(kernel.document(console)["pending"][0]["id"]))
    kernel.pump(lambda: "slow-b" in (tmp_path / "did.txt").read_text() if (tmp_path / "did.txt").exists() else False)
    kernel.interrupt()
    kernel.finish(cell)
    assert kernel.until(console, lambda document: not document["running"])["status"] == "unfinished"
    assert (tmp_path / "did.txt").read_text().split() == ["deploy-1.0", "slow-b"]


def test_restart_and_run_all_shows_the_waiting_turn_and_runs_nothing_twice(fresh_kernel: KernelFrontEnd, tmp_path: Path):
    """F24, F40: after a restart the same pending cards come from the file, and answering them finishes the turn."""
    kernel = fresh_kernel
    first_cell = setup(tmp_path, TWO)
    kernel.run(first_cell)
    cell = kernel.execute('result = await review(agent, "ship it", thread_id="t")\nprint(result.answer, did())')
    before = kernel.document(kernel.waiting(cards=2))
    kernel.restart()
    kernel.run(setup(tmp_path, '"both are out"'))
    cell = kernel.execute('result = await review(agent, "ship it", thread_id="t")\nprint(result.answer, did(), len(client.requests))')
    console = kernel.waiting(cards=2)
    after = kernel.document(console)
    assert after["pending"] == before["pending"]
    assert after["messages"] == before["messages"]
    kernel.answer(console, *(approve(card["id"]) for card in after["pending"]))
    kernel.finish(cell)
    assert kernel.printed(cell) == "both are out ['deploy-1.0', 'deploy-2.0'] 1\n"


@pytest.mark.parametrize("decision", ["approve", "edit", "unknown"])
def test_a_message_that_names_another_call_runs_nothing_but_the_waiting_one(kernel: KernelFrontEnd, tmp_path: Path, decision: str):
    """F12, F25: no argument of a message runs unless it is an edit that validates."""
    kernel.run(setup(tmp_path, ONE))
    cell = kernel.execute('result = await review(agent, "ship it", thread_id="t")\nprint(result.answer, did())')
    console = kernel.waiting()
    waiting = kernel.document(console)["pending"][0]["id"]
    tampered = {
        "approve": {"decision": "approve", "id": waiting, "tool_name": "slow", "arguments": {"name": "x"}},
        "edit": {"decision": "edit", "id": waiting, "name": "slow", "arguments": {"name": "x"}},
        "unknown": {"decision": "approved", "id": waiting},
    }[decision]
    reply = kernel.reply(kernel.answer(console, tampered))
    assert (reply["kind"], reply["error"]["type"]) == ("refused", "DecodeError")
    assert not (tmp_path / "did.txt").exists()
    kernel.answer(console, approve(waiting))
    kernel.finish(cell)
    assert kernel.printed(cell) == "it is out ['deploy-1.0']\n"
