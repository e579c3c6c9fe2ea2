"""What a closed store leaves behind."""

from __future__ import annotations

from pathlib import Path

from llm4s_notebook.checkpoint import Commit, SqliteCheckpointer, SystemClock
from llm4s_notebook.testing._making import draft


async def test_a_closed_store_is_one_file(tmp_path: Path) -> None:
    """6.8: nothing is left in a log beside it, however the closing of its connections falls together; so it can be copied or sent."""
    for number in range(40):
        file = tmp_path / f"{number}.db"
        async with SqliteCheckpointer(file, synchronous="normal") as store:
            await store.claim_and_commit("t", "run", 30, Commit(token=0, checkpoints=(draft(SystemClock(), 1),)))
            await store.latest("t")
        assert [one.name for one in tmp_path.glob(f"{number}.db*")] == [file.name]  # noqa: ASYNC240 - nothing else runs
