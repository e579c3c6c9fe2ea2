"""The work items: a folder each, which says what is done (`__init__.py`), and does it with each peer (a file of its name)."""
