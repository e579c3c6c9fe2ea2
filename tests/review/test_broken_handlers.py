"""F33: whatever raises while a request is carried out is the reply to it, and the next request works."""

from __future__ import annotations

from typing import Any

import pytest

from llm4s_notebook.review import Session
from llm4s_notebook.review._breakpoints import Breakpoints
from llm4s_notebook.review._conduct import Conductor
from llm4s_notebook.review._drafts import Drafts

from .test_requests import Browser, approve
from .turns import Shop, deployments

HANDLERS: list[tuple[type, str, dict[str, Any]]] = [
    (Conductor, "refresh", {"kind": "hello"}),
    (Conductor, "run", {"kind": "run", "query": "more"}),
    (Conductor, "answer", {"kind": "submit", "decisions": [approve("2.0")]}),
    (Conductor, "request_cancel", {"kind": "cancel"}),
    (Conductor, "recover", {"kind": "recover"}),
    (Conductor, "abandon", {"kind": "abandon"}),
    (Breakpoints, "hold", {"kind": "set_hold", "node": "assistant/model", "phase": "BEFORE", "on": True}),
    (Drafts, "save", {"kind": "save_draft", "id": "2.0", "draft": {"decision": "approve"}}),
]


@pytest.mark.parametrize(("owner", "method", "body"), HANDLERS, ids=[body["kind"] for _, _, body in HANDLERS])
async def test_an_error_in_a_handler_is_its_reply_and_the_next_request_is_carried_out(
    owner: type, method: str, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """F33, W1.5: no plain exception of ours leaves a button spinning."""
    shop = Shop()
    session = Session(shop.agent(deployments("1.0", "2.0"), "out"), "t")
    await session.run("ship")
    browser = Browser(session)

    def broken(*given: Any, **named: Any) -> Any:
        raise ZeroDivisionError(f"{method} broke")

    with monkeypatch.context() as patch:
        patch.setattr(owner, method, broken)
        reply = await browser.ask(**body)
    assert (reply.kind, reply.error.type, reply.error.what) == ("refused", "ZeroDivisionError", f"{method} broke")
    assert shop.ran == []
    done = await browser.submit(approve("2.1"))
    assert done.kind == "done"
