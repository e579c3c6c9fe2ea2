"""The front end as it is shipped: what its bundles may contain, and that its lock file ties nobody to one registry."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "llm4s_notebook" / "static"
BUNDLES = sorted(path.name for path in STATIC.glob("*.js"))
FORBIDDEN = re.compile(r"\bfetch\s*\(|XMLHttpRequest|WebSocket|EventSource|\beval\s*\(|new Function\b|\bFunction\s*\(|\bimport\s*\(")
IMPORTS = re.compile(r"(?:^|[;}\n])\s*import\s*[\w*{\"']")
ADDRESSES = re.compile(r"\b(?:https?|wss?):\\?/\\?/[^\s\"'`)]+")


def test_every_widget_has_a_bundle() -> None:
    """The scans below look at something."""
    assert set(BUNDLES) >= {"console.js", "graph_view.js", "review_panel.js", "text_review.js", "transcript.js"}


@pytest.mark.parametrize("name", BUNDLES)
def test_a_bundle_calls_nobody_and_makes_no_code(name: str) -> None:
    """F32: no network, no eval, no import; the only addresses are names of XML vocabularies."""
    text = (STATIC / name).read_text(encoding="utf-8")
    assert FORBIDDEN.findall(text) == []
    assert IMPORTS.findall(text) == []
    assert {address for address in ADDRESSES.findall(text) if not address.startswith("http://www.w3.org/")} == set()


def test_our_own_sources_put_no_text_into_markup() -> None:
    """W5.7: what a model or a tool said is text, so nothing of ours hands the browser a string to parse."""
    sources = {str(file.relative_to(ROOT)): file.read_text(encoding="utf-8") for file in (ROOT / "js" / "src").rglob("*.ts*")}
    assert len(sources) > 10
    assert [
        name for name, text in sources.items() if re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text, re.I)
    ] == []


def test_the_style_sheet_fetches_nothing_and_touches_only_its_own() -> None:
    """W5.5: no import, no url; every selector starts with the one class prefix, every animation is named with it."""
    text = re.sub(r"/\*.*?\*/", "", (STATIC / "llm4s.css").read_text(encoding="utf-8"), flags=re.DOTALL)
    assert re.findall(r"@import|@font-face|url\(", text) == []
    animations = re.findall(r"@keyframes\s+([\w-]+)", text)
    assert [name for name in animations if not name.startswith("llm4s")] == []
    rules = re.sub(r"@keyframes\s+[\w-]+\s*\{(?:[^{}]*\{[^{}]*\})*\s*\}", "", text)
    selectors = [selector.strip() for block in re.findall(r"([^{}]+)\{", rules) for selector in _split(block)]
    assert len(selectors) > 20
    assert [selector for selector in selectors if not selector.startswith(("@media", "@container", "@supports", ".llm4s"))] == []


def _split(block: str) -> list[str]:
    """The selectors of a list; commas inside brackets are parts of one, and so are those of an at-rule."""
    return [block] if block.strip().startswith("@") else re.split(r",(?![^(\[]*[)\]])", block)


def test_every_bundled_package_is_named_with_its_licence() -> None:
    """What the bundles contain of others is said, and the texts come along."""
    text = (STATIC / "THIRD_PARTY_LICENSES.txt").read_text(encoding="utf-8")
    for name in json.loads((ROOT / "js" / "package.json").read_text())["dependencies"]:
        assert re.search(rf"^{re.escape(name)} \d+\.\d+\.\d+ \([\w.-]+\)$", text, re.MULTILINE), name
    assert text.count("Permission is hereby granted") + text.count("Redistribution and use") >= 4


def test_the_lock_file_names_versions_and_checksums_but_no_place() -> None:
    """`npm ci` works with whatever registry a machine is set up for."""
    lock = json.loads((ROOT / "js" / "package-lock.json").read_text())
    packages = {name: entry for name, entry in lock["packages"].items() if name}
    assert len(packages) > 50
    assert [name for name, entry in packages.items() if "resolved" in entry] == []
    assert [name for name, entry in packages.items() if not entry["integrity"].startswith("sha512-")] == []


def test_the_python_pins_name_versions_but_no_place() -> None:
    """Every line is a comment or `name==version`."""
    lines = (ROOT / ".ci" / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"#.*|[\w.-]+==[\w.+!-]+", line)] == []
    assert len(lines) > 50
