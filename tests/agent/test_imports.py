"""D19, and what the agent room needs to be imported."""

from __future__ import annotations

import json
import subprocess
import sys


def test_an_agent_needs_neither_a_front_end_nor_a_provider_nor_a_database_nor_nest_asyncio():
    """D19, F26: each is loaded when it is first used."""
    code = """
    import json, sys
    import llm4s_notebook
    first = sorted(name for name in sys.modules)
    from llm4s_notebook import Agent, GuardrailReviewMiddleware, InMemoryCheckpointer, ScriptedClient, tool
    Agent("assistant", ScriptedClient("done"), middleware=GuardrailReviewMiddleware()).run_sync("go")
    print(json.dumps([first, sorted(sys.modules)]))
    """
    made = subprocess.run(
        [sys.executable, "-c", "\n".join(line[4:] for line in code.splitlines())], capture_output=True, text=True, check=True
    )
    before, after = json.loads(made.stdout)
    heavy = {"ipywidgets", "anywidget", "IPython", "sqlite3", "nest_asyncio", "openai", "litellm", "jupyterlab", "lark"}
    assert not heavy & set(before)
    assert not heavy & set(after)
    assert "pydantic" not in before
