"""What a model writes, on its way to the browser: bytes that do not grow with the thread, and every view the same (W4.7)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from llm4s_notebook.agent import Agent
from llm4s_notebook.models import AssistantMessage, Completion, Delta, ModelRequest, ScriptedClient, Usage, UserMessage
from llm4s_notebook.review import Session
from llm4s_notebook.widgets import Console, Transcript

from ..review.writing import until
from .front_end import FakeFrontEnd

GROUPS, DELTAS = 20, 50
"""A thousand deltas: fifty at once, then the test waits until they are sent."""


class Bursts:
    """Writes a thousand words, fifty at a time, whenever it is let."""

    def __init__(self) -> None:
        self.go = asyncio.Semaphore(0)

    async def stream(self, request: ModelRequest) -> Any:
        for group in range(GROUPS):
            await self.go.acquire()
            for at in range(DELTAS):
                yield Delta(text=f"{group:02}-{at:02} ")
        await self.go.acquire()
        yield Delta(completion=Completion(AssistantMessage("the whole"), Usage(1, 1), "bursts"))

    async def complete(self, request: ModelRequest) -> Completion:
        raise AssertionError("it streams")


async def written(front: FakeFrontEnd, before: int) -> tuple[list[int], list[int], str]:
    """Sizes in bytes of the pieces and of the documents that a thousand deltas take, on a thread of so many messages; the text drawn."""
    history = [made for at in range(before // 2) for made in (UserMessage(f"question {at:03}"), AssistantMessage(f"answer {at:03}"))]
    client = Bursts()
    agent = Agent("support", client, stream=True)
    first = Agent("support", ScriptedClient("hi"), version="same", runtime=agent.runtime)
    agent = Agent("support", client, stream=True, version="same", runtime=agent.runtime)
    thread = f"thread-{before:03}"
    await first.run("hello", thread_id=thread, history=history)
    session = Session(agent, thread)
    await session.refresh()
    console = Console(session)
    sent: list[tuple[str, int]] = []
    receive = front.receive

    def counted(sender: Any, msg_type: str, data: dict[str, Any]) -> None:
        if data.get("method") in ("update", "custom"):
            sent.append((data["method"], len(json.dumps(data))))
        receive(sender, msg_type, data)

    front.receive = counted
    turn = asyncio.create_task(session.run("write"))
    text = ""
    for group in range(GROUPS):
        client.go.release()
        wanted = len(text) + DELTAS * 6
        while len(text) < wanted:
            await asyncio.sleep(0.005)
            document = front.document(console)
            text = "".join(message["text"] for message in document["live"]["messages"])
            number = document["live"]["number"]
            for model, message in front.messages:
                if model == console.model_id and message["kind"] == "live" and message["number"] > number:
                    text += "".join(piece["text"] for piece in message["pieces"])
        if group == 0:
            await until(lambda: _is_drawn(front.document(console)))
            await asyncio.sleep(0.6)
            sent.clear()
    measured = list(sent)
    client.go.release()
    await turn
    front.receive = receive
    console.close()
    return [size for kind, size in measured if kind == "custom"], [size for kind, size in measured if kind == "update"], text


def _is_drawn(document: dict[str, Any]) -> bool:
    """Whether what the turn has stored so far, and the node that runs, is in the document; a further one has no reason."""
    messages, run = document["messages"], document["run"]
    return bool(messages) and messages[-1]["text"] == "write" and run is not None and run["nodes"] != []


async def test_bytes_per_delta_do_not_grow_with_the_thread(front: FakeFrontEnd) -> None:
    """W4.7: the pieces of a thousand deltas are as long on a thread of 200 messages as on one of 2, and no document is sent for them."""
    short_pieces, short_documents, short_text = await written(front, 2)
    long_pieces, long_documents, long_text = await written(front, 200)
    expected = "".join(f"{group:02}-{at:02} " for group in range(GROUPS) for at in range(DELTAS))
    assert short_text == long_text == expected
    assert short_documents == long_documents == []
    assert len(short_pieces) <= (GROUPS - 1) * DELTAS / 10  # fifty deltas are a few messages, not fifty
    per_text = len(expected) * (GROUPS - 1) // GROUPS
    for pieces in (short_pieces, long_pieces):
        assert sum(pieces) <= per_text + 400 * len(pieces)
    assert abs(max(short_pieces) - max(long_pieces)) <= 20  # of the numbers and the ids in it


async def test_every_widget_of_a_session_is_sent_the_same_pieces(front: FakeFrontEnd) -> None:
    """W1.2, W4.7: and one made in mid-stream begins with what the others have."""
    client = Bursts()
    session = Session(Agent("support", client, stream=True), "t")
    first = Console(session)
    turn = asyncio.create_task(session.run("write"))
    client.go.release()
    await until(lambda: bool(front.document(first)["live"]["messages"]))
    await asyncio.sleep(0.2)
    second = Transcript(session)
    hello = front.ask(first, {"kind": "hello"})
    await until(lambda: front.reply(hello) is not None)
    welcome = front.reply(hello)
    assert welcome is not None
    assert welcome["live"] == front.document(second)["live"]
    assert welcome["live"]["messages"][0]["text"].startswith("00-00 ")
    before = len(front.messages)

    def pieces() -> dict[str, list[Any]]:
        sent: dict[str, list[Any]] = {first.model_id: [], second.model_id: []}
        for model, message in front.messages[before:]:
            if message["kind"] == "live":
                sent[model].append(message)
        return sent

    client.go.release()
    await until(lambda: all(pieces().values()))
    sent = pieces()
    assert sent[first.model_id] == sent[second.model_id] != []
    assert sent[first.model_id][0]["number"] == welcome["live"]["number"] + 1
    for _ in range(GROUPS):
        client.go.release()
    await turn
    assert front.document(first)["live"]["messages"] == front.document(second)["live"]["messages"] == []
    assert front.document(second)["messages"][-1]["text"] == "the whole"


async def test_a_widget_that_is_closed_is_sent_nothing_more(front: FakeFrontEnd) -> None:
    """W4.7."""
    session = Session(Agent("support", ScriptedClient("a few words " * 20, chunk_size=4), stream=True), "t")
    console = Console(session)
    console.close()
    before = len(front.messages)
    await session.run("go")
    assert len(front.messages) == before
