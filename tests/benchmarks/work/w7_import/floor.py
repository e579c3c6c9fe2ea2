GRAPH = AGENT = "import asyncio, sqlite3, msgspec"
