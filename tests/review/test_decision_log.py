"""The file behind a decision log: docs/specification/decision-log.md L1, L4.1."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm4s_notebook import DecisionLog
from llm4s_notebook.errors import ConfigError, DecisionLogDamaged, EncodeError, StoreUnavailable
from llm4s_notebook.review import DecisionRecord, _line_file

NOON = datetime(2026, 11, 30, 12, 0, 0, 5, tzinfo=UTC)


class Noon:
    def now(self) -> datetime:
        return NOON


@pytest.fixture
def log(tmp_path: Path) -> DecisionLog:
    return DecisionLog(tmp_path / "decisions.jsonl", clock=Noon())


def write(log: DecisionLog, interrupt_id: str = "2.0", **other: Any) -> DecisionRecord:
    fields: dict[str, Any] = {
        "thread_id": "t",
        "kind": "APPROVAL",
        "shown": {"tool_name": "deploy", "arguments": {"version": "1.0"}},
        "answered": {"decision": "approve"},
        "who": "ana",
        "seconds": 1.5,
    }
    return log.record(interrupt_id=interrupt_id, **{**fields, **other})


def ids(log: DecisionLog) -> list[str]:
    return [record.interrupt_id for record in log.records()]


# -- one line --------------------------------------------------------------------------------------------------------


def test_a_decision_is_one_line_of_plain_json(log: DecisionLog):
    """L1.1, L1.2: everything a later reader needs, and a digest that anybody can compute."""
    record = write(log)
    (line,) = log.path.read_text(encoding="utf-8").splitlines()
    digest = hashlib.sha256(
        b'["t","2.0","APPROVAL",{"arguments":{"version":"1.0"},"tool_name":"deploy"},{"decision":"approve"}]'
    ).hexdigest()
    assert json.loads(line) == {
        "format": 1,
        "at": "2026-11-30T12:00:00.000005Z",
        "who": "ana",
        "thread_id": "t",
        "turn": None,
        "run": None,
        "query": None,
        "interrupt_id": "2.0",
        "kind": "APPROVAL",
        "shown": {"tool_name": "deploy", "arguments": {"version": "1.0"}},
        "answered": {"decision": "approve"},
        "secrets": False,
        "seconds": 1.5,
        "digest": digest,
    }
    assert log.records() == [record]
    assert (len(log), bool(log), repr(log)) == (1, True, f"DecisionLog({str(log.path)!r}: 1 decision)")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(shown=JSON, answered=JSON, who=st.none() | st.text(), thread_id=st.text())
def test_whatever_is_json_comes_back_as_it_was(tmp_path_factory: pytest.TempPathFactory, **fields: Any):
    """L1.1: also texts with line ends of every kind, half surrogate pairs, and what no editor shows."""
    log = DecisionLog(tmp_path_factory.mktemp("log") / "decisions.jsonl", clock=Noon())
    for text in ("a\nb\r\u2028\u202e\ud800", None):
        record = write(log, kind="text", **(fields if text is None else {**fields, "shown": text}))
        assert log.records()[-1] == record
        assert repr(log.records()[-1].shown) == repr(record.shown)
    assert len(log) == 2


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"shown": {"x": math.nan}}, r"'shown' of the decision does not encode: \$\.x: nan has no JSON form"),
        ({"answered": {"x": {1}}}, r"'answered' of the decision .*\$\.x: set has no JSON form"),
        ({"answered": {1: "x"}}, "the key 1 is not a string"),
        ({"shown": 10**5000}, "the decision does not encode"),
        ({"seconds": -1.0}, "seconds: Input should be greater than or equal to 0"),
        ({"seconds": math.inf}, "seconds: Input should be a finite number"),
        ({"who": 5}, "who: Input should be a valid string"),
        ({"thread_id": None}, "thread_id: Input should be a valid string"),
    ],
    ids=["nan", "set", "number key", "long number", "negative", "infinite", "who", "thread"],
)
def test_what_is_no_json_is_refused_and_writes_nothing(log: DecisionLog, fields: dict[str, Any], said: str):
    """L1.1."""
    write(log)
    before = log.path.read_bytes()
    with pytest.raises(EncodeError, match=said):
        write(log, **fields)
    assert log.path.read_bytes() == before


def test_a_value_nested_too_deeply_is_refused(log: DecisionLog):
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(EncodeError, match="nested too deeply"):
        write(log, shown=deep)
    assert len(log) == 0


def test_the_records_are_rows_of_a_table(log: DecisionLog):
    """L4.1: flat and plain, so `pandas.DataFrame(log.to_records())` has one column for each."""
    write(log)
    refused = {"middleware": "review", "guardrail": {"guardrail": "no promises", "text": "é"}}
    write(log, "3.0", kind="MIDDLEWARE_QUESTION", shown=refused, answered={"verdict": "block"}, who=None, seconds=None)
    write(log, "4.0", kind="BREAKPOINT", shown={"node": "assistant/model"}, answered=None)
    write(log, "5.0", kind="QUESTION", shown="odd", answered=[1])
    rows = log.to_records()
    assert [(row["subject"], row["decision"]) for row in rows] == [
        ("deploy", "approve"),
        ("review", "block"),
        ("assistant/model", "proceed"),
        (None, "reply"),
    ]
    assert {type(value) for row in rows for value in row.values()} == {str, float, datetime, type(None)}
    assert rows[0]["at"] == NOON
    assert json.loads(rows[1]["shown"]) == refused
    assert len({tuple(row) for row in rows}) == 1


# -- a file that is not as it should be ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda line: line[:-3], "it is no JSON: "),
        (lambda line: b"\xff" + line, "it is no JSON: 'utf-8' codec"),
        (lambda line: b"[1]", "it is no JSON object"),
        (lambda line: b"", "it is no JSON: "),
        (lambda line: line.replace(b'"1.0"', b'"9.9"'), "its digest does not fit what it says was shown and answered"),
        (lambda line: line.replace(b'"approve"', b'"reject"'), "its digest does not fit"),
        (lambda line: line.replace(b'"2.1"', b'"2.7"'), "its digest does not fit"),
        (lambda line: line.replace(b'"format": 1', b'"format": 2'), "it is of format 2; this version reads format 1"),
        (lambda line: line.replace(b'"who": "ana"', b'"who": 5'), "who: Input should be a valid string"),
        (lambda line: line.replace(b'"who": "ana"', b'"whom": "ana"'), "who: Field required; whom: Extra inputs"),
        (lambda line: line.replace(b'"1.0"', b"NaN"), "the decision does not encode|Out of range float values"),
        (lambda line: line.replace(b'"1.0"', b"[" * 100_000), "it is no JSON"),
        (lambda line: line.replace(b'"1.0"', b"9" * 5000), "it is no JSON"),
    ],
)
def test_a_damaged_line_is_named_and_never_passed_over(log: DecisionLog, spoil: Callable[[bytes], bytes], said: str):
    """L1.5: file, line and what is wrong; nothing is changed."""
    for interrupt_id in ("2.0", "2.1", "2.2"):
        write(log, interrupt_id)
    lines = log.path.read_bytes().splitlines()
    lines[1] = spoil(lines[1])
    log.path.write_bytes(b"\n".join(lines) + b"\n")
    before = log.path.read_bytes()
    for reading in (log.records, log.to_records, lambda: len(log), log.of):
        with pytest.raises(DecisionLogDamaged, match=said) as caught:
            reading()
        assert (caught.value.file, caught.value.line) == (str(log.path), 2)
        assert f"{log.path} line 2" in str(caught.value)
    assert f"{log.path} line 2" in repr(log)
    assert log.path.read_bytes() == before
    write(log, "2.3")  # what is new is kept all the same
    assert log.path.read_bytes().startswith(before)


def test_a_line_that_was_never_finished_is_told_and_passed_over(log: DecisionLog, caplog: pytest.LogCaptureFixture):
    """L1.4: its writer died; the next decision is not glued to it, and what is there of it stays to be read by a person."""
    write(log, "2.0")
    whole = log.path.read_bytes()
    with log.path.open("ab") as file:
        file.write('{"half": "é'.encode()[:-1])
    assert ids(log) == ["2.0"]
    assert "line 2 was never finished" in caplog.text
    write(log, "2.1")
    assert ids(log) == ["2.0", "2.1"]
    first, torn, _ = log.path.read_bytes().splitlines()
    assert first + b"\n" == whole
    assert json.loads(torn) == {"torn": '{"half": "\\xc3'}
    assert [record.message for record in caplog.records].count(
        f"{log.path} line 2 was never finished: its writer died, and it counts as no decision"
    ) == 1


@pytest.mark.parametrize("length", [0, 1, 65535, 65536, 65537, 200_000])
def test_however_long_the_unfinished_line_is(log: DecisionLog, length: int):
    """L1.4: also as the first of a file."""
    log.path.write_bytes(b"x" * length)
    write(log)
    assert ids(log) == ["2.0"]
    assert log.path.read_bytes().count(b"\n") == (1 if length == 0 else 2)


@pytest.mark.parametrize("at", ["write", "half", "fsync"])
def test_a_full_disk_leaves_the_file_as_it_was(log: DecisionLog, monkeypatch: pytest.MonkeyPatch, at: str):
    """L1.3: all of it or nothing; the error names the file and what the system said, and the next decision is written."""
    write(log, "2.0")
    with log.path.open("ab") as file:
        file.write(b"torn")
    before = log.path.read_bytes()
    really = os.write
    written: list[int] = []

    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def half(descriptor: int, data: Any) -> int:
        if written:
            full()
        written.append(really(descriptor, bytes(data)[: len(data) // 2]))
        return written[0]

    with monkeypatch.context() as patched:
        if at == "fsync":
            patched.setattr(os, "fsync", full)
        else:
            patched.setattr(os, "write", full if at == "write" else half)
        with pytest.raises(StoreUnavailable, match=f"writing the decision log failed: No space left on device · store '{log.path}'"):
            write(log, "2.1")
    assert ids(log) == ["2.0"]
    if at == "fsync":
        assert log.path.read_bytes() == before
    write(log, "2.2")
    assert ids(log) == ["2.0", "2.2"]


def test_a_log_that_cannot_be_there_is_refused_when_it_is_opened(tmp_path: Path):
    """L1.3: a person's answers would be lost later."""
    for path, said in [
        (tmp_path / "no" / "log.jsonl", f"opening the decision log failed: there is no folder '{tmp_path / 'no'}'"),
        (tmp_path, "opening the decision log failed: it is a folder"),
        (tmp_path / ("long" * 100), "decision log failed: File name too long"),
    ]:
        with pytest.raises(StoreUnavailable) as caught:
            DecisionLog(path)
        assert (said in str(caught.value), str(path) in str(caught.value)) == (True, True)
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_no_file_can_have_is_refused(tmp_path: Path):
    """L1.3."""
    with pytest.raises(StoreUnavailable, match="a name has no NUL character"):
        DecisionLog(f"{tmp_path}/a\0b")
    wrong: Any = 5
    with pytest.raises(ConfigError, match="a path is wanted, not int"):
        DecisionLog(wrong)


