"""On what, with which versions, and of which state of the project the numbers are."""

from __future__ import annotations

import importlib.util
import os
import platform
import sqlite3
import subprocess
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = (
    "langgraph",
    "langgraph-checkpoint",
    "langgraph-checkpoint-sqlite",
    "langchain",
    "langchain-core",
    "aiosqlite",
    "msgspec",
    "pydantic",
    "llm4s-notebook",
)


def machine() -> dict[str, str | int]:
    return {
        "system": _system(),
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.1f} GiB",
        "filesystem": _filesystem(Path(tempfile.gettempdir())),
        "nice": os.nice(0),
    }


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def project_commit() -> str:
    """The commit of the checkout that is measured, with "+ changes" when its files differ from it; empty for an installed wheel."""
    spec = importlib.util.find_spec("llm4s_notebook")
    if spec is None or spec.origin is None:
        return ""
    folder = Path(spec.origin).parent
    commit = _git(folder, "rev-parse", "--short", "HEAD")
    return f"{commit} + changes" if commit and _git(folder, "status", "--porcelain", "--", ".") else commit


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _system() -> str:
    try:
        name = platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        name = platform.system()
    return f"{name}, kernel {platform.release()}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _filesystem(folder: Path) -> str:
    """The kind of file system the benchmark's files lie on: a commit to tmpfs never waits for a disk."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown"
    over = [(len(place), kind) for place, kind in mounts if folder.resolve().is_relative_to(place)]
    return max(over, default=(0, "unknown"))[1]
