import asyncio
import json
import sys
from typing import TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt


class State(TypedDict):
    n: int
    got: str


async def ask(state: State):
    return {"got": interrupt({"q": state["n"]})}


async def act(state: State):
    return {"n": state["n"] + 1}


async def main(what, path):
    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_node("act", act)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "act")
    builder.add_edge("act", "ask")
    async with AsyncSqliteSaver.from_conn_string(path) as saver:
        graph = builder.compile(checkpointer=saver)
        given = {"n": 0, "got": ""} if what == "prepare" else Command(resume="yes")
        done = await graph.ainvoke(given, {"configurable": {"thread_id": "t"}}, durability="sync")
        print(json.dumps(done["__interrupt__"][0].value))


asyncio.run(main(*sys.argv[1:]))