def test_a_file_that_nobody_may_look_for_is_told(log: DecisionLog, monkeypatch: pytest.MonkeyPatch):
    """L1.3: a folder that was closed after the log was opened."""

    def closed(path: Path) -> bool:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "exists", closed)
    for reading in (log.records, log.of):
        with pytest.raises(StoreUnavailable, match="reading the decision log failed: Permission denied"):
            reading()


def test_answers_instead_are_given_by_id(log: DecisionLog):
    """L3.5."""
    write(log)
    wrong: Any = ["approve"]
    with pytest.raises(ConfigError, match="answers by interrupt id are wanted, a mapping, not list"):
        log.of(instead=wrong)


def test_a_log_that_can_be_read_only_is_for_replaying(log: DecisionLog, monkeypatch: pytest.MonkeyPatch):
    """L1.3: reading needs no right to write; whoever wants to write is told at once."""
    write(log)
    really = os.open

    def read_only(path: Any, flags: int, mode: int = 0o777) -> int:
        if flags & (os.O_WRONLY | os.O_RDWR):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return really(path, flags, mode)

    monkeypatch.setattr(os, "open", read_only)
    opened = DecisionLog(log.path)
    assert ids(opened) == ["2.0"]
    for writing in (opened.check_writable, lambda: write(opened)):
        with pytest.raises(StoreUnavailable, match="Permission denied"):
            writing()


