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
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
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
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=60)
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


def test_every_rule_that_code_and_tests_quote_stands_in_the_specification() -> None:
    """R4.10 in a docstring is a rule of the runtime page, W2.7 one of the widget page, F12 a field case; R2.2h is row h of R2.2."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "specification").glob("*.md"))
    sources = [*ROOT.glob("llm4s_notebook/**/*.py"), *ROOT.glob("tests/**/*.py")]
    quoted = {
        rule
        for file in sources
        for rule in re.findall(r"(?<![\w\"'.-])([RW]\d\.\d+[a-z]?|F\d\d)(?![\w.\"'])", file.read_text(encoding="utf-8"))
    }
    stands = set(re.findall(r"(?<![\w.])(?:[RW]\d\.\d+[a-z]?|F\d\d)(?!\w)", text))
    assert {rule for rule in quoted if rule not in stands and rule.rstrip("abcdefgh") not in stands} == set()


def test_every_agent_rule_that_code_and_tests_quote_stands_on_the_agents_page() -> None:
    """A number in brackets, or at a docstring's beginning, leads to that rule."""
    agents_page = (ROOT / "docs" / "specification" / "agent.md").read_text(encoding="utf-8")
    stands = set(re.findall(r"^(?:#+ )?(\d+\.\d+(?:\.\d+)?)\b", agents_page, re.MULTILINE))
    sources = [*ROOT.glob("llm4s_notebook/**/*.py"), *ROOT.glob("tests/**/*.py")]
    number = re.compile(r"(?:[(,]\s?|\"{3})(\d\.\d{1,2}\.\d{1,2})(?=[,);: ])")
    quoted = {rule for file in sources for rule in number.findall(file.read_text(encoding="utf-8"))}
    assert len(quoted) > 50
    assert quoted - stands == set()
