"""What is refused at the door of the SQLite store, how it is said, and that the file stays as it was (R6.43)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import Append, CheckpointStatus, Commit, Set, SqliteCheckpointer
from llm4s_notebook.checkpoint._sqlite import _mounts
from llm4s_notebook.checkpoint._sqlite._open import enter_wal
from llm4s_notebook.checkpoint._sqlite._schema import STEPS, check_version, upgrade
from llm4s_notebook.errors import ConfigError, Llm4sError, StoreUnavailable
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.testing._making import draft, event, write

clock = ManualClock()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "threads.db"


async def filled(file: Path) -> None:
    async with SqliteCheckpointer(file, clock=clock) as store:
        await store.claim_and_commit(
            "t",
            "run",
            30,
            Commit(
                token=0,
                checkpoints=(draft(clock, 1, None, Set("state", "a", b"1"), Append("state", "m", (b"1", b"2"))),),
                writes=(write("run/1"),),
                events=(event(clock), event(clock)),
            ),
        )


def content_of(file: Path) -> bytes:
    return file.read_bytes()


def overwrite_behind_the_first_page(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[1024:] = b"\xa5" * (len(content) - 1024)
    file.write_bytes(content)


def execute(file: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(statement, values)


def refused(file: Path, **settings: Any) -> StoreUnavailable:
    with pytest.raises(StoreUnavailable) as caught:
        SqliteCheckpointer(file, **settings)
    assert caught.value.path == str(file)
    assert caught.value.next_step
    return caught.value


@contextmanager
def nobody_in_particular() -> Iterator[Path]:
    """A folder that anyone may use, as a user whom file permissions bind (root is not bound by them)."""
    root = os.geteuid() == 0
    if root:
        with tempfile.TemporaryDirectory() as own:  # what a first store imports may lie where only root reads
            asyncio.run(SqliteCheckpointer(Path(own) / "first.db").aclose())
        os.seteuid(65534)
    try:
        folder = Path(tempfile.mkdtemp())
        try:
            yield folder
        finally:
            folder.chmod(0o777)
            shutil.rmtree(folder)
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.parametrize("path", ["", ":memory:", "file::memory:?cache=shared"])
def test_a_path_that_is_no_file_points_to_the_store_in_memory(path: str) -> None:
    """6.8: ConfigError on `path`."""
    with pytest.raises(ConfigError) as caught:
        SqliteCheckpointer(path)
    assert caught.value.field == "path"
    assert "InMemoryCheckpointer" in caught.value.what


def test_settings_that_cannot_be_meant_are_refused(file: Path) -> None:
    """ConfigError names the field, and no file is made."""
    with pytest.raises(ConfigError) as caught:
        SqliteCheckpointer(file, synchronous="off")  # type: ignore[arg-type]  # the refusal of it is the test
    assert caught.value.field == "synchronous"
    for timeout in (-1.0, float("nan"), float("inf")):
        with pytest.raises(ConfigError) as caught:
            SqliteCheckpointer(file, busy_timeout=timeout)
        assert caught.value.field == "busy_timeout"
    with pytest.raises(ConfigError) as caught:
        SqliteCheckpointer(f"{file}\0")
    assert caught.value.field == "path"
    assert not file.exists()


@pytest.mark.parametrize("content", [b"Dear diary, this is no database. " * 40, b"x" * 100, b"\x89PNG\r\n" + bytes(5000)])
def test_a_file_that_is_no_database_is_refused_and_kept(file: Path, content: bytes) -> None:
    """R6.43."""
    file.write_bytes(content)
    assert "not a SQLite database" in refused(file).reason
    assert file.read_bytes() == content
    assert [one.name for one in file.parent.iterdir()] == [file.name]


async def test_a_file_of_a_newer_schema_is_refused_and_kept(file: Path) -> None:
    """R6.43, FMT-02: the refusal names both versions; not one byte changes."""
    await filled(file)
    execute(file, "UPDATE llm4s_schema SET version = 7")
    before = content_of(file)
    error = refused(file)
    assert "7" in error.reason
    assert str(len(STEPS)) in error.reason
    assert "newer" in error.next_step
    assert content_of(file) == before


@pytest.mark.parametrize(
    "change", ["UPDATE llm4s_schema SET version = 0", "UPDATE llm4s_schema SET version = 'one'", "DELETE FROM llm4s_schema"]
)
async def test_a_file_whose_version_is_none_is_refused(file: Path, change: str) -> None:
    """FMT-02: zero, text, nothing."""
    await filled(file)
    execute(file, change)
    assert "schema version" in refused(file).reason


def test_a_schema_is_upgraded_step_by_step_in_one_transaction(file: Path) -> None:
    """FMT-01, R6.43: from every version; a failing step leaves the version before."""
    steps = [lambda c, n=n: c.execute(f"CREATE TABLE step_{n} (x)") and None for n in (1, 2, 3)]
    for start in (0, 1, 2, 3):
        with closing(sqlite3.connect(f"{file}{start}", isolation_level=None)) as connection:
            if start:
                upgrade(connection, "p", steps[:start])
            upgrade(connection, "p", steps)
            assert check_version(connection, "p", steps) == 3
            tables = connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'step%' ORDER BY name").fetchall()
            assert tables == [("step_1",), ("step_2",), ("step_3",)]

    def failing(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TABLE step_4 (x)")
        raise RuntimeError("no")

    with closing(sqlite3.connect(f"{file}3", isolation_level=None)) as connection:
        with pytest.raises(RuntimeError):
            upgrade(connection, "p", [*steps, failing])
        assert check_version(connection, "p", steps) == 3
        assert connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'step_4'").fetchone() is None


async def test_a_file_can_be_shared_with_other_tables(file: Path) -> None:
    """R6.41: a database of somebody else gets our tables beside its own, all of one prefix."""
    execute(file, "CREATE TABLE recipes (name TEXT)")
    execute(file, "INSERT INTO recipes VALUES ('soup')")
    await filled(file)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT name FROM recipes").fetchall() == [("soup",)]
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {name for name in names if not name.startswith("llm4s_")} == {"recipes"}


def test_a_folder_that_is_missing_or_a_folder_in_its_place_is_refused(tmp_path: Path) -> None:
    """R6.43: and nothing is created."""
    assert "no folder" in refused(tmp_path / "nowhere" / "threads.db").reason
    assert not (tmp_path / "nowhere").exists()
    assert "a folder" in refused(tmp_path).reason


def test_a_read_only_file_or_folder_is_refused() -> None:
    """R6.43: for a user whom permissions bind."""
    with nobody_in_particular() as folder:
        file = folder / "threads.db"
        asyncio.run(SqliteCheckpointer(file).aclose())
        file.chmod(0o444)
        before = file.read_bytes()
        assert "read-only" in refused(file).reason
        assert file.read_bytes() == before
        file.chmod(0o666)
        folder.chmod(0o555)
        assert "cannot be written" in refused(file).reason
        folder.chmod(0o777)
        asyncio.run(SqliteCheckpointer(file).aclose())


def test_a_file_that_cannot_have_a_log_is_refused(file: Path) -> None:
    """R6.43: here through a file system layer of SQLite's without shared memory."""
    connected = sqlite3.connect(f"file:{file}?vfs=unix-dotfile", uri=True, isolation_level=None)
    with closing(connected) as connection, pytest.raises(StoreUnavailable) as caught:
        enter_wal(connection, str(file), 0.0)
    assert "write-ahead log" in caught.value.reason
    assert "local disk" in caught.value.next_step


