"""Checking answers against what is parked: all of them, before any is taken (R4.9-R4.11, D5, D6). Pure.

*Why was my answer refused?* Every refusal is made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from pydantic import ValidationError

from ..errors import ConfigError, EncodeError, InvalidResume, ResumeProblem
from . import _ids
from ._answer import Answer, Answers
from ._breakpoint import let_through
from ._codec import NULL, check_depth, decode_json, encode_json
from ._execution import Execution, Parked, Task
from ._value_path import value_path

Given: TypeAlias = tuple[tuple[str, Any], ...]
"""The answers of one resume as (interrupt id, value), in the order given; an id may occur twice, which is a problem of that id."""


def given_answers(answers: Answers) -> Given:
    """The answers in one form. Raises: ConfigError for anything else than ids and values."""
    if isinstance(answers, Answer):
        pairs: list[Any] = [answers]
    elif type(answers) is dict or isinstance(answers, Mapping):
        pairs = list(cast(Mapping[str, Any], answers).items())
    elif isinstance(answers, (str, bytes)) or not isinstance(answers, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers are not always typed
        raise ConfigError(field="answers", problems=[f"answers are a mapping or Answer objects, not {type(answers).__name__}"])
    else:
        pairs = list(answers)
    problems = [f"item {index} is no (interrupt id, value) pair" for index, pair in enumerate(pairs) if not _is_pair(pair)]
    if problems:
        raise ConfigError(field="answers", problems=problems)
    return tuple(pairs)


def _is_pair(pair: object) -> bool:
    if type(pair) is not tuple and not isinstance(pair, tuple):
        return False
    pair = cast(tuple[object, ...], pair)
    return len(pair) == 2 and isinstance(pair[0], str)


def unknown_ids(execution: Execution, given: Given) -> list[str]:
    """Ids that nothing waits under, sorted."""
    return sorted({id for id, _ in given if id not in execution.parked})


def continuations(execution: Execution, given: Given, unknown: Iterable[ResumeProblem] | None = None) -> list[tuple[str, Task]]:
    """The task each answered interrupt becomes, in parked order (R4.11). `unknown`: what is said of ids that nothing waits under,
    where more is known of them than that.

    Raises: InvalidResume with every problem: unknown ids first, then bad answers in parked order (R4.10).
    """
    answers = dict(given)
    parked_here = execution.parked
    wanted = [parked_here[id] for id in answers if id in parked_here]
    problems: list[ResumeProblem] = []
    if len(wanted) < len(answers):
        problems += unknown or [nothing_waits(id) for id in unknown_ids(execution, given)]
    if not given:
        problems.append(ResumeProblem(interrupt_id=None, code="empty", message="no answers were given"))
    repeated: set[str] = set()
    if len(answers) < len(given):
        seen: set[str] = set()
        repeated = {id for id, _ in given if id in seen or seen.add(id)}
    if len(wanted) > 1:
        place = {id: index for index, id in enumerate(parked_here)}
        wanted.sort(key=lambda parked: place[parked.id])
    tasks: list[tuple[str, Task]] = []
    first = len(execution.frontier)
    for parked in wanted:
        if parked.id in repeated:
            problems.append(ResumeProblem(interrupt_id=parked.id, code="repeated", message="more than one answer was given for this id"))
            continue
        id = _ids.task_id(execution.superstep, first + len(tasks))
        outcome = _continue(execution, parked, answers[parked.id], id)
        if isinstance(outcome, Task):
            tasks.append((parked.id, outcome))
        else:
            problems.extend(outcome)
    if problems:
        raise InvalidResume(graph_id=execution.plan.id, problems=problems)
    return tasks


def nothing_waits(id: str) -> ResumeProblem:
    return ResumeProblem(interrupt_id=id, code="unknown", message="nothing waits under this id")


def _continue(execution: Execution, parked: Parked, value: Any, task_id: str) -> Task | list[ResumeProblem]:
    """The continuation of one interrupt, or what is wrong with its answer. The parked record decides its kind (R5.24)."""
    try:
        answer = encode_json(value, "the answer")
        check_depth(answer)
    except EncodeError as error:
        return [_invalid(parked, f"the answer has no JSON form: {'; '.join(error.problems)}")]
    except ValueError as error:
        return [_invalid(parked, f"the answer cannot be stored: {error}")]
    if parked.phase is not None:
        if answer != NULL:
            return [_invalid(parked, "a breakpoint takes one answer only: proceed (JSON null)")]
        return let_through(parked, task_id)
    codec = execution.plan.nodes[parked.node].answer
    if codec is None:  # restore checks that a typed interrupt continues at a resume node
        return [_invalid(parked, f"node '{parked.node}' takes no answer")]
    try:
        codec.load(answer)
    except ValidationError as error:
        try:
            plain = decode_json(answer)
        except ValueError as reason:
            return [_invalid(parked, f"the answer has no JSON form: {reason}")]
        return [
            ResumeProblem(
                interrupt_id=parked.id,
                code="invalid",
                message=fault["msg"],
                path=value_path(plain, fault["loc"], missing=fault["type"] == "missing"),
            )
            for fault in error.errors(include_url=False, include_context=False, include_input=False)
        ]
    data = b'{"question":' + parked.data + b',"answer":' + answer + b"}"
    return Task(task_id, parked.node, data, parked.slot, parked.origin)


def _invalid(parked: Parked, message: str) -> ResumeProblem:
    return ResumeProblem(interrupt_id=parked.id, code="invalid", message=message)
