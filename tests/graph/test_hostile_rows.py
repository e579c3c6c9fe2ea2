"""Every column of every table with something else in it than what was written: clear errors, nothing changed (6.8, R4.19, R4.22, R6.39)."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from llm4s_notebook.checkpoint import CheckpointStatus, RetentionPolicy, SqliteCheckpointer
from llm4s_notebook.checkpoint._sqlite._schema import TABLES
from llm4s_notebook.errors import Llm4sError, NodeFailed, Refusal, RunCrashed, RunError, StoreError
from llm4s_notebook.graph import Command, CompiledGraph, GraphRuntime, RunConfig

from .graphs import chain, fan, mixed
from .test_hostile_store import nothing_imported

VALUES: dict[str, tuple[Any, ...]] = {
    "INTEGER": (None, "zzz", 2**63 - 1),
    "TEXT": (None, b"\xff\xfe\x00"),
    "BLOB": (None, 5, b"[" * 100_000),
}
"""What is put into a column, by what belongs there."""
THREADS = ("waits", "held", "over", "failed", "joins")
Graphs = dict[str, CompiledGraph[Any, Any]]


def graphs() -> Graphs:
    """One for each thread, as a new process would have them."""
    fanned, chained = fan().graph, chain().graph
    return {"waits": fanned, "held": chained, "over": chained, "failed": fanned, "joins": mixed()}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a thread of each kind, whose columns take anything."""
    file = tmp_path_factory.mktemp("whole") / "t.db"

    async def fill() -> None:
        made, chained = fan(), chain().graph
        made.failing.add("bad")
        async with SqliteCheckpointer(file) as store:
            runtime = GraphRuntime(store)
            await runtime.run("waits", made.graph, ["a", "ask " + "x" * 300, "ask two"])
            await runtime.run("held", chained, 1, RunConfig(interrupt_before=frozenset({"middle"})))
            for _ in range(2):
                await runtime.run("over", chained, 1)
            with pytest.raises(NodeFailed):
                await runtime.run("failed", made.graph, ["a", "bad", "ask " + "x" * 300])
            await runtime.run("joins", mixed(), None)

    asyncio.run(fill())
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table'")
        connection.execute("UPDATE sqlite_master SET sql = replace(sql, 'CREATE UNIQUE', 'CREATE') WHERE type = 'index'")
    return file


def content(file: Path) -> dict[str, list[Any]]:
    """All rows, but for the last token: a claim that was taken and freed again counts it up."""
    with closing(sqlite3.connect(file)) as connection:
        return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES if table != "llm4s_meta"}


class Tried:
    """Calls on one file. Each of them answers, or refuses in our words and changes nothing; `said` are the refusals."""

    def __init__(self, file: Path, where: str) -> None:
        self.file, self.where = file, where
        self.said: list[Llm4sError] = []

    async def call(self, what: str, call: Callable[[], Awaitable[Any]], *, changes: bool = False) -> Any:
        before = content(self.file) if changes else None
        try:
            async with asyncio.timeout(30):
                return await call()
        except RunCrashed as error:
            raise AssertionError(f"{self.where}: {what} crashed") from error
        except (Refusal, StoreError) as error:
            assert before is None or content(self.file) == before, f"{self.where}: {what} was refused and changed something"
            self.said.append(error)
        except RunError as error:  # an admitted run that ended badly, or one whose claim could not be written
            self.said.append(error)
        except Exception as error:
            raise AssertionError(f"{self.where}: {what} let {type(error).__name__} escape") from error
        return None


