"""The store in one SQLite file. Loading this room loads the database driver; `llm4s_notebook.checkpoint` does so only when asked (D19)."""

from ._store import SqliteCheckpointer

__all__ = ["SqliteCheckpointer"]
