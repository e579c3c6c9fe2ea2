import asyncio
import json
import sys

from llm4s_notebook.checkpoint import SqliteCheckpointer
from llm4s_notebook.graph import Command, GraphBuilder, GraphRuntime, Resumed, StateKey, Suspend, ThreadState

N = StateKey.replace("n", int, initial=0)
GOT = StateKey.replace("got", str, initial="")
Question = dict[str, int]

builder = GraphBuilder("ask", version="1")
act = builder.declare_resume("act", question=Question, answer=str)


@builder.node("ask", routes=act)
async def ask(state: ThreadState) -> Suspend[Question, str]:
    return Suspend({"q": state[N]}, act)


@builder.implement(act, writes=[N, GOT])
async def act_node(given: Resumed[Question, str]) -> Command:
    return Command().update(N, given.question["q"] + 1).update(GOT, given.answer)


builder.edge(act, ask)
graph = builder.compile(ask, output=lambda state: state[N])


async def main(what, path):
    async with SqliteCheckpointer(path) as store:
        runtime = GraphRuntime(store)
        if what == "prepare":
            done = await runtime.run("t", graph, None)
        else:
            waiting = await runtime.pending("t", graph)
            handle = await runtime.resume("t", graph, {waiting.interrupts[0].id: "yes"})
            done = await handle
        print(json.dumps(done.interrupts[0].question))


asyncio.run(main(*sys.argv[1:]))