async def use(file: Path, where: str) -> list[Llm4sError]:
    """Everything that reads a thread, then everything that changes one."""
    tried, graph = Tried(file, where), graphs()
    try:
        store = SqliteCheckpointer(file, synchronous="normal")
    except Llm4sError as error:
        return [error]
    async with store:
        runtime = GraphRuntime(store)
        before = content(file)
        for status in (None, *CheckpointStatus):
            await tried.call("threads", lambda status=status: store.threads(status=status))
        with nothing_imported():
            for name in THREADS:
                own = graph[name]
                await tried.call("head", lambda name=name: store.head(name))
                await tried.call("pending", lambda name=name, own=own: runtime.pending(name, own))
                await tried.call("events", lambda name=name: store.events_after(name, 0))
                await tried.call("resume", lambda name=name, own=own: runtime.resume(name, own, {"nobody's": 1}))
                for one in await tried.call("history", lambda name=name: store.history(name)) or []:
                    await tried.call("checkpoint", lambda name=name, one=one: store.checkpoint(name, one.id))
        assert content(file) == before, f"{where}: reading changed something"
        for name in THREADS:
            head = await tried.call("head", lambda name=name: store.head(name))
            at = (head.checkpoint_id if head else None) or "run/1"
            own = graph[name]
            await tried.call("update_state", lambda name=name, at=at, own=own: runtime.update_state(name, own, at, Command()), changes=True)
            await tried.call("fork", lambda name=name, at=at: runtime.fork(name, at, f"{name} again"), changes=True)

        async def recover() -> None:
            await (await runtime.recover("failed", graph["failed"]))

        async def start() -> None:
            await (await runtime.start("over", graph["over"], 1))

        async def answer() -> None:
            held = await runtime.pending("joins", graph["joins"])
            await (await runtime.resume("joins", graph["joins"], {one.id: "yes" for one in held.interrupts} if held else {}))

        for call in (recover, start, answer, lambda: runtime.abandon("waits", graph["waits"])):
            await tried.call("a run", call, changes=True)
        for name in THREADS:
            await tried.call("prune", lambda name=name: store.prune(name, RetentionPolicy(max_checkpoints=1, max_events=2)), changes=True)
            await tried.call("delete", lambda name=name: runtime.delete_thread(name), changes=True)
    for error in tried.said:
        assert error.what, where
        assert error.next_step, where
    return tried.said


def columns(file: Path, table: str) -> dict[str, str]:
    """Each with what belongs there."""
    with closing(sqlite3.connect(file)) as connection:
        return {row[1]: row[2] for row in connection.execute(f"PRAGMA table_info({table})")}


def spoilt(whole: Path, folder: Path, statement: str, *values: Any) -> Path:
    """A copy of the file with that done to it."""
    file = folder / "spoilt.db"
    for end in ("", "-wal", "-shm"):
        Path(f"{file}{end}").unlink(missing_ok=True)
    shutil.copy(whole, file)
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(statement, values)
    return file


@pytest.mark.parametrize("table", TABLES)
async def test_anything_in_any_column_is_refused_or_read(whole: Path, tmp_path: Path, table: str) -> None:
    """6.8, D7, R4.22: whatever its type, in all rows of a column at once; no call hangs or crashes, or shows the database's own error."""
    for column, kind in columns(whole, table).items():
        for value in VALUES[kind] if column != "id" else (2**63 - 1,):  # a row's key is a number, the database sees to that
            one = f"WHERE rowid = (SELECT max(rowid) FROM {table})" if column == "id" else ""
            statement = f"UPDATE OR IGNORE {table} SET {column} = ? {one}"
            await use(spoilt(whole, tmp_path, statement, value), f"{str(value)[:20]} in {table}.{column}")


@pytest.mark.parametrize("table", TABLES)
async def test_rows_that_are_missing_or_there_twice_are_refused_or_read(whole: Path, tmp_path: Path, table: str) -> None:
    """6.8: rows that others refer to, the first, the last and all of a table; and each row a second time."""
    names = ", ".join(one for one in columns(whole, table) if one != "id")
    for statement in (
        f"DELETE FROM {table}",
        f"DELETE FROM {table} WHERE rowid = (SELECT min(rowid) FROM {table})",
        f"DELETE FROM {table} WHERE rowid = (SELECT max(rowid) FROM {table})",
        f"INSERT OR IGNORE INTO {table} ({names}) SELECT {names} FROM {table}",
    ):
        await use(spoilt(whole, tmp_path, statement), statement)


RECORDS = [None, True, -1, [None]]


@pytest.mark.parametrize(
    ("table", "column"), [("llm4s_row", "value"), ("llm4s_parked", "value"), ("llm4s_checkpoint", "body"), ("llm4s_write", "body")]
)
async def test_json_of_another_shape_is_refused_or_read(whole: Path, tmp_path: Path, table: str, column: str) -> None:
    """6.8, R6.39, R6.40: each member of each kind of record that is stored, replaced and left out."""
    with closing(sqlite3.connect(whole)) as connection:
        stored = connection.execute(f"SELECT id, {column} FROM {table} WHERE CAST({column} AS TEXT) LIKE '{{%'").fetchall()
    kinds = {tuple(sorted(json.loads(text))): (at, json.loads(text)) for at, text in stored}
    assert kinds
    for at, record in kinds.values():
        for name in record:
            others = [{**record, name: other} for other in RECORDS] + [{key: one for key, one in record.items() if key != name}]
            for other in others:
                where = f"{json.dumps(other)[:200]} in {table}"
                file = spoilt(whole, tmp_path, f"UPDATE {table} SET {column} = ? WHERE id = ?", json.dumps(other).encode(), at)
                await use(file, where)
