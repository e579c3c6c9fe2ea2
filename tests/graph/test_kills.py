"""A process that dies at any commit loses nothing that was recorded and repeats nothing that was (R6.18, R6.23, R8.10, 6.5)."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.graph import Durability

from .kills import TURNS, Kills

LEAST = 60
"""Kills a mode."""


@pytest.fixture(scope="module")
def servers() -> Iterator[list[Kills]]:
    """As many as there are processors on the smallest machine of CI."""
    with Kills.open() as one, Kills.open() as two:
        yield [one, two]


def lines(folder: Path) -> list[str]:
    """The task ids of the bodies that began, in order."""
    file = folder / "lines"
    return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []


def said(events: list[list[Any]], kind: str) -> list[Any]:
    return [one for one in events if one[2]["type"] == kind]


def of_a_run(events: list[list[Any]]) -> list[list[Any]]:
    """The events without what only a recovery says."""
    return [one for one in events if one[2]["type"] != "RunRecovered"]


def phases(history: list[Any]) -> set[str | None]:
    """The phases of everything that was ever parked; None for a typed question."""
    return {json.loads(entry).get("phase") for _, _, entries in history for section, _, entry in entries if section == "parked"}


def superstep(task_id: str) -> int:
    return int(task_id.partition(".")[0])


def check(whole: dict[str, Any], states: list[Any], folder: Path, before: list[str], answer: dict[str, Any], where: str) -> None:
    """What a second process found after a kill and how it ended, against a run that nobody killed."""
    found, ended = answer["found"], answer["ended"]
    # what was on disk is a prefix of the unkilled run
    events = of_a_run(found["events"])
    assert events == whole["events"][: len(events)], where
    assert found["latest"] is None or found["latest"] in states, where
    assert found["waiting"] in ([], [found["parked"]]), where
    # no task with a recorded result ran again
    again = lines(folder)[len(before) :]
    if found["latest"] is not None:
        open_tasks = set(found["frontier"]) - set(found["writes"])
        repeated = [id for id in again if superstep(id) < found["latest"][0] and id not in open_tasks]
        assert not repeated, where
        assert not set(again) & set(found["writes"]), where
    completed = Counter(one[0] for one in said(ended["events"], "TaskCompleted"))
    assert set(completed.values()) == {1}, where
    # no interrupt was lost, and none was answered twice
    for kind in ("TaskSuspended", "RunResumed", "RunSuspended", "RunCompleted"):
        assert said(ended["events"], kind) == said(whole["events"], kind), (where, kind)
    # the same end
    assert ended["latest"] == whole["latest"], where
    assert not ended["frontier"], where
    assert not ended["parked"], where
    assert not ended["writes"], where


@pytest.mark.parametrize("durability", list(Durability))
def test_a_process_killed_at_any_commit_is_taken_over_without_loss(servers: list[Kills], tmp_path: Path, durability: Durability) -> None:
    """R6.18, R6.23, R8.10, 6.5: SIGKILL right before and right after each commit of two turns with fan-out, both joins, typed
    questions and holds on both sides; a second process goes on from the file."""
    for name in ("sync", "own"):
        (tmp_path / name).mkdir()
    sync = servers[0].run(tmp_path / "sync", Durability.SYNC)
    own = servers[0].run(tmp_path / "own", durability)
    assert sync is not None
    assert own is not None
    whole = own["ended"]
    assert sync["ended"]["latest"] == whole["latest"]
    assert len(said(whole["events"], "RunStarted")) == TURNS
    assert phases(sync["ended"]["history"]) == {None, "Before", "After"}
    assert set(Counter(lines(tmp_path / "own")).values()) == {1}
    log = [(number, after) for number in range(1, own["commits"] + 1) for after in (False, True)]
    assert len(log) >= LEAST

    def share(children: Kills, some: list[tuple[int, bool]]) -> None:
        for number, after in some:
            folder = tmp_path / f"{number}-{after}"
            folder.mkdir()
            where = f"killed {'after' if after else 'before'} commit {number} of {own['commits']} in {durability}"
            children.run(folder, durability, number, after)
            before = lines(folder)
            answer = children.run(folder, durability)
            assert answer is not None
            check(whole, sync["ended"]["history"], folder, before, answer, where)
            if durability is Durability.SYNC:  # what was announced is there, and nothing else
                commits = number if after else number - 1
                assert len(answer["found"]["events"]) == (own["said"][commits - 1] if commits else 0), where

    with ThreadPoolExecutor(len(servers)) as threads:
        for done in [threads.submit(share, one, log[index :: len(servers)]) for index, one in enumerate(servers)]:
            done.result()


@pytest.mark.parametrize("durability", list(Durability))
def test_a_recovery_that_is_killed_too_is_recovered(servers: list[Kills], tmp_path: Path, durability: Durability) -> None:
    """R8.10, R6.20: the second process dies at its own first, second or third commit - which carries recorded results over to a new
    checkpoint - and a third one goes on; still nothing recorded is run again and the end is the same."""
    for name in ("sync", "own"):
        (tmp_path / name).mkdir()
    sync = servers[0].run(tmp_path / "sync", Durability.SYNC)
    own = servers[1].run(tmp_path / "own", durability)
    assert sync is not None
    assert own is not None
    for number, (second, after) in enumerate(itertools.product((1, 2, 3), (False, True)), 3):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        servers[0].run(folder, durability, number, True)
        servers[0].run(folder, durability, second, after)
        before = lines(folder)
        answer = servers[0].run(folder, durability)
        assert answer is not None
        where = f"killed after commit {number}, its recovery {'after' if after else 'before'} commit {second} in {durability}"
        check(own["ended"], sync["ended"]["history"], folder, before, answer, where)
