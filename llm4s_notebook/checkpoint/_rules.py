"""The checks that stand before a change in every store (R6.19), free of storage: a store tells what it holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from ..errors import CheckpointConflict, ConfigError, InvalidCommit, StaleClaim, UnsupportedCheckpointFormat
from ._types import FORMAT_VERSION, CheckpointStatus, Commit, RetentionPolicy

_LONGEST: Final = 10**9  # seconds, some 31 years: a lease that ends behind the calendar's last day is none
_OLDEST: Final = 6 * 10**10  # seconds, back to the calendar's second century


def check_claimed(thread_id: str, token: int, current: int | None) -> None:
    """Raises: StaleClaim when `token` is not the thread's current claim; its expiry alone does not matter (R6.7, R6.19(1))."""
    if current is None or token != current:
        raise StaleClaim(token=token, current=current, thread_id=thread_id)


def check_commit(
    thread_id: str, commit: Commit, *, latest: str | None, settled: str | None, latest_token: int | None, known: Callable[[str], bool]
) -> None:
    """Check everything R6.19 names behind the token. `settled` is the newest settled checkpoint, `latest_token` what the latest one was
    written under, `known` looks an id up in the history.

    Raises: CheckpointConflict (2), InvalidCommit (3, 4, 5), in this order.
    """
    resulting = latest
    if commit.checkpoints:
        expected = settled if commit.retract else latest
        first = commit.checkpoints[0].header
        if first.parent_id != expected or commit.parent_token not in (None, latest_token):
            raise CheckpointConflict(thread_id=thread_id, expected=first.parent_id, actual=expected)
        seen: set[str] = set()
        for draft in commit.checkpoints:
            header = draft.header
            if seen and header.parent_id != resulting:
                raise InvalidCommit(
                    reason=f"checkpoint '{header.id}' names '{header.parent_id}' as its parent, not '{resulting}'", thread_id=thread_id
                )
            if header.thread_id != thread_id:
                raise InvalidCommit(reason=f"checkpoint '{header.id}' is of thread '{header.thread_id}'", thread_id=thread_id)
            if header.created_at.tzinfo is None:
                raise InvalidCommit(reason=f"the time of checkpoint '{header.id}' has no zone", thread_id=thread_id)
            if header.format != FORMAT_VERSION:
                raise InvalidCommit(
                    reason=f"checkpoint '{header.id}' is of format {header.format}, not {FORMAT_VERSION}", thread_id=thread_id
                )
            if header.id in seen or known(header.id):
                raise InvalidCommit(reason=f"checkpoint '{header.id}' is in the history already", thread_id=thread_id)
            seen.add(header.id)
            resulting = header.id
    for write in commit.writes:
        if resulting is None or write.checkpoint_id != resulting:
            raise InvalidCommit(
                reason=f"the write of task '{write.task_id}' names '{write.checkpoint_id}', not '{resulting}'", thread_id=thread_id
            )
    if commit.retract and not commit.checkpoints:
        raise InvalidCommit(reason="retracting a turn needs the checkpoint that closes it", thread_id=thread_id)
    for event in commit.events:
        if not event.event.durable:
            raise InvalidCommit(reason=f"{type(event.event).__name__} is a live event, which is never stored", thread_id=thread_id)
        if event.timestamp.tzinfo is None:
            raise InvalidCommit(reason=f"the time of an event {type(event.event).__name__} has no zone", thread_id=thread_id)


def check_format(found: object) -> None:
    """Raises: UnsupportedCheckpointFormat for a number this version does not read, or none (R6.5)."""
    if not isinstance(found, int) or isinstance(found, bool) or not 1 <= found <= FORMAT_VERSION:
        raise UnsupportedCheckpointFormat(found=found, supported=FORMAT_VERSION)


def check_ttl(ttl: float) -> None:
    """Raises: ConfigError unless a lease of `ttl` seconds can be granted."""
    if not (_number(ttl) and 0 < ttl <= _LONGEST):
        raise ConfigError(field="ttl", problems=[f"a lease lasts a positive number of seconds up to {_LONGEST}, not {ttl!r}"])


def check_limit(limit: int) -> None:
    """Raises: ConfigError for a page of less than one (R6.31)."""
    if not _whole(limit) or limit < 1:
        raise ConfigError(field="limit", problems=[f"a page has at least 1 item, not {limit!r}"])


def checked_sequence(sequence: int, field: str = "sequence") -> int:
    """The number of an event as it is looked for: there is none below 1. Raises: ConfigError for what is no whole number."""
    if not _whole(sequence):
        raise ConfigError(field=field, problems=[f"events are numbered 1, 2, 3 and so on, not {sequence!r}"])
    return max(sequence, 0)


def checked_status(status: CheckpointStatus | None) -> CheckpointStatus | None:
    """The status; its text stands for it. Raises: ConfigError for any other."""
    if status is None or type(status) is CheckpointStatus:
        return status
    try:
        return CheckpointStatus(status)
    except ValueError as error:
        raise ConfigError(field="status", problems=[f"one of {', '.join(CheckpointStatus)}, not {status!r}"]) from error


def check_policy(policy: RetentionPolicy) -> None:
    """Raises: ConfigError naming every part of the policy that is no number from 0 up."""
    age, counts = policy.max_age, {"max_checkpoints": policy.max_checkpoints, "max_events": policy.max_events}
    problems: list[str] = []
    if age is not None and not (_number(age) and math.isfinite(age) and age >= 0):
        problems.append(f"max_age is {age!r}, and must be a number of seconds from 0 up")
    problems += [
        f"{name} is {count!r}, and must be a whole number from 0 up"
        for name, count in counts.items()
        if count is not None and not (_whole(count) and count >= 0)
    ]
    if problems:
        raise ConfigError(field="policy", problems=problems)


def oldest_kept(policy: RetentionPolicy, now: datetime) -> datetime | None:
    """What was made before that is too old for the policy, which was checked; None if nothing is."""
    return None if policy.max_age is None else now - timedelta(seconds=min(policy.max_age, _OLDEST))


def _number(given: object) -> bool:
    return isinstance(given, (int, float)) and not isinstance(given, bool)


def _whole(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool)