def test_a_log_without_a_file_is_empty(log: DecisionLog):
    assert (log.records(), len(log), bool(log), log.path.exists()) == ([], 0, True, False)
    log.check_writable()
    assert log.path.read_bytes() == b""


def test_a_lock_that_is_never_freed_is_told(log: DecisionLog, monkeypatch: pytest.MonkeyPatch):
    """L1.3: a stopped process may hold it; the kernel does not hang for good."""
    write(log)
    monkeypatch.setattr(_line_file, "LOCK_SECONDS", 0.05)
    holding = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import fcntl, sys; file = open(sys.argv[1]); fcntl.flock(file, fcntl.LOCK_EX); print(flush=True); input()",
            log.path,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holding.stdout is not None
    holding.stdout.readline()
    try:
        for using in (log.records, lambda: write(log)):
            with pytest.raises(StoreUnavailable, match="another process has held its lock"):
                using()
    finally:
        holding.communicate(b"\n", timeout=10)
    assert ids(log) == ["2.0"]


# -- several writers -------------------------------------------------------------------------------------------------

APPENDING = """
import sys
from llm4s_notebook import DecisionLog
log = DecisionLog(sys.argv[1])
print(flush=True)
input()
for number in range(200):
    log.record(thread_id=sys.argv[2], interrupt_id=str(number), kind="text", shown="x" * 3000, answered=number, who=None, seconds=None)
"""


