"""`python -m llm4s_notebook`: a demo in the terminal, and the lessons in JupyterLab."""

from __future__ import annotations

import sys

from ._cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
