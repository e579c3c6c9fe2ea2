"""The session-wide rule of tests/conftest.py, tried on small suites of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
PASSES = "def test_fine():\n    assert sorted([2, 1]) == [1, 2]\n"


def run_suite(folder: Path, source: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text(CONFTEST.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "test_suite.py").write_text(PASSES + source, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *options, str(folder)]
    bare = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the rule needs none of the plugins, and they take seconds to load
    return subprocess.run(command, cwd=folder, env=bare, capture_output=True, text=True, timeout=120)


def test_a_suite_that_leaves_nothing_out_passes(tmp_path: Path) -> None:
    """The rule stops nobody who runs everything."""
    done = run_suite(tmp_path, "", "--complete")
    assert done.returncode == 0, done.stdout
    assert "left out" not in done.stdout


@pytest.mark.parametrize(
    ("source", "word"),
    [
        ("import pytest\ndef test_x():\n    pytest.skip('no')\n", "skipped: "),
        ("import pytest\n@pytest.mark.skipif(True, reason='no')\ndef test_x(): ...\n", "skipped: "),
        ("import pytest\n@pytest.mark.xfail\ndef test_x():\n    assert not True\n", "xfail: "),
        ("import pytest\n@pytest.mark.xfail\ndef test_x(): ...\n", "xfail: "),
        ("import pytest\npytest.importorskip('surely_no_such_module')\n", "skipped at collection: "),
    ],
    ids=["skip", "skipif", "xfail", "xpass", "importorskip"],
)
def test_whatever_did_not_really_run_fails_the_session(tmp_path: Path, source: str, word: str) -> None:
    """A skipped or xfailed test is a failure, and the summary names it."""
    done = run_suite(tmp_path, source)
    assert done.returncode != 0, done.stdout
    assert word in done.stdout


def test_a_deselected_test_fails_only_a_run_that_claims_to_be_complete(tmp_path: Path) -> None:
    """Somebody at work may pick tests; CI may not."""
    assert run_suite(tmp_path, "def test_other(): ...\n", "-k", "fine").returncode == 0
    done = run_suite(tmp_path, "def test_other(): ...\n", "-k", "fine", "--complete")
    assert done.returncode != 0
    assert "deselected: " in done.stdout
