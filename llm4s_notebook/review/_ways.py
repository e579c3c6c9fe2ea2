"""What a person is told of a thread that does not go on with the changed agent, and of the ways that are open (W4.6). Pure."""

from __future__ import annotations

from ..agent._refusals import CHANGES
from ..errors import RestoreRejected
from ..wire import WayOn, WayOnView
from ._thread import Stored

_HOW = {"suspended": "waits", "unfinished": "is not finished"}


def what_changed(rejected: RestoreRejected) -> str:
    """The parts of the agent that are not what they were; the first problem where nobody knows them."""
    parts = [problem for problem in rejected.problems if problem.startswith(CHANGES)]
    return ", ".join(problem.removeprefix("changed: ") for problem in parts) if parts else rejected.problems[0]


def offer(stored: Stored, *, finishing: str | None, old_is_here: bool) -> str | None:
    """Why the thread does not go on with the changed agent; None where it does. `finishing` names what it goes on without."""
    if finishing is not None:
        return f"This thread goes on with the old agent. What you changed ({finishing}) holds for a new thread."
    if stored.unfit is None:
        return None
    how = _HOW.get(stored.status, "was stored")
    old = "" if old_is_here else f" To go on with it, {stored.unfit.next_step}."
    return f"This thread {how} under another version of the agent ({what_changed(stored.unfit)}). How do you want to go on?{old}"


def ways(stored: Stored, *, finishing: bool, old_is_here: bool, kept: int, left: str | None) -> list[WayOnView]:
    """The buttons. `kept` messages a new thread would begin with; `left` is the thread that was left for this one."""
    if stored.says_nothing and left is not None:
        return [_way("back", f"Back to {left}", "It is as you left it.")]
    if stored.unfit is None and not finishing:
        return []
    stays = {
        "suspended": " What waits is not answered: it stays on this thread.",
        "unfinished": " The turn that is open stays on this thread.",
    }.get(stored.status, "")
    found: list[WayOnView] = []
    if not finishing and old_is_here:
        found.append(_way("old_agent", "Finish with the old agent", "This thread goes on as it began; the change is kept for a new one."))
    if kept:
        found.append(_way("new_thread", "New thread with this history", f"It begins with the {counted(kept)} so far.{stays}"))
    return [*found, _way("empty_thread", "New empty thread", f"To ask the same again, with nothing said before.{stays}")]


_CALLS: dict[WayOn, str] = {
    "old_agent": "await session.finish_with_old_agent()",
    "new_thread": "await session.new_thread()",
    "empty_thread": "await session.new_thread(history=False)",
}


def offer_in_code(offer: str | None, ways: list[WayOnView]) -> str | None:
    """The offer for somebody who has no buttons: with the call for each way that is open."""
    calls = calls_of(ways)
    return f"{offer} In code: {calls}." if offer is not None and calls else offer


def calls_of(ways: list[WayOnView]) -> str:
    """The calls for the ways that are open; empty where none is."""
    return " or ".join(_CALLS[one.way] for one in ways if one.way in _CALLS)


def naming_ways(rejected: RestoreRejected, ways: list[WayOnView]) -> RestoreRejected:
    """The same refusal for somebody in code: first the calls of a session that go on."""
    calls = calls_of(ways)
    if not calls or rejected.damaged:
        return rejected
    return RestoreRejected(graph_id=rejected.graph_id, problems=rejected.problems, next_step=f"go on with {calls}; or {rejected.next_step}")


def _way(way: WayOn, label: str, about: str) -> WayOnView:
    return WayOnView(way=way, label=label, about=about)


def counted(messages: int) -> str:
    return f"{messages} message{'s' if messages != 1 else ''}"


def said_of(stored: Stored, before: str, kept: int, *, elsewhere: bool, holds: bool) -> str:
    """What became of the thread that was left, and how to find it again."""
    begins = f"A new thread, beginning with {counted(kept)} of thread {before}" if kept else "A new, empty thread"
    match stored.status:
        case "suspended":
            waits = ", ".join(card.title for card in stored.cards[:3]) + (" …" if len(stored.cards) > 3 else "")
            left = f" What waits ({waits}) is not answered and stays there."
        case "unfinished":
            left = f" Its open turn {'runs on' if elsewhere else 'is not finished and stays'} there."
        case _:
            left = ""
    marks = " So do the holds on the diagram." if holds and left else " The holds on the diagram stay there." if holds else ""
    return f"{begins}. Thread {before} is as it was: Session(agent, {before!r}) opens it.{left}{marks}"