MOUNTS = """\
22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
30 22 0:40 / /home/ana rw - nfs4 server:/home rw
31 22 0:41 / /home/ana/local\\040disk rw - ext4 /dev/sdb1 rw
32 22 0:42 / /mnt/share rw,nosuid shared:1 - cifs //server/share rw
33 22 0:43 / /mnt/ssh rw - fuse.sshfs ana@host: rw
34 22 0:44 / /mnt/plain rw - fuse something rw
35 22 0:45 / /rootless rw - fuse.fuse-overlayfs fuse-overlayfs rw
36 22 0:46 / /mnt/usb rw - fuseblk /dev/sdc1 rw
37 22 0:47 / /twice rw - nfs a rw
38 22 0:48 / /twice rw - tmpfs tmpfs rw
odd line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/var/x.db", None),
        ("/home/ana/x.db", "nfs4"),
        ("/home/anastasia/x.db", None),
        ("/home/ana/local disk/x.db", None),
        ("/mnt/share/deep/x.db", "cifs"),
        ("/mnt/ssh/x.db", "fuse.sshfs"),
        ("/mnt/plain/x.db", "fuse"),
        ("/rootless/x.db", None),
        ("/mnt/usb/x.db", None),
        ("/twice/x.db", None),
    ],
)
def test_a_shared_file_system_is_recognised(tmp_path: Path, path: str, kind: str | None) -> None:
    """D16: the nearest mount above the file decides, of several on one point the last."""
    listing = tmp_path / "mountinfo"
    listing.write_text(MOUNTS)
    assert _mounts.network_filesystem(path, listing) == kind
    assert _mounts.network_filesystem(path, tmp_path / "missing") is None


def test_a_file_on_a_shared_file_system_is_refused_with_a_way_out(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """D16: and not created there; a link to it does not help."""
    listing = tmp_path / "mountinfo"
    listing.write_text(f"22 1 8:1 / / rw - ext4 /dev/sda1 rw\n23 22 0:40 / {os.path.realpath(tmp_path)} rw - nfs4 server:/x rw\n")
    monkeypatch.setattr(_mounts, "MOUNTINFO", listing)
    error = refused(file)
    assert "nfs4" in error.reason
    assert "local disk" in error.next_step
    assert not file.exists()
    with tempfile.TemporaryDirectory() as elsewhere:
        link = Path(elsewhere) / "link.db"
        link.symlink_to(file)
        assert "nfs4" in refused(link).reason


async def test_a_full_disk_refuses_the_commit_and_changes_nothing(file: Path) -> None:
    """R6.9: StoreUnavailable says that the disk is full; with room again the same commit succeeds."""
    async with SqliteCheckpointer(file, clock=clock) as store:
        claim = await store.claim("t", "run", 30)
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 1),), events=(event(clock),)))
        large = Commit(
            token=claim.token, checkpoints=(draft(clock, 2, "run/1", Set("state", "a", b"x" * 1_000_000)),), events=(event(clock),)
        )
        size = store._writer.call_now(lambda c: c.execute("PRAGMA page_count").fetchone()[0])
        # the limit stands in for the end of a disk: SQLite reports both as SQLITE_FULL
        store._reader.call_now(lambda c: None)
        store._writer.call_now(lambda c: c.execute(f"PRAGMA max_page_count = {size + 5}").fetchone())
        before = (await store.latest("t"), await store.events_after("t", 0), await store.head("t"))
        with pytest.raises(StoreUnavailable) as caught:
            await store.commit("t", large)
        assert "full" in caught.value.reason
        assert (await store.latest("t"), await store.events_after("t", 0), await store.head("t")) == before
        store._writer.call_now(lambda c: c.execute("PRAGMA max_page_count = 1000000").fetchone())
        records = await store.commit("t", large)
        assert [one.sequence for one in records] == [2]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE llm4s_checkpoint SET events = substr(events, 1, 20)", "events 1 to 2"),
        ("UPDATE llm4s_checkpoint SET events = '[1]'", "events 1 to 2"),
        ("UPDATE llm4s_checkpoint SET events = 5", "events 1 to 2"),
        ("UPDATE llm4s_checkpoint SET events = replace(events, '\"note\"', '\"os.system\"')", "events 1 to 2"),
        ("UPDATE llm4s_checkpoint SET events = replace(events, 'null,null,', '')", "events 1 to 2"),
        ("UPDATE llm4s_checkpoint SET events = replace(events, ',1,{', ',1,2,{')", "events 1 to 2"),
        ('UPDATE llm4s_checkpoint SET events = \'[["note",9223372036854775807,null,null,null,["a",1]]]\'', "events 1 to 2"),
        ("UPDATE llm4s_checkpoint SET status = 'Sleeping'", "run/1"),
        ("UPDATE llm4s_checkpoint SET status = 4", "run/1"),
        ("UPDATE llm4s_checkpoint SET small = x'0000000105'", "cut off"),
        ("UPDATE llm4s_checkpoint SET small = x'0000000101010061'", "cut off"),
        ("UPDATE llm4s_checkpoint SET small = 5", "no JSON text"),
        ("UPDATE llm4s_checkpoint SET refs = x'00'", "run/1"),
        ("UPDATE llm4s_checkpoint SET refs = x'0000000000000000000000090000000000000001'", "run/1"),
        ("UPDATE llm4s_checkpoint SET refs = x'0000000000000000000000010000000000000009'", "run/1"),
        ("UPDATE llm4s_row SET source = 9, start = 0, size = 1, value = NULL WHERE position = -2", "no JSON text"),
        ("UPDATE llm4s_row SET source = 2, start = 0, size = 9, value = NULL WHERE position = -2", "no JSON text"),
        ("UPDATE llm4s_row SET source = 3, start = 0, size = 9, value = NULL WHERE position = -2", "not there"),
        ("DELETE FROM llm4s_run", "missing"),
        ("DELETE FROM llm4s_graph", "graph"),
        ("UPDATE llm4s_checkpoint SET body = 5", "no JSON text"),
        ("UPDATE llm4s_row SET value = NULL WHERE position = -2", "no JSON text"),
        ("DELETE FROM llm4s_row WHERE position = 0", "stands alone"),
        ("DELETE FROM llm4s_row WHERE position = -1", "stands alone"),
        ("DELETE FROM llm4s_checkpoint", "missing"),
        ("UPDATE llm4s_checkpoint SET created_at = 9223372036854775807", "run/1"),
    ],
)
async def test_damage_is_said_and_crashes_nothing(file: Path, damage: str, said: str) -> None:
    """6.8, D7: whatever somebody did to the rows, reading ends in StoreUnavailable naming file and place; nothing named is loaded."""
    await filled(file)
    execute(file, damage)
    async with SqliteCheckpointer(file, clock=clock) as store:
        with pytest.raises(StoreUnavailable) as caught:
            await store.events_after("t", 0) if "event" in damage else await store.latest("t")
        assert said in caught.value.reason
        assert caught.value.path == str(file)
        if said == "missing":  # what the head would tell, too
            with pytest.raises(StoreUnavailable):
                await store.head("t")
        else:
            await store.head("t")
        with pytest.raises(StoreUnavailable) if said == "missing" else contextlib.nullcontext():
            await store.release("t", 1)


@pytest.mark.parametrize("read", ["latest", "history", "checkpoint"])
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("DELETE FROM llm4s_row WHERE position = 0", "stands alone"),
        ("DELETE FROM llm4s_row WHERE position = -1", "stands alone"),
        ("UPDATE llm4s_row SET position = 7 WHERE position = 1", "stands alone"),
        ("UPDATE llm4s_row SET position = 1 WHERE position = 0", "stands alone"),
        ("UPDATE llm4s_row SET list = 99 WHERE position = 0", "stands alone"),
        ("UPDATE llm4s_row SET value = NULL WHERE position = 1", "no JSON text but None"),
        ("UPDATE llm4s_row SET value = 5 WHERE position = 1", "no JSON text but 5"),
        ("UPDATE llm4s_row SET source = 99, start = 0, size = 1, value = NULL WHERE position = 1", "no JSON text but None"),
        ("UPDATE llm4s_row SET source = 3, start = 0, size = 9, value = NULL WHERE position = 1", "not there"),
        ("UPDATE llm4s_row SET source = 3, start = 1, size = -1, value = NULL WHERE position = 1", "not there"),
        ("UPDATE llm4s_checkpoint SET small = x'0000000105'", "the values of checkpoint 1"),
    ],
)
async def test_a_damaged_list_is_named_however_it_is_read(file: Path, damage: str, said: str, read: str) -> None:
    """6.8: its items one by one, in the latest checkpoint and in those of the history."""
    await filled(file)
    async with SqliteCheckpointer(file, clock=clock) as store:
        reads = {
            "latest": lambda: store.latest("t"),
            "history": lambda: store.history("t"),
            "checkpoint": lambda: store.checkpoint("t", "run/1"),
        }
        assert await reads[read]()
        execute(file, damage)
        with pytest.raises(StoreUnavailable) as caught:
            await reads[read]()
        assert said in caught.value.reason
        assert caught.value.path == str(file)


async def test_items_edited_with_another_program_are_read(file: Path) -> None:
    """6.8: SQLite's own text is as good as bytes, in rows that others refer to as well."""
    await filled(file)
    execute(file, "UPDATE llm4s_row SET value = CAST(value AS TEXT) WHERE position >= 0")
    async with SqliteCheckpointer(file, clock=clock) as store:
        latest = await store.latest("t")
        assert latest is not None
        assert latest.checkpoint.entries[("state", "m")] == [b"1", b"2"]
        assert [one.entries for one in await store.history("t")] == [latest.checkpoint.entries]


