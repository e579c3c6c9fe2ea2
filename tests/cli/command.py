"""Run the command line as a person would: another process, in a folder that is not the checkout."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

COMMAND = [sys.executable, "-m", "llm4s_notebook"]


def run_command(folder: Path, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Run one command to its end in ``folder`` (seconds)."""
    return subprocess.run([*COMMAND, *arguments], cwd=folder, env=_environment(folder), capture_output=True, text=True, timeout=timeout)


def start_command(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start a command that goes on until somebody ends it; its errors go where its output goes."""
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _environment(folder: Path) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    jupyter = {f"JUPYTER_{kind}_DIR": str(folder / "jupyter" / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    return {**inherited, **jupyter, "IPYTHONDIR": str(folder / "ipython"), "PYTHONUNBUFFERED": "1"}
