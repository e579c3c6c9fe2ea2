"""What the pages say can be relied on: links lead somewhere, and the README's code runs as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]+\]\((?!https?://|#)([^)#]+)(?:#[^)]*)?\)|!\[[^\]]*\]\((?!https?://)([^)]+)\)")
BOASTS = ("fast", "robust", "production-ready")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    """A file that moves takes its links along."""
    targets = [first or second for first, second in LINK.findall(page.read_text(encoding="utf-8"))]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_the_code_in_the_readme_runs_and_says_what_waits(tmp_path: Path) -> None:
    """The Python block is a whole program: it waits for an approval, gets it and ends."""
    [program] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    waited, answer = done.stdout.splitlines()
    assert waited.startswith("PendingReview(APPROVAL 2.0: ")
    assert "this reaches every customer" in waited
    assert answer == "Version 1.4.0 is live."
    assert (tmp_path / "threads.db").stat().st_size > 0


def test_the_graph_by_hand_runs_and_prints_what_the_page_says(tmp_path: Path) -> None:
    """docs/graphs.md: one program and its output."""
    page = (ROOT / "docs" / "graphs.md").read_text(encoding="utf-8")
    [program], [printed] = re.findall(r"```python\n(.*?)```", page, re.DOTALL), re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr) == (printed, "")


def test_the_readme_boasts_of_nothing() -> None:
    """It says what is there and what is not."""
    words = set(re.findall(r"[a-z-]+", (ROOT / "README.md").read_text(encoding="utf-8").lower()))
    assert words.isdisjoint(BOASTS)


def test_every_decision_that_code_and_tests_quote_is_listed() -> None:
    """A number in a docstring leads somewhere (D1 to D25)."""
    listed = set(re.findall(r"^D(\d+) \*\*", (ROOT / "docs" / "specification" / "README.md").read_text(encoding="utf-8"), re.MULTILINE))
    sources = [*ROOT.glob("llm4s_notebook/**/*.py"), *ROOT.glob("tests/**/*.py")]
    quoted = {
        number for file in sources for number in re.findall(r"(?<![\w\"'#-])D(\d{1,2})(?![\w\"'-])", file.read_text(encoding="utf-8"))
    }
    assert len(listed) == 25
    assert quoted - listed == set()


SPECIFICATION = ROOT / "docs" / "specification"
RULE = re.compile(r"(?<![\w\"'.-])([LMRTW]\d\.\d+[a-z]?|F\d\d)(?![\w\"'])(?!\.\d)")
STANDS = re.compile(r"^(?:- \*\*|\| )?([LMRTW]\d\.\d+[a-z]?|F\d\d)(?:\*\*| \|| )", re.MULTILINE)
"""Where a rule begins: as an item, as the first cell of a row, or as the first word of a line."""


def named_in(file: Path) -> set[str]:
    """The rules and cases that a file's comments and docstrings name."""
    return set(RULE.findall(file.read_text(encoding="utf-8").replace('"""', " ")))


def standing() -> set[str]:
    """The rules and cases of the specification; a mention elsewhere, as in "R6.38 is not used", is none."""
    return {rule for page in SPECIFICATION.glob("*.md") for rule in STANDS.findall(page.read_text(encoding="utf-8"))}


def test_every_rule_that_code_and_tests_quote_stands_in_the_specification() -> None:
    """R4.10 in a docstring is a rule of the runtime's page, W2.7 one of the widgets', T2.1 of the texts', L1.6 of the decision log's, M4.2
    of the models', F12 a field case.
    """
    sources = [*ROOT.glob("llm4s_notebook/**/*.py"), *ROOT.glob("tests/**/*.py")]
    quoted = {rule for file in sources for rule in named_in(file)}
    stands = standing()
    assert len(quoted) > 200
    assert {rule for rule in quoted if rule not in stands and rule.rstrip("abcdefghi") not in stands} == set()


def test_every_rule_of_the_runtime_and_of_models_is_named_by_a_test() -> None:
    """One that no test names is one that nobody holds; what a change makes untrue is rewritten with its test."""
    named: set[str] = set()
    for file in [*ROOT.glob("tests/**/*.py"), *ROOT.glob("llm4s_notebook/testing/**/*.py")]:
        named |= named_in(file)
    wanted = {rule for rule in standing() if rule.startswith(("R", "M"))}
    assert len(wanted) > 200
    assert wanted - named == set()


def test_the_specification_says_whose_routes_are_followed_after_a_hold() -> None:
    """F19: the node's own, as it returned them, whatever is edited while it is held."""
    rules = (SPECIFICATION / "graph-runtime.md").read_text(encoding="utf-8")
    [rule] = re.findall(r"^- \*\*R5\.16\*\*.*?(?=^- \*\*)", rules, re.MULTILINE | re.DOTALL)
    said = " ".join(rule.split())
    assert "The routes are the ones it returned" in said
    assert "edit of the state" in said


def test_every_agent_rule_that_code_and_tests_quote_stands_on_the_agents_page() -> None:
    """A number in brackets, or at a docstring's beginning, leads to that rule."""
    agents_page = (ROOT / "docs" / "specification" / "agent.md").read_text(encoding="utf-8")
    stands = set(re.findall(r"^(?:#+ )?(\d+\.\d+(?:\.\d+)?)\b", agents_page, re.MULTILINE))
    sources = [*ROOT.glob("llm4s_notebook/**/*.py"), *ROOT.glob("tests/**/*.py")]
    number = re.compile(r"(?:[(,]\s?|\"{3})(\d\.\d{1,2}\.\d{1,2})(?=[,);: ])")
    quoted = {rule for file in sources for rule in number.findall(file.read_text(encoding="utf-8"))}
    assert len(quoted) > 50
    assert quoted - stands == set()
