import asyncio
import json
import sqlite3
import sys

import msgspec

encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder().decode


async def act(state, answer):
    return {"n": state["n"] + 1, "got": answer}


def prepare(connection):
    connection.executescript("""
        CREATE TABLE log (thread TEXT, seq INTEGER, body BLOB, PRIMARY KEY (thread, seq)) WITHOUT ROWID;
        CREATE TABLE waiting (thread TEXT, task TEXT, payload BLOB, PRIMARY KEY (thread, task)) WITHOUT ROWID;
    """)
    connection.execute("INSERT INTO log VALUES ('t', 0, ?)", (encode({"n": 0, "got": ""}),))
    connection.execute("INSERT INTO waiting VALUES ('t', 'ask:0', ?)", (encode({"q": 0}),))


async def resume(connection):
    (task,) = connection.execute("SELECT task FROM waiting WHERE thread = 't'").fetchone()
    (body,) = connection.execute("SELECT body FROM log WHERE thread = 't' ORDER BY seq DESC LIMIT 1").fetchone()
    state = decode(body)
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO log VALUES ('t', 1, ?)", (encode({"answer": "yes"}),))
    connection.execute("DELETE FROM waiting WHERE thread = 't' AND task = ?", (task,))
    connection.execute("COMMIT")
    state.update(await act(state, "yes"))
    question = {"q": state["n"]}
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO log VALUES ('t', 2, ?)", (encode(state),))
    connection.execute("INSERT INTO waiting VALUES ('t', 'ask:1', ?)", (encode(question),))
    connection.execute("COMMIT")
    print(json.dumps(question))


what, path = sys.argv[1:]
opened = sqlite3.connect(path, isolation_level=None)
opened.execute("PRAGMA journal_mode = WAL")
if what == "prepare":
    prepare(opened)
else:
    asyncio.run(resume(opened))
opened.close()
