"""``python -m llm4s_notebook lab``, without a browser: a server, an address, and a clean end."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.command import run_command, start_command
from llm4s_notebook._cli._lessons import shipped_lessons

ADDRESS = re.compile(r"http://\S+")
LESSON = "01_a_turn_that_waits.ipynb"


@contextlib.contextmanager
def taken_port() -> Iterator[int]:
    """A port that somebody else listens on while the block lasts."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


@contextlib.contextmanager
def ending(process: subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def read_until(process: subprocess.Popen[str], sentence: str) -> str:
    """The process's output up to the line that contains ``sentence``; ends with the output if that never comes."""
    assert process.stdout is not None
    read: list[str] = []
    for line in process.stdout:
        read.append(line)
        if sentence in line:
            break
    return "".join(read)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT], ids=["terminated", "interrupted"])
def test_a_taken_port_gives_the_next_and_the_printed_address_answers(tmp_path: Path, stop: signal.Signals) -> None:
    """Where no browser can be opened the address is printed; what it names is the lesson; the server ends when told to."""
    with taken_port() as port:
        process = start_command(tmp_path, "lab", "--dir", "mine", "--port", str(port))
        with ending(process):
            printed = read_until(process, "Ctrl-C")
            assert "No browser can be opened here" in printed
            assert f"Port {port} is taken" in printed
            found = ADDRESS.search(printed)
            assert found is not None, printed
            address = found.group()
            assert LESSON in address
            assert printed.count("token=") == 1  # said once, not once more by the server itself
            assert f":{port}/" not in address
            with urllib.request.urlopen(address, timeout=120) as page:
                assert page.status == 200
            lesson = address.replace("/lab/tree/", "/api/contents/")
            with urllib.request.urlopen(lesson, timeout=120) as answer:
                cells = json.load(answer)["content"]["cells"]
            assert all(cell["metadata"]["trusted"] for cell in cells if cell["cell_type"] == "code")  # else a reload loses the widgets
            process.send_signal(stop)
            assert process.wait(120) == 0
    assert (tmp_path / "mine" / LESSON).read_bytes() == shipped_lessons()[LESSON]


def test_a_changed_lesson_is_kept_and_the_person_told(tmp_path: Path) -> None:
    """Starting the lab again writes over nothing."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / LESSON).write_text("my own")
    process = start_command(tmp_path, "lab", "--dir", "mine", "--no-browser")
    with ending(process):
        printed = read_until(process, "Ctrl-C")
        assert f"{LESSON}: kept, you have changed it" in printed
        assert "No browser can be opened" not in printed  # none was asked for
        process.terminate()
        assert process.wait(120) == 0
    assert (tmp_path / "mine" / LESSON).read_text() == "my own"


def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path) -> None:
    """No traceback, no server."""
    (tmp_path / "mine").write_text("a file")
    done = run_command(tmp_path, "lab", "--dir", "mine")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "mine" in done.stderr
    assert done.stderr.count("\n") == 1
