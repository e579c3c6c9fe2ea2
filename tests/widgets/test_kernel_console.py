"""`Console(session)` as a cell's value: the turn runs in the background, and the kernel stays free."""

from __future__ import annotations

from pathlib import Path

from .front_end import KernelFrontEnd
from .kernel_cells import approve, setup

ONE = 'calls(deployment("c1", "1.0")), "it is out"'
TWO = 'calls(deployment("c1", "1.0"), deployment("c2", "2.0")), "both are out"'


def test_another_cell_computes_while_the_console_waits(kernel: KernelFrontEnd, tmp_path: Path):
    """Lesson 1: the console runs the turn in the background; `console.result` is read in a later cell."""
    kernel.run(setup(tmp_path, ONE))
    kernel.run('session = Session(agent, "t")\nconsole = Console(session, "ship it")\nconsole')
    console = kernel.waiting()
    assert kernel.run("print(sum(range(10)), session.running)") == "45 False\n"
    kernel.answer(console, approve(kernel.document(console)["pending"][0]["id"]))
    kernel.until(console, lambda document: document["status"] == "completed")
    assert kernel.run("print(console.result.answer, did())") == "it is out ['deploy-1.0']\n"


def test_the_console_cell_run_twice_runs_the_turn_once(kernel: KernelFrontEnd, tmp_path: Path):
    """W5.4, F40: the same thread shown twice is one turn, and both consoles draw it."""
    kernel.run(setup(tmp_path, ONE))
    cell = 'session = Session(agent, "t")\nConsole(session, "ship it")'
    kernel.run(cell)
    first = kernel.waiting()
    kernel.run(cell)
    second = kernel.waiting(1)
    assert first != second
    assert kernel.run("print(len(client.requests))") == "1\n"
    kernel.answer(second, approve("2.0"))
    for console in (first, second):
        kernel.until(console, lambda document: document["status"] == "completed")
    kernel.run(cell)
    third = kernel.console(2)
    kernel.until(third, lambda document: document["answer"] == "it is out")
    assert kernel.run("print(len(client.requests), did())") == "2 ['deploy-1.0']\n"


def test_two_widgets_of_one_session_show_the_same_revision(kernel: KernelFrontEnd, tmp_path: Path):
    """W1.2, F24: shown twice; an answer in one is drawn in both, drafts too."""
    kernel.run(setup(tmp_path, TWO))
    kernel.run('session = Session(agent, "t")\nConsole(session, "ship it")')
    kernel.run("ReviewPanel(session)")
    console = kernel.waiting(cards=2)
    (panel,) = kernel.models("panel")
    kernel.reply(kernel.ask(panel, {"kind": "save_draft", "id": "2.1", "draft": {"decision": "approve"}}))
    pushed = [model for model, message in kernel.messages if message["kind"] == "drafts"]
    assert set(pushed) == {console, panel}
    kernel.answer(panel, approve("2.0"))
    for model in (console, panel):
        kernel.until(model, lambda document: [card["id"] for card in document["pending"]] == ["2.1"] and not document["running"])
    kernel.pump(lambda: kernel.document(console)["revision"] == kernel.document(panel)["revision"])
    assert kernel.document(console) == kernel.document(panel)


def test_a_click_during_a_long_cell_is_applied_once_when_the_kernel_is_free(kernel: KernelFrontEnd, tmp_path: Path):
    """F28, F37: sent while the kernel is busy; no reply until it is free, then carried out once, also when sent again."""
    kernel.run(setup(tmp_path, ONE))
    kernel.run('Console(Session(agent, "t"), "ship it")')
    console = kernel.waiting()
    door = tmp_path / "door"
    busy = kernel.execute(f"""
        print("busy")
        while not pathlib.Path({str(door)!r}).exists():
            time.sleep(0.02)
    """)
    kernel.pump(lambda: kernel.printed(busy) == "busy\n")
    kernel.answer(console, approve("2.0"), request_id="click")
    kernel.answer(console, approve("2.0"), request_id="click")
    kernel.quiet(0.5)
    assert kernel.replies("click") == []
    assert not (tmp_path / "did.txt").exists()
    door.touch()
    kernel.pump(lambda: len(kernel.replies("click")) == 2)
    assert [reply["kind"] for reply in kernel.replies("click")] == ["done", "done"]
    kernel.until(console, lambda document: document["status"] == "completed")
    assert kernel.run("print(did())") == "['deploy-1.0']\n"


PANEL = """
import threading
session = Session(agent, "t")
heard_on = []

def opened(comm, message):
    def heard(message):
        heard_on.append(threading.current_thread().name)
        session.handle(message["content"]["data"], lambda reply: comm.send(reply.model_dump(mode="json")))

    comm.on_msg(heard)

get_ipython().kernel.comm_manager.register_target("panel", opened)
Console(session, "ship it")
"""


def test_requests_on_a_subshells_thread_are_carried_out_on_the_kernels_own_loop(kernel: KernelFrontEnd, tmp_path: Path):
    """F29: what a side panel opens is heard on a subshell's thread, with a loop of its own."""
    kernel.run(setup(tmp_path, TWO))
    kernel.run(PANEL)
    console = kernel.waiting(cards=2)
    panel = kernel.open_panel("panel")
    for interrupt in ("2.0", "2.1"):
        assert kernel.reply(panel.submit(approve(interrupt)))["kind"] == "done"
    kernel.until(console, lambda document: document["status"] == "completed")
    printed = kernel.run("print(any(name == 'MainThread' for name in heard_on), len(heard_on), sorted(did()))")
    assert printed == "False 2 ['deploy-1.0', 'deploy-2.0']\n"


