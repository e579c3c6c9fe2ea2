"""The command line. It reads arguments, calls what the package offers, and turns every outcome into an exit code."""

from ._main import main

__all__ = ["main"]
