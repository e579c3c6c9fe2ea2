"""A text review as the kernel sends it: the document and one golden sample of every message, from a session with a clock that stands."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

from llm4s_notebook.guardrails import LengthCheck, WordList
from llm4s_notebook.review import TextSession
from llm4s_notebook.testing import ManualClock
from llm4s_notebook.wire import TextsRequest

TEXTS = {
    "t1": "Your parcel arrives on Monday.",
    "t2": "It is guaranteed to arrive on Monday.",
    "t3": "Guaranteed, and with many more words than anybody would want to read in an answer.",
    "t4": "Your statutory guarantee is two years; that is guaranteed by law.",
}

BODIES: dict[str, dict[str, Any]] = {
    "hello": {"kind": "hello"},
    "find": {"kind": "find", "show": "refused", "verdict": "any", "guardrail": None, "search": ""},
    "rows": {"kind": "rows", "positions": [1, 2, 3]},
    "open": {"kind": "open", "position": 1},
    "decide": {"kind": "decide", "position": 1, "verdict": "edit", "text": "It should arrive on Monday.", "note": "softer"},
    "undo": {"kind": "undo"},
    "run": {"kind": "run", "again": True},
    "cancel": {"kind": "cancel"},
    "save_draft": {"kind": "save_draft", "id": "1", "draft": {"edit": "It sh", "note": None, "editing": True, "noting": False}},
}


def texts_fixtures() -> dict[str, Any]:
    """Every document by its name."""
    requests = {f"request_{name}": TextsRequest.model_validate({"request_id": f"b-{name}", "body": body}) for name, body in BODIES.items()}
    return asyncio.run(_kernel()) | {name: request.model_dump(mode="json") for name, request in requests.items()}


async def _kernel() -> dict[str, Any]:
    session = TextSession(
        TEXTS,
        [WordList(["guaranteed"], name="no promises"), LengthCheck(max=60, name="short")],
        principal="rita",
        clock=ManualClock(datetime(2026, 11, 30, 9, tzinfo=UTC)),
    )
    await session.run()
    session.decide("t4", "allow", note="the law says so")
    said: list[Any] = []
    session.observe_messages(said.append)
    fresh = session.state()
    for name in ("find", "rows", "decide", "open"):
        session.handle({"request_id": f"r-{name}", "body": BODIES[name]}, said.append)
    await asyncio.sleep(0.01)
    messages = {message.kind: message.model_dump(mode="json") for message in said}
    return {"state": fresh.model_dump(mode="json"), **{kind: messages[kind] for kind in ("found", "rows", "opened", "decided", "marks")}}
