"""Copies of lessons: brought up to date, never written over once a person changed them."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm4s_notebook._cli._lessons import copy_lessons, shipped_lessons

ONE = {"01_first.ipynb": b"first, version 1"}
TWO = {"01_first.ipynb": b"first, version 2"}
THREE = {"01_first.ipynb": b"first, version 3"}
MINE = b"first, version 1, and my own notes"


def files(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if not file.name.startswith(".")}


def test_lessons_are_copied_into_a_folder_that_is_made_where_missing(tmp_path: Path) -> None:
    """The first time there is nothing to say."""
    copied = copy_lessons(ONE, tmp_path / "deep" / "down")
    assert files(tmp_path / "deep" / "down") == ONE
    assert [(lesson.file, lesson.remark) for lesson in copied] == [("01_first.ipynb", None)]


def test_an_unchanged_copy_is_replaced_by_a_newer_version(tmp_path: Path) -> None:
    """Nothing of the person's is in it."""
    copy_lessons(ONE, tmp_path)
    assert [lesson.remark for lesson in copy_lessons(TWO, tmp_path)] == [None]
    assert files(tmp_path) == TWO


def test_a_changed_copy_is_kept_and_said_so(tmp_path: Path) -> None:
    """Without a newer version there is nothing to put beside it."""
    copy_lessons(ONE, tmp_path)
    (tmp_path / "01_first.ipynb").write_bytes(MINE)
    [lesson] = copy_lessons(ONE, tmp_path)
    assert files(tmp_path) == {"01_first.ipynb": MINE}
    assert lesson.remark == "01_first.ipynb: kept, you have changed it"


def test_a_newer_version_goes_beside_a_changed_copy(tmp_path: Path) -> None:
    """Both are there, and the sentence names both."""
    copy_lessons(ONE, tmp_path)
    (tmp_path / "01_first.ipynb").write_bytes(MINE)
    [lesson] = copy_lessons(TWO, tmp_path)
    assert files(tmp_path) == {"01_first.ipynb": MINE, "01_first.new.ipynb": TWO["01_first.ipynb"]}
    assert lesson.remark == "01_first.ipynb: kept, you have changed it; the new version is 01_first.new.ipynb"
    copy_lessons(TWO, tmp_path)
    assert len(files(tmp_path)) == 2


def test_a_new_version_that_was_changed_too_is_kept_as_well(tmp_path: Path) -> None:
    """No name is safe to write to only because we chose it."""
    copy_lessons(ONE, tmp_path)
    (tmp_path / "01_first.ipynb").write_bytes(MINE)
    copy_lessons(TWO, tmp_path)
    (tmp_path / "01_first.new.ipynb").write_bytes(b"changed as well")
    copy_lessons(THREE, tmp_path)
    assert files(tmp_path) == {
        "01_first.ipynb": MINE,
        "01_first.new.ipynb": b"changed as well",
        "01_first.new2.ipynb": THREE["01_first.ipynb"],
    }


@pytest.mark.parametrize("record", [None, b"not json", b'{"01_first.ipynb": 7}'], ids=["gone", "broken", "of another shape"])
def test_without_a_record_every_other_content_counts_as_changed(tmp_path: Path, record: bytes | None) -> None:
    """In doubt nothing is written over."""
    copy_lessons(ONE, tmp_path)
    if record is None:
        (tmp_path / ".llm4s-lessons.json").unlink()
    else:
        (tmp_path / ".llm4s-lessons.json").write_bytes(record)
    copy_lessons(TWO, tmp_path)
    assert files(tmp_path) == {**ONE, "01_first.new.ipynb": TWO["01_first.ipynb"]}


def test_a_folder_of_a_lessons_name_is_left_alone(tmp_path: Path) -> None:
    """Whatever the person put there stays."""
    (tmp_path / "01_first.ipynb").mkdir()
    [lesson] = copy_lessons(ONE, tmp_path)
    assert (tmp_path / "01_first.ipynb").is_dir()
    assert (tmp_path / "01_first.new.ipynb").read_bytes() == ONE["01_first.ipynb"]
    assert lesson.remark is not None


def test_the_package_brings_lesson_1() -> None:
    """What the lab command copies really exists and is a notebook."""
    lessons = shipped_lessons()
    assert next(iter(lessons)) == "01_a_turn_that_waits.ipynb"
    assert b'"nbformat"' in lessons["01_a_turn_that_waits.ipynb"]
