"""Messages, the chat client protocol, a client for real providers and a scripted one. Knows nothing of graphs or agents.

`__init__.pyi` lists the names. Each is loaded when it is first used: a graph by hand reads nothing of providers.
"""

import lazy_loader as _lazy  # pyright: ignore[reportMissingTypeStubs] - it has none

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)  # pyright: ignore - untyped; checkers read the stub
