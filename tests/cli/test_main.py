"""Arguments and exit codes of ``python -m llm4s_notebook``."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.command import run_command
from llm4s_notebook._cli import main


@pytest.mark.parametrize("arguments", [["--help"], ["demo", "--help"], ["lab", "--help"]], ids=" ".join)
def test_help_is_printed_and_is_no_failure(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Each command explains itself."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 0
    assert f"usage: python -m llm4s_notebook{' ' + arguments[0] if len(arguments) > 1 else ''}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "COMMAND"),
        (["dance"], "'dance'"),
        (["demo", "--database", "x"], "--database"),
        (["demo", "--db"], "--db"),
        (["lab", "--port", "http"], "'http'"),
        (["lab", "--port", "0"], "'0'"),
        (["lab", "--port", "65536"], "'65536'"),
        (["lab", "--port", "\u0668\u0668"], "\u0668\u0668"),
        (["lab", "surplus"], "surplus"),
    ],
)
def test_bad_arguments_are_named_in_one_line_and_exit_with_2(arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is wrong stands in one line on stderr; nothing else is printed or done."""
    with pytest.raises(SystemExit) as left:
        main(arguments)
    printed = capsys.readouterr()
    assert left.value.code == 2
    assert printed.out == ""
    assert named in printed.err
    assert printed.err.count("\n") == 1


def test_the_exit_code_of_bad_arguments_reaches_the_shell(tmp_path: Path) -> None:
    """The module and the process agree, and nothing is left in the folder."""
    done = run_command(tmp_path, "dance")
    assert (done.returncode, done.stdout) == (2, "")
    assert list(tmp_path.iterdir()) == []