async def test_a_thread_row_of_an_unknown_status_is_damage(file: Path) -> None:
    """6.8: also where only the row of the thread is read."""
    await filled(file)
    execute(file, "UPDATE llm4s_thread SET status = 'Sleeping'")
    async with SqliteCheckpointer(file, clock=clock) as store:
        with pytest.raises(StoreUnavailable):
            await store.head("t")


async def test_a_broken_file_is_damage(file: Path) -> None:
    """R6.43: overwritten pages, at opening or at the first read."""
    await filled(file)
    overwrite_behind_the_first_page(file)

    async def opened_and_read() -> None:
        async with SqliteCheckpointer(file, clock=clock) as store:
            await store.latest("t")

    with pytest.raises(StoreUnavailable) as caught:
        await opened_and_read()
    assert "damaged" in caught.value.reason


async def test_text_that_is_not_unicode_is_refused(file: Path) -> None:
    """R6.9: a lone surrogate in an id cannot be stored; the store works on."""
    async with SqliteCheckpointer(file, clock=clock) as store:
        with pytest.raises(Llm4sError):
            await store.claim("\ud800", "run", 30)
        assert await store.latest("\ud800") is None  # what is not Unicode is nothing's id, as in memory
        claim = await store.claim("t", "run", 30)
        made = draft(clock, 1, None, Set("state", "\ud800", b"1"))
        with pytest.raises(Llm4sError):
            await store.commit("t", Commit(token=claim.token, checkpoints=(made,)))
        assert await store.latest("t") is None
        await store.commit("t", Commit(token=claim.token, checkpoints=(draft(clock, 1),)))


