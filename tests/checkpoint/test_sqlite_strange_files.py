"""Files and paths that are odd, or somebody else's, at the door of the SQLite store (R6.41, R6.43, item by item in 6.8)."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Commit, SqliteCheckpointer
from llm4s_notebook.checkpoint._sqlite import _open
from llm4s_notebook.checkpoint._sqlite._schema import TABLES, check_version
from llm4s_notebook.errors import ConfigError, StoreUnavailable
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.testing._making import draft

clock = ManualClock()


async def used(path: Any) -> None:
    """One checkpoint written, and read by whoever opens the path next."""
    async with SqliteCheckpointer(path, clock=clock) as store:
        await store.claim_and_commit("t", "run", 30, Commit(token=0, checkpoints=(draft(clock, 1),), release=True))
    async with SqliteCheckpointer(path, clock=clock) as store:
        assert (await store.head("t")).checkpoint_id == "run/1"


@pytest.mark.parametrize(
    "name", ["a b.db", "ü☃.db", "q?mode=ro.db", "h#1.db", "p%41.db", "it's.db", "semi;drop.db", "-dash.db", "nl\n.db", "file:x.db"]
)
async def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    """6.8: the name is taken as it is, never as an address; nothing else appears in its folder."""
    await used(tmp_path / name)
    assert os.listdir(tmp_path) == [name]


async def test_a_path_may_be_bytes(tmp_path: Path) -> None:
    """6.8: as anywhere in Python."""
    await used(os.fsencode(tmp_path / "é.db"))
    assert (tmp_path / "é.db").exists()


@pytest.mark.parametrize("path", [None, 5, 1.5, ["a"], True])
def test_what_is_no_path_is_refused(path: Any) -> None:
    """6.8: ConfigError on `path`, not Python's TypeError."""
    with pytest.raises(ConfigError) as caught:
        SqliteCheckpointer(path)
    assert caught.value.field == "path"


@pytest.mark.parametrize("seconds", [None, "5", -1, float("nan"), [1]])
def test_a_timeout_that_is_no_number_is_refused(tmp_path: Path, seconds: Any) -> None:
    """6.8: and no file is made."""
    with pytest.raises(ConfigError) as caught:
        SqliteCheckpointer(tmp_path / "t.db", busy_timeout=seconds)
    assert caught.value.field == "busy_timeout"
    assert not list(tmp_path.iterdir())


async def test_a_link_leads_to_its_file(tmp_path: Path) -> None:
    """6.8: also where that is not there yet; a link to itself and one into no folder are refused."""
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    await used(tmp_path / "link.db")
    async with SqliteCheckpointer(tmp_path / "real.db", clock=clock) as store:
        assert (await store.head("t")).checkpoint_id == "run/1"
    (tmp_path / "loop.db").symlink_to(tmp_path / "loop.db")
    (tmp_path / "nowhere.db").symlink_to(tmp_path / "missing" / "t.db")
    for name in ("loop.db", "nowhere.db"):
        with pytest.raises(StoreUnavailable) as caught:
            SqliteCheckpointer(tmp_path / name)
        assert "cannot be opened" in caught.value.reason


async def test_an_empty_file_is_a_new_one(tmp_path: Path) -> None:
    """R6.43: as SQLite has it."""
    (tmp_path / "t.db").touch()
    await used(tmp_path / "t.db")


@pytest.mark.parametrize("table", TABLES)
def test_a_table_of_our_name_that_is_not_ours_is_left_as_it_is(tmp_path: Path, table: str) -> None:
    """R6.41, R6.43: StoreUnavailable names it, and not one byte changes."""
    file = tmp_path / "t.db"
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"CREATE TABLE {table} (x)")
    before = file.read_bytes()
    with pytest.raises(StoreUnavailable) as caught:
        SqliteCheckpointer(file)
    assert f"'{table}' that is not ours" in caught.value.reason
    assert file.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["t.db"]


@pytest.mark.parametrize("table", TABLES)
async def test_a_file_that_lost_a_table_is_damaged(tmp_path: Path, table: str) -> None:
    """R6.43: said at opening, whichever it is; nothing is made in its place."""
    file = tmp_path / "t.db"
    await used(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"DROP TABLE {table}")
    with pytest.raises(StoreUnavailable) as caught:
        SqliteCheckpointer(file)
    assert f"'{table}' is missing" in caught.value.reason
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone() is None


async def test_a_log_without_its_file_or_of_another_is_nobodys(tmp_path: Path) -> None:
    """6.8: a new file begins empty beside an old log, and a log of something else changes nothing that was stored."""
    await used(tmp_path / "t.db")
    (tmp_path / "new.db-wal").write_bytes(b"\x37\x7f\x06\x82" + b"rubbish" * 1000)
    async with SqliteCheckpointer(tmp_path / "new.db", clock=clock) as store:
        assert await store.threads() == []
    (tmp_path / "t.db-wal").write_bytes(b"rubbish" * 1000)
    async with SqliteCheckpointer(tmp_path / "t.db", clock=clock) as store:
        assert (await store.head("t")).checkpoint_id == "run/1"


async def test_a_token_that_is_not_the_last_one_is_found_out(tmp_path: Path) -> None:
    """R1.9: a file whose last token was set back issues none that a thread has seen before."""
    file = tmp_path / "t.db"
    await used(file)
    await used_again(file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE llm4s_meta SET last_token = 0")
    async with SqliteCheckpointer(file, clock=clock) as store:
        with pytest.raises(StoreUnavailable) as caught:
            await store.claim("t", "run", 30)
        assert "token" in caught.value.reason
        assert (await store.head("t")).claim is None


async def test_a_file_that_is_removed_under_its_store_takes_no_more_runs(tmp_path: Path) -> None:
    """6.8, R6.28: nothing is said to be durable in a file that nobody can open any more; opened again, it is a new one."""
    file = tmp_path / "t.db"
    async with SqliteCheckpointer(file, clock=clock) as store:
        await store.claim_and_commit("t", "run", 30, Commit(token=0, checkpoints=(draft(clock, 1),), release=True))
        for name in os.listdir(tmp_path):
            os.unlink(tmp_path / name)
        for call in (
            lambda: store.claim("t", "run", 30),
            lambda: store.claim_and_commit("u", "run", 30, Commit(token=0, checkpoints=(draft(clock, 1, thread="u"),))),
        ):
            with pytest.raises(StoreUnavailable, match="was removed"):
                await call()
    await used(file)


async def used_again(file: Path) -> None:
    async with SqliteCheckpointer(file, clock=clock) as store:
        await store.release("t", (await store.claim("t", "run", 30)).token)


async def test_a_new_file_that_another_process_opens_at_the_same_time_is_one_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """R6.41: tables that came between two looks at the file are ours, and not somebody else's."""
    path = tmp_path / "new.db"
    looks: list[int] = []

    def look(connection: sqlite3.Connection, *given: Any) -> int:
        version = check_version(connection, *given)
        looks.append(version)
        if len(looks) == 1:
            _open.connect(_open.settings(path, "full", 5), prepare=True).close()
        return version

    monkeypatch.setattr(_open, "check_version", look)
    await used(path)
    assert looks[:2] == [0, 0]
