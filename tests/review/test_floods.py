"""A front end that sends garbage, floods, and replays what it sent before (W5.7): answered each time, done once, little kept."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter
from typing import Any

from llm4s_notebook.review import Session

from .test_requests import approve, settled
from .turns import Shop, deployments, until

FLOOD = 10_000


def _body(number: int) -> object:
    """One of six messages, four of which are no requests or ask for what there is not."""
    bodies: list[object] = [
        {"kind": "hello"} if number % 60 == 0 else {"kind": "nonsense", "text": "x" * 1000},
        {"kind": "save_draft", "id": "2.1", "draft": {"decision": "reject", "reason": f"{number} " * 200}},
        {"kind": "save_draft", "id": f"9.{number}", "draft": {"decision": "approve"}},
        {"kind": "submit", "decisions": [approve(f"9.{number}")]},
        {"kind": "set_hold", "node": f"nowhere {number}", "phase": "BEFORE", "on": True},
        None,
    ]
    return bodies[number % len(bodies)]


async def test_ten_thousand_messages_get_ten_thousand_replies_and_little_of_them_is_kept() -> None:
    """W1.5, F25: one reply each, nothing runs, and the session holds no more than before."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0", "2.0"), "out"), "t")
    await session.run("ship")
    replies: Counter[str] = Counter()

    def count(message: Any) -> None:
        replies[message.request_id] += 1

    async def flood(begin: int, end: int) -> None:
        for number in range(begin, end):
            session.handle({"request_id": f"r{number}", "body": _body(number)}, count)
            if number % 500 == 0:
                await until(lambda number=number: len(replies) > number - 500, seconds=60)
        await until(lambda: len(replies) == end, seconds=60)

    await flood(0, FLOOD // 5)  # what a session keeps for good, it keeps by now
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        await flood(FLOOD // 5, FLOOD)
        gc.collect()
        counted = sum(map(len, replies))
        grown = tracemalloc.get_traced_memory()[0] - before - 150 * len(replies) - counted
    finally:
        tracemalloc.stop()
    assert set(replies.values()) == {1}
    assert grown < 4_000_000, f"{grown} bytes of {FLOOD} messages are still held"
    assert shop.ran == []
    assert len(session.state().pending) == 2


async def test_an_old_submit_replayed_long_after_is_refused_as_answered_and_runs_nothing_again() -> None:
    """F41: also when so many requests came between that its reply is forgotten."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0", "2.0"), "out"), "t")
    await session.run("ship")
    received: list[Any] = []
    old = {"request_id": "old", "body": {"kind": "submit", "decisions": [approve("2.0")]}}
    for _ in range(50):
        session.handle(old, received.append)
    await until(lambda: len(received) == 50)
    assert {reply.kind for reply in received} == {"done"}
    await settled(session)
    for number in range(1000):
        session.handle({"request_id": f"r{number}", "body": {"kind": "save_draft", "id": "2.1", "draft": number}}, received.append)
    await until(lambda: len(received) == 1050, seconds=30)
    session.handle(old, received.append)
    await until(lambda: len(received) == 1051)
    assert received[-1].kind == "refused"
    assert [problem.code for problem in received[-1].problems] == ["answered"]
    assert shop.ran == ["deploy prod 1.0"]
