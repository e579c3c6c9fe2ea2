"""Checks on a text, and how a list of them judges it. Knows nothing of agents or graphs.

`__init__.pyi` lists the names. Each is loaded when it is first used: an agent with no guardrails reads no list of patterns.
"""

import lazy_loader as _lazy  # pyright: ignore[reportMissingTypeStubs] - it has none

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)  # pyright: ignore - untyped; checkers read the stub