def test_two_processes_append_two_hundred_lines_each_at_once(log: DecisionLog):
    """L1.3: no line is lost, split or glued to another, and each process's are in its order."""
    started = [
        subprocess.Popen([sys.executable, "-c", APPENDING, str(log.path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for name in ("a", "b")
    ]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()
    for process in started:
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
    assert [process.wait(60) for process in started] == [0, 0]
    for process in started:
        process.communicate()
    records = log.records()
    assert len(records) == 400
    for name in ("a", "b"):
        assert [record.answered for record in records if record.thread_id == name] == list(range(200))


def test_threads_append_at_once(log: DecisionLog):
    """L1.3, D23."""
    threads = [threading.Thread(target=lambda name=name: [write(log, f"{name}.{n}") for n in range(20)]) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    written = ids(log)
    assert [[one for one in written if one.startswith(f"{name}.")] for name in range(8)] == [
        [f"{name}.{n}" for n in range(20)] for name in range(8)
    ]


def test_what_a_killed_writer_leaves_is_whole_or_put_aside(log: DecisionLog):
    """L1.3, L1.4: killed while it writes, over and over; every decision that was said to be written is there."""
    code = APPENDING.replace("for number in range(200)", "for number in range(10**9)").replace(
        "    log.record", "    print(number, flush=True)\n    log.record"
    )
    told = 0
    for name in ("a", "b", "c"):
        process = subprocess.Popen([sys.executable, "-c", code, str(log.path), name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.readline()
        process.stdin.write(b"\n")
        process.stdin.flush()
        for _ in range(5):
            begun = int(process.stdout.readline())
        process.kill()
        begun = max([begun, *(int(line) for line in process.communicate()[0].split())])
        written = [record.answered for record in log.records() if record.thread_id == name]
        assert written in (list(range(begun)), list(range(begun + 1)))
        told += len(written)
    write(log)
    assert len(log) == told + 1
