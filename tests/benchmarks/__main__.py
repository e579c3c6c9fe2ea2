"""The project's benchmarks: `python tests/benchmarks`. README.md beside this says how to set them up and how to read them."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

from harness.case import IN_A_BROWSER, PEERS, WORK, cases
from harness.conduct import Conductor
from harness.page import write_page
from harness.result import outcomes_of, read, result_of, write
from harness.table import terminal

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "performance.md"
NEEDS = {"floor": "msgspec", "langgraph": "langgraph", "project": "llm4s_notebook"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python tests/benchmarks", description="Time and count the same work with each peer.")
    parser.add_argument("--only", metavar="W1,W4", help="these work items; without it all but those in a browser")
    parser.add_argument("--peers", metavar="floor,project", help=f"of {', '.join(PEERS)}")
    parser.add_argument("--reps", type=int, default=5, help="repeats with the stopwatch (5); 0 only counts")
    parser.add_argument("--patience", type=float, default=4.0, help="seconds a case waits for an idle machine (4)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the results to this JSON file")
    parser.add_argument("--from", type=Path, metavar="FILE", dest="source", help="run nothing; show the results of this JSON file")
    parser.add_argument("--cpu", action="store_true", help="judge by the processor's time: for a busy machine, not for waits for the disk")
    parser.add_argument("--write-docs", action="store_true", help=f"put the table into {PAGE.relative_to(HERE.parents[1])}")
    given = parser.parse_args()
    given.works = _chosen(parser, "--only", given.only, list(WORK))
    if given.only is None:
        given.works = [one for one in given.works if one not in IN_A_BROWSER]
    given.peer_names = _chosen(parser, "--peers", given.peers, list(PEERS))
    missing = [NEEDS[peer] for peer in given.peer_names if importlib.util.find_spec(NEEDS[peer]) is None]
    if missing and not given.source:
        parser.error(f"not installed: {', '.join(missing)}; see {HERE.name}/README.md")
    if given.write_docs and given.cpu:
        parser.error("--write-docs tells what the clock showed; leave out --cpu")
    if given.write_docs and not given.source and (given.only or given.peers):
        parser.error("--write-docs wants the results of one whole run; leave out --only and --peers")
    return given


def _chosen(parser: argparse.ArgumentParser, option: str, text: str | None, known: list[str]) -> list[str]:
    """W5 stands for W5 and what belongs to it."""
    wanted = text.split(",") if text else known
    unknown = [one for one in wanted if one not in known]
    if unknown:
        parser.error(f"{option} names {', '.join(unknown)}; there are {', '.join(known)}")
    return [one for one in known if one in wanted or one.split()[0] in wanted]


def main() -> int:
    given = arguments()
    if given.source:
        result = read(given.source)
    else:
        chosen = cases(given.works, given.peer_names)
        conductor = Conductor(chosen, given.reps, given.patience)
        conductor.run()
        result = result_of(conductor, chosen, given.reps)
        if given.out:
            write(result, given.out)
    print(terminal(outcomes_of(result, given.cpu)))
    for key, reason in result["failed"].items():
        print(f"failed: {key}: {reason}", file=sys.stderr)
    if given.write_docs:
        write_page(PAGE, result)
    return 1 if result["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