def test_a_request_on_a_subshell_during_a_long_cell_waits_for_the_kernels_own_loop(kernel: KernelFrontEnd, tmp_path: Path):
    """F28, F29: heard at once on the other thread, carried out once when the loop it belongs to is free."""
    kernel.run(setup(tmp_path, ONE))
    kernel.run(PANEL)
    console = kernel.waiting()
    panel = kernel.open_panel("panel")
    door = tmp_path / "door"
    busy = kernel.execute(f"print('busy')\nwhile not heard_on or not pathlib.Path({str(door)!r}).exists():\n    time.sleep(0.02)")
    kernel.pump(lambda: kernel.printed(busy) == "busy\n")
    click = panel.submit(approve("2.0"))
    kernel.quiet(0.4)
    assert kernel.replies(click) == []
    assert not (tmp_path / "did.txt").exists()
    door.touch()
    assert kernel.reply(click)["kind"] == "done"
    kernel.until(console, lambda document: document["status"] == "completed")
    assert kernel.run("print(did())") == "['deploy-1.0']\n"


def test_two_threads_of_one_kernel_are_answered_in_reverse_order(kernel: KernelFrontEnd, tmp_path: Path):
    """F35: independent."""
    kernel.run(setup(tmp_path, 'calls(deployment("c1", "1.0")), calls(deployment("c1", "2.0")), "second", "first"'))
    kernel.run('first = Session(agent, "a")\nConsole(first, "ship one")')
    kernel.waiting(0)
    kernel.run('second = Session(agent, "b")\nConsole(second, "ship two")')
    kernel.waiting(1)
    one, two = kernel.models()
    kernel.answer(two, approve("2.0"))
    assert kernel.until(two, lambda document: document["status"] == "completed")["answer"] == "second"
    assert kernel.document(one)["status"] == "suspended"
    kernel.answer(one, approve("2.0"))
    assert kernel.until(one, lambda document: document["status"] == "completed")["answer"] == "first"


def test_after_a_restart_the_console_shows_the_same_cards_from_the_file(fresh_kernel: KernelFrontEnd, tmp_path: Path):
    """F24: the same pending cards, and since when they wait; answering them finishes the turn."""
    kernel = fresh_kernel
    kernel.run(setup(tmp_path, TWO))
    kernel.run('Console(Session(agent, "t"), "ship it")')
    before = kernel.document(kernel.waiting(cards=2))
    kernel.restart()
    kernel.run(setup(tmp_path, '"both are out"'))
    kernel.run('Console(Session(agent, "t"), "ship it")')
    console = kernel.waiting(cards=2)
    assert kernel.document(console)["pending"] == before["pending"]
    kernel.answer(console, approve("2.0"), approve("2.1"))
    assert kernel.until(console, lambda document: document["status"] == "completed")["answer"] == "both are out"


def test_the_persons_own_handler_may_call_run_sync(fresh_kernel: KernelFrontEnd, tmp_path: Path):
    """F26: a blocking call from a widget's callback works, or says which call to use instead."""
    kernel = fresh_kernel
    kernel.run(setup(tmp_path, '"from a cell", "from a callback", "from a thread"'))
    assert kernel.run('print(agent.run_sync("hi", thread_id="a").answer)') == "from a cell\n"
    kernel.run("""
        import ipywidgets, threading
        said = []

        def clicked(*_):
            try:
                said.append(agent.run_sync("hi", thread_id="b").answer)
            except Exception as error:
                said.append(f"{type(error).__name__}: {error}")

        button = ipywidgets.Button()
        button.on_click(clicked)
    """)
    model = next(model for model, state in kernel.states.items() if state.get("_model_name") == "ButtonModel")
    kernel.send(model, {"method": "custom", "content": {"event": "click"}})
    assert kernel.run("print(said)") == "['from a callback']\n"  # a cell waits its turn behind the click
    kernel.run("""
        def work():
            said.append(agent.run_sync("hi", thread_id="c").answer)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    """)
    assert kernel.run("print(len(said), said[1].startswith('from a'))") == "2 True\n"


def test_an_error_in_a_handler_is_drawn_and_the_next_click_works(kernel: KernelFrontEnd, tmp_path: Path):
    """F33: a callback's exception is printed nowhere in a notebook, so it is in the document."""
    kernel.run(setup(tmp_path, ONE))
    kernel.run('session = Session(agent, "t")\nConsole(session, "ship it")')
    console = kernel.waiting()
    kernel.run("""
        handle = session.handle

        def broken(*given, **named):
            session.handle = handle
            raise RuntimeError("the handler broke")

        session.handle = broken
    """)
    kernel.answer(console, approve("2.0"))
    error = kernel.until(console, lambda document: document["error"] is not None)["error"]
    assert (error["type"], error["what"]) == ("RuntimeError", "the handler broke")
    assert kernel.reply(kernel.answer(console, approve("2.0")))["kind"] == "done"
    kernel.until(console, lambda document: document["status"] == "completed" and document["error"] is None)


def test_cells_queued_behind_a_blocking_call_run_when_it_has_ended(fresh_kernel: KernelFrontEnd, tmp_path: Path):
    """F26: Run All over a notebook that uses `run_sync`."""
    kernel = fresh_kernel
    kernel.run(setup(tmp_path, 'calls(ToolCall("c1", "pause", {"name": "x"})), "out"'))
    cells = [kernel.execute(code) for code in ('print(agent.run_sync("hi").answer)', "print('second')", "print('third')")]
    for cell in cells:
        kernel.finish(cell)
    assert [kernel.printed(cell) for cell in cells] == ["out\n", "second\n", "third\n"]
