"""Jupyter widgets in which an LLM agent's turn stops for a person.

`__init__.pyi` lists the public names. Each is loaded when it is first used, so that importing the package loads neither a
front end, nor a provider library, nor a database driver (D19).
"""

import lazy_loader as _lazy  # pyright: ignore[reportMissingTypeStubs] - it has none

from . import _wiring

__getattr__, __dir__, __all__ = _lazy.attach_stub(__name__, __file__)  # pyright: ignore - untyped; checkers read the stub

__version__ = "0.1.0"


def _load_front_end() -> None:
    from . import widgets as widgets  # registers itself with `review`


_wiring.load_front_end = _load_front_end
