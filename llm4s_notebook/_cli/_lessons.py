"""Copies of the lessons for a person to work in. What the person changed is never written over."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

RECORD = ".llm4s-lessons.json"
_RECORD_TYPE = TypeAdapter(dict[str, str])


@dataclass(frozen=True)
class Copied:
    """What became of one lesson: the file to open, and a sentence where something was left alone."""

    file: str
    remark: str | None = None


def shipped_lessons() -> dict[str, bytes]:
    """The lessons this version brings, by file name in order: inside the package, or beside it in a checkout."""
    packaged = resources.files("llm4s_notebook") / "lessons"
    folder = packaged if packaged.is_dir() else Path(__file__).resolve().parents[2] / "notebooks"
    if not folder.is_dir():
        raise FileNotFoundError(f"this installation has no lessons: neither {packaged} nor {folder} exists")
    lessons = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.name.endswith(".ipynb")}
    return dict(sorted(lessons.items()))


def copy_lessons(lessons: dict[str, bytes], folder: Path) -> list[Copied]:
    """Bring ``folder`` up to date with ``lessons``.

    A copy that is still as it was shipped is replaced by a newer version. A changed one is kept; where there is a newer version, that
    goes into a file beside it, under the first free name. The hash of what was shipped is recorded in the folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    record = _read_record(folder / RECORD)
    copied = [_copy(name, content, folder, record) for name, content in lessons.items()]
    (folder / RECORD).write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return copied


def _copy(name: str, content: bytes, folder: Path, record: dict[str, str]) -> Copied:
    shipped = _digest(content)
    if _replaceable(name, shipped, folder, record):
        _write(name, content, folder, record)
        return Copied(name)
    if record.get(name) == shipped:
        return Copied(name, f"{name}: kept, you have changed it")
    beside = next(other for other in _names_beside(name) if _replaceable(other, shipped, folder, record))
    _write(beside, content, folder, record)
    return Copied(name, f"{name}: kept, you have changed it; the new version is {beside}")


def _replaceable(name: str, shipped: str, folder: Path, record: dict[str, str]) -> bool:
    """Whether nothing of the person's would be lost: no such file, or one that is byte for byte what was shipped once."""
    file = folder / name
    if not file.exists():
        return True
    present = _digest(file.read_bytes()) if file.is_file() else ""
    return present in (shipped, record.get(name))


def _names_beside(name: str) -> Iterator[str]:
    stem = name.removesuffix(".ipynb")
    return (f"{stem}.new{number if number > 1 else ''}.ipynb" for number in itertools.count(1))


def _write(name: str, content: bytes, folder: Path, record: dict[str, str]) -> None:
    if not (folder / name).exists() or (folder / name).read_bytes() != content:
        (folder / name).write_bytes(content)
    record[name] = _digest(content)


def _read_record(file: Path) -> dict[str, str]:
    """Without a readable record every copy that differs from what is shipped counts as changed."""
    try:
        return _RECORD_TYPE.validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return {}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
