"""W7: importing. Time over a bare Python, peak memory and number of modules of a process that imports and ends; everything is compiled.

"graph" is what a process needs to run a graph with a store, "agent" what it needs for an agent.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

from harness.case import Mode, Peer
from harness.goal import Limit, Ratio
from harness.meter import Meter
from harness.whole_process import Ended, python

MODES = (
    Mode("graph", "none", {"n": 5, "agent": 0}),
    Mode("agent", "none", {"n": 5, "agent": 1}),
)
GOALS = (
    # 240 ms and 40 MiB where pydantic has to be loaded, on a machine where the floor's import takes 72 ms
    Ratio("graph", "import_us", "import, the graph's runtime", floor=3.3, langgraph=4),
    Ratio("graph", "peak_mib", "peak memory (MiB), the graph's runtime", langgraph=2),
    Limit("graph", "peak_mib", "peak memory (MiB), the graph's runtime", 40),
    Limit("graph", "modules", "modules, the graph's runtime", 350),
    Ratio("agent", "import_us", "import, the agent"),
    Ratio("agent", "peak_mib", "peak memory (MiB), the agent"),
    Ratio("agent", "modules", "modules, the agent"),
)

# /proc tells of this program alone; what getrusage tells would include the process it was started from
TELL = """
import sys
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(len(sys.modules), peak)
"""


async def measure(peer: Peer, meter: Meter, store: str, path: Path, n: int, agent: int) -> None:
    statement = peer.module.AGENT if agent else peer.module.GRAPH
    empty: list[Ended] = []
    full: list[Ended] = []
    for number in range(-1, n):  # the first one compiles
        bare, ended = python("-c", TELL), python("-c", statement + TELL)
        if number >= 0:
            empty.append(bare)
            full.append(ended)
            modules, peak = ended.printed.split()
            meter.add("modules", int(modules))
            meter.add("peak_mib", int(peak) / 1024)
    meter.note("import_us", median(one.wall_us for one in full) - median(one.wall_us for one in empty))
    meter.note("import_cpu_us", median(one.cpu_us for one in full) - median(one.cpu_us for one in empty))
