"""One case in this process: `python child.py WORK MODE PEER time|count`. Prints the numbers as JSON on the last line."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from harness.case import Peer, work_item
from harness.meter import Counter, Stopwatch


def main(work: str, mode_name: str, peer: str, what: str) -> None:
    item = work_item(work)
    [mode] = [one for one in item.MODES if one.name == mode_name]
    meter = Counter() if what == "count" else Stopwatch()
    sizes = (mode.counts or {}) if what == "count" else mode.sizes
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        asyncio.run(item.measure(Peer(work, peer), meter, mode.store, Path(folder) / "threads.db", **sizes))
    print(json.dumps(meter.numbers))


if __name__ == "__main__":
    main(*sys.argv[1:])
