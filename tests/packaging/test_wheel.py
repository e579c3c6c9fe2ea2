"""The wheel, built as pip would build it on a machine without Node, and tried from a folder that is not the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "llm4s_notebook" / "static"
BUNDLES = {"console.js", "review_panel.js", "graph_view.js", "transcript.js", "text_review.js", "llm4s.css", "THIRD_PARTY_LICENSES.txt"}
LESSON = "01_a_turn_that_waits.ipynb"


def build(tree: Path, out: Path, *, path: Path, target: str = "wheel") -> subprocess.CompletedProcess[str]:
    """Build the wheel (or another ``target``) of ``tree`` into ``out`` with nothing but ``path`` to find programs in."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(out)]
    env = {**os.environ, "PATH": str(path)}
    return subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a wheel that was built without Node, in a folder of their own."""
    folder = tmp_path_factory.mktemp("wheel")
    (folder / "no-programs").mkdir()
    done = build(ROOT, folder / "dist", path=folder / "no-programs")
    assert done.returncode == 0, done.stderr
    [wheel] = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run_from(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=env, capture_output=True, text=True, timeout=120)


def test_the_wheel_holds_the_committed_bundles_byte_for_byte(unpacked: Path) -> None:
    """No bundle is lost, none is another one, and the notices of what they contain come along."""
    packed = {file.name: file.read_bytes() for file in (unpacked / "llm4s_notebook" / "static").iterdir()}
    assert packed == {file.name: file.read_bytes() for file in STATIC.iterdir()}
    assert packed.keys() >= BUNDLES
    assert all(packed.values())


def test_the_wheel_holds_types_lessons_and_licence_and_nothing_of_the_workshop(unpacked: Path) -> None:
    """`py.typed` and the lessons are in; tests, sources of the front end and tools are not."""
    assert (unpacked / "llm4s_notebook" / "py.typed").is_file()
    assert (unpacked / "llm4s_notebook" / "lessons" / LESSON).read_bytes() == (ROOT / "notebooks" / LESSON).read_bytes()
    [info] = unpacked.glob("*.dist-info")
    assert "MIT License" in (info / "licenses" / "LICENSE").read_text()
    assert {entry.name for entry in unpacked.iterdir()} == {"llm4s_notebook", info.name}
    assert not [file for file in unpacked.rglob("*") if file.suffix in (".ts", ".tsx", ".map") or "__pycache__" in file.parts]


def test_the_unpacked_wheel_finds_its_bundles_and_lessons(unpacked: Path, tmp_path: Path) -> None:
    """The installed package reads its own files, not those of a checkout that happens to be near."""
    code = (
        "import llm4s_notebook, llm4s_notebook.widgets as w; from llm4s_notebook._cli._lessons import shipped_lessons;"
        "print(llm4s_notebook.__file__); print(len(str(w.Console._esm))); print(*shipped_lessons())"
    )
    done = run_from(unpacked, tmp_path, "-c", code)
    assert done.returncode == 0, done.stderr
    file, size, *lessons = done.stdout.split()
    assert Path(file).is_relative_to(unpacked)
    assert int(size) == len((STATIC / "console.js").read_text(encoding="utf-8"))
    assert LESSON in lessons


def test_the_unpacked_wheel_plays_the_demo(unpacked: Path, tmp_path: Path) -> None:
    """The first thing a newcomer does works from an installation."""
    done = run_from(unpacked, tmp_path, "-m", "llm4s_notebook", "demo")
    assert done.returncode == 0, done.stderr
    assert "answer: " in done.stdout


def test_a_wheel_made_from_the_source_distribution_is_the_same(unpacked: Path, tmp_path: Path) -> None:
    """What is published as source carries bundles and lessons too."""
    no_programs = tmp_path / "no-programs"
    assert build(ROOT, tmp_path, path=no_programs, target="sdist").returncode == 0
    [archive] = tmp_path.glob("*.tar.gz")
    shutil.unpack_archive(archive, tmp_path / "source")
    [tree] = (tmp_path / "source").iterdir()
    done = build(tree, tmp_path / "dist", path=no_programs)
    assert done.returncode == 0, done.stderr
    [wheel] = tmp_path.glob("dist/*.whl")
    with zipfile.ZipFile(wheel) as opened:
        again = {name: opened.read(name) for name in opened.namelist() if name.startswith("llm4s_notebook/")}
    assert again == {
        str(file.relative_to(unpacked)): file.read_bytes() for file in (unpacked / "llm4s_notebook").rglob("*") if file.is_file()
    }


class TestBuildHook:
    """The hook on a tree that lacks a bundle."""

    @pytest.fixture
    def tree(self, tmp_path: Path) -> Path:
        tree = tmp_path / "tree"
        for folder in ("llm4s_notebook", "notebooks"):
            shutil.copytree(ROOT / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
        (tree / "js").mkdir()
        for file in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
            shutil.copy(ROOT / file, tree / file)
        (tree / "llm4s_notebook" / "static" / "console.js").unlink()
        return tree

    def test_without_node_the_build_stops_and_names_what_is_missing(self, tree: Path, tmp_path: Path) -> None:
        """A wheel without its front end is never built."""
        done = build(tree, tmp_path / "dist", path=tmp_path / "no-programs")
        assert done.returncode != 0
        assert "llm4s_notebook/static lacks console.js" in done.stderr
        assert "npm was not found" in done.stderr
        assert not list(tmp_path.glob("dist/*.whl"))

    def test_with_node_the_bundles_are_built_first(self, tree: Path, tmp_path: Path) -> None:
        """npm is called in js/, first to install, then to build, and what it made is in the wheel."""
        programs = tmp_path / "programs"
        programs.mkdir()
        npm = programs / "npm"
        npm.write_text('#!/bin/sh\necho "$@" >>calls.txt\nif [ "$1" = run ]; then echo fresh >../llm4s_notebook/static/console.js; fi\n')
        npm.chmod(0o755)
        done = build(tree, tmp_path / "dist", path=programs)
        assert done.returncode == 0, done.stderr
        assert (tree / "js" / "calls.txt").read_text().splitlines() == ["ci --ignore-scripts", "run build"]
        [wheel] = tmp_path.glob("dist/*.whl")
        with zipfile.ZipFile(wheel) as archive:
            assert archive.read("llm4s_notebook/static/console.js") == b"fresh\n"

    def test_a_front_end_build_that_makes_nothing_is_an_error(self, tree: Path, tmp_path: Path) -> None:
        """Success of npm is not believed, the file is looked for."""
        programs = tmp_path / "programs"
        programs.mkdir()
        (programs / "npm").write_text("#!/bin/sh\n")
        (programs / "npm").chmod(0o755)
        done = build(tree, tmp_path / "dist", path=programs)
        assert done.returncode != 0
        assert "lacks console.js even after the front-end build" in done.stderr
