"""`llm4s_notebook.review` is this room and, under the same name, the function that people call most."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ._review import review


class _CallableRoom(ModuleType):
    """A module that is `review` when it is called.

    Importing a submodule binds its name in the package, so `from llm4s_notebook import review` gives the function or this
    module, depending on what was imported first. Calling either does the same.
    """

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return review(*args, **kwargs)


def make_callable(name: str) -> None:
    """Let the module of that name be called like `review`."""
    sys.modules[name].__class__ = _CallableRoom
