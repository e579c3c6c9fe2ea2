"""Arguments, exit codes, and errors as a person at a terminal wants them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from ..errors import Llm4sError

BAD_ARGUMENTS = 2
FAILED = 1
INTERRUPTED = 130


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_ARGUMENTS, f"{self.prog}: {message} (--help says more)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return 0, 1 (it failed, the reason is on stderr) or 130 (interrupted). Bad arguments exit with 2."""
    arguments = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except Llm4sError as error:
        three_lines = error._render_traceback_()  # pyright: ignore[reportPrivateUsage]  # private to Python, public to whoever prints
        print("\n".join(three_lines), file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"{error.strerror or error}: {error.filename}" if error.filename else str(error), file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m llm4s_notebook", description="An LLM agent's turn that stops for a person.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    demo = commands.add_parser(
        "demo",
        help="play lesson 1's turn in the terminal",
        description="Plays one turn of a release assistant, which waits for a person in every way a turn can wait. "
        "A scripted reviewer answers. No language model and no browser is needed.",
    )
    demo.add_argument("--db", type=Path, default=Path("llm4s-demo.db"), metavar="PATH", help="SQLite file the turn lives in (%(default)s)")
    demo.set_defaults(command=_demo)
    lab = commands.add_parser(
        "lab",
        help="open the lessons in JupyterLab",
        description="Copies the lessons to a folder and opens JupyterLab on them. A lesson that you have changed is never written over.",
    )
    lab.add_argument("--dir", type=Path, default=Path("llm4s-lessons"), metavar="DIR", help="folder for your copies (%(default)s)")
    lab.add_argument("--port", type=_port, default=8888, metavar="PORT", help="first port to try (%(default)s)")
    lab.add_argument("--no-browser", action="store_true", help="only print the address")
    lab.set_defaults(command=_lab)
    return parser


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; give a number from 1 to 65535")
    return int(text)


# Each command imports what it needs when it is called: `--help` and a mistyped argument answer at once.


def _demo(arguments: argparse.Namespace) -> int:
    from ._demo import demo

    db: Path = arguments.db
    demo(db)
    return 0


def _lab(arguments: argparse.Namespace) -> int:
    from ._lab import lab

    folder: Path = arguments.dir
    port: int = arguments.port
    no_browser: bool = arguments.no_browser
    return lab(folder, port, browser=not no_browser)
