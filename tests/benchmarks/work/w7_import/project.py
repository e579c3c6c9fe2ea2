_STORE = "from llm4s_notebook.checkpoint import SqliteCheckpointer"
GRAPH = f"import llm4s_notebook.graph; {_STORE}"
AGENT = f"import llm4s_notebook.agent, llm4s_notebook.models; {_STORE}"