async def test_the_place_is_an_absolute_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """api.md: a relative path and one below the home folder are made absolute; changing the folder later changes nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for path in ("threads.db", "~/threads.db", Path("threads.db")):
        async with SqliteCheckpointer(path) as store:
            assert store.location == str(tmp_path / "threads.db")
            assert str(tmp_path) in repr(store)


async def test_opening_again_needs_no_upgrade_and_keeps_the_settings(file: Path) -> None:
    """R6.42: a write-ahead log with the synchronisation asked for, on the connection that writes."""
    for synchronous, level in (("full", 2), ("normal", 1)):
        async with SqliteCheckpointer(file, synchronous=synchronous) as store:  # type: ignore[arg-type]  # the two words, from a tuple
            pragmas = {
                name: store._reader.call_now(lambda c, name=name: c.execute(f"PRAGMA {name}").fetchone()[0])
                for name in ("journal_mode", "secure_delete")
            }
            assert pragmas == {"journal_mode": "wal", "secure_delete": 1}
            for lane in (store._reader, store._writer):  # W4: a thread of some thousand messages stays at hand
                assert lane.call_now(lambda c: c.execute("PRAGMA cache_size").fetchone()[0]) == -8192
            assert store._writer.call_now(lambda c: c.execute("PRAGMA synchronous").fetchone()[0]) == level
            assert await store.threads(status=CheckpointStatus.RUNNING) == []


def test_sqlite_is_loaded_only_when_its_store_is_asked_for() -> None:
    """D19: in a process of its own."""
    import subprocess
    import sys

    code = (
        "import sys, llm4s_notebook.checkpoint as c; a = 'sqlite3' in sys.modules; c.SqliteCheckpointer; print(a, 'sqlite3' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    assert said.stdout.split() == ["False", "True"]
