GRAPH = "import langgraph.graph, langgraph.types, langgraph.checkpoint.sqlite.aio"
AGENT = "import langchain.agents, langgraph.checkpoint.sqlite.aio"
