"""Cells that the tests of a real kernel run: an agent on a SQLite file whose tools write down what they did."""

from __future__ import annotations

from pathlib import Path


def setup(folder: Path, script: str, *, extra: str = "") -> str:
    """A cell that makes `agent`, `log` and `did()`: `script` is the model's, as code. `deploy` needs an approval, `slow` takes
    until `release()` is called, `nap` sleeps in its worker thread."""
    return f"""
import asyncio, pathlib, time
from llm4s_notebook.agent import Agent, AgentNode, Answer, NeedsApproval, ToolContext, tool
from llm4s_notebook.checkpoint import SqliteCheckpointer
from llm4s_notebook.models import ScriptedClient, ToolCall, calls
from llm4s_notebook.review import Session, review
from llm4s_notebook.widgets import Console, GraphView, ReviewPanel, Transcript

log = pathlib.Path({str(folder / "did.txt")!r})

def did():
    return log.read_text().split() if log.exists() else []

def note(text):
    with log.open("a") as file:
        file.write(text + "\\n")

@tool
async def deploy(version: str, context: ToolContext) -> str | NeedsApproval:
    if not context.approved:
        return NeedsApproval("reaches customers")
    note(f"deploy-{{version}}")
    return f"{{version}} is live"

@tool
async def slow(name: str) -> str:
    note(f"slow-{{name}}")
    await asyncio.sleep(3600)
    return name

@tool
async def pause(name: str) -> str:
    note(f"pause-{{name}}")
    await asyncio.sleep(0.3)
    return name

def deployment(id, version):
    return ToolCall(id, "deploy", {{"version": version}})

store = SqliteCheckpointer({str(folder / "threads.db")!r})
client = ScriptedClient({script})
agent = Agent("assistant", client, tools=[deploy, slow, pause], runtime=store)
{extra}
"""


def approve(interrupt_id: str) -> dict[str, str]:
    return {"decision": "approve", "id": interrupt_id}


def reject(interrupt_id: str, reason: str = "not on a Friday") -> dict[str, str]:
    return {"decision": "reject", "id": interrupt_id, "reason": reason}
