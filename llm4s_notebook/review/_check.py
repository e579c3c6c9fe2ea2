"""A browser's decisions against what waits: the checks that need no run, and the same in words (2.4.5, D25)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from ..errors import InvalidResume, ResumeProblem
from ..graph import Answer
from ..wire import Approve, Edit, PendingCard, Proceed, Reject, Reply, as_numbers
from ._reader import ThreadReader
from ._thread import ReviewedThread

AnyDecision = Approve | Reject | Edit | Reply | Proceed

_TAKES = {
    "APPROVAL": ("approve", "reject", "edit"),
    "QUESTION": ("reply",),
    "MIDDLEWARE_QUESTION": ("reply",),
    "BREAKPOINT": ("proceed",),
}


@dataclass(frozen=True, slots=True)
class Checked:
    """Answers that may be sent as one resume, what each says in words by id, and one line for the person."""

    answers: tuple[Answer, ...]
    summaries: dict[str, str]
    said: str


def checked(decisions: Sequence[AnyDecision], reader: ThreadReader, thread: ReviewedThread) -> Checked:
    """Turn decisions into answers. Raises: InvalidResume with every problem, and then nothing of them is sent (D6)."""
    cards = {card.id: card for card in reader.stored.cards}
    problems: list[ResumeProblem] = []
    answers: list[Answer] = []
    summaries: dict[str, str] = {}
    for decision in decisions:
        card = cards.get(decision.id)
        if decision.id in summaries:
            problems.append(_problem(decision.id, "repeated", "answered twice in one submit"))
        elif card is None:
            problems.append(_problem(decision.id, "unknown", "nothing of that id waits"))
        elif decision.decision not in _TAKES[card.kind]:
            takes = " or ".join(_TAKES[card.kind])
            problems.append(_problem(decision.id, "invalid", f"{card.title!r} takes {takes}, not {decision.decision}"))
        else:
            meant = _meant(decision, card)
            if isinstance(meant, Edit):
                problems += thread.check_edit(meant.id, reader.stored, meant.arguments)
            answers.append(_answer(meant))
            summaries[decision.id] = in_words(decision, card)
    if not decisions:
        problems.append(ResumeProblem(interrupt_id=None, code="empty", message="no decision was sent"))
    if problems:
        refusal = InvalidResume(graph_id=thread.graph.id, problems=problems)
        raise reader.log.explained(refusal, reader.stored.waiting.values())
    left = len(cards) - len(answers)
    # Of the last one nothing is counted: what the turn comes to next may well ask again, and "0 left" would stand beside it.
    done = ", ".join(summaries.values())
    return Checked(tuple(answers), summaries, f"{done}, {left} left" if left else done)


def _meant(decision: AnyDecision, card: PendingCard) -> AnyDecision:
    """The decision with the numbers for which a browser has to send digits."""
    match decision:
        case Edit():
            return decision.model_copy(update={"arguments": as_numbers(decision.arguments, card.arguments_schema)})
        case Reply():
            return decision.model_copy(update={"value": as_numbers(decision.value, card.answer_schema)})
        case _:
            return decision


def _problem(interrupt_id: str, code: Literal["unknown", "invalid", "repeated"], message: str) -> ResumeProblem:
    return ResumeProblem(interrupt_id=interrupt_id, code=code, message=message)


def _answer(decision: AnyDecision) -> Answer:
    match decision:
        case Approve():
            return Answer.approve(decision.id)
        case Reject():
            return Answer.reject(decision.id, decision.reason)
        case Edit():
            return Answer.edit(decision.id, decision.arguments)
        case Reply():
            return Answer.reply(decision.id, decision.value)
        case Proceed():
            return Answer.proceed(decision.id)
        case _:
            assert_never(decision)


def in_words(decision: AnyDecision, card: PendingCard) -> str:
    """What was done, for the live region and the list of answered interrupts: "approved deploy"."""
    about = card.tool_name or card.middleware or card.node or card.id
    match decision:
        case Approve():
            return f"approved {about}"
        case Reject():
            return f"rejected {about}"
        case Edit():
            return f"edited {about}"
        case Proceed():
            return f"let {card.node or about} proceed"
        case Reply():
            if card.guardrail is not None and isinstance(decision.value, dict):
                verdict = decision.value.get("verdict")
                words = {"allow": "allowed", "edit": "edited", "block": "blocked"}.get(str(verdict), "answered")
                return f"{words} the text refused by {card.guardrail.guardrail}"
            return f"answered {about}"
        case _:
            assert_never(decision)
